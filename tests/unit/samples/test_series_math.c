/* Arithmetic on curves: values that can be computed by hand. */
#include "unit.h"

#include <math.h>

#include "samples/series_math.h"

#define S 1000000 /* a second */

static void add(struct points *c, int64_t time, double v)
{
	points_add(c, time, v, v, v);
}

static struct points make(size_t n, const double *times, const double *values)
{
	struct points c = {0};

	for (size_t i = 0; i < n; i++)
		add(&c, (int64_t)(times[i] * S), values[i]);
	return c;
}
#define CURVE(...) \
	make_pairs(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

/* time, value, time, value ... */
static struct points make_pairs(size_t n, const double *pairs)
{
	double times[64], values[64];

	assert_true(n / 2 <= 64);
	for (size_t i = 0; i < n / 2; i++) {
		times[i] = pairs[2 * i];
		values[i] = pairs[2 * i + 1];
	}
	return make(n / 2, times, values);
}

static void check(struct points *c, struct points want)
{
	for (size_t i = 0; i < c->count && i < want.count; i++) {
		assert_int_equal(c->points[i].time, want.points[i].time);
		if (fabs(c->points[i].value - want.points[i].value) > 1e-9)
			fail_msg("point %zu is %g, not %g", i, c->points[i].value,
				 want.points[i].value);
	}
	assert_int_equal(c->count, want.count);
	points_release(c);
	points_release(&want);
}

static void near(double got, double want)
{
	if (fabs(got - want) > 1e-9)
		fail_msg("%.17g is not %.17g", got, want);
}

static void rates(void **state)
{
	struct points in = CURVE(0, 100, 1, 110, 3, 110, 4, 5, 5, 6, 5, 9, 6, 10);

	(void)state;
	points_become_rate(&in);
	/* a reset between 3 and 4; two points at 5 */
	check(&in, CURVE(1, 10, 3, 0, 5, 1, 6, 1));
	points_become_rate(&in);
	assert_int_equal(in.count, 0);
}

static void rates_in_steps(void **state)
{
	struct points in = CURVE(0, 0, 10, 100, 25, 100, 30, 200), out = {0};

	(void)state;
	points_rate_steps(&in, 10 * S, &out);
	/* from 20 to 25 nothing, from 25 to 30 100 */
	check(&out, CURVE(0, 10, 10, 0, 20, 10));
	/* steps shorter than the distance of points */
	points_rate_steps(&in, 5 * S, &out);
	check(&out, CURVE(0, 10, 5, 10, 10, 0, 15, 0, 20, 0, 25, 20));
	points_release(&in);
	/* over the time that was seen: half of the first step, and a reset in the second */
	in = CURVE(5, 50, 10, 100, 12, 140, 15, 0, 19, 4);
	points_rate_steps(&in, 10 * S, &out);
	check(&out, CURVE(0, 10, 10, 44.0 / 6));
	points_release(&in);
	/* all growth is kept, wherever the steps lie */
	for (int64_t step = 1 * S; step < 20 * S; step += S / 3) {
		double sum = 0;

		in = CURVE(-7.5, 1, 0.25, 2, 3, 30, 17, 31, 18, 99);
		points_rate_steps(&in, step, &out);
		for (size_t i = 0; i < out.count; i++) {
			/* each step is seen from begin to end but the first and the last */
			int64_t begin = out.points[i].time, end = begin + step;

			begin = begin < -7500000 ? -7500000 : begin;
			end = end > 18 * S ? 18 * S : end;
			sum += out.points[i].value * (double)(end - begin) / 1e6;
		}
		assert_true(fabs(sum - 98) < 1e-6);
		points_release(&in);
		points_release(&out);
	}
}

static void means_in_steps(void **state)
{
	/* 5 to 1 in a second, to 2 in three, to 4 in six, to 7 in two, and what is behind a gap */
	struct points in = CURVE(-1, 5, 0, 1, 3, 2, 9, 4, 11, 7, 60, 8, 61, 9), out = {0};

	(void)state;
	points_mean_steps(&in, KIND_GAUGE, 10 * S, &out);
	assert_int_equal(out.points[1].time, 0);
	assert_true(out.points[1].low == 1 && out.points[1].high == 4);
	/* on its way to 7, the one that was read */
	assert_true(out.points[2].low == 6.25 && out.points[2].high == 7);
	check(&out, CURVE(-10, 3, 0, 2.725, 10, 6.25, 60, 8.5));
	points_release(&in);
	/* over the time before: a gap is none */
	in = CURVE(0, 0, 5, 10, 10, 20, 40, 30);
	points_mean_steps(&in, KIND_MEAN, 10 * S, &out);
	check(&out, CURVE(0, 15, 10, 30, 20, 30, 30, 30, 40, 30));
	points_release(&in);
	/* the first is over 4 s, the third over 1 s only */
	in = CURVE(4, 90, 8, 10, 20, 30);
	in.points[0].over = 4 * S;
	in.points[2].over = S;
	points_mean_steps(&in, KIND_MEAN, 4 * S, &out);
	check(&out, CURVE(0, 90, 4, 10, 8, 10, 16, 30, 20, 30));
	near(points_time_mean(&in, KIND_MEAN), (4 * 90 + 4 * 10 + 30) / 9.0);
	points_release(&in);
	/* no time counts twice */
	in = CURVE(4, 90, 8, 10);
	in.points[0].over = 4 * S;
	in.points[1].over = 8 * S;
	near(points_time_mean(&in, KIND_MEAN), 50);
	assert_int_equal(points_since(&in, 0), 0);
	assert_int_equal(points_since(&in, 1), 4 * S);
	/* a rate is over the time from its first point on */
	struct points counter = CURVE(0, 0, 4, 40, 5, 40);
	points_become_rate(&counter);
	near(points_time_mean(&counter, KIND_COUNTER), 8);
	points_release(&counter);
	points_release(&in);
}

/* Sums of entities and of hosts are over the time that their parts are over. */
static void means_of_sums(void **state)
{
	struct points a = CURVE(4, 90, 8, 10), b = CURVE(4, 30, 8, 10), out = {0};

	(void)state;
	a.points[0].over = b.points[0].over = 4 * S;
	struct points hosts[2] = {{0}, {0}};
	points_hold_steps(&a, 4 * S, 4 * S, &hosts[0]);
	points_hold_steps(&b, 4 * S, 4 * S, &hosts[1]);
	points_combine_hosts(hosts, 2, AGG_SUM, false, &out);
	near(points_time_mean(&out, KIND_MEAN), 70);
	points_release(&out);
	points_release(&hosts[0]);
	points_release(&hosts[1]);
	points_combine(&a, &b, AGG_SUM, false);
	near(points_time_mean(&a, KIND_MEAN), 70);
	points_release(&a);
	points_release(&b);
}

static void hosts_combined(void **state)
{
	struct points list[] = {CURVE(0, 1, 1, 1, 4, 1, 5, 1),
				CURVE(0, 2, 1, 2, 2, 2, 3, 2, 4, 2, 5, 2, 6, 2)};
	struct points out = {0};

	(void)state;
	/* the first has a gap, and ends before the second */
	points_combine_hosts(list, 2, AGG_SUM, false, &out);
	assert_int_equal(out.count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(out.points[i].time, (int64_t)i * S);
		assert_int_equal(isnan(out.points[i].value), i == 2 || i == 3);
	}
	assert_true(out.points[1].value == 3 && out.points[4].value == 3);
	assert_true(out.points[6].value == 2);
	points_release(&out);
	points_combine_hosts(list, 2, AGG_SUM, true, &out);
	check(&out, CURVE(0, 3, 1, 3, 2, 3, 3, 3, 4, 3, 5, 3, 6, 3));
	points_release(&list[0]);
	points_release(&list[1]);
}

static void held_values(void **state)
{
	struct points in = CURVE(0.6, 1, 1.6, 2, 2.4, 3, 7.6, 4), out = {0};

	(void)state;
	points_hold_steps(&in, S, S, &out);
	/* the nearest, and the last one before a gap for one step more */
	check(&out, CURVE(1, 1, 2, 3, 3, 3, 8, 4));
	points_release(&in);
	/* readings that come a moment after the time that they are for are not a step late */
	in = CURVE(2.001, 1, 3.001, 2, 3.999, 3);
	points_hold_steps(&in, S, S, &out);
	check(&out, CURVE(2, 1, 3, 2, 4, 3));
	points_release(&in);
}

static void growth(void **state)
{
	struct points c = CURVE(0, 50, 1, 60, 2, 5, 3, 7);

	(void)state;
	points_growth(&c);
	check(&c, CURVE(0, 0, 1, 10, 2, 10, 3, 12));
}

static void combined(void **state)
{
	struct points a = CURVE(0, 1, 1, 2, 3, 4), b = CURVE(1, 10, 2, 20), none = {0};

	(void)state;
	points_combine(&a, &b, AGG_SUM, false);
	check(&a, CURVE(0, 1, 1, 12, 2, 20, 3, 4));
	a = CURVE(0, 1, 1, 2, 3, 4);
	points_combine(&a, &b, AGG_SUM, true);
	check(&a, CURVE(0, 1, 1, 12, 2, 22, 3, 24));
	a = CURVE(0, 1, 1, 20, 3, 4);
	points_combine(&a, &b, AGG_MAX, false);
	check(&a, CURVE(0, 1, 1, 20, 2, 20, 3, 4));
	a = CURVE(1, 1);
	points_combine(&a, &b, AGG_MIN, false);
	check(&a, CURVE(1, 1, 2, 20));
	points_combine(&none, &b, AGG_SUM, true);
	check(&none, CURVE(1, 10, 2, 20));
	points_combine(&b, &none, AGG_SUM, true);
	check(&b, CURVE(1, 10, 2, 20));
}

static void periods(void **state)
{
	struct points c = CURVE(0, 0, 1, 0, 2, 0, 3, 0, 60, 0);

	(void)state;
	assert_int_equal(points_period(&c), S);
	c.count = 1;
	assert_int_equal(points_period(&c), 0);
	points_release(&c);
}

/* Time in which none was seen has no rate; spans in any order, one in the other, side by side. */
static void known_in_spans(void **state)
{
	struct points_span spans[] = {{20, 30}, {0, 10}, {2, 5}, {30, 40}};
	struct points c = {0}, rate = {0};

	(void)state;
	for (int64_t t = 0; t <= 40; t += 10)
		add(&c, t, (double)t);
	points_known(&c, spans, ARRAY_SIZE(spans));
	assert_int_equal(c.count, 6);
	assert_int_equal(c.points[2].time, 11);
	assert_true(isnan(c.points[2].value));
	points_rate_steps(&c, 10, &rate);
	assert_int_equal(rate.count, 3);
	assert_int_equal(rate.points[1].time, 20);
	points_become_rate(&c);
	assert_int_equal(c.count, 3);
	assert_int_equal(c.points[1].time, 30);
	points_release(&rate);
	points_release(&c);
}

/* The sum of counters, over the time in which it is known. */
static void mean_rates(void **state)
{
	struct points two[2] = {{0}, {0}};

	(void)state;
	assert_true(isnan(points_mean_rate(two, 2)));
	/* 10 a second on both, while both are there; between runs nobody knows */
	for (int64_t t = 0; t <= 4; t++) {
		add(&two[0], t * S, 10.0 * (double)t);
		add(&two[1], t * S, 10.0 * (double)t);
	}
	for (size_t i = 0; i < 2; i++)
		add(&two[i], 4 * S + 1, NAN);
	for (int64_t t = 100; t <= 104; t++) {
		add(&two[0], t * S, 10.0 * (double)t);
		add(&two[1], t * S, 10.0 * (double)t);
	}
	assert_true(fabs(points_mean_rate(two, 1) - 10) < 1e-4);
	assert_true(fabs(points_mean_rate(two, 2) - 20) < 1e-4);
	/* one began again between 101 s and 102 s: what the other did then does not count */
	two[1].points[two[1].count - 4].value = 5000;
	assert_true(two[1].points[two[1].count - 4].time == 101 * S);
	two[1].points[two[1].count - 5].value = 4990;
	assert_true(fabs(points_mean_rate(two, 2) - 20) < 1e-4);
	/* one ends before the other: its time counts, its rate does not */
	two[1].count = 5;
	assert_true(fabs(points_mean_rate(two, 2) - 15) < 1e-4);
	points_release(&two[0]);
	points_release(&two[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_in_spans), cmocka_unit_test(rates),
		cmocka_unit_test(rates_in_steps), cmocka_unit_test(means_in_steps),
		cmocka_unit_test(hosts_combined), cmocka_unit_test(held_values),
		cmocka_unit_test(growth),         cmocka_unit_test(combined),
		cmocka_unit_test(periods),        cmocka_unit_test(mean_rates),
		cmocka_unit_test(means_of_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
