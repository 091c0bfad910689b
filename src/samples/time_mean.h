/*
 * The mean of a series over time, sample by sample: the one definition that the store, reports,
 * charts and findings use.
 *
 * A level changes evenly from one sample to the next (the trapezoid rule), so that two samples
 * weigh the same. A value that is a mean already (KIND_MEAN) covers the time since the last sample,
 * also the first one. A last sample shortly after the one before weighs little. A level is unknown
 * in a gap, an interval far longer than usual, which does not count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/metrics/metric.h"

/* The usual interval between two samples. */
struct time_usual {
	double interval; /* us */
	uint32_t count;
	bool gap; /* the last one was */
};
/* Adds the next interval; true: it is a gap. */
bool time_usual_gap(struct time_usual *u, int64_t interval_us);

/* The mean of a level over a part of the time between two samples. */
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
	double sum;            /* of those differences, for samples without duration */
	uint64_t count;
	struct time_usual usual;
};

/* Adds samples in order of time; one at or before the last has no duration. over_us: duration of a
 * mean; 0: since the last sample. */
void time_mean_add(struct time_mean *m, enum metric_kind kind, int64_t over_us, int64_t time_us,
		   double value);
/* NAN: no samples. */
double time_mean_value(const struct time_mean *m);
