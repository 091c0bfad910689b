/* Shared by the files of `plimsoll run`; see run.c. */
#pragma once

#include <sys/types.h>

#include "jobs/hardware/host_cpu.h"
#include "jobs/job_directory.h"
#include "records/accounting.h"
#include "run/run.h"
#include "run/supervisor.h"
#include "sampler/sidecar.h"
#include "sources/cgroup/cgroup.h"

/*
 * When memory runs out, the command must not suffer: before its start it is executed without
 * recording, later we only wait for it. The exit status is always the command's.
 */
struct run_guard {
	char **argv;
	pid_t command; /* 0 before it has started */
	int status;    /* its exit status; -1 before its end */
};

struct running {
	struct context *ctx;
	const struct run_options *o;
	char **argv;
	struct job_directory job;
	enum job_origin origin;
	bool began; /* this run created the job */
	struct run_file file;
	struct value *metadata;
	struct value *meta; /* of the job at its end, where they could not be written */
	struct value *warnings;
	struct strbuf cgroup;
	uint64_t cgroup_before_us;
	struct cgroup_limits limits; /* of our cgroup, before */
	struct strbuf joined_groups; /* of the command, if it joined others; as /proc has them */
	struct cgroup_limits joined; /* of those, when that was first seen; then since that */
	struct host_cpu host_cpu;    /* of the host, before */
	struct sidecar sidecar;      /* samples the command, if requested */
	struct run_guard guard;
};

/* Does this run print messages? */
bool run_is_talking(const struct running *r);
/* Stores a run that is a job by itself; a failure is reported and changes nothing else. With
 * --no-submit the job goes into a store in memory, for the findings. b: its accounting; may be
 * NULL. */
void run_submit_job(struct running *r, uint64_t running, struct accounting *b);

/* How often to open a job that others keep removing. */
#define JOB_TRIES 10
/* Checks that the library can be preloaded; logs the reason if not. 0 or a negative errno. */
int check_library(void);
/* 0, or the errno (positive) for a command that cannot be found or executed. */
int command_error(const char *file);
/* Logs the error; returns the exit status of a shell. */
int say_spawn_error(char *const *argv, int error);
/* Executes the command without recording; returns only on failure, with the exit status. */
int run_bare(char **argv);
void run_guard_memory(struct run_guard *g);
/* Shows what a run would do. */
int dry_run(struct context *ctx, const struct run_options *o, char **argv);

/* Our environment with these variables replaced; freed by free_strings(). */
char **merge_environment(char *const *ours);
/* Explains how to store a job that other runs may join. */
void say_how_to_submit(const struct job_directory *job, enum job_origin origin);
/* A launcher outside of a batch system starts separate runs: the first one explains how to make
 * them one job. */
void say_how_ranks_are_one(void);
/* Stores a job in the background when its last process has ended; false: cannot fork. */
bool store_when_ended(struct context *ctx, const struct job_directory *job);
/* Begin and end of the command by the wall clock, for the summary and the store.
 */
struct run_times {
	int64_t begin_us, end_us;
};
struct run_times run_times(const struct supervise_result *res, const struct accounting *b);
/* The signal that ends us, so that a parent sees how the command ended; 0: none. */
int run_ends_by(const struct context *ctx, const struct supervise_result *res);
/* The limits of our cgroups: "memory" with limit and oom_kills, "cpu" with quota_us (CPU time per
 * second), throttled_us, and CPU time of the whole host; what is not known is left out. */
void run_add_limits(struct value *metadata, const struct cgroup_limits *before,
		    const struct cgroup_limits *joined, const struct host_cpu *host_before);
/* The end of the job: that of its last run. */
int64_t run_job_end(const struct value *meta, const struct run_times *t);
