/*
 * Curves from the series of a job: rates, steps, and sums over entities and hosts; see series.h.
 * What prints them and what draws them takes them from here.
 */
#include <errno.h>
#include <string.h>

#include "views/series.h"

struct building {
	const struct series_options *o;
	struct store *store;
	int64_t job;
	int (*take)(void *user, struct series_curve *c);
	void *user;
	struct strbuf *notes;
	struct series_reader reader;
};

char *series_curve_unit(const struct series_curve *c)
{
	const char *unit = c->s->unit;

	if (!c->rate)
		return xstrdup(unit);
	return xasprintf("%s/s", !*unit || !strcmp(unit, "count") ? "1" : unit);
}

/* The raw numbers, which add up exactly, or with their scale where several differ. */
static void to_curve(const struct series_points *points, double scale, struct curve *out)
{
	out->points = xreallocarray(NULL, points->count + 1, sizeof(*out->points));
	out->cap = points->count + 1;
	for (size_t i = 0; i < points->count; i++) {
		double raw = (double)points->list[i].raw;
		double v = scale == 1 ? raw : series_value(raw, scale);

		out->points[i] = (struct curve_point){points->list[i].time, v, v, v};
	}
	out->count = points->count;
}

/* Rates and steps, as they are asked for; true when the values are rates. */
static bool reduce(const struct series_options *o, const struct series *s, int64_t step,
		   struct curve *c)
{
	bool counter = s->kind == KIND_COUNTER && (o->rate || step);
	struct curve out = {0};

	if (counter && !step)
		curve_become_rate(c);
	if (!step)
		return counter;
	if (counter)
		curve_rate_steps(c, step, &out);
	else
		curve_mean_steps(c, step, &out);
	curve_release(c);
	*c = out;
	return counter;
}

static int give(struct building *b, struct series_curve *c)
{
	int r = b->take(b->user, c);

	curve_release(&c->points);
	return r;
}

static int build_each(struct building *b, const struct series_list *l, size_t from, size_t to)
{
	struct series_points points = {0};
	int r = 0;

	for (size_t i = from; i < to && r >= 0; i++) {
		const struct series *s = &l->list[i];
		struct series_curve c = {
			.s = s, .host = s->host, .entity = true, .scale = s->scale};

		r = series_reader_load(&b->reader, &points, b->store, b->job, s);
		if (r < 0)
			break;
		to_curve(&points, 1, &c.points);
		c.rate = reduce(b->o, s, b->o->step_us, &c.points);
		c.ranges = !c.rate;
		r = give(b, &c);
		if (r)
			break;
	}
	series_points_release(&points);
	return r;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/*
 * All entities of a metric on one host, at the times of their readings. Counters of those that have
 * ended count on; for rates only what each grew by while it was seen counts.
 */
static int sum_host(struct building *b, const struct series_list *l, size_t from, size_t to,
		    bool one_scale, struct curve *out)
{
	struct series_points points = {0};
	int r = 0;

	for (size_t i = from; i < to && r >= 0; i++) {
		const struct series *s = &l->list[i];
		bool counter = s->kind == KIND_COUNTER;
		_cleanup_curve_ struct curve c = {0};

		r = series_reader_load(&b->reader, &points, b->store, b->job, s);
		if (r < 0)
			break;
		to_curve(&points, one_scale ? 1 : s->scale, &c);
		/* one alone has its own gaps where it went back */
		if (counter && (b->o->rate || b->o->step_us) && to - from > 1)
			curve_growth(&c);
		if (out->count) {
			curve_combine(out, &c, s->agg, counter);
			continue;
		}
		/* the first, and often the only one */
		curve_release(out);
		*out = c;
		c = (struct curve){0};
	}
	series_points_release(&points);
	return r;
}

int64_t series_common_period(const struct curve *curves, size_t count)
{
	int64_t period = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t own = curve_period(&curves[i]);

		period = own > period ? own : period;
	}
	/* readings are never to the microsecond */
	return (period + 5000) / 10000 * 10000;
}

/* Hosts are not read at the same moment: each counts with its last value before a common one. */
static bool align(const struct series_options *o, const struct series *s, int64_t period,
		  struct curve *c)
{
	struct curve out = {0};

	if (!period || (s->kind == KIND_COUNTER && o->rate))
		return reduce(o, s, period, c);
	/* one reading may be missing; a counter of a host that has ended is carried on when
	 * combined */
	curve_hold_steps(c, period, period + period / 2, &out);
	curve_release(c);
	*c = out;
	return false;
}

static int give_sums(struct building *b, const struct series *s, double scale,
		     const char *const *hosts, struct curve *curves, size_t count)
{
	const struct series_options *o = b->o;
	bool all = o->sum == SERIES_TOTAL;
	int64_t period = all && count > 1 && !o->step_us ? series_common_period(curves, count) : 0;
	struct series_curve total = {.s = s, .scale = scale};
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		struct series_curve c = {
			.s = s, .host = hosts[i], .scale = scale, .points = curves[i]};

		curves[i] = (struct curve){0};
		c.rate = o->step_us ? reduce(o, s, o->step_us, &c.points)
			 : all      ? align(o, s, period, &c.points)
				    : reduce(o, s, 0, &c.points);
		c.ranges = o->step_us && !c.rate;
		if (!all) {
			r = give(b, &c);
			continue;
		}
		total.rate = c.rate;
		total.ranges = c.ranges;
		curve_combine(&total.points, &c.points, s->agg, s->kind == KIND_COUNTER && !c.rate);
		curve_release(&c.points);
	}
	return all ? give(b, &total) : r;
}

/* One metric of one kind of entities: the series from one place of the list to another. */
static int build_metric(struct building *b, const struct series_list *l, size_t from, size_t to)
{
	const struct series *s = &l->list[from];
	struct curve *curves = NULL;
	const char **hosts = NULL;
	size_t count = 0;
	bool one_scale = true;
	int r = 0;

	for (size_t i = from; i < to; i++)
		one_scale = one_scale && l->list[i].scale == s->scale;
	for (size_t i = from, end; i < to && r >= 0; i = end) {
		for (end = i; end < to && !strcmp(l->list[end].host, l->list[i].host);)
			end++;
		curves = xreallocarray(curves, count + 1, sizeof(*curves));
		hosts = xreallocarray(hosts, count + 1, sizeof(*hosts));
		curves[count] = (struct curve){0};
		hosts[count] = l->list[i].host;
		r = sum_host(b, l, i, end, one_scale, &curves[count++]);
	}
	if (r >= 0)
		r = give_sums(b, s, one_scale ? s->scale : 1, hosts, curves, count);
	for (size_t i = 0; i < count; i++)
		curve_release(&curves[i]);
	free(curves);
	free(hosts);
	return r;
}

int series_curves(const struct series_list *l, struct store *s, int64_t job,
		  const struct series_options *o, int (*take)(void *user, struct series_curve *c),
		  void *user, struct strbuf *notes)
{
	struct building b = {o, s, job, take, user, notes, {0}};
	int r = 0;

	if (o->sum == SERIES_EACH)
		r = build_each(&b, l, 0, l->count);
	for (size_t i = 0, end; o->sum != SERIES_EACH && i < l->count && !r; i = end) {
		const struct series *of = &l->list[i];

		for (end = i; end < l->count && !strcmp(l->list[end].metric, of->metric) &&
			      !strcmp(l->list[end].entity_kind, of->entity_kind);)
			end++;
		if (of->agg == AGG_SUM || of->agg == AGG_MAX || of->agg == AGG_MIN)
			r = build_metric(&b, l, i, end);
		else if (o->each_unsummed)
			r = build_each(&b, l, i, end);
		else
			strbuf_addf(notes, "%s has no sum over entities; left out\n", of->metric);
	}
	series_reader_release(&b.reader);
	return r;
}
