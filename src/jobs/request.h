/*
 * What a batch job asked for: cores, tasks, hosts, memory, time, GPUs. The environment of the job
 * tells some of it, the batch system's own command the rest.
 */
#pragma once

#include "core/value.h"
#include "jobs/scheduler.h"

enum request_item {
	REQUEST_CORES, /* of all hosts */
	REQUEST_TASKS,
	REQUEST_NODES,
	REQUEST_MEMORY, /* bytes per host */
	REQUEST_TIME,   /* seconds */
	REQUEST_GPUS,   /* of all hosts */
	REQUEST_ITEMS
};
extern const char *const request_names[REQUEST_ITEMS];

struct job_request {
	int64_t item[REQUEST_ITEMS]; /* -1: not known */
	int64_t ran_before; /* s that the batch job ran before its recording began; -1: not known */
};
#define REQUEST_UNKNOWN                      \
	{                                    \
		{-1, -1, -1, -1, -1, -1}, -1 \
	}

/* Looks up a variable of a job's environment. */
typedef const char *(*request_lookup)(const void *user, const char *name);

/* By the variables that batch systems set in a job. Items that are known already stay. */
void request_from_environment(request_lookup get, const void *user, struct job_request *r);
/* CPUs that the batch system granted on one host of the job, which hosts need not share evenly;
 * -1: not known. */
int64_t request_host_cores(request_lookup get, const void *user, const char *host);
/* By the output of `scontrol show job ID`, and of `qstat -f ID`. Items that are known stay. */
void request_from_scontrol(const char *text, struct job_request *r);
void request_from_qstat(const char *text, struct job_request *r);

/*
 * The request of the batch job that we are in, as a dict of the known items; NULL: there is none.
 * Asks the batch system's command, which blocks for a second at most: once per job, never on each
 * host. ask: false looks at the environment only.
 */
struct value *request_metadata(bool ask);
/* The reverse, for readers of stored metadata; not a dict: all unknown. */
void request_from_metadata(const struct value *dict, struct job_request *ret);
