/* Comparisons of runs: what each verdict needs, and properties that must hold whatever the values
 * are. */
#include "unit.h"

#include <math.h>

#include "analysis/comparison/compare.h"
#include "noise.h"

#define MANY 64

struct pair {
	double a[MANY], b[MANY];
	struct comparison c;
};

/* Two sets of n runs that differ by this factor. */
static void make(struct pair *p, size_t n, double factor, uint64_t seed)
{
	struct random r = {seed};

	for (size_t i = 0; i < n; i++) {
		p->a[i] = factor * 1000 * noisy(&r, NOISE_NORMAL);
		p->b[i] = 1000 * noisy(&r, NOISE_NORMAL);
	}
	p->c = (struct comparison){.a = p->a,
				   .b = p->b,
				   .a_count = n,
				   .b_count = n,
				   .relative = 0.05,
				   .decides = true};
}

static enum verdict judge(struct pair *p)
{
	return compare_all(&p->c, 1, 0.05);
}

#define NEAR(got, want, by)                                                \
	do {                                                               \
		double g_ = (got), w_ = (want);                            \
		if (!(fabs(g_ - w_) <= (by)))                              \
			fail_msg("%s: got %.9g, want %.9g", #got, g_, w_); \
	} while (0)

static void three_verdicts(void **state)
{
	struct pair p;

	(void)state;
	make(&p, 30, 1.3, 1);
	assert_int_equal(judge(&p), VERDICT_WORSE);
	NEAR(p.c.change, 0.3, 0.05);
	assert_true(p.c.low > 0.05 && p.c.low < p.c.change && p.c.high > p.c.change);
	assert_true(p.c.p < 1e-4 && !p.c.better);
	make(&p, 30, 1.0, 2);
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
	assert_true(p.c.high <= 0.05 && p.c.low < 0 && !p.c.better);
	make(&p, 30, 0.8, 3);
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
	assert_true(p.c.better);
	make(&p, 30, 1.05, 4);
	assert_int_equal(judge(&p), VERDICT_INCONCLUSIVE);
	assert_true(p.c.low < 0.05 && p.c.high > 0.05 && p.c.more_a > 0);
}

/* The interval and the verdict are the same statement. */
static void interval_is_verdict(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct pair p;

		make(&p, 5 + seed % 20, 1 + (double)(seed % 30) / 100, seed);
		const enum verdict v = judge(&p);
		assert_int_equal(v == VERDICT_WORSE, p.c.low > 0.05);
		if (v == VERDICT_NOT_WORSE)
			assert_true(p.c.high <= 0.05 + 1e-9);
	}
}

/* Holm's method in a family: a corrected p is never smaller, and its order stays. */
static void family(void **state)
{
	struct pair p[20];
	struct comparison rows[20];

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		make(&p[i], 20, i == 7 ? 1.4 : 1.0, i + 1);
		rows[i] = p[i].c;
	}
	assert_int_equal(compare_all(rows, 20, 0.05), VERDICT_WORSE);
	for (size_t i = 0; i < 20; i++) {
		assert_true(rows[i].p_adjusted >= rows[i].p);
		assert_int_equal(rows[i].verdict == VERDICT_WORSE, i == 7);
		for (size_t k = 0; k < 20; k++)
			assert_true(rows[i].p > rows[k].p ||
				    rows[i].p_adjusted <= rows[k].p_adjusted);
	}
	NEAR(rows[7].p_adjusted, 20 * rows[7].p, 1e-12);
}

/* Only rows that decide make the whole inconclusive; any row makes it worse. */
static void verdict_of_all(void **state)
{
	struct pair p[2];
	struct comparison rows[2];

	(void)state;
	make(&p[0], 30, 1.0, 2);
	make(&p[1], 30, 1.05, 4);
	rows[0] = p[0].c;
	rows[1] = p[1].c;
	assert_int_equal(compare_all(rows, 2, 0.05), VERDICT_INCONCLUSIVE);
	rows[1].decides = false;
	assert_int_equal(compare_all(rows, 2, 0.05), VERDICT_NOT_WORSE);
	make(&p[1], 30, 1.4, 4);
	rows[1] = p[1].c;
	rows[1].decides = false;
	assert_int_equal(compare_all(rows, 2, 0.05), VERDICT_WORSE);
	assert_int_equal(compare_all(rows, 0, 0.05), VERDICT_INCONCLUSIVE);
}

static void order_of_runs(void **state)
{
	struct pair p, q;
	struct random r = {3};

	(void)state;
	make(&p, 17, 1.12, 9);
	q = p;
	q.c.a = q.a;
	q.c.b = q.b;
	for (size_t i = 17; i > 1; i--) {
		const size_t k = random_below(&r, (uint32_t)i);
		const double t = q.a[i - 1];

		q.a[i - 1] = q.a[k];
		q.a[k] = t;
	}
	assert_int_equal(judge(&p), judge(&q));
	assert_true(p.c.p == q.c.p && p.c.low == q.c.low && p.c.high == q.c.high &&
		    p.c.more_a == q.c.more_a);
}

/* Microseconds or hours: the same, if the least difference is converted, too. */
static void units(void **state)
{
	struct pair p, q;

	(void)state;
	make(&p, 12, 1.1, 5);
	p.c.absolute = 3;
	q = p;
	q.c.a = q.a;
	q.c.b = q.b;
	q.c.absolute = 3 / 3.6e6;
	for (size_t i = 0; i < 12; i++) {
		q.a[i] /= 3.6e6;
		q.b[i] /= 3.6e6;
	}
	assert_int_equal(judge(&p), judge(&q));
	NEAR(p.c.p, q.c.p, 1e-12);
	NEAR(p.c.low, q.c.low, 1e-9);
	NEAR(p.c.high, q.c.high, 1e-9);
	NEAR(p.c.change, q.c.change, 1e-12);
}

/* Every run twice: the same medians, more confidence. */
static void duplicated(void **state)
{
	struct pair p, q;

	(void)state;
	make(&p, 15, 1.12, 6);
	make(&q, 30, 1, 6);
	for (size_t i = 0; i < 30; i++) {
		q.a[i] = p.a[i / 2];
		q.b[i] = p.b[i / 2];
	}
	(void)judge(&p);
	(void)judge(&q);
	NEAR(p.c.change, q.c.change, 1e-12);
	assert_true(q.c.low >= p.c.low && q.c.high <= p.c.high && q.c.p < p.c.p);
}

static void too_few(void **state)
{
	struct pair p;

	(void)state;
	make(&p, 1, 10, 1);
	assert_int_equal(judge(&p), VERDICT_INCONCLUSIVE);
	/* 1 / 2^5 is below 5 %, 1 / 2^4 is not */
	assert_int_equal(p.c.more_a, 4);
	assert_int_equal(p.c.more_b, 4);
	assert_true(p.c.low == -1 && isinf(p.c.high) && !p.c.absent);
	p.c.b_count = MANY;
	for (size_t i = 0; i < MANY; i++)
		p.b[i] = 1000;
	assert_int_equal(judge(&p), VERDICT_INCONCLUSIVE);
	assert_int_equal(p.c.more_a, 4);
	assert_int_equal(p.c.more_b, 0);
	make(&p, 4, 10, 1);
	assert_int_equal(judge(&p), VERDICT_INCONCLUSIVE);
	assert_true(p.c.more_a >= 1);
	make(&p, 5, 10, 1);
	assert_int_equal(judge(&p), VERDICT_WORSE);
}

static void all_equal(void **state)
{
	struct pair p;

	(void)state;
	make(&p, 6, 1, 1);
	for (size_t i = 0; i < 6; i++)
		p.a[i] = p.b[i] = 42;
	p.c.relative = 0;
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
	assert_true(p.c.change == 0 && fabs(p.c.low) < 1e-9 && fabs(p.c.high) < 1e-9);
	for (size_t i = 0; i < 6; i++)
		p.a[i] = p.b[i] = 0;
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
	assert_true(p.c.change == 0 && p.c.low == 0 && p.c.high == 0);
	/* from nothing to something has no ratio, but it is worse; from something to nothing is not
	 */
	for (size_t i = 0; i < 6; i++)
		p.a[i] = 7;
	assert_int_equal(judge(&p), VERDICT_WORSE);
	assert_true(isnan(p.c.change) && isinf(p.c.high));
	p.c.absolute = 10;
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
	for (size_t i = 0; i < 6; i++) {
		p.a[i] = 0;
		p.b[i] = 70;
	}
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
	assert_true(p.c.better && p.c.change == -1);
}

/* A difference below the least one never counts, however certain it is. */
static void least_difference(void **state)
{
	struct pair p;

	(void)state;
	make(&p, 20, 1.3, 1);
	assert_int_equal(judge(&p), VERDICT_WORSE);
	p.c.absolute = 500;
	assert_int_equal(judge(&p), VERDICT_NOT_WORSE);
}

static void absent(void **state)
{
	struct pair p, q;
	struct comparison rows[2];

	(void)state;
	make(&p, 10, 1.5, 1);
	for (size_t i = 0; i < 10; i++)
		p.a[i] = NAN;
	assert_int_equal(judge(&p), VERDICT_INCONCLUSIVE);
	assert_true(p.c.absent && p.c.a_runs == 0 && p.c.b_runs == 10 && isnan(p.c.a_median));
	/* it is no part of the family and decides nothing */
	make(&q, 10, 1.0, 2);
	q.c.relative = 0.2;
	rows[0] = p.c;
	rows[1] = q.c;
	assert_int_equal(compare_all(rows, 2, 0.05), VERDICT_NOT_WORSE);
	assert_true(rows[1].p_adjusted == rows[1].p);
	/* some runs without a value, or with one that is none */
	make(&p, 20, 1.5, 1);
	p.a[3] = NAN;
	p.a[4] = INFINITY;
	p.b[0] = NAN;
	assert_int_equal(judge(&p), VERDICT_WORSE);
	assert_int_equal(p.c.a_runs, 18);
	assert_int_equal(p.c.b_runs, 19);
}

static void one_set(void **state)
{
	static const double v[] = {5, 1, 4, 2, 3, 9, 8, 7, 6, NAN};
	const struct median_interval m = median_interval_of(v, 10, 0.05);

	(void)state;
	assert_int_equal(m.runs, 9);
	assert_true(m.median == 5 && m.low == 2 && m.high == 8 && m.least == 1 && m.most == 9);
	assert_true(isnan(median_interval_of(v, 2, 0.05).low));
	assert_true(isnan(median_interval_of(v, 0, 0.05).median));
}

/* The ranks of scipy.stats.binom.ppf(0.025, n, 0.5): the interval has the confidence that it
 * claims, whatever the distribution, or there is none. */
static void interval_of_one_set(void **state)
{
	static const struct {
		size_t n, k;
	} ranks[] = {{3, 0},   {4, 0},   {5, 0},    {6, 1},      {7, 1},
		     {8, 1},   {9, 2},   {10, 2},   {12, 3},     {20, 6},
		     {30, 10}, {50, 18}, {100, 40}, {1000, 469}, {10000, 4902}};
	_cleanup_free_ double *v = xcalloc(10000, sizeof(*v));

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		v[i] = (double)(i + 1);
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		const struct median_interval m = median_interval_of(v, ranks[i].n, 0.05);

		assert_true(ranks[i].k ? m.low == (double)ranks[i].k : isnan(m.low));
		assert_true(ranks[i].k ? m.high == (double)(ranks[i].n + 1 - ranks[i].k)
				       : isnan(m.high));
	}
	/* less confidence needs fewer runs */
	assert_true(median_interval_of(v, 3, 0.25).low == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_verdicts),
		cmocka_unit_test(interval_is_verdict),
		cmocka_unit_test(interval_of_one_set),
		cmocka_unit_test(family),
		cmocka_unit_test(verdict_of_all),
		cmocka_unit_test(order_of_runs),
		cmocka_unit_test(units),
		cmocka_unit_test(duplicated),
		cmocka_unit_test(too_few),
		cmocka_unit_test(all_equal),
		cmocka_unit_test(least_difference),
		cmocka_unit_test(absent),
		cmocka_unit_test(one_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
