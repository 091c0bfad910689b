/* Operations of a job: durations by each method, runs and contiguity, against values worked out by
 * hand and against a plain count of microseconds, in any order of the images. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/operations.h"

#define U OPERATION_UNKNOWN

/* ---- intervals ------------------------------------------------------------------------------- */

static void merges_what_overlaps_or_touches(void **state)
{
	struct interval v[] = {{5, 8},   {-25, -14}, {-21, -16}, {-20, -15}, {-10, -7}, {-8, -5},
			       {-6, -3}, {2, 4},     {2, 3},     {3, 6},     {12, 15},  {13, 18},
			       {14, 17}, {22, 27},   {25, 30},   {26, 29},   {18, 18},  {40, 40}};
	static const struct interval want[] = {{-25, -14}, {-10, -3}, {2, 8},
					       {12, 18},   {22, 30},  {40, 40}};
	size_t n = intervals_merge(v, sizeof(v) / sizeof(*v));

	(void)state;
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(v[i].start, want[i].start);
		assert_int_equal(v[i].end, want[i].end);
	}
	assert_int_equal(intervals_length(v, n), 11 + 7 + 6 + 6 + 8);
	assert_int_equal(intervals_merge(v, 0), 0);
	assert_int_equal(intervals_length(v, 0), 0);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void add(struct operations *o, size_t op, int64_t start, int64_t duration, int64_t metric)
{
	operations_add(o, op,
		       &(struct operation_image){
			       .start = start, .duration = duration, .metrics = &metric});
}

static void a_single_image(void **state)
{
	struct operations o;

	(void)state;
	operations_init(&o, 1);
	assert_int_equal(operations_new(&o), 0);
	add(&o, 0, 1000, 70, 5);
	operations_finish(&o);
	const struct operation *op = &o.v[0];
	assert_int_equal(op->images, 1);
	assert_int_equal(op->processes, 1);
	for (int i = 0; i < OPERATION_DURATIONS; i++)
		assert_int_equal(op->duration[i], 70);
	assert_int_equal(op->start, 1000);
	assert_int_equal(op->end, 1070);
	assert_int_equal(op->run_count, 1);
	assert_true(operation_is_contiguous(op));
	assert_int_equal(op->metrics[0].sum, 5);
	assert_int_equal(op->metrics[0].max, 5);
	operations_release(&o);
}

static void identical_intervals(void **state)
{
	struct operations o;

	(void)state;
	operations_init(&o, 1);
	operations_new(&o);
	for (int i = 0; i < 10; i++)
		add(&o, 0, 500, 30, i);
	operations_finish(&o);
	assert_int_equal(o.v[0].duration[OPERATION_SUM], 300);
	assert_int_equal(o.v[0].duration[OPERATION_UNION], 30);
	assert_int_equal(o.v[0].duration[OPERATION_SPAN], 30);
	assert_int_equal(o.v[0].run_count, 1);
	assert_int_equal(o.v[0].metrics[0].sum, 45);
	assert_int_equal(o.v[0].metrics[0].max, 9);
	operations_release(&o);
}

static void absent_times_and_metrics(void **state)
{
	struct operations o;

	(void)state;
	operations_init(&o, 1);
	operations_new(&o);
	operations_new(&o);
	operations_new(&o);
	add(&o, 0, 100, U, U);  /* still running */
	add(&o, 0, U, 50, U);   /* nobody knows when it started */
	add(&o, 0, 100, -5, U); /* a clock went back */
	add(&o, 1, 100, U, 3);
	add(&o, 1, 200, 10, U);
	add(&o, 1, 300, 10, 4);
	operations_finish(&o);
	assert_int_equal(o.v[0].images, 3);
	for (int i = 0; i < OPERATION_DURATIONS; i++)
		assert_int_equal(o.v[0].duration[i], U);
	assert_int_equal(o.v[0].start, U);
	assert_int_equal(o.v[0].run_count, 0);
	assert_false(operation_is_contiguous(&o.v[0]));
	assert_int_equal(o.v[0].metrics[0].sum, U);
	assert_int_equal(o.v[0].metrics[0].max, U);
	assert_int_equal(o.v[1].images, 3);
	assert_int_equal(o.v[1].duration[OPERATION_SUM], 20);
	assert_int_equal(o.v[1].duration[OPERATION_UNION], 20);
	assert_int_equal(o.v[1].duration[OPERATION_SPAN], 110);
	assert_int_equal(o.v[1].run_count, 2);
	assert_false(operation_is_contiguous(&o.v[1]));
	assert_int_equal(o.v[1].metrics[0].sum, 7);
	/* one without any image */
	assert_int_equal(o.v[2].images, 0);
	assert_int_equal(o.v[2].run_count, 0);
	operations_release(&o);
}

static void images_of_one_process(void **state)
{
	struct operations o;
	int64_t none = U;

	(void)state;
	operations_init(&o, 1);
	operations_new(&o);
	operations_add(&o, 0, &(struct operation_image){100, 10, true, &none});
	operations_add(&o, 0, &(struct operation_image){110, 10, false, &none});
	operations_finish(&o);
	assert_int_equal(o.v[0].images, 2);
	assert_int_equal(o.v[0].processes, 1);
	assert_int_equal(o.v[0].run_count, 1);
	operations_release(&o);
}

static void hostile_values_do_not_wrap(void **state)
{
	struct operations o;

	(void)state;
	operations_init(&o, 1);
	operations_new(&o);
	add(&o, 0, INT64_MAX - 1, 10, INT64_MAX); /* ends after the end of time */
	add(&o, 0, 1, INT64_MAX - 1, INT64_MAX);
	add(&o, 0, -INT64_MAX, 3, 1);
	add(&o, 0, 2, INT64_MAX - 2, 1);
	operations_finish(&o);
	assert_int_equal(o.v[0].metrics[0].sum, INT64_MAX);
	assert_int_equal(o.v[0].duration[OPERATION_SUM], INT64_MAX);
	assert_int_equal(o.v[0].duration[OPERATION_SPAN], INT64_MAX);
	assert_int_equal(o.v[0].run_count, 2);
	operations_release(&o);
}

/* ---- any order ------------------------------------------------------------------------------- */

#define IMAGES 200
#define OPS 7
#define TIME 400

struct sample {
	size_t op;
	int64_t start, duration, metric;
};

static void load(struct operations *o, const struct sample *s)
{
	operations_init(o, 1);
	for (size_t i = 0; i < OPS; i++)
		operations_new(o);
	for (size_t i = 0; i < IMAGES; i++)
		add(o, s[i].op, s[i].start, s[i].duration, s[i].metric);
	operations_finish(o);
}

/* Counts the microseconds in which an image of the operation ran, and how often that began. */
static void check(const struct operation *op, const struct sample *s, size_t which)
{
	bool busy[TIME * 2 + 2] = {false}, touched[TIME * 2 + 2] = {false};
	int64_t sum = 0, length = 0;
	size_t runs = 0;

	for (size_t i = 0; i < IMAGES; i++) {
		if (s[i].op != which || s[i].start == U || s[i].duration < 0)
			continue;
		sum += s[i].duration;
		for (int64_t t = s[i].start; t < s[i].start + s[i].duration; t++)
			busy[t] = true;
		for (int64_t t = s[i].start; t <= s[i].start + s[i].duration; t++)
			touched[t] = true;
	}
	for (size_t t = 0; t < TIME * 2; t++) {
		length += busy[t];
		/* where one ends and another begins at the same time, the run goes on */
		runs += touched[t] && (!t || !touched[t - 1] || (!busy[t - 1] && t));
	}
	assert_int_equal(op->duration[OPERATION_SUM], sum);
	assert_int_equal(op->duration[OPERATION_UNION], length);
	assert_int_equal(op->run_count, runs);
}

static void permutations_change_nothing(void **state)
{
	struct sample s[IMAGES];

	(void)state;
	srand(7);
	for (int round = 0; round < 20; round++) {
		struct operations a, b;

		for (size_t i = 0; i < IMAGES; i++)
			s[i] = (struct sample){(size_t)rand() % OPS, rand() % 9 ? rand() % TIME : U,
					       rand() % 12 - 1, rand() % 5 ? rand() % 100 : U};
		load(&a, s);
		for (size_t i = 0; i < OPS; i++)
			check(&a.v[i], s, i);
		for (size_t i = IMAGES - 1; i > 0; i--) {
			size_t k = (size_t)rand() % (i + 1);
			struct sample t = s[i];

			s[i] = s[k];
			s[k] = t;
		}
		load(&b, s);
		for (size_t i = 0; i < OPS; i++) {
			assert_memory_equal(a.v[i].duration, b.v[i].duration,
					    sizeof(a.v[i].duration));
			assert_int_equal(a.v[i].run_count, b.v[i].run_count);
			assert_memory_equal(a.v[i].runs, b.v[i].runs,
					    a.v[i].run_count * sizeof(*a.v[i].runs));
			assert_int_equal(a.v[i].metrics[0].sum, b.v[i].metrics[0].sum);
			assert_int_equal(a.v[i].metrics[0].max, b.v[i].metrics[0].max);
		}
		operations_release(&a);
		operations_release(&b);
	}
}

/* ---- jobs and shares ------------------------------------------------------------------------- */

static void operations_of_several_jobs(void **state)
{
	struct operations o;

	(void)state;
	operations_init(&o, 1);
	for (int i = 0; i < 3; i++)
		operations_new(&o);
	add(&o, 0, 100, 10, 1);
	add(&o, 1, 100, 10, 4);
	add(&o, 1, 150, 10, U);
	operations_finish(&o);
	operation_merge(&o.v[2], &o.v[0], 1);
	operation_merge(&o.v[2], &o.v[1], 1);
	assert_int_equal(o.v[2].images, 3);
	assert_int_equal(o.v[2].duration[OPERATION_SUM], 30);
	assert_int_equal(o.v[2].duration[OPERATION_UNION], 30);
	assert_int_equal(o.v[2].duration[OPERATION_SPAN], 70);
	assert_int_equal(o.v[2].run_count, 3);
	assert_int_equal(o.v[2].start, 100);
	assert_int_equal(o.v[2].end, 160);
	assert_int_equal(o.v[2].metrics[0].sum, 5);
	assert_int_equal(o.v[2].metrics[0].max, 4);
	assert_null(o.v[2].runs);
	operations_release(&o);
}

static void shares_are_rounded_as_python_does(void **state)
{
	(void)state;
	assert_true(operation_round(operation_share(273510353, 633756327), 3) == 43.157);
	assert_true(operation_round(operation_share(69603181, 113135329), 0) == 62);
	assert_true(operation_round(0.5, 0) == 0);
	assert_true(operation_round(1.5, 0) == 2);
	assert_true(operation_round(2.5, 0) == 2);
	assert_true(operation_round(2.675, 2) == 2.67); /* 2.67499999... */
	assert_true(isnan(operation_share(1, 0)));
	assert_true(isnan(operation_share(U, 5)));
	assert_true(isnan(operation_share(5, U)));
	assert_true(isnan(operation_round(NAN, 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_what_overlaps_or_touches),
		cmocka_unit_test(a_single_image),
		cmocka_unit_test(identical_intervals),
		cmocka_unit_test(absent_times_and_metrics),
		cmocka_unit_test(images_of_one_process),
		cmocka_unit_test(hostile_values_do_not_wrap),
		cmocka_unit_test(permutations_change_nothing),
		cmocka_unit_test(operations_of_several_jobs),
		cmocka_unit_test(shares_are_rounded_as_python_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
