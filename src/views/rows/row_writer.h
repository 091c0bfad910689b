/*
 * Formats of `plimsoll records`. A row writer is one constant, named in row_writers.def. It gets
 * processes in order of their start, each followed by its threads if threads were requested. What
 * formats have in common with those of `plimsoll export` is in core/text: quotes, escapes, numbers.
 */
#pragma once

#include <stdio.h>

#include "records/metric_row.h"

struct row_writer_row {
	const struct row *row;
	bool thread;           /* of the process before */
	const char *ended;     /* exit, signal, exec, running or unknown; "" for a thread */
	const char *source;    /* preload, reaped, taskstats or cn_proc; "" for a thread */
	bool forked, silenced; /* a fork without exec; it switched recording off */
};

struct row_writer {
	const char *name;
	/* Returns the writer's state. threads: some rows will be threads. */
	void *(*open)(FILE *f, bool threads);
	/* 0 or a negative errno. The row stays the caller's. */
	int (*write)(void *state, const struct row_writer_row *r);
	/* Writes what is left and frees the state; 0 or a negative errno. Accepts NULL. */
	int (*close)(void *state);
};

/* All row writers, sorted by name; ends with NULL. */
extern const struct row_writer *const row_writers[];
const struct row_writer *row_writer_find(const char *name);

/* Is it of interest to users? Other metrics are for reading record files only. */
bool row_writer_shows(const struct metric *m);

/* Most hardware events that one process counts. */
#define ROW_WRITER_EVENTS_MAX 16
