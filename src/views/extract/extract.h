/*
 * The rows of `plimsoll extract`: one row per time and host, one column per requested metric, from
 * HDF5 files (extract_files.c) or a store (extract_store.c).
 */
#pragma once

#include <stdio.h>

#include "core/hash_map.h"
#include "core/util.h"

#define EXTRACT_METRICS_MAX 128

/* Exit statuses that scripts rely on. */
#define EXTRACT_USAGE 1
#define EXTRACT_NO_FILE 2
#define EXTRACT_FAILED 3
#define EXTRACT_NO_DATA 4

struct extract_cell {
	enum { CELL_NONE, CELL_INT, CELL_REAL } kind;
	union {
		int64_t i;
		double d;
	};
};

struct extract_metric {
	char *text;        /* as requested: its key in the answer */
	const char *table; /* the part before the dot, or NULL */
	const char *name;
	char *found;   /* table that it is read from; NULL: not known yet */
	bool of_node;  /* from the node's tables, not the job's */
	bool there;    /* some file has it */
	bool anywhere; /* not in the fixed table where it belongs: search all tables */
};

struct extract_host {
	char *name;
	bool of_job; /* the job ran there */
};

struct extract {
	const char *job;
	int64_t start_s, end_s; /* both included */
	struct extract_metric metrics[EXTRACT_METRICS_MAX];
	size_t metric_count;
	/* private to extract_rows.c */
	struct extract_host *hosts;
	size_t host_count, host_cap;
	struct extract_row *rows;
	size_t row_count, row_cap;
	struct extract_cell *cells; /* metric_count per row */
	size_t cell_cap;
	struct hash_map host_map, row_map;
};

/* Parses "taskstats.read_bytes,VmRSS"; false if a name is empty or there are too many. */
bool extract_parse_metrics(struct extract *e, const char *list);
void extract_release(struct extract *e);
/* Drops all rows, keeps the request. */
void extract_forget_rows(struct extract *e);

/* May one of the metrics be a metric of the node? */
bool extract_wants_node(const struct extract *e);
/* Adds a value unless that time and host has one. */
void extract_add(struct extract *e, size_t metric, int64_t time_s, const char *host, size_t size,
		 struct extract_cell cell);
/* Notes that the job ran on this host; did it? */
void extract_note_host(struct extract *e, const char *host, size_t size);
bool extract_on_host(const struct extract *e, const char *host, size_t size);
/* Writes the answer, compressed unless plain; 0 or a negative errno with the reason. */
int extract_write(struct extract *e, bool plain, FILE *f, struct strbuf *why);

struct store;
/* Read the rows; 0, or an exit status with the reason. skip: ignore files that cannot be read.
 * *notes gets lines about files and metrics. */
int extract_from_files(struct extract *e, const char *prefix, bool skip, struct strbuf *notes,
		       struct strbuf *why);
int extract_from_store(struct extract *e, struct store *s, struct strbuf *why);
