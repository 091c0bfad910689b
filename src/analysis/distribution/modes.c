/*
 * See modes.h. Clusters of sorted values are ranges. The best ranges for k clusters follow from
 * those for k - 1, by dynamic programming; where the last range begins grows with its end, so that
 * halving the ends leaves few beginnings to try.
 */
#include "analysis/distribution/modes.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/sorted.h"
#include "core/util.h"

struct clusters {
	size_t n;
	double *v;                /* sorted, from 0 to 1 */
	double *sums, *squares;   /* of the first i values */
	double *cost[MODES_MAX];  /* of the first i + 1 values in k + 1 clusters */
	size_t *first[MODES_MAX]; /* where the last of these begins */
};

/* Sum of the squared distances of values a to b to their mean. */
static double spread(const struct clusters *c, size_t a, size_t b)
{
	double sum = c->sums[b + 1] - c->sums[a], count = (double)(b - a + 1);
	double s = c->squares[b + 1] - c->squares[a] - sum * sum / count;

	return s > 0 ? s : 0;
}

/* The costs of the ends from..to in k + 1 clusters, whose last one begins in low..high. */
static void fill(struct clusters *c, size_t k, size_t from, size_t to, size_t low, size_t high)
{
	size_t middle = from + (to - from) / 2, best = middle;
	double least = INFINITY;

	if (from > to)
		return;
	for (size_t at = low > k ? low : k; at <= high && at <= middle; at++) {
		double cost = c->cost[k - 1][at - 1] + spread(c, at, middle);

		if (cost < least) {
			least = cost;
			best = at;
		}
	}
	c->cost[k][middle] = least;
	c->first[k][middle] = best;
	if (middle > from)
		fill(c, k, from, middle - 1, low, best);
	fill(c, k, middle + 1, to, best, high);
}

/* Where the clusters of the best k + 1 begin; begins[k + 1] is n. */
static void boundaries(const struct clusters *c, size_t k, size_t begins[MODES_MAX + 1])
{
	begins[k + 1] = c->n;
	for (size_t i = k + 1; i-- > 0;)
		begins[i] = i ? c->first[i][begins[i + 1] - 1] : 0;
}

/* Mean distance of value i to the values of a..b - 1, without itself. */
static double distance_to(const struct clusters *c, size_t i, size_t a, size_t b)
{
	size_t below = i < a ? a : i < b ? i : b;
	double sum = c->v[i] * (double)(below - a) - (c->sums[below] - c->sums[a]) +
		     (c->sums[b] - c->sums[below]) - c->v[i] * (double)(b - below);
	size_t others = b - a - (i >= a && i < b);

	return others ? sum / (double)others : 0;
}

/* Mean over all values of how much nearer they are to their own cluster than to the next. */
static double silhouette(const struct clusters *c, size_t k)
{
	size_t begins[MODES_MAX + 1];
	double total = 0;

	boundaries(c, k, begins);
	for (size_t own = 0; own <= k; own++)
		for (size_t i = begins[own]; i < begins[own + 1]; i++) {
			double inside = distance_to(c, i, begins[own], begins[own + 1]);
			double next = INFINITY;

			for (size_t o = 0; o <= k; o++) {
				double to = o == own ? INFINITY
						     : distance_to(c, i, begins[o], begins[o + 1]);

				next = to < next ? to : next;
			}
			double larger = inside > next ? inside : next;
			/* a cluster of one value has none */
			if (begins[own + 1] - begins[own] > 1 && larger > 0)
				total += (next - inside) / larger;
		}
	return total / (double)c->n;
}

/* The number of clusters - 1 at the elbow of falling costs; 0 also if there is none. */
static size_t elbow(const double cost[MODES_MAX])
{
	const size_t last = MODES_MAX - 1;
	double above[MODES_MAX], limit = INFINITY, range = cost[0] - cost[last];
	size_t at = 0;
	bool begun = false;

	if (!(range > 0))
		return 0;
	/* how far the curve is from the straight line between its ends */
	for (size_t i = 0; i <= last; i++)
		above[i] = (cost[0] - cost[i]) / range - (double)i / (double)last;
	for (size_t i = 0; i < last; i++) {
		double before = above[i ? i - 1 : 0], next = above[i + 1];

		if (above[i] >= before && above[i] >= next) {
			begun = true;
			limit = above[i] - 1.0 / (double)last;
			at = i;
		}
		if (begun && above[i] <= before && above[i] <= next)
			limit = 0;
		/* it has fallen by more than a step behind a peak */
		if (begun && next < limit)
			return at;
	}
	return 0;
}

static void prepare(struct clusters *c, const double *v, size_t n)
{
	c->n = n;
	c->v = xcalloc(n, sizeof(*c->v));
	c->sums = xcalloc(n + 1, sizeof(*c->sums));
	c->squares = xcalloc(n + 1, sizeof(*c->squares));
	memcpy(c->v, v, n * sizeof(*v));
	sort_values(c->v, n);
	double min = c->v[0], range = c->v[n - 1] - min;
	for (size_t i = 0; i < n; i++) {
		c->v[i] = range > 0 ? (c->v[i] - min) / range : 0;
		c->sums[i + 1] = c->sums[i] + c->v[i];
		c->squares[i + 1] = c->squares[i] + c->v[i] * c->v[i];
	}
	for (size_t k = 0; k < MODES_MAX; k++) {
		c->cost[k] = xcalloc(n, sizeof(*c->cost[k]));
		c->first[k] = xcalloc(n, sizeof(*c->first[k]));
		for (size_t i = 0; i < n; i++)
			c->cost[k][i] = k ? 0 : spread(c, 0, i);
		if (k)
			fill(c, k, k, n - 1, k, n - 1);
	}
}

static void clusters_release(struct clusters *c)
{
	free(c->v);
	free(c->sums);
	free(c->squares);
	for (size_t k = 0; k < MODES_MAX; k++) {
		free(c->cost[k]);
		free(c->first[k]);
	}
}

/* The number of clusters - 1. */
static size_t choose(const struct clusters *c)
{
	double cost[MODES_MAX], highest = -INFINITY;
	size_t best = 0;

	for (size_t k = 0; k < MODES_MAX; k++)
		cost[k] = c->cost[k][c->n - 1];
	size_t bend = elbow(cost);
	for (size_t k = 1; k < MODES_MAX && bend; k++) {
		double s = silhouette(c, k);

		/* values that are in fewer places than clusters: rounding does not choose */
		if (s > highest + 1e-9) {
			highest = s;
			best = k;
		}
	}
	return best == bend ? bend : 0;
}

int modes_find(const double *v, size_t n, double modes[MODES_MAX], size_t *ret_count)
{
	_cleanup_(clusters_release) struct clusters c = {0};
	size_t begins[MODES_MAX + 1];
	double min = INFINITY, max = -INFINITY;

	if (n < MODES_MIN_VALUES)
		return -ENODATA;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(v[i]))
			return -EDOM;
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
	}
	if (!isfinite(max - min))
		return -EDOM;
	prepare(&c, v, n);
	size_t k = choose(&c);
	boundaries(&c, k, begins);
	for (size_t i = 0; i <= k; i++)
		modes[i] = min + (max - min) * (c.sums[begins[i + 1]] - c.sums[begins[i]]) /
					 (double)(begins[i + 1] - begins[i]);
	*ret_count = k + 1;
	return 0;
}
