/*
 * The hosts of a job when one command runs on each of them: their names, the name of this host
 * among them, and the host that merges the results.
 */
#pragma once

#include "core/strbuf.h"
#include "jobs/scheduler.h"

struct job_hosts {
	char *self;
	char **names; /* all, this one included; none if only their number is known */
	size_t name_count;
	size_t expected; /* how many, at least 1 */
	bool first;      /* this host merges the results */
};

/* By the variables of launcher and batch system; only this host if there are none. hostname: the
 * name that this host has for itself. */
void job_hosts_find(struct job_hosts *p, scheduler_getenv get, const char *hostname);
/* Our rank and the number of ranks, if an MPI launcher started us; false otherwise. */
bool launcher_rank(scheduler_getenv get, uint64_t *ret_rank, uint64_t *ret_size);
void job_hosts_release(struct job_hosts *p);
