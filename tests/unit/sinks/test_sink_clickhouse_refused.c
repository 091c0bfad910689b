/* The sink clickhouse and rows that a server never takes: they are kept aside or told of, the
 * others go on. */
#include "sink_clickhouse.h"

/* ---- rows that are never taken ---- */

static uint64_t refusals[8];
static size_t refusal_count;
static const char *refusal_reason;
static unsigned full; /* times that nothing can be kept aside */

static int on_refused(void *user, uint64_t number, const char *reason)
{
	(void)user;
	if (full && full--)
		return -ENOSPC;
	assert_contains(reason, refusal_reason);
	assert_contains(reason, "rows of plimsoll_system");
	refusals[refusal_count++ % 8] = number;
	return 0;
}

#define fake_poison(s, text) json_decref(fake_ask(s, "PUT", "/_poison", text))

/* Entry 6 is the third of node 2: its counter of forks at the first reading, tick 10. */
#define BAD_ENTRY 6
#define BAD_FORKS 20001

static size_t rows_there(const char *url)
{
	struct found found = {.rows = json_object()};

	for (size_t i = 0; i < HARNESS_SOURCES; i++)
		read_table(url, harness_sources[i], &found);
	json_decref(found.rows);
	return found.count;
}

static void *start_poisoned(struct fake_server *s, char *dir, const char *poison)
{
	struct sink_options o = {.state = dir, .refused = on_refused};
	uint64_t position;

	fake_start(s, "fake_clickhouse.py", NULL);
	o.target = s->url;
	refusal_count = 0;
	refusal_reason = "The test does not want it";
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	harness_must(&sink_clickhouse, feed, &plan, 1, plan.entries, false);
	fake_poison(s, poison);
	return feed;
}

/* What the server never takes is left out, by the entry that has it; the rest is there. */
static void rows_that_are_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	void *feed = start_poisoned(&s, *state,
				    "{\"column\":\"forks\",\"value\":20001,\"code\":469,"
				    "\"status\":500}");

	assert_int_equal(sink_clickhouse.commit(feed, plan.entries, &why), 0);
	assert_int_equal(refusal_count, 1);
	assert_int_equal(refusals[0], BAD_ENTRY);
	assert_int_equal(rows_there(s.url), 8 * 5 * 10 - 5);
	json_t *seen = fake_state(&s);
	/* all, a half, a quarter, itself */
	assert_int_equal(fake_count(seen, "poisoned"), 4);
	json_decref(seen);
	/* what comes then is taken */
	harness_must(&sink_clickhouse, feed, &plan, 9, 10, true);
	assert_int_equal(refusal_count, 1);
	assert_int_equal(rows_there(s.url), 10 * 5 * 10 - 5);
	sink_clickhouse.close(feed);
	fake_stop(&s);
}

/* What cannot be kept aside is not left out, but waits. */
static void rows_that_are_refused_and_cannot_be_kept(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	void *feed = start_poisoned(&s, *state,
				    "{\"column\":\"forks\",\"value\":20001,\"code\":469,"
				    "\"status\":500}");

	full = 2;
	for (unsigned i = 0; i < 2; i++) {
		strbuf_reset(&why);
		assert_int_equal(sink_clickhouse.commit(feed, plan.entries, &why), -EAGAIN);
		assert_contains(why.buf, "part of entry 6 is refused and cannot be kept aside: "
					 "No space left on device");
		assert_int_equal(refusal_count, 0);
	}
	assert_int_equal(rows_there(s.url), 8 * 5 * 10 - 5);
	/* mended meanwhile: nothing is left out at all */
	fake_poison(&s, "{}");
	harness_must(&sink_clickhouse, feed, &plan, 6, plan.entries, true);
	assert_int_equal(refusal_count, 0);
	assert_int_equal(rows_there(s.url), 8 * 5 * 10);
	sink_clickhouse.close(feed);
	fake_stop(&s);
}

/* An answer that nobody knows may pass: but not for ever where other rows are taken. */
static void rows_that_are_refused_without_a_known_reason(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	void *feed = start_poisoned(&s, *state,
				    "{\"column\":\"forks\",\"value\":20001,\"code\":54321,"
				    "\"status\":500}");
	unsigned failures = 0;

	while (sink_clickhouse.commit(feed, plan.entries, &why) == -EAGAIN) {
		assert_int_equal(refusal_count, 0);
		/* the others need not wait for it */
		assert_int_equal(rows_there(s.url), 8 * 5 * 10 - 5);
		assert_contains(why.buf, "54321");
		assert_true(++failures < 20);
	}
	assert_true(failures >= 5);
	assert_int_equal(refusal_count, 1);
	assert_int_equal(refusals[0], BAD_ENTRY);
	sink_clickhouse.close(feed);
	fake_stop(&s);
}

/* A server that is short of something will take them. */
static void rows_that_are_taken_later(void **state)
{
	static const int codes[] = {241, 243, 242, 252, 497};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_free_ char *poison =
			xasprintf("{\"column\":\"forks\",\"value\":20001,\"code\":%d,"
				  "\"status\":500}",
				  codes[i]);
		struct fake_server s;
		void *feed = start_poisoned(&s, *state, poison);

		for (unsigned k = 0; k < 20; k++)
			assert_int_equal(sink_clickhouse.commit(feed, plan.entries, &why), -EAGAIN);
		fake_poison(&s, "{}");
		assert_int_equal(sink_clickhouse.commit(feed, plan.entries, &why), 0);
		assert_int_equal(refusal_count, 0);
		check_all(s.url, &plan);
		sink_clickhouse.close(feed);
		fake_stop(&s);
	}
}

/* Months apart, and more of them than a server takes at once. */
static void many_months_in_a_block(void **state)
{
	static const char *const arguments[] = {"--partitions", "1", NULL};
	const struct harness_plan p = {.nodes = 1, .entries = 1, .readings = 2, .jobs = 1};
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_clickhouse.py", arguments);
	const struct sink_options o = {.target = s.url, .state = *state, .refused = on_refused};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	refusal_count = 0;
	for (unsigned k = 0; k < 5; k++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct harness_plan month = p;
		struct batch_name name;
		struct sample_file f;

		month.skip = k * 40 * 86400;
		harness_open(&month, 1, &name, &f);
		assert_int_equal(sink_clickhouse.batch(feed, k + 1, &name, &f, &why), 0);
		sample_file_close(&f);
	}
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	assert_int_equal(sink_clickhouse.commit(feed, 5, &why), 0);
	sink_clickhouse.close(feed);
	assert_int_equal(refusal_count, 0);
	struct found found = {.rows = json_object()};
	read_table(s.url, "system", &found);
	read_table(s.url, "group", &found);
	assert_int_equal(found.count, 5 * 2 * 2);
	json_decref(found.rows);
	fake_stop(&s);
}

/* A server itself: a view on the table that cannot take a value. */
static void a_view_that_refuses(void **state)
{
	const char *url = getenv("PL_CLICKHOUSE_URL"), *read = getenv("PL_CLICKHOUSE_READ");
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;

	if (!url || strchr(url, ','))
		return;
	drop_tables(url);
	const struct sink_options o = {.target = url, .state = *state, .refused = on_refused};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	refusal_count = 0;
	refusal_reason = "throwIf";
	harness_must(&sink_clickhouse, feed, &plan, 1, 2, true);
	free(ask(url, "CREATE MATERIALIZED VIEW plimsoll_picky ENGINE = Memory AS SELECT "
		      "throwIf(forks = 20001) AS x FROM plimsoll_system_rows"));
	harness_must(&sink_clickhouse, feed, &plan, 3, plan.entries, false);
	int r = sink_clickhouse.commit(feed, plan.entries, &why);
	free(ask(url, "DROP TABLE plimsoll_picky"));
	assert_int_equal(r, 0);
	assert_int_equal(refusal_count, 1);
	assert_int_equal(refusals[0], BAD_ENTRY);
	harness_must(&sink_clickhouse, feed, &plan, 9, 9, true);
	sink_clickhouse.close(feed);
	/* this one has them all the same: it wrote before it asked its view */
	assert_true(rows_there(read) >= 9 * 5 * 10 - 5);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(rows_that_are_refused),
		TEST(rows_that_are_refused_and_cannot_be_kept),
		TEST(rows_that_are_refused_without_a_known_reason),
		TEST(rows_that_are_taken_later),
		TEST(many_months_in_a_block),
		TEST(a_view_that_refuses),
	};

	log_init("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
