/*
 * Distributions and modes: values of SciPy 1.10.1 (stats.shapiro, stats.kstest, stats.normaltest),
 * the verdicts of EPMT's tests, and properties that hold for any values.
 */
#include "unit.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "analysis/distribution/distribution.h"
#include "analysis/distribution/modes.h"

static const struct distribution_functions *fn;

static int load(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	fn = distributions(&why);
	return fn ? 0 : -1;
}

static enum distribution check(const double *v, size_t n, struct dist_result *results)
{
	enum distribution d = DIST_COUNT;

	assert_int_equal(fn->check(v, n, results, &d), 0);
	return d;
}

#define near(got, want, tolerance)                                             \
	do {                                                                   \
		double g_ = (got);                                             \
		if (!(fabs(g_ - (want)) <= (tolerance)))                       \
			fail_msg("got %.17g, want %.17g", g_, (double)(want)); \
	} while (0)

#define MANY 100

/* Sums of random numbers are nearly normal. */
static void nearly_normal(double *v, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++) {
		v[i] = 0;
		for (size_t k = 0; k < 12; k++)
			v[i] += (double)(random_next(&seed) % 1000000) / 1e6;
	}
}

/* CPU times and resident set sizes of the kernel builds of EPMT's tests. */
static void tests_as_scipy(void **state)
{
	static const double rss[] = {79333996, 79438980, 79524924, 79338332};
	static const double cpu[] = {449044045, 449914707, 627670563, 450359378};
	static const double three[] = {1, 2, 4};
	struct dist_result r[TEST_COUNT];

	(void)state;
	assert_int_equal(check(rss, 4, r), DIST_NORMAL);
	near(r[TEST_SHAPIRO].statistic, 0.8771980404853821, 1e-6);
	near(r[TEST_SHAPIRO].p, 0.3268069326877594, 1e-5);
	near(r[TEST_KS_NORMAL].statistic, 0.31471235177194734, 1e-9);
	near(r[TEST_KS_NORMAL].p, 0.7240221268940692, 1e-9);
	near(r[TEST_KS_UNIFORM].p, 0.22962767959060582, 1e-9);
	assert_false(r[TEST_DAGOSTINO].done);
	assert_int_equal(check(cpu, 4, r), DIST_UNKNOWN);
	near(r[TEST_SHAPIRO].p, 0.0015463115414604545, 1e-6);
	(void)check(three, 3, r);
	near(r[TEST_SHAPIRO].statistic, 0.9642857313156128, 1e-6);
	near(r[TEST_SHAPIRO].p, 0.6368856430053711, 1e-5);
}

/* What EPMT's tests expect of 100 values. */
static void verdicts_as_epmt(void **state)
{
	double v[MANY];
	struct dist_result r[TEST_COUNT];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		v[i] = (double)i;
	assert_int_equal(check(v, MANY, r), DIST_UNIFORM);
	near(r[TEST_KS_UNIFORM].statistic, 0.01, 1e-9);
	near(r[TEST_KS_UNIFORM].p, 1, 1e-6);
	assert_true(r[TEST_DAGOSTINO].done && r[TEST_DAGOSTINO].p < 1e-6);
	nearly_normal(v, MANY, 1);
	assert_int_equal(check(v, MANY, r), DIST_NORMAL);
	assert_true(r[TEST_KS_UNIFORM].p < 0.05);
}

static void order_and_units_do_not_matter(void **state)
{
	double v[MANY], w[MANY], modes[MODES_MAX], again[MODES_MAX];
	struct dist_result r[TEST_COUNT], s[TEST_COUNT];
	size_t n, m;

	(void)state;
	nearly_normal(v, MANY, 2);
	for (size_t i = 0; i < MANY / 2; i++)
		v[i] += 100;
	for (size_t i = 0; i < MANY; i++)
		w[i] = 4096 * v[MANY - 1 - i];
	assert_int_equal(check(v, MANY, r), check(w, MANY, s));
	for (size_t t = 0; t < TEST_COUNT; t++)
		near(s[t].p, r[t].p, 1e-9);
	assert_int_equal(modes_find(v, MANY, modes, &n), 0);
	assert_int_equal(modes_find(w, MANY, again, &m), 0);
	assert_int_equal(n, 2);
	assert_int_equal(m, 2);
	for (size_t i = 0; i < n; i++)
		near(again[i], 4096 * modes[i], 1e-6);
}

static void clusters(void **state)
{
	double v[MANY], modes[MODES_MAX];
	size_t n;

	(void)state;
	for (size_t count = 1; count <= 3; count++) {
		nearly_normal(v, MANY, 3 + count);
		for (size_t i = 0; i < MANY; i++)
			v[i] += 20 * (double)(i % count);
		assert_int_equal(modes_find(v, MANY, modes, &n), 0);
		assert_int_equal(n, count);
		/* each is the mean of its values, which are sums of 12 with a mean of one half */
		for (size_t k = 0; k < count; k++)
			near(modes[k], 6 + 20 * (double)k, 0.5);
	}
	/* the same jobs twice have the same modes */
	nearly_normal(v, MANY / 2, 9);
	for (size_t i = 0; i < MANY / 2; i++)
		v[i] += 20 * (double)(i % 2);
	memcpy(v + MANY / 2, v, sizeof(v) / 2);
	assert_int_equal(modes_find(v, MANY / 2, modes, &n), 0);
	double first = modes[0];
	assert_int_equal(n, 2);
	assert_int_equal(modes_find(v, MANY, modes, &n), 0);
	assert_int_equal(n, 2);
	near(modes[0], first, 1e-9);
	/* values in two places */
	for (size_t i = 0; i < MANY; i++)
		v[i] = i % 3 ? 7 : 1000;
	assert_int_equal(modes_find(v, MANY, modes, &n), 0);
	near(modes[0], n == 1 ? 338.62 : 7, 1e-9);
}

static void few_equal_and_not_finite(void **state)
{
	double v[MANY], modes[MODES_MAX];
	struct dist_result r[TEST_COUNT];
	enum distribution d = DIST_COUNT;
	size_t n = 77;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		v[i] = 0.1;
	assert_int_equal(check(v, MANY, r), DIST_CONSTANT);
	for (size_t t = 0; t < TEST_COUNT; t++)
		assert_false(r[t].done);
	assert_int_equal(modes_find(v, MANY, modes, &n), 0);
	assert_int_equal(n, 1);
	near(modes[0], 0.1, 1e-12);
	for (size_t count = 0; count < DIST_MIN_VALUES; count++)
		assert_int_equal(fn->check(v, count, r, &d), -ENODATA);
	assert_int_equal(modes_find(v, MODES_MIN_VALUES - 1, modes, &n), -ENODATA);
	static const double bad[] = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		v[50] = bad[i];
		assert_int_equal(fn->check(v, MANY, r, &d), -EDOM);
		assert_int_equal(modes_find(v, MANY, modes, &n), -EDOM);
	}
	/* a range that is no number */
	v[50] = DBL_MAX;
	v[51] = -DBL_MAX;
	assert_int_equal(fn->check(v, MANY, r, &d), -EDOM);
	assert_int_equal(modes_find(v, MANY, modes, &n), -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tests_as_scipy),
		cmocka_unit_test(verdicts_as_epmt),
		cmocka_unit_test(order_and_units_do_not_matter),
		cmocka_unit_test(clusters),
		cmocka_unit_test(few_equal_and_not_finite),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
