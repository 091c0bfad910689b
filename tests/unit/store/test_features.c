/* Features of jobs that the store has, and of jobs that were deleted meanwhile. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "store/analysis/features.h"

static int open_store(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	assert_int_equal(store_open(&s, ":memory:", STORE_WRITE, &why), 0);
	for (int64_t no = 1; no <= 100; no++) {
		_cleanup_free_ char *id = xasprintf("job%lld", (long long)no);

		assert_int_equal(
			store_run(
				s,
				"INSERT INTO job (no, jobid, duration_us, cpu_us, num_procs, "
				"num_threads, peak_procs, peak_threads, bytes, format, ingested_us, "
				"cluster) VALUES ($1, $2, $3, 7, 1, 1, 1, 1, 0, 'x', 1, '')",
				db_int(no), db_str(id), db_int(no * 1000)),
			0);
	}
	*state = s;
	return 0;
}

static int close_store(void **state)
{
	store_close(*state);
	return 0;
}

/* More jobs than one statement asks for; a job that is there twice has its values twice. */
static void many_jobs(void **state)
{
	_cleanup_features_ struct feature_table t = {0};
	int64_t jobs[101];
	size_t gone = 0;

	for (size_t i = 0; i < 101; i++)
		jobs[i] = i < 100 ? 100 - (int64_t)i : 50;
	assert_int_equal(features_of_jobs(&t, *state, jobs, 101, &gone), 0);
	size_t duration = feature_table_find(&t, "duration");
	assert_int_equal(t.row_count, 101);
	for (size_t i = 0; i < 101; i++)
		assert_true(t.columns[duration].v[i] == (double)jobs[i] * 1000);
	/* not known is not 0 */
	assert_true(isnan(t.columns[feature_table_find(&t, "exitcode")].v[0]));
}

static void deleted_meanwhile(void **state)
{
	_cleanup_features_ struct feature_table t = {0};
	static const int64_t jobs[] = {3, 4, 5};
	size_t gone = 77;

	assert_int_equal(store_run(*state, "DELETE FROM job WHERE no = $1", db_int(4)), 0);
	assert_int_equal(features_of_jobs(&t, *state, jobs, 3, &gone), -ENOENT);
	assert_int_equal(gone, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_jobs),
		cmocka_unit_test(deleted_meanwhile),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
