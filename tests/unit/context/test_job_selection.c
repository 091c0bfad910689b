/* Jobs by words, by a filter, or both. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "context/job_selection.h"

/* Jobs 3 and 4 have the same id; the order of starts is 2, 1, 3, 4. */
static int open_store_with_jobs(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	setenv("TZ", "UTC", 1);
	assert_int_equal(store_open(&s, ":memory:", STORE_WRITE, &why), 0);
	assert_int_equal(
		store_exec(s, "INSERT INTO job (no, jobid, jobname, start_us, duration_us, cpu_us, "
			      "num_procs, num_threads, peak_procs, peak_threads, bytes, format, "
			      "ingested_us, nth) VALUES "
			      "(1, 'a', 'one', 2000000, 5000000, 0, 0, 0, 0, 0, 0, 'x', 1, 0),"
			      "(2, 'b', 'one', 1000000, 6000000, 0, 0, 0, 0, 0, 0, 'x', 2, 0),"
			      "(3, 'c', 'two', 3000000, 7000000, 0, 0, 0, 0, 0, 0, 'x', 3, 0),"
			      "(4, 'c', 'two', 4000000, NULL, 0, 0, 0, 0, 0, 0, 'x', 4, 1)"),
		0);
	*state = s;
	return 0;
}

static int close_store(void **state)
{
	store_close(*state);
	return 0;
}

/* The numbers of the jobs, separated by blanks. */
static void check(struct store *s, const char *first, const char *second, const char *where,
		  const char *want)
{
	char *words[] = {(char *)first, (char *)second};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};
	size_t count = second ? 2 : first ? 1 : 0;

	if (job_selection_find(&js, s, words, count, where, &why) < 0)
		fail_msg("%s", why.buf);
	for (size_t i = 0; i < js.count; i++)
		strbuf_addf(&got, "%s%lld", i ? " " : "", (long long)js.v[i].no);
	assert_string_equal(got.buf, want);
}

static void words_and_filters(void **state)
{
	struct store *s = *state;

	check(s, NULL, NULL, NULL, "");
	check(s, "a", NULL, NULL, "1");
	check(s, "a", "one", NULL, "2 1");
	check(s, "c", NULL, NULL, "3 4");
	check(s, NULL, NULL, "", "2 1 3 4");
	check(s, NULL, NULL, "duration >= 6s", "2 3");
	check(s, "c", NULL, "not duration >= 6s", "4");
	check(s, "a", "b", "jobid = c", "");
}

static void labels(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};

	assert_int_equal(
		job_selection_find(&js, *state, NULL, 0, "jobname = two or jobid = a", &why), 0);
	assert_int_equal(js.count, 3);
	assert_string_equal(js.v[0].label, "a");
	assert_true(str_prefix(js.v[1].label, "c@1970-01-01T00:00:03"));
	assert_int_equal(js.v[2].start_us, 4000000);
}

static void errors(void **state)
{
	char a[] = "a", nothing[] = "nothing", *words[] = {a, nothing};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};

	assert_int_equal(job_selection_find(&js, *state, words, 2, NULL, &why), -ENOENT);
	assert_non_null(strstr(why.buf, "nothing"));
	strbuf_reset(&why);
	assert_int_equal(job_selection_find(&js, *state, NULL, 0, "foo = 1", &why), -EINVAL);
	assert_true(str_prefix(why.buf, "filter: col 1: unknown key 'foo'"));
}

/* 10,000 jobs, half of which match. */
static void many(void **state)
{
	struct store *s = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};

	assert_int_equal(
		store_exec(
			s,
			"INSERT INTO job (no, jobid, start_us, duration_us, cpu_us, num_procs, "
			"num_threads, peak_procs, peak_threads, bytes, format, ingested_us) "
			"WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE "
			"i < 10099) SELECT i, 'm' || i, 1000000 * (20000 - i), i % 2, 0, 0, 0, 0, "
			"0, 0, 'x', 1 FROM n"),
		0);
	assert_int_equal(
		job_selection_find(&js, s, NULL, 0, "jobid ~ m* and duration > 0.5us", &why), 0);
	assert_int_equal(js.count, 5000);
	assert_int_equal(js.v[0].no, 10099);
	assert_int_equal(js.v[4999].no, 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_filters),
		cmocka_unit_test(labels),
		cmocka_unit_test(errors),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, open_store_with_jobs, close_store);
}
