/*
 * Detectors of outliers in several dimensions, with the formulas and the defaults of PyOD; see
 * multivariate.h. The isolation forest is that of Liu, Ting and Zhou (2008).
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/outliers/multivariate_internal.h"
#include "core/util.h"

/* ---- neighbours ----------------------------------------------------------------------------- */

struct neighbour {
	double distance;
	size_t row;
};

static int by_distance(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static double distance(const double *x, size_t d, size_t a, size_t b)
{
	double square = 0;

	for (size_t c = 0; c < d; c++)
		square += (x[a * d + c] - x[b * d + c]) * (x[a * d + c] - x[b * d + c]);
	return sqrt(square);
}

/* All rows by their distance to one, which is the first of them. */
static void sort_neighbours(const double *x, size_t n, size_t d, size_t row, struct neighbour *to)
{
	for (size_t i = 0; i < n; i++)
		/* before rows that are equal to it */
		to[i] = (struct neighbour){i == row ? -1 : distance(x, d, row, i), i};
	qsort(to, n, sizeof(*to), by_distance);
	to[0].distance = 0;
}

/* The row itself counts as the first of five. */
#define NEIGHBOURS 5

int detect_knn(const double *x, size_t n, size_t d, double *scores)
{
	_cleanup_free_ struct neighbour *near = xcalloc(n, sizeof(*near));

	for (size_t i = 0; i < n; i++) {
		sort_neighbours(x, n, d, i, near);
		scores[i] = near[NEIGHBOURS - 1].distance;
	}
	return 0;
}

/* ---- angles --------------------------------------------------------------------------------- */

/* Cosine of the angle at a row between two others, divided by both distances. */
static double weighted_cosine(const double *x, size_t d, size_t at, size_t a, size_t b)
{
	double dot = 0, aa = 0, bb = 0;

	for (size_t c = 0; c < d; c++) {
		double to_a = x[a * d + c] - x[at * d + c], to_b = x[b * d + c] - x[at * d + c];

		dot += to_a * to_b;
		aa += to_a * to_a;
		bb += to_b * to_b;
	}
	return dot / aa / bb;
}

int detect_abod(const double *x, size_t n, size_t d, double *scores)
{
	_cleanup_free_ struct neighbour *near = xcalloc(n, sizeof(*near));

	for (size_t i = 0; i < n; i++) {
		double sum = 0, squares = 0, cosines[NEIGHBOURS * NEIGHBOURS] = {0};
		size_t count = 0;

		sort_neighbours(x, n, d, i, near);
		/* equal rows form no angle */
		for (size_t a = 1; a < NEIGHBOURS; a++)
			for (size_t b = a + 1; b < NEIGHBOURS; b++)
				if (near[a].distance > 0 && near[b].distance > 0)
					cosines[count++] =
						weighted_cosine(x, d, i, near[a].row, near[b].row);
		for (size_t k = 0; k < count; k++)
			sum += cosines[k];
		for (size_t k = 0; k < count; k++)
			squares += (cosines[k] - sum / (double)count) *
				   (cosines[k] - sum / (double)count);
		/* an outlier sees all others in nearly one direction */
		scores[i] = count ? -squares / (double)count : NAN;
	}
	return 0;
}

/* ---- connectivity --------------------------------------------------------------------------- */

#define COF_NEIGHBOURS 20

/* Mean distance of a path that joins the neighbours one by one, those joined first count more. */
static double chaining_distance(const double *x, size_t d, const struct neighbour *near, size_t k)
{
	double sum = 0;

	for (size_t j = 0; j < k; j++) {
		double cost = DBL_MAX;

		for (size_t i = 0; i <= j; i++) {
			double to = distance(x, d, near[j + 1].row, near[i].row);

			cost = to < cost ? to : cost;
		}
		sum += 2.0 * (double)(k - j) / (double)((k + 1) * k) * cost;
	}
	return sum;
}

int detect_cof(const double *x, size_t n, size_t d, double *scores)
{
	size_t k = n - 1 < COF_NEIGHBOURS ? n - 1 : COF_NEIGHBOURS;
	_cleanup_free_ struct neighbour *near = xcalloc(n, sizeof(*near));
	_cleanup_free_ size_t *path = xcalloc(n * k, sizeof(*path));
	_cleanup_free_ double *chain = xcalloc(n, sizeof(*chain));

	for (size_t i = 0; i < n; i++) {
		sort_neighbours(x, n, d, i, near);
		for (size_t j = 0; j < k; j++)
			path[i * k + j] = near[j + 1].row;
		chain[i] = chaining_distance(x, d, near, k);
	}
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t j = 0; j < k; j++)
			sum += chain[path[i * k + j]];
		scores[i] = sum > 0 ? chain[i] * (double)k / sum : chain[i] > 0 ? DBL_MAX : 0;
	}
	return 0;
}

/* ---- histograms ----------------------------------------------------------------------------- */

#define BINS 10
#define HBOS_ALPHA 0.1

struct histogram {
	double edges[BINS + 1], density[BINS];
};

/* As numpy.histogram(): equal values get a range of 1 around them. */
static void make_histogram(const double *x, size_t n, size_t d, size_t c, struct histogram *h)
{
	double min = x[c], max = x[c];

	for (size_t i = 1; i < n; i++) {
		min = fmin(min, x[i * d + c]);
		max = fmax(max, x[i * d + c]);
	}
	if (min == max) {
		min -= 0.5;
		max += 0.5;
	}
	for (size_t i = 0; i <= BINS; i++)
		h->edges[i] = i == BINS ? max : min + (double)i * ((max - min) / BINS);
	memset(h->density, 0, sizeof(h->density));
	for (size_t i = 0; i < n; i++) {
		double v = x[i * d + c];
		size_t bin = (size_t)((v - min) * (BINS / (max - min)));

		bin = bin < BINS ? bin : BINS - 1;
		/* rounding may have chosen the bin beside it */
		if (v < h->edges[bin] && bin > 0)
			bin--;
		else if (bin + 1 < BINS && v >= h->edges[bin + 1])
			bin++;
		h->density[bin]++;
	}
	for (size_t i = 0; i < BINS; i++)
		h->density[i] /= (double)n * (h->edges[i + 1] - h->edges[i]);
}

/* The bin of a value; here it is the lower one for a value on an edge. */
static size_t bin_of(const struct histogram *h, double v)
{
	size_t bin = 0;

	while (bin + 1 < BINS && v > h->edges[bin + 1])
		bin++;
	return bin;
}

int detect_hbos(const double *x, size_t n, size_t d, double *scores)
{
	memset(scores, 0, n * sizeof(*scores));
	for (size_t c = 0; c < d; c++) {
		struct histogram h;

		make_histogram(x, n, d, c, &h);
		for (size_t i = 0; i < n; i++)
			scores[i] -= log2(h.density[bin_of(&h, x[i * d + c])] + HBOS_ALPHA);
	}
	return 0;
}

/* ---- isolation forest ----------------------------------------------------------------------- */

#define TREES 100
#define TREE_ROWS 256
#define FOREST_SEED 20190614u

uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* From 0 to below 1. */
static double next_real(uint64_t *state)
{
	return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Mean length of an unsuccessful search in a binary tree of n rows. */
static double mean_path(double n)
{
	if (n <= 1)
		return 0;
	if (n <= 2)
		return 1;
	return 2 * (log(n - 1) + 0.57721566490153286) - 2 * (n - 1) / n;
}

struct forest {
	const double *x;
	size_t n, d, limit;
	uint64_t random;
	double *depths; /* sum over the trees, of every row */
};

/* Cuts rows in two at random places: `in` are those of the sample that the tree is made of, `all`
 * the rows whose depth is wanted. */
static void cut(struct forest *f, size_t *in, size_t n, size_t *all, size_t count, size_t depth)
{
	size_t c = 0, tried = 0, left = 0, first = 0;
	double min = 0, max = 0;

	for (; tried < 8 * f->d && n > 1 && depth < f->limit; tried++) {
		c = next_random(&f->random) % f->d;
		min = max = f->x[in[0] * f->d + c];
		for (size_t i = 1; i < n; i++) {
			min = fmin(min, f->x[in[i] * f->d + c]);
			max = fmax(max, f->x[in[i] * f->d + c]);
		}
		if (min < max)
			break;
	}
	if (!(min < max) || !count) {
		for (size_t i = 0; i < count; i++)
			f->depths[all[i]] += (double)depth + mean_path((double)n);
		return;
	}
	double at = min + (max - min) * next_real(&f->random);
	for (size_t i = 0; i < n; i++)
		if (f->x[in[i] * f->d + c] <= at) {
			size_t t = in[left];

			in[left++] = in[i];
			in[i] = t;
		}
	for (size_t i = 0; i < count; i++)
		if (f->x[all[i] * f->d + c] <= at) {
			size_t t = all[first];

			all[first++] = all[i];
			all[i] = t;
		}
	cut(f, in, left, all, first, depth + 1);
	cut(f, in + left, n - left, all + first, count - first, depth + 1);
}

int detect_iforest(const double *x, size_t n, size_t d, double *scores)
{
	size_t sample = n < TREE_ROWS ? n : TREE_ROWS;
	_cleanup_free_ size_t *rows = xcalloc(n, sizeof(*rows)), *all = xcalloc(n, sizeof(*all));
	struct forest f = {x, n, d, (size_t)ceil(log2((double)sample)), FOREST_SEED, scores};

	memset(scores, 0, n * sizeof(*scores));
	for (size_t t = 0; t < TREES; t++) {
		for (size_t i = 0; i < n; i++)
			rows[i] = all[i] = i;
		for (size_t i = 0; i < sample; i++) {
			size_t k = i + next_random(&f.random) % (n - i), keep = rows[i];

			rows[i] = rows[k];
			rows[k] = keep;
		}
		cut(&f, rows, sample, all, n, 0);
	}
	for (size_t i = 0; i < n; i++)
		scores[i] = exp2(-scores[i] / TREES / mean_path((double)sample));
	return 0;
}
