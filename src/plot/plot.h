/*
 * Charts of curves as pictures: SVG, PNG or PDF. A chart is described here without a library; the
 * module "draw" (cairo, pango) draws it. Points are reduced to the extremes in each column of
 * pixels first, so that peaks stay visible and a million points cost little.
 *
 * Texts are bytes of anybody's: what cannot be shown is written as \xNN.
 */
#ifndef PL_PLOT_PLOT_H
#define PL_PLOT_PLOT_H

#include "core/strbuf.h"
#include "samples/series_math.h"

#define PLOT_WIDTH 960 /* of a picture, unless asked for another */
#define PLOT_HEIGHT 420
#define PLOT_SIZE_MIN 120
#define PLOT_SIZE_MAX 8192

struct plot_line {
	const char *label;
	struct curve points; /* not owned by the drawing; low and high are drawn as a band */
	bool seldom;         /* not known between its points: no line joins them */
	bool has_mean;
	double mean; /* over its time, where that is known */
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

/*
 * A page of the PDF holds several plots below each other, under a header and above a page number
 * (with columns: as many rows of them as it takes, on this page and the next ones);
 * or text, as many pages as it takes. Text is lines: one that begins with '#' is a heading ("##" a
 * smaller one); lines with tabs are rows of a table with their neighbours, one that begins with '|'
 * its head, in which '>' before a word puts that column to the right; one blank at the begin of a
 * row is not drawn. Others are filled.
 */
struct plot_page {
	const struct plot *plots;
	size_t plot_count;
	size_t rows;         /* that share a page; 0: three, or as many as there are */
	size_t columns;      /* of plots beside each other, a heading above; 0: below each other */
	const char *heading; /* with columns only; NULL: none */
	const char *text;    /* NULL: plots */
};

struct draw_functions {
	/* One picture of plots below each other, width x height in pixels (points for SVG and
	 * PDF), into *out. */
	int (*picture)(const struct plot *plots, size_t count, enum plot_form form, int width,
		       int height, struct strbuf *out, struct strbuf *why);
	/* A4 pages; header is one line, foot is put before "page n of m"; front (may be NULL) is
	 * text for the first page(s). */
	int (*pages)(const struct plot_page *pages, size_t count, const char *header,
		     const char *foot, const char *front, struct strbuf *out, struct strbuf *why);
};

/* Loads the module "draw" and draws; the file is written aside and renamed. A negative errno with
 * the sentence in *why, -ENOTSUP where the module is missing. */
int plot_picture(const struct plot *p, enum plot_form form, int width, int height, const char *path,
		 struct strbuf *why);
int plot_pictures(const struct plot *plots, size_t count, enum plot_form form, int width,
		  int height, const char *path, struct strbuf *why);
/* The same for pages, into *out. */
int plot_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, struct strbuf *out, struct strbuf *why);

/* By the end of a file's name: "x.svg", "x.PNG". False when it is none of them. */
bool plot_form_of(const char *path, enum plot_form *ret);
/* Does a logarithmic axis show more: all but the smallest tenth of the values above 0 span more
 * than three decades? Never of percentages, ratios, degrees. */
bool plot_log_helps(const struct plot *p);
/* Is there a value above 0, without which no axis can be logarithmic? */
bool plot_has_positive(const struct plot *p);
/* The mean of a line over time, where it is known, else of its points; and the largest of all
 * finite values. NAN when there are none. */
void plot_line_figures(const struct plot_line *l, double *ret_mean, double *ret_maximum);

#endif
