/* Feed elastic against a stand-in that checks every request: documents are there once, whatever
 * the server does meanwhile. */
#include "fake_server.h"
#include "sink_harness.h"
#include "many_names.h"

#include <errno.h>
#include <sys/stat.h>

#include "core/log.h"
#include "samples/row_layout.h"
#include "sinks/elastic/sink_elastic.h"

extern const struct sink sink_elastic;

static const struct harness_plan plan = {
	.nodes = 2, .entries = 8, .readings = 5, .jobs = 3, .processes = 2};

struct found {
	json_t *documents; /* by host, source, entity and time */
	size_t own, of_layouts;
};

static const char *text_of(const json_t *d, const char *key)
{
	const char *s = json_string_value(json_object_get(d, key));

	return s ? s : "";
}

/* All documents; two of the same fail. */
static void find_all(const json_t *state, struct found *ret)
{
	const json_t *d;
	size_t i;

	*ret = (struct found){.documents = json_object()};
	json_array_foreach(json_object_get(state, "documents"), i, d) {
		_cleanup_free_ char *key = NULL;
		_cleanup_free_ char *index = xstrdup(text_of(d, "_index"));
		json_int_t ms = json_integer_value(json_object_get(d, "@timestamp"));

		assert_true(strlen(index) > 11);
		index[strlen(index) - 11] = 0;
		/* the name without a day stands for all days */
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(d, "_aliases"), 0)),
			index);
		if (ms) {
			ret->own++;
			key = xasprintf("%s %s %s %lld", text_of(d, "hostname"), index,
					text_of(d, "entity"), (long long)ms);
		} else {
			ret->of_layouts++;
			key = xasprintf(
				"%s %s %lld %lld", text_of(d, "hostname"), index,
				(long long)json_integer_value(json_object_get(d, "job_id")),
				(long long)json_integer_value(json_object_get(d, "timestamp")));
		}
		if (json_object_get(ret->documents, key))
			fail_msg("twice: %s", key);
		json_object_set(ret->documents, key, (json_t *)d);
	}
}

static void check_value(void *user, const struct harness_expected *x)
{
	struct found *found = user;
	_cleanup_free_ char *key = xasprintf("%s plimsoll_%s %s %lld", x->host, x->source,
					     x->entity, (long long)(x->time_us / 1000));
	const json_t *d = json_object_get(found->documents, key);
	const json_t *v = json_object_get(d, x->metric);

	if (!v || json_number_value(v) != x->value)
		fail_msg("%s: %s is %g, not %g", key, x->metric, json_number_value(v), x->value);
	if (x->job) {
		char job[32];

		snprintf(job, sizeof(job), "%u", x->job);
		assert_string_equal(text_of(d, "job_id"), job);
	} else {
		assert_null(json_object_get(d, "job_id"));
	}
}

static void check_all(const struct fake_server *s, const struct harness_plan *p)
{
	struct found found;
	json_t *state = fake_state(s);

	find_all(state, &found);
	harness_expect(p, p->entries, check_value, &found);
	/* a document for each entity and tick, and for what a layout has of them */
	size_t ticks = (size_t)p->entries * p->readings;
	assert_int_equal(found.own, ticks * (1 + p->jobs + p->jobs * p->processes));
	assert_int_equal(found.of_layouts, row_layouts[0] ? ticks - ticks / 5 : 0);
	json_decref(found.documents);
	json_decref(state);
}

static void every_value_is_there_once(void **state)
{
	struct fake_server s;

	fake_start(&s, "fake_elastic.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state};
	harness_life(&sink_elastic, &o, &plan);
	check_all(&s, &plan);
	json_t *seen = fake_state(&s);
	/* some came again, and all was packed */
	assert_true(fake_count(seen, "repeated") > 0);
	assert_int_equal(fake_count(seen, "packed"), fake_count(seen, "bulk"));
	const json_t *types =
		json_object_get(json_object_get(seen, "properties"), "plimsoll_group-2027.01.15");
	assert_string_equal(text_of(json_object_get(types, "cpu_time"), "type"), "long");
	assert_string_equal(text_of(json_object_get(types, "@timestamp"), "format"),
			    "epoch_millis");
	types = json_object_get(json_object_get(seen, "properties"), "plimsoll_system-2027.01.15");
	assert_string_equal(text_of(json_object_get(types, "load"), "type"), "double");
	json_decref(seen);
	fake_stop(&s);
}

/* Commits until one is taken; how many were not. */
static unsigned commit_at_last(void *feed, uint64_t number, struct strbuf *why)
{
	unsigned failures = 0;

	for (;; failures++) {
		const struct timespec pause = {.tv_nsec = 20000000};

		strbuf_reset(why);
		int r = sink_elastic.commit(feed, number, why);
		if (r == 0)
			return failures;
		assert_int_equal(r, -EAGAIN);
		assert_true(why->len > 0);
		assert_true(failures < 500);
		nanosleep(&pause, NULL);
	}
}

static void a_server_with_troubles(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_elastic.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state};
	void *feed = harness_start(&sink_elastic, &o, &position);
	harness_must(&sink_elastic, feed, &plan, 1, 3, false);
	/* a connection that breaks is tried anew at once, or with the next commit */
	fake_faults(&s, "[{\"status\":503},{\"break\":\"before\"},{\"break\":\"after\"},"
			"{\"break\":\"after\"}]");
	assert_true(commit_at_last(feed, 3, &why) >= 2);
	/* those that were refused, and those alone, come again */
	harness_must(&sink_elastic, feed, &plan, 4, 5, false);
	json_t *before = fake_state(&s);
	fake_faults(&s, "[{\"items\":{\"every\":3,\"status\":429}},"
			"{\"items\":{\"every\":2,\"status\":503}}]");
	assert_int_equal(commit_at_last(feed, 5, &why), 2);
	json_t *after = fake_state(&s);
	assert_int_equal(fake_count(after, "repeated"), fake_count(before, "repeated"));
	assert_true(fake_count(after, "documents") > fake_count(before, "documents"));
	json_decref(before);
	json_decref(after);
	/* answers that are none */
	harness_must(&sink_elastic, feed, &plan, 6, 7, false);
	fake_faults(&s, "[{\"garbage\":true},{\"garbage\":\"short\"},{\"status\":401}]");
	assert_true(commit_at_last(feed, 7, &why) == 3);
	/* it is left alone for as long as it asks */
	harness_must(&sink_elastic, feed, &plan, 8, 8, false);
	fake_faults(&s, "[{\"status\":429,\"retry_after\":1}]");
	assert_int_equal(sink_elastic.commit(feed, 8, &why), -EAGAIN);
	assert_contains(why.buf, "status 429");
	before = fake_state(&s);
	strbuf_reset(&why);
	assert_int_equal(sink_elastic.commit(feed, 8, &why), -EAGAIN);
	assert_contains(why.buf, "asked to wait");
	after = fake_state(&s);
	assert_int_equal(fake_count(after, "bulk"), fake_count(before, "bulk"));
	json_decref(before);
	json_decref(after);
	commit_at_last(feed, 8, &why);
	sink_elastic.close(feed);
	check_all(&s, &plan);
	fake_stop(&s);
}

/* It did what was asked, and says so too late. */
static void a_server_that_hangs(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_elastic.py", NULL);
	_cleanup_free_ char *url = xasprintf("%s/?timeout=3s", s.url);
	const struct sink_options o = {.target = url, .state = *state};
	void *feed = harness_start(&sink_elastic, &o, &position);
	harness_must(&sink_elastic, feed, &plan, 1, 8, false);
	fake_faults(&s, "[{\"hang\":60}]");
	assert_true(commit_at_last(feed, 8, &why) >= 1);
	sink_elastic.close(feed);
	check_all(&s, &plan);
	json_t *seen = fake_state(&s);
	assert_int_equal(fake_count(seen, "repeated"), fake_count(seen, "documents"));
	json_decref(seen);
	fake_stop(&s);
}

static uint64_t refusals[8];
static size_t refusal_count;

static unsigned full; /* times that nothing can be kept aside */

static int on_refused(void *user, uint64_t number, const char *reason)
{
	(void)user;
	if (full && full--)
		return -ENOSPC;
	assert_contains(reason, "made_up_exception: the script of the test says so");
	if (!refusal_count || refusals[refusal_count - 1] != number)
		refusals[refusal_count++ % 8] = number;
	return 0;
}

/* A server, and a feed into it that tells of what is refused. */
static void *start_refusing(struct fake_server *s, char *dir)
{
	uint64_t position;

	fake_start(s, "fake_elastic.py", NULL);
	const struct sink_options o = {.target = s->url, .state = dir, .refused = on_refused};
	refusal_count = 0;
	return harness_start(&sink_elastic, &o, &position);
}

/* So many documents of our own are at the server, which ends. */
static void check_own(struct fake_server *s, size_t want)
{
	json_t *seen = fake_state(s);
	struct found found;

	find_all(seen, &found);
	assert_int_equal(found.own, want);
	json_decref(found.documents);
	json_decref(seen);
	fake_stop(s);
}

/* What somebody can mend at the server is sent again until it is. */
static void documents_that_can_be_mended(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;

	void *feed = start_refusing(&s, *state);
	harness_must(&sink_elastic, feed, &plan, 1, 2, false);
	fake_faults(&s, "[{\"items\":{\"field\":\"load\",\"status\":404}}]");
	assert_int_equal(sink_elastic.commit(feed, 2, &why), -EAGAIN);
	assert_int_equal(sink_elastic.commit(feed, 2, &why), 0);
	assert_int_equal(refusal_count, 0);
	sink_elastic.close(feed);
	check_own(&s, 2 * 5 * 10);
}

/* What will never be taken is left out, the rest is there. */
static void documents_that_are_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;

	void *feed = start_refusing(&s, *state);
	harness_must(&sink_elastic, feed, &plan, 1, 2, false);
	fake_faults(&s, "[{\"items\":{\"field\":\"load\",\"status\":400}}]");
	assert_int_equal(sink_elastic.commit(feed, 2, &why), 0);
	assert_int_equal(refusal_count, 2);
	assert_int_equal(refusals[0], 1);
	assert_int_equal(refusals[1], 2);
	harness_must(&sink_elastic, feed, &plan, 3, 4, true);
	sink_elastic.close(feed);
	check_own(&s, 4 * 5 * 10 - 2 * 5);
}

/* What cannot be kept aside is not left out, but waits: here until the server takes it. */
static void documents_that_are_refused_and_cannot_be_kept(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;

	void *feed = start_refusing(&s, *state);
	full = 10; /* documents with that field, all of them */
	harness_must(&sink_elastic, feed, &plan, 1, 2, false);
	fake_faults(&s, "[{\"items\":{\"field\":\"load\",\"status\":400}}]");
	assert_int_equal(sink_elastic.commit(feed, 2, &why), -EAGAIN);
	assert_contains(why.buf, "and cannot be kept aside: No space left on device");
	assert_int_equal(full, 0);
	assert_int_equal(refusal_count, 0);
	harness_must(&sink_elastic, feed, &plan, 1, 2, true);
	sink_elastic.close(feed);
	check_own(&s, 2 * 5 * 10);
}

static int on_names(void *user, uint64_t number, const char *reason)
{
	assert_contains(reason, "too many names");
	*(uint64_t *)user = number;
	return 0;
}

/* Who has used as many names as he can keeps nobody from those that he needs. */
static void one_node_cannot_use_up_the_names(void **state)
{
	const struct source *ours = source_find("system");
	const struct batch_name name = {.node = "n", .boot = 1, .number = 1};
	uint64_t last = 0;
	const struct sink_options o = {.refused = on_names, .refused_user = &last};
	struct elastic e = {.prefix = (char *)"",
			    .mappers = row_mappers_new(),
			    .held = STRBUF_INIT,
			    .why = STRBUF_INIT,
			    .refusals = sink_refusals("elastic", &o)};
	struct sample_file f;

	(void)state;
	for (e.entry = 1; e.entry <= 12; e.entry++) {
		many_evil((unsigned)e.entry, &f);
		elastic_add(&e, &name, &f);
		sample_file_close(&f);
	}
	size_t before = e.held.len;
	many_good(&f);
	elastic_add(&e, &name, &f);
	sample_file_close(&f);
	assert_int_equal(sink_tell_names(&e.refusals, &e.why), 0);
	assert_true(last > 1 && last < e.entry);
	assert_true(e.index_count <= 512 / 4 + 15);
	for (size_t i = 0; i < e.index_count; i++)
		assert_true(e.indices[i].field_count <= 512 / 4 + ours->metric_count);
	strbuf_addch(&e.held, 0);
	for (size_t m = 0; m < ours->metric_count + ARRAY_SIZE(special_metrics); m++) {
		_cleanup_free_ char *key = xasprintf(
			",\"%s\":", m < ours->metric_count
					    ? ours->metrics[m].name
					    : special_metrics[m - ours->metric_count].name);
		assert_contains(e.held.buf + before, key);
	}
	for (size_t i = 0; i < e.index_count; i++) {
		for (size_t k = 0; k < e.indices[i].field_count; k++)
			free(e.indices[i].fields[k].name);
		free(e.indices[i].fields);
		free(e.indices[i].name);
		free(e.indices[i].source);
		quota_release(&e.indices[i].names);
	}
	free(e.indices);
	free(e.items);
	quota_release(&e.names);
	sink_refusals_release(&e.refusals);
	strbuf_release(&e.held);
	strbuf_release(&e.why);
	row_mappers_free(e.mappers);
}

/* Requests that are too large for the server become smaller ones. */
static void a_server_that_takes_little(void **state)
{
	static const char *const few[] = {"--body-max", "20000", NULL};
	struct fake_server s;

	fake_start(&s, "fake_elastic.py", few);
	const struct sink_options o = {.target = s.url, .state = *state};
	harness_life(&sink_elastic, &o, &plan);
	check_all(&s, &plan);
	fake_stop(&s);
}

static void a_user(void **state)
{
	static const char *const arguments[] = {"--user", "alice:se:cret", NULL};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *file = xasprintf("%s/user", (char *)*state);
	struct fake_server s;
	uint64_t position;
	void *feed;

	fake_start(&s, "fake_elastic.py", arguments);
	struct sink_options o = {.target = s.url, .state = *state};
	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EAGAIN);
	assert_contains(why.buf, "status 401");
	FILE *f = fopen(file, "w");
	fputs("alice:se:cret\n", f);
	fclose(f);
	o.user_file = file;
	/* one that others may read is refused */
	strbuf_reset(&why);
	assert_int_equal(chmod(file, 0640), 0);
	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EINVAL);
	assert_contains(why.buf, "is readable by others");
	assert_int_equal(chmod(file, 0600), 0);
	harness_life(&sink_elastic, &o, &plan);
	check_all(&s, &plan);
	fake_stop(&s);
}

static void certificates_are_checked(void **state)
{
	const char *const arguments[] = {"--tls", *state, NULL};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	uint64_t position;
	void *feed;

	fake_start(&s, "fake_elastic.py", arguments);
	_cleanup_free_ char *url = xasprintf("https://127.0.0.1:%s", s.port);
	struct sink_options o = {.target = url, .state = *state};
	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EAGAIN);
	assert_contains(why.buf, "certificate");
	o.no_check_certificates = true;
	feed = harness_start(&sink_elastic, &o, &position);
	harness_must(&sink_elastic, feed, &plan, 1, 2, true);
	sink_elastic.close(feed);
	fake_stop(&s);
}

/* An entry that is small as it is sent, and huge as documents: a part is taken, and that is said.
 */
static void an_entry_that_is_too_large(void **state)
{
	static const struct harness_plan huge = {
		.nodes = 1, .entries = 1, .readings = 1000, .jobs = 1200};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	uint64_t position;
	unsigned at;

	fake_start(&s, "fake_elastic.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state};
	void *feed = harness_start(&sink_elastic, &o, &position);
	assert_int_equal(harness_batches(&sink_elastic, feed, &huge, 1, 1, &at, &why), -E2BIG);
	assert_contains(why.buf, "only a part");
	sink_elastic.close(feed);
	fake_stop(&s);
}

static void what_cannot_be(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;
	void *feed;
	struct sink_options o = {.target = "localhost:9200", .state = *state};

	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EINVAL);
	assert_contains(why.buf, "http://");
	strbuf_reset(&why);
	o.target = "http://127.0.0.1:1";
	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EAGAIN);
	strbuf_reset(&why);
	o.prefix = "Up";
	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EINVAL);
	strbuf_reset(&why);
	o.prefix = NULL;
	o.user_file = "/nonexistent/user";
	assert_int_equal(sink_elastic.open(&o, &feed, &position, &why), -EINVAL);
	assert_contains(why.buf, "/nonexistent/user");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_value_is_there_once),
		TEST(a_server_with_troubles),
		TEST(a_server_that_hangs),
		TEST(documents_that_are_refused),
		TEST(documents_that_are_refused_and_cannot_be_kept),
		TEST(one_node_cannot_use_up_the_names),
		TEST(documents_that_can_be_mended),
		TEST(a_server_that_takes_little),
		TEST(a_user),
		TEST(certificates_are_checked),
		TEST(an_entry_that_is_too_large),
		TEST(what_cannot_be),
	};

	log_init("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
