/*
 * The series of a report; see report.h. A table selects them. All are resampled to one grid of fine
 * steps with the period of the sources, where entities and hosts are added up; then the grid is
 * reduced to what a chart can show, with extremes.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/report_internal.h"
#include "samples/resample.h"

#define FINE_MAX 8000  /* steps of the fine grid */
#define SINGLES_MAX 64 /* hosts or devices of a metric that get their own series */
/* A gauge with so many samples has a mean, whatever part of the time they cover. */
#define MEAN_READINGS 10

/* ---- the table ------------------------------------------------------------------------------ */

enum per {
	PER_HOST,   /* one series of all hosts, and one of each */
	PER_ENTITY, /* one of all, and one of each device */
};

struct series_row {
	const char *metric; /* a pattern */
	const char *label;  /* NULL: the metric's name */
	const char *panel;
	enum per per;
	const char *same; /* what it measures, where metrics with other labels measure the same;
			   * NULL: the label */
};

#define SERIES_OF(same, metric, label, panel, per) {metric, label, panel, per, same},
#define SERIES(metric, label, panel, per) SERIES_OF(NULL, metric, label, panel, per)
static const struct series_row series_rows[] = {
#include "report/report_series.def"
};
#undef SERIES
#undef SERIES_OF

/* ---- which series --------------------------------------------------------------------------- */

/* The series of one metric in the store that become those of the report, by host and entity. */
struct metric_run {
	const struct series_row *row;
	const struct series **list;
	size_t count, cap;
	size_t hosts;   /* different ones */
	size_t singles; /* hosts or devices that get their own series */
};

static const struct series_row *row_of(const char *metric)
{
	for (size_t i = 0; i < ARRAY_SIZE(series_rows); i++)
		if (pattern_matches(series_rows[i].metric, metric))
			return &series_rows[i];
	return NULL;
}

/* Which kind of entity stands for a host: its job, else the node as a whole, else all there are. */
static int kind_rank(const struct series_row *row, const char *kind)
{
	if (row->per == PER_ENTITY)
		return strcmp(kind, "node") != 0;
	return !strcmp(kind, "job")       ? 4
	       : !strcmp(kind, "node")    ? 3
	       : !strcmp(kind, "process") ? 1
					  : 2;
}

static int by_host(const void *a, const void *b)
{
	const struct series *x = *(const struct series *const *)a,
			    *y = *(const struct series *const *)b;
	int r = strverscmp(x->host, y->host);

	return r ? r : strverscmp(x->entity, y->entity);
}

/* Cgroups are nested: the one with the shortest name includes all of a host. */
static void keep_outermost(struct metric_run *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct series const *s = m->list[i], **to = n ? &m->list[n - 1] : NULL;

		if (!to || strcmp((*to)->host, s->host) != 0)
			m->list[n++] = s;
		else if (strlen(s->entity) < strlen((*to)->entity))
			*to = s;
	}
	m->count = n;
}

/* RAPL domains overlap: packages include cores and graphics, the platform includes all. Packages
 * and memory can be added. */
static void keep_disjoint(struct metric_run *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++)
		if (str_prefix(m->list[i]->entity, "package") ||
		    str_prefix(m->list[i]->entity, "dram"))
			m->list[n++] = m->list[i];
	m->count = n ? n : m->count;
}

/* The series of a second monitor of the same job are left out. */
static bool is_chosen(const struct metric_run *m, const struct series *s, int rank)
{
	return s->count > 0 && kind_rank(m->row, s->entity_kind) == rank &&
	       (strcmp(s->entity_kind, "job") != 0 || series_adds_up(s));
}

/* The series from..to of a metric. */
static void choose(struct metric_run *m, const struct series_list *l, size_t from, size_t to)
{
	int best = 0;

	for (size_t i = from; i < to; i++) {
		int rank = kind_rank(m->row, l->list[i].entity_kind);

		best = l->list[i].count > 0 && rank > best ? rank : best;
	}
	for (size_t i = from; i < to; i++) {
		if (!is_chosen(m, &l->list[i], best))
			continue;
		GROW(m->list, m->count, m->cap);
		m->list[m->count++] = &l->list[i];
	}
	if (m->count)
		qsort(m->list, m->count, sizeof(struct series *), by_host);
	if (m->count && !strcmp(m->list[0]->entity_kind, "cgroup"))
		keep_outermost(m);
	if (m->count && !strcmp(m->list[0]->metric, "rapl.energy"))
		keep_disjoint(m);
	for (size_t i = 0; i < m->count; i++)
		m->hosts += i == 0 || strcmp(m->list[i]->host, m->list[i - 1]->host) != 0;
}

struct runs {
	struct metric_run *list;
	size_t count, cap;
};

static void runs_release(struct runs *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i].list);
	free(r->list);
}

static int panel_place(const struct series_row *row)
{
	static const char *const panels[] = {"cpu",     "memory",       "io",
					     "network", "interconnect", "power",
					     "gpu",     "counters",     "pressure"};
	int i = 0;

	while (i < (int)ARRAY_SIZE(panels) && strcmp(panels[i], row->panel) != 0)
		i++;
	return i;
}

static int by_row(const void *a, const void *b)
{
	const struct metric_run *x = a, *y = b;

	int r = panel_place(x->row) - panel_place(y->row);

	if (r || x->row != y->row)
		return r ? r : x->row < y->row ? -1 : 1;
	return strcmp(x->list[0]->metric, y->list[0]->metric);
}

/*
 * On a node job_energy and job_tasks have the part that belongs to no job. An exit record has the
 * CPU time of a whole life at its end: rates of those mean nothing, unless living tasks are
 * counted, too.
 */
static bool is_of_job(const struct metric_run *m, bool living)
{
	const struct series *s = m->list[0];
	bool tasks = str_prefix(s->metric, "job_tasks.");

	if (!tasks && strcmp(s->metric, "job_energy.energy") != 0)
		return true;
	return !strcmp(s->entity_kind, "job") && (living || !tasks);
}

static void find_runs(struct report_loading *l, struct runs *r)
{
	const struct series_list *s = &l->series;
	bool living = false;

	for (size_t i = 0; i < s->count; i++)
		living |= !strcmp(s->list[i].metric, "job_tasks.tasks_alive");
	for (size_t i = 0, to; i < s->count; i = to) {
		struct metric_run m = {.row = row_of(s->list[i].metric)};

		for (to = i + 1; to < s->count && !strcmp(s->list[to].metric, s->list[i].metric);)
			to++;
		if (!m.row)
			continue;
		choose(&m, s, i, to);
		if (!m.count || !is_of_job(&m, living)) {
			free(m.list);
			continue;
		}
		GROW(r->list, r->count, r->cap);
		r->list[r->count++] = m;
	}
	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), by_row);
}

/* Each metric has a series of all hosts; the rest of the room goes to single hosts and devices, in
 * the order of the table, so that many hosts do not displace other metrics. */
static void share_room(struct report *r, struct runs *runs)
{
	size_t room = REPORT_SERIES_MAX;

	if (runs->count > REPORT_SERIES_MAX) {
		for (size_t i = REPORT_SERIES_MAX; i < runs->count; i++)
			free(runs->list[i].list);
		r->series_left_out += runs->count - REPORT_SERIES_MAX;
		runs->count = REPORT_SERIES_MAX;
	}
	room -= runs->count;
	for (size_t i = 0; i < runs->count; i++) {
		struct metric_run *m = &runs->list[i];
		size_t wanted = m->row->per == PER_ENTITY ? m->count : m->hosts > 1 ? m->hosts : 0;

		m->singles = wanted < SINGLES_MAX ? wanted : SINGLES_MAX;
		m->singles = m->singles < room ? m->singles : room;
		room -= m->singles;
		r->series_left_out += wanted - m->singles;
	}
}

static struct resample_grid common_grid(const struct runs *runs)
{
	int64_t from = INT64_MAX, to = INT64_MIN, period = INT64_MAX;

	for (size_t i = 0; i < runs->count; i++)
		for (size_t k = 0; k < runs->list[i].count; k++) {
			const struct series *s = runs->list[i].list[k];
			int64_t each = s->count > 1 ? (s->last - s->first) / (s->count - 1) : 0;

			from = s->begin < from ? s->begin : from;
			to = s->last > to ? s->last : to;
			period = each > 0 && each < period ? each : period;
		}
	/* hostile times must not overflow */
	if (from > to || to - from < 0)
		to = from;
	return resample_grid(from, to, period == INT64_MAX ? 1000000 : period, FINE_MAX);
}

/* ---- series --------------------------------------------------------------------------------- */

struct drawing {
	struct report_loading *l;
	struct resample_grid grid;
	struct resample one, host, all; /* of an entity, a host, all hosts */
	bool *looked;                   /* steps with a sample of the series that has most */
	struct series_reader reader;
	struct series_points points;
	struct points curve;
};

static int read_series(struct drawing *d, const struct series *s)
{
	int r = series_reader_load(&d->reader, &d->points, d->l->store, d->l->job, s);

	if (r < 0)
		return r;
	d->curve.count = 0;
	if (s->kind == KIND_COUNTER && s->begin < s->first)
		points_add(&d->curve, s->begin, 0, 0, 0);
	for (size_t i = 0; i < d->points.count; i++) {
		double v = series_value((double)d->points.list[i].raw, s->scale);

		points_add(&d->curve, d->points.list[i].time, v, v, v);
		d->curve.points[d->curve.count - 1].over = d->points.list[i].over;
	}
	resample_take(&d->one, &d->grid, &d->curve, s->kind);
	return 0;
}

/* A rate's unit, and what to multiply by: energy is power, CPU time a number of CPUs. */
static char *unit_of(const struct metric_run *m, double *ret_factor)
{
	const struct series *s = m->list[0];
	bool us = !strcmp(s->unit, "us"), ns = !strcmp(s->unit, "ns");
	double seconds = us ? 1e-6 : 1e-9;

	*ret_factor = 1;
	/* the same scale for CPU usage of any source */
	if (!strcmp(s->metric, "process.cpu_percent")) {
		*ret_factor = 0.01;
		return xstrdup("CPUs");
	}
	if (s->kind != KIND_COUNTER)
		return xstrdup(s->unit);
	if (!strcmp(s->unit, "J"))
		return xstrdup("W");
	if (us || ns) {
		bool share = !strcmp(m->row->panel, "pressure");

		*ret_factor = share ? seconds * 100 : seconds;
		return xstrdup(share ? "%" : !strcmp(m->row->panel, "io") ? "tasks" : "CPUs");
	}
	return xasprintf("%s/s", !*s->unit || !strcmp(s->unit, "count") ? "1" : s->unit);
}

/* "counters.context_switches" as "context switches". */
static char *label_of(const struct metric_run *m)
{
	const char *dot = strchr(m->list[0]->metric, '.');
	char *text = xstrdup(m->row->label ? m->row->label : dot ? dot + 1 : m->list[0]->metric);

	for (char *p = text; !m->row->label && (p = strchr(p, '_'));)
		*p = ' ';
	return text;
}

/* "gpu 0" instead of "0". */
static char *entity_name(const struct series *s)
{
	return s->entity[0] >= '0' && s->entity[0] <= '9'
		       ? xasprintf("%s %s", s->entity_kind, s->entity)
		       : xstrdup(s->entity);
}

/* A counter with one sample has no rate. */
static bool is_empty(const struct drawing *d, const struct resample *s)
{
	for (size_t i = 0; i < d->grid.count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is there */
		if (resample_known(s, &d->grid, i))
			return false;
	return true;
}

/* A gauge with few samples, or with samples of a part of the job, has no comparable mean. */
static bool has_mean(const struct drawing *d, const struct report_series *c, enum metric_kind kind)
{
	const struct points *p = &c->points;
	double span = p->count ? (double)(p->points[p->count - 1].time - p->points[0].time) : 0;

	return kind != KIND_GAUGE || c->readings >= MEAN_READINGS ||
	       (!c->seldom && span >= 0.8 * (double)d->grid.step * (double)(d->grid.count - 1));
}

/* How entities are combined: shares of the time of devices are averaged. */
static enum metric_agg agg_of(const struct metric_run *m)
{
	const struct series *s = m->list[0];

	return m->row->per == PER_ENTITY && !strcmp(s->unit, "%") ? AGG_NONE : s->agg;
}

static const char *agg_word(enum metric_agg agg)
{
	return agg == AGG_SUM   ? "sum"
	       : agg == AGG_MAX ? "largest"
	       : agg == AGG_MIN ? "smallest"
				: "mean";
}

static void add_series(struct drawing *d, const struct metric_run *m, const struct resample *from,
		       const char *host, const struct series *entity)
{
	struct report *r = d->l->r;
	const struct series *s = m->list[0];
	size_t parts = host ? 1 : m->row->per == PER_ENTITY ? m->count : m->hosts;
	struct report_series c = {.metric = xstrdup(s->metric),
				  .label = label_of(m),
				  .host = host ? xstrdup(host) : NULL,
				  .entity = entity ? entity_name(entity) : NULL,
				  .panel = xstrdup(m->row->panel),
				  .same = m->row->same,
				  .together = agg_word(agg_of(m)),
				  .parts = parts,
				  .devices = m->row->per == PER_ENTITY,
				  .counter = s->kind == KIND_COUNTER,
				  .mean = NAN,
				  .maximum = NAN};
	double factor;

	for (size_t i = 0; i < m->count; i++)
		if ((!entity || m->list[i] == entity) &&
		    (!host || !strcmp(m->list[i]->host, host)) && m->list[i]->count > c.readings)
			c.readings = m->list[i]->count;
	c.unit = unit_of(m, &factor);
	c.seldom = resample_reduce(from, &d->grid, d->looked, REPORT_POINTS, factor, &c.points);
	for (size_t i = 0; i < c.points.count; i++)
		c.maximum = i && c.maximum > c.points.points[i].high ? c.maximum
								     : c.points.points[i].high;
	if (has_mean(d, &c, s->kind))
		c.mean = resample_time_mean(from, &d->grid) * factor;
	GROW(r->series, r->series_count, r->series_cap);
	r->series[r->series_count++] = c;
}

static int draw_run(struct drawing *d, const struct metric_run *m)
{
	enum metric_agg agg = agg_of(m);
	size_t hosts = 0, place = d->l->r->series_count;
	int r;

	resample_clear(&d->all, &d->grid);
	for (size_t i = 0, to; i < m->count; i = to, hosts++) {
		const char *host = m->list[i]->host;

		resample_clear(&d->host, &d->grid);
		for (to = i; to < m->count && !strcmp(m->list[to]->host, host); to++) {
			r = read_series(d, m->list[to]);
			if (r < 0)
				return r;
			resample_add(&d->host, &d->one, &d->grid, agg);
			if (m->row->per == PER_ENTITY && to < m->singles && !is_empty(d, &d->one))
				add_series(d, m, &d->one, host, m->list[to]);
		}
		if (agg == AGG_NONE || agg == AGG_SET)
			resample_mean(&d->host, &d->grid);
		if (m->row->per == PER_HOST && hosts < m->singles && !is_empty(d, &d->host))
			add_series(d, m, &d->host, host, NULL);
		resample_add(&d->all, &d->host, &d->grid, agg);
	}
	if (agg == AGG_NONE || agg == AGG_SET)
		resample_mean(&d->all, &d->grid);
	if (is_empty(d, &d->all))
		return 0;
	/* all of them come first */
	add_series(d, m, &d->all, NULL, NULL);
	struct report_series *list = d->l->r->series, last = list[d->l->r->series_count - 1];
	memmove(&list[place + 1], &list[place],
		(d->l->r->series_count - 1 - place) * sizeof(*list));
	list[place] = last;
	return 0;
}

/* When the job was sampled, by any source. */
static int find_looks(struct drawing *d, const struct runs *runs)
{
	const struct series *most = runs->list[0].list[0];

	for (size_t i = 0; i < runs->count; i++)
		for (size_t k = 0; k < runs->list[i].count; k++)
			if (runs->list[i].list[k]->count > most->count)
				most = runs->list[i].list[k];
	int r = read_series(d, most);
	if (r >= 0)
		memcpy(d->looked, d->one.read, d->grid.count * sizeof(*d->looked));
	return r;
}

static int draw(struct report_loading *l, const struct runs *runs)
{
	struct drawing d = {.l = l, .grid = common_grid(runs)};

	resample_init(&d.one, &d.grid);
	resample_init(&d.host, &d.grid);
	resample_init(&d.all, &d.grid);
	d.looked = xcalloc(d.grid.count + 1, sizeof(*d.looked));
	int r = find_looks(&d, runs);
	for (size_t i = 0; i < runs->count && r >= 0; i++)
		r = draw_run(&d, &runs->list[i]);
	resample_release(&d.one);
	resample_release(&d.host);
	resample_release(&d.all);
	free(d.looked);
	series_reader_release(&d.reader);
	series_points_release(&d.points);
	points_release(&d.curve);
	return r;
}

/* Does a metric before it have this label? */
static bool label_is_taken(const struct report *r, size_t series)
{
	const struct report_series *c = &r->series[series];

	for (size_t i = 0; i < series; i++)
		if (str_same(r->series[i].label, c->label) &&
		    str_same(r->series[i].panel, c->panel) &&
		    !str_same(r->series[i].metric, c->metric))
			return true;
	return false;
}

/* Series with the same label and different values get their source as a suffix: "threads
 * (process)". */
static void name_sources(struct report *r)
{
	for (size_t i = 0, to; i < r->series_count; i = to) {
		const char *metric = r->series[i].metric;
		bool repeats = true;

		for (to = i; to < r->series_count && str_same(r->series[to].metric, metric); to++)
			repeats = repeats && report_series_repeats(r, to);
		if (repeats || !label_is_taken(r, i))
			continue;
		for (size_t k = i; k < to; k++) {
			struct report_series *c = &r->series[k];
			char *label =
				xasprintf("%s (%.*s)", c->label, (int)strcspn(metric, "."), metric);

			free(c->label);
			c->label = label;
		}
	}
}

int report_load_series(struct report_loading *l)
{
	const struct series_filter every = {0};
	_cleanup_(runs_release) struct runs runs = {0};
	int r = series_list_load(&l->series, l->store, l->job, &every);

	if (r < 0)
		return r;
	find_runs(l, &runs);
	share_room(l->r, &runs);
	if (runs.count)
		r = draw(l, &runs);
	name_sources(l->r);
	l->r->has_series = l->r->series_count > 0;
	return r;
}
