/* See statistics.h. libm is not used: the program does not link it. */
#include "analysis/outliers/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "analysis/sorted.h"

const struct method_row outlier_methods[METHOD_COUNT] = {
	[METHOD_IQR] = {"iqr", "iqr", 0,
			"outside the quartiles by more than 1.5 times the interquartile range"},
	[METHOD_MADZ] = {"madz", "modified_z_score", 3.5,
			 "distance to the median in units of the median absolute deviation"},
	[METHOD_Z] = {"z", "z_score", 3.0, "distance to the mean in standard deviations"},
};

enum outlier_method outlier_method_by_name(const char *name)
{
	enum outlier_method m = 0;

	while (m < METHOD_COUNT && strcmp(name, outlier_methods[m].name) != 0 &&
	       strcmp(name, outlier_methods[m].stored) != 0)
		m++;
	return m;
}

/* To the nearest integer, halves to even: adding 2^52 leaves no bits for a fraction. */
static double nearest(double v)
{
	const double big = 4503599627370496.0;

	if (!(fabs(v) < big))
		return v;
	volatile double shifted = fabs(v) + big;
	return copysign(shifted - big, v);
}

double round4(double v)
{
	double scaled = v * 1e4;

	/* a number without such decimals is what it is */
	return fabs(scaled) < 4503599627370496.0 ? nearest(scaled) / 1e4 : v;
}

double percentile(const double *sorted, size_t n, double q)
{
	double at = (double)(n - 1) * q / 100;
	size_t below = (size_t)at;

	if (below + 1 >= n)
		return sorted[n - 1];
	double t = at - (double)below, a = sorted[below], b = sorted[below + 1];
	/* from the nearer side, as NumPy does, so that the same bits come out */
	return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

/* Sums of halves: the error grows with the logarithm of n. */
static double sum_of(const double *v, size_t n)
{
	double sum = 0;

	if (n > 64)
		return sum_of(v, n / 2) + sum_of(v + n / 2, n - n / 2);
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

double mean_of(const double *v, size_t n)
{
	return n ? sum_of(v, n) / (double)n : 0;
}

double deviation_of(const double *v, size_t n, unsigned ddof)
{
	if (n <= ddof)
		return 0;
	_cleanup_free_ double *squares = xmalloc(n * sizeof(*squares));
	double mean = mean_of(v, n);

	for (size_t i = 0; i < n; i++)
		squares[i] = (v[i] - mean) * (v[i] - mean);
	return __builtin_sqrt(sum_of(squares, n) / (double)(n - ddof));
}

static double *sorted_copy(const double *v, size_t n)
{
	double *copy = xmalloc(n * sizeof(*copy));

	memcpy(copy, v, n * sizeof(*copy));
	sort_values(copy, n);
	return copy;
}

/* Quartiles whose fences are the extremes: nothing of the training set is outside them. Rounding
 * must not put it there. */
static void fit_fences(double min, double max, struct score_params *fit)
{
	double q1 = round4(3 * max / 8 + 5 * min / 8), q3 = round4(5 * max / 8 + 3 * min / 8);

	if (min == max)
		q1 = q3 = min;
	for (double more = 1e-4; q3 + (q3 - q1) * 1.5 < max || q1 - (q3 - q1) * 1.5 > min;
	     more *= 2) {
		q1 = round4(q1 - more);
		q3 = round4(q3 + more);
	}
	*fit = (struct score_params){0, q1, q3};
}

static void score_iqr(const double *v, size_t n, const struct score_params *model, double *scores,
		      struct score_params *fit)
{
	_cleanup_free_ double *sorted = sorted_copy(v, n);
	double min = sorted[0], max = sorted[n - 1];
	double q1 = model ? model->center : percentile(sorted, n, 25);
	double q3 = model ? model->spread : percentile(sorted, n, 75);
	double lower = q1 - (q3 - q1) * 1.5, upper = q3 + (q3 - q1) * 1.5;

	for (size_t i = 0; i < n; i++)
		scores[i] = v[i] > upper || v[i] < lower;
	fit_fences(min, max, fit);
}

static double highest(const double *scores, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++)
		max = scores[i] > max ? scores[i] : max;
	return max;
}

static bool are_equal(const double *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

static void score_z(const double *v, size_t n, const struct score_params *model, double *scores,
		    struct score_params *fit)
{
	double mean = model ? model->center : round4(mean_of(v, n));
	double deviation = model ? model->spread : round4(deviation_of(v, n, 0));

	if (!model && are_equal(v, n))
		mean = v[0];
	for (size_t i = 0; i < n; i++) {
		double distance = fabs(v[i] - mean);

		/* with no deviation at all, what is not the mean is infinitely far from it */
		scores[i] = deviation > 0  ? round4(distance / deviation)
			    : distance > 0 ? INFINITY
					   : 0;
		/* unless only the rounding of the mean makes it differ */
		if (!model && !(deviation > 0))
			scores[i] = 0;
	}
	*fit = (struct score_params){highest(scores, n), mean, deviation};
}

static double modified_z(double v, double median, double spread)
{
	double distance = fabs(v - median);

	return spread > 0 ? round4(0.6745 * distance / spread) : distance > 0 ? INFINITY : 0;
}

static void score_madz(const double *v, size_t n, const struct score_params *model, double *scores,
		       struct score_params *fit)
{
	double median, spread;

	if (model) {
		median = model->center;
		spread = model->spread;
	} else {
		_cleanup_free_ double *sorted = sorted_copy(v, n);

		median = percentile(sorted, n, 50);
		for (size_t i = 0; i < n; i++)
			sorted[i] = fabs(v[i] - median);
		/* the mean before sorting, in the order of the values */
		double mean = mean_of(sorted, n);
		sort_values(sorted, n);
		spread = percentile(sorted, n, 50);
		if (spread == 0)
			spread = mean;
	}
	/* a model knows the rounded numbers: by them no job that it is made of is above the highest
	 */
	*fit = (struct score_params){0, round4(median), round4(spread)};
	if (!(fit->spread > 0))
		*fit = (struct score_params){0, median, spread};
	for (size_t i = 0; i < n; i++) {
		double rounded = modified_z(v[i], fit->center, fit->spread);

		scores[i] = modified_z(v[i], median, spread);
		fit->max = rounded > fit->max ? rounded : fit->max;
	}
	if (highest(scores, n) > fit->max)
		fit->max = highest(scores, n);
}

int score_values(enum outlier_method method, const double *v, size_t n,
		 const struct score_params *model, double *scores, struct score_params *ret_params)
{
	struct score_params fit = {0};

	if (n == 0)
		return -ENODATA;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return -EDOM;
	if (method == METHOD_IQR)
		score_iqr(v, n, model, scores, &fit);
	else if (method == METHOD_Z)
		score_z(v, n, model, scores, &fit);
	else
		score_madz(v, n, model, scores, &fit);
	if (ret_params)
		*ret_params = fit;
	return 0;
}
