/*
 * A chart that needs no script. Lines are drawn in a box of 1000 by 200 that is stretched to its
 * place; where points are denser than columns, each column has the extremes.
 */
#include "report/html/report_html_chart.h"

#include <math.h>

#include "plot/unit_scale.h"
#include "report/html/html_text.h"

#define HEIGHT 200 /* of the box; CHART pixels on the screen */
#define EDGE 3     /* above and below, for lines that are as thick */
#define CHART 132  /* as in report.css */

/* ---- axes ----------------------------------------------------------------------------------- */

static void set_range(struct page_chart *c)
{
	double low = INFINITY, high = -INFINITY;
	bool bands = c->count <= CHART_BANDS_MAX;

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

static void add_value_labels(struct page *p, const struct page_chart *c)
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

static int place_y(const struct page_chart *c, double v)
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

/* seldom: points that no line joins */
static void add_line(struct page *p, const struct page_chart *c, const struct curve *curve,
		     bool seldom)
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
		if (seldom || (t.down && gap > 0 && q->time - last > gap))
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
static void band_to(struct page *p, const struct page_chart *c, struct path *t,
		    const struct curve_point *q, double v, bool upper, bool last)
{
	if (!isfinite(v))
		return;
	int x = place_x(p, q->time), y = place_y(c, v), away = x > t->x ? x - t->x : t->x - x;

	if (!t->down || last || away >= c->column || (upper ? y < t->y : y > t->y))
		path_to(t, x, y);
}

/* The area between the extremes, where there is one that can be seen. */
static void add_band(struct page *p, const struct page_chart *c, const struct curve *curve,
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

static void add_plot(struct page *p, struct page_chart *c)
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
	for (size_t i = 0; i < c->count && c->count <= CHART_BANDS_MAX; i++)
		if (!c->lines[i].seldom)
			add_band(p, c, c->lines[i].points, i);
	for (size_t i = c->count; i-- > 0;) {
		const struct page_line *l = &c->lines[i];

		strbuf_addf(&p->out, "<path class=\"line k%zu%s\" d=\"", i < 8 ? i : 8,
			    l->seldom || l->points->count == 1 ? " dot" : "");
		add_line(p, c, l->points, l->seldom);
		strbuf_addstr(&p->out, "\"/>");
	}
	strbuf_addstr(&p->out, "</svg>");
}

static void add_legend(struct page *p, const struct page_chart *c)
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

void page_chart(struct page *p, struct page_chart *c, const char *ids, double mean, double maximum)
{
	set_range(c);
	strbuf_addf(&p->out, "<figure class=\"chart\" data-lines=\"%s\"><figcaption><b>", ids);
	html_sentence(&p->out, c->title);
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
		if (c->count && (c->lines[0].seldom || (c->count == 1 && isnan(mean))))
			strbuf_addf(&p->out, "; read %lld times%s", (long long)c->lines[0].readings,
				    c->lines[0].seldom ? ", not known in between" : "");
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
