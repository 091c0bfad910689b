/* The job that we are in: its id, its directory, its metadata when it begins. */
#ifndef PL_CONTEXT_CURRENT_JOB_H
#define PL_CONTEXT_CURRENT_JOB_H

#include "context/context.h"
#include "jobs/job_directory.h"

/* Origin of the setting `job` where the session is the job. */
#define SESSION_JOB "session id"
/* How the job id was found. */
enum job_origin { JOB_NAMED, JOB_SCHEDULER, JOB_SESSION, JOB_NONE };

/* The id of the job that we are in: named, batch system's, this session's; NULL and JOB_NONE when
 * there is none. Freed by the caller. */
char *job_identify(struct context *ctx, enum job_origin *ret);
/* Forgets the job that `run` or `source` left in the environment where a batch system has begun
 * another one since, or where the user has named another. */
void job_forget_outer(struct context *ctx);
/* The same whatever it is: it is over. */
void job_forget_inherited(struct context *ctx);
/* Directory that `run` or `source` left in the environment; NULL when there is none or --job names
 * another job. */
const char *job_inherited_dir(const struct context *ctx);
/* Layout that this name of the program uses. */
const struct job_layout *job_layout(const struct context *ctx);
/* Opens the directory of the job that we are in, which must exist; says what is wrong. Outside of
 * any: the last one of this session, or, only to look at, of anybody. */
int job_open_current(struct context *ctx, struct jobdir *j, bool look);
/* Directory, archive or metadata file argument: true when it looks like a path. */
bool looks_like_path(const char *s);

/* The name that the batch system has for this job; NULL: none. */
const char *batch_job_name(void);
/* Metadata for a job that begins now. name may be NULL. */
struct value *new_metadata(struct context *ctx, const struct jobdir *j, const char *name);
/* Joins a job that is there: job tags that are configured are added to its own, and a name (of an
 * option; NULL: none) that is not the job's is told. */
void job_join(struct context *ctx, const struct jobdir *j, const char *name);
/* Says it once where a job of several hosts is kept on the disk of each. */
void warn_of_own_disk(const struct jobdir *j);
/* Opens the directory of the job that we are in, making it and an id where needed. */
int job_open_or_make(struct context *ctx, const char *dir, struct jobdir *j,
		     enum job_origin *origin);

#endif
