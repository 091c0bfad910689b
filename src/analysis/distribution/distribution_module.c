/*
 * Tests of distributions; see distribution.h. Shapiro and Wilk's is in Royston's form of 1995
 * (algorithm AS R94), D'Agostino's K2 adds the squares of his test of the skewness and of Anscombe
 * and Glynn's test of the kurtosis.
 */
#include "analysis/distribution/distribution.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/distribution/distribution_internal.h"
#include "analysis/outliers/statistics.h"
#include "analysis/sorted.h"
#include "core/module.h"
#include "core/util.h"

/* ---- the normal distribution ---------------------------------------------------------------- */

double normal_tail(double z)
{
	return 0.5 * erfc(z * M_SQRT1_2);
}

double normal_quantile(double p)
{
	/* a start that is near, then Newton's steps, which double the digits */
	double t = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
	double z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
			       (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);

	z = p < 0.5 ? -z : z;
	for (int i = 0; i < 4; i++) {
		double error = p < 0.5 ? normal_tail(-z) - p : (1 - p) - normal_tail(z);

		z -= error * sqrt(2 * M_PI) * exp(z * z / 2);
	}
	return z;
}

/* ---- Shapiro and Wilk ----------------------------------------------------------------------- */

static double polynomial(const double *c, size_t n, double x)
{
	double sum = 0;

	while (n-- > 0)
		sum = sum * x + c[n];
	return sum;
}
#define POLYNOMIAL(c, x) polynomial(c, ARRAY_SIZE(c), x)

/* The weights of the n/2 largest values, the largest first; those of the smallest are the same with
 * another sign. */
static void shapiro_weights(double *a, size_t n)
{
	static const double first[] = {0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056};
	static const double second[] = {0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
	size_t half = n / 2, adjusted = n > 5 ? 2 : 1;
	double sum = 0, root = 1 / sqrt((double)n);

	if (n == 3) {
		a[0] = M_SQRT1_2;
		return;
	}
	/* expected values of the order statistics */
	for (size_t i = 0; i < half; i++) {
		a[i] = -normal_quantile(((double)i + 1 - 0.375) / ((double)n + 0.25));
		sum += 2 * a[i] * a[i];
	}
	double length = sqrt(sum), rest = sum, left = 1;
	double outer[] = {a[0] / length + POLYNOMIAL(first, root),
			  n > 5 ? a[1] / length + POLYNOMIAL(second, root) : 0};
	for (size_t i = 0; i < adjusted; i++) {
		rest -= 2 * a[i] * a[i];
		left -= 2 * outer[i] * outer[i];
	}
	for (size_t i = 0; i < half; i++)
		a[i] = i < adjusted ? outer[i] : a[i] / sqrt(rest / left);
}

/* w1 is 1 - W, which keeps its digits where W is near 1. */
static double shapiro_tail(double w1, size_t n)
{
	static const double edge[] = {-2.273, 0.459};
	static const double mean_few[] = {0.544, -0.39978, 0.025054, -6.714e-4};
	static const double log_few[] = {1.3822, -0.77857, 0.062767, -0.0020322};
	static const double mean_many[] = {-1.5861, -0.31082, -0.083751, 0.0038915};
	static const double log_many[] = {-0.4803, -0.082676, 0.0030302};
	double x = (double)n, y = log(w1);

	if (n == 3)
		return fmax(0, 6 / M_PI * (asin(sqrt(1 - w1)) - asin(sqrt(0.75))));
	if (n > 11)
		return normal_tail((y - POLYNOMIAL(mean_many, log(x))) /
				   exp(POLYNOMIAL(log_many, log(x))));
	if (y >= POLYNOMIAL(edge, x))
		return 0;
	y = -log(POLYNOMIAL(edge, x) - y);
	return normal_tail((y - POLYNOMIAL(mean_few, x)) / exp(POLYNOMIAL(log_few, x)));
}

static struct dist_result shapiro(const double *sorted, size_t n)
{
	_cleanup_free_ double *a = xcalloc(n, sizeof(*a)), *x = xcalloc(n, sizeof(*x));
	double range = sorted[n - 1] - sorted[0], weights = 0, squares = 0, both = 0;

	shapiro_weights(a, n);
	/* large values with small differences keep their digits */
	for (size_t i = 0; i < n; i++)
		x[i] = (sorted[i] - sorted[n / 2]) / range;
	double mean = mean_of(x, n);
	for (size_t i = 0; i < n; i++) {
		double w = i < n / 2 ? -a[i] : i >= n - n / 2 ? a[n - 1 - i] : 0;

		weights += w * w;
		squares += (x[i] - mean) * (x[i] - mean);
		both += w * (x[i] - mean);
	}
	double length = sqrt(weights * squares);
	double w1 = (length - both) * (length + both) / (weights * squares);
	return (struct dist_result){true, 1 - w1, w1 > 0 ? shapiro_tail(w1, n) : 1};
}

/* ---- Kolmogorov and Smirnov ----------------------------------------------------------------- */

/* Against a normal distribution, or against the uniform one between two values. */
static struct dist_result kolmogorov(const double *sorted, size_t n, bool normal, double at,
				     double width)
{
	double d = 0;

	for (size_t i = 0; i < n; i++) {
		double z = (sorted[i] - at) / width;
		double below = normal ? normal_tail(-z) : fmin(1, fmax(0, z));

		d = fmax(d,
			 fmax((double)(i + 1) / (double)n - below, below - (double)i / (double)n));
	}
	return (struct dist_result){true, d, kolmogorov_tail(n, d)};
}

/* ---- D'Agostino ----------------------------------------------------------------------------- */

/* Standard normal for the skewness of normal values. */
static double skewness_score(double skewness, double n)
{
	double y = skewness * sqrt((n + 1) * (n + 3) / (6 * (n - 2)));
	double beta = 3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) /
		      ((n - 2) * (n + 5) * (n + 7) * (n + 9));
	double w2 = sqrt(2 * (beta - 1)) - 1, alpha = sqrt(2 / (w2 - 1));

	return asinh(y / alpha) / sqrt(0.5 * log(w2));
}

/* The same for the kurtosis, which is 3 for normal values. */
static double kurtosis_score(double kurtosis, double n)
{
	double expected = 3 * (n - 1) / (n + 1);
	double variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1) * (n + 3) * (n + 5));
	double x = (kurtosis - expected) / sqrt(variance);
	double root = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) *
		      sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)));
	double a = 6 + 8 / root * (2 / root + sqrt(1 + 4 / (root * root)));
	double bottom = 1 + x * sqrt(2 / (a - 4));

	return (1 - 2 / (9 * a) - cbrt((1 - 2 / a) / bottom)) / sqrt(2 / (9 * a));
}

static struct dist_result dagostino(const double *sorted, size_t n)
{
	double mean = mean_of(sorted, n), m2 = 0, m3 = 0, m4 = 0;

	for (size_t i = 0; i < n; i++) {
		double delta = sorted[i] - mean, square = delta * delta;

		m2 += square / (double)n;
		m3 += square * delta / (double)n;
		m4 += square * square / (double)n;
	}
	double s = skewness_score(m3 / pow(m2, 1.5), (double)n);
	double k = kurtosis_score(m4 / (m2 * m2), (double)n);
	return (struct dist_result){true, s * s + k * k, exp(-(s * s + k * k) / 2)};
}

/* ---- all of them ---------------------------------------------------------------------------- */

static bool accepted(const struct dist_result *results, size_t count)
{
	int balance = 0;

	for (size_t i = 0; i < count; i++)
		if (results[i].done)
			balance += results[i].p > DIST_ALPHA ? 1 : -1;
	return balance > 0;
}

static int check(const double *v, size_t n, struct dist_result results[TEST_COUNT],
		 enum distribution *ret)
{
	memset(results, 0, TEST_COUNT * sizeof(*results));
	if (n < DIST_MIN_VALUES)
		return -ENODATA;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return -EDOM;
	_cleanup_free_ double *sorted = xcalloc(n, sizeof(*sorted));
	memcpy(sorted, v, n * sizeof(*sorted));
	sort_values(sorted, n);
	double min = sorted[0], range = sorted[n - 1] - min;
	*ret = DIST_CONSTANT;
	if (!(range > 0))
		return 0;
	if (!isfinite(range))
		return -EDOM;
	/* no power of a difference overflows then, and no test depends on the unit */
	for (size_t i = 0; i < n; i++)
		sorted[i] = (sorted[i] - min) / range;
	results[TEST_SHAPIRO] = shapiro(sorted, n);
	results[TEST_KS_NORMAL] =
		kolmogorov(sorted, n, true, mean_of(sorted, n), deviation_of(sorted, n, 0));
	if (n > 20)
		results[TEST_DAGOSTINO] = dagostino(sorted, n);
	results[TEST_KS_UNIFORM] = kolmogorov(sorted, n, false, 0, 1);
	*ret = accepted(results, TEST_KS_UNIFORM)       ? DIST_NORMAL
	       : accepted(results + TEST_KS_UNIFORM, 1) ? DIST_UNIFORM
							: DIST_UNKNOWN;
	return 0;
}

static const struct distribution_functions functions = {.check = check};

PL_MODULE("distribution", "m", &functions);
