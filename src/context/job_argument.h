/* A job that a command shows: by its name in the store, or by a path that was never submitted. */
#ifndef PL_CONTEXT_JOB_ARGUMENT_H
#define PL_CONTEXT_JOB_ARGUMENT_H

#include "context/stored_job.h"

/*
 * name: a job id, the beginning of only one, "last"; or a directory, archive or file of ours
 * or of another tool, which is read into a store in memory. Of a file with several jobs it is the
 * last. Says what is wrong; 0 or a negative errno.
 */
int job_argument_open(struct context *ctx, const char *name, struct store **ret, int64_t *ret_job);
/*
 * A file of this name is no job, as *why says: a stored job of the name is meant then, unless the
 * name is a path. 0 and *why empty, or a negative errno, with *why saying that there is none
 * either.
 */
int job_argument_instead(struct context *ctx, const char *name, struct store **ret,
			 int64_t *ret_job, struct strbuf *why);
/* True when name is taken for a path, if there is a job. */
bool job_argument_is_path(const char *name);

#endif
