/* Jobs of a store with their hosts, tags and annotations: a few statements for any number of jobs.
 */
#pragma once

#include "views/output.h"
#include "store/query.h"

/* The hosts, tags or annotations of a job: a range of the list's entries. */
struct job_entries {
	uint32_t first, count;
};

struct job_row {
	int64_t no;
	/* places in the list's texts; 0: absent */
	size_t jobid, jobname, user, cluster, format, source;
	/* UNKNOWN where not known; us */
	int64_t submit, start, end, duration, cpu, exitcode, ingested;
	int64_t processes, images, num_threads;
	int64_t peak_procs, peak_threads; /* UNKNOWN without times of processes */
	int64_t recorded;                 /* images that have a row */
	/* it has samples and no records: CPU and processes are those that samples saw, UNKNOWN
	 * where they saw none; images are 0, threads and peaks UNKNOWN */
	bool sampled;
	bool fed, open; /* by a collector; data still came a moment ago */
	struct job_entries hosts, tags, annotations;
};

struct job_entry {
	size_t key, value; /* places in the texts; a host has a number instead of a value */
	uint32_t key_size, value_size;
	int64_t number;
};

struct joblist {
	struct job_row *rows;
	size_t count, cap;
	struct job_entry *entries;
	size_t entry_count, entry_cap;
	struct strbuf texts;
	bool bare;  /* set before loading: neither hosts nor tags nor annotations */
	bool tasks; /* likewise: names begin with the array task, in short lists */
	bool few;   /* set while loading: jobs are named by their numbers */
};
#define JOBLIST_INIT                 \
	{                            \
		.texts = STRBUF_INIT \
	}
void joblist_release(struct joblist *l);
#define _cleanup_joblist_ _cleanup_(joblist_release)

/* Reads the jobs that a filter selects, in its order. On failure store_error() has the reason. */
int joblist_load(struct joblist *l, struct store *s, const struct job_filter *f);
/* Reads the jobs with these numbers, in this order; those that no longer exist are left out. */
int joblist_load_numbers(struct joblist *l, struct store *s, const int64_t *jobs, size_t count);
/* NULL where absent. */
const char *joblist_text(const struct joblist *l, size_t place);

/* "7, at most 3 at once; 9 threads, at most 4 at once", as far as known. */
void joblist_add_work(struct strbuf *out, const struct job_row *r, bool human);

/* CPUs busy on average; NAN where unknown: the times of a fed job are those of its samples, and the
 * first of them includes CPU time from before. */
double joblist_busy(const struct job_row *r, int64_t cpu_us);
/* Says that a job is open, and how old its numbers are. */
void joblist_add_open(struct strbuf *out, const struct job_row *r);

/* The keys jobid to annotations, and the keys behind them; the caller begins and ends the object.
 */
void joblist_json_front(const struct joblist *l, const struct job_row *r, struct json_writer *j);
void joblist_json_back(const struct joblist *l, const struct job_row *r, struct json_writer *j);

int joblist_print_json(const struct joblist *l, FILE *f);
int joblist_print_table(const struct joblist *l, bool csv, FILE *f);
/* Only the ids, one per line; returns their number. */
int joblist_print_ids(struct store *s, const struct job_filter *f, FILE *out);

enum joblist_form { JOBLIST_TABLE, JOBLIST_JSON, JOBLIST_CSV, JOBLIST_IDS };
/* Loads and prints jobs. Without an order, tables on a terminal and lists with a limit begin with
 * the newest. A table without jobs is not printed: *ret_none is true then. A negative errno, -EPIPE
 * and its like if standard output failed: then *ret_output is true. */
int joblist_print(struct store *s, const struct job_filter *f, enum joblist_form form, FILE *out,
		  bool *ret_none, bool *ret_output);
