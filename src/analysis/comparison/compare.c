/* The comparison of two sets of runs; see compare.h. */
#include "analysis/comparison/compare.h"

#include <math.h>

#include "analysis/comparison/compare_internal.h"
#include "analysis/sorted.h"

const char *verdict_name(enum verdict v)
{
	return v == VERDICT_WORSE ? "worse" : v == VERDICT_NOT_WORSE ? "not worse" : "inconclusive";
}

/* ---- one row -------------------------------------------------------------------------------- */

/* The known values, sorted. */
static size_t take_values(const double *v, size_t count, double **ret)
{
	size_t n = 0;

	*ret = xcalloc(count + 1, sizeof(**ret));
	for (size_t i = 0; i < count; i++)
		if (isfinite(v[i]))
			(*ret)[n++] = v[i];
	sort_values(*ret, n);
	return n;
}

/* Pairs in which the value of a is above the limit for that of b. */
static size_t pairs_above(const struct compare_sets *s, const struct compare_limit *l)
{
	size_t above = 0, i = 0;

	for (size_t j = 0; j < s->b.w.n; j++) {
		const double y = s->b.v[j] * l->factor;
		const double margin = y * l->relative > l->absolute ? y * l->relative : l->absolute;

		while (i < s->a.w.n && s->a.v[i] <= y + margin)
			i++;
		above += s->a.w.n - i;
	}
	return above;
}

double compare_least(size_t a_runs, size_t b_runs)
{
	double least = 1;

	for (size_t n = a_runs < b_runs ? a_runs : b_runs; n && least > 1e-300; n--)
		least /= 2;
	return least;
}

/* None of the three may be small by accident: the bootstrap where sets are small, ranks where the
 * noise of the sets differs. */
static double largest(double bootstrap, double ranks, const struct compare_sets *s)
{
	const double least = compare_least(s->a.w.n, s->b.w.n);
	const double p = bootstrap > ranks ? bootstrap : ranks;

	return p > least ? p : least;
}

double compare_p_above(struct compare_tables *t, const struct compare_sets *s,
		       const struct compare_limit *l)
{
	const double p = bootstrap_at_most(&s->a, &s->b, l->factor, l->relative, l->absolute);
	const double ranks = rank_sum_tail(&t->ranks, s->a.w.n, s->b.w.n, pairs_above(s, l));

	return largest(p, ranks, s);
}

double compare_p_below(struct compare_tables *t, const struct compare_sets *s,
		       const struct compare_limit *l)
{
	const double p = 1 - bootstrap_at_most(&s->a, &s->b, l->factor, l->relative, l->absolute);
	const size_t not_above = s->a.w.n * s->b.w.n - pairs_above(s, l);
	const double ranks = rank_sum_tail(&t->ranks, s->a.w.n, s->b.w.n, not_above);

	return largest(p, ranks, s);
}

/* The bound of the ratio of the medians at which the test turns: below it a is above b times the
 * ratio with confidence (low), above it not above (high). */
static double ratio_bound(struct compare_tables *t, const struct compare_sets *s, double level,
			  bool low)
{
	const double top_b = s->b.v[s->b.w.n - 1];
	size_t first = 0;

	if (top_b <= 0)
		return low ? 0 : INFINITY;
	while (s->b.v[first] <= 0)
		first++;
	double from = 0, to = s->a.v[s->a.w.n - 1] / s->b.v[first] * (1 + 1e-12);
	struct compare_limit end = {.factor = low ? 0 : to};
	if (low && compare_p_above(t, s, &end) > level)
		return 0;
	if (!low && compare_p_below(t, s, &end) > level)
		return INFINITY;
	for (int i = 0; i < 60 && from < to; i++) {
		const struct compare_limit mid = {.factor = from + (to - from) / 2};

		if (mid.factor <= from || mid.factor >= to)
			break;
		if (low ? compare_p_above(t, s, &mid) > level
			: compare_p_below(t, s, &mid) <= level)
			to = mid.factor;
		else
			from = mid.factor;
	}
	return to;
}

struct compare_limit compare_limit_of(const struct comparison *c)
{
	return (struct compare_limit){
		.factor = 1, .relative = c->relative, .absolute = c->absolute};
}

static void compare_row(struct compare_tables *t, struct comparison *c, struct compare_sets *s)
{
	const struct compare_limit limit = compare_limit_of(c);

	c->a_median = c->a_runs ? sorted_median(s->a.v, c->a_runs) : NAN;
	c->b_median = c->b_runs ? sorted_median(s->b.v, c->b_runs) : NAN;
	c->change = c->b_median > 0 ? c->a_median / c->b_median - 1 : c->a_median == 0 ? 0 : NAN;
	c->low = -1;
	c->high = INFINITY;
	c->p = c->p_adjusted = c->q = 1;
	c->verdict = VERDICT_INCONCLUSIVE;
	c->absent = !c->a_runs || !c->b_runs;
	if (!compare_has_enough(c))
		return;
	s->a.w = bootstrap_weights(&t->bootstrap, c->a_runs, c->a_runs);
	s->b.w = bootstrap_weights(&t->bootstrap, c->b_runs, c->b_runs);
	c->p = compare_p_above(t, s, &limit);
	c->q = compare_p_below(t, s, &limit);
}

/* Is a below b by more than the minimum effect: b above a, with the effect as a share of b. */
static double p_better(struct compare_tables *t, const struct comparison *c,
		       const struct compare_sets *s)
{
	const struct compare_sets swapped = {s->b, s->a};
	/* b > a + relative * b, so b * (1 - relative) > a; the absolute part is in units of b */
	const double share = c->relative < 0.99 ? c->relative : 0.99;
	const struct compare_limit by_share = {.factor = 1 / (1 - share)};
	const struct compare_limit by_value = {.factor = 1, .absolute = c->absolute};
	const double p = compare_p_above(t, &swapped, &by_share);
	const double other = compare_p_above(t, &swapped, &by_value);

	return p > other ? p : other;
}

bool compare_has_enough(const struct comparison *c)
{
	return c->a_runs >= COMPARE_RUNS_MIN && c->b_runs >= COMPARE_RUNS_MIN;
}

/* ---- the family ----------------------------------------------------------------------------- */

struct ranked {
	size_t row;
	double p;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p < y->p || x->p > y->p)
		return x->p < y->p ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Holm: the k-th smallest p counts at alpha / (m - k + 1), until the first that does not.
 * level[row] becomes what counts for the row, adjusted[row] its p for comparison with alpha. */
static void holm(struct ranked *order, size_t m, double alpha, double *level, double *adjusted)
{
	double highest = 0;
	size_t divisor = m;
	bool stopped = false;

	if (m)
		qsort(order, m, sizeof(*order), by_p);
	for (size_t k = 0; k < m; k++) {
		if (!stopped)
			divisor = m - k;
		const double times = order[k].p * (double)(m - k);
		highest = times > highest ? times : highest;
		adjusted[order[k].row] = highest < 1 ? highest : 1;
		level[order[k].row] = alpha / (double)divisor;
		stopped = stopped || order[k].p > level[order[k].row];
	}
}

static void judge(struct compare_tables *t, struct comparison *c, const struct compare_sets *s,
		  double level, double alpha)
{
	if (c->p <= level)
		c->verdict = VERDICT_WORSE;
	else if (c->q <= alpha)
		c->verdict = VERDICT_NOT_WORSE;
	if (c->b_median <= 0 && c->a_median <= 0)
		c->low = c->high = 0;
	else {
		c->low = ratio_bound(t, s, level, true) - 1;
		c->high = ratio_bound(t, s, alpha, false) - 1;
	}
}

/* Corrects one kind of p for all rows that have enough runs. */
static void correct(const struct comparison *rows, const double *p, size_t count, double alpha,
		    double *level, double *adjusted)
{
	_cleanup_free_ struct ranked *order = xcalloc(count + 1, sizeof(*order));
	size_t m = 0;

	for (size_t i = 0; i < count; i++)
		if (compare_has_enough(&rows[i]))
			order[m++] = (struct ranked){i, p[i]};
	holm(order, m, alpha, level, adjusted);
}

static enum verdict verdict_of(const struct comparison *rows, size_t count)
{
	enum verdict all = VERDICT_NOT_WORSE;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].absent)
			continue;
		if (rows[i].verdict == VERDICT_WORSE)
			return VERDICT_WORSE;
		any = any || rows[i].decides;
		if (rows[i].decides && rows[i].verdict == VERDICT_INCONCLUSIVE)
			all = VERDICT_INCONCLUSIVE;
	}
	return any ? all : VERDICT_INCONCLUSIVE;
}

enum verdict compare_all(struct comparison *rows, size_t count, double alpha)
{
	struct compare_tables t = {0};
	struct compare_sets *sets = xcalloc(count + 1, sizeof(*sets));
	size_t family = 0; /* once all have enough runs */
	_cleanup_free_ double *p = xcalloc(count + 1, sizeof(*p)),
			      *level = xcalloc(count + 1, sizeof(*level)),
			      *adjusted = xcalloc(count + 1, sizeof(*adjusted));

	for (size_t i = 0; i < count; i++) {
		double *a, *b;

		rows[i].a_runs = take_values(rows[i].a, rows[i].a_count, &a);
		rows[i].b_runs = take_values(rows[i].b, rows[i].b_count, &b);
		sets[i].a.v = a;
		sets[i].b.v = b;
		compare_row(&t, &rows[i], &sets[i]);
		family += !rows[i].absent;
		p[i] = compare_has_enough(&rows[i]) ? p_better(&t, &rows[i], &sets[i]) : 1;
	}
	correct(rows, p, count, alpha, level, adjusted);
	for (size_t i = 0; i < count; i++) {
		rows[i].better = compare_has_enough(&rows[i]) && adjusted[i] <= alpha;
		p[i] = rows[i].p;
	}
	correct(rows, p, count, alpha, level, adjusted);
	for (size_t i = 0; i < count; i++) {
		if (compare_has_enough(&rows[i])) {
			rows[i].p_adjusted = adjusted[i];
			judge(&t, &rows[i], &sets[i], level[i], alpha);
		}
		rows[i].better = rows[i].better && rows[i].verdict == VERDICT_NOT_WORSE;
		if (rows[i].verdict == VERDICT_INCONCLUSIVE && !rows[i].absent)
			compare_plan(&rows[i], &sets[i], alpha, family);
		free((double *)sets[i].a.v);
		free((double *)sets[i].b.v);
	}
	free(sets);
	bootstrap_release(&t.bootstrap);
	rank_sum_release(&t.ranks);
	return verdict_of(rows, count);
}

struct median_interval median_interval_of(const double *v, size_t count, double alpha)
{
	double *sorted;
	struct median_interval ret = {take_values(v, count, &sorted), NAN, NAN, NAN, NAN, NAN};

	if (ret.runs) {
		const size_t k = median_rank(ret.runs, alpha);

		ret.median = sorted_median(sorted, ret.runs);
		ret.least = sorted[0];
		ret.most = sorted[ret.runs - 1];
		if (k) {
			ret.low = sorted[k - 1];
			ret.high = sorted[ret.runs - k];
		}
	}
	free(sorted);
	return ret;
}
