/*
 * Curves on one grid of equal steps, where those of many entities and hosts add up in one pass and
 * become few points that keep their extremes. Pure functions.
 */
#ifndef PL_ANALYSIS_STEPS_H
#define PL_ANALYSIS_STEPS_H

#include "analysis/curve.h"

struct steps_grid {
	int64_t from, step; /* us */
	size_t count;
};

struct steps {
	double *value, *low, *high;
	double *weight; /* of what the value is a sum of; 0: nothing known */
};
void steps_init(struct steps *s, const struct steps_grid *g);
void steps_clear(struct steps *s, const struct steps_grid *g);
void steps_release(struct steps *s);

/* A grid that covers a time with steps no shorter than period, at most max of them. */
struct steps_grid steps_grid(int64_t from, int64_t to, int64_t period, size_t max);

/*
 * A curve on the grid, in place of what was there: a level as the mean of its points in a step, and
 * in steps between two points that are not further apart than usual the one before; a counter as
 * its rate a second, over the time in a step that it was seen. low and high are the extremes of
 * points, or of rates between two points.
 */
void steps_level(struct steps *s, const struct steps_grid *g, const struct curve *c);
void steps_rate(struct steps *s, const struct steps_grid *g, const struct curve *c);

/* Puts another on top: sums, larger or smaller values; AGG_NONE and AGG_SET become means, which
 * steps_mean() completes. weight counts how many there are. */
void steps_add(struct steps *to, const struct steps *other, const struct steps_grid *g,
	       enum metric_agg agg);
void steps_mean(struct steps *s, const struct steps_grid *g);

/* At most max points, each the mean of as many steps, with their extremes; factor: to another
 * unit. Steps without a value are left out. */
void steps_reduce(const struct steps *s, const struct steps_grid *g, size_t max, double factor,
		  struct curve *out);

#endif
