/*
 * A job that a collector fed into the store while it ran, and that is submitted afterwards: what
 * was submitted is the job, and the curves that are there already become its own. They are set
 * aside under another id in the transaction that stores the job, and moved in one of their own
 * afterwards; what is left aside by a kill in between is moved when a collector opens the store
 * next.
 */
#ifndef PL_STORE_INGEST_MERGE_STREAMED_H
#define PL_STORE_INGEST_MERGE_STREAMED_H

#include "store/store.h"

#define STORE_FED "node" /* job.format of jobs that a collector made */
/* How many rows a job j has in the table process: of a job that a collector made, processes are
 * counted and not recorded. */
#define STORE_RECORDED "CASE WHEN j.format = '" STORE_FED "' THEN 0 ELSE j.num_procs END"
#define STORE_FED_QUIET_US 90000000 /* so long after its last data it is complete */
#define STORE_ASIDE " (fed)"        /* behind the id of one that was set aside */

/* May two be of one user, as far as SQL can tell? Of those for which it is so,
 * identity_users_differ() knows more. */
#define STORE_USERS_AGREE(fed, other)                                                 \
	"(" fed " IS NULL OR " other " IS NULL OR " fed " = " other " OR substr(" fed \
	", 1, 1) BETWEEN '0' AND '9' OR substr(" other ", 1, 1) BETWEEN '0' AND '9')"

/* Lets a job that was fed go by another id, where it is the one that is submitted: by its id, the
 * time of both, and the user (NULL: not known). How many there were, 0 where jobs are written aside
 * (publishing does it), or negative. */
int64_t store_set_aside(struct store *s, const char *jobid, const char *user, int64_t start_us,
			int64_t end_us);
/* The same for all jobs that are written aside, while they are published. */
int store_set_aside_staged(struct store *s);
/*
 * Readings of job number `job` without metadata, which is being written, and jobs of that id and
 * time that were fed. 0: they have nothing in common; -EEXIST: those that were fed have all of it;
 * -ENOTUNIQ: some.
 */
int store_compare_fed(struct store *s, int64_t job, const char *jobid, int64_t start_us,
		      int64_t end_us);
/* Keeps others from changing a job until the transaction ends; -ESTALE when it is gone. */
int store_lock_job(struct store *s, int64_t job);
/* Moves the curves of all jobs that were set aside to those that have their ids, and ran at their
 * time. The number of jobs, or negative. */
int store_merge_streamed(struct store *s);

#endif
