/* Messages as colmet's Rust version sends them: the bytes of one of its own, and what goes in. */
#include "unit.h"

#include "compat/colmet/colmet.h"

static const struct sample_metric of_jobs[] = {
	{"page_faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, ""},
	{"cpu_periods", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, ""},
	{"cpu_throttled_time", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, ""},
	{"memory_anon", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 4096, ""},
};

static void add(struct colmet_rust *r, const char *const *jobs, size_t count, const int64_t *values)
{
	struct sample_set set;

	sample_init(&set, of_jobs, ARRAY_SIZE(of_jobs));
	sample_begin(&set);
	for (size_t i = 0; i < count; i++) {
		sample_row(&set, sample_entity(&set, ENTITY_JOB, jobs[i]));
		for (unsigned m = 0; m < ARRAY_SIZE(of_jobs); m++)
			if (values[m] >= 0)
				sample_put(&set, m, values[m]);
	}
	colmet_rust_add(r, "jobs", &set, INT64_C(0x1a1dd10a6c8) * 1000);
	colmet_rust_add(r, "procstats", &set, 0);
	sample_release(&set);
}

/* Two jobs with the metrics that it has by default, as its node sent them. */
static void as_its_own_node(void **state)
{
	static const char *const jobs[] = {"1000", "1001"};
	static const char job_1000[] =
		"\xcd\x03\xe8\x94\xa2vm\xcf\x00\x00\x01\xa1\xdd\x10\xa6\xc8\x01\x92"
		"\x94\xcd\x03\xe8\xa6memory\x91\xa2\x31\x30\x91\x01"
		"\x94\xcd\x03\xe8\xa3"
		"cpu\x91\xa2\x33\x36\x91\x00";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct colmet_rust *r = colmet_rust_new("pgfault,nr_periods");

	(void)state;
	assert_int_equal(colmet_rust_pack(r, "vm", &out), 0);
	add(r, jobs, 2, (const int64_t[]){7, 5, 1, 1});
	/* of two readings the last one */
	add(r, jobs, 2, (const int64_t[]){1, 0, 1, 1});
	assert_int_equal(colmet_rust_pack(r, "vm", &out), 4);
	assert_int_equal(out.len, 99);
	assert_int_equal((unsigned char)out.buf[0], 0x82);
	assert_memory_equal(out.buf + 1, job_1000, sizeof(job_1000) - 1);
	strbuf_reset(&out);
	assert_int_equal(colmet_rust_pack(r, "vm", &out), 0);
	colmet_rust_free(r);
}

static void show(void *user, struct batcher *b, const char *host)
{
	(void)b;
	strbuf_addf(user, "%s ", host);
}

/* What is not asked for, not known or not a number for colmet is not sent; units are its own. */
static void what_goes_in(void **state)
{
	static const char *const jobs[] = {"77", "pod-without-number"};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, hosts = STRBUF_INIT, why = STRBUF_INIT;
	struct colmet_rust *r =
		colmet_rust_new("rss,total_rss,throttled_time,pgpgin,nosuch,pgfault");
	enum colmet_dialect dialect;

	(void)state;
	add(r, jobs, 2, (const int64_t[]){-1, 5, 3000000, 1000000});
	assert_int_equal(colmet_rust_pack(r, "vm", &out), 2);
	static const char want[] = "\x81\x4d\x94\xa2vm\xcf\x00\x00\x01\xa1\xdd\x10\xa6\xc8\x01\x92"
				   "\x94\x4d\xa6memory\x92\xa1\x31\xa2\x32\x30\x92"
				   "\xce\xf4\x24\x00\x00\xce\xf4\x24\x00\x00"
				   "\x94\x4d\xa3"
				   "cpu\x91\xa2\x33\x38\x91\xce\xb2\xd0\x5e\x00";
	assert_int_equal(out.len, sizeof(want) - 1);
	assert_memory_equal(out.buf, want, sizeof(want) - 1);
	assert_int_equal(colmet_read(out.buf, out.len, &dialect, show, &hosts, &why), 2);
	assert_int_equal(dialect, COLMET_RUST);
	assert_text(&hosts, "vm ");
	colmet_rust_free(r);
}

/* Events are differences: those of two seconds that one message has are added up. */
static void events_of_two_seconds(void **state)
{
	static const struct sample_metric counters[] = {
		{"page_faults", UNIT_NONE, KIND_COUNTER, AGG_SUM, 1, ""},
	};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct colmet_rust *r = colmet_rust_new("page_faults");
	struct fixed_row *record = xcalloc(1, sizeof(*record));
	struct sample_set set;

	(void)state;
	sample_init(&set, counters, 1);
	sample_begin(&set);
	colmet_rust_add(r, "job_counters", &set, 0);
	for (record->table = colmet_backends;
	     strcmp(record->table->name, "perfhwstats_default") != 0;)
		record->table++;
	record->job = 77;
	record->time_s = 1000;
	record->values[0].i = 100;
	colmet_rust_count(r, record);
	record->time_s++;
	record->values[0].i = 11;
	colmet_rust_count(r, record);
	assert_int_equal(colmet_rust_pack(r, "vm", &out), 1);
	assert_int_equal((unsigned char)out.buf[out.len - 1], 111);
	sample_release(&set);
	free(record);
	colmet_rust_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_two_seconds),
		cmocka_unit_test(as_its_own_node),
		cmocka_unit_test(what_goes_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
