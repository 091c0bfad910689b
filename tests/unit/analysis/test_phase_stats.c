/* Statistics of phases: the values are those of the definitions, whatever the order. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/phase_stats.h"
#include "core/util.h"

#define SPAN(n, p, t, up, r, from, ns)                                                        \
	{                                                                                     \
		.name = n, .process = p, .tid = t, .parent = up, .rank = r, .begin_ns = from, \
		.duration_ns = ns, .cpu_ns = -1                                               \
	}

static void empty(void **state)
{
	struct phase_stat *s;

	(void)state;
	assert_int_equal(phase_stats(NULL, 0, PHASE_BY_NAME, &s), 0);
	assert_null(s);
}

static void by_name_rank_and_thread(void **state)
{
	const struct phase_span v[] = {
		SPAN(0, 0, 10, PHASE_NONE, 0, 100, 30), SPAN(0, 0, 10, PHASE_NONE, 0, 200, 10),
		SPAN(0, 0, 11, PHASE_NONE, 0, 150, 20), SPAN(0, 1, 20, PHASE_NONE, 1, 120, 40),
		SPAN(1, 1, 20, PHASE_NONE, 1, 50, 5),
	};
	_cleanup_free_ struct phase_stat *s = NULL, *r = NULL, *t = NULL;

	(void)state;
	assert_int_equal(phase_stats(v, 5, PHASE_BY_NAME, &s), 2);
	assert_int_equal(s[0].name, 1); /* began first */
	assert_int_equal(s[1].count, 4);
	assert_int_equal(s[1].total_ns, 100);
	assert_int_equal(s[1].min_ns, 10);
	assert_int_equal(s[1].max_ns, 40);
	assert_float_equal(s[1].median_ns, 25, 1e-9);
	assert_int_equal(s[1].ranks.count, 2);
	/* totals 60 and 40: mean 50 */
	assert_float_equal(s[1].ranks.imbalance, 0.2, 1e-9);
	assert_true(isnan(s[0].ranks.imbalance));
	assert_float_equal(s[1].ranks.min_ns, 40, 0);
	assert_float_equal(s[1].ranks.mean_ns, 50, 0);
	assert_float_equal(s[1].ranks.max_ns, 60, 0);
	/* threads: 40, 20 and 40 */
	assert_int_equal(s[1].threads.count, 3);
	assert_float_equal(s[1].threads.min_ns, 20, 0);
	assert_float_equal(s[1].threads.mean_ns, 100.0 / 3, 1e-9);
	assert_float_equal(s[1].threads.max_ns, 40, 0);
	assert_float_equal(s[1].threads.imbalance, 0.2, 1e-9);
	assert_true(isnan(s[0].threads.imbalance));
	assert_int_equal(s[1].first_ns, 100);
	assert_int_equal(s[1].last_ns, 210);
	assert_int_equal(phase_stats(v, 5, PHASE_BY_RANK, &r), 3);
	assert_int_equal(phase_stats(v, 5, PHASE_BY_THREAD, &t), 4);
}

static void inside_each_other(void **state)
{
	const struct phase_span v[] = {
		SPAN(0, 0, 1, PHASE_NONE, -1, 0, 100), /* f */
		SPAN(0, 0, 1, 0, -1, 10, 50),          /* f in f */
		SPAN(1, 0, 1, 1, -1, 20, 20),          /* g in f in f */
	};
	_cleanup_free_ struct phase_stat *s = NULL;

	(void)state;
	assert_int_equal(phase_stats(v, 3, PHASE_BY_NAME, &s), 2);
	assert_int_equal(s[0].count, 2);
	assert_int_equal(s[0].total_ns, 100); /* not 150 */
	assert_int_equal(s[0].self_ns, 50 + 30);
	assert_int_equal(s[1].self_ns, 20);
	/* no time is counted twice */
	assert_int_equal(s[0].self_ns + s[1].self_ns, 100);
}

static void points_and_unknown_ends(void **state)
{
	struct phase_span v[] = {
		SPAN(0, 0, 1, PHASE_NONE, -1, 5, 0),
		SPAN(1, 0, 1, PHASE_NONE, -1, 6, -1),
		SPAN(1, 0, 1, PHASE_NONE, -1, 7, 8),
	};
	_cleanup_free_ struct phase_stat *s = NULL;

	(void)state;
	v[0].point = 1;
	v[1].open = 1;
	assert_int_equal(phase_stats(v, 3, PHASE_BY_NAME, &s), 2);
	assert_int_equal(s[0].points, 1);
	assert_int_equal(s[0].total_ns, -1);
	assert_true(isnan(s[0].median_ns));
	assert_int_equal(s[1].count, 2);
	assert_int_equal(s[1].open, 1);
	assert_int_equal(s[1].total_ns, 8);
	assert_float_equal(s[1].median_ns, 8, 0);
}

/* Processes without a rank are told apart; a script's phase is not a program's. */
static void without_ranks(void **state)
{
	struct phase_span v[] = {
		SPAN(0, 0, 1, PHASE_NONE, -1, 1, 10),
		SPAN(0, 1, 2, PHASE_NONE, -1, 2, 30),
		SPAN(0, 2, 3, PHASE_NONE, -1, 0, 99),
	};
	_cleanup_free_ struct phase_stat *s = NULL;

	(void)state;
	v[2].origin = 1;
	v[2].cpu_ns = 7;
	assert_int_equal(phase_stats(v, 3, PHASE_BY_NAME, &s), 2);
	assert_int_equal(s[0].cpu_ns, 7);
	assert_int_equal(s[1].ranks.count, 2);
	assert_float_equal(s[1].ranks.imbalance, 0.5, 1e-9);
	assert_int_equal(s[1].cpu_ns, -1);
}

/* The order of rows does not matter: parents are the only places. */
static void permutations(void **state)
{
	struct phase_span v[64];
	_cleanup_free_ struct phase_stat *first = NULL;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		v[i] = (struct phase_span)SPAN((uint32_t)(i % 3), (uint32_t)(i % 5), 1, PHASE_NONE,
					       (int64_t)(i % 5), (int64_t)(i * 7 % 61),
					       (int64_t)(i * i % 53));
	size_t n = phase_stats(v, 64, PHASE_BY_NAME, &first);
	srand(1);
	for (int round = 0; round < 50; round++) {
		_cleanup_free_ struct phase_stat *again = NULL;

		for (size_t i = 63; i > 0; i--) {
			size_t k = (size_t)rand() % (i + 1);
			struct phase_span swap = v[i];

			v[i] = v[k];
			v[k] = swap;
		}
		assert_int_equal(phase_stats(v, 64, PHASE_BY_NAME, &again), n);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(again[i].name, first[i].name);
			assert_int_equal(again[i].total_ns, first[i].total_ns);
			assert_float_equal(again[i].median_ns, first[i].median_ns, 0);
			assert_float_equal(again[i].ranks.imbalance, first[i].ranks.imbalance,
					   1e-12);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(by_name_rank_and_thread),
		cmocka_unit_test(inside_each_other),
		cmocka_unit_test(points_and_unknown_ends),
		cmocka_unit_test(without_ranks),
		cmocka_unit_test(permutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
