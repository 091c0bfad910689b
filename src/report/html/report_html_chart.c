/*
 * Charts of the page that need no script. Axes, ticks and the reduction of lines to columns are
 * those of `plimsoll plot` (plot/plot_axis.h). Only the pen differs: the page has classes in place
 * of colours, for light and dark, and lines in a box of 1000 by 200 that is stretched to the width
 * of the window. The text around it is not stretched.
 */
#include "report/html/report_html_chart.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "core/text/units.h"
#include "report/html/html_text.h"

#define WIDTH 1000 /* of the box */
#define HEIGHT 200 /* CHART pixels on the screen */
#define EDGE 3     /* above and below, for thick lines */
#define CHART 132  /* as in report.css */

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

/* ---- time axis ------------------------------------------------------------------------------ */

/* Times of damaged records may be anything: their difference is not taken in integers. */
double page_place(const struct page *p, int64_t time)
{
	double x = ((double)time - (double)p->begin) / (double)(p->end - p->begin);

	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Labels with days or fractions of a second are wide: there are fewer of them. */
static void time_ticks(const struct page *p, int most, struct plot_ticks *t)
{
	bool days = p->end - p->begin > DAY;

	plot_time_ticks(t, p->begin, p->end, (size_t)(days ? most * 3 / 4 : most));
	if (t->count && strlen(t->list[0].label) > strlen("00:00:00"))
		plot_time_ticks(t, p->begin, p->end, (size_t)(most * 3 / 5));
}

void page_time_labels(struct page *p, int most)
{
	struct plot_ticks ticks;
	bool days = p->end - p->begin > DAY;

	time_ticks(p, most, &ticks);
	bool wide = most > 5 || days || (ticks.count && strlen(ticks.list[0].label) > 5);
	strbuf_addstr(&p->out, "<svg class=\"xs\" aria-hidden=\"true\">");
	for (size_t i = 0; i < ticks.count; i++) {
		const struct plot_tick *t = &ticks.list[i];
		double x = page_place(p, (int64_t)t->at) * 100;
		bool day = days && strlen(t->date) == strlen("2026-11-15");

		strbuf_addf(&p->out, "<text x=\"%.2f%%\" y=\"14\" class=\"%s%s\">%s%s%s</text>", x,
			    x < 4    ? "l"
			    : x > 96 ? "r"
				     : "m",
			    i % 2 && wide ? " o" : "", day ? t->date + strlen("2026-") : "",
			    day ? " " : "", t->label);
	}
	strbuf_addstr(&p->out, "</svg>");
}

static int64_t offset_at(int64_t us)
{
	time_t t = (time_t)(us / SECOND);
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

void page_zone(struct page *p)
{
	int64_t a = offset_at(p->begin), b = offset_at(p->end);
	int64_t low = p->begin, high = p->end;

	strbuf_addf(&p->out, "%lld", (long long)a);
	if (a == b)
		return;
	while (high - low > SECOND) {
		int64_t middle = low + (high - low) / 2;

		if (offset_at(middle) == a)
			low = middle;
		else
			high = middle;
	}
	high -= high % SECOND;
	strbuf_addf(&p->out, ",%lld,%lld", (long long)high, (long long)b);
}

/* ---- value axis ----------------------------------------------------------------------------- */

static bool has_bands(const struct page_chart *c)
{
	return c->count <= CHART_BANDS_MAX;
}

static void set_axis(struct page_chart *c)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t l = 0; l < c->count; l++)
		for (size_t i = 0; i < c->lines[l].points->count; i++) {
			const struct point *p = &c->lines[l].points->points[i];
			double a = has_bands(c) ? p->low : p->value;
			double b = has_bands(c) ? p->high : p->value;

			low = isfinite(a) && a < low ? a : low;
			high = isfinite(b) && b > high ? b : high;
		}
	if (!isfinite(low) || !isfinite(high))
		low = high = 0;
	plot_axis_linear(&c->axis, low, high, c->unit, 4);
}

static int place_y(const struct page_chart *c, double v)
{
	return (int)((1 - plot_axis_place(&c->axis, v)) * HEIGHT + 0.5);
}

static void add_value_labels(struct page *p, const struct page_chart *c)
{
	strbuf_addstr(&p->out, "<svg class=\"ys\" aria-hidden=\"true\">");
	for (size_t i = c->axis.ticks.count; i-- > 0;) {
		const struct plot_tick *t = &c->axis.ticks.list[i];

		strbuf_addf(&p->out, "<text x=\"100%%\" y=\"%.1f\">",
			    CHART * (1 - plot_axis_place(&c->axis, t->at)));
		html_str(&p->out, t->label);
		strbuf_addstr(&p->out, "</text>");
	}
	strbuf_addstr(&p->out, "</svg>");
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* A path in relative steps, which are shorter; steps along a level become one. */
struct path {
	struct strbuf *out;
	int x, y;
	int level; /* length of level steps that are not written yet */
	bool down; /* the pen is */
};

static void path_level(struct path *t)
{
	if (t->level)
		strbuf_addf(t->out, "h%d", t->level);
	t->level = 0;
}

static void path_lift(struct path *t)
{
	path_level(t);
	t->down = false;
}

static void path_to(struct path *t, double to_x, int y)
{
	int x = (int)(to_x + 0.5), right = x - t->x, lower = y - t->y;

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

/* A line as the columns that can be seen of it. */
struct line_columns {
	struct plot_column *list;
	size_t count;
	bool band; /* the points have extremes of their own */
};

static void reduce(const struct page *p, const struct page_chart *c, const struct page_line *l,
		   struct line_columns *ret)
{
	ret->count = (size_t)(WIDTH / c->column);
	ret->list = xcalloc(ret->count, sizeof(*ret->list));
	ret->band = false;
	plot_reduce(l->points, p->begin, p->end, ret->list, ret->count);
	for (size_t i = 0; i < l->points->count && !l->seldom; i++) {
		const struct point *q = &l->points->points[i];

		ret->band = ret->band ||
			    (isfinite(q->value) && place_y(c, q->low) != place_y(c, q->high));
	}
}

static double column_x(const struct line_columns *k, size_t i, double in)
{
	return ((double)i + in) * WIDTH / (double)k->count;
}

static void add_line(struct page *p, const struct page_chart *c, const struct page_line *l,
		     const struct line_columns *k)
{
	struct path t = {.out = &p->out};

	for (size_t i = 0; i < k->count; i++) {
		const struct plot_column *q = &k->list[i];
		double x = column_x(k, i, q->first_x), end = column_x(k, i, q->last_x);

		if (!q->count)
			continue;
		if (!q->joined || l->seldom)
			path_lift(&t);
		/* beside a band the mean is enough; else the way goes through the extremes */
		path_to(&t, x, place_y(c, k->band ? q->mean : q->first));
		if (k->band || q->count == 1)
			continue;
		bool rising = q->last > q->first;
		path_to(&t, (x + end) / 2, place_y(c, rising ? q->low : q->high));
		path_to(&t, (x + end) / 2, place_y(c, rising ? q->high : q->low));
		path_to(&t, end, place_y(c, q->last));
	}
	path_lift(&t);
}

/* The area between the extremes, one part for each stretch of columns that are joined. */
static void add_band(struct page *p, const struct page_chart *c, const struct line_columns *k,
		     size_t number)
{
	strbuf_addf(&p->out, "<path class=\"band k%zu\" d=\"", number);
	for (size_t from = 0, to; from < k->count; from = to) {
		struct path t = {.out = &p->out};

		for (to = from + 1; to < k->count && (!k->list[to].count || k->list[to].joined);)
			to++;
		for (size_t i = from; i < to; i++)
			if (k->list[i].count)
				path_to(&t, column_x(k, i, k->list[i].first_x),
					place_y(c, k->list[i].high));
		for (size_t i = to; i-- > from;)
			if (k->list[i].count)
				path_to(&t, column_x(k, i, k->list[i].first_x),
					place_y(c, k->list[i].low));
		bool any = t.down;
		path_lift(&t);
		strbuf_addstr(&p->out, any ? "z" : "");
	}
	strbuf_addstr(&p->out, "\"/>");
}

static void add_grid(struct page *p, const struct page_chart *c)
{
	struct plot_ticks ticks;

	time_ticks(p, c->ticks, &ticks);
	strbuf_addstr(&p->out, "<path class=\"grid\" d=\"");
	for (size_t i = 0; i < ticks.count; i++)
		strbuf_addf(&p->out, "M%.1f 0v%d", page_place(p, (int64_t)ticks.list[i].at) * WIDTH,
			    HEIGHT);
	for (size_t i = 0; i < c->axis.ticks.count; i++)
		strbuf_addf(&p->out, "M0 %dh%d", place_y(c, c->axis.ticks.list[i].at), WIDTH);
	strbuf_addstr(&p->out, "\"/>");
}

static void add_plot(struct page *p, struct page_chart *c)
{
	_cleanup_free_ struct line_columns *k = xcalloc(c->count + 1, sizeof(*k));

	strbuf_addf(&p->out,
		    "<svg class=\"plot\" viewBox=\"0 %d %d %d\" preserveAspectRatio=\"none\" "
		    "role=\"img\" aria-label=\"",
		    -EDGE, WIDTH, HEIGHT + 2 * EDGE);
	html_str(&p->out, c->title);
	strbuf_addstr(&p->out, "\">");
	page_phase_bands(p, WIDTH, HEIGHT);
	add_grid(p, c);
	for (size_t i = 0; i < c->count; i++) {
		reduce(p, c, &c->lines[i], &k[i]);
		if (k[i].band && has_bands(c))
			add_band(p, c, &k[i], i);
	}
	for (size_t i = c->count; i-- > 0;) {
		const struct page_line *l = &c->lines[i];

		strbuf_addf(&p->out, "<path class=\"line k%zu%s\" d=\"", i < 8 ? i : 8,
			    l->seldom || l->points->count == 1 ? " dot" : "");
		add_line(p, c, l, &k[i]);
		strbuf_addstr(&p->out, "\"/>");
		free(k[i].list);
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
		if (c->lines[i].sublabel)
			html_between(&p->out, " <bdi>", c->lines[i].sublabel, SIZE_MAX, "</bdi>");
		strbuf_addstr(&p->out, "</li>");
	}
	if (c->count + c->left_out > 8)
		strbuf_addf(&p->out, "<li class=\"k8\">%zu more%s</li>", c->count + c->left_out - 8,
			    c->left_out ? ", not all drawn" : "");
	strbuf_addstr(&p->out, "</ul>");
}

void page_chart(struct page *p, struct page_chart *c, const char *ids, double mean, double maximum)
{
	set_axis(c);
	strbuf_addf(&p->out, "<figure class=\"chart\" data-lines=\"%s\"><figcaption><b>", ids);
	html_sentence(&p->out, c->title);
	strbuf_addstr(&p->out, c->by_host ? ", by host</b>" : "</b>");
	if (c->metric)
		html_between(&p->out, " <code class=\"dim\">", c->metric, SIZE_MAX, "</code>");
	if (isfinite(maximum)) {
		strbuf_addstr(&p->out, " <span class=\"dim\">");
		if (isfinite(mean)) {
			strbuf_addstr(&p->out, "mean ");
			unit_add_value(&p->out, mean, c->unit);
			strbuf_addstr(&p->out, ", ");
		}
		strbuf_addstr(&p->out, "maximum ");
		unit_add_value(&p->out, maximum, c->unit);
		if (c->count && (c->lines[0].seldom || (c->count == 1 && isnan(mean))))
			strbuf_addf(&p->out, "; %lld samples%s", (long long)c->lines[0].readings,
				    c->lines[0].seldom ? ", unknown in between" : "");
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
