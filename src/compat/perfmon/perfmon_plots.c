/* perfmon's plots from a store; see perfmon_plots.h. */
#include "compat/perfmon/perfmon_plots.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/units.h"

#define MANY_HOSTS 64      /* number of points above which series are resampled to save memory */
#define STEPS_OF_MANY 1500 /* points after resampling */

/* Sources of the values of a plot: the first that the job has. */
struct origin {
	const char *metric, *kind, *entity; /* entity: a pattern; NULL: any */
};

struct row {
	const char *name; /* in file names; NULL: perfmon has no such plot */
	const char *title;
	const char *unit; /* NULL: the unit of the series */
	struct origin from[4];
	bool mean; /* mean of all nodes; else their sum */
	bool logarithmic, each;
	unsigned page;
};

/* clang-format off */
#define NETWORK(metric) {{"network." metric, "node", NULL}, {"network." metric, "interface", NULL}}
#define FABRIC(metric) {{"infiniband." metric, "node", NULL}, {"infiniband." metric, "port", NULL}}
#define RAPL(domain) {{"rapl.energy", "package", domain "-*"}}
#define GPU(metric) {{"nvidia." metric, "gpu", NULL}, {"amdgpu." metric, "gpu", NULL}}
static const struct row rows[] = {
	{"CPU_Load", "CPU load", NULL, {{"process.cpu_percent", "job", NULL}, {"process.cpu_percent", "process", NULL}, {"system.cpu_percent", "node", NULL}}, true, false, false, 0},
	{"Memory", "Memory", NULL, {{"process.rss", "job", NULL}, {"process.rss", "process", NULL}, {"system.mem_used", "node", NULL}}, true, false, false, 0},
	{"Memory_Bandwidth_(Read)", "Memory bandwidth (read)", NULL, {{"counters.MEM_READ.bandwidth", "job", NULL}}, true, false, false, 0},
	{NULL, "Read by system calls", NULL, {{"process.rchar", "job", NULL}}, false, false, false, 1},
	{NULL, "Written by system calls", NULL, {{"process.wchar", "job", NULL}}, false, false, false, 1},
	{"Output_Traffic", "Output traffic", NULL, NETWORK("tx_bytes"), false, true, false, 2},
	{"Input_Traffic", "Input traffic", NULL, NETWORK("rx_bytes"), false, true, false, 2},
	{"Packets_Output", "Packets, output", NULL, NETWORK("tx_packets"), false, true, false, 2},
	{"Packets_Input", "Packets, input", NULL, NETWORK("rx_packets"), false, true, false, 2},
	{"Interconnect_Output_Traffic", "Interconnect, output traffic", NULL, FABRIC("port_xmit_data"), false, true, false, 3},
	{"Interconnect_Input_Traffic", "Interconnect, input traffic", NULL, FABRIC("port_rcv_data"), false, true, false, 3},
	{"Interconnect_Packets_Output", "Interconnect, packets, output", NULL, FABRIC("port_xmit_packets"), false, true, false, 3},
	{"Interconnect_Packets_Input", "Interconnect, packets, input", NULL, FABRIC("port_rcv_packets"), false, true, false, 3},
	{"RAPL_Package_Power", "Power of packages (RAPL)", "W", RAPL("package"), false, false, false, 4},
	{"RAPL_DRAM_Power", "Power of DRAM (RAPL)", "W", RAPL("dram"), false, false, false, 4},
	{"RAPL_Core_Power", "Power of cores (RAPL)", "W", RAPL("core"), false, false, false, 4},
	{"RAPL_Uncore_Power", "Power of uncore (RAPL)", "W", RAPL("uncore"), false, false, false, 4},
	{NULL, "GPU load", NULL, GPU("utilization_gpu"), true, false, true, 5},
	{NULL, "GPU memory", NULL, GPU("memory_used"), true, false, true, 5},
	{NULL, "GPU power", NULL, GPU("power"), true, false, true, 5},
	{NULL, "GPU temperature", NULL, GPU("temperature"), true, false, true, 5},
};
/* clang-format on */
#define PAGES 6u

void perfmon_charts_release(struct perfmon_charts *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct plot *p = &c->list[i].plot;

		for (size_t k = 0; k < p->line_count; k++) {
			free((char *)p->lines[k].label);
			points_release(&p->lines[k].points);
		}
		free(p->lines);
		free((char *)p->title);
		free((char *)p->subtitle);
		free((char *)p->unit);
		free(c->list[i].file);
	}
	free(c->list);
	*c = (struct perfmon_charts){0};
}

/* ---- series --------------------------------------------------------------------------------- */

/* The series of the first source that the job has; the list keeps them. */
static struct series_list choose(const struct series_list *all, const struct row *r)
{
	struct series_list some = {0};

	for (size_t f = 0; f < ARRAY_SIZE(r->from) && r->from[f].metric && !some.count; f++) {
		const struct origin *o = &r->from[f];

		for (size_t i = 0; i < all->count; i++) {
			const struct series *s = &all->list[i];

			if (strcmp(s->metric, o->metric) != 0 ||
			    strcmp(s->entity_kind, o->kind) != 0 ||
			    (o->entity && !pattern_matches(o->entity, s->entity)))
				continue;
			GROW(some.list, some.count, some.cap);
			some.list[some.count++] = *s;
		}
	}
	return some;
}

struct gathering {
	const struct row *row;
	struct plot *plot;
};

static int take(void *user, struct series_curve *c)
{
	struct gathering *g = user;
	struct plot *p = g->plot;
	char *unit = g->row->unit ? xstrdup(g->row->unit) : series_chart_unit(c);

	for (size_t i = 0; c->scale != 1 && i < c->points.count; i++) {
		struct point *v = &c->points.points[i];

		v->value = series_value(v->value, c->scale);
		v->low = series_value(v->low, c->scale);
		v->high = series_value(v->high, c->scale);
	}
	if (p->unit)
		free(unit);
	else
		p->unit = unit;
	p->lines = xreallocarray(p->lines, p->line_count + 1, sizeof(*p->lines));
	p->lines[p->line_count++] = (struct plot_line){
		.label = g->row->each ? xasprintf("%s, GPU %s", c->host, c->s->entity)
				      : xstrdup(c->host ? c->host : ""),
		.points = c->points,
		.has_mean = !isnan(c->mean),
		.mean = series_value(c->mean, c->scale)};
	c->points = (struct points){0};
	return 0;
}

/* The mean of the series that have a value; all points have common times. */
static void divide(const struct points *held, size_t count, struct points *sum)
{
	_cleanup_free_ size_t *next = xcalloc(count + 1, sizeof(*next));

	for (size_t i = 0; i < sum->count; i++) {
		struct point *v = &sum->points[i];
		double n = 0, value = 0, low = 0, high = 0;

		for (size_t k = 0; k < count; k++) {
			const struct points *c = &held[k];

			while (next[k] < c->count && c->points[next[k]].time < v->time)
				next[k]++;
			if (next[k] == c->count || c->points[next[k]].time != v->time)
				continue;
			value += c->points[next[k]].value;
			low += c->points[next[k]].low;
			high += c->points[next[k]].high;
			n++;
		}
		*v = (struct point){v->time, value / n, low / n, high / n, 0};
	}
}

/* All nodes at common times: the mean of those that have a value, or the sum, which is unknown
 * where one of them has a gap. */
static struct points together(const struct plot *nodes, bool mean)
{
	struct points sum = {0}, *series = xcalloc(nodes->line_count + 1, sizeof(*series));
	struct points *held = xcalloc(nodes->line_count + 1, sizeof(*held));

	for (size_t i = 0; i < nodes->line_count; i++)
		series[i] = nodes->lines[i].points;
	int64_t period =
		nodes->line_count > 1 ? series_common_period(series, nodes->line_count) : 0;

	for (size_t i = 0; i < nodes->line_count && period; i++)
		points_hold_steps(&series[i], period, period, &held[i]);
	points_combine_hosts(period ? held : series, nodes->line_count, AGG_SUM, false, &sum);
	if (mean && period)
		divide(held, nodes->line_count, &sum);
	for (size_t i = 0; i < nodes->line_count; i++)
		points_release(&held[i]);
	free(held);
	free(series);
	return sum;
}

/* ---- charts --------------------------------------------------------------------------------- */

/* "per node: average 12.3 GiB, maximum 14 GiB", without "per node" if there is one node. */
static char *figures(const struct plot *nodes, const char *of)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	double sum = 0, maximum = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < nodes->line_count; i++) {
		double mean, most;

		plot_line_figures(&nodes->lines[i], &mean, &most);
		if (!isfinite(mean))
			continue;
		sum += mean;
		maximum = most > maximum ? most : maximum;
		n++;
	}
	if (nodes->line_count > 1)
		strbuf_addf(&out, "per %s: ", of);
	strbuf_addstr(&out, "average ");
	unit_add_value(&out, n ? sum / (double)n : NAN, nodes->unit);
	strbuf_addstr(&out, ", maximum ");
	unit_add_value(&out, n ? maximum : NAN, nodes->unit);
	return strbuf_take(&out);
}

static struct perfmon_chart *add(struct perfmon_charts *c, unsigned page, const struct plot *plot)
{
	GROW(c->list, c->count, c->cap);
	c->list[c->count] = (struct perfmon_chart){.plot = *plot, .page = page};
	return &c->list[c->count++];
}

static void add_all_nodes(struct perfmon_charts *c, const struct row *r, const struct plot *nodes)
{
	struct plot p = {
		.title = xasprintf("%s, %s of all nodes", r->title, r->mean ? "average" : "sum"),
		.subtitle = figures(nodes, "node"),
		.unit = xstrdup(nodes->unit),
		.logarithmic = r->logarithmic,
		.line_count = 1};

	p.lines = xcalloc(1, sizeof(*p.lines));
	p.lines[0] = (struct plot_line){.label = xstrdup(""), .points = together(nodes, r->mean)};
	char *file =
		r->name ? xasprintf("%s_%s_all_nodes.png", r->mean ? "Average" : "Total", r->name)
			: NULL;
	add(c, r->page, &p)->file = file;
}

static void add_per_node(struct perfmon_charts *c, const struct row *r, struct plot *nodes)
{
	nodes->title = r->each ? xasprintf("%s, each GPU", r->title)
			       : xasprintf("%s, each node", r->title);
	nodes->subtitle = figures(nodes, r->each ? "GPU" : "node");
	nodes->logarithmic = r->logarithmic;
	add(c, PAGES + r->page, nodes)->file =
		r->name ? xasprintf("%s_per_node.png", r->name) : NULL;
}

/* Series of thousands of nodes would not fit into memory unless resampled. */
static int64_t step_for(const struct series_list *l)
{
	int64_t first = INT64_MAX, last = INT64_MIN, most = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct series *s = &l->list[i];

		first = s->first < first ? s->first : first;
		last = s->last > last ? s->last : last;
		most = s->count > most ? s->count : most;
	}
	if (l->count <= MANY_HOSTS || most <= STEPS_OF_MANY || last <= first)
		return 0;
	return (last - first) / STEPS_OF_MANY + 1;
}

static int add_row(struct perfmon_charts *all, struct perfmon_charts *per, const struct row *r,
		   const struct series_list *list, struct store *s, int64_t job)
{
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT;
	struct series_list some = choose(list, r);
	struct perfmon_charts lost = {0};
	struct plot nodes = {0};
	struct gathering g = {r, &nodes};
	const struct series_options o = {.rate = true,
					 .each_unsummed = true,
					 .sum = r->each ? SERIES_EACH : SERIES_PER_HOST,
					 .step_us = step_for(&some)};
	size_t points = 0;
	int e = some.count ? series_curves(&some, s, job, &o, take, &g, &notes) : 0;

	free(some.list);
	for (size_t i = 0; i < nodes.line_count; i++)
		points += nodes.lines[i].points.count;
	if (e >= 0 && points && !r->each)
		add_all_nodes(all, r, &nodes);
	add_per_node(e >= 0 && points ? per : &lost, r, &nodes);
	perfmon_charts_release(&lost);
	return e;
}

int perfmon_charts_load(struct perfmon_charts *c, struct store *s, int64_t job)
{
	_cleanup_(series_list_release) struct series_list list = {0};
	struct perfmon_charts per = {0};
	int r = series_list_load(&list, s, job, &(struct series_filter){0});

	for (size_t i = 0; i < ARRAY_SIZE(rows) && r >= 0; i++)
		r = add_row(c, &per, &rows[i], &list, s, job);
	for (size_t i = 0; i < per.count; i++) {
		GROW(c->list, c->count, c->cap);
		c->list[c->count++] = per.list[i];
	}
	free(per.list);
	return r < 0 ? r : 0;
}

size_t perfmon_charts_page(const struct perfmon_charts *c, size_t from)
{
	size_t end = from;

	while (end < c->count && c->list[end].page == c->list[from].page)
		end++;
	return end - from;
}

int perfmon_charts_write(const struct perfmon_charts *c, const char *dir, struct strbuf *why)
{
	int n = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (!c->list[i].file)
			continue;
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, c->list[i].file);
		int r = plot_pictures(&c->list[i].plot, 1, PLOT_PNG, PLOT_WIDTH, PLOT_HEIGHT, path,
				      why);

		if (r < 0)
			return r;
		n++;
	}
	return n;
}
