/*
 * Arithmetic on the points of series: rates, equal steps, and sums of several. Pure functions;
 * points are in order of time.
 */
#pragma once

#include <stdint.h>

#include "core/metrics/metric.h"
#include "core/util.h"

struct point {
	int64_t time; /* us */
	double value;
	double low, high; /* the extremes behind the value */
	int64_t over;     /* us that a mean or a rate covers; 0: since the point before */
};

struct points {
	struct point *points;
	size_t count, cap;
};
void points_release(struct points *c);
#define _cleanup_points_ _cleanup_(points_release)

void points_add(struct points *c, int64_t time, double value, double low, double high);

/* Turns a counter into its rate per second, in place: each point covers the time since the one
 * before. There is none where the counter decreased or is unknown. */
void points_become_rate(struct points *c);
/* A counter as its rate in steps that begin at multiples of step; growth is spread evenly over the
 * time between two points. */
void points_rate_steps(const struct points *in, int64_t step, struct points *out);
/* The extremes of a step are its samples, while its mean includes the interpolation from the step
 * before, and may lie outside of them; then the mean is an extreme as well. */
static inline void point_span(struct point *p)
{
	if (!(p->low <= p->value))
		p->low = p->value;
	if (!(p->high >= p->value))
		p->high = p->value;
}
/* A level, or a mean (KIND_MEAN), as its mean over each step, with the extremes; see time_mean.h.
 * Steps in a gap are skipped. */
void points_mean_steps(const struct points *in, enum metric_kind kind, int64_t step,
		       struct points *out);
/* The mean over time; KIND_COUNTER: the points are rates. */
double points_time_mean(const struct points *c, enum metric_kind kind);
/* A level at multiples of step: each point holds from half a step before its time until the next
 * point, at most for age. */
void points_hold_steps(const struct points *in, int64_t step, int64_t age, struct points *out);
/* Marks the time outside of these spans as unknown: a point of NAN after the last one before each
 * such time. Spans may overlap, and are sorted. */
struct points_span {
	int64_t from, to;
};
void points_known(struct points *c, struct points_span *spans, size_t count);
/* The mean rate of the sum of counters over the known time: at least one counts, and none has a
 * gap. NAN: there is no such time. */
double points_mean_rate(const struct points *list, size_t count);
/* The growth of a counter since its first point; a decrease counts as 0. */
void points_growth(struct points *c);

/* Combines two values: their sum, or the larger or smaller. */
static inline double agg_join(double a, double b, enum metric_agg agg)
{
	return agg == AGG_MAX ? (a > b ? a : b) : agg == AGG_MIN ? (a < b ? a : b) : a + b;
}

/*
 * Combines two series: sums, or the larger or smaller value, at the times of either. carry: the
 * last value holds at later times, as for counters of ended entities; otherwise a time that only
 * one has gets its value.
 */
void points_combine(struct points *to, const struct points *other, enum metric_agg agg, bool carry);

/*
 * Combines several hosts with points at multiples of step: sums, or larger or smaller values. Where
 * a host lacks a point between others, the result is unknown: NAN. carry: for counters, which keep
 * their last value.
 */
void points_combine_hosts(const struct points *list, size_t count, enum metric_agg agg, bool carry,
			  struct points *out);

/* The usual distance between points; 0: fewer than two. */
int64_t points_period(const struct points *c);
/* The begin of the time that the mean at a point covers; its own time if unknown. */
int64_t points_since(const struct points *c, size_t point);
