/*
 * The hosts that take part when one command runs on every node of a job: what this one is called
 * among them, which there are, and which of them puts the results together.
 */
#ifndef PL_JOBS_JOB_HOSTS_H
#define PL_JOBS_JOB_HOSTS_H

#include "core/strbuf.h"
#include "jobs/scheduler.h"

struct job_hosts {
	char *self;
	char **names; /* all of them, this one included; none when only their number is known */
	size_t name_count;
	size_t expected; /* how many, at least 1 */
	bool first;      /* this one puts the results together */
};

/* By the launcher's and the batch system's variables; alone where there are none. hostname: what
 * this host calls itself. */
void job_hosts_find(struct job_hosts *p, scheduler_getenv get, const char *hostname);
/* The rank and the number of ranks that a launcher of MPI started us with; false: none did. */
bool launcher_rank(scheduler_getenv get, uint64_t *ret_rank, uint64_t *ret_size);
void job_hosts_release(struct job_hosts *p);

#endif
