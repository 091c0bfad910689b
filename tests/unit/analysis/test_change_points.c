/* Change points: those that are there are found where they are, and hardly any that are not.
 * PL_LONG=1 takes 20 times as many rounds. */
#include "unit.h"

#include <math.h>

#include "analysis/comparison/change_points.h"
#include "noise.h"

static const struct change_options usual = CHANGE_OPTIONS_DEFAULT;

static size_t rounds(size_t n)
{
	return getenv("PL_LONG") ? 20 * n : n;
}

static void levels(struct random *r, enum noise kind, const double *of, size_t count, size_t each,
		   double *v)
{
	for (size_t i = 0; i < count * each; i++)
		v[i] = of[i / each] * noisy(r, kind);
}

static void found_where_it_is(void **state)
{
	static const double of[] = {1, 1.3, 1.3, 0.9};
	struct random r = {1};
	struct change_point *c;
	double v[80];

	(void)state;
	levels(&r, NOISE_NORMAL, of, 4, 20, v);
	assert_int_equal(change_points_find(v, 80, &usual, &c), 2);
	assert_int_equal(c[0].first, 20);
	assert_int_equal(c[1].first, 60);
	assert_true(fabs(c[0].before - 1) < 0.05 && fabs(c[0].after - 1.3) < 0.05);
	assert_true(fabs(c[1].before - 1.3) < 0.05 && fabs(c[1].after - 0.9) < 0.05);
	assert_true(c[0].p <= 0.01 && c[1].p <= 0.01);
	free(c);
}

/* Back to where it was: neither change is hidden by the other. */
static void there_and_back(void **state)
{
	static const double of[] = {1, 1.3, 1};
	struct random r = {1};
	struct change_point *c;
	double v[60];

	(void)state;
	levels(&r, NOISE_OUTLIERS, of, 3, 20, v);
	assert_int_equal(change_points_find(v, 60, &usual, &c), 2);
	assert_int_equal(c[0].first, 20);
	assert_int_equal(c[1].first, 40);
	free(c);
}

static void nothing_to_find(void **state)
{
	struct change_options all = usual;
	struct change_point *c;
	double v[40];

	(void)state;
	all.relative = 0;
	for (size_t i = 0; i < 40; i++)
		v[i] = 7;
	assert_int_equal(change_points_find(v, 40, &all, &c), 0);
	free(c);
	/* one outlier, however large, is no level */
	v[20] = 1e9;
	assert_int_equal(change_points_find(v, 40, &all, &c), 0);
	free(c);
	/* too few */
	for (size_t i = 0; i < 9; i++)
		v[i] = i < 4 ? 1 : 100;
	assert_int_equal(change_points_find(v, 9, &usual, &c), 0);
	assert_null(c);
	assert_int_equal(change_points_find(v, 0, &usual, &c), 0);
	/* 0 and then something is a change */
	for (size_t i = 0; i < 40; i++)
		v[i] = i < 20 ? 0 : 5;
	assert_int_equal(change_points_find(v, 40, &usual, &c), 1);
	assert_int_equal(c[0].first, 20);
	free(c);
}

/* A certain change that is too small to matter. */
static void small_change(void **state)
{
	struct change_options all = usual;
	struct change_point *c;
	double v[40];

	(void)state;
	for (size_t i = 0; i < 40; i++)
		v[i] = i < 20 ? 100 : 103;
	assert_int_equal(change_points_find(v, 40, &usual, &c), 0);
	free(c);
	all.relative = 0.02;
	assert_int_equal(change_points_find(v, 40, &all, &c), 1);
	assert_int_equal(c[0].first, 20);
	free(c);
}

/* Units do not matter, and the seed hardly does. */
static void units_and_seeds(void **state)
{
	static const double of[] = {1, 1.2};
	struct random r = {4};
	double v[50], w[50];

	(void)state;
	levels(&r, NOISE_HEAVY, of, 2, 25, v);
	for (size_t i = 0; i < 50; i++)
		w[i] = v[i] * 1e6;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct change_options o = usual;
		struct change_point *c, *d;

		o.seed = seed;
		assert_int_equal(change_points_find(v, 50, &o, &c), 1);
		assert_int_equal(change_points_find(w, 50, &o, &d), 1);
		assert_int_equal(c[0].first, 25);
		assert_int_equal(d[0].first, 25);
		assert_true(c[0].p == d[0].p);
		free(c);
		free(d);
	}
}

static void false_alarms(void **state)
{
	static const size_t lengths[] = {12, 40, 150};
	const size_t n = rounds(40);

	(void)state;
	for (size_t l = 0; l < ARRAY_SIZE(lengths); l++) {
		struct random r = {l + 1};
		size_t alarms = 0;

		for (size_t k = 0; k < n * NOISE_KINDS; k++) {
			struct change_options o = usual;
			struct change_point *c;
			double v[150];

			o.relative = 0;
			o.rounds = 999;
			o.seed = k + 1;
			for (size_t i = 0; i < lengths[l]; i++)
				v[i] = noisy(&r, (enum noise)(k % NOISE_KINDS));
			alarms += change_points_find(v, lengths[l], &o, &c) > 0;
			free(c);
		}
		print_message("%zu runs: %.2f %% false alarms\n", lengths[l],
			      100 * (double)alarms / (double)(n * NOISE_KINDS));
		/* 1 % is claimed: 4 standard deviations above it */
		const double all = (double)(n * NOISE_KINDS);
		assert_true((double)alarms <= 0.01 * all + 4 * sqrt(0.01 * 0.99 * all));
	}
}

/* 15 % at noise of 5 %: found within 2 runs of where it is. */
static void power(void **state)
{
	static const double of[] = {1, 1.15};
	const size_t n = rounds(40);
	struct random r = {8};
	size_t found = 0;

	(void)state;
	for (size_t k = 0; k < n; k++) {
		struct change_options o = usual;
		struct change_point *c;
		double v[40];

		o.rounds = 999;
		levels(&r, NOISE_NORMAL, of, 2, 20, v);
		found += change_points_find(v, 40, &o, &c) == 1 && c[0].first >= 18 &&
			 c[0].first <= 22;
		free(c);
	}
	print_message("found %zu of %zu\n", found, n);
	assert_true((double)found >= 0.9 * (double)n);
}

/* A clear change is found at any confidence, also between few runs of many. */
static void high_confidence(void **state)
{
	double v[400];
	struct change_options o = CHANGE_OPTIONS_DEFAULT;
	struct change_point *c;

	(void)state;
	for (size_t i = 0; i < 400; i++)
		v[i] = (i < 15 ? 100 : 200) + (double)(i * 7 % 13) / 10;
	o.alpha = 0.0001;
	assert_int_equal(change_points_find(v, 30, &o, &c), 1);
	assert_int_equal(c[0].first, 15);
	assert_true(c[0].p <= 0.0001);
	free(c);
	/* 12 slow runs, then 12 fast ones, before 376 that are slower still */
	for (size_t i = 0; i < 400; i++)
		v[i] = (i < 12 ? 200 : i < 24 ? 100 : 400) + (double)(i * 7 % 13) / 10;
	o.alpha = 0.001;
	assert_int_equal(change_points_find(v, 400, &o, &c), 2);
	assert_int_equal(c[0].first, 12);
	assert_int_equal(c[1].first, 24);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_where_it_is),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(nothing_to_find),
		cmocka_unit_test(small_change),
		cmocka_unit_test(units_and_seeds),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(power),
		cmocka_unit_test(high_confidence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
