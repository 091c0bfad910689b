/* The job argument of a command: a stored job, or a path. */
#pragma once

#include "context/stored_job.h"

/*
 * name: a job id or a unique prefix, "last", or a directory, archive or file of ours or of another
 * tool, which is imported into a store in memory; of several jobs in a file, the last. Logs errors.
 * 0 or a negative errno.
 */
int job_argument_open(struct context *ctx, const char *name, struct store **ret, int64_t *ret_job);
/*
 * For a file that is not a job, with the reason in *why: opens the stored job of that name, unless
 * it is a path. 0 and an empty *why, or a negative errno with more in *why.
 */
int job_argument_instead(struct context *ctx, const char *name, struct store **ret,
			 int64_t *ret_job, struct strbuf *why);
/* Is name taken for a path, if there is a job? */
bool job_argument_is_path(const char *name);
/* Reads the metadata of a job directory, archive or metadata file; 0 or a negative errno with the
 * reason. */
int job_path_metadata(struct context *ctx, const char *path, struct value **ret,
		      struct strbuf *why);
