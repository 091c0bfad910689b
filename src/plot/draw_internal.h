/*
 * The parts of the module "draw". A canvas is a surface of cairo's, or the text of an SVG file: the
 * latter is written here because cairo's has outlines in the place of words.
 */
#ifndef PL_PLOT_DRAW_INTERNAL_H
#define PL_PLOT_DRAW_INTERNAL_H

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
	cairo_t *cr;        /* draws; of an SVG only measures texts */
	struct strbuf *svg; /* NULL: cairo draws */
	PangoLayout *layout;
};

enum text_anchor { TEXT_LEFT, TEXT_MIDDLE, TEXT_RIGHT };

struct text_style {
	double size;
	bool bold;
	struct color color;
	enum text_anchor anchor;
	double width; /* cut with an ellipsis beyond; 0: not at all */
};

void canvas_begin(struct canvas *c, cairo_surface_t *surface, struct strbuf *svg);
void canvas_end(struct canvas *c);

/* Elements of an SVG that belong together; the class names what it is. */
void canvas_group(struct canvas *c, const char *class, const char *title);
void canvas_group_end(struct canvas *c);

void canvas_box(struct canvas *c, double x, double y, double w, double h, struct color fill);
void canvas_dot(struct canvas *c, double x, double y, double radius, struct color fill);
/* dashed: 0 no, 1 yes, 2 dotted */
void canvas_path(struct canvas *c, const struct spot *spots, size_t count, double width,
		 struct color color, int dashed);
void canvas_area(struct canvas *c, const struct spot *spots, size_t count, struct color fill);
/* y is the middle of the line; the width that the text takes. */
double canvas_text(struct canvas *c, double x, double y, const char *text,
		   const struct text_style *style);
double canvas_text_width(struct canvas *c, const char *text, const struct text_style *style);
/* The text in lines of at most so many, the top of the first at y; the height that it takes. With
 * draw false nothing is drawn. Of cairo's surfaces only. */
double canvas_paragraph(struct canvas *c, double x, double y, double width, const char *text,
			const struct text_style *style, bool draw);
/* What can be shown of bytes, at most so many; freed by the caller. */
char *shown_text(const char *s, size_t max);

/* A chart in a rectangle. columns: of pixels for each unit of width. labels: room for those of the
 * values, at least; of charts below each other it is the most that chart_labels() gives, so that
 * one moment is at one place in all of them. */
void chart_draw(struct canvas *c, const struct plot *p, double x, double y, double w, double h,
		double columns, double labels);
/* The times of all plots, so that they can be compared; 0 where there are no points. */
void plots_common_times(const struct plot *plots, size_t count, int64_t *begin, int64_t *end);
double chart_labels(struct canvas *c, const struct plot *p, double w, double h, double columns);

int draw_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, struct strbuf *out, struct strbuf *why);
/* What cairo writes goes into a strbuf. */
cairo_status_t draw_sink(void *closure, const unsigned char *data, unsigned n);

#endif
