/* Rates, steps and sums of series over entities and hosts, for tables and charts; see
 * series_view.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "samples/time_mean.h"
#include "views/series_view.h"

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

static bool is_cpu_time(const char *metric)
{
	static const char *const times[] = {"process.usertime",   "process.systemtime",
					    "process.time_oncpu", "process.time_waiting",
					    "job_tasks.ac_utime", "job_tasks.ac_stime"};

	if (strstr(metric, "cpu_") && !strstr(metric, "pressure"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (!strcmp(metric, times[i]))
			return true;
	return false;
}

char *series_chart_unit(struct series_curve *c)
{
	const char *unit = c->s->unit;
	double factor = 0;

	if (!strcmp(c->s->metric, "process.cpu_percent"))
		factor = 0.01;
	else if (c->rate && !strcmp(unit, "us") && is_cpu_time(c->s->metric))
		factor = 1e-6;
	else if (c->rate && !strcmp(unit, "ns") && is_cpu_time(c->s->metric))
		factor = 1e-9;
	if (factor == 0)
		return series_curve_unit(c);
	c->scale = (c->scale != 0 ? c->scale : 1) * factor;
	return xstrdup("CPUs");
}

/* Raw numbers, which add up exactly, or scaled ones where scales differ. rates: a counter starts at
 * 0. */
static void to_curve(const struct series *s, const struct series_points *points, double scale,
		     bool rates, struct points *out)
{
	out->points = xreallocarray(NULL, points->count + 2, sizeof(*out->points));
	out->cap = points->count + 2;
	if (rates && s->kind == KIND_COUNTER && s->begin < s->first)
		points_add(out, s->begin, 0, 0, 0);
	for (size_t i = 0; i < points->count; i++) {
		double raw = (double)points->list[i].raw;
		double v = scale == 1 ? raw : series_value(raw, scale);

		points_add(out, points->list[i].time, v, v, v);
		out->points[out->count - 1].over = points->list[i].over;
	}
}

/* Makes rates and steps, as the options ask; true: the values are rates. */
static bool reduce(const struct series_options *o, const struct series *s, int64_t step,
		   struct points *c)
{
	bool counter = s->kind == KIND_COUNTER && (o->rate || step);
	struct points out = {0};

	if (counter && !step)
		points_become_rate(c);
	if (!step)
		return counter;
	if (counter)
		points_rate_steps(c, step, &out);
	else
		points_mean_steps(c, s->kind, step, &out);
	points_release(c);
	*c = out;
	return counter;
}

/* Of values as sampled. */
static double mean_of(const struct series *s, const struct points *c)
{
	if (s->kind != KIND_COUNTER)
		return points_time_mean(c, s->kind);
	return points_mean_rate(c, 1);
}

/* When entities that come and go were seen. */
struct seen {
	struct points_span *list;
	size_t count, cap;
};

/* The next run of a job sees it again after a gap. The time from its begin to the first sample does
 * not count as a period. */
static void note_seen(struct seen *seen, const struct series *s, const struct points *c)
{
	bool job = !strcmp(s->entity_kind, "job");
	struct time_usual usual = {0};

	for (size_t i = 0; i < c->count; i++) {
		int64_t time = c->points[i].time;

		if (i && !(job && i > 1 && time_usual_gap(&usual, time - c->points[i - 1].time))) {
			seen->list[seen->count - 1].to = time;
			continue;
		}
		GROW(seen->list, seen->count, seen->cap);
		seen->list[seen->count++] = (struct points_span){time, time};
	}
}

/* A device counts also while nobody samples; of a job that is unknown. */
static bool comes_and_goes(const struct series *s)
{
	return !strcmp(s->entity_kind, "process") || !strcmp(s->entity_kind, "job") ||
	       !strcmp(s->entity_kind, "cgroup");
}

/* Of a single series: a job is unknown between two of its runs, even where its counter grew. */
static void part_runs(const struct series *s, struct points *c)
{
	struct seen seen = {0};

	if (!comes_and_goes(s))
		return;
	note_seen(&seen, s, c);
	if (seen.count > 1)
		points_known(c, seen.list, seen.count);
	free(seen.list);
}

static int give(struct building *b, struct series_curve *c)
{
	int r = b->take(b->user, c);

	points_release(&c->points);
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
		bool rates = b->o->rate || b->o->step_us;
		to_curve(s, &points, 1, rates, &c.points);
		if (s->kind == KIND_COUNTER && rates)
			part_runs(s, &c.points);
		c.mean = mean_of(s, &c.points);
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

/* Cgroups are nested, and so are the domains of RAPL: does another series include this one, or its
 * parts? */
static bool is_inside(const struct series_list *l, size_t from, size_t to, const struct series *s)
{
	bool group = !strcmp(s->entity_kind, "cgroup"), rapl = !strcmp(s->metric, "rapl.energy");

	if (rapl && (str_prefix(s->entity, "package") || str_prefix(s->entity, "dram")))
		return false;
	for (size_t i = from; i < to && (group || rapl); i++) {
		const char *outer = l->list[i].entity;
		size_t n = strlen(outer);

		if (rapl && str_prefix(outer, "package"))
			return true;
		if (group && str_prefix(s->entity, outer) &&
		    (s->entity[n] == '/' || (n && s->entity[n] && outer[n - 1] == '/')))
			return true;
	}
	return false;
}

/* Is a series part of the sum of its host? One that was asked for by name is. */
static bool is_added(const struct building *b, const struct series_list *l, size_t from, size_t to,
		     size_t i)
{
	const struct series *s = &l->list[i];

	return s->agg != AGG_SUM || b->o->filter.entity ||
	       (series_adds_up(s) && !is_inside(l, from, to, s));
}

/* Names the first few series that are left out of the sum. */
static void note_left_out(struct building *b, const struct series_list *l, size_t from, size_t to)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		if (!is_added(b, l, from, to, i) && n++ < 5)
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", l->list[i].entity);
	if (n)
		strbuf_addf(b->notes, "%s of %s%s: left out of the sum, others include it\n",
			    l->list[from].metric, names.buf, n > 5 ? " and more" : "");
}

/*
 * The sum of all entities of a metric on one host, at the times of their samples. Counters of ended
 * entities stay in the sum. For rates only the increase while an entity was seen counts, and there
 * is no rate while none was seen.
 */
static int sum_host(struct building *b, const struct series_list *l, size_t from, size_t to,
		    bool one_scale, struct points *out)
{
	bool rates = l->list[from].kind == KIND_COUNTER && (b->o->rate || b->o->step_us);
	struct series_points points = {0};
	struct seen seen = {0};
	int r = 0;

	for (size_t i = from; i < to && r >= 0; i++) {
		const struct series *s = &l->list[i];
		bool counter = s->kind == KIND_COUNTER;
		_cleanup_points_ struct points c = {0};

		if (!is_added(b, l, from, to, i))
			continue;
		r = series_reader_load(&b->reader, &points, b->store, b->job, s);
		if (r < 0)
			break;
		to_curve(s, &points, one_scale ? 1 : s->scale, rates, &c);
		if (rates && comes_and_goes(s))
			note_seen(&seen, s, &c);
		/* one alone has its own gaps where it went back */
		if (rates && to - from > 1)
			points_growth(&c);
		if (out->count) {
			points_combine(out, &c, s->agg, counter);
			continue;
		}
		/* the first, and often the only one */
		points_release(out);
		*out = c;
		c = (struct points){0};
	}
	if (seen.count > 1)
		points_known(out, seen.list, seen.count);
	free(seen.list);
	series_points_release(&points);
	return r;
}

int64_t series_common_period(const struct points *curves, size_t count)
{
	int64_t period = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t own = points_period(&curves[i]);

		period = own > period ? own : period;
	}
	/* samples are never exact to the microsecond */
	return (period + 5000) / 10000 * 10000;
}

/* Hosts are not sampled at the same moment: each counts with its value nearest to a common time. */
static bool align(const struct series_options *o, const struct series *s, int64_t period,
		  struct points *c)
{
	struct points out = {0};

	if (!period || (s->kind == KIND_COUNTER && o->rate))
		return reduce(o, s, period, c);
	/* one sample may be missing; the counter of an ended host is carried on when
	 * combined */
	points_hold_steps(c, period, period, &out);
	points_release(c);
	*c = out;
	return false;
}

static int give_total(struct building *b, const struct series *s, double scale,
		      struct points *curves, size_t count)
{
	const struct series_options *o = b->o;
	int64_t period = count > 1 && !o->step_us ? series_common_period(curves, count) : 0;
	struct series_curve total = {.s = s, .scale = scale};

	if (s->kind == KIND_COUNTER)
		total.mean = points_mean_rate(curves, count);
	else if (count == 1)
		total.mean = mean_of(s, curves);
	for (size_t i = 0; i < count; i++)
		total.rate = o->step_us ? reduce(o, s, o->step_us, &curves[i])
					: align(o, s, period, &curves[i]);
	total.ranges = o->step_us && !total.rate;
	if (count == 1) {
		total.points = curves[0];
		curves[0] = (struct points){0};
		return give(b, &total);
	}
	points_combine_hosts(curves, count, s->agg, s->kind == KIND_COUNTER && !total.rate,
			     &total.points);
	if (s->kind != KIND_COUNTER)
		total.mean = points_time_mean(&total.points, s->kind);
	return give(b, &total);
}

static int give_sums(struct building *b, const struct series *s, double scale,
		     const char *const *hosts, struct points *curves, size_t count)
{
	int r = 0;

	if (b->o->sum == SERIES_TOTAL)
		return give_total(b, s, scale, curves, count);
	for (size_t i = 0; i < count && !r; i++) {
		struct series_curve c = {
			.s = s, .host = hosts[i], .scale = scale, .points = curves[i]};

		curves[i] = (struct points){0};
		c.mean = mean_of(s, &c.points);
		c.rate = reduce(b->o, s, b->o->step_us, &c.points);
		c.ranges = b->o->step_us && !c.rate;
		r = give(b, &c);
	}
	return r;
}

/* One metric of one kind of entities: the series from one place of the list to another. */
static int build_metric(struct building *b, const struct series_list *l, size_t from, size_t to)
{
	const struct series *s = &l->list[from];
	struct points *curves = NULL;
	const char **hosts = NULL;
	size_t count = 0;
	bool one_scale = true;
	int r = 0;

	note_left_out(b, l, from, to);
	for (size_t i = from; i < to; i++)
		one_scale = one_scale && l->list[i].scale == s->scale;
	for (size_t i = from, end; i < to && r >= 0; i = end) {
		for (end = i; end < to && !strcmp(l->list[end].host, l->list[i].host);)
			end++;
		curves = xreallocarray(curves, count + 1, sizeof(*curves));
		hosts = xreallocarray(hosts, count + 1, sizeof(*hosts));
		curves[count] = (struct points){0};
		hosts[count] = l->list[i].host;
		r = sum_host(b, l, i, end, one_scale, &curves[count++]);
	}
	if (r >= 0)
		r = give_sums(b, s, one_scale ? s->scale : 1, hosts, curves, count);
	for (size_t i = 0; i < count; i++)
		points_release(&curves[i]);
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
