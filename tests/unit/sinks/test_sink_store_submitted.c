/*
 * The sink store and jobs that are submitted, too: they are one job, where they are the same. On
 * SQLite, and on the PostgreSQL server that $PL_STORE_URL names, as test_sink_store.c.
 */
#include "sink_store.h"

#include <errno.h>

#include "store/identity.h"
#include "store/ingest/ingest_write.h"
#include "store/stream/stream.h"
#include "tables/hdf5/hdf5_file.h"

/* A job without processes, as `submit` stores it; from its third to its seventh second, years
 * later. */
static int submit_by(const char *url, const char *format, const char *jobid, const char *user,
		     int years)
{
	int64_t begin = (HARNESS_BEGIN_S + years * 31536000ll) * 1000000;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = value_new(VALUE_DICT);
	struct ingest_result result;
	struct jobmeta m = {0};
	struct store *s = NULL;
	struct ingest *in = NULL;

	value_set(meta, "jobid", value_str(jobid));
	if (user)
		value_set(meta, "user", value_str(user));
	assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
	assert_int_equal(jobmeta_from(&m, meta, &why), 0);
	/* as identity_find() has it: one more of that id */
	_cleanup_free_ char *sql =
		xasprintf("SELECT coalesce(max(nth), -1) + 1 FROM job WHERE jobid = '%s'", jobid);
	int64_t nth = user ? ask(s, sql) : 0;
	assert_int_equal(ingest_begin(&in, s, &why), 0);
	in->nth = nth;
	ingest_times(in, begin + 3000000, begin + 7000000);
	int r = ingest_finish(in, &m, format, "test", false, &result, &why);
	ingest_free(in);
	jobmeta_release(&m);
	store_close(s);
	return r;
}

static int submit_as(const char *url, const char *format, const char *jobid, int years)
{
	return submit_by(url, format, jobid, NULL, years);
}

static int submit_of(const char *url, const char *jobid, int years)
{
	return submit_as(url, "plimsoll", jobid, years);
}

static int submit(const char *url, const char *jobid)
{
	return submit_of(url, jobid, 0);
}

/* It is submitted while its samples come, or before: it is one job, with all of them. */
static void submitted_meanwhile(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;

	assert_int_equal(submit(url, "1002"), 0);
	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 4, true);
	assert_int_equal(submit(url, "1001"), 0);
	/* twice is twice */
	assert_int_equal(submit(url, "1001"), -ESTALE);
	/* the feed notices that the job has another number, and asks for the entries again */
	assert_int_equal(harness_batches(&sink_store, feed, &plan, 5, 8, NULL, &why), 0);
	assert_int_equal(sink_store.commit(feed, 8, &why), -ESTALE);
	assert_string_equal(why.buf, "a job was submitted or deleted meanwhile");
	harness_must(&sink_store, feed, &plan, 5, 8, true);
	sink_store.close(feed);
	check_all(url, &plan, 8);
	struct store *s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs"), 3 + 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE jobid IN ('1001', '1002') AND "
				"format = 'plimsoll' AND start = 1800000003000000 AND "
				"\"end\" = 1800000007000000"),
			 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM job_hosts WHERE jobid = '1001'"), 2);
	assert_int_equal(ask(s, "SELECT CAST(increase AS BIGINT) FROM series WHERE jobid = '1001' "
				"AND metric = 'group.cpu_time' AND host = 'node1'"),
			 19000);
	store_close(s);
}

/* Somebody else submits a job of the same id and time, before and while the readings come: he gets
 * none of them, and the real one, submitted last, has all. */
static void of_another_user(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	uint64_t position;

	assert_int_equal(submit_by(url, "plimsoll", "1002", "eve", 0), 0);
	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 4, true);
	assert_int_equal(submit_by(url, "plimsoll", "1001", "eve", 0), 0);
	harness_must(&sink_store, feed, &plan, 5, 8, true);
	sink_store.close(feed);
	check_all(url, &plan, 8);
	struct store *s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs"), 3 + 2 + 2);
	assert_int_equal(ask(s,
			     "SELECT count(*) FROM sample_series WHERE job IN (SELECT no FROM job "
			     "WHERE username = 'eve')"),
			 0);
	store_close(s);
	assert_int_equal(submit_by(url, "plimsoll", "1001", "alice", 0), 0);
	check_all(url, &plan, 8);
	s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM job WHERE jobid = '1001'"), 2);
	assert_int_equal(
		ask(s, "SELECT count(DISTINCT job) FROM sample_series WHERE job IN (SELECT no "
		       "FROM job WHERE jobid = '1001' AND username = 'alice' AND format = "
		       "'plimsoll')"),
		1);
	store_close(s);
}

/* Nodes that send only the number of a user: names are compared by what this machine calls them,
 * and one that it does not know may be anybody. */
static void of_another_number(void **state)
{
	static const struct {
		const char *fed, *submitted;
		bool same;
	} users[] = {{"0", "root", true},     {"4711", "root", false}, {"4711", "eve", true},
		     {"root", "0", true},     {"root", "4711", false}, {"4711", "4712", false},
		     {"root", "rooot", false}};

	if (getenv("PL_STORE_URL"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		_cleanup_free_ char *url = xasprintf("%s/%zu.db", (char *)*state, i);
		_cleanup_free_ char *sql = xasprintf(
			"UPDATE job SET username = '%s' WHERE jobid = '1001'", users[i].fed);
		struct sink_options o = {.target = url, .state = *state};
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct store *s = NULL;
		uint64_t position;

		assert_false(identity_users_differ(users[i].fed, NULL));
		assert_int_equal(identity_users_differ(users[i].fed, users[i].submitted),
				 !users[i].same);
		void *feed = harness_start(&sink_store, &o, &position);
		harness_must(&sink_store, feed, &plan, 1, 4, true);
		sink_store.close(feed);
		assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
		assert_int_equal(store_exec(s, sql), 0);
		store_close(s);
		assert_int_equal(submit_by(url, "plimsoll", "1001", users[i].submitted, 0), 0);
		s = read_store(url);
		assert_int_equal(ask(s, "SELECT count(*) FROM job WHERE jobid LIKE '1001%'"),
				 users[i].same ? 1 : 2);
		assert_int_equal(ask(s, "SELECT count(*) > 0 FROM sample_series WHERE job IN "
					"(SELECT no FROM job WHERE format = 'plimsoll')"),
				 users[i].same);
		store_close(s);
	}
}

/* What people noted of a job that was fed stays with it, and its processes where what is submitted
 * has readings alone. */
static void notes_and_processes_stay(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;
	uint64_t position;

	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 8, true);
	sink_store.close(feed);
	assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
	assert_int_equal(store_exec(s, "UPDATE job SET num_procs = 54, processes = 54, cpu_us = 7"),
			 0);
	assert_int_equal(store_exec(s, "INSERT INTO job_tag (job, key, value) SELECT no, 'a', 'b' "
				       "FROM job"),
			 0);
	assert_int_equal(store_exec(s, "INSERT INTO job_annotation (job, key, value) SELECT no, "
				       "'n', '3' FROM job"),
			 0);
	store_close(s);
	assert_int_equal(submit(url, "1001"), 0);
	assert_int_equal(submit_as(url, hdf5_jobs_format(), "1002", 0), 0);
	check_all(url, &plan, 8);
	s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM job_tags WHERE jobid IN ('1001', '1002') AND "
				"key = 'a' AND value = 'b'"),
			 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM job_annotations WHERE jobid IN ('1001', "
				"'1002') AND key = 'n' AND value = '3'"),
			 2);
	assert_int_equal(ask(s, "SELECT processes FROM jobs WHERE jobid = '1001'"), 0);
	assert_int_equal(ask(s, "SELECT processes FROM jobs WHERE jobid = '1002' AND format = "
				"'node' AND num_procs = 54 AND cpu_time = 7"),
			 54);
	store_close(s);
}

/* A kill between storing a job and moving its curves: they are moved when a feed opens the store.
 */
static void moved_later(void **state)
{
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;
	uint64_t position;

	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 8, true);
	sink_store.close(feed);
	assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
	assert_int_equal(store_exec(s, "UPDATE job SET jobid = '1001 (fed)' WHERE jobid = '1001'"),
			 0);
	store_close(s);
	assert_int_equal(submit(url, "1001"), 0);
	feed = harness_start(&sink_store, &o, &position);
	assert_int_equal(position, 9);
	sink_store.close(feed);
	check_all(url, &plan, 8);
}

/* Ids are used again: what comes in another year is another job, whatever came first. */
static void another_year(void **state)
{
	static const struct harness_plan later = {.nodes = 2,
						  .entries = 8,
						  .readings = 5,
						  .jobs = 3,
						  .processes = 2,
						  .skip = 347 * 86400};
	_cleanup_free_ char *url = path_in(*state, "store.db"), *dir = path_in(*state, "feed");
	const struct sink_options o = {.target = url, .state = dir};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;

	/* one that was submitted two years before, and was never fed */
	assert_int_equal(submit_of(url, "1002", -2), 0);
	void *feed = harness_start(&sink_store, &o, &position);
	harness_must(&sink_store, feed, &plan, 1, 8, true);
	/* of both times in one commit, to jobs that are there and to new ones */
	for (unsigned k = 1; k <= 8; k++) {
		struct batch_name name;
		struct sample_file f;

		harness_open(&later, k, &name, &f);
		assert_int_equal(sink_store.batch(feed, 8 + k, &name, &f, &why), 0);
		sample_file_close(&f);
	}
	assert_int_equal(sink_store.commit(feed, 16, &why), 0);
	sink_store.close(feed);
	struct store *s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE jobid = '1000'"), 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE jobid = '1002'"), 3);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE format = 'node' AND jobname IS "
				"NULL AND duration = 19000000"),
			 6);
	assert_int_equal(ask(s, "SELECT count(*) FROM (SELECT job FROM samples WHERE jobid = "
				"'1000' AND metric = 'group.cpu_time' GROUP BY job HAVING count(*) "
				"= 40) x"),
			 2);
	store_close(s);
	/* what is submitted has the curves of its own time, and no others */
	assert_int_equal(store_open(&s, url, STORE_WRITE, &why), 0);
	assert_int_equal(store_exec(s, "UPDATE job SET nth = nth + 10 WHERE jobid = '1001'"), 0);
	store_close(s);
	assert_int_equal(submit(url, "1001"), 0);
	s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE jobid = '1001'"), 2);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE format = 'plimsoll' AND jobid = "
				"'1001' AND start = 1800000003000000"),
			 1);
	assert_int_equal(ask(s,
			     "SELECT max(time) FROM samples s JOIN jobs j ON j.job = s.job WHERE "
			     "j.format = 'plimsoll'"),
			 1800000019000000);
	store_close(s);
	/* and the feed goes on with the right one of them */
	feed = harness_start(&sink_store, &o, &position);
	for (unsigned k = 9; k <= 10; k++) {
		struct batch_name name;
		struct sample_file f;

		harness_open(k == 9 ? &plan : &later, k, &name, &f);
		assert_int_equal(sink_store.batch(feed, 8 + k, &name, &f, &why), 0);
		sample_file_close(&f);
	}
	assert_int_equal(sink_store.commit(feed, 18, &why), 0);
	sink_store.close(feed);
	s = read_store(url);
	assert_int_equal(ask(s, "SELECT count(*) FROM jobs WHERE jobname IS NULL"), 7);
	assert_int_equal(ask(s,
			     "SELECT max(time) FROM samples s JOIN jobs j ON j.job = s.job WHERE "
			     "j.format = 'plimsoll'"),
			 1800000024000000);
	store_close(s);
}

/* At the end of a collector with very many jobs there is no time for all of their sums: what was
 * not come to is there after the next opening. */
static void an_end_without_time_for_sums(void **state)
{
	static const char total[] = "SELECT sum(sum) FROM job_sum WHERE metric = 'group.cpu_time'";
	static const struct harness_plan many = {
		.nodes = 1, .entries = 3, .readings = 5, .jobs = 200};
	_cleanup_free_ char *url = path_in(*state, "store.db");
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct stream *s = NULL;
	uint64_t position;
	int64_t seen[3];

	assert_int_equal(stream_open(&s, url, "log", &position, &why), 0);
	for (unsigned k = 1; k <= many.entries; k++) {
		struct batch_name name;
		struct sample_file f;

		harness_open(&many, k, &name, &f);
		assert_int_equal(stream_add(s, &f, sink_job_of), 0);
		sample_file_close(&f);
		assert_int_equal(stream_commit(s, k + 1, &why), 0);
	}
	stream_close_within(s, 0);
	struct store *r = read_store(url);
	seen[0] = ask(r, total);
	store_close(r);
	/* opening has made up for it, and so has nothing to do the next time */
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(stream_open(&s, url, "log", &position, &why), 0);
		assert_int_equal(position, many.entries + 1);
		stream_close_within(s, 0);
		r = read_store(url);
		seen[i] = ask(r, total);
		if (i == 2)
			assert_int_equal(ask(r, "SELECT count(DISTINCT sum) FROM job_sum WHERE "
						"metric = 'group.cpu_time'"),
					 many.jobs);
		store_close(r);
	}
	assert_true(seen[0] < seen[1]);
	assert_int_equal(seen[1], seen[2]);
	/* tick 14 is the last one; a tick is a thousand more, whatever each job begins with */
	assert_int_equal(seen[1] - seen[0], 10 * 1000 * (int64_t)many.jobs);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(submitted_meanwhile),          TEST(of_another_user), TEST(of_another_number),
		TEST(notes_and_processes_stay),     TEST(moved_later),     TEST(another_year),
		TEST(an_end_without_time_for_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
