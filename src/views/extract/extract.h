/*
 * What `plimsoll extract` gathers: one row for each time and host, one column for each metric that
 * was asked for, from files (extract_files.c) or a store (extract_store.c).
 */
#ifndef PL_CMD_SHOW_EXTRACT_H
#define PL_CMD_SHOW_EXTRACT_H

#include "cmd/command.h"

#define EXTRACT_METRICS_MAX 128

/* Statuses that scripts know, and one more. */
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
	char *text;        /* as it was asked for: its name in the answer */
	const char *table; /* what stands before the point, or NULL */
	const char *name;
	char *found;   /* the table that it is taken from; NULL: not known yet */
	bool of_node;  /* of the tables of the node, not of the job */
	bool there;    /* some file has it */
	bool anywhere; /* the table of fixed rows that it should be in does not */
};

struct extract {
	const char *job;
	int64_t start_s, end_s; /* both included */
	struct extract_metric metrics[EXTRACT_METRICS_MAX];
	size_t metric_count;
	/* private to extract_rows.c */
	char **hosts;
	size_t host_count, host_cap;
	struct extract_row *rows;
	size_t row_count, row_cap;
	struct extract_cell *cells; /* metric_count a row */
	size_t cell_cap;
	uint32_t *table;
	size_t table_size;
	bool *of_job; /* by host: the job was there */
	size_t of_job_cap;
};

/* "taskstats.read_bytes,VmRSS"; false when there is none, an empty one, or too many. */
bool extract_parse_metrics(struct extract *e, const char *list);
void extract_release(struct extract *e);
/* Back to what was asked for. */
void extract_forget_rows(struct extract *e);

/* Is there a metric that is the node's, or may be? */
bool extract_wants_node(const struct extract *e);
/* A value; the first one of a time and host stays. */
void extract_add(struct extract *e, size_t metric, int64_t time_s, const char *host, size_t size,
		 struct extract_cell cell);
/* The job was on this host; was it? */
void extract_note_host(struct extract *e, const char *host, size_t size);
bool extract_on_host(const struct extract *e, const char *host, size_t size);
/* Writes the answer; plain: without packing it. 0 or a negative errno with the reason. */
int extract_write(struct extract *e, bool plain, FILE *f, struct strbuf *why);

/* Gathers. 0, or a status with the message said. skip: files that cannot be read are left out. */
int extract_from_files(struct extract *e, const char *prefix, bool skip);
int extract_from_store(struct extract *e, struct context *ctx);

#endif
