/* The processes of all jobs of a node as one list, for sources that look at each of them. */
#ifndef PL_NODE_NODE_PROCESSES_H
#define PL_NODE_NODE_PROCESSES_H

#include "jobs/discovery/cgroup_jobs.h"
#include "jobs/discovery/job_processes.h"

struct node_processes {
	struct job_processes watch; /* without a finder: the list is kept here */
	struct job_process *before;
	size_t before_count, before_cap;
	unsigned updates;
	const char *root;
	const struct job *job; /* being looked at */
};

/* Who is in the jobs' groups now. */
void node_processes_update(struct node_processes *p, struct cgroup_jobs *jobs);
void node_processes_release(struct node_processes *p);

#endif
