/*
 * Curves as charts: one chart a metric for the job as a whole, and one beside it with a line a
 * host, in panels; and how many processes ran at once.
 */
#include <math.h>
#include <string.h>

#include "plot/unit_scale.h"
#include "report/html/html_text.h"
#include "report/html/report_html_chart.h"
#include "report/report_charts.h"

#define LINES_MAX 64  /* of a chart */
#define OPEN_CHARTS 6 /* of a panel; those behind are folded */

/* ---- charts --------------------------------------------------------------------------------- */

bool page_has_bands(const struct report *r, size_t curve)
{
	const struct report_curve *c = &r->curves[curve];
	size_t from = curve, to = curve + 1;

	while (from > 0 && report_same_chart(&r->curves[from - 1], c))
		from--;
	while (to < r->curve_count && report_same_chart(c, &r->curves[to]))
		to++;
	return to - from <= CHART_BANDS_MAX;
}

/* Several metrics have the same label: then their names tell them apart. */
static bool label_is_shared(const struct report *r, const struct report_curve *f)
{
	for (size_t i = 0; f->label && i < r->curve_count; i++)
		if (str_same(r->curves[i].label, f->label) &&
		    strcmp(r->curves[i].metric, f->metric) != 0)
			return true;
	return false;
}

/* The chart of the curves that belong to that at first. */
static void chart_from(struct page *p, size_t first, const struct report_panel *panel)
{
	const struct report *r = p->r;
	const struct report_curve *f = &r->curves[first];
	struct page_line lines[LINES_MAX];
	_cleanup_strbuf_ struct strbuf ids = STRBUF_INIT;
	bool cpu = !strcmp(panel->name, "cpu") && f->unit &&
		   (!strcmp(f->unit, "us/s") || !strcmp(f->unit, "ns/s"));
	struct page_chart c = {.title = f->label ? f->label : f->metric,
			       .metric = label_is_shared(r, f) ? f->metric : NULL,
			       .unit = cpu       ? "CPUs"
				       : f->unit ? f->unit
						 : "",
			       .factor = !cpu              ? 1
					 : *f->unit == 'n' ? 1e-9
							   : 1e-6,
			       .lines = lines,
			       .ticks = 5,
			       .by_host = f->host && !report_single_host(r),
			       .column = r->curve_count > 60 ? 5 : 2};
	for (size_t i = first; i < r->curve_count && report_same_chart(f, &r->curves[i]); i++) {
		if (c.count == LINES_MAX) {
			c.left_out++;
			continue;
		}
		const struct report_curve *q = &r->curves[i];
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

/* "All 0: received, sent." or "Too few readings for a chart: temperature 55 °C."; hosts are in
 * their whole.
 */
static void add_figures(struct page *p, const size_t *first, size_t count, bool zero)
{
	const char *between = zero ? "All 0: " : "Too few readings for a chart: ";

	for (size_t i = 0; i < count; i++) {
		const struct report_curve *c = &p->r->curves[first[i]];

		if (report_curve_is_zero(c) != zero ||
		    report_curve_whole(p->r, first[i]) != first[i])
			continue;
		strbuf_addstr(&p->out, between);
		between = ", ";
		html_str(&p->out, c->label ? c->label : c->metric);
		if (zero)
			continue;
		strbuf_addch(&p->out, ' ');
		scale_add_value(&p->out, c->unit ? c->unit : "", c->maximum);
	}
	strbuf_addstr(&p->out, *between == ',' ? ". " : "");
}

/* What has no chart in a panel, as one line; none: what is said where all of it is 0. */
static void add_figures_line(struct page *p, const size_t *first, size_t count, const char *none)
{
	for (size_t i = 0; none && i < count; i++)
		if (!report_curve_is_zero(&p->r->curves[first[i]]))
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

/* Which metrics have no chart because another source has the same. */
static void add_repeats(struct page *p, const struct report_panel *panel)
{
	const char *between = "<p class=\"dim\">The same from other sources: <code>";

	for (size_t i = 0; i < p->r->curve_count; i++) {
		const struct report_curve *c = &p->r->curves[i];

		if (!report_in_panel(c, panel) || report_curve_whole(p->r, i) != i ||
		    !report_curve_repeats(p->r, i))
			continue;
		strbuf_addstr(&p->out, between);
		html_str(&p->out, c->metric);
		between = "</code>, <code>";
	}
	strbuf_addstr(&p->out, *between == '<' && between[1] == '/' ? "</code>.</p>\n" : "");
}

/* titled: not where the section has the title */
static size_t add_panel(struct page *p, const struct report_panel *panel, bool titled)
{
	_cleanup_free_ size_t *first = xcalloc(p->r->curve_count + 1, sizeof(*first));
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
		chart_from(p, first[i], panel);
	}
	strbuf_addstr(&p->out, count > OPEN_CHARTS ? "</div></details>" : "</div>");
	add_repeats(p, panel);
	return all;
}

static bool is_gpus(const struct report_panel *panel)
{
	return !strcmp(panel->name, "gpu");
}

void page_curves(struct page *p)
{
	const struct report *r = p->r;
	size_t charts = 0;

	if (!r->curve_count) {
		page_note(p, "This job was not sampled, so there are no curves. Record it "
			     "with <code>plimsoll run --sample 1s</code> to have them.");
		return;
	}
	const struct report_panel *first = report_leading_panel(r);
	charts += add_panel(p, first, true);
	/* GPUs have a section of their own */
	for (size_t i = 0; i < REPORT_PANELS; i++)
		if (&report_panels[i] != first && !is_gpus(&report_panels[i]))
			charts += add_panel(p, &report_panels[i], true);
	if (charts && r->curves_left_out)
		strbuf_addf(&p->out, "<p class=\"dim\">%zu more %s not in this page.</p>",
			    r->curves_left_out,
			    plural(r->curves_left_out, "curve is", "curves are"));
}

void page_gpu(struct page *p)
{
	for (size_t i = 0; i < REPORT_PANELS; i++)
		if (is_gpus(&report_panels[i]) && &report_panels[i] != report_leading_panel(p->r))
			add_panel(p, &report_panels[i], false);
}

/* ---- how many ran at once ------------------------------------------------------------------- */

static void sample_steps(const struct page *p, bool threads, struct curve *ret)
{
	const struct timeline *t = &p->r->timeline;
	int64_t span = p->end - p->begin, level = 0;
	const struct timeline_step *last = &t->steps[t->count - 1];
	int64_t over = last->processes ? INT64_MAX : last->time;
	size_t next = 0;

	for (int column = 0; column < REPORT_POINTS; column++) {
		int64_t from = p->begin + span / REPORT_POINTS * column;
		int64_t to = column + 1 < REPORT_POINTS ? from + span / REPORT_POINTS : p->end;
		int64_t low = level, high = level, at = from;
		double area = 0;

		/* it ends with the last process, and does not fall to 0 */
		if (from >= over)
			break;
		to = to < over ? to : over;
		while (next < t->count && t->steps[next].time <= to && t->steps[next].time < over) {
			if (t->steps[next].time > at) {
				area += (double)level * (double)(t->steps[next].time - at);
				at = t->steps[next].time;
			}
			level = threads ? t->steps[next].threads : t->steps[next].processes;
			low = level < low ? level : low;
			high = level > high ? level : high;
			next++;
		}
		area += (double)level * (double)(to - at);
		curve_add(ret, from, to > from ? area / (double)(to - from) : (double)level,
			  (double)low, (double)high);
	}
}

void page_concurrency(struct page *p)
{
	const struct timeline *t = &p->r->timeline;
	_cleanup_curve_ struct curve processes = {0}, threads = {0};

	if (!t->count || p->end <= p->begin) {
		if (!p->r->has_records)
			page_note(p,
				  "There are no records of processes, so how many ran at once is "
				  "not known.");
		return;
	}
	sample_steps(p, false, &processes);
	bool more = t->peak_threads != UNKNOWN && t->peak_threads > t->peak_procs;
	if (more)
		sample_steps(p, true, &threads);
	struct page_line lines[] = {{.label = more ? "processes" : NULL, .points = &processes},
				    {.label = "threads", .points = &threads}};
	struct page_chart c = {.title =
				       more ? "processes and threads at once" : "processes at once",
			       .unit = "count",
			       .factor = 1,
			       .lines = lines,
			       .count = more ? 2 : 1,
			       .ticks = 8,
			       .column = 1};
	strbuf_addf(&p->out, "<p>At most ");
	page_count(p, t->peak_procs);
	strbuf_addstr(&p->out, plural(t->peak_procs, " process", " processes"));
	if (more) {
		strbuf_addstr(&p->out, " and ");
		page_count(p, t->peak_threads);
		strbuf_addstr(&p->out, " threads");
	}
	strbuf_addstr(&p->out, " ran at once.</p>");
	page_chart(p, &c, "timeline", NAN, NAN);
}
