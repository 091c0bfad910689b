/* The exact bootstrap of a median against enumeration and against random resamples; ranks against
 * known tables. */
#include "unit.h"

#include <math.h>

#include "analysis/comparison/bootstrap.h"
#include "analysis/comparison/random.h"
#include "analysis/comparison/rank_sum.h"
#include "analysis/sorted.h"

#define NEAR(got, want, by)                                                \
	do {                                                               \
		double g_ = (got), w_ = (want);                            \
		if (!(fabs(g_ - w_) <= (by)))                              \
			fail_msg("%s: got %.9g, want %.9g", #got, g_, w_); \
	} while (0)

/* All 27 resamples of 3 values: the median is the smallest in 7, the middle one in 13. */
static void three_values(void **state)
{
	struct bootstrap b = {0};
	const struct median_weights w = bootstrap_weights(&b, 3, 3);

	(void)state;
	NEAR(w.upto[0], 0, 0);
	NEAR(w.upto[1], 7.0 / 27, 1e-15);
	NEAR(w.upto[2], 20.0 / 27, 1e-15);
	NEAR(w.upto[3], 1, 0);
	bootstrap_release(&b);
}

/* With 2 values: both the lower and the upper of each of the 4 resamples. */
static void two_values(void **state)
{
	struct bootstrap b = {0};
	const struct median_weights w = bootstrap_weights(&b, 2, 2);

	(void)state;
	NEAR(w.upto[1], (0.75 + 0.25) / 2, 1e-15);
	bootstrap_release(&b);
}

static void tables_are_kept(void **state)
{
	struct bootstrap b = {0};
	const double *first = bootstrap_weights(&b, 30, 30).upto;

	(void)state;
	for (size_t n = 1; n < 100; n++)
		(void)bootstrap_weights(&b, n, n);
	assert_ptr_equal(bootstrap_weights(&b, 30, 30).upto, first);
	assert_int_equal(b.count, 99);
	bootstrap_release(&b);
}

/* Large numbers neither underflow nor lose their symmetry. */
static void many_values(void **state)
{
	struct bootstrap b = {0};
	const struct median_weights w = bootstrap_weights(&b, 4001, 4001);

	(void)state;
	for (size_t i = 0; i <= 4001; i += 37) {
		NEAR(w.upto[i] + w.upto[4001 - i], 1, 1e-9);
		assert_true(!i || w.upto[i] >= w.upto[i - 1]);
	}
	/* the spread of a median: about 1.25 sigma / sqrt(n), here as a rank */
	assert_true(w.upto[1800] < 1e-6 && w.upto[1936] > 0.015 && w.upto[1936] < 0.03);
	bootstrap_release(&b);
}

static double random_median(struct random *r, const double *v, size_t n)
{
	double one[32];

	for (size_t i = 0; i < n; i++)
		one[i] = v[random_below(r, (uint32_t)n)];
	sort_values(one, n);
	return sorted_median(one, n);
}

/* The probability that the medians differ, against 100,000 random rounds. */
static void random_rounds(void **state)
{
	static const double a[] = {1.0, 1.1, 1.3, 1.32, 1.4, 1.7, 2.2},
			    c[] = {0.9, 1.0, 1.05, 1.2, 1.25, 1.33, 1.5, 1.6, 3};
	struct bootstrap b = {0};
	struct random r = {7};
	const struct resampled x = {a, bootstrap_weights(&b, 7, 7)},
			       y = {c, bootstrap_weights(&b, 9, 9)};
	size_t at_most = 0, with_margin = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		const double p = random_median(&r, a, 7), q = random_median(&r, c, 9);

		at_most += p <= q;
		with_margin += p <= q + (0.1 * q > 0.12 ? 0.1 * q : 0.12);
	}
	NEAR(bootstrap_at_most(&x, &y, 1, 0, 0), (double)at_most / 1e5, 0.006);
	NEAR(bootstrap_at_most(&x, &y, 1, 0.1, 0.12), (double)with_margin / 1e5, 0.006);
	bootstrap_release(&b);
}

static void quantiles(void **state)
{
	static const double v[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct bootstrap b = {0};
	const struct resampled r = {v, bootstrap_weights(&b, 9, 9)};

	(void)state;
	NEAR(bootstrap_median_quantile(&r, 0.5), 5, 0);
	NEAR(bootstrap_median_quantile(&r, 0.025), 2, 0);
	NEAR(bootstrap_median_quantile(&r, 0.975), 8, 0);
	NEAR(bootstrap_median_quantile(&r, 0), 1, 0);
	NEAR(bootstrap_median_quantile(&r, 1), 9, 0);
	bootstrap_release(&b);
}

/* Tables of Mann and Whitney: P(U <= 2) for 5 and 5 is 4/252, P(U <= 23) for 10 and 10 is 0.0216.
 */
static void rank_sums(void **state)
{
	struct rank_sum r = {0};

	(void)state;
	NEAR(rank_sum_tail(&r, 5, 5, 25), 1.0 / 252, 1e-15);
	NEAR(rank_sum_tail(&r, 5, 5, 23), 4.0 / 252, 1e-15);
	NEAR(rank_sum_tail(&r, 10, 10, 77), 0.0216, 5e-5);
	NEAR(rank_sum_tail(&r, 3, 4, 12), 1.0 / 35, 1e-15);
	NEAR(rank_sum_tail(&r, 4, 3, 12), 1.0 / 35, 1e-15);
	NEAR(rank_sum_tail(&r, 1, 19, 19), 1.0 / 20, 1e-15);
	NEAR(rank_sum_tail(&r, 19, 300, 0), 1, 1e-12);
	/* half of all are above the middle */
	NEAR(rank_sum_tail(&r, 19, 300, 19 * 300 / 2), 0.5, 0.001);
	NEAR(rank_sum_tail(&r, 20, 20, 400), 0, 0);
	rank_sum_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_values),    cmocka_unit_test(two_values),
		cmocka_unit_test(tables_are_kept), cmocka_unit_test(many_values),
		cmocka_unit_test(random_rounds),   cmocka_unit_test(quantiles),
		cmocka_unit_test(rank_sums),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
