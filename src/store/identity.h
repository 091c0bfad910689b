/*
 * Which job something belongs to. Batch systems use their ids again: other clusters do, another
 * year does, and a job that is put back into the queue has the id that it had. A job is its
 * cluster, its id and its start. What is not known may be anything, and what a host's clock says is
 * never compared more exactly than clocks agree.
 */
#ifndef PL_STORE_IDENTITY_H
#define PL_STORE_IDENTITY_H

#include "core/value.h"
#include "store/job_metadata.h"
#include "store/store.h"

/* Where nothing is known of a job for so long, what has its id is another one. */
#define JOB_GAP_US INT64_C(43200000000)
#define JOB_GAP_SQL "43200000000"

/* How long two times of running are apart; 0: they touch. An end that is not known is the start. */
int64_t identity_gap_us(int64_t a_first, int64_t a_last, int64_t b_first, int64_t b_last);

/* Is it sure that two users, names or numbers, are not the same? A number and a name are compared
 * by what this machine calls the name; one that it does not know, and who is not known at all
 * (NULL), may be anybody. */
bool identity_users_differ(const char *a, const char *b);

/* When a job ran as far as its metadata do not say; 0: they do, or nobody knows. */
struct identity_times {
	int64_t first_us, last_us;
};

/*
 * Looks for the job that these metadata are about among those that were submitted. Its number, or
 * 0: it is another one, or the first of its id. *nth: as which of its id it is to be stored, the
 * one that is there or a new one. -ENOTUNIQ: there are such that it may be or not, the sentence is
 * in *why. -ESTALE: once more, with nothing written aside.
 */
int64_t identity_find(struct store *s, const struct jobmeta *m, const struct value *meta,
		      const struct identity_times *seen, int64_t *nth, struct strbuf *why);
/* Are there any of this id? 1, 0, or negative. */
int identity_exists(struct store *s, const char *jobid);

#endif
