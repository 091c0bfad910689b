/*
 * Shared by the files of the module "draw". A canvas is a cairo surface or the text of an SVG file,
 * which is written here because cairo would write outlines in place of text.
 */
#pragma once

#include <pango/pangocairo.h>

#include "plot/plot_axis.h"

struct color {
	double r, g, b, a;
};
#define RGB(hex)                                                                             \
	((struct color){(double)((hex) >> 16 & 255) / 255, (double)((hex) >> 8 & 255) / 255, \
			(double)((hex)&255) / 255, 1})

struct spot {
	double x, y;
};

struct canvas {
	cairo_t *cr;        /* for an SVG it only measures text */
	struct strbuf *svg; /* NULL: cairo draws */
	PangoLayout *layout;
};

enum text_anchor { TEXT_LEFT, TEXT_MIDDLE, TEXT_RIGHT };

struct text_style {
	double size;
	bool bold;
	struct color color;
	enum text_anchor anchor;
	double width; /* longer text is cut with an ellipsis; 0: no limit */
};

void canvas_begin(struct canvas *c, cairo_surface_t *surface, struct strbuf *svg);
void canvas_end(struct canvas *c);

/* A group of elements of an SVG, with a class. */
void canvas_group(struct canvas *c, const char *class, const char *title);
void canvas_group_end(struct canvas *c);

void canvas_box(struct canvas *c, double x, double y, double w, double h, struct color fill);
void canvas_dot(struct canvas *c, double x, double y, double radius, struct color fill);
/* dashed: 0 no, 1 yes, 2 dotted */
void canvas_path(struct canvas *c, const struct spot *spots, size_t count, double width,
		 struct color color, int dashed);
void canvas_area(struct canvas *c, const struct spot *spots, size_t count, struct color fill);
/* y is the middle of the line. Returns the width of the text. */
double canvas_text(struct canvas *c, double x, double y, const char *text,
		   const struct text_style *style);
double canvas_text_width(struct canvas *c, const char *text, const struct text_style *style);
/* Wraps the text to a width, the top of the first line at y. Returns its height; draw false: only
 * that. On cairo surfaces only. */
double canvas_paragraph(struct canvas *c, double x, double y, double width, const char *text,
			const struct text_style *style, bool draw);
/* The text with bytes that cannot be shown escaped, at most so many; the caller frees it. */
char *shown_text(const char *s, size_t max);

/* Where the lines of a chart are, and the time that it covers. */
struct plot_area {
	double left, top, width, height;
	int64_t begin, end;
};
void spans_draw(struct canvas *c, const struct plot *p, struct plot_area a);
void no_data_draw(struct canvas *c, struct plot_area a);

/* A chart in a rectangle. columns: per unit of width. labels: the least width for labels of values;
 * for charts below each other the maximum of chart_labels(), so that their time axes are aligned.
 */
void chart_draw(struct canvas *c, const struct plot *p, double x, double y, double w, double h,
		double columns, double labels);
/* The common time range of all plots; 0 without points. */
void plots_common_times(const struct plot *plots, size_t count, int64_t *begin, int64_t *end);
double chart_labels(struct canvas *c, const struct plot *p, double w, double h, double columns);

/* A stacked time line with its legend, on cairo surfaces only. */
double stack_height(const struct plot_stack *s);
void stack_draw(struct canvas *c, const struct plot_stack *s, double x, double y, double w);

int draw_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, struct strbuf *out, struct strbuf *why);
/* Lets cairo write into a strbuf. */
cairo_status_t draw_sink(void *closure, const unsigned char *data, unsigned n);
