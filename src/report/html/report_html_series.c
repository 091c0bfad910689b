/*
 * Series as charts in panels: for each metric one chart of the whole job and one with a line per
 * host. And how many processes ran at once.
 */
#include <math.h>
#include <string.h>

#include "core/text/units.h"
#include "report/html/html_text.h"
#include "report/html/report_html_chart.h"
#include "report/report_charts.h"

#define LINES_MAX 64  /* of a chart */
#define OPEN_CHARTS 6 /* of a panel; the others are folded */

/* ---- charts --------------------------------------------------------------------------------- */

bool page_has_bands(const struct report *r, size_t series)
{
	const struct report_series *c = &r->series[series];
	size_t from = series, to = series + 1;

	while (from > 0 && report_same_chart(&r->series[from - 1], c))
		from--;
	while (to < r->series_count && report_same_chart(c, &r->series[to]))
		to++;
	return to - from <= CHART_BANDS_MAX;
}

/* Metrics with the same label are told apart by their names. */
static bool label_is_shared(const struct report *r, const struct report_series *f)
{
	for (size_t i = 0; f->label && i < r->series_count; i++)
		if (str_same(r->series[i].label, f->label) &&
		    strcmp(r->series[i].metric, f->metric) != 0)
			return true;
	return false;
}

/* The chart that begins with this series. */
static void chart_from(struct page *p, size_t first)
{
	const struct report *r = p->r;
	const struct report_series *f = &r->series[first];
	struct page_line lines[LINES_MAX];
	_cleanup_strbuf_ struct strbuf ids = STRBUF_INIT;
	struct page_chart c = {.title = f->label ? f->label : f->metric,
			       .metric = label_is_shared(r, f) ? f->metric : NULL,
			       .unit = f->unit ? f->unit : "",
			       .lines = lines,
			       .ticks = 5,
			       .by_host = f->host && !report_single_host(r),
			       .column = r->series_count > 60 ? 5 : 2};
	for (size_t i = first; i < r->series_count && report_same_chart(f, &r->series[i]); i++) {
		if (c.count == LINES_MAX) {
			c.left_out++;
			continue;
		}
		const struct report_series *q = &r->series[i];
		lines[c.count++] = (struct page_line){.label = q->host ? q->host : q->entity,
						      .sublabel = q->host ? q->entity : NULL,
						      .points = &q->points,
						      .seldom = q->seldom,
						      .readings = q->readings};
		strbuf_addf(&ids, "%s%zu", ids.len ? " " : "", i);
	}
	if (c.count == 1 && !f->host)
		lines[0].label = f->entity;
	page_chart(p, &c, ids.buf, c.count == 1 ? f->mean : NAN, c.count == 1 ? f->maximum : NAN);
}

/* "All 0: received, sent." or "Too few samples for a chart: temperature 55 °C."; only metrics of
 * the whole job. */
static void add_figures(struct page *p, const size_t *first, size_t count, bool zero)
{
	const char *between = zero ? "All 0: " : "Too few samples for a chart: ";

	for (size_t i = 0; i < count; i++) {
		const struct report_series *c = &p->r->series[first[i]];

		if (report_series_is_zero(c) != zero ||
		    report_series_whole(p->r, first[i]) != first[i])
			continue;
		strbuf_addstr(&p->out, between);
		between = ", ";
		html_str(&p->out, c->label ? c->label : c->metric);
		if (zero)
			continue;
		strbuf_addch(&p->out, ' ');
		unit_add_value(&p->out, c->maximum, c->unit);
	}
	strbuf_addstr(&p->out, *between == ',' ? ". " : "");
}

/* Metrics of a panel without a chart, as one line; none: the line where all of them are 0. */
static void add_figures_line(struct page *p, const size_t *first, size_t count, const char *none)
{
	for (size_t i = 0; none && i < count; i++)
		if (!report_series_is_zero(&p->r->series[first[i]]))
			none = NULL;
	strbuf_addstr(&p->out, "<p class=\"dim\">");
	if (none) {
		strbuf_addstr(&p->out, none);
	} else {
		add_figures(p, first, count, true);
		add_figures(p, first, count, false);
	}
	strbuf_addstr(&p->out, "</p>\n");
}

/* Names metrics without a chart because another source has the same values. */
static void add_repeats(struct page *p, const struct report_panel *panel)
{
	const char *between = "<p class=\"dim\">The same from other sources: <code>";

	for (size_t i = 0; i < p->r->series_count; i++) {
		const struct report_series *c = &p->r->series[i];

		if (!report_in_panel(c, panel) || report_series_whole(p->r, i) != i ||
		    !report_series_repeats(p->r, i))
			continue;
		strbuf_addstr(&p->out, between);
		html_str(&p->out, c->metric);
		between = "</code>, <code>";
	}
	strbuf_addstr(&p->out, *between == '<' && between[1] == '/' ? "</code>.</p>\n" : "");
}

/* titled: false where the section has the title already */
static size_t add_panel(struct page *p, const struct report_panel *panel, bool titled)
{
	_cleanup_free_ size_t *first = xcalloc(p->r->series_count + 1, sizeof(*first));
	size_t all = report_charts_of(p->r, panel, first), count = all;

	if (!all)
		return 0;
	if (titled)
		strbuf_addf(&p->out, "<h3>%s</h3>", panel->title);
	while (count && report_chart_says_little(p->r, first[count - 1]))
		count--;
	if (count < all)
		add_figures_line(p, first + count, all - count, count ? NULL : panel->none);
	if (!count)
		return all;
	strbuf_addstr(&p->out, "<div class=\"charts\">");
	for (size_t i = 0; i < count; i++) {
		if (i == OPEN_CHARTS)
			strbuf_addf(
				&p->out,
				"</div><details><summary>%zu more</summary><div class=\"charts\">",
				count - i);
		chart_from(p, first[i]);
	}
	strbuf_addstr(&p->out, count > OPEN_CHARTS ? "</div></details>" : "</div>");
	add_repeats(p, panel);
	return all;
}

static bool is_gpus(const struct report_panel *panel)
{
	return !strcmp(panel->name, "gpu");
}

void page_series(struct page *p)
{
	const struct report *r = p->r;
	size_t charts = 0;

	if (!r->series_count) {
		page_note(p, "This job was not sampled, so there are no series. Record it "
			     "with <code>plimsoll run --sample 1s</code> to get them.");
		return;
	}
	const struct report_panel *first = report_leading_panel(r);
	charts += add_panel(p, first, true);
	/* GPUs have a section of their own */
	for (size_t i = 0; i < REPORT_PANELS; i++)
		if (&report_panels[i] != first && !is_gpus(&report_panels[i]))
			charts += add_panel(p, &report_panels[i], true);
	if (charts && r->series_left_out)
		strbuf_addf(&p->out, "<p class=\"dim\">%zu more %s not in this page.</p>",
			    r->series_left_out,
			    plural(r->series_left_out, "series is", "series are"));
}

void page_gpu(struct page *p)
{
	for (size_t i = 0; i < REPORT_PANELS; i++)
		if (is_gpus(&report_panels[i]) && &report_panels[i] != report_leading_panel(p->r))
			add_panel(p, &report_panels[i], false);
}

/* ---- how many ran at once ------------------------------------------------------------------- */

void page_concurrency(struct page *p)
{
	const struct timeline *t = &p->r->timeline;
	_cleanup_points_ struct points processes = {0}, threads = {0};

	if (!t->count || p->end <= p->begin) {
		if (!p->r->has_records)
			page_note(p, "There are no records of processes, so it is unknown how many "
				     "ran at once.");
		return;
	}
	report_concurrency(t, false, p->begin, p->end, REPORT_POINTS, &processes);
	bool more = t->peak_threads != UNKNOWN && t->peak_threads > t->peak_procs;
	if (more)
		report_concurrency(t, true, p->begin, p->end, REPORT_POINTS, &threads);
	struct page_line lines[] = {{.label = more ? "processes" : NULL, .points = &processes},
				    {.label = "threads", .points = &threads}};
	struct page_chart c = {.title =
				       more ? "processes and threads at once" : "processes at once",
			       .unit = "count",
			       .lines = lines,
			       .count = more ? 2 : 1,
			       .ticks = 8,
			       .column = 1};
	strbuf_addf(&p->out, "<p>At most ");
	page_number(p, add_count, t->peak_procs);
	strbuf_addstr(&p->out, plural(t->peak_procs, " process", " processes"));
	if (more) {
		strbuf_addstr(&p->out, " and ");
		page_number(p, add_count, t->peak_threads);
		strbuf_addstr(&p->out, " threads");
	}
	strbuf_addstr(&p->out, " ran at once.</p>");
	page_chart(p, &c, "timeline", NAN, NAN);
}
