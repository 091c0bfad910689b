/* The mean of a series over time; see time_mean.h. */
#include "samples/time_mean.h"

#include <math.h>

/* One sample may be missing, and a sampler above its budget doubles its period. */
#define GAP_FACTOR 2.5

/* The first interval may be short, since ticks are at multiples of the period. A sample between two
 * ticks must not make the next interval a gap, so the usual interval decreases slowly. A second
 * long interval in a row is a new period. */
bool time_usual_gap(struct time_usual *u, int64_t interval_us)
{
	double interval = (double)interval_us;

	if (interval_us <= 0)
		return false;
	bool far = u->count >= 2 && interval > GAP_FACTOR * u->interval;
	bool gap = far && !u->gap;
	double fallen = u->interval / 2;

	u->gap = gap;
	u->count += u->count < 2;
	if (!gap)
		u->interval = interval > fallen ? interval : fallen;
	return gap;
}

void time_mean_add(struct time_mean *m, enum metric_kind kind, int64_t over_us, int64_t time_us,
		   double value)
{
	int64_t interval = 0;

	if (!m->count)
		m->first = value;
	else if (time_us <= m->last_us || __builtin_sub_overflow(time_us, m->last_us, &interval))
		interval = 0;
	/* no time counts twice */
	if (kind == KIND_MEAN && over_us > 0 && (!m->count || over_us < interval))
		interval = over_us;
	bool gap = time_usual_gap(&m->usual, interval);
	double held = kind == KIND_MEAN ? value : m->last + (value - m->last) / 2;
	if (interval > 0 && (!gap || kind == KIND_MEAN)) {
		m->integral += (held - m->first) * (double)interval;
		m->time += (double)interval;
	}
	m->sum += value - m->first;
	if (!m->count || time_us > m->last_us)
		m->last_us = time_us;
	m->last = value;
	m->count++;
}

double time_mean_value(const struct time_mean *m)
{
	if (!m->count)
		return NAN;
	return m->first + (m->time > 0 ? m->integral / m->time : m->sum / (double)m->count);
}
