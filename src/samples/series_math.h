/*
 * Arithmetic on curves: rates, steps of equal length, and sums of several. Pure functions; a
 * curve's points are in the order of their times.
 */
#ifndef PL_SAMPLES_SERIES_MATH_H
#define PL_SAMPLES_SERIES_MATH_H

#include <stdint.h>

#include "core/metrics/metric.h"
#include "core/util.h"

struct curve_point {
	int64_t time; /* us */
	double value;
	double low, high; /* the extremes that the value stands for */
	int64_t over;     /* us that a mean or a rate is over; 0: since the point before */
};

struct curve {
	struct curve_point *points;
	size_t count, cap;
};
void curve_release(struct curve *c);
#define _cleanup_curve_ _cleanup_(curve_release)

void curve_add(struct curve *c, int64_t time, double value, double low, double high);

/* A counter as its rate a second: each point is over the time since the one before. Where the
 * counter went back or is not known there is none. */
void curve_rate(const struct curve *in, struct curve *out);
/* The same in its own place: millions of points are not there twice. */
void curve_become_rate(struct curve *c);
/* A counter as its rate in steps that begin at multiples of step; what it grew by between two
 * points is spread evenly over the time between them. */
void curve_rate_steps(const struct curve *in, int64_t step, struct curve *out);
/* The extremes of a step are its readings, which are not all that is known of it: a level that
 * comes from the step before was on its way. So its mean may lie outside of them; then it is one of
 * the extremes. */
static inline void curve_point_span(struct curve_point *p)
{
	if (!(p->low <= p->value))
		p->low = p->value;
	if (!(p->high >= p->value))
		p->high = p->value;
}
/* A level, or a mean over the time that it says (KIND_MEAN), as its mean over the time of each
 * step, with the extremes; see time_mean.h. Steps in a gap are left out. */
void curve_mean_steps(const struct curve *in, enum metric_kind kind, int64_t step,
		      struct curve *out);
/* The mean over time; for KIND_COUNTER of points that are rates. */
double curve_time_mean(const struct curve *c, enum metric_kind kind);
/* A level at multiples of step: its nearest point, which is there half a step earlier than it was
 * read, until the next one is or it is of this age. */
void curve_hold_steps(const struct curve *in, int64_t step, int64_t age, struct curve *out);
/* Says that nothing is known of the time outside of these spans: a point of NAN behind the last one
 * before each such time. Spans may overlap, and are put in order. */
struct curve_span {
	int64_t from, to;
};
void curve_known(struct curve *c, struct curve_span *spans, size_t count);
/* The mean rate of the sum of counters, over the time in which it is known: at least one counts,
 * and none is within a gap. NAN when there is no such time. */
double curve_mean_rate(const struct curve *list, size_t count);
/* What a counter grew by since its first point; where it went back nothing is taken off. */
void curve_growth(struct curve *c);

/*
 * Puts another curve on top of one: sums, or the larger or smaller value, at the times that either
 * has. carry: a curve has its last value at later times, too, as counters of what has ended do;
 * else a time that only one has is that one's.
 */
void curve_combine(struct curve *to, const struct curve *other, enum metric_agg agg, bool carry);

/*
 * Several hosts that have points at multiples of step: sums, or larger or smaller values. Where a
 * host has no point although it has some before and behind, what all have is not known: NAN. carry:
 * counters, which keep their last value.
 */
void curve_combine_hosts(const struct curve *list, size_t count, enum metric_agg agg, bool carry,
			 struct curve *out);

/* The usual distance between points, 0 when there are not two. */
int64_t curve_period(const struct curve *c);
/* When the time begins that the mean at a point is over: its own where nothing is known of it. */
int64_t curve_since(const struct curve *c, size_t point);

#endif
