/*
 * Who started us: batch systems as rows of a table, and the job id that each leaves in the
 * environment. Outside of all of them a job gets an id of our own.
 */
#ifndef PL_JOBS_SCHEDULER_H
#define PL_JOBS_SCHEDULER_H

#include "core/value.h"

struct scheduler_fact {
	const char *key, *variable;
};

struct scheduler {
	const char *name;
	const char *id[3];   /* variables that may hold the job id, best first */
	const char *jobname; /* variable with the job's name */
	struct scheduler_fact facts[14];
	const char *daemons[4]; /* its programs that are above those of a job */
};

extern const struct scheduler schedulers[];

/* How variables are looked up: getenv, or a test's own. */
typedef const char *(*scheduler_getenv)(const char *name);

/* The batch system we run under and its job id; NULL outside of any. Where a job of one was begun
 * inside of another's, the variables of both are there: the one whose program is nearest above us
 * counts. */
const struct scheduler *scheduler_find(scheduler_getenv get, const char **ret_id);
/* What else it says: array, step, queue, nodes ... as a dict. */
struct value *scheduler_facts(const struct scheduler *s, scheduler_getenv get);

/* Its id where the variable alone does not tell jobs apart: elements of an array that share one,
 * parts of a heterogeneous job. Freed by the caller. */
char *scheduler_job_id(const struct scheduler *s, scheduler_getenv get, const char *id);
/* "slurm:100@cluster" or "-": the job that we are in, for those that inherit our environment. Freed
 * by the caller. */
char *scheduler_context(scheduler_getenv get);
/* Do two of them mean the same job? A cluster that is not named may be any. */
bool scheduler_same_context(const char *a, const char *b);

/* Job ids become names of directories: no slash, no dot file, at most 128 printable characters. */
bool job_id_valid(const char *id);
/* "20261115T041500-host-4711", in UTC: sorts by time, unique on its host. Freed by the caller. */
char *job_id_make(void);

#endif
