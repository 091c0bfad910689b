/*
 * Charts as pictures: SVG, PNG or PDF. A chart is described here without a library; the module
 * "draw" (cairo, pango) draws it. Points are first reduced to the extremes in each column of
 * pixels: peaks stay visible and a million points cost little.
 *
 * Texts may have any bytes: those that cannot be shown are written as \xNN.
 */
#pragma once

#include "core/strbuf.h"
#include "samples/series_math.h"

#define PLOT_WIDTH 960 /* default size of a picture */
#define PLOT_HEIGHT 420
#define PLOT_SIZE_MIN 120
#define PLOT_SIZE_MAX 8192

struct plot_line {
	const char *label;
	struct points points; /* not owned; low and high are drawn as a band */
	bool seldom;          /* unknown between its points: no line joins them */
	bool has_mean;
	double mean; /* over its time */
};

/* A time that has a name, such as a phase of the job: a band behind the lines. */
struct plot_span {
	int64_t begin, end; /* us */
	const char *name;
};

struct plot {
	const char *title, *subtitle; /* subtitle NULL: none */
	const char *y_label;
	const char *unit; /* of metric_unit_name(), with "/s" for rates; see core/text/units.h */
	bool logarithmic;
	int64_t begin, end; /* us; the time axis, in local time; both 0: from the points */
	struct plot_line *lines;
	size_t line_count;
	const struct plot_span *spans; /* not owned */
	size_t span_count;
};

/* A part of a stacked time line, with the texts of its row in the legend. */
struct plot_part {
	const char *label, *amount, *share;
	unsigned color; /* 0xrrggbb */
};

/* Shares of parts over time, from 0 to 1, in columns of the same width; parts from below. */
struct plot_stack {
	const char *note; /* above it */
	const struct plot_part *parts;
	size_t part_count;
	const double *shares; /* of each column those of all parts */
	size_t columns;
};

enum plot_form { PLOT_SVG, PLOT_PNG, PLOT_PDF };

/*
 * A page of the PDF has plots below each other (or in columns, on as many pages as needed), or text
 * on as many pages as needed. A line of text that begins with '#' is a heading ("##" a smaller
 * one). Consecutive lines with tabs are rows of a table; one that begins with '|' is its head, in
 * which '>' before a word aligns the column to the right; a blank at the begin of a row is not
 * drawn. Other lines are wrapped.
 */
struct plot_page {
	const struct plot *plots;
	size_t plot_count;
	size_t rows;         /* per page; 0: three, or as many as there are */
	size_t columns;      /* plots beside each other, with a heading; 0: below each other */
	const char *heading; /* with columns or a stack only; NULL: none */
	const struct plot_stack *stack; /* instead of plots; NULL: none */
	const char *text;               /* NULL: plots */
};

struct draw_functions {
	/* One picture of plots below each other, width x height in pixels (points for SVG and
	 * PDF), into *out. */
	int (*picture)(const struct plot *plots, size_t count, enum plot_form form, int width,
		       int height, struct strbuf *out, struct strbuf *why);
	/* A4 pages; header is one line, foot stands before "page n of m"; front (may be NULL) is
	 * the text of the first pages. */
	int (*pages)(const struct plot_page *pages, size_t count, const char *header,
		     const char *foot, const char *front, struct strbuf *out, struct strbuf *why);
};

/* Loads the module "draw" and draws; the file is replaced when complete. A negative errno with the
 * reason in *why, -ENOTSUP where the module is missing. */
int plot_pictures(const struct plot *plots, size_t count, enum plot_form form, int width,
		  int height, const char *path, struct strbuf *why);
/* The same for pages, into *out. */
int plot_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, struct strbuf *out, struct strbuf *why);

/* Replaces a file; a negative errno with the sentence in *why. */
int plot_write(const char *path, const struct strbuf *data, struct strbuf *why);

/* The format by the suffix of a file name: "x.svg", "x.PNG". False: no such format. */
bool plot_form_of(const char *path, enum plot_form *ret);
/* Is a logarithmic axis useful? The values above 0, without the smallest tenth, span more than
 * three decades. Never for percentages, ratios, degrees. */
bool plot_log_helps(const struct plot *p);
/* Is there a value above 0, without which no axis can be logarithmic? */
bool plot_has_positive(const struct plot *p);
/* The mean of a line over time, else of its points, and its maximum. NAN without finite values. */
void plot_line_figures(const struct plot_line *l, double *ret_mean, double *ret_maximum);
