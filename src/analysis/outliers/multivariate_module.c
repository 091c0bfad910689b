/*
 * Principal components by the singular value decomposition of LAPACK, and the detector that is made
 * of them; see multivariate.h.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/outliers/multivariate_internal.h"
#include "analysis/outliers/statistics.h"
#include "core/module.h"
#include "core/util.h"

/* LAPACK is Fortran: all arguments are pointers, matrices are column after column, and the lengths
 * of texts follow. */
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
	     const int *lda, double *s, double *u, const int *ldu, double *vt, const int *ldvt,
	     double *work, const int *lwork, int *info, size_t, size_t);

double *standardized(const double *x, size_t n, size_t d)
{
	double *z = xcalloc(n * d + 1, sizeof(*z));
	_cleanup_free_ double *column = xcalloc(n + 1, sizeof(*column));

	for (size_t c = 0; c < d; c++) {
		for (size_t i = 0; i < n; i++)
			column[i] = x[i * d + c];
		double mean = mean_of(column, n), deviation = deviation_of(column, n, 0);
		/* equal values may differ by rounding from their mean */
		bool constant = deviation <= 10 * DBL_EPSILON * fabs(mean);
		for (size_t i = 0; i < n; i++)
			z[i * d + c] = constant ? 0 : (column[i] - mean) / deviation;
	}
	return z;
}

/* Singular values and right singular vectors of n rows with d features. Our rows are LAPACK's
 * columns, so that it decomposes the transpose, and our right vectors are its left ones. */
static int decompose(const double *z, size_t n, size_t d, double *s, double *vectors)
{
	_cleanup_free_ double *a = xcalloc(n * d + 1, sizeof(*a));
	int m = (int)d, columns = (int)n, one = 1, ask = -1, info = 0;
	double size = 0, unused = 0;

	memcpy(a, z, n * d * sizeof(*a));
	dgesvd_("S", "N", &m, &columns, a, &m, s, vectors, &m, &unused, &one, &size, &ask, &info, 1,
		1);
	if (info)
		return -EIO;
	int length = (int)size;
	_cleanup_free_ double *work = xcalloc((size_t)length + 1, sizeof(*work));
	dgesvd_("S", "N", &m, &columns, a, &m, s, vectors, &m, &unused, &one, work, &length, &info,
		1, 1);
	return info ? -EIO : 0;
}

/* The sign of a component is arbitrary: the row that is farthest out has a positive score, and of
 * equally far ones the first. */
static void fix_sign(struct pca *p, const double *z, size_t n, size_t k)
{
	double *loading = p->loadings + k * p->features, far = 0;

	for (size_t i = 0; i < n; i++) {
		double score = 0;

		for (size_t c = 0; c < p->features; c++)
			score += z[i * p->features + c] * loading[c];
		p->scores[i * p->components + k] = score;
		/* rounding must not decide between two rows that are equally far */
		if (fabs(score) > fabs(far) * (1 + 1e-9))
			far = score;
	}
	if (far >= 0)
		return;
	for (size_t c = 0; c < p->features; c++)
		loading[c] = -loading[c];
	for (size_t i = 0; i < n; i++)
		p->scores[i * p->components + k] *= -1;
}

static int find_components(const double *x, size_t n, size_t d, struct pca *ret)
{
	size_t k = n < d ? n : d;
	_cleanup_free_ double *s = xcalloc(k + 1, sizeof(*s)), *z = standardized(x, n, d);
	double total = 0;

	if (n > INT32_MAX / 64 || d > 4096)
		return -E2BIG;
	*ret = (struct pca){k, d, xcalloc(k + 1, sizeof(double)),
			    xcalloc(k * d + 1, sizeof(double)), xcalloc(n * k + 1, sizeof(double))};
	int r = k ? decompose(z, n, d, s, ret->loadings) : -ENODATA;
	if (r < 0) {
		pca_release(ret);
		return r;
	}
	for (size_t i = 0; i < k; i++)
		total += s[i] * s[i];
	for (size_t i = 0; i < k; i++) {
		ret->ratios[i] = total > 0 ? s[i] * s[i] / total : 0;
		fix_sign(ret, z, n, i);
	}
	return 0;
}

/* Distances to the ends of the components, the less variance a component has the heavier. */
static int detect_pca(const double *x, size_t n, size_t d, double *scores)
{
	_cleanup_pca_ struct pca p = {0};
	_cleanup_free_ double *z = standardized(x, n, d);
	int r = find_components(x, n, d, &p);

	for (size_t i = 0; i < n && r == 0; i++) {
		scores[i] = 0;
		for (size_t k = 0; k < p.components; k++) {
			double square = 0;

			for (size_t c = 0; c < d; c++) {
				double delta = z[i * d + c] - p.loadings[k * d + c];

				square += delta * delta;
			}
			/* what has no variance but rounding has no direction either */
			scores[i] += p.ratios[k] > 1e-12 ? sqrt(square) / p.ratios[k] : INFINITY;
		}
	}
	return r;
}

struct rows {
	const double *x;
	size_t d;
};

static int by_values(const void *a, const void *b, void *user)
{
	const struct rows *r = user;
	const double *x = r->x + *(const size_t *)a * r->d, *y = r->x + *(const size_t *)b * r->d;

	for (size_t c = 0; c < r->d; c++)
		if (x[c] != y[c])
			return x[c] < y[c] ? -1 : 1;
	return 0;
}

/* For detectors that choose rows at random: sorts the rows, so that the same rows give the same
 * scores in any order. */
static int detect_sorted(int (*call)(const double *x, size_t n, size_t d, double *scores),
			 const double *x, size_t n, size_t d, double *scores)
{
	_cleanup_free_ size_t *order = xcalloc(n, sizeof(*order));
	_cleanup_free_ double *sorted = xcalloc(n * d, sizeof(*sorted));
	_cleanup_free_ double *found = xcalloc(n, sizeof(*found));
	struct rows rows = {x, d};

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_values, &rows);
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * d, x + order[i] * d, d * sizeof(*x));
	int r = call(sorted, n, d, found);
	for (size_t i = 0; i < n && r == 0; i++)
		scores[order[i]] = found[i];
	return r;
}

static int detect(enum detector k, const double *x, size_t n, size_t d, double *scores)
{
	static int (*const by_kind[])(const double *x, size_t n, size_t d, double *scores) = {
		[DETECTOR_ABOD] = detect_abod,   [DETECTOR_COF] = detect_cof,
		[DETECTOR_HBOS] = detect_hbos,   [DETECTOR_IFOREST] = detect_iforest,
		[DETECTOR_KNN] = detect_knn,     [DETECTOR_MCD] = detect_mcd,
		[DETECTOR_OCSVM] = detect_ocsvm, [DETECTOR_PCA] = detect_pca,
	};

	if (n < detectors[k].min_rows || !d)
		return -ENODATA;
	if (n > DETECTOR_ROWS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n * d; i++)
		if (!isfinite(x[i]))
			return -EDOM;
	bool random = k == DETECTOR_IFOREST || k == DETECTOR_MCD;
	int r = random ? detect_sorted(by_kind[k], x, n, d, scores) : by_kind[k](x, n, d, scores);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!isfinite(scores[i]))
			return -EDOM;
		scores[i] = round4(scores[i]);
	}
	return r;
}

static const struct multivariate_functions functions = {.pca = find_components, .detect = detect};

PL_MODULE("multivariate", "lapack", &functions);
