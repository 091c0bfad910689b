/*
 * The readings of one host's sample files as perfmon's columns: what belongs to a key, over all
 * interfaces, ports and runs, with the times that make the time stamps of each file.
 */
#ifndef PL_JOB_PERFMON_SERIES_H
#define PL_JOB_PERFMON_SERIES_H

#include "core/value.h"
#include "formats/perfmon_keys.h"
#include "formats/samplefile.h"

/* Of each kind that facts are kept of. */
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
	/* counters of entities that come and go: what each said last */
	struct perfmon_last *last;
	size_t last_count, last_cap;
	int64_t gone; /* of those that are no longer kept */
};

struct perfmon_series {
	struct perfmon_column *columns;
	size_t count, cap;
	struct perfmon_ticks clocks[PERFMON_FILES][3]; /* as perfmon_clocks */
	struct value *gpus;                            /* name of each GPU, and its facts */
	struct value *processes; /* likewise, of processes that were sampled one by one */
	int64_t period_us;
	int64_t floor_us; /* of the run being read: earlier readings were in another's file */
	uint64_t damaged, skipped, lost; /* places, readings */
};

void perfmon_series_release(struct perfmon_series *s);

/* Adds a sample file (fd is taken): the readings of host, NULL for all. Files come in the order in
 * which their runs began; where runs overlap the earlier one counts. */
int perfmon_series_add(struct perfmon_series *s, int fd, const char *host, struct strbuf *why);

/* The clock of a file. */
const struct perfmon_ticks *perfmon_series_ticks(const struct perfmon_series *s,
						 enum perfmon_file file);
/* What a column says at each tick; ret has one place for each. */
void perfmon_column_at(const struct perfmon_column *c, const struct perfmon_series *s,
		       const struct perfmon_ticks *t, struct perfmon_point *ret);

#endif
