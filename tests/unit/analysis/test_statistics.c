/*
 * Percentiles and scores: values of EPMT's own tests, values of NumPy and SciPy, and properties
 * that hold for any values. The constants named "scipy" came from Debian's python3-scipy 1.10.1 and
 * python3-numpy 1.24.2:
 *     np.percentile(v, q), np.std(v), abs(stats.zscore(v)).round(4),
 *     0.6745 * abs(v - np.median(v)) / stats.median_abs_deviation(v), rounded to 4 decimals
 */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "analysis/outliers/statistics.h"
#include "analysis/sorted.h"

#define N 11
static const double scipy_values[N] = {3.5, 1.25, 9.75, -2, 4.5, 100, 3.5, 2.75, 8, 6.125, 0.5};

/* Two reals that differ by no more than rounding. */
static void near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
		fail_msg("got %.17g, want %.17g", got, want);
}

/* Exactly equal: what was rounded to four decimals. */
static void same(double got, double want)
{
	if (!(got == want))
		fail_msg("got %.17g, want %.17g", got, want);
}

#define SAME_PARAMS(p, max_, center_, spread_) \
	(same((p).max, max_), same((p).center, center_), same((p).spread, spread_))

static void percentiles_as_numpy(void **state)
{
	static const double q[] = {0, 10, 25, 33, 50, 75, 90, 99, 100};
	static const double scipy[] = {-2, 0.5, 2, 2.975, 3.5, 7.0625, 9.75, 90.97500000000004,
				       100};
	double v[N], one[] = {7};

	(void)state;
	memcpy(v, scipy_values, sizeof(v));
	sort_values(v, N);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++) {
		near(percentile(v, N, q[i]), scipy[i]);
		same(percentile(one, 1, q[i]), 7);
	}
	near(mean_of(v, N), 12.534090909090908);
	near(deviation_of(v, N, 0), 27.841377547079247);
	near(deviation_of(v, N, 1), 29.200283116622504);
	same(deviation_of(one, 1, 1), 0);
	same(mean_of(NULL, 0), 0);
}

static void rounding(void **state)
{
	(void)state;
	same(round4(1.00005), 1.0001);
	same(round4(0.00015), 0.0001);
	same(round4(0.15625), 0.1562); /* 1562.5 after scaling: to even */
	same(round4(0.00025), 0.0002);
	same(round4(-2.71828), -2.7183);
	same(round4(542680315), 542680315);
	same(round4(1e300), 1e300);
	assert_true(isnan(round4(NAN)));
	assert_true(isinf(round4(INFINITY)));
}

static void scores_as_scipy(void **state)
{
	static const double z[N] = {0.3245, 0.4053, 0.1,    0.522,  0.2886, 3.1416,
				    0.3245, 0.3514, 0.1629, 0.2302, 0.4322};
	static const double madz[N] = {0, 0.5781, 1.606,  1.4132, 0.257, 24.7959,
				       0, 0.1927, 1.1563, 0.6745, 0.7709};
	double got[N];
	struct score_params p;

	(void)state;
	assert_int_equal(score_values(METHOD_Z, scipy_values, N, NULL, got, &p), 0);
	for (size_t i = 0; i < N; i++)
		same(got[i], z[i]);
	SAME_PARAMS(p, 3.1416, 12.5341, 27.8414);
	assert_int_equal(score_values(METHOD_MADZ, scipy_values, N, NULL, got, &p), 0);
	for (size_t i = 0; i < N; i++)
		same(got[i], madz[i]);
	SAME_PARAMS(p, 24.7959, 3.5, 2.625);
	/* fences at 2 - 7.59375 and 7.0625 + 7.59375 */
	assert_int_equal(score_values(METHOD_IQR, scipy_values, N, NULL, got, &p), 0);
	for (size_t i = 0; i < N; i++)
		same(got[i], i == 5);
	SAME_PARAMS(p, 0, 36.25, 61.75);
}

/* What EPMT's tests expect of its own functions. */
static void scores_as_epmt(void **state)
{
	static const double eight[] = {1, 2, 3, 4, 3, 2, 1, 10};
	static const double eleven[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000};
	static const double twelve[] = {1, 2, 1, 1, 1, 1, 2, 1, 0, 2, 100, 100};
	double got[12], flagged[12] = {0};
	struct score_params p;

	(void)state;
	assert_int_equal(score_values(METHOD_IQR, eight, 8, NULL, got, &p), 0);
	for (size_t i = 0; i < 8; i++)
		same(got[i], i == 7);
	SAME_PARAMS(p, 0, 4.375, 6.625);
	assert_int_equal(score_values(METHOD_Z, eleven, 11, NULL, got, &p), 0);
	same(got[0], 0.332);
	same(got[9], 0.3005);
	SAME_PARAMS(p, 3.1621, 95.9091, 285.9118);
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		assert_int_equal(score_values(m, twelve, 12, NULL, got, NULL), 0);
		for (size_t i = 0; i < 12; i++)
			flagged[i] += got[i] > outlier_methods[m].threshold;
	}
	for (size_t i = 0; i < 12; i++)
		same(flagged[i], i < 10 ? 0 : 2);
}

/* The kernel builds of EPMT's tests: the model of three of them, and the fourth against it. */
static void models_as_epmt(void **state)
{
	static const double duration[] = {527820255, 542680315, 565343997};
	static const double cpu[] = {449044045, 449914707, 450359378};
	static const double procs[] = {10600, 10600, 10600};
	static const double outlier[] = {1173629067}, other[] = {10601}, equal[] = {10600};
	double got[3];
	struct score_params p;

	(void)state;
	assert_int_equal(score_values(METHOD_MADZ, duration, 3, NULL, got, &p), 0);
	SAME_PARAMS(p, 1.0287, 542680315, 14860060);
	assert_int_equal(score_values(METHOD_MADZ, outlier, 1, &p, got, NULL), 0);
	same(got[0], 28.6388); /* 0.6745 * 630948752 / 14860060 */
	assert_int_equal(score_values(METHOD_MADZ, cpu, 3, NULL, got, &p), 0);
	SAME_PARAMS(p, 1.3207, 449914707, 444671);
	assert_int_equal(score_values(METHOD_MADZ, procs, 3, NULL, got, &p), 0);
	SAME_PARAMS(p, 0, 10600, 0);
	/* without any spread in the model, every other value is infinitely far away */
	for (enum outlier_method m = METHOD_MADZ; m < METHOD_COUNT; m++) {
		assert_int_equal(score_values(m, other, 1, &p, got, NULL), 0);
		assert_true(isinf(got[0]));
		assert_int_equal(score_values(m, equal, 1, &p, got, NULL), 0);
		same(got[0], 0);
	}
	/* the fences of a model are the extremes of its values */
	assert_int_equal(score_values(METHOD_IQR, duration, 3, NULL, got, &p), 0);
	assert_int_equal(score_values(METHOD_IQR, duration, 3, &p, got, NULL), 0);
	for (size_t i = 0; i < 3; i++)
		same(got[i], 0);
	assert_int_equal(score_values(METHOD_IQR, outlier, 1, &p, got, NULL), 0);
	same(got[0], 1);
}

/* ---- properties ----------------------------------------------------------------------------- */

#define MANY 200
static void random_values(double *v, size_t n, uint64_t *seed)
{
	/* as metrics are: integers, some of them far from the others */
	for (size_t i = 0; i < n; i++)
		v[i] = (double)(random_next(seed) % 1000000 +
				(random_next(seed) % 20 ? 0 : 100000000));
}

static void order_does_not_matter(void **state)
{
	double v[MANY], scores[MANY], mixed[MANY], again[MANY];
	size_t from[MANY];
	uint64_t seed = 1;
	struct score_params p, q;

	(void)state;
	random_values(v, MANY, &seed);
	for (size_t i = 0; i < MANY; i++)
		from[i] = i;
	for (size_t i = MANY; i-- > 1;) {
		size_t k = random_next(&seed) % (i + 1), t = from[i];

		from[i] = from[k];
		from[k] = t;
	}
	for (size_t i = 0; i < MANY; i++)
		mixed[i] = v[from[i]];
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		assert_int_equal(score_values(m, v, MANY, NULL, scores, &p), 0);
		assert_int_equal(score_values(m, mixed, MANY, NULL, again, &q), 0);
		for (size_t i = 0; i < MANY; i++)
			same(again[i], scores[from[i]]);
		SAME_PARAMS(q, p.max, p.center, p.spread);
	}
}

/* The same times in milliseconds, microseconds and nanoseconds. */
static void units_do_not_matter(void **state)
{
	double v[MANY], scaled[MANY], scores[MANY], again[MANY];
	uint64_t seed = 2;

	(void)state;
	random_values(v, MANY, &seed);
	for (size_t i = 0; i < MANY; i++)
		scaled[i] = v[i] * 1000;
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		assert_int_equal(score_values(m, v, MANY, NULL, scores, NULL), 0);
		assert_int_equal(score_values(m, scaled, MANY, NULL, again, NULL), 0);
		for (size_t i = 0; i < MANY; i++)
			assert_true(fabs(again[i] - scores[i]) < 1.1e-4);
	}
}

/* The same jobs stored twice do not change z scores and MADZ. */
static void duplicates_do_not_matter(void **state)
{
	double v[2 * MANY], scores[MANY], again[2 * MANY];
	uint64_t seed = 3;

	(void)state;
	random_values(v, MANY, &seed);
	memcpy(v + MANY, v, MANY * sizeof(*v));
	assert_int_equal(score_values(METHOD_Z, v, MANY, NULL, scores, NULL), 0);
	assert_int_equal(score_values(METHOD_Z, v, 2 * MANY, NULL, again, NULL), 0);
	for (size_t i = 0; i < MANY; i++) {
		assert_true(fabs(again[i] - scores[i]) < 1.1e-4);
		same(again[i], again[MANY + i]);
	}
	/* an odd number, whose median is one of the values */
	memcpy(v + MANY - 1, v, (MANY - 1) * sizeof(*v));
	assert_int_equal(score_values(METHOD_MADZ, v, MANY - 1, NULL, scores, NULL), 0);
	assert_int_equal(score_values(METHOD_MADZ, v, 2 * (MANY - 1), NULL, again, NULL), 0);
	for (size_t i = 0; i < MANY - 1; i++)
		same(again[i], scores[i]);
}

static void one_value_and_equal_values(void **state)
{
	static const double values[] = {0, 7, -3.25, 1234567890123, 0.123456789};
	double v[5], scores[5];
	struct score_params p;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
		for (size_t i = 0; i < 5; i++)
			v[i] = values[k];
		for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
			for (size_t n = 1; n <= 5; n += 4) {
				assert_int_equal(score_values(m, v, n, NULL, scores, &p), 0);
				for (size_t i = 0; i < n; i++)
					same(scores[i], 0);
				same(p.max, 0);
				/* the value itself, or rounded */
				assert_true(fabs(p.center - values[k]) <= 1e-4);
			}
		}
	}
	/* all equal except one: MADZ falls back to the mean deviation */
	double almost[] = {5, 5, 5, 5, 10};
	assert_int_equal(score_values(METHOD_MADZ, almost, 5, NULL, scores, &p), 0);
	same(scores[0], 0);
	same(scores[4], 3.3725); /* 0.6745 * 5 / 1 */
	SAME_PARAMS(p, 3.3725, 5, 1);
}

static void what_is_not_a_number(void **state)
{
	double v[] = {1, 2, NAN, 4}, infinite[] = {1, INFINITY}, scores[4];

	(void)state;
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		struct score_params p = {1, 2, 3};

		assert_int_equal(score_values(m, v, 4, NULL, scores, &p), -EDOM);
		assert_int_equal(score_values(m, infinite, 2, NULL, scores, &p), -EDOM);
		assert_int_equal(score_values(m, v, 0, NULL, scores, &p), -ENODATA);
		SAME_PARAMS(p, 1, 2, 3);
	}
}

/* No job is an outlier by the model that it is part of: rounding must not put it outside. */
static void models_hold_their_jobs(void **state)
{
	static const double v[][5] = {
		{5, 5, 6, 5, 5},
		{0, 0, 1, 0, 0},
		{1e12 + 1, 1e12 + 7, 2.5e12 + 3, 9e12 + 1, 1e12},
		{123456789012345, 123456789012347, 987654321098765, 123456789012349, 7},
		{4e15 + 1, 3e15 + 7, 9e15 - 1, 1, 5e14 + 3},
		{0.00012, 0.00017, 0.00031, 0.00012, 0.00012},
		{-0.33333, 1.0 / 7, 2.0 / 3, 0.1, 0.70711},
		{1e-9, 2e-9, 3e-9, 5e-9, 1e-9},
		{0.123456789, 0.123456789, 0.123456789, 0.123456789, 0.123456789},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		for (size_t n = 3; n <= 5; n++)
			for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
				struct score_params fit;
				double scores[5];

				assert_int_equal(score_values(m, v[i], n, NULL, scores, &fit), 0);
				assert_true(isfinite(fit.max));
				assert_int_equal(score_values(m, v[i], n, &fit, scores, NULL), 0);
				for (size_t k = 0;
				     k < n && (fit.spread > 0 || fit.center == v[i][0]); k++)
					assert_true(scores[k] <= fit.max);
			}
}

static void names_of_methods(void **state)
{
	(void)state;
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		assert_int_equal(outlier_method_by_name(outlier_methods[m].name), m);
		assert_int_equal(outlier_method_by_name(outlier_methods[m].stored), m);
	}
	assert_int_equal(outlier_method_by_name("zz"), METHOD_COUNT);
	assert_int_equal(outlier_method_by_name(""), METHOD_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_as_numpy),
		cmocka_unit_test(rounding),
		cmocka_unit_test(scores_as_scipy),
		cmocka_unit_test(scores_as_epmt),
		cmocka_unit_test(models_as_epmt),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(units_do_not_matter),
		cmocka_unit_test(duplicates_do_not_matter),
		cmocka_unit_test(one_value_and_equal_values),
		cmocka_unit_test(what_is_not_a_number),
		cmocka_unit_test(models_hold_their_jobs),
		cmocka_unit_test(names_of_methods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
