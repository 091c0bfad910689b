/*
 * A job that a collector streamed to the store while it ran, and that is submitted afterwards: the
 * submitted job gets the streamed series. The transaction that stores the job renames the streamed
 * one; a second transaction moves its series. After a kill in between, the next collector that
 * opens the store does that.
 */
#pragma once

#include "store/store.h"

#define STORE_FED "node" /* job.format of streamed jobs */
/* Number of rows of job j in the table process: processes of a streamed job are only counted. */
#define STORE_RECORDED "CASE WHEN j.format = '" STORE_FED "' THEN 0 ELSE j.num_procs END"
#define STORE_FED_QUIET_US 90000000 /* so long after its last data a job is complete */
#define STORE_ASIDE " (fed)"        /* after the id of a renamed job */

/* May two users be the same, as far as SQL can tell? identity_users_differ() decides. */
#define STORE_USERS_AGREE(fed, other)                                                 \
	"(" fed " IS NULL OR " other " IS NULL OR " fed " = " other " OR substr(" fed \
	", 1, 1) BETWEEN '0' AND '9' OR substr(" other ", 1, 1) BETWEEN '0' AND '9')"

/* Renames the streamed job that matches a submitted one by id, time and user (NULL: unknown). The
 * number of such jobs, 0 while staged (publishing does it), or negative. */
int64_t store_set_aside(struct store *s, const char *jobid, const char *user, int64_t start_us,
			int64_t end_us);
/* The same for all staged jobs, while they are published. */
int store_set_aside_staged(struct store *s);
/*
 * Compares the samples of a job without metadata, which is being written, with streamed jobs of
 * that id and time. 0: nothing in common; -EEXIST: those have all of it; -ENOTUNIQ: some.
 */
int store_compare_fed(struct store *s, int64_t job, const char *jobid, int64_t start_us,
		      int64_t end_us);
/* Locks a job until the transaction ends; -ESTALE: it no longer exists. */
int store_lock_job(struct store *s, int64_t job);
/* Moves the series of all renamed jobs to the submitted ones of their id and time. The number of
 * jobs, or negative. */
int store_merge_streamed(struct store *s);
