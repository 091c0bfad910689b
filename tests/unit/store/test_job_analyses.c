/* Results of an analysis: of two that analyse a job at once, one stores and tells them. */
#include "unit.h"

#include <errno.h>

#include "store/analysis/job_analyses.h"
#include "store/query.h"

static int open_store(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	assert_int_equal(store_open(&s, ":memory:", STORE_WRITE, &why), 0);
	assert_int_equal(
		store_run(s, "INSERT INTO job (no, jobid, duration_us, cpu_us, num_procs, "
			     "num_threads, peak_procs, peak_threads, bytes, format, ingested_us, "
			     "cluster) VALUES (1, 'j', 1, 7, 1, 1, 1, 1, 0, 'x', 1, '')"),
		0);
	*state = s;
	return 0;
}

static int close_store(void **state)
{
	store_close(*state);
	return 0;
}

/* As `plimsoll analyze` stores it: one model, which flags so many values. */
static struct value *results_of(int64_t count)
{
	struct value *results = value_new(VALUE_LIST), *one = value_new(VALUE_DICT);

	value_set(one, "model", value_str("m"));
	value_set(one, "count", value_int(count));
	value_set(one, "outliers", value_new(VALUE_LIST));
	value_append(results, one);
	return results;
}

static int64_t alerts(struct store *s)
{
	int64_t n = -1;

	assert_int_equal(store_number(s, "SELECT count(*) FROM job_alert", &n), 0);
	return n;
}

static void the_first_one_stores(void **state)
{
	struct store *s = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *flagged = results_of(1), *fine = results_of(0);

	assert_int_equal(analysis_store_first(s, 1, flagged, &why), 0);
	assert_int_equal(alerts(s), 1);
	/* another one that began before that was stored: nothing changes */
	assert_int_equal(analysis_store_first(s, 1, fine, &why), -EEXIST);
	assert_int_equal(alerts(s), 1);
	/* the store is usable, and a person may analyse it again */
	assert_int_equal(analysis_store(s, 1, fine, &why), 0);
	assert_int_equal(alerts(s), 0);
	assert_int_equal(analysis_is_done(s, 1), 1);
	assert_int_equal(analysis_store_first(s, 2, fine, &why), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_one_stores),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
