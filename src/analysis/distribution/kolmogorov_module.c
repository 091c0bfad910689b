/*
 * The distribution of Kolmogorov and Smirnov's two-sided statistic: exact for few values, by the
 * power of a matrix (Marsaglia, Tsang and Wang 2003), and by an expansion in powers of 1/sqrt(n)
 * for many (Pelz and Good 1976), which is right to about six digits there.
 */
#include <math.h>
#include <string.h>

#include "analysis/distribution/distribution_internal.h"
#include "core/util.h"

/* Up to this many values the matrix is small. */
#define EXACT_MAX 140
/* Entries grow like n^n: those above this are divided by it, which is counted. */
#define SCALE 1e140
#define SCALE_DIGITS 140

struct matrix {
	size_t m;
	double *v;
	int digits; /* the entries are v times 10^digits */
};

static void multiply(const struct matrix *a, const struct matrix *b, double *to)
{
	size_t m = a->m;

	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < m; j++) {
			double sum = 0;

			for (size_t k = 0; k < m; k++)
				sum += a->v[i * m + k] * b->v[k * m + j];
			to[i * m + j] = sum;
		}
}

/* *to = a to the power n, all in matrices of the same size. */
static void power(const struct matrix *a, size_t n, struct matrix *to)
{
	size_t m = a->m;
	_cleanup_free_ double *half = xcalloc(m * m, sizeof(*half));
	struct matrix h = {m, half, 0};

	if (n == 1) {
		memcpy(to->v, a->v, m * m * sizeof(*to->v));
		to->digits = a->digits;
		return;
	}
	power(a, n / 2, &h);
	multiply(&h, &h, to->v);
	to->digits = 2 * h.digits;
	if (n % 2) {
		memcpy(half, to->v, m * m * sizeof(*half));
		multiply(a, &h, to->v);
		to->digits += a->digits;
	}
	if (to->v[(m / 2) * m + m / 2] > SCALE) {
		for (size_t i = 0; i < m * m; i++)
			to->v[i] /= SCALE;
		to->digits += SCALE_DIGITS;
	}
}

/* The matrix of transitions, whose power counts the orders of values that stay within d. */
static void fill(double *v, size_t m, double h)
{
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < m; j++)
			v[i * m + j] = j <= i + 1;
	for (size_t i = 0; i < m; i++) {
		v[i * m] -= pow(h, (double)(i + 1));
		v[(m - 1) * m + i] -= pow(h, (double)(m - i));
	}
	v[(m - 1) * m] += 2 * h > 1 ? pow(2 * h - 1, (double)m) : 0;
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < m; j++)
			for (size_t g = 1; j <= i && g <= i - j + 1; g++)
				v[i * m + j] /= (double)g;
}

/* Probability that it is below d. */
static double exact(size_t n, double d)
{
	size_t k = (size_t)((double)n * d) + 1, m = 2 * k - 1;
	_cleanup_free_ double *v = xcalloc(m * m, sizeof(*v)), *q = xcalloc(m * m, sizeof(*q));
	struct matrix h = {m, v, 0}, result = {m, q, 0};

	fill(v, m, (double)k - (double)n * d);
	power(&h, n, &result);
	double p = q[(k - 1) * m + k - 1];
	for (size_t i = 1; i <= n; i++) {
		p *= (double)i / (double)n;
		if (p < 1 / SCALE) {
			p *= SCALE;
			result.digits -= SCALE_DIGITS;
		}
	}
	return p * pow(10, result.digits);
}

/* Probability that sqrt(n) times the statistic is below z. */
static double expansion(size_t n, double z)
{
	const double z2 = z * z, z4 = z2 * z2, z6 = z4 * z2, pi2 = M_PI * M_PI;
	double k0 = 0, k1 = 0, k2 = 0, k3 = 0, k2b = 0, k3b = 0, root = sqrt((double)n);

	/* the terms of k and of -k-1 are the same, and so are those of k and -k */
	for (int k = 0; k < 20; k++) {
		double u = pi2 * (k + 0.5) * (k + 0.5), w = pi2 * k * k;
		double e = exp(-u / (2 * z2)), f = exp(-w / (2 * z2));

		k0 += 2 * e;
		k1 += 2 * (u - z2) * e;
		k2 += 2 * (6 * z6 + 2 * z4 + u * (2 * z4 - 5 * z2) + u * u * (1 - 2 * z2)) * e;
		k3 += 2 *
		      (u * u * u * (5 - 30 * z2) + u * u * (-60 * z2 + 212 * z4) +
		       u * (135 * z4 - 96 * z6) - 30 * z6 - 90 * z6 * z2) *
		      e;
		k2b += 2 * w * f;
		k3b += 2 * (3 * w * z2 - w * w) * f;
	}
	double c = sqrt(M_PI / 2);
	double p0 = c / z * k0, p1 = c / (6 * z4) * k1;
	double p2 = c / (72 * z6 * z) * k2 - c / (36 * z2 * z) * k2b;
	double p3 = c / (6480 * z6 * z4) * k3 + c / (216 * z6) * k3b;
	return p0 + p1 / root + p2 / (double)n + p3 / ((double)n * root);
}

double kolmogorov_tail(size_t n, double d)
{
	double s = d * d * (double)n;

	if (isnan(d))
		return NAN;
	if (d >= 1)
		return 0;
	if (d * (double)n <= 0.5)
		return 1;
	/* the probability is below 1e-6 */
	if (s > 7.24 || (n > EXACT_MAX && s > 4))
		return 2 * exp(-2 * s);
	double below = n <= EXACT_MAX ? exact(n, d) : expansion(n, d * sqrt((double)n));
	return fmin(1, fmax(0, 1 - below));
}
