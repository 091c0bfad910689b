/* Change points of a series of runs; see change_points.h. */
#include "analysis/comparison/change_points.h"

#include <math.h>
#include <string.h>

#include "analysis/comparison/bootstrap.h"
#include "analysis/comparison/random.h"
#include "analysis/sorted.h"

struct search {
	const double *v;
	size_t n;
	const struct change_options *o;
	struct random random;
	double *ranks, *shuffled; /* of the current segment */
	struct change_point *found;
	size_t count, cap;
};

struct ranked_value {
	double v;
	size_t place;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked_value *x = a, *y = b;

	return x->v < y->v ? -1 : x->v > y->v;
}

/* Ranks minus their mean; equal values share the mean of their ranks. */
static void centre_ranks(const double *v, size_t n, double *ranks)
{
	_cleanup_free_ struct ranked_value *r = xcalloc(n, sizeof(*r));

	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked_value){v[i], i};
	qsort(r, n, sizeof(*r), by_value);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && r[j].v <= r[i].v; j++)
			;
		for (size_t k = i; k < j; k++)
			ranks[r[k].place] = (double)(i + j - 1) / 2 - (double)(n - 1) / 2;
	}
}

/* The split that separates the ranks best: the square of the rank sum, over its variance but for a
 * constant factor. */
static double best_split(const double *ranks, size_t n, size_t least, size_t *ret)
{
	double sum = 0, best = -1;

	for (size_t k = 1; k + least <= n; k++) {
		sum += ranks[k - 1];
		if (k < least)
			continue;
		const double z = sum * sum / ((double)k * (double)(n - k));
		if (z > best) {
			best = z;
			*ret = k;
		}
	}
	return best;
}

static void shuffle(struct random *r, double *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		const size_t j = random_below(r, (uint32_t)i);
		const double t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
}

#define ROUNDS_MAX 1e8

/* The p of the best split, or 1 as soon as it cannot reach alpha. */
static double permutation_p(struct search *s, size_t n, double observed, double alpha)
{
	/* so many that a split which no order reaches can be below alpha */
	const double enough = 2 / alpha;
	const size_t rounds = enough > (double)s->o->rounds
				      ? (size_t)(enough < ROUNDS_MAX ? enough : ROUNDS_MAX)
				      : s->o->rounds;
	const double all = (double)(rounds + 1);
	size_t as_good = 1, at;

	memcpy(s->shuffled, s->ranks, n * sizeof(*s->ranks));
	for (size_t i = 0; i < rounds; i++) {
		shuffle(&s->random, s->shuffled, n);
		/* a little less, because sums in another order round differently */
		if (best_split(s->shuffled, n, s->o->least_runs, &at) >= observed * (1 - 1e-9) &&
		    (double)++as_good > alpha * all)
			return 1;
	}
	return (double)as_good / all;
}

static void split(struct search *s, size_t begin, size_t end)
{
	const size_t n = end - begin;
	const double alpha = s->o->alpha * (double)n / (double)s->n;
	size_t k = 0;

	if (n < 2 * s->o->least_runs)
		return;
	centre_ranks(s->v + begin, n, s->ranks);
	const double best = best_split(s->ranks, n, s->o->least_runs, &k);
	if (best <= 0)
		return;
	const double p = permutation_p(s, n, best, alpha);
	if (p > alpha)
		return;
	split(s, begin, begin + k);
	GROW(s->found, s->count, s->cap);
	s->found[s->count++] = (struct change_point){.first = begin + k, .p = p};
	split(s, begin + k, end);
}

static double median_of(const double *v, size_t begin, size_t end)
{
	_cleanup_free_ double *copy = xcalloc(end - begin + 1, sizeof(*copy));

	memcpy(copy, v + begin, (end - begin) * sizeof(*copy));
	sort_values(copy, end - begin);
	return sorted_median(copy, end - begin);
}

static void fill_medians(struct search *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const size_t begin = i ? s->found[i - 1].first : 0;
		const size_t end = i + 1 < s->count ? s->found[i + 1].first : s->n;

		s->found[i].before = median_of(s->v, begin, s->found[i].first);
		s->found[i].after = median_of(s->v, s->found[i].first, end);
	}
}

static double size_of(const struct change_point *c)
{
	const double d = fabs(c->after - c->before);

	return d > 0 ? d / fabs(c->before) : 0;
}

/* Drops the smallest change as long as it is too small; its segments become one. */
static void drop_small(struct search *s)
{
	for (fill_medians(s); s->count; fill_medians(s)) {
		size_t least = 0;

		for (size_t i = 1; i < s->count; i++)
			if (size_of(&s->found[i]) < size_of(&s->found[least]))
				least = i;
		if (size_of(&s->found[least]) >= s->o->relative && size_of(&s->found[least]) > 0)
			break;
		memmove(s->found + least, s->found + least + 1,
			(s->count - least - 1) * sizeof(*s->found));
		s->count--;
	}
}

/* The sum of distances from the median. */
static double cost_of(const double *v, size_t begin, size_t end)
{
	const double median = median_of(v, begin, end);
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += fabs(v[i] - median);
	return sum;
}

/* Ranks say whether there is a change, but not exactly where, and the first splits saw later levels
 * as well. Each change moves to where the values lie closest to the medians on both sides; it looks
 * at NEAR_RUNS of them at most. */
#define NEAR_RUNS 200
static void refine(struct search *s)
{
	const size_t least = s->o->least_runs;

	for (size_t i = 0; i < s->count; i++) {
		const size_t at = s->found[i].first;
		size_t begin = i ? s->found[i - 1].first : 0;
		size_t end = i + 1 < s->count ? s->found[i + 1].first : s->n;
		double best = INFINITY;

		begin = at - begin > NEAR_RUNS ? at - NEAR_RUNS : begin;
		end = end - at > NEAR_RUNS ? at + NEAR_RUNS : end;
		for (size_t k = begin + least; k + least <= end; k++) {
			const double cost = cost_of(s->v, begin, k) + cost_of(s->v, k, end);

			if (cost < best) {
				best = cost;
				s->found[i].first = k;
			}
		}
	}
}

size_t change_points_find(const double *v, size_t n, const struct change_options *o,
			  struct change_point **ret)
{
	struct search s = {.v = v, .n = n, .o = o, .random = {o->seed}};

	*ret = NULL;
	if (n < 2 * o->least_runs)
		return 0;
	s.ranks = xcalloc(n, sizeof(*s.ranks));
	s.shuffled = xcalloc(n, sizeof(*s.shuffled));
	split(&s, 0, n);
	drop_small(&s);
	refine(&s);
	drop_small(&s);
	free(s.ranks);
	free(s.shuffled);
	*ret = s.found;
	return s.count;
}
