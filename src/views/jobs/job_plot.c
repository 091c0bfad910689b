/* Charts of a job's series; see job_plot.h. */
#include "views/jobs/job_plot.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/text/similar.h"
#include "core/value.h"

/* A series on its way to a chart. */
struct jobplot_curve {
	const struct series *s;
	const char *host;
	bool entity;
	char *unit;
	struct points points;
	double mean; /* NAN: only part of the time is wanted */
};

void jobplot_release(struct jobplot *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct plot *q = &p->plots[i];

		for (size_t k = 0; k < q->line_count; k++)
			free((char *)q->lines[k].label);
		free(q->lines);
		free((char *)q->title);
		free((char *)q->subtitle);
		free((char *)q->y_label);
	}
	for (size_t i = 0; i < p->curve_count; i++) {
		free(p->curves[i].unit);
		points_release(&p->curves[i].points);
	}
	free(p->plots);
	free(p->spans);
	free(p->chosen.list);
	free(p->curves);
	*p = (struct jobplot){0};
}

/* ---- series ---------------------------------------------------------------------------------- */

struct taking {
	struct jobplot *p;
	const struct series_options *o;
};

/* The first mean or rate covers a time before it: the line begins there. */
static void begin_line(const struct series_curve *c, const struct series_options *o,
		       struct points *points)
{
	const struct point *first = points->points;

	if (!points->count || o->step_us || (!c->rate && c->s->kind != KIND_MEAN) ||
	    points_since(points, 0) >= first->time)
		return;
	struct point begin = *first;

	begin.time = points_since(points, 0);
	points_add(points, 0, 0, 0, 0);
	memmove(points->points + 1, points->points, (points->count - 1) * sizeof(*points->points));
	points->points[0] = begin;
}

/* Converts to the unit, and keeps only the time that was asked for. */
static int take(void *user, struct series_curve *c)
{
	struct taking *t = user;
	struct jobplot *p = t->p;
	const struct series_options *o = t->o;
	struct points *points = &c->points;
	bool whole = !o->has_since && !o->has_until;
	char *unit = series_chart_unit(c);
	size_t kept = 0;

	begin_line(c, o, points);
	for (size_t i = 0; i < points->count; i++) {
		struct point v = points->points[i];

		if ((o->has_since && v.time < o->since_us) ||
		    (o->has_until && v.time >= o->until_us))
			continue;
		if (c->scale != 1) {
			bool one = v.low == v.value && v.high == v.value;

			v.value = series_value(v.value, c->scale);
			v.low = one ? v.value : series_value(v.low, c->scale);
			v.high = one ? v.value : series_value(v.high, c->scale);
		}
		points->points[kept++] = v;
	}
	points->count = kept;
	GROW(p->curves, p->curve_count, p->curve_cap);
	p->curves[p->curve_count++] =
		(struct jobplot_curve){.s = c->s,
				       .host = c->host,
				       .entity = c->entity,
				       .unit = unit,
				       .mean = whole ? series_value(c->mean, c->scale) : NAN,
				       .points = *points};
	*points = (struct points){0};
	return 0;
}

/* ---- charts ---------------------------------------------------------------------------------- */

/* What the series of a chart differ in. */
struct difference {
	bool metric, host, entity;
};

/* "python3 (4711.2)", "eth0", "gpu 0". */
static void add_entity(struct strbuf *out, const struct series *s)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *metadata = NULL;
	const char *comm = NULL;

	if (!strcmp(s->entity_kind, "process") && s->metadata &&
	    value_from_json(s->metadata, strlen(s->metadata), &metadata, &why) == 0)
		comm = value_get_str(metadata, "comm");
	if (comm)
		strbuf_addf(out, "%s (%s)", comm, s->entity);
	else if (isdigit((unsigned char)*s->entity))
		strbuf_addf(out, "%s %s", s->entity_kind, s->entity);
	else
		strbuf_addstr(out, s->entity);
	value_free(metadata);
}

static char *label_of(const struct jobplot_curve *c, const struct difference *d)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (d->metric)
		strbuf_addstr(&out, c->s->metric);
	if (d->host) {
		strbuf_addstr(&out, out.len ? ", " : "");
		strbuf_addstr(&out, c->host ? c->host : "all hosts");
	}
	if (d->entity && c->entity) {
		strbuf_addstr(&out, out.len ? ", " : "");
		add_entity(&out, c->s);
	}
	return strbuf_take(&out);
}

/* The first three metrics. */
static char *title_of(const struct jobplot *p, const char *unit)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *last = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->curve_count; i++) {
		const struct jobplot_curve *c = &p->curves[i];

		if (strcmp(c->unit, unit) != 0 || (last && !strcmp(last, c->s->metric)))
			continue;
		last = c->s->metric;
		if (++n <= 3)
			strbuf_addf(&out, "%s%s", out.len ? ", " : "", last);
	}
	if (n > 3)
		strbuf_addf(&out, " and %zu more", n - 3);
	return strbuf_take(&out);
}

static struct difference differences(const struct jobplot *p, const char *unit)
{
	const struct jobplot_curve *first = NULL;
	struct difference d = {0};
	bool of_one = false;

	for (size_t i = 0; i < p->curve_count; i++) {
		const struct jobplot_curve *c = &p->curves[i];

		if (strcmp(c->unit, unit) != 0)
			continue;
		of_one = of_one || (c->entity && strcmp(c->s->entity_kind, "node") != 0);
		if (!first) {
			first = c;
			continue;
		}
		d.metric = d.metric || strcmp(c->s->metric, first->s->metric) != 0;
		d.host = d.host || !str_same(c->host, first->host);
		d.entity = d.entity || strcmp(c->s->entity, first->s->entity) != 0;
	}
	/* a single line is named after its host or entity */
	if (!d.metric && !d.host && !d.entity) {
		d.host = true;
		d.entity = of_one;
	}
	return d;
}

static void add_chart(struct jobplot *p, const char *unit, enum jobplot_scale scale)
{
	struct difference d = differences(p, unit);
	const struct series *first = NULL;
	bool rates = false;

	GROW(p->plots, p->count, p->cap);
	struct plot *q = &p->plots[p->count++];
	*q = (struct plot){.title = title_of(p, unit), .unit = unit};
	for (size_t i = 0; i < p->curve_count; i++) {
		struct jobplot_curve *c = &p->curves[i];

		if (strcmp(c->unit, unit) != 0)
			continue;
		first = first ? first : c->s;
		rates = rates || str_suffix(unit, "/s");
		q->lines = xreallocarray(q->lines, q->line_count + 1, sizeof(*q->lines));
		q->lines[q->line_count++] = (struct plot_line){.label = label_of(c, &d),
							       .points = c->points,
							       .has_mean = !isnan(c->mean),
							       .mean = c->mean};
	}
	if (first && !d.metric && !strcmp(unit, "CPUs") && !strcmp(first->unit, "%"))
		q->y_label = xstrdup("CPUs in use");
	else if (first && !d.metric && first->help && *first->help)
		q->y_label = xasprintf("%s%s", first->help, rates ? ", per second" : "");
	q->logarithmic = scale == JOBPLOT_LOG ? plot_has_positive(q)
					      : scale == JOBPLOT_BY_ITSELF && plot_log_helps(q);
}

/*
 * A metric may have series of the job and of each process, of a node and of each device. Single
 * lines want the parts; else the whole is better, since it includes short-lived processes.
 */
static unsigned rank_of(const char *kind, bool each)
{
	static const char *const whole[] = {"job", "node", "cgroup"};
	unsigned i = 0;

	while (i < ARRAY_SIZE(whole) && strcmp(whole[i], kind) != 0)
		i++;
	return each ? ARRAY_SIZE(whole) - i : i;
}

/* A series of the sampler itself does not count where the name was given without a source and other
 * sources have it. */
static bool is_of_sampler(const struct series_list *l, const struct series *s,
			  const struct word_list *asked)
{
	bool others = false;

	if (!str_prefix(s->metric, "sampler."))
		return false;
	for (size_t i = 0; i < asked->count; i++)
		if (strchr(asked->word[i], '.') && pattern_matches(asked->word[i], s->metric))
			return false;
	for (size_t i = 0; i < l->count && !others; i++)
		others = !str_prefix(l->list[i].metric, "sampler.");
	return others;
}

struct series_list series_choose(const struct series_list *l, const struct series_options *o)
{
	struct series_list some = {0};
	bool each = o->sum == SERIES_EACH;

	for (size_t i = 0, end; i < l->count; i = end) {
		unsigned best = UINT_MAX;

		for (end = i; end < l->count && !strcmp(l->list[end].metric, l->list[i].metric);
		     end++) {
			unsigned rank = rank_of(l->list[end].entity_kind, each);

			best = rank < best ? rank : best;
		}
		for (size_t k = i; k < end; k++) {
			if (is_of_sampler(l, &l->list[k], &o->filter.metrics) ||
			    (!o->filter.kind && rank_of(l->list[k].entity_kind, each) != best))
				continue;
			GROW(some.list, some.count, some.cap);
			some.list[some.count++] = l->list[k];
		}
	}
	return some;
}

int jobplot_load(struct jobplot *p, const struct series_list *l, struct store *s, int64_t job,
		 const struct series_options *o, enum jobplot_scale scale, struct strbuf *notes)
{
	struct series_options rates = *o;
	struct taking t = {p, o};

	p->chosen = series_choose(l, o);
	rates.rate = rates.each_unsummed = true;
	int r = series_curves(&p->chosen, s, job, &rates, take, &t, notes);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->curve_count; i++) {
		size_t k = 0;

		while (strcmp(p->curves[k].unit, p->curves[i].unit) != 0)
			k++;
		if (k == i)
			add_chart(p, p->curves[i].unit, scale);
	}
	return 0;
}

#define BANDS_MAX 500

void jobplot_add_phases(struct jobplot *p, const struct phase_list *l)
{
	_cleanup_free_ uint32_t *order = phase_lanes(l);
	_cleanup_free_ const struct phase_span **v = NULL;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < p->curve_count; i++) {
		const struct points *c = &p->curves[i].points;

		if (!c->count)
			continue;
		first = c->points[0].time < first ? c->points[0].time : first;
		last = c->points[c->count - 1].time > last ? c->points[c->count - 1].time : last;
	}
	if (last <= first)
		return;
	size_t count = phase_dividing(l, order, (last - first) * 1000 / PLOT_WIDTH, BANDS_MAX, &v);
	p->spans = xcalloc(count + 1, sizeof(*p->spans));
	for (size_t i = 0; i < count; i++)
		p->spans[i] = (struct plot_span){v[i]->begin_ns / 1000,
						 (v[i]->begin_ns + v[i]->duration_ns) / 1000,
						 l->names[v[i]->name]};
	for (size_t i = 0; i < p->count; i++) {
		p->plots[i].spans = p->spans;
		p->plots[i].span_count = count;
	}
}

/* ---- names ----------------------------------------------------------------------------------- */

void series_nearest(const struct series_list *l, const char *word, size_t max, struct strbuf *out)
{
	_cleanup_free_ const char **names = xcalloc(l->count + 1, sizeof(*names));
	size_t n = 0;

	/* the list is in the order of the names */
	for (size_t i = 0; i < l->count; i++)
		if (!n || strcmp(l->list[i].metric, names[n - 1]) != 0)
			names[n++] = l->list[i].metric;
	near_metrics(names, n, word, max, out);
}
