/* Which charts a PDF report has, and on which pages; see report_pdf.h. */
#include "report/report_pdf.h"

#include <math.h>

#include "core/text/units.h"
#include "report/report_charts.h"

/* ---- charts ---------------------------------------------------------------------------------- */

#define METRICS_MAX 8 /* of a panel that have charts; the tables list all */
#define ROWS 4        /* of charts on a page */
#define COLUMNS 2

void pdf_charts_release(struct pdf_charts *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct plot *p = &c->plots[i];

		for (size_t k = 0; k < p->line_count; k++)
			free((char *)p->lines[k].label);
		free(p->lines);
		free((char *)p->title);
		free((char *)p->subtitle);
	}
	for (size_t i = 0; i < c->page_count; i++)
		free((char *)c->pages[i].heading);
	free(c->plots);
	free(c->pages);
	points_release(&c->processes);
	points_release(&c->threads);
	free(c->spans);
	*c = (struct pdf_charts){0};
}

/* "CPU of the job", "GPU busy, by device" */
static char *title_of(const struct report_series *f, size_t lines)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *label = f->label && *f->label ? f->label : f->metric;

	if (*label >= 'a' && *label <= 'z')
		strbuf_addch(&out, (char)(*label++ - 'a' + 'A'));
	strbuf_addstr(&out, label);
	if (f->host && lines > 1)
		strbuf_addf(&out, ", by %s", f->entity ? "device" : "host");
	return strbuf_take(&out);
}

/* "sum of all hosts: mean 7.8 CPUs, maximum 24 CPUs"; of several lines the mean of their means.
 * parts: how many lines there could be. */
static char *subtitle_of(const struct report_series *f, size_t lines, size_t parts)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *what = f->entity ? "device" : "host";
	double sum = 0, largest = NAN;
	size_t means = 0;

	for (size_t i = 0; i < lines; i++) {
		sum += isnan(f[i].mean) ? 0 : f[i].mean;
		means += isnan(f[i].mean) ? 0 : 1;
		largest = f[i].maximum <= largest ? largest : f[i].maximum;
	}
	if (lines > 1 && lines < parts)
		strbuf_addf(&out, "%zu of %zu %ss: ", lines, parts, what);
	else if (lines > 1)
		strbuf_addf(&out, "per %s: ", what);
	else if (!f->host && f->parts > 1)
		strbuf_addf(&out, "%s of all %s: ", f->together, f->devices ? "devices" : "hosts");
	if (means) {
		strbuf_addstr(&out, "mean ");
		unit_add_value(&out, sum / (double)means, f->unit);
		strbuf_addstr(&out, ", ");
	}
	strbuf_addstr(&out, "maximum ");
	unit_add_value(&out, largest, f->unit);
	if (f->seldom || (lines == 1 && !means))
		strbuf_addf(&out, "; %lld samples%s", (long long)f->readings,
			    f->seldom ? ", unknown in between" : "");
	return strbuf_take(&out);
}

static char *line_label(const struct report_series *c, bool single_host)
{
	if (!c->host)
		return xstrdup("");
	if (!c->entity)
		return xstrdup(c->host);
	return single_host ? xstrdup(c->entity) : xasprintf("%s, %s", c->host, c->entity);
}

/* The chart that begins with this series. */
static void add_chart(struct pdf_charts *c, const struct report *r, size_t first)
{
	const struct report_series *f = &r->series[first];
	bool single = report_single_host(r);
	struct plot p = {.unit = f->unit};

	while (first + p.line_count < r->series_count && report_same_chart(f, &f[p.line_count]))
		p.line_count++;
	p.lines = xcalloc(p.line_count, sizeof(*p.lines));
	for (size_t i = 0; i < p.line_count; i++)
		p.lines[i] = (struct plot_line){.label = line_label(&f[i], single),
						.points = f[i].points,
						.seldom = f[i].seldom};
	p.title = title_of(f, p.line_count);
	p.subtitle = subtitle_of(f, p.line_count, r->series[report_series_whole(r, first)].parts);
	p.spans = c->spans;
	p.span_count = c->span_count;
	c->plots[c->count++] = p;
}

/* Puts the charts from a place on under a heading. */
static void add_page(struct pdf_charts *c, size_t from, size_t columns, char *heading)
{
	c->pages[c->page_count++] = (struct plot_page){.plots = &c->plots[from],
						       .plot_count = c->count - from,
						       .rows = ROWS,
						       .columns = columns,
						       .heading = heading};
}

/* The charts of the first metrics of a panel, under its title. */
static void add_panel(struct pdf_charts *c, const struct report *r,
		      const struct report_panel *panel)
{
	_cleanup_free_ size_t *first = xcalloc(r->series_count + 1, sizeof(*first));
	size_t count = report_charts_of(r, panel, first), from = c->count, found = 0;

	for (size_t i = 0; i < count && !report_chart_says_little(r, first[i]); i++) {
		const struct report_series *f = &r->series[first[i]];

		found += i == 0 || !str_same(f->metric, r->series[first[i - 1]].metric) ? 1 : 0;
		if (found <= METRICS_MAX)
			add_chart(c, r, first[i]);
	}
	if (c->count > from)
		add_page(c, from, COLUMNS,
			 found > METRICS_MAX
				 ? xasprintf("%s: first %d of %zu metrics (all are in the tables)",
					     panel->title, METRICS_MAX, found)
				 : xstrdup(panel->title));
}

static void add_concurrency(struct pdf_charts *c, const struct timeline *t)
{
	bool threads = t->peak_threads != UNKNOWN;
	struct plot p = {.unit = "count", .line_count = threads ? 2 : 1};

	if (t->count < 2)
		return;
	report_concurrency(t, false, t->steps[0].time, t->steps[t->count - 1].time, REPORT_POINTS,
			   &c->processes);
	p.lines = xcalloc(2, sizeof(*p.lines));
	p.lines[0] = (struct plot_line){.label = xstrdup("processes"), .points = c->processes};
	if (threads) {
		report_concurrency(t, true, t->steps[0].time, t->steps[t->count - 1].time,
				   REPORT_POINTS, &c->threads);
		p.lines[1] = (struct plot_line){.label = xstrdup("threads"), .points = c->threads};
	}
	p.spans = c->spans;
	p.span_count = c->span_count;
	p.title = xstrdup(threads ? "Processes and threads at once" : "Processes at once");
	c->plots[c->count++] = p;
	add_page(c, c->count - 1, 1, xstrdup("Concurrency"));
}

/* Phases behind all charts. */
static void add_spans(struct pdf_charts *c, const struct report *r)
{
	const struct report_phases *p = &r->phases;

	c->span_count = p->band_count;
	c->spans = xcalloc(p->band_count + 1, sizeof(*c->spans));
	for (size_t i = 0; i < p->band_count; i++)
		c->spans[i] =
			(struct plot_span){p->bands[i].start_ns / 1000, p->bands[i].end_ns / 1000,
					   r->timeline.phases.names[p->bands[i].name]};
}

void report_pdf_charts(const struct report *r, struct pdf_charts *ret)
{
	*ret = (struct pdf_charts){
		.plots = xcalloc(r->series_count + 1, sizeof(struct plot)),
		.pages = xcalloc(REPORT_PANELS + 1, sizeof(struct plot_page)),
	};
	add_spans(ret, r);
	for (size_t i = 0; i < REPORT_PANELS; i++)
		add_panel(ret, r, &report_panels[i]);
	add_concurrency(ret, &r->timeline);
}
