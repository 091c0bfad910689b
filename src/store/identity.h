/*
 * Matching new data to stored jobs. Ids are reused: by other clusters, in later years, and by
 * requeued jobs. Cluster, id and start identify a job. Unknown values match anything, and times are
 * compared only as exactly as clocks of hosts agree.
 */
#pragma once

#include "core/value.h"
#include "store/job_metadata.h"
#include "store/store.h"

/* After a gap of this length, data with the same id belong to another job. */
#define JOB_GAP_US INT64_C(43200000000)
#define JOB_GAP_SQL "43200000000"

/* The gap between two intervals; 0: they overlap. An unknown end equals the start. */
int64_t identity_gap_us(int64_t a_first, int64_t a_last, int64_t b_first, int64_t b_last);

/* Are two users, names or numbers, certainly different? A number and a name are compared by the
 * user database of this machine; an unknown name, and NULL, may be anybody. */
bool identity_users_differ(const char *a, const char *b);

/* When a job ran, if its metadata do not tell; 0: unknown. */
struct identity_times {
	int64_t first_us, last_us;
};

/*
 * Finds the submitted job that these metadata belong to. Its number, or 0: it is a new job. *nth:
 * its number among jobs of its id, existing or new. -ENOTUNIQ: it is unclear, explained in *why.
 * -ESTALE: try again without staging.
 */
int64_t identity_find(struct store *s, const struct jobmeta *m, const struct value *meta,
		      const struct identity_times *seen, int64_t *nth, struct strbuf *why);
/* Is there a job of this id? 1, 0, or negative. */
int identity_exists(struct store *s, const char *jobid);
