/*
 * Processes and threads of jobs. Selection and order take 16 bytes for each process; then they are
 * read and written in batches, so that a million processes need little memory.
 */
#pragma once

#include "views/stream_table.h"
#include "store/query.h"

struct proc_filter {
	struct filter *where; /* of processes; NULL: all */
	const char *order;    /* a key, with "-" for descending; NULL: by start */
	uint64_t limit, offset;
};

/* Names of some keys to sort by, for messages. */
extern const char proc_orders[];

/* Selected processes in order: their ids. */
struct proc_list {
	int64_t *ids;
	size_t count;
};
void proc_list_release(struct proc_list *l);
int proc_list_load(struct proc_list *l, struct store *s, int64_t job, const struct proc_filter *f);
/* The same over several jobs. */
int proc_list_load_jobs(struct proc_list *l, struct store *s, const int64_t *jobs, size_t count,
			const struct proc_filter *f);

enum proc_form { PROC_TABLE, PROC_JSON, PROC_CSV };
int proc_list_print(const struct proc_list *l, struct store *s, enum proc_form form, FILE *f);
/* The same with the id of the job in every row. */
int proc_list_print_jobs(const struct proc_list *l, struct store *s, enum proc_form form, FILE *f);

/* Which rows of a list. */
struct proc_page {
	uint64_t offset, limit; /* limit UINT64_MAX: all */
};

/* Threads, ordered by process. A process with one thread is its own thread. pid -1: of all. */
int threads_print(struct store *s, int64_t job, int64_t pid, const struct proc_page *page,
		  enum proc_form form, FILE *f, size_t *ret_rows);

/* ---- shared by process_rows.c and thread_rows.c ---------------------------------------------- */

/* The objects {"event": value} of processes or threads, for those that have any. */
struct counters {
	struct counters_entry {
		uint32_t process, thread; /* thread 0: the process as a whole */
		size_t begin, end;        /* in the texts */
	} * entries;
	size_t count, cap;
	struct strbuf texts;
};
void counters_json(const struct counters *c, uint32_t process, uint32_t thread,
		   struct json_writer *j);

/* Rows of a job on their way out in one of the forms. */
struct proc_output {
	struct store *store;
	int64_t job;
	enum proc_form form;
	struct stmt *rows,
		*events; /* events: process, thread, name, value, in this order; JSON only */
	struct counters counters; /* of the batch */
	struct json_rows json;
	struct stream_table table;
	int column[METRIC_ID_END]; /* of each metric in the statement; 0: none */
	const int *text;           /* the same for metrics that are texts; NULL: none is */
	int start, duration;       /* columns */
	struct proc_page page;     /* offset: rows that are still to be skipped */
	bool paged;
	size_t count; /* rows written */
	char *jobid;  /* in every row; NULL: not shown */
	void (*write[3])(struct proc_output *o, struct stmt *st); /* by form */
};
/* columns: of the table for people, and of CSV. */
void proc_output_begin(struct proc_output *o, const struct terminal_table_column *columns,
		       size_t count, const struct terminal_table_column *csv, size_t csv_count,
		       FILE *f);
/* Writes the rows of the statements, to which their parameters are bound. */
int proc_output_batch(struct proc_output *o);
static inline bool proc_output_full(const struct proc_output *o)
{
	return o->paged && o->count == o->page.limit;
}
/* r: the result so far. */
int proc_output_end(struct proc_output *o, int r);
/* Every metric that is known, in the order of the dictionary. */
void proc_output_json(struct proc_output *o, struct stmt *st);
/* The same as cells of CSV, then "duration" and "cpu_time"; and the names of these columns. */
void proc_output_cells(struct proc_output *o, struct stmt *st);
size_t proc_output_columns(const struct proc_output *o, struct terminal_table_column *out);
int64_t proc_output_cpu(const struct proc_output *o, struct stmt *st);
/* The text of a column as a cell. */
void proc_output_text(struct proc_output *o, struct stmt *st, int column);
