/* Curves on a grid: values that can be computed by hand. */
#include "unit.h"

#include <math.h>

#include "samples/resample.h"

#define S 1000000 /* a second */

/* time in s, value, time, value ... */
static struct points make(size_t n, const double *pairs)
{
	struct points c = {0};

	for (size_t i = 0; i + 1 < n; i += 2)
		points_add(&c, (int64_t)(pairs[i] * S), pairs[i + 1], pairs[i + 1], pairs[i + 1]);
	return c;
}
#define CURVE(...) make(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static bool looked[8000]; /* in every step */

static void near(double got, double want)
{
	if (fabs(got - want) > 1e-9)
		fail_msg("%.17g is not %.17g", got, want);
}

static void grids(void **state)
{
	(void)state;
	struct resample_grid g = resample_grid(10 * S, 20 * S, S, 100);
	assert_int_equal(g.count, 11);
	assert_int_equal(g.step, S);
	g = resample_grid(0, 1000 * S, S, 100);
	assert_true(g.count <= 100 && g.count >= 90);
	assert_true(g.step * (int64_t)g.count >= 1000 * (int64_t)S);
	g = resample_grid(5, 5, 0, 100);
	assert_int_equal(g.count, 1);
	assert_true(g.step > 0);
	g = resample_grid(20, 10, 1, 100);
	assert_int_equal(g.count, 1);
}

static void levels(void **state)
{
	/* two in the first step; none in the second, between the one before and the next; then a
	 * gap */
	struct points c = CURVE(0, 1, 0.5, 3, 2, 10, 3, 20, 4, 30, 9, 5);
	struct resample_grid g = {0, S, 10};
	struct resample s;

	(void)state;
	resample_init(&s, &g);
	resample_take(&s, &g, &c, KIND_GAUGE);
	near(s.value[0], (2 + 3 + 7.0 / 6) / 2);
	near(s.low[0], 1);
	near(s.high[0], 3);
	near(s.value[1], 3 + 7 / 1.5);
	near(s.value[2], 15);
	near(s.value[4], 30);
	for (size_t i = 5; i < 9; i++)
		near(s.weight[i], 0);
	near(s.gap[6], S);
	near(s.value[9], 5);
	/* 1 to 3 in half a second, 3 to 10 in one and a half, then 10 to 20 to 30; a gap */
	near(resample_time_mean(&s, &g), (1 + 6.5 * 1.5 + 15 + 25) / 4);
	points_release(&c);
	resample_release(&s);
}

/* What a level was on its way to a reading is in its mean: no mean lies outside of the extremes. */
static void extremes(void **state)
{
	/* 0 to 10 in two steps, then down, and one that ends in the middle of a step */
	struct points c = CURVE(0, 0, 1.9, 10, 3.5, 0), part = CURVE(0, 4, 0.8, 4), out = {0};
	struct resample_grid g = {0, S, 4};
	struct resample s, other;

	(void)state;
	resample_init(&s, &g);
	resample_init(&other, &g);
	resample_take(&s, &g, &c, KIND_GAUGE);
	resample_reduce(&s, &g, looked, 400, 2, &out);
	assert_int_equal(out.count, 4);
	near(out.points[0].value, 2 * 10 * 0.5 / 1.9);
	near(out.points[0].low, 0);
	near(out.points[0].high, out.points[0].value);
	near(out.points[1].low, out.points[1].value);
	near(out.points[1].high, 20);
	near(out.points[3].low, 0);
	near(out.points[3].high, out.points[3].value);
	out.count = 0;
	resample_take(&other, &g, &part, KIND_GAUGE);
	resample_add(&s, &other, &g, AGG_SUM);
	resample_reduce(&s, &g, looked, 400, 1, &out);
	near(out.points[0].value, 10 * 0.5 / 1.9 + 4 * 0.8);
	for (size_t i = 0; i < out.count; i++)
		assert_true(out.points[i].low <= out.points[i].value &&
			    out.points[i].value <= out.points[i].high);
	points_release(&c);
	points_release(&part);
	points_release(&out);
	resample_release(&s);
	resample_release(&other);
}

static void rates(void **state)
{
	/* 10 a second, a reset, then 4 over two steps and a half */
	struct points c = CURVE(0, 0, 1, 10, 2, 20, 3, 0, 5.5, 10);
	struct resample_grid g = {0, S, 6};
	struct resample s;

	(void)state;
	resample_init(&s, &g);
	resample_take(&s, &g, &c, KIND_COUNTER);
	near(s.value[0], 10);
	near(s.value[1], 10);
	near(s.weight[2], 0);
	near(s.value[3], 4);
	near(s.value[4], 4);
	near(s.value[5], 4);
	points_release(&c);

	/* extremes of rates within one wide step */
	c = CURVE(0, 0, 1, 1, 2, 101, 4, 101);
	g = (struct resample_grid){0, 4 * S, 1};
	resample_take(&s, &g, &c, KIND_COUNTER);
	near(s.value[0], 101.0 / 4);
	near(s.low[0], 0);
	near(s.high[0], 100);
	points_release(&c);

	/* readings a moment after another make no peak, in the middle or at the end */
	c = CURVE(0, 0, 1, 10, 1.001, 11, 2, 20, 3, 30, 3.001, 31);
	resample_take(&s, &g, &c, KIND_COUNTER);
	near(s.low[0], 10);
	near(s.high[0], 11 / 1.001);
	points_release(&c);
	resample_release(&s);
}

static void sums(void **state)
{
	struct points a = CURVE(0, 1, 1, 2, 2, 3), b = CURVE(1, 10, 2, 20);
	struct resample_grid g = {0, S, 3};
	struct resample one, all;

	(void)state;
	resample_init(&one, &g);
	resample_init(&all, &g);
	for (int agg = AGG_SUM; agg <= AGG_NONE; agg++) {
		if (agg == AGG_SET)
			continue;
		resample_clear(&all, &g);
		resample_take(&one, &g, &a, KIND_GAUGE);
		resample_add(&all, &one, &g, (enum metric_agg)agg);
		resample_take(&one, &g, &b, KIND_GAUGE);
		resample_add(&all, &one, &g, (enum metric_agg)agg);
		if (agg == AGG_NONE)
			resample_mean(&all, &g);
		/* alone in the first step */
		near(all.value[0], 1.5);
		near(all.value[1], agg == AGG_SUM   ? 17.5
				   : agg == AGG_MAX ? 15
				   : agg == AGG_MIN ? 2.5
						    : 8.75);
		near(all.value[2], agg == AGG_SUM   ? 23
				   : agg == AGG_MAX ? 20
				   : agg == AGG_MIN ? 3
						    : 11.5);
	}
	points_release(&a);
	points_release(&b);
	resample_release(&one);
	resample_release(&all);
}

/* A peak of one sample in a million stays. */
static void peaks_stay(void **state)
{
	struct resample_grid g = {0, S, 8000};
	struct points out = {0};
	struct resample s;

	(void)state;
	resample_init(&s, &g);
	for (size_t i = 0; i < g.count; i++) {
		s.value[i] = s.low[i] = s.high[i] = 1;
		s.weight[i] = i % 40 < 20;
		s.read[i] = true;
	}
	s.high[4000] = 1000;
	s.low[4001] = -5;
	resample_reduce(&s, &g, looked, 400, 2, &out);
	assert_int_equal(out.count, 200);
	assert_int_equal(out.points[1].time, 40 * (int64_t)S);
	near(out.points[0].value, 2);
	double high = 0, low = 0;
	for (size_t i = 0; i < out.count; i++) {
		high = out.points[i].high > high ? out.points[i].high : high;
		low = out.points[i].low < low ? out.points[i].low : low;
	}
	near(high, 2000);
	near(low, -10);
	points_release(&out);
	resample_release(&s);
}

/* The mean of all steps is that of the readings, whatever the grid: time_mean.h. */
static void means_over_time(void **state)
{
	/* half of 3 s at 100 %, then the last reading, 1 ms behind the one before */
	struct points busy = CURVE(0, 0, 1.5, 100, 3, 0, 3.001, 100);
	struct points level = CURVE(0, 8, 1, 8, 2, 4, 2.5, 4, 2.501, 0);
	struct points cpu = CURVE(0, 0, 1, 0.5, 2, 1.2, 2.7, 1.2, 2.700001, 1.3);
	const int64_t grids[] = {S / 10, S / 3, S, 7 * (int64_t)S};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct resample_grid g = {0, grids[i], (size_t)(4 * (int64_t)S / grids[i]) + 1};
		struct resample s;

		resample_init(&s, &g);
		resample_take(&s, &g, &busy, KIND_MEAN);
		near(resample_time_mean(&s, &g), (150 + 0.1) / 3.001);
		near(points_time_mean(&busy, KIND_MEAN), (150 + 0.1) / 3.001);
		resample_take(&s, &g, &level, KIND_GAUGE);
		near(resample_time_mean(&s, &g), (8 + 6 + 2 + 0.002) / 2.501);
		near(points_time_mean(&level, KIND_GAUGE), (8 + 6 + 2 + 0.002) / 2.501);
		resample_take(&s, &g, &cpu, KIND_COUNTER);
		near(resample_time_mean(&s, &g), 1.3 / 2.700001);
		resample_release(&s);
	}
	points_release(&busy);
	points_release(&level);
	points_release(&cpu);
}

/* The first of means is over the time since its source was read before. */
static void first_means(void **state)
{
	struct points busy = CURVE(3.5, 88, 7.5, 0, 8, 0);
	const int64_t grids[] = {S / 10, S / 3, S, 7 * (int64_t)S};

	(void)state;
	busy.points[0].over = 7 * S / 2;
	for (size_t i = 0; i < 4; i++) {
		struct resample_grid g = {0, grids[i], (size_t)(9 * (int64_t)S / grids[i]) + 1};
		struct resample s;

		resample_init(&s, &g);
		resample_take(&s, &g, &busy, KIND_MEAN);
		near(s.value[0], i < 3 ? 88 : 44);
		near(resample_time_mean(&s, &g), 38.5);
		resample_release(&s);
	}
	points_release(&busy);
}

/* A host that ends adds its part; one that is not heard of for a while leaves the sum unknown. */
static void hosts_with_gaps(void **state)
{
	struct points a = CURVE(0, 10, 1, 10, 2, 10, 3, 10, 8, 10, 9, 10, 10, 10);
	struct points b = CURVE(0, 5, 1, 5, 2, 5, 3, 5, 4, 5, 5, 5, 6, 5, 7, 5, 8, 5, 9, 5, 9.5, 5);
	struct resample_grid g = {0, S, 11};
	struct resample one, all;
	struct points out = {0};

	(void)state;
	resample_init(&one, &g);
	resample_init(&all, &g);
	resample_take(&one, &g, &a, KIND_GAUGE);
	resample_add(&all, &one, &g, AGG_SUM);
	resample_take(&one, &g, &b, KIND_GAUGE);
	resample_add(&all, &one, &g, AGG_SUM);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(resample_known(&all, &g, i), i < 3 || i > 7);
	near(all.value[2], 15);
	near(all.value[8], 15);
	near(all.value[9], 12.5);
	resample_reduce(&all, &g, looked, 400, 1, &out);
	for (size_t i = 0; i < out.count; i++)
		assert_true(out.points[i].time < 3 * S || out.points[i].time > 7 * S);
	near(resample_time_mean(&all, &g), (3 * 15 + 15 + 12.5) / 5);
	points_release(&out);
	points_release(&a);
	points_release(&b);
	resample_release(&one);
	resample_release(&all);
}

/* Of a level that was read now and then only the readings are known; rates and means are of all the
 * time between. */
static void seldom_read(void **state)
{
	struct points c = CURVE(0, 10, 1, 40, 3, 20, 7, 80);
	struct resample_grid g = {0, S, 16};
	struct points out = {0};
	struct resample s, all;

	(void)state;
	resample_init(&s, &g);
	resample_init(&all, &g);
	resample_take(&s, &g, &c, KIND_GAUGE);
	near(resample_time_mean(&s, &g), (25 + 2 * 30 + 4 * 50) / 7.0);
	resample_add(&all, &s, &g, AGG_SUM);
	resample_add(&all, &s, &g, AGG_SUM);
	assert_false(
		resample_reduce(&s, &g, looked, 400, 1, &out)); /* half of the steps were read */
	assert_int_equal(out.count, 8);
	out.count = 0;
	g.step = S / 2;
	resample_take(&s, &g, &c, KIND_GAUGE);
	assert_true(resample_reduce(&s, &g, looked, 400, 2, &out));
	assert_int_equal(out.count, 4);
	const double times[] = {0, 1, 3, 7}, values[] = {20, 80, 40, 160};
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(out.points[i].time, (int64_t)(times[i] * S));
		near(out.points[i].value, values[i]);
	}
	out.count = 0;
	resample_clear(&all, &g);
	resample_add(&all, &s, &g, AGG_SUM);
	resample_add(&all, &s, &g, AGG_SUM);
	assert_true(resample_reduce(&all, &g, looked, 400, 1, &out));
	assert_int_equal(out.count, 4);
	near(out.points[3].value, 160);
	/* growing distances, the last of them far more than usual */
	struct points grows = CURVE(0, 1, 0.5, 2, 1, 3, 2, 4, 4, 5, 7.5, 6);
	out.count = 0;
	resample_take(&s, &g, &grows, KIND_GAUGE);
	assert_true(resample_reduce(&s, &g, looked, 400, 1, &out));
	assert_int_equal(out.count, 6);
	/* nothing at all was read in between: two runs of a job */
	struct points twice = CURVE(0, 1, 0.5, 2, 1, 3, 6.5, 6, 7, 7, 7.5, 8);
	out.count = 0;
	memset(looked + 3, false, 10);
	resample_take(&s, &g, &twice, KIND_GAUGE);
	assert_false(resample_reduce(&s, &g, looked, 400, 1, &out));
	memset(looked, true, sizeof(looked));
	points_release(&grows);
	points_release(&twice);
	out.count = 0;
	resample_take(&s, &g, &c, KIND_MEAN);
	assert_false(resample_reduce(&s, &g, looked, 400, 1, &out));
	out.count = 0;
	resample_take(&s, &g, &c, KIND_COUNTER);
	assert_false(resample_reduce(&s, &g, looked, 400, 1, &out));
	points_release(&out);
	points_release(&c);
	resample_release(&s);
	resample_release(&all);
}

static void nothing(void **state)
{
	struct points none = {0}, out = {0};
	struct resample_grid g = resample_grid(0, 0, 0, 100);
	struct resample s;

	(void)state;
	resample_init(&s, &g);
	resample_take(&s, &g, &none, KIND_GAUGE);
	resample_take(&s, &g, &none, KIND_COUNTER);
	resample_reduce(&s, &g, looked, 400, 1, &out);
	assert_int_equal(out.count, 0);
	/* times far outside of the grid go into its ends */
	struct points far = CURVE(-1e12, 1, 1e12, 3);
	resample_take(&s, &g, &far, KIND_GAUGE);
	near(s.low[0], 1);
	near(s.high[0], 3);
	points_release(&far);
	points_release(&out);
	resample_release(&s);
}

int main(void)
{
	memset(looked, true, sizeof(looked));
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seldom_read),     cmocka_unit_test(grids),
		cmocka_unit_test(levels),          cmocka_unit_test(extremes),
		cmocka_unit_test(rates),           cmocka_unit_test(sums),
		cmocka_unit_test(peaks_stay),      cmocka_unit_test(means_over_time),
		cmocka_unit_test(hosts_with_gaps), cmocka_unit_test(nothing),
		cmocka_unit_test(first_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
