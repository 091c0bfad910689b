/*
 * One chart: title, axes, lines, legend. The legend is below the lines; where it has no room for
 * all entries it shows the number of the others. Of too many lines the extremes, the mean and the
 * highest line are drawn.
 */
#include <math.h>
#include <string.h>

#include "plot/draw_internal.h"

#define LINES_MAX(width) ((width) < 400 ? 16u : 100u)
#define TEXT_MAX 400 /* bytes of a title or a label */
#define LEGEND_ROWS 3
#define DENSE 3 /* points in a column: more are drawn as a band */
#define FEW 32  /* columns per point: sparser points are marked */

static const unsigned palette[] = {0x2f6db3, 0xd9662b, 0x2e8b57, 0xb5385a, 0x7a5fb0,
				   0x8c6d31, 0x1f9aa8, 0xc2569c, 0x6b7a1f, 0x5a6472};
#define INK RGB(0x22262b)
#define SOFT RGB(0x5d6670)
#define GRID RGB(0xe4e7eb)
#define FAINT RGB(0xf2f4f6)
#define AXIS RGB(0x9aa3ad)

struct line {
	char *label;
	struct plot_column *columns;
	size_t points, filled; /* columns with any */
	double low, high, positive;
	bool ranges; /* the points have extremes of their own */
	struct color color;
	int dashed;
};

struct chart {
	struct canvas *c;
	const struct plot *p;
	double x, y, w, h;               /* all of it */
	double left, top, width, height; /* where the lines are */
	int64_t begin, end;
	size_t columns;
	struct line *lines;
	size_t line_count;
	struct plot_axis axis;
	struct plot_ticks times;
};

/* ---- lines ---------------------------------------------------------------------------------- */

static void find_times(struct chart *k)
{
	int64_t begin = INT64_MAX, end = INT64_MIN;

	k->begin = k->p->begin;
	k->end = k->p->end;
	for (size_t i = 0; !(k->begin || k->end) && i < k->p->line_count; i++) {
		const struct points *c = &k->p->lines[i].points;

		if (!c->count)
			continue;
		begin = c->points[0].time < begin ? c->points[0].time : begin;
		end = c->points[c->count - 1].time > end ? c->points[c->count - 1].time : end;
	}
	if (begin <= end) {
		k->begin = begin;
		k->end = end;
	}
	/* a single moment is in the middle of two seconds */
	if (k->begin == k->end && k->begin) {
		k->begin -= 1000000;
		k->end += 1000000;
	}
}

/* The range of the columns of a line. */
static void measure(struct line *l, size_t columns)
{
	l->low = l->positive = INFINITY;
	l->high = -INFINITY;
	l->filled = 0;
	for (size_t i = 0; i < columns; i++) {
		const struct plot_column *c = &l->columns[i];

		if (!c->count)
			continue;
		l->filled++;
		l->low = c->low < l->low ? c->low : l->low;
		l->high = c->high > l->high ? c->high : l->high;
		double positive = c->low > 0 ? c->low : c->mean > 0 ? c->mean : INFINITY;
		l->positive = positive < l->positive ? positive : l->positive;
		l->ranges = l->ranges || (c->count == 1 && c->high > c->low);
	}
}

static void reduce(const struct chart *k, size_t i, struct line *to)
{
	const struct plot_line *from = &k->p->lines[i];

	*to = (struct line){.label = shown_text(from->label, TEXT_MAX),
			    .columns = xcalloc(k->columns, sizeof(*to->columns)),
			    .color = RGB(palette[i % ARRAY_SIZE(palette)]),
			    .dashed = (int)(i / ARRAY_SIZE(palette) % 3)};
	to->points = plot_reduce(&from->points, k->begin, k->end, to->columns, k->columns);
	for (size_t n = 0; from->seldom && n < k->columns; n++)
		to->columns[n].joined = false;
	measure(to, k->columns);
}

static void line_release(struct line *l)
{
	free(l->label);
	free(l->columns);
}

static void put_together(struct plot_column *to, const struct plot_column *c)
{
	double mean = c->mean;

	if (!c->count)
		return;
	if (!to->count) {
		*to = *c;
		to->mean = 0;
		to->count = 0;
	}
	to->low = c->low < to->low ? c->low : to->low;
	to->high = c->high > to->high ? c->high : to->high;
	to->joined = to->joined || c->joined;
	to->count++;
	to->mean += (mean - to->mean) / (double)to->count;
}

/* Too many lines: all as a band with their mean, and the highest one. */
static void reduce_many(struct chart *k)
{
	struct line *all = &k->lines[0], *top = &k->lines[1];

	*all = (struct line){
		.label = xasprintf("mean of %zu, smallest to largest", k->p->line_count),
		.columns = xcalloc(k->columns, sizeof(*all->columns)),
		.color = RGB(palette[0])};
	*top = (struct line){.high = -INFINITY};
	for (size_t i = 0; i < k->p->line_count; i++) {
		struct line one;

		reduce(k, i, &one);
		for (size_t n = 0; n < k->columns; n++)
			put_together(&all->columns[n], &one.columns[n]);
		all->points += one.points;
		if (one.points && (!top->columns || one.high > top->high)) {
			struct line old = *top;

			*top = one;
			one = old;
		}
		line_release(&one);
	}
	measure(all, k->columns);
	all->ranges = true;
	k->line_count = 1;
	if (!top->columns)
		return;
	char *label = xasprintf("highest: %s", top->label);
	free(top->label);
	top->label = label;
	top->color = RGB(palette[1]);
	top->dashed = 0;
	k->line_count = 2;
}

static size_t reduce_lines(struct chart *k)
{
	size_t points = 0, n = k->p->line_count, most = LINES_MAX(k->w);

	k->lines = xcalloc((n < most ? n : most) + 2, sizeof(*k->lines));
	if (n > most) {
		reduce_many(k);
	} else {
		for (size_t i = 0; i < n; i++)
			reduce(k, i, &k->lines[i]);
		k->line_count = n;
	}
	for (size_t i = 0; i < k->line_count; i++)
		points += k->lines[i].points;
	return points;
}

static struct spot spot_at(const struct chart *k, size_t column, double in, double value)
{
	double place = plot_axis_place(&k->axis, value);

	return (struct spot){
		k->left + ((double)column + in) * k->width / (double)k->columns,
		k->top + k->height * (1 - place),
	};
}

/* The line through each point; where a column has several, through their extremes. */
static size_t add_column(const struct chart *k, const struct plot_column *c, size_t i,
			 struct spot *to)
{
	size_t n = 0;
	double middle = (c->first_x + c->last_x) / 2;

	to[n++] = spot_at(k, i, c->first_x, c->first);
	if (c->count > 1) {
		bool rising = c->last > c->first;

		to[n++] = spot_at(k, i, middle, rising ? c->low : c->high);
		to[n++] = spot_at(k, i, middle, rising ? c->high : c->low);
		to[n++] = spot_at(k, i, c->last_x, c->last);
	}
	return n;
}

struct run {
	size_t from, to; /* columns, to is not in it */
};

/* The next range of joined columns. */
static bool next_run(const struct chart *k, const struct line *l, struct run *r)
{
	size_t i = r->to;

	while (i < k->columns && !l->columns[i].count)
		i++;
	r->from = i;
	if (i == k->columns)
		return false;
	for (i++; i < k->columns && (!l->columns[i].count || l->columns[i].joined);)
		i++;
	r->to = i;
	return true;
}

static void draw_run(struct chart *k, const struct line *l, const struct run *r, struct spot *spots)
{
	double width = k->line_count > 12 ? 0.9 : 1.4;
	size_t n = 0;

	for (size_t i = r->from; i < r->to; i++)
		if (l->columns[i].count)
			n += add_column(k, &l->columns[i], i, spots + n);
	if (n > 1)
		canvas_path(k->c, spots, n, width, l->color, l->dashed);
	/* sparse points are marked: the line between them is no measurement */
	for (size_t i = 0; i < n && (n == 1 || l->points * FEW <= k->columns); i++)
		canvas_dot(k->c, spots[i].x, spots[i].y, 2.2, l->color);
}

static bool is_dense(const struct line *l)
{
	return l->ranges || l->points > l->filled * DENSE;
}

/* Extremes as a band; edges make a single peak visible. */
static void draw_band(struct chart *k, const struct line *l, const struct run *r,
		      struct spot *spots)
{
	struct color light = l->color, edge = l->color;
	size_t n = 0, half;

	/* several bands overlap */
	light.a = k->line_count > 2 ? 0.12 : 0.25;
	edge.a = k->line_count > 2 ? 0.25 : 0.55;
	for (size_t i = r->from; i < r->to; i++)
		if (l->columns[i].count)
			spots[n++] = spot_at(k, i, 0.5, l->columns[i].high);
	half = n;
	if (half == 1) {
		canvas_dot(k->c, spots[0].x, spots[0].y, 2.2, l->color);
		return;
	}
	for (size_t i = r->to; i-- > r->from;)
		if (l->columns[i].count)
			spots[n++] = spot_at(k, i, 0.5, l->columns[i].low);
	canvas_area(k->c, spots, n, light);
	canvas_path(k->c, spots, half, 0.8, edge, 0);
	canvas_path(k->c, spots + half, n - half, 0.8, edge, 0);
}

static void draw_mean(struct chart *k, const struct line *l, const struct run *r,
		      struct spot *spots)
{
	size_t n = 0;

	for (size_t i = r->from; i < r->to; i++)
		if (l->columns[i].count)
			spots[n++] = spot_at(k, i, 0.5, l->columns[i].mean);
	if (n > 1)
		canvas_path(k->c, spots, n, k->line_count > 12 ? 0.9 : 1.4, l->color, l->dashed);
}

static void draw_lines(struct chart *k)
{
	struct spot *spots = xcalloc(k->columns * 4 + 4, sizeof(*spots));

	/* bands first, so that they hide no line */
	for (size_t i = 0; i < k->line_count; i++) {
		struct run r = {0};

		canvas_group(k->c, "band", NULL);
		while (is_dense(&k->lines[i]) && next_run(k, &k->lines[i], &r))
			draw_band(k, &k->lines[i], &r, spots);
		canvas_group_end(k->c);
	}
	for (size_t i = 0; i < k->line_count; i++) {
		const struct line *l = &k->lines[i];
		struct run r = {0};

		canvas_group(k->c, "line", l->label);
		while (next_run(k, l, &r)) {
			if (is_dense(l))
				draw_mean(k, l, &r, spots);
			else
				draw_run(k, l, &r, spots);
		}
		canvas_group_end(k->c);
	}
	free(spots);
}

/* ---- axes ----------------------------------------------------------------------------------- */

static void find_axis(struct chart *k)
{
	double low = INFINITY, high = -INFINITY, positive = INFINITY;

	for (size_t i = 0; i < k->line_count; i++) {
		const struct line *l = &k->lines[i];

		low = l->low < low ? l->low : low;
		high = l->high > high ? l->high : high;
		positive = l->positive < positive ? l->positive : positive;
	}
	bool logarithmic = k->p->logarithmic && isfinite(positive) && high > 0;
	size_t about = k->height > 300 ? 7 : k->height > 160 ? 5 : k->height > 80 ? 4 : 2;

	plot_axis_values(&k->axis, logarithmic ? positive : low, high, k->p->unit, logarithmic,
			 about);
	if (k->axis.log_place && !(low > 0))
		plot_axis_add_zero(&k->axis, low < 0);
}

static const struct text_style tick_style = {
	.size = 10.5, .color = {0.365, 0.4, 0.44, 1}, .anchor = TEXT_RIGHT};

static double widest_label(struct chart *k)
{
	double widest = 0;

	for (size_t i = 0; i < k->axis.ticks.count; i++) {
		double w = canvas_text_width(k->c, k->axis.ticks.list[i].label, &tick_style);

		widest = w > widest ? w : widest;
	}
	return widest;
}

static void draw_y_axis(struct chart *k)
{
	double last = INFINITY;

	canvas_group(k->c, "y-axis", NULL);
	/* there is no scale between 0 and the smallest power */
	if (k->axis.zero > 0)
		canvas_box(k->c, k->left, k->top + k->height * (1 - k->axis.zero), k->width,
			   k->height * k->axis.zero, RGB(0xf5f6f8));
	for (size_t i = 0; i < k->axis.ticks.count; i++) {
		const struct plot_tick *t = &k->axis.ticks.list[i];
		double y = k->top + k->height * (1 - plot_axis_place(&k->axis, t->at));
		const struct spot line[] = {{k->left, y}, {k->left + k->width, y}};

		canvas_path(k->c, line, 2, *t->label ? 0.8 : 0.5, *t->label ? GRID : FAINT, 0);
		/* labels of a low chart must not overlap */
		if (!*t->label || last - y < 11)
			continue;
		canvas_text(k->c, k->left - 6, y, t->label, &tick_style);
		last = y;
	}
	canvas_group_end(k->c);
}

static double time_place(const struct chart *k, double at)
{
	return k->left + k->width * (at - (double)k->begin) / (double)(k->end - k->begin);
}

static void draw_x_axis(struct chart *k)
{
	const struct spot base[] = {{k->left, k->top + k->height},
				    {k->left + k->width, k->top + k->height}};
	struct text_style style = tick_style;
	double free_from = k->x, date_from = free_from;

	style.anchor = TEXT_LEFT;
	canvas_group(k->c, "x-axis", NULL);
	for (size_t i = 0; i < k->times.count; i++) {
		const struct plot_tick *t = &k->times.list[i];
		double x = time_place(k, t->at), half;
		const struct spot mark[] = {{x, k->top + k->height}, {x, k->top + k->height + 4}};
		const struct spot line[] = {{x, k->top}, {x, k->top + k->height}};

		canvas_path(k->c, line, 2, 0.5, GRID, 0);
		canvas_path(k->c, mark, 2, 0.8, AXIS, 0);
		half = canvas_text_width(k->c, t->label, &style) / 2;
		if (x - half >= free_from && x + half <= k->x + k->w) {
			canvas_text(k->c, x - half, k->top + k->height + 12, t->label, &style);
			free_from = x + half + 6;
		}
		half = canvas_text_width(k->c, t->date, &style) / 2;
		/* at the left edge a date is moved in */
		double at = x - half < k->x ? k->x : x - half;
		if (*t->date && at >= date_from && at + 2 * half <= k->x + k->w) {
			canvas_text(k->c, at, k->top + k->height + 25, t->date, &style);
			date_from = at + 2 * half + 8;
		}
	}
	canvas_path(k->c, base, 2, 0.9, AXIS, 0);
	canvas_group_end(k->c);
}

/* ---- legend ---------------------------------------------------------------------------------- */

#define SWATCH 16
#define ROW_HEIGHT 15

static const struct text_style legend_style = {.size = 10.5, .color = {0.133, 0.149, 0.169, 1}};

struct legend {
	size_t rows, shown;
	double entry; /* width of each */
	size_t per_row;
};

/* Entries in columns of the same width. */
static void plan_legend(struct chart *k, struct legend *g)
{
	double widest = 0, limit = k->w / 2 < 260 ? k->w / 2 : 260;

	*g = (struct legend){0};
	for (size_t i = 0; i < k->line_count; i++) {
		double w = canvas_text_width(k->c, k->lines[i].label, &legend_style);

		widest = w > widest ? w : widest;
	}
	/* a single line without a label needs no legend */
	if (k->line_count == 0 || (k->line_count == 1 && !*k->lines[0].label))
		return;
	g->entry = (widest < limit ? widest : limit) + SWATCH + 18;
	g->per_row = k->w > g->entry ? (size_t)(k->w / g->entry) : 1;
	size_t rows_max = k->h < 140 ? 1 : k->h < 230 ? 2 : LEGEND_ROWS;
	g->rows = (k->line_count + g->per_row - 1) / g->per_row;
	g->shown = k->line_count;
	if (g->rows > rows_max) {
		g->rows = rows_max;
		g->shown = rows_max * g->per_row - 1; /* the last entry is "and N more" */
	}
}

/* The left end of the swatch of an entry. */
static struct spot legend_place(const struct chart *k, const struct legend *g, double top, size_t i)
{
	size_t row = i / g->per_row, column = i % g->per_row;

	return (struct spot){k->x + (double)column * g->entry,
			     top + ((double)row + 0.5) * ROW_HEIGHT};
}

static void draw_legend(struct chart *k, const struct legend *g, double top)
{
	struct text_style style = legend_style;

	canvas_group(k->c, "legend", NULL);
	for (size_t i = 0; i < g->shown; i++) {
		const struct line *l = &k->lines[i];
		struct spot at = legend_place(k, g, top, i);
		const struct spot swatch[] = {at, {at.x + SWATCH, at.y}};

		canvas_path(k->c, swatch, 2, 2.4, l->color, l->dashed);
		style.width = g->entry - SWATCH - 14;
		canvas_text(k->c, at.x + SWATCH + 5, at.y, l->label, &style);
	}
	if (g->shown < k->line_count) {
		_cleanup_free_ char *more = xasprintf("and %zu more", k->line_count - g->shown);
		struct spot at = legend_place(k, g, top, g->shown);

		style.color = SOFT;
		style.width = 0;
		canvas_text(k->c, at.x + SWATCH + 5, at.y, more, &style);
	}
	canvas_group_end(k->c);
}

/* ---- all of it ------------------------------------------------------------------------------- */

#define HEAD_GAP 12 /* half the height of a value label reaches into it */

/* Title, subtitle and label of the values; returns their height. */
static double draw_head(struct chart *k, bool draw)
{
	_cleanup_free_ char *title = shown_text(k->p->title, TEXT_MAX);
	_cleanup_free_ char *subtitle = shown_text(k->p->subtitle, TEXT_MAX);
	_cleanup_free_ char *label = shown_text(k->p->y_label, TEXT_MAX);
	struct text_style style = {.size = 14, .bold = true, .color = INK, .width = k->w};
	double y = k->y;
	bool labelled = *label && strcmp(label, title) != 0;

	if (!draw)
		return (*title ? 19 : 0) + (*subtitle ? 16 : 0) + (labelled ? 16 : 0) + HEAD_GAP;
	canvas_group(k->c, "head", NULL);
	if (*title) {
		canvas_text(k->c, k->x, y + 9, title, &style);
		y += 19;
	}
	style = (struct text_style){.size = 11, .color = SOFT, .width = k->w};
	if (*subtitle) {
		canvas_text(k->c, k->x, y + 7, subtitle, &style);
		y += 16;
	}
	if (labelled)
		canvas_text(k->c, k->x, y + 7, label, &style);
	canvas_group_end(k->c);
	return 0;
}

static struct plot_area area_of(const struct chart *k)
{
	return (struct plot_area){k->left, k->top, k->width, k->height, k->begin, k->end};
}

/* Plans everything but the left edge; returns the number of points. */
static size_t plan_chart(struct chart *k, double columns, struct legend *g)
{
	double bottom = 32;

	k->top = k->y + draw_head(k, false);
	find_times(k);
	/* approximate until the width of the value labels is known */
	k->columns = (size_t)((k->w - 64) * (k->p->line_count > 2 ? columns / 2 : columns)) + 1;
	if (k->w < 80)
		k->columns = 16;
	size_t points = reduce_lines(k);
	plan_legend(k, g);
	if (g->rows)
		bottom += (double)g->rows * ROW_HEIGHT + 6;
	k->height = k->y + k->h - k->top - bottom;
	k->height = k->height < 20 ? 20 : k->height;
	if (points)
		find_axis(k);
	return points;
}

static void chart_release(struct chart *k)
{
	for (size_t i = 0; i < k->line_count; i++)
		line_release(&k->lines[i]);
	free(k->lines);
}

double chart_labels(struct canvas *c, const struct plot *p, double w, double h, double columns)
{
	struct chart k = {.c = c, .p = p, .w = w, .h = h, .width = w};
	struct legend legend;
	double widest = plan_chart(&k, columns, &legend) ? widest_label(&k) : 0;

	chart_release(&k);
	return widest;
}

void chart_draw(struct canvas *c, const struct plot *p, double x, double y, double w, double h,
		double columns, double labels)
{
	struct chart k = {.c = c, .p = p, .x = x, .y = y, .w = w, .h = h, .left = x, .width = w};
	struct legend legend;

	canvas_group(c, "chart", NULL);
	(void)draw_head(&k, true);
	if (!plan_chart(&k, columns, &legend)) {
		no_data_draw(c, area_of(&k));
	} else {
		double own = widest_label(&k);

		k.left = x + (labels > own ? labels : own) + 8;
		k.width = x + w - k.left - 4;
		k.width = k.width < 20 ? 20 : k.width;
		plot_time_ticks(&k.times, k.begin, k.end, (size_t)(k.width / 95) + 1);
		spans_draw(c, p, area_of(&k));
		draw_y_axis(&k);
		draw_x_axis(&k);
		draw_lines(&k);
		if (legend.rows)
			draw_legend(&k, &legend, k.top + k.height + 36);
	}
	canvas_group_end(c);
	chart_release(&k);
}
