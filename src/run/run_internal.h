/* Parts of `plimsoll run` that need no job; see run.c. */
#ifndef PL_RUN_RUN_INTERNAL_H
#define PL_RUN_RUN_INTERNAL_H

#include <sys/types.h>

#include "jobs/job_directory.h"
#include "records/accounting.h"
#include "run/run.h"
#include "run/supervisor.h"

/* How often a job is opened that others remove meanwhile. */
#define JOB_TRIES 10
/* Is the library there, and can it be preloaded? Says what is wrong. */
int check_library(void);
/* Can it be found and executed? 0 or an errno: what cannot be started is no job. */
int command_error(const char *file);
/* Says it; the status that a shell would have. */
int say_spawn_error(char *const *argv, int error);
/* The command as it would have run without us; returns where it cannot be executed. */
int run_bare(char **argv);
/*
 * When memory runs out, the command does not suffer: before its start it is executed bare, while it
 * runs we wait for it, and the status is always its own.
 */
struct run_guard {
	char **argv;
	pid_t command; /* 0 before it has started */
	int status;    /* its own, as a shell has it; -1 before its end */
};
void run_guard_memory(struct run_guard *g);
/* What would be done, without making anything. */
int dry_run(struct context *ctx, const struct run_options *o, char **argv);

/* The program's environment: ours, with these variables in place of older ones; freed by
 * free_strings(). */
char **merge_environment(char *const *ours);
/* Others may join a job that has an id of its own: it goes into the store when they say so. */
void say_how_to_submit(const struct jobdir *job, enum job_origin origin);
/* A launcher without a batch system starts runs that do not know of each other: the first of them
 * says so. */
void say_how_ranks_are_one(void);
/* Puts a job into the store when the last of its processes has ended, without anybody waiting for
 * that; false where it cannot be arranged. */
bool store_when_ended(struct context *ctx, const struct jobdir *job);
/* When the command ran, by the wall clock: what the summary shows and the store keeps is the same.
 */
struct run_times {
	int64_t begin_us, end_us;
};
struct run_times run_times(const struct supervise_result *res, const struct accounting *b);
/* A job of several runs ends with the last of them. */
int64_t run_job_end(const struct value *meta, const struct run_times *t);

#endif
