/* The current job: its id, directory and initial metadata. */
#pragma once

#include "context/context.h"
#include "jobs/job_directory.h"

/* Origin of the setting `job` if the session is the job. */
#define SESSION_JOB "session id"
/* How the job id was found. */
enum job_origin { JOB_NAMED, JOB_SCHEDULER, JOB_SESSION, JOB_NONE };

/* The id of the current job: by name, batch system or session; NULL and JOB_NONE: none. Freed by
 * the caller. */
char *job_identify(struct context *ctx, enum job_origin *ret);
/* Ignores the job in the environment (from `run` or `source`) if a batch job has begun since, or
 * the user named another one. */
void job_forget_outer(struct context *ctx);
/* Ignores it in any case: it is over. */
void job_forget_inherited(struct context *ctx);
/* The job directory in the environment (from `run` or `source`); NULL: none, or --job names another
 * job. */
const char *job_inherited_dir(const struct context *ctx);
/* The layout of the personality. */
const struct job_layout *job_layout(const struct context *ctx);
/* Opens the directory of the current job, which must exist; logs errors. Without a current job: the
 * last one of this session, or (look: for reading) of any session. 0 or a negative errno. */
int job_open_current(struct context *ctx, struct job_directory *j, bool look);
/* Is an argument a path? */
bool looks_like_path(const char *s);

/* The batch system's name of the job; NULL: none. */
const char *batch_job_name(void);
/* Metadata of a job that begins now. name may be NULL. */
struct value *new_metadata(struct context *ctx, const struct job_directory *j, const char *name);
/* Adds what the batch job asked for as "request", if there is something. May block for a second:
 * only whoever created the job calls it. */
void add_request(const struct context *ctx, struct value *metadata);
/* Joins an existing job: adds configured job tags, and warns if name (NULL: none) is not the job's.
 */
void job_join(struct context *ctx, const struct job_directory *j, const char *name);
/* Warns once if a job of several hosts is on a local disk. */
void warn_of_own_disk(const struct job_directory *j);
/* Has the current job begun, so that job_open_or_make() would find it? */
bool job_is_begun(struct context *ctx, const char *dir);
/* Opens or creates the directory of the current job, with a new id if there is none; logs errors. 0
 * or a negative errno. */
int job_open_or_make(struct context *ctx, const char *dir, struct job_directory *j,
		     enum job_origin *origin);
