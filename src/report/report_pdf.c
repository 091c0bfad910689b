/*
 * A report as A4 pages: verdict, key figures, charts, tables. The text is made here and laid out by
 * the module "draw", which knows headings and rows by their first character: clean() keeps texts of
 * the user from becoming one.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "core/text/units.h"
#include "report/report.h"
#include "report/report_pdf.h"

#define FIGURE_COLUMNS 84 /* of text behind the name of a figure */
#define ROWS_SHOWN 60     /* of executables, hosts and the like */
#define TEXT_BYTES 300
#define SERIES_IN_FRONT 22 /* which fit on a page with the figures */

/* Adds a text of the user, on one line. */
static void clean(struct strbuf *out, const char *s)
{
	size_t n = s ? strnlen(s, TEXT_BYTES + 1) : 0;
	bool cut = n > TEXT_BYTES;

	if (cut)
		for (n = TEXT_BYTES; n && ((unsigned char)s[n] & 0xc0) == 0x80;)
			n--;
	text_add_printable(out, s ? s : "", n);
	if (cut)
		strbuf_addstr(out, "\xe2\x80\xa6");
}

static void clean_between(struct strbuf *out, const char *before, const char *s, const char *after)
{
	strbuf_addstr(out, before);
	clean(out, s);
	strbuf_addstr(out, after);
}

static const struct job_row *row_of(const struct report *r)
{
	return &r->show.list.rows[0];
}

static const char *text_of(const struct report *r, size_t place)
{
	const char *s = joblist_text(&r->show.list, place);

	return s ? s : "";
}

static void add_cell(struct strbuf *out, int64_t v, void (*add)(struct strbuf *, int64_t, bool))
{
	strbuf_addch(out, '\t');
	if (v == UNKNOWN)
		strbuf_addch(out, '-');
	else
		add(out, v, true);
}

/* ---- the first pages ------------------------------------------------------------------------- */

static void add_header(const struct report *r, const char *nodes, struct strbuf *out)
{
	const struct job_row *row = row_of(r);

	clean_between(out, "Job ID: ", text_of(r, row->jobid), ", User: ");
	clean(out, row->user ? text_of(r, row->user) : "-");
	strbuf_addf(out, ", %s: %u, Date: ", nodes, row->hosts.count);
	if (row->start == UNKNOWN)
		strbuf_addstr(out, "-");
	else
		text_add_local_time(out, row->start);
}

static void add_findings(const struct report *r, struct strbuf *out)
{
	static const char *const words[] = {"Note", "Warning", "Severe"};

	strbuf_addstr(out, "# What limited the job\n");
	if (!r->findings.count)
		strbuf_addstr(out, "Nothing stands out in what was measured.\n");
	for (size_t i = 0; i < r->findings.count; i++) {
		const struct finding *f = &r->findings.list[i];

		strbuf_addf(out, "## %s: ", words[f->weight <= FINDING_SEVERE ? f->weight : 0]);
		clean(out, f->title);
		clean_between(out, "\n\342\200\242 ", f->details, "");
		if (f->advice && *f->advice)
			clean_between(out, "\n\342\200\242 What to do: ", f->advice, "");
		if (f->command)
			clean_between(out, "\n\342\200\242 ", f->command, "");
		strbuf_addch(out, '\n');
	}
}

/* A row of the figures; what does not fit goes on in rows without a name. */
static void add_figure(void *user, const char *name, const char *text)
{
	_cleanup_strbuf_ struct strbuf lines = STRBUF_INIT, safe = STRBUF_INIT;
	struct strbuf *out = user;

	clean(&safe, text);
	text_add_wrapped(&lines, safe.buf, 0, FIGURE_COLUMNS);
	strbuf_addch(out, *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name);
	strbuf_addf(out, "%s\t", name + 1);
	for (const char *p = lines.buf; *p; p++)
		strbuf_addstr(out, *p == '\n' ? "\n\t" : (const char[]){*p, 0});
	strbuf_addch(out, '\n');
}

/* Of the whole job, and not the same as another. */
static bool is_figure(const struct report *r, size_t i)
{
	const struct report_series *c = &r->series[i];

	return !c->host && !c->entity && (isfinite(c->mean) || isfinite(c->maximum)) &&
	       !report_series_repeats(r, i);
}

static bool is_zero(const struct report_series *c)
{
	return (c->mean == 0 || isnan(c->mean)) && c->maximum == 0;
}

static void add_series_name(const struct report_series *c, struct strbuf *out)
{
	clean(out, c->label && *c->label ? c->label : c->metric);
}

/* The name of a panel for people. */
static const char *group_name(const char *panel)
{
	static const char *const names[][2] = {
		{"cpu", "CPU"}, {"io", "I/O"}, {"gpu", "GPU"}, {"counters", "events"}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(panel, names[i][0]))
			return names[i][1];
	return panel;
}

/* Metrics of the whole job, in the order of the report, from one number to another. */
static void add_series_figures(const struct report *r, size_t from, size_t to, const char *title,
			       struct strbuf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->series_count; i++) {
		const struct report_series *c = &r->series[i];

		if (!is_figure(r, i) || is_zero(c) || n++ < from || n > to)
			continue;
		if (n == from + 1)
			strbuf_addf(out, "# %s\n|Metric\tGroup\t>Mean\t>Maximum\n", title);
		strbuf_addch(out, ' ');
		add_series_name(c, out);
		strbuf_addch(out, '\t');
		strbuf_addstr(out, group_name(c->panel));
		strbuf_addch(out, '\t');
		if (isnan(c->mean))
			strbuf_addf(out, "%lld %s", (long long)c->readings,
				    plural(c->readings, "sample", "samples"));
		else
			unit_add_value(out, c->mean, c->unit);
		strbuf_addch(out, '\t');
		unit_add_value(out, c->maximum, c->unit);
		strbuf_addch(out, '\n');
	}
}

/* Lists the names of metrics that were always 0. */
static void add_zero_figures(const struct report *r, struct strbuf *out)
{
	const char *between = "# Over time, always 0\n";

	for (size_t i = 0; i < r->series_count; i++) {
		const struct report_series *c = &r->series[i];

		if (!is_figure(r, i) || !is_zero(c))
			continue;
		strbuf_addstr(out, between);
		between = ", ";
		add_series_name(c, out);
		strbuf_addf(out, " (%s)", group_name(c->panel));
	}
	strbuf_addstr(out, *between == ',' ? "\n" : "");
}

static void add_front(const struct report *r, struct strbuf *out)
{
	const struct job_row *row = row_of(r);

	clean_between(out, "# Job ", text_of(r, row->jobid), "");
	if (row->jobname)
		clean_between(out, ", ", text_of(r, row->jobname), "");
	strbuf_addch(out, '\n');
	add_findings(r, out);
}

static void add_figures(const struct report *r, struct strbuf *out)
{
	strbuf_addstr(out, "# Key figures\n");
	report_head_lines(r, add_figure, out);
	report_figure_lines(r, add_figure, out);
	add_series_figures(r, 0, SERIES_IN_FRONT, "Over time", out);
}

/* ---- the last pages -------------------------------------------------------------------------- */

static void add_groups(const struct report_groups *g, const char *title, const char *name,
		       struct strbuf *out)
{
	size_t shown = g->count < ROWS_SHOWN ? g->count : ROWS_SHOWN;

	if (!g->count)
		return;
	strbuf_addf(out, "# %s\n|%s\t>Images\t>Failed\t>CPU\t>Wall\t>Memory\t>Read\t>Written\n",
		    title, name);
	for (size_t i = 0; i < shown; i++) {
		const struct report_group *o = &g->list[i];

		strbuf_addch(out, ' ');
		clean(out, o->name && *o->name ? o->name : "-");
		add_cell(out, o->images, add_count);
		add_cell(out, o->failed, add_count);
		add_cell(out, o->cpu, add_us);
		add_cell(out, o->wall, add_us);
		add_cell(out, o->rssmax, add_kib);
		add_cell(out, o->read, add_bytes);
		add_cell(out, o->written, add_bytes);
		strbuf_addch(out, '\n');
	}
	if (g->count - shown + g->left_out)
		strbuf_addf(out, "and %zu more\n", g->count - shown + g->left_out);
}

static void add_time_cell(struct strbuf *out, double ns)
{
	strbuf_addch(out, '\t');
	if (isfinite(ns) && ns >= 0)
		unit_add_value(out, ns, "ns");
	else
		strbuf_addch(out, '-');
}

static void add_phases(const struct report *r, struct strbuf *out)
{
	const struct report_phases *p = &r->phases;

	if (p->stat_count)
		strbuf_addstr(out,
			      "# Phases\n|Phase\t>Count\t>Total\t>Self\t>Median\t>Longest\t>CPU\t"
			      ">Imbalance\n");
	for (size_t i = 0; i < p->stat_count && i < ROWS_SHOWN; i++) {
		const struct phase_stat *s = &p->stats[i];

		clean_between(out, " ", r->timeline.phases.names[s->name], "");
		add_cell(out, (int64_t)s->count, add_count);
		add_time_cell(out, (double)s->total_ns);
		add_time_cell(out, (double)s->self_ns);
		add_time_cell(out, s->median_ns);
		add_time_cell(out, (double)s->max_ns);
		add_time_cell(out, (double)s->cpu_ns);
		if (isfinite(s->ranks.imbalance))
			strbuf_addf(out, "\t%.1f %%\n", s->ranks.imbalance * 100);
		else
			strbuf_addstr(out, "\t-\n");
	}
	if (p->stat_count > ROWS_SHOWN)
		strbuf_addf(out, "and %zu more\n", p->stat_count - ROWS_SHOWN);
}

static void add_energy_table(const struct report *r, struct strbuf *out)
{
	if (r->energy_count)
		strbuf_addstr(out, "# Energy\n|Node\tDomain\t>Energy\n");
	for (size_t i = 0; i < r->energy_count && i < ROWS_SHOWN; i++) {
		clean_between(out, " ", r->energy[i].host, "\t");
		clean_between(out, "", r->energy[i].domain, "\t");
		unit_add_value(out, r->energy[i].joules, "J");
		strbuf_addch(out, '\n');
	}
	if (r->energy_count > ROWS_SHOWN)
		strbuf_addf(out, "and %zu more\n", r->energy_count - ROWS_SHOWN);
}

static void add_absences(const struct report *r, struct strbuf *out)
{
	if (r->absence_count)
		strbuf_addstr(out, "# What was not measured, and why\n");
	for (size_t i = 0; i < r->absence_count && i < ROWS_SHOWN; i++) {
		const struct report_absence *a = &r->absences[i];

		/* wrapped lines: a cell of a table would cut the reason off */
		clean_between(out, "\342\200\242 ", a->metric, "");
		if (a->count > 1)
			strbuf_addf(out, " and %zu more", a->count - 1);
		if (row_of(r)->hosts.count > 1 && a->host && *a->host)
			clean_between(out, " on ", a->host, "");
		clean_between(out, ": ", a->reason, "\n");
	}
	if (r->absence_count > ROWS_SHOWN)
		strbuf_addf(out, "and %zu more\n", r->absence_count - ROWS_SHOWN);
}

static void add_back(const struct report *r, struct strbuf *out)
{
	add_phases(r, out);
	add_groups(&r->executables, "Executables", "Executable", out);
	add_groups(&r->operations, "Operations", "Tags", out);
	if (r->hosts.count > 1)
		add_groups(&r->hosts, "Nodes", "Node", out);
	add_groups(&r->ranks, "Ranks", "Rank", out);
	add_series_figures(r, SERIES_IN_FRONT, SIZE_MAX, "Over time, more metrics", out);
	add_zero_figures(r, out);
	add_energy_table(r, out);
	if (r->show.warning_count)
		strbuf_addstr(out, "# Warnings\n");
	for (size_t i = 0; i < r->show.warning_count && i < ROWS_SHOWN; i++)
		clean_between(out, "\342\200\242 ", r->show.warnings[i], "\n");
	add_absences(r, out);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* With these charts between figures and tables. */
static int draw(const struct report *r, const char *nodes, const struct plot_page *charts,
		size_t count, struct strbuf *out, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT, foot = STRBUF_INIT,
				       front = STRBUF_INIT, figures = STRBUF_INIT,
				       back = STRBUF_INIT;
	_cleanup_(pdf_core_time_release) struct pdf_core_time core_time;
	_cleanup_free_ struct plot_page *pages = xcalloc(count + 3, sizeof(*pages));
	size_t n = 0;

	add_header(r, nodes, &header);
	add_front(r, &front);
	if (report_pdf_core_time(r, &core_time)) {
		pages[n++] = (struct plot_page){.stack = &core_time.stack,
						.heading = "Where the core time went"};
		add_figures(r, &figures);
		pages[n++] = (struct plot_page){.text = figures.buf};
	} else {
		add_figures(r, &front);
	}
	add_back(r, &back);
	strbuf_addstr(&foot, "plimsoll " PL_VERSION ", ");
	text_add_local_time(&foot, clock_realtime_us());
	for (size_t i = 0; i < count; i++)
		pages[n++] = charts[i];
	if (back.len)
		pages[n++] = (struct plot_page){.text = back.buf};
	return plot_pages(pages, n, header.buf, foot.buf, front.buf, out, why);
}

int report_pdf_with(const struct report *r, const char *nodes, const struct plot_page *charts,
		    size_t count, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	int e = draw(r, nodes, charts, count, &out, why);

	return e < 0 ? e : plot_write(path, &out, why);
}

int report_pdf(const struct report *r, const char *path, struct strbuf *why)
{
	_cleanup_(pdf_charts_release) struct pdf_charts charts;

	report_pdf_charts(r, &charts);
	return report_pdf_with(r, "Nodes", charts.pages, charts.page_count, path, why);
}
