/* Reading samples of a host onto the steps; see where_samples.c. */
#pragma once

#include "views/where/where_internal.h"

/* What the host as a whole used, apart from the evidence of the job. */
struct host_use {
	double *busy, *idle, *threads; /* s in each step; NAN: unknown */
	double *work;                  /* of the process that is looked at */
};

enum of { OF_EVIDENCE, OF_BUSY, OF_IDLE, OF_THREADS, OF_WORK };

/* The first metric of a field that a host has counts, except those that add up. */
struct sampled_row {
	const char *metric, *kind; /* kind: of a whole job */
	bool of_process;           /* processes have it as well */
	enum of of;
	size_t field;
	double factor; /* to seconds, or counts */
	bool adds;
};
struct chosen {
	bool all;
	struct hash_map map; /* by pid and ticks */
};

struct sampling {
	struct where_loading *l;
	struct where_host *h;
	struct core_evidence *steps;
	struct host_use use;
	struct chosen chosen;
	struct series_reader reader;
	struct series_points raw;
	struct points curve;
	struct points sum; /* of counters that were read at the same times */
	struct resample one;
	int error;
};

/* Adds a series, of the row, to the steps; where_samples_flush() after the last one of a row.
 * False: it cannot be read. */
bool where_samples_add(struct sampling *d, const struct sampled_row *row, const struct series *s);
void where_samples_flush(struct sampling *d, const struct sampled_row *row);
bool where_samples_chosen(const struct sampling *d, const struct series *s);
/* A process, by its pid and start; and by its name in samples. */
uint64_t where_process_key(uint64_t pid, uint64_t ticks);
uint64_t where_entity_key(const char *entity);

/* Finds who was at work in each step, fills at_work, marks the steps in which a process idled while
 * others of its program worked, and drops waits that hold nothing up. */
void where_find_at_work(struct sampling *d);
