/*
 * Series on a grid of equal steps, where those of many entities and hosts are added in one pass and
 * reduced to few points with their extremes. Pure functions.
 */
#pragma once

#include "samples/series_math.h"

struct resample_grid {
	int64_t from, step; /* us */
	size_t count;
};

struct resample {
	double *value, *low, *high;
	double *weight; /* us that the value covers; 0: unknown, almost 0: a single point */
	double *gap;    /* us in which the value is unknown */
	double *shares; /* sum of the weights, for means over entities */
	bool *read;     /* has samples, not only interpolation */
	size_t added;   /* how many were added up */
};
void resample_init(struct resample *s, const struct resample_grid *g);
void resample_clear(struct resample *s, const struct resample_grid *g);
void resample_release(struct resample *s);

/* A grid for a time, with at most max steps that are no shorter than period. */
struct resample_grid resample_grid(int64_t from, int64_t to, int64_t period, size_t max);

/*
 * Puts a series on the grid, replacing its content, by the rules of time_mean.h: a level changes
 * evenly from one point to the next except over a gap, a mean (KIND_MEAN) covers its own time, and
 * the rate of a counter the time since the point before. The value of a step is the mean over its
 * known time; low and high are the extremes of points, or of rates between two points.
 */
void resample_take(struct resample *s, const struct resample_grid *g, const struct points *c,
		   enum metric_kind kind);

/* Is the value of a step known? Not if one of several series has a gap there. */
static inline bool resample_known(const struct resample *s, const struct resample_grid *g, size_t i)
{
	return s->weight[i] > 0 && (s->added < 2 || s->gap[i] <= (double)g->step / 2);
}

/* Adds another: sums, or larger or smaller values; AGG_NONE and AGG_SET become means, which
 * resample_mean() completes. A series that ends in a step counts for its part of it. */
void resample_add(struct resample *to, const struct resample *other, const struct resample_grid *g,
		  enum metric_agg agg);
void resample_mean(struct resample *s, const struct resample_grid *g);
/* The mean over the known time; NAN: nothing is known. */
double resample_time_mean(const struct resample *s, const struct resample_grid *g);

/*
 * Reduces to at most max points, each the mean of several steps, with their extremes; factor: to
 * another unit. Steps without a value are skipped. Of a level that was sampled seldom, in less than
 * half of the points in which anything was (looked), only the samples are returned, and the result
 * is true: it is unknown in between.
 */
bool resample_reduce(const struct resample *s, const struct resample_grid *g, const bool *looked,
		     size_t max, double factor, struct points *out);
