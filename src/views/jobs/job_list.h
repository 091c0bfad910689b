/*
 * Jobs of a store with their hosts, tags and annotations: a few statements for any number of jobs,
 * none for each.
 */
#ifndef PL_VIEWS_JOB_LIST_H
#define PL_VIEWS_JOB_LIST_H

#include "plot/unit_format.h"
#include "store/query.h"

/* What belongs to a job in several rows: a place in the list's entries. */
struct job_entries {
	uint32_t first, count;
};

struct job_row {
	int64_t no;
	/* places in the list's texts; 0: absent */
	size_t jobid, jobname, user, format, source;
	/* UNKNOWN where not known; us */
	int64_t submit, start, end, duration, cpu, exitcode, ingested;
	int64_t processes, images, num_threads;
	int64_t peak_procs, peak_threads; /* UNKNOWN where nobody recorded when each ran */
	int64_t recorded;                 /* images that have a row of their own */
	/* it has samples and no records: CPU and processes are as far as samples saw them, UNKNOWN
	 * where they saw none; images are 0, and threads and peaks UNKNOWN */
	bool sampled;
	bool fed, open; /* by a collector; and data of it still came a moment ago */
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
	bool tasks; /* likewise: names with the task of an array before, of short lists */
};
#define JOBLIST_INIT                 \
	{                            \
		.texts = STRBUF_INIT \
	}
void joblist_release(struct joblist *l);
#define _cleanup_joblist_ _cleanup_(joblist_release)

/* Reads the jobs that a filter lets through, in its order. store_error() has the sentence. */
int joblist_load(struct joblist *l, struct store *s, const struct job_filter *f);
/* NULL where absent. */
const char *joblist_text(const struct joblist *l, size_t place);

/* "7, at most 3 at once; 9 threads, at most 4 at once", as far as it is known. */
void joblist_add_work(struct strbuf *out, const struct job_row *r, bool human);

/* CPUs that were busy on average; NAN where that cannot be told: times of a job that was fed are
 * those of its readings, and the first of them knows of CPU time before it. */
double joblist_busy(const struct job_row *r, int64_t cpu_us);
/* Of an open one: that it is, and how old its numbers are. */
void joblist_add_open(struct strbuf *out, const struct job_row *r);

/* Keys jobid to annotations, and those behind, of an object that the caller begins and ends. */
void joblist_json_front(const struct joblist *l, const struct job_row *r, struct jsonw *j);
void joblist_json_back(const struct joblist *l, const struct job_row *r, struct jsonw *j);

int joblist_print_json(const struct joblist *l, FILE *f);
int joblist_print_table(const struct joblist *l, bool csv, FILE *f);
/* Only the ids, one a line, as they come from the store; the number of them. */
int joblist_print_ids(struct store *s, const struct job_filter *f, FILE *out);

#endif
