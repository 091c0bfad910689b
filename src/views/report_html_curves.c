/*
 * Curves as charts that need no script: one chart a metric for the job as a whole, and one beside
 * it with a line a host. Lines are drawn in a box of 1000 by 200 that is stretched to its place;
 * where points are denser than columns, each column has the extremes.
 */
#include <math.h>
#include <string.h>

#include "views/html.h"
#include "views/report_html.h"
#include "views/scale.h"

#define HEIGHT 200    /* of the box; CHART pixels on the screen */
#define EDGE 3        /* above and below, for lines that are as thick */
#define CHART 132     /* as in report.css */
#define LINES_MAX 64  /* of a chart */
#define BANDS_MAX 8   /* lines that have bands around them; as in charts.js */
#define OPEN_CHARTS 6 /* of a panel; those behind are folded */

struct line {
	const char *label, *sublabel;
	const struct curve *points;
};

struct chart {
	const char *title;
	const char *metric; /* by which commands know it; NULL: not shown */
	const char *unit;   /* after the factor */
	double factor;
	struct line *lines;
	size_t count, left_out;
	bool by_host;
	double low, high; /* of the axis */
	double step;      /* between its ticks */
	int steps;
	int ticks;  /* of time, at most */
	int column; /* the narrowest distance of points that are drawn */
};

/* ---- axes ----------------------------------------------------------------------------------- */

static void set_range(struct chart *c)
{
	double low = INFINITY, high = -INFINITY;
	bool bands = c->count <= BANDS_MAX;

	for (size_t l = 0; l < c->count; l++)
		for (size_t i = 0; i < c->lines[l].points->count; i++) {
			const struct curve_point *p = &c->lines[l].points->points[i];
			double a = (bands ? p->low : p->value) * c->factor;
			double b = (bands ? p->high : p->value) * c->factor;

			low = isfinite(a) && a < low ? a : low;
			high = isfinite(b) && b > high ? b : high;
		}
	if (!isfinite(low) || !isfinite(high))
		low = high = 0;
	struct scale s = scale_of(c->unit, high);
	if (s.from_zero)
		low = low < 0 ? low : 0;
	/* so narrow that digits would be missing, or no range at all */
	double size = high > -low ? high : -low;
	if (high - low <= size * 1e-6)
		high = low + (size > 0 ? size * 0.1 : 1);
	/* ticks are round numbers of what is shown, not of what is stored */
	double step = scale_step((high - low) * s.factor, 4) / s.factor;
	c->step = step;
	c->low = (double)(int64_t)(low / step) * step;
	if (c->low > low)
		c->low -= step;
	c->steps = 1;
	while (c->low + c->steps * step < high && c->steps < 12)
		c->steps++;
	c->high = c->low + c->steps * step;
}

static void add_value_labels(struct page *p, const struct chart *c)
{
	struct scale s = scale_of(c->unit, c->high);

	strbuf_addstr(&p->out, "<svg class=\"ys\" aria-hidden=\"true\">");
	for (int i = c->steps; i >= 0; i--) {
		double v = c->low + i * c->step;

		strbuf_addf(&p->out, "<text x=\"100%%\" y=\"%.1f\">",
			    CHART * (c->high - v) / (c->high - c->low));
		scale_add(&p->out, &s, v > c->step / 1e6 || v < -c->step / 1e6 ? v : 0);
		if (i == c->steps && *s.symbol) /* behind the uppermost only */
			strbuf_addf(&p->out, "%s%s",
				    *s.symbol == '%' || *s.symbol == '/' ? "" : " ", s.symbol);
		strbuf_addstr(&p->out, "</text>");
	}
	strbuf_addstr(&p->out, "</svg>");
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int place_x(const struct page *p, int64_t time)
{
	return (int)(page_place(p, time) * 1000 + 0.5);
}

static int place_y(const struct chart *c, double v)
{
	double y = (c->high - v * c->factor) * HEIGHT / (c->high - c->low);

	return (int)(y < 0 ? 0 : y > HEIGHT ? HEIGHT : y + 0.5);
}

/* A path that is written in steps from where it stands, which is shorter; a level is one step. */
struct path {
	struct strbuf *out;
	int x, y;
	int level; /* of the last steps, that is not written yet */
	bool down; /* the pen is */
};

static void path_level(struct path *t)
{
	if (t->level)
		strbuf_addf(t->out, "h%d", t->level);
	t->level = 0;
}

/* The next step begins a line of its own. */
static void path_lift(struct path *t)
{
	path_level(t);
	t->down = false;
}

static void path_to(struct path *t, int x, int y)
{
	int right = x - t->x, lower = y - t->y;

	if (!t->down) {
		strbuf_addf(t->out, "M%d %dh0", x, y);
	} else if (!lower && (!t->level || (right < 0) == (t->level < 0))) {
		t->level += right;
	} else {
		path_level(t);
		if (right)
			strbuf_addf(t->out, "l%d%s%d", right, lower < 0 ? "" : " ", lower);
		else
			strbuf_addf(t->out, "v%d", lower);
	}
	t->x = x;
	t->y = y;
	t->down = true;
}

static void add_line(struct page *p, const struct chart *c, const struct curve *curve)
{
	struct path t = {.out = &p->out};
	int64_t gap = curve_period(curve) * 3, last = INT64_MIN;
	int column = -1, low = 0, high = 0;

	for (size_t i = 0; i < curve->count; i++) {
		const struct curve_point *q = &curve->points[i];

		if (!isfinite(q->value)) {
			path_lift(&t);
			continue;
		}
		if (t.down && gap > 0 && q->time - last > gap)
			path_lift(&t);
		last = q->time;
		int x = place_x(p, q->time), y = place_y(c, q->value);
		if (t.down && column >= 0 && x - column < c->column) { /* only what sticks out */
			if (y < low || y > high)
				path_to(&t, column, y);
			low = y < low ? y : low;
			high = y > high ? y : high;
			continue;
		}
		path_to(&t, x, y);
		column = x;
		low = high = y;
	}
	path_lift(&t);
}

/* Within a column only what sticks out moves the edge of a band. */
static void band_to(struct page *p, const struct chart *c, struct path *t,
		    const struct curve_point *q, double v, bool upper, bool last)
{
	if (!isfinite(v))
		return;
	int x = place_x(p, q->time), y = place_y(c, v), away = x > t->x ? x - t->x : t->x - x;

	if (!t->down || last || away >= c->column || (upper ? y < t->y : y > t->y))
		path_to(t, x, y);
}

/* The area between the extremes, where there is one that can be seen. */
static void add_band(struct page *p, const struct chart *c, const struct curve *curve,
		     size_t number)
{
	bool any = false;

	for (size_t i = 0; i < curve->count && !any; i++) {
		const struct curve_point *q = &curve->points[i];

		any = isfinite(q->low) && isfinite(q->high) &&
		      place_y(c, q->low) != place_y(c, q->high);
	}
	if (!any)
		return;
	strbuf_addf(&p->out, "<path class=\"band k%zu\" d=\"", number);
	int64_t gap = curve_period(curve) * 3;
	for (size_t from = 0, to; from < curve->count; from = to) {
		struct path t = {.out = &p->out};

		for (to = from + 1; to < curve->count; to++) /* up to the next gap */
			if (gap > 0 && curve->points[to].time - curve->points[to - 1].time > gap)
				break;
		for (size_t i = from; i < to; i++)
			band_to(p, c, &t, &curve->points[i], curve->points[i].high, true,
				i + 1 == to);
		for (size_t i = to; i-- > from;)
			band_to(p, c, &t, &curve->points[i], curve->points[i].low, false,
				i == from);
		bool any_of_it = t.down;
		path_lift(&t);
		strbuf_addstr(&p->out, any_of_it ? "z" : "");
	}
	strbuf_addstr(&p->out, "\"/>");
}

static void add_plot(struct page *p, struct chart *c)
{
	strbuf_addf(&p->out,
		    "<svg class=\"plot\" viewBox=\"0 %d 1000 %d\" preserveAspectRatio=\"none\" "
		    "role=\"img\" aria-label=\"",
		    -EDGE, HEIGHT + 2 * EDGE);
	html_str(&p->out, c->title);
	strbuf_addstr(&p->out, "\"><path class=\"grid\" d=\"");
	page_time_grid(p, c->ticks, HEIGHT);
	for (int i = 0; i <= c->steps; i++)
		strbuf_addf(&p->out, "M0 %dh1000", place_y(c, (c->low + i * c->step) / c->factor));
	strbuf_addstr(&p->out, "\"/>");
	for (size_t i = 0; i < c->count && c->count <= BANDS_MAX; i++)
		add_band(p, c, c->lines[i].points, i);
	for (size_t i = c->count; i-- > 0;) {
		strbuf_addf(&p->out, "<path class=\"line k%zu%s\" d=\"", i < 8 ? i : 8,
			    c->lines[i].points->count == 1 ? " dot" : "");
		add_line(p, c, c->lines[i].points);
		strbuf_addstr(&p->out, "\"/>");
	}
	strbuf_addstr(&p->out, "</svg>");
}

static void add_legend(struct page *p, const struct chart *c)
{
	if (c->count < 2 && !(c->count && c->lines[0].label))
		return;
	strbuf_addstr(&p->out, "<ul class=\"legend\">");
	for (size_t i = 0; i < c->count && i < 8; i++) {
		strbuf_addf(&p->out, "<li class=\"k%zu\"><bdi>", i);
		html_str(&p->out, c->lines[i].label ? c->lines[i].label : "all hosts");
		strbuf_addstr(&p->out, "</bdi>");
		if (c->lines[i].sublabel) {
			strbuf_addstr(&p->out, " <bdi>");
			html_str(&p->out, c->lines[i].sublabel);
			strbuf_addstr(&p->out, "</bdi>");
		}
		strbuf_addstr(&p->out, "</li>");
	}
	if (c->count + c->left_out > 8)
		strbuf_addf(&p->out, "<li class=\"k8\">%zu more%s</li>", c->count + c->left_out - 8,
			    c->left_out ? ", not all drawn" : "");
	strbuf_addstr(&p->out, "</ul>");
}

/* ids: what the script finds the data by. */
static void add_chart(struct page *p, struct chart *c, const char *ids, double mean, double maximum)
{
	set_range(c);
	strbuf_addf(&p->out, "<figure class=\"chart\" data-lines=\"%s\"><figcaption><b>", ids);
	html_str(&p->out, c->title);
	strbuf_addstr(&p->out, c->by_host ? ", by host</b>" : "</b>");
	if (c->metric) {
		strbuf_addstr(&p->out, " <code class=\"dim\">");
		html_str(&p->out, c->metric);
		strbuf_addstr(&p->out, "</code>");
	}
	if (isfinite(maximum)) {
		strbuf_addstr(&p->out, " <span class=\"dim\">");
		if (isfinite(mean)) {
			strbuf_addstr(&p->out, "mean ");
			scale_add_value(&p->out, c->unit, mean * c->factor);
			strbuf_addstr(&p->out, ", ");
		}
		strbuf_addstr(&p->out, "largest ");
		scale_add_value(&p->out, c->unit, maximum * c->factor);
		strbuf_addstr(&p->out, "</span>");
	}
	strbuf_addstr(&p->out, "</figcaption><div class=\"axes\">");
	add_value_labels(p, c);
	add_plot(p, c);
	page_time_labels(p, c->ticks);
	strbuf_addstr(&p->out, "</div>");
	add_legend(p, c);
	strbuf_addstr(&p->out, "</figure>\n");
}

/* ---- panels --------------------------------------------------------------------------------- */

static const struct panel {
	const char *name, *title;
} panels[] = {
	{"cpu", "CPU"},
	{"memory", "Memory"},
	{"io", "Input and output"},
	{"network", "Network"},
	{"interconnect", "Interconnect"},
	{"pressure", "Pressure: time lost by waiting"},
	{"power", "Power and temperature"},
	{"counters", "Hardware counters"},
	{"other", "Other"},
};

static const char *panel_of(const struct report_curve *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(panels); i++)
		if (str_same(panels[i].name, c->panel))
			return c->panel;
	return str_same(c->panel, "gpu") ? "gpu" : "other";
}

/* A job on one host has each curve twice: of all hosts, and of the host. */
static bool single_host(const struct report *r)
{
	const char *host = NULL;

	for (size_t i = 0; i < r->curve_count; i++) {
		const char *h = r->curves[i].host;

		if (h && host && strcmp(h, host) != 0)
			return false;
		host = h ? h : host;
	}
	return true;
}

static bool same_chart(const struct report_curve *a, const struct report_curve *b)
{
	return str_same(a->metric, b->metric) && str_same(a->unit, b->unit) && !a->host == !b->host;
}

bool page_has_bands(const struct report *r, size_t curve)
{
	const struct report_curve *c = &r->curves[curve];
	size_t from = curve, to = curve + 1;

	while (from > 0 && same_chart(&r->curves[from - 1], c))
		from--;
	while (to < r->curve_count && same_chart(c, &r->curves[to]))
		to++;
	return to - from <= BANDS_MAX;
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
static void chart_from(struct page *p, size_t first, const char *panel)
{
	const struct report *r = p->r;
	const struct report_curve *f = &r->curves[first];
	struct line lines[LINES_MAX];
	_cleanup_strbuf_ struct strbuf ids = STRBUF_INIT;
	bool cpu = !strcmp(panel, "cpu") && f->unit &&
		   (!strcmp(f->unit, "us/s") || !strcmp(f->unit, "ns/s"));
	struct chart c = {.title = f->label ? f->label : f->metric,
			  .metric = label_is_shared(r, f) ? f->metric : NULL,
			  .unit = cpu       ? "CPUs"
				  : f->unit ? f->unit
					    : "",
			  .factor = !cpu              ? 1
				    : *f->unit == 'n' ? 1e-9
						      : 1e-6,
			  .lines = lines,
			  .ticks = 5,
			  .by_host = f->host && !single_host(r),
			  .column = r->curve_count > 60 ? 5 : 2};
	for (size_t i = first; i < r->curve_count && same_chart(f, &r->curves[i]); i++) {
		if (c.count == LINES_MAX) {
			c.left_out++;
			continue;
		}
		const struct report_curve *q = &r->curves[i];
		lines[c.count++] = (struct line){.label = q->host ? q->host : q->entity,
						 .sublabel = q->host ? q->entity : NULL,
						 .points = &q->points};
		strbuf_addf(&ids, "%s%zu", ids.len ? " " : "", i);
	}
	if (c.count == 1 && !f->host)
		lines[0].label = f->entity;
	add_chart(p, &c, ids.buf, c.count == 1 ? f->mean : NAN, c.count == 1 ? f->maximum : NAN);
}

static bool shown(const struct report *r, size_t i, bool single)
{
	/* what is there for all hosts need not be there for the only one again */
	return !(single && r->curves[i].host && i > 0 && !r->curves[i - 1].host &&
		 str_same(r->curves[i].metric, r->curves[i - 1].metric) &&
		 str_same(r->curves[i].entity, r->curves[i - 1].entity));
}

/* One sample, or nothing but zeros. */
static bool says_little(const struct report *r, size_t first)
{
	for (size_t i = first; i < r->curve_count && same_chart(&r->curves[first], &r->curves[i]);
	     i++)
		if (r->curves[i].points.count > 1 && r->curves[i].maximum != 0)
			return false;
	return true;
}

/* Where the charts of a panel begin, those that say little at the end; returns how many. */
static size_t charts_of(const struct report *r, const char *panel, size_t *ret)
{
	bool single = single_host(r);
	size_t count = 0;

	for (int little = 0; little < 2; little++) {
		for (size_t i = 0; i < r->curve_count;) {
			size_t first = i;

			if (strcmp(panel_of(&r->curves[i]), panel) != 0 || !shown(r, i, single)) {
				i++;
				continue;
			}
			while (i < r->curve_count && same_chart(&r->curves[first], &r->curves[i]))
				i++;
			if (says_little(r, first) == (little == 1))
				ret[count++] = first;
		}
	}
	return count;
}

static size_t add_panel(struct page *p, const char *panel, const char *title)
{
	_cleanup_free_ size_t *first = xcalloc(p->r->curve_count + 1, sizeof(*first));
	size_t count = charts_of(p->r, panel, first);

	if (!count)
		return 0;
	if (title)
		strbuf_addf(&p->out, "<h3>%s</h3>", title);
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
	return count;
}

void page_curves(struct page *p)
{
	const struct report *r = p->r;
	size_t charts = 0;

	if (!r->curve_count) {
		page_note(p, "This job was not sampled, so there are no curves. Run it under "
			     "<code>plimsoll monitor</code> to have them.");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(panels); i++)
		charts += add_panel(p, panels[i].name, panels[i].title);
	if (charts && r->curves_left_out)
		strbuf_addf(&p->out, "<p class=\"dim\">%zu more curves are not in this page.</p>",
			    r->curves_left_out);
}

void page_gpu(struct page *p)
{
	add_panel(p, "gpu", NULL);
}

/* ---- how many ran at once ------------------------------------------------------------------- */

static void sample_steps(const struct page *p, bool threads, struct curve *ret)
{
	const struct timeline *t = &p->r->timeline;
	int64_t span = p->end - p->begin, level = 0;
	size_t next = 0;

	for (int column = 0; column < REPORT_POINTS; column++) {
		int64_t from = p->begin + span / REPORT_POINTS * column;
		int64_t to = column + 1 < REPORT_POINTS ? from + span / REPORT_POINTS : p->end;
		int64_t low = level, high = level, at = from;
		double area = 0;

		while (next < t->count && t->steps[next].time <= to) {
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
	struct line lines[] = {{.label = more ? "processes" : NULL, .points = &processes},
			       {.label = "threads", .points = &threads}};
	struct chart c = {.title = more ? "processes and threads at once" : "processes at once",
			  .unit = "count",
			  .factor = 1,
			  .lines = lines,
			  .count = more ? 2 : 1,
			  .ticks = 8,
			  .column = 1};
	strbuf_addf(&p->out, "<p>At most ");
	page_count(p, t->peak_procs);
	strbuf_addstr(&p->out, t->peak_procs == 1 ? " process" : " processes");
	if (more) {
		strbuf_addstr(&p->out, " and ");
		page_count(p, t->peak_threads);
		strbuf_addstr(&p->out, " threads");
	}
	strbuf_addstr(&p->out, " ran at once.</p>");
	add_chart(p, &c, "timeline", NAN, NAN);
}
