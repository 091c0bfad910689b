/*
 * Principal components and detectors: the values of EPMT's tests, which came from PyOD, and
 * properties that hold for any rows.
 */
#include "unit.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "analysis/outliers/multivariate.h"

static const struct multivariate_functions *fn;

static int load(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	fn = multivariate(&why);
	return fn ? 0 : -1;
}

static double highest(enum detector k, const double *x, size_t n, size_t d)
{
	double scores[64], max = -INFINITY;

	assert_int_equal(fn->detect(k, x, n, d, scores), 0);
	for (size_t i = 0; i < n; i++)
		max = scores[i] > max ? scores[i] : max;
	return max;
}

#define same(got, want)                                                        \
	do {                                                                   \
		double g_ = (got);                                             \
		if (g_ != (want))                                              \
			fail_msg("got %.17g, want %.17g", g_, (double)(want)); \
	} while (0)

/* CPU time, duration and processes of operations of three kernel builds, with EPMT's scores. */
static const double build[] = {380807266, 2158730624, 9549,       381619141, 2203839312,
			       9549,      381227732,  2253935203, 9549};
static const double configure[] = {20735346, 249388754, 1044,      20476970, 203959083,
				   1044,     20718776,  236011451, 1044};

static void scores_as_pyod(void **state)
{
	(void)state;
	same(highest(DETECTOR_COF, build, 3, 3), 1.0355);
	same(highest(DETECTOR_HBOS, build, 3, 3), 9.9657);
	same(highest(DETECTOR_COF, configure, 3, 3), 1.3176);
	same(highest(DETECTOR_HBOS, configure, 3, 3), 9.9656);
	same(highest(DETECTOR_OCSVM, build, 3, 3), 0);
	same(highest(DETECTOR_OCSVM, configure, 3, 3), 0);
}

static void too_few_and_not_finite(void **state)
{
	double x[] = {1, 2, 3, NAN, 5, 6, 7, 8, 9, 10, 11, 12}, scores[12];

	(void)state;
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		assert_int_equal(fn->detect(k, x, detectors[k].min_rows - 1, 2, scores), -ENODATA);
		assert_int_equal(fn->detect(k, x, 6, 2, scores), -EDOM);
	}
	/* components without variance: the scores would be infinite */
	assert_int_equal(fn->detect(DETECTOR_PCA, build, 3, 3, scores), -EDOM);
}

#define ROWS 40
#define FEATURES 3

/* A cloud, and one row far away from it in all features together. */
static void cloud(double *x, uint64_t seed)
{
	for (size_t i = 0; i < (size_t)ROWS * FEATURES; i++)
		x[i] = (double)(random_next(&seed) % 1000);
	for (size_t c = 0; c < FEATURES; c++)
		x[7 * FEATURES + c] = 4000 + (double)c;
}

static void far_away_is_highest(void **state)
{
	double x[ROWS * FEATURES], scores[ROWS];

	(void)state;
	cloud(x, 5);
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		assert_int_equal(fn->detect(k, x, ROWS, FEATURES, scores), 0);
		for (size_t i = 0; i < ROWS; i++)
			if (i != 7 && !(scores[i] <= scores[7]))
				fail_msg("%s: row %zu %.17g, outlier %.17g", detectors[k].name, i,
					 scores[i], scores[7]);
	}
}

static void order_does_not_matter(void **state)
{
	double x[ROWS * FEATURES], back[ROWS * FEATURES], scores[ROWS], again[ROWS];

	(void)state;
	cloud(x, 6);
	for (size_t i = 0; i < ROWS; i++)
		memcpy(back + i * FEATURES, x + (ROWS - 1 - i) * FEATURES,
		       FEATURES * sizeof(*back));
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		assert_int_equal(fn->detect(k, x, ROWS, FEATURES, scores), 0);
		assert_int_equal(fn->detect(k, back, ROWS, FEATURES, again), 0);
		for (size_t i = 0; i < ROWS; i++)
			assert_true(fabs(scores[i] - again[ROWS - 1 - i]) <=
				    1.1e-4 + 1e-9 * fabs(scores[i]));
	}
}

/* Detectors whose scores do not depend on the units of features: seconds in place of microseconds.
 */
static void units_do_not_matter(void **state)
{
	static const enum detector kinds[] = {DETECTOR_MCD, DETECTOR_PCA, DETECTOR_IFOREST};
	static const double units[] = {1e-6, 1024, 3};
	double x[ROWS * FEATURES], y[ROWS * FEATURES], scores[ROWS], again[ROWS];

	(void)state;
	cloud(x, 8);
	for (size_t i = 0; i < (size_t)ROWS * FEATURES; i++)
		y[i] = x[i] * units[i % FEATURES];
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		assert_int_equal(fn->detect(kinds[k], x, ROWS, FEATURES, scores), 0);
		assert_int_equal(fn->detect(kinds[k], y, ROWS, FEATURES, again), 0);
		for (size_t i = 0; i < ROWS; i++)
			assert_true(fabs(scores[i] - again[i]) <= 1.1e-4 + 1e-9 * fabs(scores[i]));
	}
}

/* The same job stored twice has the same score twice, and does not hide the outlier. */
static void duplicates(void **state)
{
	double x[2 * ROWS * FEATURES], scores[2 * ROWS];

	(void)state;
	cloud(x, 9);
	memcpy(x + (size_t)ROWS * FEATURES, x, sizeof(x) / 2);
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		assert_int_equal(fn->detect(k, x, 2 * ROWS, FEATURES, scores), 0);
		for (size_t i = 0; i < ROWS; i++)
			assert_true(fabs(scores[i] - scores[ROWS + i]) <=
				    1.1e-4 + 1e-9 * fabs(scores[i]));
		/* whose copy is its own neighbour; COF and ABOD look only at neighbours */
		for (size_t i = 0; i < ROWS && k != DETECTOR_COF && k != DETECTOR_ABOD; i++)
			assert_true(scores[i] <= scores[7]);
	}
}

/* Rows that are all equal, and one other row: no score is an error that is not reported. */
static void equal_rows(void **state)
{
	double x[ROWS * FEATURES], scores[ROWS];

	(void)state;
	for (size_t i = 0; i < (size_t)ROWS * FEATURES; i++)
		x[i] = 5;
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		int r = fn->detect(k, x, ROWS, FEATURES, scores);

		/* no angle, and no component */
		assert_int_equal(r, k == DETECTOR_ABOD || k == DETECTOR_PCA ? -EDOM : 0);
		for (size_t i = 1; i < ROWS && r == 0; i++)
			same(scores[i], scores[0]);
	}
	x[7 * FEATURES] = 6;
	assert_int_equal(fn->detect(DETECTOR_MCD, x, ROWS, FEATURES, scores), 0);
	for (size_t i = 0; i < ROWS; i++)
		same(scores[i], i == 7 ? DBL_MAX : 0);
}

/* ---- minimum covariance determinant --------------------------------------------------------- */

/* A feature that is the sum of others adds nothing; a row in which it is not is far away. */
static void dependent_features(void **state)
{
	double x[ROWS * 3], plane[ROWS * 2], scores[ROWS], alone[ROWS];
	uint64_t seed = 12;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		plane[2 * i] = x[3 * i] = (double)(random_next(&seed) % 1000);
		plane[2 * i + 1] = x[3 * i + 1] = (double)(random_next(&seed) % 1000);
		x[3 * i + 2] = x[3 * i] + x[3 * i + 1];
	}
	assert_int_equal(fn->detect(DETECTOR_MCD, x, ROWS, 3, scores), 0);
	assert_int_equal(fn->detect(DETECTOR_MCD, plane, ROWS, 2, alone), 0);
	for (size_t i = 0; i < ROWS; i++)
		assert_true(fabs(scores[i] - alone[i]) < 2e-4);
	x[3 * 7 + 2] += 50;
	assert_int_equal(fn->detect(DETECTOR_MCD, x, ROWS, 3, scores), 0);
	for (size_t i = 0; i < ROWS; i++)
		assert_true(i == 7 ? scores[i] == DBL_MAX : scores[i] < 100);
}

/* Many outliers that hide each other from the mean and the covariance of all rows. */
static void outliers_that_mask_each_other(void **state)
{
	double x[ROWS * 2], scores[ROWS];
	uint64_t seed = 13;

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		for (size_t c = 0; c < 2; c++)
			x[2 * i + c] = (double)(random_next(&seed) % 1000) + (i < 14 ? 3000 : 0);
	assert_int_equal(fn->detect(DETECTOR_MCD, x, ROWS, 2, scores), 0);
	for (size_t i = 0; i < 14; i++)
		for (size_t k = 14; k < ROWS; k++)
			assert_true(scores[i] > 4 * scores[k]);
	/* fewer rows than twice the features */
	assert_int_equal(fn->detect(DETECTOR_MCD, x, 7, 4, scores), -ENODATA);
}

static void repeatable(void **state)
{
	double x[ROWS * FEATURES], scores[ROWS], again[ROWS];

	(void)state;
	cloud(x, 7);
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		assert_int_equal(fn->detect(k, x, ROWS, FEATURES, scores), 0);
		assert_int_equal(fn->detect(k, x, ROWS, FEATURES, again), 0);
		assert_memory_equal(scores, again, sizeof(scores));
	}
}

/* The dual problem of the support vector machine has one solution. Here it is found in another way:
 * by moving weight between all pairs of rows, again and again. */
static void one_class_is_optimal(void **state)
{
	enum { N = 30 };
	double x[N * 2], k[N][N], alpha[N], scores[N], rho = 0, sum = 0;
	size_t free_rows = 0;
	uint64_t seed = 11;

	(void)state;
	for (size_t i = 0; i < (size_t)N * 2; i++)
		x[i] = (double)(random_next(&seed) % 1000) / 250;
	x[0] = 9;
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++)
			k[i][j] = exp(-(pow(x[2 * i] - x[2 * j], 2) +
					pow(x[2 * i + 1] - x[2 * j + 1], 2)) /
				      2);
	for (size_t i = 0; i < N; i++)
		alpha[i] = 0.5;
	for (size_t round = 0; round < 3000; round++)
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < i; j++) {
				double gradient = 0, both = alpha[i] + alpha[j];

				for (size_t t = 0; t < N; t++)
					gradient += alpha[t] * (k[i][t] - k[j][t]);
				double v = alpha[i] - gradient / (2 - 2 * k[i][j] + 1e-12);
				v = fmin(fmin(1, both), fmax(fmax(0, both - 1), v));
				alpha[i] = v;
				alpha[j] = both - v;
			}
	for (size_t i = 0; i < N; i++)
		sum += alpha[i];
	assert_true(fabs(sum - 15) < 1e-9);
	/* rows whose weight is between the bounds lie on the boundary */
	for (size_t i = 0; i < N; i++)
		if (alpha[i] > 1e-6 && alpha[i] < 1 - 1e-6) {
			free_rows++;
			for (size_t t = 0; t < N; t++)
				rho += alpha[t] * k[i][t];
		}
	assert_true(free_rows > 0);
	rho /= (double)free_rows;
	assert_int_equal(fn->detect(DETECTOR_OCSVM, x, N, 2, scores), 0);
	for (size_t i = 0; i < N; i++) {
		double want = rho;

		for (size_t t = 0; t < N; t++)
			want -= alpha[t] * k[i][t];
		if (!(fabs(scores[i] - want) < 2e-4))
			fail_msg("row %zu: got %.6f, want %.6f", i, scores[i], want);
	}
}

/* ---- principal components ------------------------------------------------------------------- */

static void components(void **state)
{
	/* two features that say the same, one that is constant, one that is independent */
	static const double x[] = {1, 10, 5, 1, 2, 20, 5, -1, 3, 30, 5, -1, 4, 40, 5, 1};
	_cleanup_pca_ struct pca p = {0};

	(void)state;
	assert_int_equal(fn->pca(x, 4, 4, &p), 0);
	assert_int_equal(p.components, 4);
	assert_true(fabs(p.ratios[0] - 2.0 / 3) < 1e-12);
	assert_true(fabs(p.ratios[1] - 1.0 / 3) < 1e-12);
	assert_true(fabs(p.ratios[2]) < 1e-12);
	for (size_t c = 0; c < 2; c++)
		assert_true(fabs(fabs(p.loadings[c]) - M_SQRT1_2) < 1e-12);
	assert_true(fabs(p.loadings[2]) < 1e-12 && fabs(p.loadings[3]) < 1e-12);
	/* the farthest row has a positive score */
	assert_true(p.scores[0] > 0);
	assert_int_equal(pca_count(&p, 0.5), 1);
	assert_int_equal(pca_count(&p, 0.85), 2);
	/* two features are copies of others: what is left is rounding, not a component */
	assert_int_equal(pca_count(&p, 2), 2);
	assert_int_equal(pca_count(&p, 3), 2);
	assert_int_equal(pca_count(&p, 9), 2);
}

static void names_of_detectors(void **state)
{
	(void)state;
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		assert_int_equal(detector_by_name(detectors[k].name), k);
		assert_int_equal(detector_by_name(detectors[k].stored), k);
	}
	assert_int_equal(detector_by_name("lof"), DETECTOR_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scores_as_pyod),
		cmocka_unit_test(too_few_and_not_finite),
		cmocka_unit_test(far_away_is_highest),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(units_do_not_matter),
		cmocka_unit_test(duplicates),
		cmocka_unit_test(equal_rows),
		cmocka_unit_test(dependent_features),
		cmocka_unit_test(outliers_that_mask_each_other),
		cmocka_unit_test(repeatable),
		cmocka_unit_test(one_class_is_optimal),
		cmocka_unit_test(components),
		cmocka_unit_test(names_of_detectors),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
