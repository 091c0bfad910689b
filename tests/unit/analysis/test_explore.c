/* The groups and segments of an experiment: sums, shares, variation, outliers by each classifier at
 * its limit, missing segments, and values that are unknown. */
#include "analysis/explore.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

/* Jobs of one group with these values; *e is released by the caller. */
static void one_group(struct explore *e, struct explore_job *jobs, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		jobs[i] = (struct explore_job){
			.label = "j", .group = "g", .segment = "", .value = values[i]};
	explore_compute(e, jobs, n, NULL, 0);
}

/* The values that upstream's own test of the three classifiers has, and who flags them. */
static void classifiers(void **state)
{
	static const double iqr[] = {1, 2, 3, 4, 3, 2, 1, 10};
	static const double two[] = {1, 2, 1, 1, 1, 1, 2, 1, 0, 2, 100, 100};
	static const double z[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000};
	struct explore_job jobs[16];
	struct explore e;

	(void)state;
	one_group(&e, jobs, iqr, 8);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(jobs[i].flags, 0);
	/* 0.6745 * 7.5 / 1 = 5.0588 */
	assert_int_equal(jobs[7].flags, EXPLORE_IQR | EXPLORE_MADZ);
	explore_release(&e);
	one_group(&e, jobs, two, 12);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(explore_score(jobs[i].flags), 0);
	assert_int_equal(explore_score(jobs[10].flags), 2);
	assert_int_equal(explore_score(jobs[11].flags), 2);
	explore_release(&e);
	one_group(&e, jobs, z, 11);
	assert_int_equal(jobs[10].flags, EXPLORE_IQR | EXPLORE_Z | EXPLORE_MADZ); /* z 3.1621 */
	explore_release(&e);
}

static void one_value_or_equal_ones_are_no_outliers(void **state)
{
	static const double equal[] = {5, 5, 5, 5};
	static const double zeros[] = {0, 0, 0};
	struct explore_job jobs[4];
	struct explore e;

	(void)state;
	one_group(&e, jobs, equal, 1);
	assert_int_equal(jobs[0].flags, 0);
	NEAR(e.groups[0].variation, 0);
	explore_release(&e);
	one_group(&e, jobs, equal, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(jobs[i].flags, 0);
	explore_release(&e);
	one_group(&e, jobs, zeros, 3);
	assert_true(isnan(e.groups[0].variation));
	assert_true(isnan(e.groups[0].share));
	explore_release(&e);
	/* half of them away from the median: the mean deviation takes the median's place */
	static const double half[] = {0, 0, 0, 0, 100};
	struct explore_job five[5];
	one_group(&e, five, half, 5);
	assert_int_equal(five[4].flags, EXPLORE_IQR); /* madz 0.6745 * 100 / 20 = 3.3725 */
	explore_release(&e);
}

static struct explore_job job(const char *group, const char *segment, double value, int64_t exit)
{
	return (struct explore_job){.label = "x",
				    .group = group,
				    .segment = segment,
				    .value = value,
				    .has_exitcode = exit >= 0,
				    .exitcode = exit};
}

static void groups_and_segments(void **state)
{
	struct explore_job jobs[] = {
		job("small", "10", 1, 0),  job("big", "9", 10, 0), job("big", "10", 30, 1),
		job("big", "11", NAN, -1), job("", "", 5, 0),      job("none", "9", NAN, 0),
	};
	struct explore e;

	(void)state;
	explore_compute(&e, jobs, 6, NULL, 0);
	assert_int_equal(e.group_count, 4);
	assert_string_equal(e.groups[0].name, "big");
	assert_int_equal(e.groups[0].job_count, 3);
	assert_int_equal(e.groups[0].known, 2);
	NEAR(e.groups[0].sum, 40);
	NEAR(e.groups[0].min, 10);
	NEAR(e.groups[0].max, 30);
	NEAR(e.groups[0].variation, 0.5); /* 10 / 20 */
	NEAR(e.groups[0].share, 40.0 / 46);
	assert_int_equal(e.groups[0].failed, 1);
	assert_int_equal(e.groups[0].missing_count, 0);
	assert_string_equal(e.groups[1].name, "");
	assert_string_equal(e.groups[2].name, "small");
	/* 9 comes before 10 */
	assert_int_equal(e.groups[2].missing_count, 2);
	assert_string_equal(e.groups[2].missing[0], "9");
	assert_string_equal(e.groups[2].missing[1], "11");
	/* nothing known is last, and not 0 */
	assert_string_equal(e.groups[3].name, "none");
	assert_true(isnan(e.groups[3].sum));
	NEAR(e.sum, 46);
	assert_int_equal(e.failed, 1);
	assert_int_equal(e.segment_count, 3);
	assert_string_equal(e.segments[0].name, "10");
	NEAR(e.segments[0].sum, 31);
	explore_sort_segments(&e);
	assert_string_equal(e.segments[0].name, "9");
	assert_string_equal(e.segments[2].name, "11");
	explore_release(&e);
}

/* The order of jobs does not change what is found. */
static void permutation(void **state)
{
	static const double values[] = {3, 1, 4, 1, 5, 9, 2, 600};
	struct explore_job jobs[8], back[8];
	struct explore a, b;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		jobs[i] = job(i % 2 ? "odd" : "even", i < 4 ? "1" : "2", values[i], 0);
		back[7 - i] = jobs[i];
	}
	explore_compute(&a, jobs, 8, NULL, 0);
	explore_compute(&b, back, 8, NULL, 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(jobs[i].flags, back[7 - i].flags);
	assert_string_equal(a.groups[0].name, b.groups[0].name);
	NEAR(a.groups[0].sum, b.groups[0].sum);
	NEAR(a.groups[0].variation, b.groups[0].variation);
	explore_release(&a);
	explore_release(&b);
}

static void nothing(void **state)
{
	struct explore e;

	(void)state;
	explore_compute(&e, NULL, 0, NULL, 0);
	assert_int_equal(e.group_count, 0);
	assert_int_equal(e.segment_count, 0);
	explore_release(&e);
}

static void expected_segments(void **state)
{
	static const char *const bad[] = {"",       ",",      "5..1", "a..b",
					  "1..2/0", "1..2/x", "1..",  "-1..3"};
	size_t n = 0;
	char **v = NULL;

	(void)state;
	assert_int_equal(explore_parse_segments("18540101..20090101/50000", &v, &n), 0);
	assert_int_equal(n, 32);
	assert_string_equal(v[0], "18540101");
	assert_string_equal(v[31], "20090101");
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
	/* years of four digits keep their zeros */
	assert_int_equal(explore_parse_segments("00090101..00110101/10000", &v, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(v[0], "00090101");
	assert_string_equal(v[2], "00110101");
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
	assert_int_equal(explore_parse_segments("0..10/10", &v, &n), 0);
	assert_string_equal(v[0], "0");
	assert_string_equal(v[1], "10");
	free(v[0]);
	free(v[1]);
	free(v);
	assert_int_equal(explore_parse_segments("a,,b", &v, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(v[1], "b");
	free(v[0]);
	free(v[1]);
	free(v);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(explore_parse_segments(bad[i], &v, &n), -EINVAL);
	assert_int_equal(explore_parse_segments("0..18446744073709551615", &v, &n), -E2BIG);
}

/* A segment of jobs without the metric has no sum, and is no outlier among those that have one. */
static void unknown_segments(void **state)
{
	struct explore_job jobs[6] = {{.label = "a", .group = "g", .segment = "1", .value = 600},
				      {.label = "b", .group = "g", .segment = "2", .value = NAN},
				      {.label = "c", .group = "g", .segment = "3", .value = NAN},
				      {.label = "d", .group = "g", .segment = "4", .value = NAN},
				      {.label = "e", .group = "g", .segment = "5", .value = 601},
				      {.label = "f", .group = "g", .segment = "5", .value = NAN}};
	struct explore e;

	(void)state;
	explore_compute(&e, jobs, 6, NULL, 0);
	assert_int_equal(e.segment_count, 5);
	assert_true(isnan(e.segments[1].sum));
	assert_true(e.segments[0].sum == 600 && e.segments[4].sum == 601);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(e.segments[i].flags, 0);
	explore_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classifiers),
		cmocka_unit_test(one_value_or_equal_ones_are_no_outliers),
		cmocka_unit_test(groups_and_segments),
		cmocka_unit_test(permutation),
		cmocka_unit_test(nothing),
		cmocka_unit_test(expected_segments),
		cmocka_unit_test(unknown_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
