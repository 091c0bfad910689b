/*
 * What a chart needs besides a pen: which values an axis marks and what is written there, and a
 * line reduced to what can be seen of it. Without a library but libm, for the module "draw" and for
 * tests; the program itself uses none of it.
 */
#ifndef PL_PLOT_PLOT_AXIS_H
#define PL_PLOT_PLOT_AXIS_H

#include "plot/plot.h"
#include "plot/plot_unit.h"

#define PLOT_TICKS_MAX 64

struct plot_tick {
	double at;      /* us on an axis of times, else in the unit of the plot */
	char label[32]; /* "" marks without a word */
	char date[32];  /* below the label; "" but where the day changes */
};

struct plot_ticks {
	struct plot_tick list[PLOT_TICKS_MAX];
	size_t count;
};

/* ---- values --------------------------------------------------------------------------------- */

struct plot_axis {
	double low, high; /* low < high; of a logarithmic axis both > 0 */
	bool logarithmic;
	double zero; /* part of a logarithmic axis below low, for what is 0; 0: none */
	struct plot_ticks ticks;
};
/*
 * An axis that values from low to high fit on, of about so many ticks. unit as in struct plot. A
 * level of which 0 says nothing (degrees, Hz) begins where the values do, others at 0. On a
 * logarithmic axis low is the smallest value above 0. Neither finite nor in order: 0 to 1.
 */
void plot_axis_values(struct plot_axis *a, double low, double high, const char *unit,
		      bool logarithmic, size_t about);
/* Makes room below a logarithmic axis, at whose end what is not above 0 is drawn, and marks it:
 * else it would look like the smallest value of the axis. */
void plot_axis_add_zero(struct plot_axis *a, bool negative);
/* Where a value is, 0 at the low end and 1 at the high one; what is beyond them is at them. */
double plot_axis_place(const struct plot_axis *a, double value);

/* ---- times ---------------------------------------------------------------------------------- */

/* At round local times from begin to end (us), about so many; with the date where the day
 * changes. */
void plot_time_ticks(struct plot_ticks *t, int64_t begin, int64_t end, size_t about);

/* ---- lines ---------------------------------------------------------------------------------- */

/* What can be seen of a line in one column of pixels. */
struct plot_column {
	double first, last; /* values with which it comes and goes */
	double low, high;   /* extremes */
	double mean;
	double first_x, last_x; /* where in the column, 0 to 1 */
	size_t count;           /* points; 0: none */
	bool joined;            /* to the last column before that has any */
};

/*
 * Reduces points from begin to end (us) to columns, which must be all 0. A line is broken where a
 * value is not finite and where points are much farther apart than they usually are. The number of
 * points that count.
 */
size_t plot_reduce(const struct curve *c, int64_t begin, int64_t end, struct plot_column *columns,
		   size_t count);

#endif
