/*
 * The batch system that we run under: a table of batch systems and the variables in which they pass
 * the job id. Outside a batch system we make up a job id.
 */
#pragma once

#include "core/value.h"

struct scheduler_variable {
	const char *key, *variable;
};

struct scheduler {
	const char *name;
	const char *id[3];   /* variables that may hold the job id, best first */
	const char *jobname; /* variable with the job's name */
	struct scheduler_variable metadata[14];
	const char *daemons[4]; /* its programs, ancestors of the processes of a job */
};

extern const struct scheduler schedulers[];

/* Looks up a variable: env_lookup(), or a function of a test. */
typedef const char *(*scheduler_getenv)(const char *name);

/* The batch system we run under and its job id; NULL: none. If a job of one was started inside a
 * job of another, both set variables: the one whose program is our nearest ancestor counts. */
const struct scheduler *scheduler_find(scheduler_getenv get, const char **ret_id);
/* Its other variables as a dict: array, step, queue, nodes ... */
struct value *scheduler_metadata(const struct scheduler *s, scheduler_getenv get);

/* The job id; distinguishes elements of an array that share the variable, and joins parts of a
 * heterogeneous job. Freed by the caller. */
char *scheduler_job_id(const struct scheduler *s, scheduler_getenv get, const char *id);
/* The job that we are in, "slurm:100@cluster" or "-", for processes that inherit our environment.
 * Freed by the caller. */
char *scheduler_context(scheduler_getenv get);
/* Are two of them the same job? A missing cluster matches any. */
bool scheduler_same_context(const char *a, const char *b);

/* Job ids become directory names: no slash, no leading dot, at most 128 printable characters. */
bool job_id_valid(const char *id);
/* "20261115T041500-host-4711", in UTC: sorts by time, unique on its host. Freed by the caller. */
char *job_id_make(void);
