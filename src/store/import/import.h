/*
 * A job from wherever it is into a store: a directory or an archive of ours or of
 * another tool.
 * The input is read once and never changed.
 */
#ifndef PL_STORE_IMPORT_IMPORT_H
#define PL_STORE_IMPORT_IMPORT_H

#include "core/config.h"
#include "store/ingest/sample_ingest.h"

struct import_result {
	char *jobid; /* NULL while unknown; freed by the caller */
	int64_t job; /* its number in the store, once it is there */
	const char *format;
	size_t parts;  /* of which the job consists now */
	bool proved;   /* it is in the store already, and all of its records are */
	char *foreign; /* the first member of an archive that is not of a job; NULL: there is none
			*/
	struct ingest_result sums;
	struct sample_ingest_result samples;
	struct strbuf details; /* lines about files, hosts and metrics, for -v */
};
void import_result_release(struct import_result *r);

/*
 * s NULL: everything is read and checked, nothing is stored. 0, -EEXIST when the store has the job,
 * or another negative errno; the sentence is in *why and names the file and the place in it.
 */
struct import_options {
	bool replace; /* a job that is there already is replaced, in the same transaction */
	bool running; /* a job that has not been stopped is taken as it is now */
	bool strict;  /* a process outside of the job's time is an error */
	struct value
		*meta;     /* of a job that has ended, where its directory has not got them; NULL */
	const char *owner; /* whom the files belong to, and so the job must; NULL: anybody's */
	const char *source; /* where the job came from, when that is not the path; else NULL */
};
int import_submit(const struct config *c, struct store *s, const char *path,
		  const struct import_options *o, struct import_result *ret, struct strbuf *why);
/* After -EEXIST: is all of the input in the store? Where its files were not noted, it is read once
 * more and has to add up to what the job does. */
bool import_is_stored(const struct config *c, struct store *s, const char *path,
		      const struct import_options *o, const struct import_result *got);

#endif
