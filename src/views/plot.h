/*
 * Charts of curves as pictures: SVG, PNG or PDF. A chart is described here without a library; the
 * module "draw" (cairo, pango) draws it. Points are reduced to the extremes in each column of
 * pixels first, so that peaks stay visible and a million points cost little.
 */
#ifndef PL_VIEWS_PLOT_H
#define PL_VIEWS_PLOT_H

#include "analysis/curve.h"
#include "core/strbuf.h"

struct plot_line {
	const char *label;
	struct curve points; /* not owned by the drawing; low and high are drawn as a band */
};

struct plot {
	const char *title, *subtitle; /* subtitle NULL: none */
	const char *y_label;
	const char *unit; /* as metric_unit_name() says, "/s" behind it for rates: chooses 1,000 or
			   * 1,024 and the prefix */
	bool logarithmic;
	int64_t begin, end; /* us; the time axis, in local time; both 0: from the points */
	struct plot_line *lines;
	size_t line_count;
};

enum plot_form { PLOT_SVG, PLOT_PNG, PLOT_PDF };

/* A page of the PDF holds several plots below each other, under a header and above a page number.
 */
struct plot_page {
	const struct plot *plots;
	size_t plot_count;
};

struct draw_functions {
	/* One picture, width x height in pixels (points for SVG and PDF). */
	int (*picture)(const struct plot *p, enum plot_form form, int width, int height,
		       const char *path, struct strbuf *why);
	/* A4 pages; header is one line, foot is put before "page n of m"; front (may be NULL) is
	 * text in lines for the first page(s), a line that begins with '#' is a heading. */
	int (*pages)(const struct plot_page *pages, size_t count, const char *header,
		     const char *foot, const char *front, const char *path, struct strbuf *why);
};

/* Loads the module "draw" and draws; the file is written aside and renamed. */
int plot_picture(const struct plot *p, enum plot_form form, int width, int height, const char *path,
		 struct strbuf *why);
int plot_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, const char *path, struct strbuf *why);

#endif
