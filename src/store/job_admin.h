/* Annotating, tagging and removing jobs of a store. */
#pragma once

#include "core/value.h"
#include "store/store.h"

/* Removes a job with all its rows, within the caller's transaction. */
int store_delete_job(struct store *s, int64_t job);

/* Sets annotations (values as JSON) or tags (values as text) of a job, in one transaction; replace:
 * removes all others. */
int store_annotate(struct store *s, int64_t job, const struct value *notes, bool replace);
int store_tag(struct store *s, int64_t job, const struct value *tags, bool replace);

/* Loads both as dicts that the caller frees, even after an error. */
int store_load_notes(struct store *s, int64_t job, struct value **ret_tags,
		     struct value **ret_annotations);

/* The analyses of a job as a dict (values of any kind), which the caller frees even after an error.
 */
int store_load_analyses(struct store *s, int64_t job, struct value **ret);

/* Key and value of pair i of a dict as stored, the value as JSON or as plain text; false if the key
 * is not a text. */
bool pair_texts(const struct value *dict, size_t i, bool json, struct strbuf *key,
		struct strbuf *text);

/* Which jobs are to be retired; 0 in any field: no limit. */
struct retire_limits {
	int64_t before_us; /* ended before this */
	uint64_t keep;     /* number of jobs to keep, the newest */
	uint64_t bytes;    /* size to keep, by an estimate of each job's size */
};
/* Removes them, the oldest first, a few per transaction, and calls tell() before each. dry: removes
 * nothing. The number of jobs, or a negative errno. */
int64_t store_retire(struct store *s, const struct retire_limits *limits, bool dry,
		     void (*tell)(void *user, const char *jobid, int64_t end_us), void *user);
