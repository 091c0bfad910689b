/*
 * The minimum covariance determinant of Rousseeuw (1984), by the steps of Rousseeuw and Van
 * Driessen (1999): the mean and the covariance of those rows, a little more than half, whose
 * covariance has the smallest determinant. Rows that fit a normal distribution with this covariance
 * then give the final one, and the score of a row is the square of its Mahalanobis distance. The
 * subsets that the search begins with are random, with a fixed seed.
 *
 * Features that depend on each other linearly have a covariance without an inverse. The search
 * therefore works on principal components that have a variance. A row outside of the plane in which
 * the chosen rows lie is infinitely far from them.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/outliers/multivariate_internal.h"
#include "analysis/outliers/statistics.h"
#include "analysis/sorted.h"
#include "core/util.h"

/* Starts of the search: as many as are cheap. */
#define STARTS_MIN 50
#define STARTS_MAX 500
#define STARTS_COST 2e7
#define STEPS_MAX 30
#define START_SEED 19990801u
/* Variances and squared distances of components that are only rounding; the components have
 * variance 1. */
#define NO_VARIANCE 1e-12
#define NO_DISTANCE 1e-9
/* Of a normal distribution, this share of the rows is kept for the final covariance. */
#define KEPT 0.975

void dsyev_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
	    double *work, const int *lwork, int *info, size_t, size_t);

/* ---- covariance ----------------------------------------------------------------------------- */

struct estimate {
	size_t d;
	double *mean, *variances, *axes; /* axes: one after the other */
	double log_determinant;          /* -inf: without an inverse */
};

static void estimate_init(struct estimate *e, size_t d)
{
	*e = (struct estimate){.d = d,
			       .mean = xcalloc(d, sizeof(double)),
			       .variances = xcalloc(d, sizeof(double)),
			       .axes = xcalloc(d * d, sizeof(double))};
}

static void estimate_release(struct estimate *e)
{
	free(e->mean);
	free(e->variances);
	free(e->axes);
}

/* Mean, and axes of the covariance, of some of the rows of x. */
static int estimate_make(struct estimate *e, const double *x, const size_t *rows, size_t count)
{
	int d = (int)e->d, length = 34 * d, info = 0;
	_cleanup_free_ double *work = xcalloc((size_t)length, sizeof(*work));

	memset(e->mean, 0, e->d * sizeof(*e->mean));
	memset(e->axes, 0, e->d * e->d * sizeof(*e->axes));
	for (size_t i = 0; i < count; i++)
		for (size_t c = 0; c < e->d; c++)
			e->mean[c] += x[rows[i] * e->d + c] / (double)count;
	for (size_t i = 0; i < count; i++) {
		const double *row = x + rows[i] * e->d;

		for (size_t a = 0; a < e->d; a++)
			for (size_t b = 0; b <= a; b++)
				e->axes[b * e->d + a] += (row[a] - e->mean[a]) *
							 (row[b] - e->mean[b]) / (double)count;
	}
	dsyev_("V", "L", &d, e->axes, &d, e->variances, work, &length, &info, 1, 1);
	if (info)
		return -EIO;
	e->log_determinant = 0;
	for (size_t k = 0; k < e->d; k++)
		e->log_determinant +=
			e->variances[k] > NO_VARIANCE ? log(e->variances[k]) : -INFINITY;
	return 0;
}

/* Square of the Mahalanobis distance; DBL_MAX: outside of the plane of the rows. */
static double distance_to(const struct estimate *e, const double *row)
{
	double sum = 0, outside = 0;

	for (size_t k = 0; k < e->d; k++) {
		double along = 0;

		for (size_t c = 0; c < e->d; c++)
			along += (row[c] - e->mean[c]) * e->axes[k * e->d + c];
		if (e->variances[k] > NO_VARIANCE)
			sum += along * along / e->variances[k];
		else
			outside += along * along;
	}
	return outside > NO_DISTANCE ? DBL_MAX : sum;
}

/* ---- components ----------------------------------------------------------------------------- */

/* The rows by principal components of variance 1, *ret_d of them; NULL: LAPACK failed. */
static double *components(const double *x, size_t n, size_t d, size_t *ret_d)
{
	_cleanup_free_ double *z = standardized(x, n, d);
	_cleanup_free_ size_t *all = xcalloc(n, sizeof(*all));
	_cleanup_(estimate_release) struct estimate e = {0};
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		all[i] = i;
	estimate_init(&e, d);
	if (estimate_make(&e, z, all, n) < 0)
		return NULL;
	/* variances are in ascending order */
	double least = e.variances[d - 1] * 1e-10;
	double *to = xcalloc(n * d + 1, sizeof(*to));
	for (size_t k = 0; k < d; k++)
		used += e.variances[k] > least;
	for (size_t i = 0; i < n; i++)
		for (size_t k = d - used, at = i * used; k < d; k++, at++)
			for (size_t c = 0; c < d; c++)
				to[at] += z[i * d + c] * e.axes[k * d + c] / sqrt(e.variances[k]);
	*ret_d = used;
	return to;
}

/* ---- chi square ----------------------------------------------------------------------------- */

/* Probability that the sum of k squares of standard normal values is below x. */
static double chi_square_below(double x, double k)
{
	double a = k / 2, term = 1 / a, sum = term;

	for (double i = 1; term > sum * DBL_EPSILON; i++)
		sum += term *= x / 2 / (a + i);
	return sum * exp(a * log(x / 2) - x / 2 - lgamma(a));
}

static double chi_square_quantile(double p, double k)
{
	double low = 0, high = 1;

	while (chi_square_below(high, k) < p)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (chi_square_below(middle, k) < p)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- the search ----------------------------------------------------------------------------- */

struct search {
	const double *x;
	size_t n, d, half;
	double *distances;
	size_t *order;
	struct estimate now, best;
};

static int by_distance(const void *a, const void *b, void *user)
{
	const double *distances = user;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;

	if (distances[i] != distances[k])
		return distances[i] < distances[k] ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void sort_by_distance(struct search *s, const struct estimate *e)
{
	for (size_t i = 0; i < s->n; i++)
		s->distances[i] = distance_to(e, s->x + i * s->d);
	qsort_r(s->order, s->n, sizeof(*s->order), by_distance, s->distances);
}

/* The rows that are nearest give the next estimate, whose determinant is not larger. begin: so many
 * rows give the first one. */
static int concentrate(struct search *s, size_t begin)
{
	int r = estimate_make(&s->now, s->x, s->order, begin);

	/* few rows may lie in a plane by chance, and other rows would be infinitely far from it */
	while (r == 0 && isinf(s->now.log_determinant) && begin < s->half)
		r = estimate_make(&s->now, s->x, s->order, ++begin);
	if (r == 0 && !isinf(s->now.log_determinant)) {
		sort_by_distance(s, &s->now);
		r = estimate_make(&s->now, s->x, s->order, s->half);
	}

	for (size_t step = 0; step < STEPS_MAX && r == 0; step++) {
		double before = s->now.log_determinant;

		if (isinf(before))
			break;
		sort_by_distance(s, &s->now);
		r = estimate_make(&s->now, s->x, s->order, s->half);
		if (!(s->now.log_determinant < before - 1e-12))
			break;
	}
	if (r == 0 && (!s->best.mean || s->now.log_determinant < s->best.log_determinant - 1e-9)) {
		struct estimate spare = s->best;

		s->best = s->now;
		s->now = spare;
		if (!s->now.mean)
			estimate_init(&s->now, s->d);
	}
	return r;
}

static int search_subsets(struct search *s)
{
	uint64_t seed = START_SEED;
	double cheap = STARTS_COST / ((double)s->n * (double)(s->d * s->d));
	size_t starts = (size_t)fmax(STARTS_MIN, fmin(STARTS_MAX, cheap));
	int r = 0;

	for (size_t t = 0; t < starts && r == 0; t++) {
		for (size_t i = 0; i < s->half; i++) {
			size_t k = i + next_random(&seed) % (s->n - i), keep = s->order[i];

			s->order[i] = s->order[k];
			s->order[k] = keep;
		}
		/* as few rows as have a covariance are most likely to be without an outlier; all
		 * rows are the same in any order */
		r = concentrate(s, s->half < s->n ? s->d + 1 : s->n);
		if (s->half == s->n)
			break;
	}
	return r;
}

/* One component: the middle of the shortest range that holds more than half of the values, and the
 * variance of the values that are nearest to it. */
static int search_ranges(struct search *s)
{
	_cleanup_free_ double *sorted = xcalloc(s->n, sizeof(*sorted));
	double least = INFINITY, sum = 0;
	size_t ties = 0;

	memcpy(sorted, s->x, s->n * sizeof(*sorted));
	sort_values(sorted, s->n);
	for (size_t i = 0; i + s->half < s->n; i++)
		least = fmin(least, sorted[i + s->half] - sorted[i]);
	for (size_t i = 0; i + s->half < s->n; i++)
		if (sorted[i + s->half] - sorted[i] == least) {
			sum += (sorted[i + s->half] + sorted[i]) / 2;
			ties++;
		}
	double middle = ties ? sum / (double)ties : mean_of(sorted, s->n);
	for (size_t i = 0; i < s->n; i++)
		s->distances[i] = fabs(s->x[i] - middle);
	qsort_r(s->order, s->n, sizeof(*s->order), by_distance, s->distances);
	estimate_init(&s->best, 1);
	int r = estimate_make(&s->best, s->x, s->order, s->half);
	s->best.mean[0] = middle;
	return r;
}

/* The covariance of all rows that are as near as normal ones would be. */
static int reweight(struct search *s)
{
	size_t kept = 0;

	sort_by_distance(s, &s->best);
	size_t a = s->order[(s->n - 1) / 2], b = s->order[s->n / 2];
	double median = s->distances[a] / 2 + s->distances[b] / 2;
	double scale = median > 0 ? median / chi_square_quantile(0.5, (double)s->d) : 1;
	double limit = scale * chi_square_quantile(KEPT, (double)s->d);
	while (kept < s->n && s->distances[s->order[kept]] < limit)
		kept++;
	return kept ? estimate_make(&s->best, s->x, s->order, kept) : 0;
}

int detect_mcd(const double *x, size_t n, size_t d, double *scores)
{
	size_t used = 0;
	_cleanup_free_ double *y = components(x, n, d, &used);
	_cleanup_free_ size_t *order = xcalloc(n, sizeof(*order));
	struct search s = {y, n, used, (n + used + 2) / 2, scores, order, {0}, {0}};

	if (!y)
		return -EIO;
	memset(scores, 0, n * sizeof(*scores));
	if (!used)
		return 0;
	if (n < 2 * used)
		return -ENODATA;
	s.half = s.half < n ? s.half : n;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	estimate_init(&s.now, used);
	int r = used == 1 ? search_ranges(&s) : search_subsets(&s);
	if (r == 0)
		r = reweight(&s);
	for (size_t i = 0; i < n && r == 0; i++)
		scores[i] = distance_to(&s.best, y + i * used);
	estimate_release(&s.now);
	estimate_release(&s.best);
	return r;
}
