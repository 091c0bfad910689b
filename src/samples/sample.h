/*
 * A set of samples that a source takes at one time: rows of whole numbers, one row per entity (a
 * process, a CPU, a port, the node itself), one column per metric. A set lives as long as its
 * source is open: entities keep their index in it, so that a writer needs to write changes only. No
 * other thread uses a set while its source is being read.
 */
#pragma once

#include <stdint.h>

#include "core/metrics/metric.h"
#include "core/util.h"

/* One metric of a source; its full name is "<source>.<name>". */
struct sample_metric {
	const char *name;
	enum metric_unit unit;
	enum metric_kind kind; /* KIND_COUNTER only grows, KIND_GAUGE is a level, KIND_MEAN is a
				* mean since the last sample */
	enum metric_agg agg;   /* over entities and hosts: AGG_SUM, AGG_MAX, AGG_NONE */
	double scale;          /* value times scale is in the unit; 0: 1 */
	const char *help;      /* one phrase, no full stop */
};

/* Most metrics of a set: which values of a row are present is one word of bits. */
#define SAMPLE_METRICS_MAX 64

/* Kinds of entities. Numbers are stored in files: never reuse or renumber them. */
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
enum entity_kind entity_kind_by_name(const char *name); /* 0: unknown */

struct entity {
	enum entity_kind kind; /* 0: this index is free */
	char *name;            /* unique for its kind in the set */
	char *metadata;        /* "key=value\n" lines for people and views; NULL: none */
	bool fresh;            /* not yet written, or with new metadata */
};

struct sample_row {
	uint32_t entity;
	uint64_t present; /* bit m: values[m] is valid */
};

/* A metric that is absent, and why; written once. */
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
	uint32_t *ended; /* entities that have ended; freed by sample_begin() */
	size_t ended_count, ended_cap;
	uint64_t time_ns; /* boot time: first the begin of reading, then its middle, or the time set
			     by the source */
	bool timed;       /* sample_between() was called */
	struct sample_row *rows;
	int64_t *values; /* metric_count per row */
	size_t row_count, row_cap;
	struct sample_absence *absences;
	size_t absence_count, absence_cap;
};

void sample_init(struct sample_set *s, const struct sample_metric *columns, size_t count);
void sample_release(struct sample_set *s);
/* Begins new samples: removes ended entities and all rows. */
void sample_begin(struct sample_set *s);

/* Sets the time of the samples to the middle of these two. */
void sample_between(struct sample_set *s, uint64_t from_ns, uint64_t to_ns);
/* Ends the samples; their time is the middle of reading if the source has not set it. */
void sample_done(struct sample_set *s);

/* The entity of this kind and name, added if it is new. Fast if the order is the same each time. */
uint32_t sample_entity(struct sample_set *s, enum entity_kind kind, const char *name);
/* Sets an entry of an entity's metadata; the value ends at its first newline. NULL removes it. */
void sample_set_metadata(struct sample_set *s, uint32_t entity, const char *key, const char *value);
/* The same with a formatted value of up to 127 bytes. */
void sample_format_metadata(struct sample_set *s, uint32_t entity, const char *key, const char *fmt,
			    ...) PL_PRINTF(4, 5);
/* The value of a metadata entry, not terminated; false: none. */
bool entity_metadata(const struct entity *e, const char *key, const char **ret, size_t *ret_size);
/* These are the last samples of this entity. */
void sample_end(struct sample_set *s, uint32_t entity);

/* Adds a row without values. */
void sample_row(struct sample_set *s, uint32_t entity);
/* Sets a value of the last row. */
static inline void sample_put(struct sample_set *s, unsigned metric, int64_t value)
{
	s->values[(s->row_count - 1) * s->metric_count + metric] = value;
	s->rows[s->row_count - 1].present |= (uint64_t)1 << metric;
}
/* Sets the reason why a metric is absent (SAMPLE_METRICS_MAX: the whole source), once. */
void sample_absent(struct sample_set *s, unsigned metric, const char *fmt, ...) PL_PRINTF(3, 4);

/* A value in its unit. Scales below 1 are powers of ten: dividing by their inverse gives the number
 * nearest to the decimal fraction, multiplying would not. */
static inline double sample_scaled(int64_t value, double scale)
{
	return scale == 0 || scale == 1 ? (double)value
	       : scale < 1              ? (double)value / (1 / scale)
					: (double)value * scale;
}
/* The value of a row in the metric's unit. */
double sample_value(const struct sample_set *s, size_t row, unsigned metric);

/* ---- counters that wrap ---- */

/* A counter of the kernel or a device that starts again at 0 when it reaches its range. */
struct unwrap {
	uint64_t last, total;
	bool seen;
};
/* The value without wraps; starts with the first raw value. range: one more than the highest value,
 * 0 for 2^64, or UNWRAP_* if a decrease is not a wrap. */
uint64_t unwrap(struct unwrap *u, uint64_t raw, uint64_t range);
#define UNWRAP_STAYS 1             /* a decrease adds nothing */
#define UNWRAP_SET_BACK UINT64_MAX /* it was reset to 0 and counts from there */

/*
 * A counter that has 64 bits on some kernels and 32 on others, and restarts at 0 with its device. A
 * decrease from the upper half of 32 bits to the lower is a wrap; any other continues from the old
 * value. again: it is known to have restarted, or to be of another device.
 */
uint64_t count_on(struct unwrap *u, uint64_t raw, bool again);
/* Does this value look like a wrap at 32 bits? */
bool count_wrapped(const struct unwrap *u, uint64_t raw);
