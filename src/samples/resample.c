/* Series on a grid; see resample.h. */
#include "samples/resample.h"

#include <math.h>
#include <string.h>

#include "samples/time_mean.h"

/* Weight of a point without duration, us: it is shown, and weighs nothing beside others. */
#define MOMENT 1e-9

void resample_init(struct resample *s, const struct resample_grid *g)
{
	size_t n = g->count ? g->count : 1;

	s->value = xcalloc(n, sizeof(double));
	s->low = xcalloc(n, sizeof(double));
	s->high = xcalloc(n, sizeof(double));
	s->weight = xcalloc(n, sizeof(double));
	s->gap = xcalloc(n, sizeof(double));
	s->shares = xcalloc(n, sizeof(double));
	s->read = xcalloc(n, sizeof(bool));
	s->added = 0;
}

void resample_clear(struct resample *s, const struct resample_grid *g)
{
	memset(s->value, 0, g->count * sizeof(double));
	memset(s->weight, 0, g->count * sizeof(double));
	memset(s->gap, 0, g->count * sizeof(double));
	memset(s->shares, 0, g->count * sizeof(double));
	memset(s->read, 0, g->count * sizeof(bool));
	s->added = 0;
}

void resample_release(struct resample *s)
{
	free(s->value);
	free(s->low);
	free(s->high);
	free(s->weight);
	free(s->gap);
	free(s->shares);
	free(s->read);
	*s = (struct resample){0};
}

struct resample_grid resample_grid(int64_t from, int64_t to, int64_t period, size_t max)
{
	struct resample_grid g = {.from = from, .step = period > 0 ? period : 1, .count = 1};

	if (to <= from)
		return g;
	int64_t span = to - from;
	if (span / g.step + 1 > (int64_t)max)
		g.step = span / ((int64_t)max - 1) + 1;
	g.count = (size_t)(span / g.step) + 1;
	return g;
}

/* ---- one series ---- */

/* The step of a time; beyond the ends it is the first or last. */
static size_t step_at(const struct resample_grid *g, int64_t time)
{
	if (time <= g->from)
		return 0;
	uint64_t at = (uint64_t)(time - g->from) / (uint64_t)g->step;

	return at < g->count ? (size_t)at : g->count - 1;
}

/* low and high are NAN if they must not count. */
static void put(struct resample *s, size_t at, double value, double weight, double low, double high)
{
	if (s->weight[at] <= 0)
		s->low[at] = s->high[at] = NAN;
	if (!isnan(low) && !(s->low[at] <= low))
		s->low[at] = low;
	if (!isnan(high) && !(s->high[at] >= high))
		s->high[at] = high;
	s->value[at] += value * weight;
	s->weight[at] += weight;
}

/* The time between two points. */
struct span {
	int64_t from, to;
	double first, last; /* a level, which changes evenly */
	bool gap;
	bool level; /* not measured in between; false: the value covers all of it */
};

/* Adds a span, or a gap, to all its steps. */
static void put_over(struct resample *s, const struct resample_grid *g, const struct span *span)
{
	int64_t from = span->from, to = span->to;

	/* a span that ends where a step begins is not in that step */
	size_t last = step_at(g, to - 1);

	for (size_t at = step_at(g, from); at <= last; at++) {
		int64_t begin = g->from + (int64_t)at * g->step, end = begin + g->step;

		begin = begin > from ? begin : from;
		end = end < to ? end : to;
		if (end <= begin)
			continue;
		if (span->gap) {
			s->gap[at] += (double)(end - begin);
			continue;
		}
		s->read[at] |= !span->level;
		double v = time_level(from, span->first, to, span->last, begin, end);
		/* a level between two samples was not measured */
		bool read = span->first != span->last &&
			    (at == step_at(g, from) || at == step_at(g, to));
		put(s, at, v, (double)(end - begin), read ? NAN : v, read ? NAN : v);
	}
}

/* Sums become means. */
static void divide(struct resample *s, const struct resample_grid *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (s->weight[i] > 0)
			s->value[i] /= s->weight[i];
}

static void take_values(struct resample *s, const struct resample_grid *g, const struct points *c,
			bool mean)
{
	struct time_usual usual = {0};

	for (size_t i = 0; i < c->count; i++) {
		const struct point *p = &c->points[i];
		int64_t since = mean ? points_since(c, i) : i ? p[-1].time : p->time;

		put(s, step_at(g, p->time), p->value, MOMENT, p->low, p->high);
		s->read[step_at(g, p->time)] = true;
		if (since >= p->time)
			continue;
		bool gap = !mean && time_usual_gap(&usual, p->time - since);
		put_over(s, g,
			 &(struct span){since, p->time, mean ? p->value : p[-1].value, p->value,
					gap, !mean});
	}
}

/*
 * The point for a rate since point a: the next one that is not much nearer than usual. A last
 * sample shortly after the one before, as at the end of a job, would make a peak of a clock step
 * divided by almost nothing; it is joined with the time before it.
 */
static size_t rate_end(const struct points *c, size_t a, int64_t least)
{
	size_t b = a + 1;

	while (b + 1 < c->count && c->points[b].time - c->points[a].time < least)
		b++;
	if (b + 2 == c->count && c->points[b + 1].time - c->points[b].time < least)
		b++;
	return b;
}

static void take_rates(struct resample *s, const struct resample_grid *g, const struct points *c)
{
	int64_t least = points_period(c) / 4;

	for (size_t from = 0, to; from + 1 < c->count; from = to) {
		to = rate_end(c, from, least);
		const struct point *a = &c->points[from], *b = &c->points[to];

		if (b->time <= a->time)
			continue;
		double rate = (b->value - a->value) * 1e6 / (double)(b->time - a->time);
		put_over(s, g,
			 &(struct span){a->time, b->time, rate, rate, b->value < a->value, false});
	}
}

void resample_take(struct resample *s, const struct resample_grid *g, const struct points *c,
		   enum metric_kind kind)
{
	resample_clear(s, g);
	if (kind == KIND_COUNTER)
		take_rates(s, g, c);
	else
		take_values(s, g, c, kind == KIND_MEAN);
	divide(s, g);
	s->added = 1;
}

/* ---- several ---- */

/* A series that ends within a step that others fill adds its part. If all end there, though not at
 * the same microsecond, their last values are added. */
static void add_step(struct resample *to, const struct resample *other, size_t i, int64_t step,
		     enum metric_agg agg)
{
	double was = to->weight[i], is = other->weight[i], most = was > is ? was : is;
	bool first = was <= 0, mean = agg == AGG_NONE || agg == AGG_SET;

	if (mean) {
		to->value[i] += other->value[i] * is;
		to->low[i] = (first ? 0 : to->low[i]) + other->low[i] * is;
		to->high[i] = (first ? 0 : to->high[i]) + other->high[i] * is;
		to->shares[i] += is;
	} else if (agg == AGG_SUM && most > (double)step / 2) {
		to->value[i] = (to->value[i] * was + other->value[i] * is) / most;
	} else {
		to->value[i] =
			first ? other->value[i] : agg_join(to->value[i], other->value[i], agg);
	}
	if (!mean) {
		to->low[i] = first ? other->low[i] : agg_join(to->low[i], other->low[i], agg);
		to->high[i] = first ? other->high[i] : agg_join(to->high[i], other->high[i], agg);
	}
	to->weight[i] = most;
}

void resample_add(struct resample *to, const struct resample *other, const struct resample_grid *g,
		  enum metric_agg agg)
{
	/* a sum with a missing part is unknown as well */
	for (size_t i = 0; i < g->count; i++) {
		to->gap[i] = other->gap[i] > to->gap[i] ? other->gap[i] : to->gap[i];
		to->read[i] |= other->read[i];
		if (other->weight[i] > 0)
			add_step(to, other, i, g->step, agg);
	}
	to->added += other->added;
}

void resample_mean(struct resample *s, const struct resample_grid *g)
{
	for (size_t i = 0; i < g->count; i++) {
		if (s->shares[i] <= 0)
			continue;
		s->value[i] /= s->shares[i];
		s->low[i] /= s->shares[i];
		s->high[i] /= s->shares[i];
		s->shares[i] = 0;
	}
}

double resample_time_mean(const struct resample *s, const struct resample_grid *g)
{
	double sum = 0, weight = 0, first = NAN;

	for (size_t i = 0; i < g->count; i++) {
		if (!resample_known(s, g, i))
			continue;
		first = isnan(first) ? s->value[i] : first;
		sum += (s->value[i] - first) * s->weight[i];
		weight += s->weight[i];
	}
	return weight > 0 ? first + sum / weight : NAN;
}

/* Between its first and last sample, was it sampled in less than half of the groups of steps in
 * which anything was? */
static bool is_seldom(const struct resample *s, const struct resample_grid *g, const bool *looked,
		      size_t each)
{
	size_t read = 0, all = 0, since = 0; /* since the last sample */

	for (size_t i = 0; i < g->count; i += each) {
		bool here = false, any = false;

		for (size_t k = i; k < i + each && k < g->count; k++) {
			here = here || (s->read[k] && resample_known(s, g, k));
			any = any || looked[k];
		}
		since += read && (any || here);
		if (!here)
			continue;
		all += read++ ? since : 1;
		since = 0;
	}
	return read * 2 < all;
}

/* The sampled value, not the interpolation to the next sample. */
static double value_of(const struct resample *s, size_t i, bool seldom)
{
	double middle = (s->low[i] + s->high[i]) / 2;

	return seldom && isfinite(middle) ? middle : s->value[i];
}

bool resample_reduce(const struct resample *s, const struct resample_grid *g, const bool *looked,
		     size_t max, double factor, struct points *out)
{
	size_t each = (g->count + max - 1) / max;
	bool seldom = is_seldom(s, g, looked, each);

	for (size_t i = 0; i < g->count; i += each) {
		struct point p = {.time = g->from + (int64_t)i * g->step};
		double weight = 0;

		for (size_t k = i; k < i + each && k < g->count; k++) {
			if (!resample_known(s, g, k) || (seldom && !s->read[k]))
				continue;
			p.low = weight > 0 && p.low < s->low[k] ? p.low : s->low[k];
			p.high = weight > 0 && p.high > s->high[k] ? p.high : s->high[k];
			p.value += value_of(s, k, seldom) * s->weight[k];
			weight += s->weight[k];
		}
		if (weight <= 0)
			continue;
		p.value /= weight;
		point_span(&p);
		points_add(out, p.time, p.value * factor, p.low * factor, p.high * factor);
	}
	return seldom;
}
