/*
 * One job on its way into a store, in one transaction: processes are written as they come and only
 * their nodes (process_tree.h) and the distinct strings' hashes stay in memory; the tree, the sums
 * and the job itself follow at the end.
 */
#ifndef PL_STORE_INGEST_INGEST_H
#define PL_STORE_INGEST_INGEST_H

#include "records/metric_row.h"
#include "store/job_metadata.h"
#include "store/store.h"

/* How an image ended and who told us, in the values of enum accounting_ended and enum
 * accounting_source. */
struct ingest_state {
	unsigned ended, source;
	bool forked, silenced;
	uint32_t file; /* of the job, by which its rows are known again; 0: not known */
	bool masked;   /* arguments come from a store: what is secret in them is gone */
};

struct ingest;

/* Begins the transaction. store NULL: everything is computed and nothing is written. */
int ingest_begin(struct ingest **ret, struct store *s, struct strbuf *why);
/* One thread of the process that comes next. */
int ingest_thread(struct ingest *in, const struct row *thread);
/* One image; a process is counted with its last.
 * tids: its threads that were seen, 0 when they were not. rssmax_sum: over them. */
int ingest_process(struct ingest *in, const struct row *process, struct ingest_state state,
		   uint64_t rssmax_sum, size_t tids);
/* How many threads there were in all, where more is known than the processes say. */
void ingest_threads(struct ingest *in, uint64_t threads);
void ingest_warn(struct ingest *in, const char *fmt, ...) PL_PRINTF(2, 3);
/* What was warned of so far, and none of it any more. */
const struct value *ingest_warnings(const struct ingest *in);
void ingest_forget_warnings(struct ingest *in);
/* A host of the job, whether it has processes or not. */
void ingest_host(struct ingest *in, const char *name);
/* When something was seen of the job; counts where neither metadata nor processes have times. */
void ingest_times(struct ingest *in, int64_t first_us, int64_t last_us);

/* What was found, for the line that people see. */
struct ingest_result {
	uint64_t processes, images, threads;
	uint64_t earliest_us, latest_us;
	int64_t start_us, end_us; /* of the job; 0 unknown */
	uint64_t cpu_us;
	size_t hosts;
};

/* Writes the rest and commits; -ESTALE when somebody else stored a job of this id meanwhile. format
 * and source: how and where it came from. strict: a process outside of the job's time is an error,
 * not a warning. The sentence is in *why. */
int ingest_finish(struct ingest *in, const struct jobmeta *m, const char *format,
		  const char *source, bool strict, struct ingest_result *ret, struct strbuf *why);
/* The number that the job has. */
int64_t ingest_number(const struct ingest *in);
/* Hosts with their processes, and the names of the metrics, a line each. */
void ingest_describe(const struct ingest *in, struct strbuf *out);
/* Undoes everything that was not finished; accepts NULL. */
void ingest_free(struct ingest *in);

/* The columns of the tables process and thread that are metrics of the same name. */
extern const enum metric_id ingest_process_metrics[], ingest_thread_metrics[];
extern const size_t ingest_process_metric_count, ingest_thread_metric_count;

#endif
