/*
 * What a chart needs besides a pen: the ticks of its axes with their labels, and lines reduced to
 * what can be seen of them. The module "draw" and the HTML report draw with it.
 */
#pragma once

#include "plot/plot.h"
#include "core/text/units.h"

#define PLOT_TICKS_MAX 64

struct plot_tick {
	double at;      /* us on a time axis, else in the unit of the plot */
	char label[32]; /* "": a mark without a label */
	char date[32];  /* below the label, where the day changes; else "" */
};

struct plot_ticks {
	struct plot_tick list[PLOT_TICKS_MAX];
	size_t count;
};

/* ---- values --------------------------------------------------------------------------------- */

struct plot_axis {
	double low, high; /* low < high; of a logarithmic axis both > 0 */
	double (*log_place)(const struct plot_axis *a, double value); /* NULL: linear */
	double zero; /* part of a logarithmic axis below low, for the value 0; 0: none */
	struct plot_ticks ticks;
};
/*
 * An axis for values from low to high, with about so many ticks; unit as in struct plot. Where 0
 * means nothing (degrees, Hz) it starts near the values, else at 0. For a logarithmic axis low is
 * the smallest value above 0. Values that are not finite or not in order: 0 to 1.
 */
void plot_axis_linear(struct plot_axis *a, double low, double high, const char *unit, size_t about);
/* The same, or logarithmic. */
void plot_axis_values(struct plot_axis *a, double low, double high, const char *unit,
		      bool logarithmic, size_t about);
/* Adds a part below a logarithmic axis for values that are not above 0: they would look like the
 * smallest value of the axis. */
void plot_axis_add_zero(struct plot_axis *a, bool negative);
/* The place of a value, 0 at the low end and 1 at the high end; clamped. */
double plot_axis_place(const struct plot_axis *a, double value);

/* ---- times ---------------------------------------------------------------------------------- */

/* About so many ticks at round local times from begin to end (us). */
void plot_time_ticks(struct plot_ticks *t, int64_t begin, int64_t end, size_t about);

/* ---- lines ---------------------------------------------------------------------------------- */

/* The part of a line in one column of pixels. */
struct plot_column {
	double first, last; /* values at its edges */
	double low, high;   /* extremes */
	double mean;
	double first_x, last_x; /* where in the column, 0 to 1 */
	size_t count;           /* points; 0: none */
	bool joined;            /* to the last column with points before it */
};

/* Reduces points from begin to end (us) to columns, which must be all 0. A line is interrupted
 * where a value is not finite and where points are much farther apart than usual. Returns the
 * number of points. */
size_t plot_reduce(const struct points *c, int64_t begin, int64_t end, struct plot_column *columns,
		   size_t count);
