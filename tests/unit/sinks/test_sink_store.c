/*
 * The sink store: jobs and days of nodes, statistics that go on, nothing twice. On SQLite, and on
 * the PostgreSQL server that $PL_STORE_URL names, where tests/cli/collect_store.bats has one.
 */
#include "many_names.h"
#include "sink_store.h"

#include <errno.h>

static void every_value_is_there_once(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};

	harness_life(&sink_store, &o, &plan);
	check_all(url, &plan, plan.entries);
}

/* The store knows the log by the log's own id: what the feed keeps beside it may be lost. */
static void known_by_the_log(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	_cleanup_free_ char *other = path_in(*state, "other"), *old = path_in(*state, "old");
	struct sink_options o = {.target = url, .state = dir, .log = 4711};
	uint64_t position;

	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 3, true);
	sink_store.close(feed);
	o.state = other;
	feed = harness_start(&sink_store, &o, &position);
	assert_int_equal(position, 4);
	harness_must(&sink_store, feed, &plan, 1, plan.entries, true);
	sink_store.close(feed);
	check_all(url, &plan, plan.entries);

	/* another log is another one; and one that an earlier version named is found */
	o.log = 4712;
	feed = harness_start(&sink_store, &o, &position);
	assert_int_equal(position, 0);
	sink_store.close(feed);
	struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
	assert_int_equal(store_exec(s, "UPDATE sample_stream SET name = "
				       "'0123456789abcdef0123456789abcdef'"),
			 0);
	store_close(s);
	assert_int_equal(mkdir(old, 0700), 0);
	_cleanup_free_ char *file = xasprintf("%s/log", old);
	write_file(file, "0123456789abcdef0123456789abcdef", 32);
	o.state = old;
	for (int i = 0; i < 2; i++) {
		feed = harness_start(&sink_store, &o, &position);
		assert_int_equal(position, plan.entries + 1);
		sink_store.close(feed);
		assert_int_equal(access(file, F_OK), -1);
	}
}

/* A file that somebody replaces or removes takes no rows that nobody will see. */
static void replaced_under_us(void **state)
{
	_cleanup_free_ char *url = xasprintf("%s/file.db", (char *)*state),
			    *aside = xasprintf("%s/aside.db", (char *)*state),
			    *other = xasprintf("%s/other.db", (char *)*state),
			    *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir, .log = 1};
	const struct sink_options into = {.target = other, .state = dir, .log = 2};
	uint64_t position;

	if (getenv("PL_STORE_URL"))
		return;
	for (int way = 0; way < 3; way++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		void *feed = harness_start(&sink_store, &o, &position);

		harness_must(&sink_store, feed, &plan, 1, 3, true);
		if (way == 2) {
			void *made = harness_start(&sink_store, &into, &position);

			sink_store.close(made);
			assert_int_equal(rename(other, url), 0);
		} else {
			assert_int_equal(way ? unlink(url) : rename(url, aside), 0);
		}
		assert_int_equal(harness_batches(&sink_store, feed, &plan, 4, 5, NULL, &why), 0);
		assert_int_equal(sink_store.commit(feed, 5, &why), -EAGAIN);
		assert_contains(why.buf,
				"was replaced or removed after it was opened; continues with");
		/* they come again, and are in the file that people see */
		harness_must(&sink_store, feed, &plan, 4, 5, true);
		sink_store.close(feed);
		struct store *s = read_store(url);
		assert_true(ask(s, "SELECT count(*) FROM samples") > 0);
		assert_int_equal(ask(s, "SELECT position FROM sample_stream"), 6);
		store_close(s);
		if (way == 0)
			assert_int_equal(unlink(aside), 0);
		assert_int_equal(unlink(url), 0);
	}
}

/* The names of a store and of what SQLite puts beside it. */
static void move_store(const char *from, const char *to, bool all)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	for (size_t i = 0; i < (all ? ARRAY_SIZE(ends) : 1); i++) {
		_cleanup_free_ char *a = xasprintf("%s%s", from, ends[i]);
		_cleanup_free_ char *b = xasprintf("%s%s", to, ends[i]);

		assert_true(rename(a, b) == 0 || i);
	}
}

/* What was committed is in the file that was moved away, by itself, and the rest in the new one. */
static void moved_under_us(void **state)
{
	enum { ALONE, WITH_LOG, WHILE_READ, COPIED, THEN_ENDED, WAYS };
	_cleanup_free_ char *url = xasprintf("%s/file.db", (char *)*state),
			    *old = xasprintf("%s/old.db", (char *)*state),
			    *copy = xasprintf("cp '%s' '%s' && rm '%s'", url, old, url),
			    *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir, .log = 1};
	uint64_t position;

	if (getenv("PL_STORE_URL"))
		return;
	for (int way = 0; way < WAYS; way++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		void *feed = harness_start(&sink_store, &o, &position);
		struct store *reader = NULL;

		harness_must(&sink_store, feed, &plan, 1, 2, true);
		if (way == WHILE_READ) {
			/* the log beside the file cannot be emptied meanwhile */
			reader = read_store(url);
			assert_int_equal(store_exec(reader, "BEGIN"), 0);
			assert_true(ask(reader, "SELECT count(*) FROM samples") > 0);
		}
		harness_must(&sink_store, feed, &plan, 3, 3, true);
		if (way == COPIED) /* as mv does to another filesystem */
			assert_int_equal(system(copy), 0);
		else
			move_store(url, old, way == WITH_LOG);
		if (way != THEN_ENDED) {
			harness_must(&sink_store, feed, &plan, 4, 5, false);
			if (reader) {
				/* nothing is let go that is not in a file */
				assert_int_equal(sink_store.commit(feed, 5, &why), -EBUSY);
				assert_contains(why.buf, "is being read");
				store_close(reader);
				harness_must(&sink_store, feed, &plan, 4, 5, false);
			}
			assert_int_equal(sink_store.commit(feed, 5, &why), -EAGAIN);
			assert_contains(
				why.buf,
				"was replaced or removed after it was opened; continues with");
		}
		if (way != THEN_ENDED)
			harness_must(&sink_store, feed, &plan, 4, plan.entries, true);
		sink_store.close(feed);
		check_all(old, &plan, 3);
		if (way != THEN_ENDED) {
			struct store *s = read_store(url);

			assert_int_equal(ask(s, "SELECT count(*) FROM samples"),
					 (int64_t)(harness_expect(&plan, plan.entries, NULL, NULL) -
						   harness_expect(&plan, 3, NULL, NULL)));
			store_close(s);
			assert_int_equal(unlink(url), 0);
		}
		assert_int_equal(unlink(old), 0);
	}
}

/* Pieces of a series add up to what the whole would be. */
static void statistics_go_on(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	uint64_t position;

	for (unsigned k = 1; k <= plan.entries; k++) {
		/* opened for each: nothing is only in memory */
		void *feed = harness_start(&sink_store, &o, &position);

		assert_int_equal(position, k == 1 ? 0 : k);
		harness_must(&sink_store, feed, &plan, k, k, true);
		sink_store.close(feed);
	}
	struct store *s = read_store(url);
	/* node1, job 1001: ticks 0 to 19, each 1000 more than the one before */
	static const char where[] =
		"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND "
		"m.n = s.metric JOIN sample_entity e ON e.job = s.job AND "
		"e.n = s.entity JOIN job j ON j.no = s.job WHERE "
		"j.jobid = '1001' AND e.kind = 'job' AND e.host = 'node1' AND "
		"m.name = 'group.cpu_time'";
	const struct {
		const char *what;
		int64_t want;
	} checks[] = {{"s.count", 20},
		      {"s.minimum", 7},
		      {"s.maximum", 19007},
		      {"CAST(s.increase AS BIGINT)", 19000},
		      /* half way from the first to the last */
		      {"CAST(s.mean * 2 AS BIGINT)", 7 + 19007},
		      {"s.first_us", HARNESS_BEGIN_S * 1000000},
		      {"s.last_us", (HARNESS_BEGIN_S + 19) * 1000000},
		      {"s.first_value", 7},
		      {"s.last_value", 19007}};
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		_cleanup_free_ char *sql = xasprintf("SELECT %s %s", checks[i].what, where);

		if (ask(s, sql) != checks[i].want)
			fail_msg("%s: %lld", checks[i].what, (long long)ask(s, sql));
	}
	/* the sums are those of both nodes, the last value of each */
	assert_int_equal(ask(s, "SELECT sum FROM job_sums WHERE jobid = '1001' AND "
				"metric = 'group.cpu_time'"),
			 19007 + 19008);
	store_close(s);
}

/* What the node's own sources say is taken before what another tool's say. */
static void cpu_time_of_a_job(void **state)
{
	static const char imported[] = ""
#define IMPORTED_COUNTER(metric) metric
#include "core/metrics/imported_counters.def"
#undef IMPORTED_COUNTER
		;
	static const struct {
		const char *source;
		struct sample_metric metric;
	} said[] = {{"taskstats_default",
		     {"cpu_run_virtual_total", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL}},
		    {"job_tasks",
		     {"cpu_run_virtual_total", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL}},
		    {"jobs", {"cpu_usage", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL}}};
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	const struct batch_name name = {"n", 1, 1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const int64_t cpu_us[] = {*imported ? 7654 : 0, 8654, 9654321};
	uint64_t position;

	for (unsigned i = 0; i < ARRAY_SIZE(said); i++) {
		const struct sample_file_head head = {.host = (char *)"n",
						      .boot = (char *)"1",
						      .period_ns = 1000000000,
						      .realtime_ns = 1800000000000000000};
		struct sample_set set;
		struct sample_file f;
		int fd = memfd_create("batch", MFD_CLOEXEC);

		assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
		struct sample_writer *w = sample_writer_open(fd, &head);
		sample_init(&set, &said[i].metric, 1);
		unsigned source = sample_writer_source(w, said[i].source, 1, &set);
		sample_row(&set, sample_entity(&set, ENTITY_JOB, "7"));
		sample_put(&set, 0, 7654321 + 1000000 * i);
		sample_writer_add(w, source, &set);
		assert_int_equal(sample_writer_flush(w, false), 0);
		assert_int_equal(sample_writer_close(w, NULL), 0);
		sample_release(&set);
		assert_int_equal(sample_file_open(&f, fd, &why), 0);
		void *feed = harness_start(&sink_store, &o, &position);
		assert_int_equal(sink_store.batch(feed, i + 1, &name, &f, &why), 0);
		assert_int_equal(sink_store.commit(feed, i + 1, &why), 0);
		sample_file_close(&f);
		sink_store.close(feed);
		struct store *s = read_store(url);
		assert_int_equal(ask(s, "SELECT cpu_us FROM job WHERE jobid = '7'"), cpu_us[i]);
		store_close(s);
	}
}

/* One batch with the readings of a source: other is read at all of the times, percent at those that
 * have one. */
static int percentages(size_t n, const double *seconds, const int *percent)
{
	static const struct sample_metric columns[] = {
		{"other", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, NULL},
		{"cpu_percent", UNIT_PERCENT, KIND_MEAN, AGG_SUM, 0, NULL}};
	const struct sample_file_head head = {.host = (char *)"n",
					      .boot = (char *)"1",
					      .period_ns = 4000000000,
					      .realtime_ns = 1800000000000000000};
	int fd = memfd_create("batch", MFD_CLOEXEC);
	struct sample_set set;

	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	struct sample_writer *w = sample_writer_open(fd, &head);
	sample_init(&set, columns, 2);
	unsigned source = sample_writer_source(w, "process", 1, &set);
	for (size_t i = 0; i < n; i++) {
		sample_begin(&set);
		sample_row(&set, sample_entity(&set, ENTITY_JOB, "7"));
		sample_put(&set, 0, 1);
		if (percent[i] >= 0)
			sample_put(&set, 1, percent[i]);
		set.time_ns = (uint64_t)(seconds[i] * 1e9);
		sample_writer_add(w, source, &set);
	}
	assert_int_equal(sample_writer_flush(w, false), 0);
	assert_int_equal(sample_writer_close(w, NULL), 0);
	sample_release(&set);
	return fd;
}

/* The first of means is over the time before it, in one piece and in several. */
static void means_begin_before(void **state)
{
	static const double seconds[] = {0, 4, 8, 8.5};
	static const int percent[] = {-1, 85, 0, 17};
	const struct batch_name name = {"n", 1, 1};

	for (size_t pieces = 1; pieces <= 2; pieces++) {
		_cleanup_free_ char *url = xasprintf("%s/%zu.db", (char *)*state, pieces),
				    *dir = xasprintf("%s/feed%zu", (char *)*state, pieces);
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const struct sink_options o = {.target = url, .state = dir};
		uint64_t position;

		if (getenv("PL_STORE_URL"))
			return;
		void *feed = harness_start(&sink_store, &o, &position);
		for (size_t i = 0; i < pieces; i++) {
			struct sample_file f;
			size_t n = 4 / pieces;
			int fd = percentages(n, seconds + i * n, percent + i * n);

			assert_int_equal(sample_file_open(&f, fd, &why), 0);
			assert_int_equal(sink_store.batch(feed, i + 1, &name, &f, &why), 0);
			assert_int_equal(sink_store.commit(feed, i + 1, &why), 0);
			sample_file_close(&f);
		}
		sink_store.close(feed);
		struct store *s = read_store(url);
		assert_int_equal(ask(s, "SELECT CAST(round(mean * 1000) AS BIGINT) FROM series "
					"WHERE metric = 'process.cpu_percent'"),
				 41000);
		assert_int_equal(ask(s, "SELECT first_us - begin_us FROM sample_series WHERE "
					"begin_us IS NOT NULL"),
				 4000000);
		store_close(s);
	}
}

static void jobs_have_what_lists_show(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	uint64_t position;

	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 8, true);
	sink_store.close(feed);
	struct store *s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs"), 3 + 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE \"user\" = 'alice' AND format = "
				"'node' AND start = 1800000000000000 AND duration = 19000000"),
			 3);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE jobid = 'node:node2:2027-01-15' "
				"AND jobname = 'node' AND \"user\" IS NULL"),
			 1);
	assert_int_equal(ask(s, "SELECT count(*) FROM job_hosts"), 3 * 2 + 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM series WHERE jobid = '1000' AND "
				"entity_kind = 'process' AND facts = '{\"job\":\"1000\"}'"),
			 2 * 2 * 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM job WHERE bytes > 100"), 5);
	store_close(s);
}

/* More ticks than a chunk has, and a day that ends in the middle. */
static void long_and_over_midnight(void **state)
{
	static const struct harness_plan longer = {
		.nodes = 1, .entries = 4, .readings = 150, .jobs = 1, .skip = 57300};
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};

	harness_life(&sink_store, &o, &longer);
	check_all(url, &longer, longer.entries);
	struct store *s = read_store(url);
	assert_int_equal(
		ask(s, "SELECT count(*) FROM jobs WHERE jobid LIKE 'node:node1:2027-01-1_'"), 2);
	assert_int_equal(ask(s, "SELECT max(count) FROM sample_chunk"), 128);
	assert_int_equal(ask(s, "SELECT CAST(increase AS BIGINT) FROM series WHERE jobid = '1000' "
				"AND metric = 'group.cpu_time'"),
			 599 * 1000);
	store_close(s);
}

/* A job is removed while its samples come: what comes afterwards makes it anew. */
static void a_job_is_removed_meanwhile(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;
	uint64_t position;

	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 4, true);
	assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
	assert_int_equal(store_exec(s, "DELETE FROM job WHERE jobid = '1001'; DELETE FROM job_meta;"
				       "DELETE FROM sample_chunk; DELETE FROM sample_series; "
				       "DELETE FROM sample_tick; DELETE FROM sample_metric; "
				       "DELETE FROM sample_entity"),
			 0);
	store_close(s);
	/* it notices, and asks for the entries again */
	assert_int_equal(harness_batches(&sink_store, feed, &plan, 5, 8, NULL, &why), 0);
	assert_int_equal(sink_store.commit(feed, 8, &why), -ESTALE);
	assert_string_equal(why.buf, "a job was submitted or deleted meanwhile");
	harness_must(&sink_store, feed, &plan, 5, 8, true);
	sink_store.close(feed);
	s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM samples WHERE jobid = '1001' AND "
				"metric = 'group.cpu_time'"),
			 20);
	store_close(s);
}

/* Who has used as many names as he can keeps nobody from those that he needs, in the same job. */
static void one_node_cannot_use_up_the_names(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	const struct source *ours = source_find("system");

	many_play(&sink_store, &o, 2);
	struct store *s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM job WHERE jobid = '4711'"), 1);
	assert_int_equal(ask(s, "SELECT count(*) FROM samples WHERE host = 'good' AND metric LIKE "
				"'special.%'"),
			 ARRAY_SIZE(special_metrics));
	assert_int_equal(
		ask(s,
		    "SELECT count(*) FROM samples WHERE host = 'good' AND metric LIKE 'system.%'"),
		(int64_t)ours->metric_count);
	assert_true(ask(s, "SELECT count(*) FROM sample_metric") <=
		    4096 / 4 + (int64_t)ours->metric_count + 5);
	store_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_value_is_there_once),
		TEST(known_by_the_log),
		TEST(replaced_under_us),
		TEST(moved_under_us),
		TEST(statistics_go_on),
		TEST(means_begin_before),
		TEST(jobs_have_what_lists_show),
		TEST(long_and_over_midnight),
		TEST(a_job_is_removed_meanwhile),
		TEST(cpu_time_of_a_job),
		TEST(one_node_cannot_use_up_the_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
