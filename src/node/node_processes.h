/* The processes of all jobs of a node in one list, for sources that sample single processes. */
#pragma once

#include "jobs/discovery/cgroup_jobs.h"
#include "jobs/discovery/job_processes.h"

struct node_processes {
	struct job_processes watch; /* the list is filled here, not by a finder */
	struct job_process *before;
	size_t before_count, before_cap;
	unsigned updates;
	const char *root;
	const struct job *job; /* being examined */
};

/* Updates the list from the cgroups of the jobs. */
void node_processes_update(struct node_processes *p, struct cgroup_jobs *jobs);
void node_processes_release(struct node_processes *p);
