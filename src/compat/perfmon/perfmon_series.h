/*
 * The samples of one host as perfmon's columns: the values of a key over all interfaces, ports and
 * runs, with the times that become the time stamps of each file.
 */
#pragma once

#include "compat/perfmon/perfmon_keys.h"
#include "core/value.h"
#include "samples/sample_file.h"

/* The kinds of entities whose metadata is kept. */
#define PERFMON_ENTITIES_MAX 4096

/* The first and the last tick of one second, of the source that is the clock of a file. These times
 * are not affected by changes of the wall clock. */
struct perfmon_tick {
	int64_t at_us, until_us, stamp_s;
};

struct perfmon_ticks {
	struct perfmon_tick *list;
	size_t count, cap;
};

struct perfmon_point {
	int64_t at_us, raw;
	bool present;
};

/* One metric of a source that belongs to a key. */
struct perfmon_column {
	const struct perfmon_key *key;
	char *entity; /* name of the entity if each has its own column; else NULL */
	int64_t times, by;
	unsigned every; /* ticks between samples */
	struct perfmon_point *points;
	size_t count, cap;
	bool any; /* there was a value at least once */
	bool counter;
	/* counters of entities that come and go: the last value of each */
	struct perfmon_last *last;
	size_t last_count, last_cap;
	int64_t gone; /* the sum of entities that disappeared */
};

/* A run, as far as it was read. */
struct perfmon_span {
	int64_t from_us, until_us;
	struct value *processes; /* names */
};

#define PERFMON_SPAN_INIT                  \
	{                                  \
		INT64_MAX, INT64_MIN, NULL \
	}

struct perfmon_series {
	struct perfmon_column *columns;
	size_t count, cap;
	struct perfmon_ticks clocks[PERFMON_FILES][3]; /* in the order of perfmon_clocks */
	struct value *gpus;                            /* name of each GPU, and its metadata */
	struct value *processes; /* the same for processes that were sampled one by one */
	int64_t period_us;
	int64_t floor_us; /* start of the current run: earlier samples were in the file of another
			   */
	struct perfmon_span *runs; /* that were read, and what each sampled */
	size_t run_count, run_cap;
	uint64_t damaged, skipped, lost; /* places, samples */
};

void perfmon_series_release(struct perfmon_series *s);

/*
 * Adds a sample file (takes fd): the samples of host, NULL for all. Files come in the order of the
 * starts of their runs. If runs overlap, the values of the node and its devices are those of the
 * earlier run. Those of the job are added up, unless both sampled the same processes: then the run
 * that has everything counts.
 */
int perfmon_series_add(struct perfmon_series *s, int fd, const char *host, struct strbuf *why);

/* The column of a key, and of an entity if each has its own; created if it is new, SIZE_MAX if
 * there are too many. The order is the same in every tick: hint is where to look first. */
size_t perfmon_series_column(struct perfmon_series *s, const struct perfmon_key *k,
			     const char *entity, size_t hint);
/* Appends a point; one that is not later is left out. */
void perfmon_column_add(struct perfmon_column *c, int64_t at_us, int64_t raw, bool present);
/* Adds them up, or continues with the remaining one. */
static inline int64_t perfmon_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}
/* perfmon_join.c: a run was read. Adds its columns of the job to those of other runs; both are
 * empty afterwards. */
void perfmon_series_join(struct perfmon_series *s, struct perfmon_series *job,
			 struct perfmon_span *run);

/* The clock of a file. */
const struct perfmon_ticks *perfmon_series_ticks(const struct perfmon_series *s,
						 enum perfmon_file file);
/* The value of a column at each tick; ret has one place for each. */
void perfmon_column_at(const struct perfmon_column *c, const struct perfmon_series *s,
		       const struct perfmon_ticks *t, struct perfmon_point *ret);
