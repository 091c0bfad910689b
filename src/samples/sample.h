/*
 * What one reading of a source holds: rows of whole numbers, one row an entity (a process, a CPU, a
 * port, the node itself), one column a metric. A set lives as long as the source is open: entities
 * keep their place in it from reading to reading, so that a writer needs to tell only what changed.
 * Each source has a set of its own, which no other thread touches while the source is being read.
 */
#ifndef PL_SAMPLES_SAMPLE_H
#define PL_SAMPLES_SAMPLE_H

#include <stdint.h>

#include "core/metrics/metric.h"
#include "core/util.h"

/* One metric of a source; its full name is "<source>.<name>". */
struct sample_metric {
	const char *name;
	enum metric_unit unit;
	enum metric_kind kind; /* KIND_COUNTER only grows, KIND_GAUGE is a level, KIND_MEAN is over
				* the time since the reading before */
	enum metric_agg agg;   /* how entities, and hosts, become one: AGG_SUM, AGG_MAX, AGG_NONE */
	double scale;          /* value times scale is in the unit; 0 stands for 1 */
	const char *help;      /* one phrase, no full stop */
};

/* A set has at most this many metrics: which of a row are there is one word of bits. */
#define SAMPLE_METRICS_MAX 64

/* What a row is about. Numbers are stored in files: never reused, never renumbered. */
enum entity_kind {
	ENTITY_NODE = 1,
	ENTITY_JOB = 2,
	ENTITY_PROCESS = 3,
	ENTITY_CPU = 4,
	ENTITY_PACKAGE = 5,
	ENTITY_INTERFACE = 6,
	ENTITY_PORT = 7, /* of a host channel adapter */
	ENTITY_DISK = 8,
	ENTITY_FILESYSTEM = 9,
	ENTITY_CGROUP = 10,
	ENTITY_SENSOR = 11,
	ENTITY_GPU = 12,
	ENTITY_KIND_END
};
const char *entity_kind_name(enum entity_kind kind);    /* "process" */
enum entity_kind entity_kind_by_name(const char *name); /* 0 when there is none */

struct entity {
	enum entity_kind kind; /* 0: the place is free */
	char *name;            /* unique among those of its kind in the set */
	char *facts; /* "key=value\n" lines for people and views; NULL when there are none */
	bool fresh;  /* not yet taken by a writer, or its facts are new */
};

struct sample_row {
	uint32_t entity;
	uint64_t present; /* bit m: values[m] is there */
};

/* A metric that is not there, and why; told once. */
struct sample_absence {
	unsigned metric; /* SAMPLE_METRICS_MAX: all of the source */
	char *reason;
	bool fresh;
};

struct sample_set {
	const struct sample_metric *metrics;
	size_t metric_count;
	struct entity *entities;
	size_t entity_count, entity_cap, entity_hint;
	uint32_t
		*ended; /* entities without further rows; their places are free after the reading */
	size_t ended_count, ended_cap;
	uint64_t time_ns; /* boot time: while it is taken when it began, then its middle, or the
			     moment that the source knows */
	bool timed;       /* sample_between() was told of this reading */
	struct sample_row *rows;
	int64_t *values; /* row after row, metric_count a row */
	size_t row_count, row_cap;
	struct sample_absence *absences;
	size_t absence_count, absence_cap;
};

void sample_init(struct sample_set *s, const struct sample_metric *columns, size_t count);
void sample_release(struct sample_set *s);
/* Begins a reading: frees the places of entities that ended, forgets rows. */
void sample_begin(struct sample_set *s);

/* The time of the reading is in the middle of these two: when what counts most was read. */
void sample_between(struct sample_set *s, uint64_t from_ns, uint64_t to_ns);
/* Ends a reading; its time is its middle where nothing better is known. */
void sample_done(struct sample_set *s);

/* The entity of this kind and name, made when it is new. Asking in the same order at every reading
 * is fast. */
uint32_t sample_entity(struct sample_set *s, enum entity_kind kind, const char *name);
/* Sets a fact of an entity; the value ends at its first newline. NULL takes the fact away. */
void sample_fact(struct sample_set *s, uint32_t entity, const char *key, const char *value);
/* Value of a fact; false when there is none. Not terminated. */
bool entity_fact(const struct entity *e, const char *key, const char **ret, size_t *ret_size);
/* No more rows of this entity after this reading. */
void sample_end(struct sample_set *s, uint32_t entity);

/* Begins a row without values. */
void sample_row(struct sample_set *s, uint32_t entity);
/* Sets a value of the row begun last. */
static inline void sample_put(struct sample_set *s, unsigned metric, int64_t value)
{
	s->values[(s->row_count - 1) * s->metric_count + metric] = value;
	s->rows[s->row_count - 1].present |= (uint64_t)1 << metric;
}
/* Says why a metric is not there (SAMPLE_METRICS_MAX: the whole source). The first reason stays. */
void sample_absent(struct sample_set *s, unsigned metric, const char *fmt, ...) PL_PRINTF(3, 4);

/* A value in its unit. Scales below 1 are powers of ten: dividing by what they stand for gives the
 * number nearest to the decimal fraction, multiplying would not. */
static inline double sample_scaled(int64_t value, double scale)
{
	return scale == 0 || scale == 1 ? (double)value
	       : scale < 1              ? (double)value / (1 / scale)
					: (double)value * scale;
}
/* The value of a row in the metric's unit. */
double sample_value(const struct sample_set *s, size_t row, unsigned metric);

/* ---- counters that wrap -----------------------------------------------------------------------
 */

/* A counter of the kernel or a device that starts again at 0 when it reaches its range. */
struct unwrap {
	uint64_t last, total;
	bool seen;
};
/* The value continued without wraps; begins with the first raw value. range: one more than the
 * highest value, 0 for 2^64, or what a fall is when the counter has no end. */
uint64_t unwrap(struct unwrap *u, uint64_t raw, uint64_t range);
#define UNWRAP_STAYS 1             /* nothing is known of what was counted meanwhile */
#define UNWRAP_SET_BACK UINT64_MAX /* it was set to 0 and counts from there */

/*
 * A counter that has 64 bits on some kernels and 32 on others, and starts at 0 when what it counts
 * is made again. A fall from the upper half of 32 bits to the lower is a wrap; any other goes on
 * from where it was: never back, never up by what was not counted. again: it is known to have
 * started anew, or to be of another thing.
 */
uint64_t count_on(struct unwrap *u, uint64_t raw, bool again);
/* Does this value look like one behind a wrap at 32 bits? */
bool count_wrapped(const struct unwrap *u, uint64_t raw);

#endif
