/*
 * A sink is one constant in one file, named in row_writers.def: a form in which rows leave the
 * program. It gets processes in the order of their start, each followed by its threads where those
 * were asked for.
 */
#ifndef PL_VIEWS_ROWS_ROW_WRITER_H
#define PL_VIEWS_ROWS_ROW_WRITER_H

#include <stdio.h>

#include "records/metric_row.h"

struct row_writer_row {
	const struct row *row;
	bool thread;           /* of the process before it */
	const char *ended;     /* exit, signal, exec, running or unknown; "" for a thread */
	const char *source;    /* preload, reaped, taskstats or cn_proc; "" for a thread */
	bool forked, silenced; /* a copy that executed nothing; closed the door on us */
};

struct row_writer {
	const char *name;
	const char *help; /* one phrase, no full stop */
	/* Begins: returns the sink's own state. threads: some rows will be threads. */
	void *(*open)(FILE *f, bool threads);
	/* 0 or a negative errno. The row is the caller's again afterwards. */
	int (*write)(void *state, const struct row_writer_row *r);
	/* Writes what is left and frees the state; 0 or a negative errno. Accepts NULL. */
	int (*close)(void *state);
};

/* Every sink, sorted by name; ends with NULL. */
extern const struct row_writer *const row_writers[];
const struct row_writer *row_writer_find(const char *name);

/* Metrics that mean something to a reader; the rest keeps the record files' own books. */
bool row_writer_shows(const struct metric *m);

/* Most events that one process counts. */
#define ROW_WRITER_EVENTS_MAX 16

#endif
