/*
 * Pages of the jobs that a filter selects, and sums over all of them, fast among millions of jobs:
 * user, host, tag, status, words of the name and the time of the start have indexes in the order of
 * the start, of which the shortest list is read and the others are asked for each job, or two long
 * lists are merged. What else a filter has is computed for each job that is left. On a store of an
 * older schema everything is computed for each job.
 */
#pragma once

#include "store/filter/filter.h"
#include "store/store.h"

#define JOB_LIST_LIMIT_MAX 1000
/* Of one cursor, as text. */
#define JOB_LIST_CURSOR_MAX 4096

struct job_list_query {
	struct filter *where; /* of jobs; marked while it is used. NULL: all */
	const char *order;    /* a key, "-" in front: descending; NULL: "-start" */
	size_t limit;         /* 1 to JOB_LIST_LIMIT_MAX */
	const char *after;    /* the cursor that the page before ended with; NULL: the first page */
	int64_t list_short;   /* lists up to this length are read whole; 0: the usual length */
};

struct job_page {
	int64_t *jobs; /* their numbers in the store */
	size_t count;
	char *next; /* cursor; NULL: there are no more */
	bool has_total;
	int64_t total; /* of all pages, where it costs nothing to know */
};
void job_page_release(struct job_page *p);
#define _cleanup_job_page_ _cleanup_(job_page_release)

/* Fills an empty page. Rows whose value is not known come last, rows of the same value in the order
 * of their numbers; of texts the first 400 characters count. -EINVAL with a reason in *why: the
 * cursor is not one of this list, or there is no such order; other errors have the store's message.
 */
int job_list_page(struct store *s, const struct job_list_query *q, struct job_page *ret,
		  struct strbuf *why);

/* Sums over all jobs that match a filter; NAN, or -1 for counts: not known. */
struct job_tiles {
	int64_t jobs, failed, running;
	double cpu_s, core_s; /* used, granted */
	double efficiency;    /* 0..1: of jobs whose granted cores are known */
	double energy_j;      /* of jobs whose energy is known, */
	int64_t energy_jobs;  /* which are so many */
};
int job_list_tiles(struct store *s, struct filter *where, struct job_tiles *ret);
