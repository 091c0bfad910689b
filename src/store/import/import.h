/*
 * Stores a job from a directory or an archive, ours or of another tool. The input is read once and
 * never changed.
 */
#pragma once

#include "core/config.h"
#include "store/ingest/sample_ingest.h"

struct import_result {
	char *jobid; /* NULL: unknown; freed by the caller */
	int64_t job; /* its number in the store, if it is stored */
	const char *format;
	size_t parts;  /* of the job now */
	size_t phases; /* in the input */
	bool proved;   /* the store already has all of its records */
	char *foreign; /* the first member of an archive that is no file of a job; NULL: none */
	struct ingest_result sums;
	struct sample_ingest_result samples;
	struct strbuf details; /* lines about files, hosts and metrics, for -v */
};
void import_result_release(struct import_result *r);

/*
 * s NULL: reads and checks everything, stores nothing. 0, -EEXIST if the store has the job, or
 * another negative errno; the message in *why names the file and the place in it.
 */
struct import_options {
	bool replace; /* replace a stored job, in the same transaction */
	bool running; /* accept a job that has not been stopped */
	bool strict;  /* a process outside of the job's time is an error */
	struct value
		*meta; /* of a job that has ended, where its directory has not got them; NULL */
	struct accounting *joined; /* the records, if the caller has joined them: taken; NULL */
	const char *owner;         /* the job must belong to this user; NULL: any */
	const char *source;        /* original path of the input; NULL: the path */
};
int import_submit(const struct config *c, struct store *s, const char *path,
		  const struct import_options *o, struct import_result *ret, struct strbuf *why);
/* After -EEXIST: is all of the input in the store? If its files were not noted, it is read again
 * and the totals are compared. */
bool import_is_stored(const struct config *c, struct store *s, const char *path,
		      const struct import_options *o, const struct import_result *got);
