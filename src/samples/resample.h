/*
 * Curves on one grid of equal steps, where those of many entities and hosts add up in one pass and
 * become few points that keep their extremes. Pure functions.
 */
#ifndef PL_SAMPLES_RESAMPLE_H
#define PL_SAMPLES_RESAMPLE_H

#include "samples/series_math.h"

struct resample_grid {
	int64_t from, step; /* us */
	size_t count;
};

struct resample {
	double *value, *low, *high;
	double *weight; /* us that the value is over; 0: nothing known, very little: a moment's
			   value */
	double *gap;    /* us in which there is a value, and it is not known */
	double *shares; /* sum of the weights, where entities become a mean */
	bool *read;     /* not only between two readings of a level */
	size_t added;   /* how many were put on top of each other */
};
void resample_init(struct resample *s, const struct resample_grid *g);
void resample_clear(struct resample *s, const struct resample_grid *g);
void resample_release(struct resample *s);

/* A grid that covers a time with steps no shorter than period, at most max of them. */
struct resample_grid resample_grid(int64_t from, int64_t to, int64_t period, size_t max);

/*
 * A curve on the grid, in place of what was there, as time_mean.h has it: a level changes evenly
 * from one point to the next but over a gap, a mean (KIND_MEAN) is over the time that it says, and
 * the rate of a counter over that since the point before. The value of a step is the mean over the
 * time in it that is known, low and high are the extremes of points, or of rates between two
 * points.
 */
void resample_take(struct resample *s, const struct resample_grid *g, const struct curve *c,
		   enum metric_kind kind);

/* Is the value of a step known? Not where one of several that were added has a gap. */
static inline bool resample_known(const struct resample *s, const struct resample_grid *g, size_t i)
{
	return s->weight[i] > 0 && (s->added < 2 || s->gap[i] <= (double)g->step / 2);
}

/* Puts another on top: sums, larger or smaller values; AGG_NONE and AGG_SET become means, which
 * resample_mean() completes. Where one ends in a step it adds what it was for that part of it. */
void resample_add(struct resample *to, const struct resample *other, const struct resample_grid *g,
		  enum metric_agg agg);
void resample_mean(struct resample *s, const struct resample_grid *g);
/* The mean over the time that is known; NAN when nothing is. */
double resample_time_mean(const struct resample *s, const struct resample_grid *g);

/*
 * At most max points, each the mean over the time of as many steps, with their extremes; factor: to
 * another unit. Steps without a value are left out. Of a level that was read seldom, in less than
 * half of the points in which anything was (looked), only what was read is there, and true is
 * returned: nobody knows what it was in between.
 */
bool resample_reduce(const struct resample *s, const struct resample_grid *g, const bool *looked,
		     size_t max, double factor, struct curve *out);

#endif
