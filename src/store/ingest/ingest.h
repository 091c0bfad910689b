/*
 * Stores one job in one transaction. Images are written as they come; only their nodes
 * (process_tree.h) and hashes of strings stay in memory. The process tree, the sums and the job
 * itself follow at the end.
 */
#pragma once

#include "records/metric_row.h"
#include "store/job_metadata.h"
#include "store/store.h"

/* The bits of the column process.state. */
enum ingest_state_bits {
	STATE_ENDED_MASK = 15,  /* bits 0 to 3: enum accounting_ended, how the image ended */
	STATE_SOURCE_SHIFT = 4, /* bits 4 to 7: enum accounting_source, who recorded the end */
	STATE_SOURCE_MASK = 15,
	STATE_FORKED = 1 << 8,   /* a forked copy that executed no program of its own */
	STATE_SILENCED = 1 << 9, /* the program switched the collection off */
	STATE_FILE_SHIFT = 10,   /* bits 10 to 41: struct ingest_state.file */
	STATE_STEP_SHIFT = 42,   /* bits 42 to 62: struct ingest_state.step */
};
#define STATE_STEP_MAX (((uint32_t)1 << 21) - 1)

/* The same as a structure, with what is not stored. */
struct ingest_state {
	unsigned ended, source;
	bool forked, silenced;
	uint32_t file; /* number of the record file within the job, see part_inventory.h; 0: unknown
			*/
	uint32_t step; /* number of the batch system's step, + 1; 0: none, or not known */
	bool masked;   /* not stored: arguments come from a store and have no secrets any more */
};

static inline int64_t ingest_state_pack(const struct ingest_state *s)
{
	uint64_t step = s->step <= STATE_STEP_MAX ? s->step : 0;

	return (int64_t)(step << STATE_STEP_SHIFT | (uint64_t)s->file << STATE_FILE_SHIFT |
			 s->ended | s->source << STATE_SOURCE_SHIFT |
			 (s->forked ? STATE_FORKED : 0u) | (s->silenced ? STATE_SILENCED : 0u));
}

static inline struct ingest_state ingest_state_unpack(int64_t bits)
{
	return (struct ingest_state){.ended = bits & STATE_ENDED_MASK,
				     .source = bits >> STATE_SOURCE_SHIFT & STATE_SOURCE_MASK,
				     .forked = bits & STATE_FORKED,
				     .silenced = bits & STATE_SILENCED,
				     .file = (uint32_t)(bits >> STATE_FILE_SHIFT),
				     .step = (uint32_t)(bits >> STATE_STEP_SHIFT) & STATE_STEP_MAX};
}

struct ingest;

/* Begins the transaction. store NULL: computes everything and writes nothing. */
int ingest_begin(struct ingest **ret, struct store *s, struct strbuf *why);
/* One thread of the image that ingest_process() adds next. */
int ingest_thread(struct ingest *in, const struct row *thread);
/* Adds one image; a process is counted with its last image. tids: number of its threads, 0 if
 * unknown. rssmax_sum: summed over them. */
int ingest_process(struct ingest *in, const struct row *process, struct ingest_state state,
		   uint64_t rssmax_sum, size_t tids);
/* Sets the total number of threads, where more is known than the processes tell. */
void ingest_threads(struct ingest *in, uint64_t threads);
void ingest_warn(struct ingest *in, const char *fmt, ...) PL_PRINTF(2, 3);
/* The warnings so far; and removing them. */
const struct value *ingest_warnings(const struct ingest *in);
void ingest_forget_warnings(struct ingest *in);
/* Adds a host of the job, even if it has no processes. */
void ingest_host(struct ingest *in, const char *name);
/* Times of samples, used if neither metadata nor processes have times. */
void ingest_times(struct ingest *in, int64_t first_us, int64_t last_us);

/* Totals, for the summary of a submit. */
struct ingest_result {
	uint64_t processes, images, threads;
	uint64_t earliest_us, latest_us;
	int64_t start_us, end_us; /* of the job; 0: unknown */
	uint64_t cpu_us;
	size_t hosts;
};

/* Writes the rest and commits; -ESTALE if another process stored a job of this id meanwhile. format
 * and source: how and where it came from. strict: a process outside of the job's time is an error,
 * not a warning. Errors are explained in *why. */
int ingest_finish(struct ingest *in, const struct jobmeta *m, const char *format,
		  const char *source, bool strict, struct ingest_result *ret, struct strbuf *why);
/* The job's number in the store. */
int64_t ingest_number(const struct ingest *in);
/* One line per host, and one with the names of all metrics. */
void ingest_describe(const struct ingest *in, struct strbuf *out);
/* Rolls back unless finished; accepts NULL. */
void ingest_free(struct ingest *in);

/* Columns of the tables process and thread that have the name of their metric. */
extern const enum metric_id ingest_process_metrics[], ingest_thread_metrics[];
extern const size_t ingest_process_metric_count, ingest_thread_metric_count;
