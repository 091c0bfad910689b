/* Sums over the jobs of a store, by executable, user, operation, tag or month; from the sums that
 * were stored with each job (ingest/usage_sums.h), not from its processes. */
#pragma once

#include "store/ingest/usage_sums.h"

enum usage_by {
	USAGE_BY_EXECUTABLE,
	USAGE_BY_USER,
	USAGE_BY_OPERATION, /* tags of processes; the order of keys does not matter */
	USAGE_BY_MONTH,     /* in which the job started, local time: "2026-11" */
	USAGE_BY_TAG,       /* the value of a key in the tags of processes */
	USAGE_BY_JOB_TAG,   /* the same of jobs */
};

struct usage_row {
	const struct usage_group *group; /* a name of NULL: images or jobs without one */
	uint64_t jobs;
};

struct usage_table {
	struct usage_groups groups;
	uint64_t *jobs;    /* of each group */
	int64_t *last_job; /* that was added to the group */
	size_t jobs_cap;
	struct usage all;
	uint64_t all_jobs;
	struct usage_row *rows; /* by descending CPU time, then by name */
};
void usage_table_release(struct usage_table *t);
#define _cleanup_usage_table_ _cleanup_(usage_table_release)

/* key: of tags; NULL otherwise. jobs: sorted numbers, or NULL for all jobs of the store. 0 or a
 * negative errno. */
int usage_table_load(struct usage_table *t, struct store *s, enum usage_by by, const char *key,
		     const int64_t *jobs, size_t count);
