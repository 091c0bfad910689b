/*
 * Processes and threads of a job. Which ones and in which order is found first, with 16 bytes for
 * each; then they are read and written in batches, so a million processes need little memory.
 */
#ifndef PL_VIEWS_PROCESS_LIST_H
#define PL_VIEWS_PROCESS_LIST_H

#include "plot/unit_format.h"
#include "store/query.h"

struct proc_filter {
	const char *exe, *host;
	struct words tags;             /* all of them */
	int64_t pid;                   /* -1: any */
	int64_t min_cpu, min_duration; /* us; 0: any */
	bool failed;
	const char *order; /* one of proc_orders, "-" in front: descending */
	uint64_t limit, offset;
};

extern const char proc_orders[];
bool proc_order_known(const char *order);

/* Rows of processes in the order wanted: numbers within the job. */
struct proc_list {
	uint32_t *numbers;
	size_t count;
};
void proc_list_release(struct proc_list *l);
int proc_list_load(struct proc_list *l, struct store *s, int64_t job, const struct proc_filter *f);

enum proc_form { PROC_TABLE, PROC_JSON, PROC_CSV };
int proc_list_print(const struct proc_list *l, struct store *s, int64_t job, enum proc_form form,
		    FILE *f);

/* Threads in the order of their processes' numbers; of processes with one thread it is they
 * themselves. pid -1: of all. */
int threads_print(struct store *s, int64_t job, int64_t pid, enum proc_form form, FILE *f,
		  size_t *ret_rows);

/* ---- shared by the files of processes ------------------------------------------------------- */

/* The objects {"event": value} of processes or threads, for those that have any. */
struct counters {
	struct counters_entry {
		uint32_t process, thread; /* thread 0: the process as a whole */
		size_t begin, end;        /* in the texts */
	} * entries;
	size_t count, cap;
	struct strbuf texts;
};
void counters_release(struct counters *c);
/* Reads them by a statement with the columns process, thread, name, value, ordered by process and
 * thread. Replaces what was there. */
int counters_load(struct counters *c, struct stmt *st);
void counters_json(const struct counters *c, uint32_t process, uint32_t thread, struct jsonw *j);

/* A command line as a person would type it, from its two parts. */
void add_command(struct strbuf *out, const char *exe, size_t exe_size, const char *args,
		 size_t args_size);
/* The value of a metric as JSON writes it, where it is known. */
void json_metric(struct jsonw *j, enum metric_id id, struct stmt *st, int column);

#endif
