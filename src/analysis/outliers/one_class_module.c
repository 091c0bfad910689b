/*
 * The one-class support vector machine of Schölkopf and others (2001) with PyOD's defaults: half of
 * the weight on the outside, and a Gaussian kernel whose width is the number of features. It is
 * solved by sequential minimal optimization: the pair of rows that violates the conditions most
 * exchanges weight, until none does.
 */
#include <errno.h>
#include <math.h>

#include "analysis/outliers/multivariate_internal.h"
#include "core/util.h"

#define NU 0.5
#define TOLERANCE 1e-7
#define STEPS_MAX 10000000

struct machine {
	size_t n;
	double *k;        /* the kernel of all pairs */
	double *alpha;    /* weights from 0 to 1, whose sum is fixed */
	double *gradient; /* of the objective: the kernel times the weights */
};

static void fill_kernel(struct machine *m, const double *x, size_t d)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t j = 0; j <= i; j++) {
			double square = 0;

			for (size_t c = 0; c < d; c++)
				square += (x[i * d + c] - x[j * d + c]) *
					  (x[i * d + c] - x[j * d + c]);
			m->k[i * m->n + j] = m->k[j * m->n + i] = exp(-square / (double)d);
		}
}

/* The first rows take all the weight. */
static void begin(struct machine *m)
{
	double left = NU * (double)m->n;

	for (size_t i = 0; i < m->n; i++) {
		m->alpha[i] = left < 1 ? left : 1;
		left -= m->alpha[i];
	}
	for (size_t i = 0; i < m->n; i++)
		for (size_t j = 0; j < m->n; j++)
			m->gradient[i] += m->k[i * m->n + j] * m->alpha[j];
}

/* The row that should gain weight most, and the one that should lose most to it; false: none. */
static bool choose(const struct machine *m, size_t *ret_up, size_t *ret_down)
{
	size_t up = m->n, down = m->n;
	double best = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->alpha[i] < 1 && (up == m->n || m->gradient[i] < m->gradient[up]))
			up = i;
	for (size_t j = 0; j < m->n && up < m->n; j++) {
		double gain = m->gradient[j] - m->gradient[up];
		double curve = 2 - 2 * m->k[up * m->n + j];

		if (!(m->alpha[j] > 0) || gain <= TOLERANCE)
			continue;
		gain *= gain / (curve > 1e-12 ? curve : 1e-12);
		if (gain > best) {
			best = gain;
			down = j;
		}
	}
	*ret_up = up;
	*ret_down = down;
	return down < m->n;
}

static void exchange(struct machine *m, size_t up, size_t down)
{
	double curve = 2 - 2 * m->k[up * m->n + down];
	double step = (m->gradient[down] - m->gradient[up]) / (curve > 1e-12 ? curve : 1e-12);

	step = fmin(step, fmin(1 - m->alpha[up], m->alpha[down]));
	m->alpha[up] = step == 1 - m->alpha[up] ? 1 : m->alpha[up] + step;
	m->alpha[down] = step == m->alpha[down] ? 0 : m->alpha[down] - step;
	for (size_t i = 0; i < m->n; i++)
		m->gradient[i] += step * (m->k[i * m->n + up] - m->k[i * m->n + down]);
}

/* The value on the boundary: that of rows whose weight is between the bounds, else the middle of
 * what is possible. */
static double boundary(const struct machine *m)
{
	double sum = 0, lower = -INFINITY, upper = INFINITY;
	size_t count = 0;

	for (size_t i = 0; i < m->n; i++) {
		if (m->alpha[i] > 0 && m->alpha[i] < 1) {
			sum += m->gradient[i];
			count++;
		} else if (m->alpha[i] > 0) {
			lower = fmax(lower, m->gradient[i]);
		} else {
			upper = fmin(upper, m->gradient[i]);
		}
	}
	return count ? sum / (double)count : (lower + upper) / 2;
}

int detect_ocsvm(const double *x, size_t n, size_t d, double *scores)
{
	_cleanup_free_ double *k = xcalloc(n * n, sizeof(*k)), *alpha = xcalloc(n, sizeof(*alpha)),
			      *gradient = xcalloc(n, sizeof(*gradient));
	struct machine m = {n, k, alpha, gradient};
	size_t up, down, steps = 0;

	fill_kernel(&m, x, d);
	begin(&m);
	while (choose(&m, &up, &down)) {
		if (steps++ >= STEPS_MAX)
			return -EIO;
		exchange(&m, up, down);
	}
	double rho = boundary(&m);
	for (size_t i = 0; i < n; i++)
		scores[i] = rho - gradient[i];
	return 0;
}
