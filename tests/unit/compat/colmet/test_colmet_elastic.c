/* Feed elastic with what colmet's nodes and collectors wrote there. */
#include "fake_server.h"
#include "sink_harness.h"

#include <fcntl.h>

#include "compat/colmet/colmet.h"
#include "core/log.h"

extern const struct sink sink_elastic;

static const struct harness_plan plan = {
	.nodes = 2, .entries = 8, .readings = 5, .jobs = 3, .processes = 2};

static const char *text_of(const json_t *d, const char *key)
{
	const char *s = json_string_value(json_object_get(d, key));

	return s ? s : "";
}

static void an_old_index(void **state)
{
	static const char *const arguments[] = {"--old", "colmet_procstats_default", NULL};
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_elastic.py", arguments);
	const struct sink_options o = {.target = s.url,
				       .state = *state,
				       .prefix = "colmet_",
				       .layout = &row_layout_colmet};
	void *feed = harness_start(&sink_elastic, &o, &position);
	harness_must(&sink_elastic, feed, &plan, 1, 2, true);
	sink_elastic.close(feed);
	json_t *seen = fake_state(&s);
	const json_t *d;
	size_t i, colmet = 0;
	json_array_foreach(json_object_get(seen, "documents"), i, d) {
		/* the index that colmet left has the name: the new ones go without */
		assert_true(str_prefix(text_of(d, "_index"), "colmet_"));
		assert_null(strstr(text_of(d, "_index"), "_system-"));
		if (!strcmp(text_of(d, "_index"), "colmet_procstats_default-2027.01.15")) {
			colmet++;
			assert_int_equal(json_array_size(json_object_get(d, "_aliases")), 0);
			assert_true(json_is_integer(json_object_get(d, "stat_processes")));
			assert_true(json_is_array(json_object_get(d, "involved_jobs")));
		}
	}
	assert_int_equal(colmet, 2 * 4);
	json_decref(seen);
	fake_stop(&s);
}

/* What colmet's nodes send is as colmet wrote it; lists of jobs may be anything. */
static void colmet_documents(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct row_table *b = colmet_backend("RAPLstats_default", 17);
	const struct batch_name name = {.node = "n\xc3\xa4\"", .boot = UINT64_MAX, .number = 1};
	const struct sample_file_head head = {.host = (char *)"vm",
					      .boot = (char *)"1",
					      .period_ns = 1,
					      .boottime_ns = 1,
					      .realtime_ns = HARNESS_BEGIN_S * 1000000000};
	int fd = memfd_create("batch", MFD_CLOEXEC);
	struct fake_server s;
	struct sample_file f;
	struct sample_set set;
	uint64_t position;

	assert_non_null(b);
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	struct sample_writer *w = sample_writer_open(fd, &head);
	sample_init(&set, b->metrics, b->metric_count);
	unsigned source = sample_writer_source(w, b->name, 1, &set);
	for (unsigned i = 0; i < 2; i++) { /* twice in the same second */
		sample_begin(&set);
		set.time_ns = 1 + i * 400000000ull;
		uint32_t e = sample_entity(&set, ENTITY_NODE, "node");
		sample_set_metadata(&set, e, "involved_jobs",
				    "[1004, 1000,, \"x\", 007, 99999999999999999999]");
		sample_row(&set, e);
		sample_put(&set, 0, 4711 + i);
		sample_put(&set, 2, INT64_MAX);
		sample_writer_add(w, source, &set);
	}
	assert_int_equal(sample_writer_close(w, NULL), 0);
	sample_release(&set);
	assert_int_equal(sample_file_open(&f, fd, &why), 0);
	fake_start(&s, "fake_elastic.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state, .prefix = "old_"};
	void *feed = harness_start(&sink_elastic, &o, &position);
	assert_int_equal(sink_elastic.batch(feed, 1, &name, &f, &why), 0);
	sample_file_close(&f);
	assert_int_equal(sink_elastic.commit(feed, 1, &why), 0);
	sink_elastic.close(feed);
	json_t *seen = fake_state(&s);
	const json_t *list = json_object_get(seen, "documents"), *d;
	size_t i;
	assert_int_equal(json_array_size(list), 2);
	json_array_foreach(list, i, d) {
		_cleanup_free_ char *id = xasprintf("n\xc3\xa4\".ffffffffffffffff.1.r%zu.0", i);

		assert_string_equal(text_of(d, "_id"), id);
		assert_string_equal(text_of(d, "_index"), "old_raplstats_default-2027.01.15");
		assert_string_equal(text_of(d, "hostname"), "vm");
		assert_int_equal(json_integer_value(json_object_get(d, "job_id")), 0);
		assert_true(json_is_integer(json_object_get(d, "job_id")));
		assert_int_equal(json_integer_value(json_object_get(d, "timestamp")),
				 HARNESS_BEGIN_S);
		assert_int_equal(json_integer_value(json_object_get(d, "counter_1")), 4711 + i);
		assert_int_equal(json_integer_value(json_object_get(d, "counter_3")), INT64_MAX);
		/* what is not known is not there */
		assert_null(json_object_get(d, "counter_2"));
		const json_t *jobs = json_object_get(d, "involved_jobs");
		assert_int_equal(json_array_size(jobs), 2);
		assert_int_equal(json_integer_value(json_array_get(jobs, 0)), 1004);
		assert_int_equal(json_integer_value(json_array_get(jobs, 1)), 1000);
	}
	json_decref(seen);
	fake_stop(&s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_old_index),
		TEST(colmet_documents),
	};

	log_init("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
