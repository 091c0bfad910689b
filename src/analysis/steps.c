/* Curves on a grid; see steps.h. */
#include "analysis/steps.h"

#include <string.h>

void steps_init(struct steps *s, const struct steps_grid *g)
{
	size_t n = g->count ? g->count : 1;

	s->value = xcalloc(n, sizeof(double));
	s->low = xcalloc(n, sizeof(double));
	s->high = xcalloc(n, sizeof(double));
	s->weight = xcalloc(n, sizeof(double));
}

void steps_clear(struct steps *s, const struct steps_grid *g)
{
	memset(s->value, 0, g->count * sizeof(double));
	memset(s->weight, 0, g->count * sizeof(double));
}

void steps_release(struct steps *s)
{
	free(s->value);
	free(s->low);
	free(s->high);
	free(s->weight);
	*s = (struct steps){0};
}

struct steps_grid steps_grid(int64_t from, int64_t to, int64_t period, size_t max)
{
	struct steps_grid g = {.from = from, .step = period > 0 ? period : 1, .count = 1};

	if (to <= from)
		return g;
	int64_t span = to - from;
	if (span / g.step + 1 > (int64_t)max)
		g.step = span / ((int64_t)max - 1) + 1;
	g.count = (size_t)(span / g.step) + 1;
	return g;
}

/* ---- one curve ------------------------------------------------------------------------------ */

/* The step that a time is in; beyond the ends it is the first or last. */
static size_t step_at(const struct steps_grid *g, int64_t time)
{
	if (time <= g->from)
		return 0;
	uint64_t at = (uint64_t)(time - g->from) / (uint64_t)g->step;

	return at < g->count ? (size_t)at : g->count - 1;
}

static void put(struct steps *s, size_t at, double value, double weight, double low, double high)
{
	if (s->weight[at] <= 0) {
		s->low[at] = low;
		s->high[at] = high;
	}
	s->low[at] = low < s->low[at] ? low : s->low[at];
	s->high[at] = high > s->high[at] ? high : s->high[at];
	s->value[at] += value * weight;
	s->weight[at] += weight;
}

/* Sums become means, and each step counts as one. */
static void divide(struct steps *s, const struct steps_grid *g)
{
	for (size_t i = 0; i < g->count; i++) {
		if (s->weight[i] <= 0)
			continue;
		s->value[i] /= s->weight[i];
		s->weight[i] = 1;
	}
}

void steps_level(struct steps *s, const struct steps_grid *g, const struct curve *c)
{
	int64_t period = curve_period(c);
	int64_t age = period > INT64_MAX / 5 ? INT64_MAX : period * 5 / 2;

	steps_clear(s, g);
	for (size_t i = 0; i < c->count; i++) {
		const struct curve_point *p = &c->points[i];

		put(s, step_at(g, p->time), p->value, 1, p->low, p->high);
	}
	for (size_t i = 0; i + 1 < c->count; i++) {
		const struct curve_point *p = &c->points[i], *next = p + 1;

		if (next->time - p->time > age)
			continue;
		for (size_t at = step_at(g, p->time) + 1; at < step_at(g, next->time); at++)
			put(s, at, p->value, 1, p->value, p->value);
	}
	divide(s, g);
}

/*
 * The point whose growth since point a is a rate: the next one that is not much nearer than usual.
 * A last reading a moment after the one before, as there is at the end of a job, would make a peak
 * of what a clock's step divided by nothing is; it goes with the time before it.
 */
static size_t rate_end(const struct curve *c, size_t a, int64_t least)
{
	size_t b = a + 1;

	while (b + 1 < c->count && c->points[b].time - c->points[a].time < least)
		b++;
	if (b + 2 == c->count && c->points[b + 1].time - c->points[b].time < least)
		b++;
	return b;
}

void steps_rate(struct steps *s, const struct steps_grid *g, const struct curve *c)
{
	int64_t least = curve_period(c) / 4;

	steps_clear(s, g);
	for (size_t from = 0, to; from + 1 < c->count; from = to) {
		to = rate_end(c, from, least);
		const struct curve_point *a = &c->points[from], *b = &c->points[to];

		if (b->time <= a->time || b->value < a->value)
			continue;
		double rate = (b->value - a->value) * 1e6 / (double)(b->time - a->time);
		/* what ends where a step begins is not in that step */
		size_t last = step_at(g, b->time - 1);
		for (size_t at = step_at(g, a->time); at <= last; at++) {
			int64_t begin = g->from + (int64_t)at * g->step, end = begin + g->step;

			begin = begin > a->time ? begin : a->time;
			end = end < b->time ? end : b->time;
			if (end > begin)
				put(s, at, rate, (double)(end - begin), rate, rate);
		}
	}
	divide(s, g);
}

/* ---- several -------------------------------------------------------------------------------- */

static double join(double a, double b, enum metric_agg agg)
{
	if (agg == AGG_MAX)
		return a > b ? a : b;
	if (agg == AGG_MIN)
		return a < b ? a : b;
	return a + b;
}

void steps_add(struct steps *to, const struct steps *other, const struct steps_grid *g,
	       enum metric_agg agg)
{
	for (size_t i = 0; i < g->count; i++) {
		if (other->weight[i] <= 0)
			continue;
		bool first = to->weight[i] <= 0;

		to->value[i] = first ? other->value[i] : join(to->value[i], other->value[i], agg);
		to->low[i] = first ? other->low[i] : join(to->low[i], other->low[i], agg);
		to->high[i] = first ? other->high[i] : join(to->high[i], other->high[i], agg);
		to->weight[i] += 1;
	}
}

void steps_mean(struct steps *s, const struct steps_grid *g)
{
	for (size_t i = 0; i < g->count; i++) {
		if (s->weight[i] <= 0)
			continue;
		s->value[i] /= s->weight[i];
		s->low[i] /= s->weight[i];
		s->high[i] /= s->weight[i];
		s->weight[i] = 1;
	}
}

void steps_reduce(const struct steps *s, const struct steps_grid *g, size_t max, double factor,
		  struct curve *out)
{
	size_t each = (g->count + max - 1) / max;

	for (size_t i = 0; i < g->count; i += each) {
		struct curve_point p = {.time = g->from + (int64_t)i * g->step};
		size_t n = 0;

		for (size_t k = i; k < i + each && k < g->count; k++) {
			if (s->weight[k] <= 0)
				continue;
			p.low = n && p.low < s->low[k] ? p.low : s->low[k];
			p.high = n && p.high > s->high[k] ? p.high : s->high[k];
			p.value += s->value[k];
			n++;
		}
		if (n)
			curve_add(out, p.time, p.value / (double)n * factor, p.low * factor,
				  p.high * factor);
	}
}
