/* Jobs that are in a store: finding, noting, tagging, removing. */
#ifndef PL_STORE_JOB_ADMIN_H
#define PL_STORE_JOB_ADMIN_H

#include "core/value.h"
#include "store/store.h"

/* Removes a job with everything; the transaction is the caller's. */
int store_delete_job(struct store *s, int64_t job);

/* Sets annotations (values as JSON) or tags (values as text) of a job, in a transaction of its own;
 * replace: those that were there are forgotten. */
int store_annotate(struct store *s, int64_t job, const struct value *notes, bool replace);
int store_tag(struct store *s, int64_t job, const struct value *tags, bool replace);

/* Those of a job, as dicts that the caller frees, also after an error. */
int store_load_notes(struct store *s, int64_t job, struct value **ret_tags,
		     struct value **ret_annotations);

/* Key and value of pair i of a dict as the store has them, the value as JSON or as plain text;
 * false when the key is no text. */
bool pair_texts(const struct value *dict, size_t i, bool json, struct strbuf *key,
		struct strbuf *text);

/* Which jobs have had their time; 0 in any field: no limit. */
struct retire_limits {
	int64_t before_us; /* ended before this */
	uint64_t keep;     /* more than so many: the oldest go */
	uint64_t bytes;    /* more than so much, by an estimate of what each job takes */
};
/* Removes them, the oldest first, a few in each transaction; each is told before it goes. dry: only
 * told. The number of jobs, or a negative errno. */
int64_t store_retire(struct store *s, const struct retire_limits *limits, bool dry,
		     void (*tell)(void *user, const char *jobid, int64_t end_us), void *user);

#endif
