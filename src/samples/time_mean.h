/*
 * The mean of a series over time, as its readings come: the one definition that the store, reports,
 * charts and verdicts use.
 *
 * A level changes evenly from its reading to the next (the trapezoid rule), so that of two readings
 * each weighs half. What is a mean already (KIND_MEAN) stands for the time since its source was
 * read before, the first one too. A last reading a moment after the one before it weighs a moment.
 * A level is not known inside a gap, which is an interval far longer than usual: it does not count.
 */
#ifndef PL_SAMPLES_TIME_MEAN_H
#define PL_SAMPLES_TIME_MEAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/metrics/metric.h"

/* What is usual between two readings. */
struct time_usual {
	double interval; /* us */
	uint32_t count;
	bool gap; /* the last one was */
};
/* Takes the next interval; true when it is a gap. */
bool time_usual_gap(struct time_usual *u, int64_t interval_us);

/* The mean of a level between two readings over a part of the time between them. */
static inline double time_level(int64_t begin_us, double first, int64_t end_us, double last,
				int64_t from_us, int64_t to_us)
{
	double middle = ((double)(from_us - begin_us) + (double)(to_us - begin_us)) / 2;

	return first + (last - first) * middle / (double)(end_us - begin_us);
}

struct time_mean {
	int64_t last_us;
	double first, last;
	double time, integral; /* us; of the difference from the first value */
	double sum;            /* of those differences, for what has no duration */
	uint64_t count;
	struct time_usual usual;
};

/* Readings in the order of their times; those at or before the last one are counted without a
 * duration. over_us: how long the value of a mean is over; 0: since the reading before. */
void time_mean_add(struct time_mean *m, enum metric_kind kind, int64_t over_us, int64_t time_us,
		   double value);
/* NAN where there is no reading. */
double time_mean_value(const struct time_mean *m);

#endif
