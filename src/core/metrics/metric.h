/*
 * The metric table (metrics.def) as an enum and an array. Code walks metrics[] or finds a row by id
 * or name.
 */
#pragma once

#include <stddef.h>

enum metric_id {
#define METRIC(id, symbol, ...) METRIC_##symbol = id,
#include "core/metrics/metrics.def"
#undef METRIC
};

/* The values of /proc/PID/io, in its order. */
#define IO_METRICS                                                                 \
	METRIC_RCHAR, METRIC_WCHAR, METRIC_SYSCR, METRIC_SYSCW, METRIC_READ_BYTES, \
		METRIC_WRITE_BYTES, METRIC_CANCELLED_WRITE_BYTES
/* Per-thread values of the kernel, in the order of the record field "task". */
#define TASK_METRICS METRIC_TIME_WAITING, METRIC_TIMESLICES, METRIC_DELAYACCT_BLKIO_TIME, IO_METRICS
#define TASK_METRICS_BEFORE_IO 3
/* The values after them: usage, which the kernel has per process, too. */
#define TASK_USAGE                                                                        \
	METRIC_USERTIME, METRIC_SYSTEMTIME, METRIC_MINFLT, METRIC_MAJFLT, METRIC_INBLOCK, \
		METRIC_OUTBLOCK, METRIC_VOL_CTXSW, METRIC_INVOL_CTXSW, METRIC_TIME_ONCPU

/* One more than the highest id. */
#define METRIC_ID_END 74

enum metric_unit {
	UNIT_NONE,
	UNIT_COUNT,
	UNIT_MICROSECONDS,
	UNIT_NANOSECONDS,
	UNIT_KIBIBYTES,
	UNIT_BYTES,
	UNIT_BLOCKS,
	UNIT_CYCLES,
	UNIT_PERCENT,
	UNIT_RATIO,
	UNIT_CELSIUS,
	UNIT_WATTS,
	UNIT_JOULES,
	UNIT_HERTZ,
	UNIT_RPM,
	UNIT_VOLTS,
	UNIT_AMPERES,
	UNIT_BYTES_PER_SECOND,
	UNIT_PER_SECOND,
	UNIT_END
};

enum metric_type { TYPE_U64, TYPE_I64, TYPE_TEXT };
enum metric_scope { SCOPE_PROCESS, SCOPE_THREAD };
/* KIND_MEAN: over the time since the previous sample. Add new kinds at the end: files and stores
 * have their numbers. */
enum metric_kind { KIND_COUNTER, KIND_GAUGE, KIND_LABEL, KIND_MEAN };
enum metric_agg { AGG_SUM, AGG_MAX, AGG_MIN, AGG_SET, AGG_NONE };
enum metric_time { TIME_DIFF, TIME_MAX, TIME_LAST, TIME_NONE };

enum metric_tool {
#define METRIC_TOOL(symbol) METRIC_TOOL_##symbol,
#include "core/metrics/metric_tools.def"
#undef METRIC_TOOL
	METRIC_TOOL_COUNT
};
extern const char *const metric_tool_names[METRIC_TOOL_COUNT];

struct metric {
	enum metric_id id;
	const char *name;
	enum metric_unit unit;
	enum metric_type type;
	enum metric_scope scope;
	enum metric_kind kind;
	enum metric_agg agg;
	enum metric_time over_time;
	const char *names[METRIC_TOOL_COUNT]; /* in other tools; NULL: none */
	const char *help;
};

extern const struct metric metrics[];
extern const size_t metric_count;

/* Rows by id and by name (ours first, then those of other tools); NULL: none. */
const struct metric *metric_by_id(unsigned id);
const struct metric *metric_by_name(const char *name);

/* Names for documentation and JSON. */
const char *metric_unit_name(enum metric_unit unit);
enum metric_unit metric_unit_by_name(const char *name); /* UNIT_END: none */
const char *metric_type_name(enum metric_type type);
const char *metric_scope_name(enum metric_scope scope);
const char *metric_kind_name(enum metric_kind kind);
enum metric_kind metric_kind_by_name(const char *name); /* KIND_GAUGE: none */
const char *metric_agg_name(enum metric_agg agg);
enum metric_agg metric_agg_by_name(const char *name); /* AGG_NONE: none */
const char *metric_time_name(enum metric_time over_time);
