/*
 * The readings of one host's sample files as perfmon's columns: what belongs to a key, over all
 * interfaces, ports and runs, with the times that make the time stamps of each file.
 */
#pragma once

#include "compat/perfmon/perfmon_keys.h"
#include "core/value.h"
#include "samples/sample_file.h"

/* Each kind of entity whose metadata are kept. */
#define PERFMON_ENTITIES_MAX 4096

/* Readings in one second of the source that is a file's clock: the first of them, and the last.
 * These times go on evenly when the clock is set. */
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

/* One metric of a source that counts for a key. */
struct perfmon_column {
	const struct perfmon_key *key;
	char *entity; /* name of the row, where each has a column of its own; else NULL */
	int64_t times, by;
	unsigned every; /* ticks between readings */
	struct perfmon_point *points;
	size_t count, cap;
	bool any; /* a value was there at least once */
	bool counter;
	/* counters of entities that come and go: the last value of each */
	struct perfmon_last *last;
	size_t last_count, last_cap;
	int64_t gone; /* the sum of entities that were dropped */
};

/* A run as far as it was read. */
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
	struct perfmon_ticks clocks[PERFMON_FILES][3]; /* as perfmon_clocks */
	struct value *gpus;                            /* name of each GPU, and its metadata */
	struct value *processes; /* likewise, of processes that were sampled one by one */
	int64_t period_us;
	int64_t floor_us; /* of the run being read: earlier readings were in another's file */
	struct perfmon_span *runs; /* that were read, and what each saw */
	size_t run_count, run_cap;
	uint64_t damaged, skipped, lost; /* places, readings */
};

void perfmon_series_release(struct perfmon_series *s);

/*
 * Adds a sample file (fd is taken): the readings of host, NULL for all. Files come in the order in
 * which their runs began. Where runs overlap, the node and its devices are the earlier one's; the
 * job as each saw it adds up, unless they saw the same processes: then the one that has all that
 * the other has counts.
 */
int perfmon_series_add(struct perfmon_series *s, int fd, const char *host, struct strbuf *why);

/* The column of a key, and of an entity where each has its own; made when it is new, SIZE_MAX when
 * there are too many. They come in the same order at every reading: hint is where to look first. */
size_t perfmon_series_column(struct perfmon_series *s, const struct perfmon_key *k,
			     const char *entity, size_t hint);
/* A point behind the others; one that is no later is left out. */
void perfmon_column_add(struct perfmon_column *c, int64_t at_us, int64_t raw, bool present);
/* Their sum, or the end of what there is. */
static inline int64_t perfmon_sum(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}
/* perfmon_join.c: a run was read. The job as it saw it is put to what others saw; both are empty
 * then. */
void perfmon_series_join(struct perfmon_series *s, struct perfmon_series *job,
			 struct perfmon_span *run);

/* The clock of a file. */
const struct perfmon_ticks *perfmon_series_ticks(const struct perfmon_series *s,
						 enum perfmon_file file);
/* The value of a column at each tick; ret has one place for each. */
void perfmon_column_at(const struct perfmon_column *c, const struct perfmon_series *s,
		       const struct perfmon_ticks *t, struct perfmon_point *ret);
