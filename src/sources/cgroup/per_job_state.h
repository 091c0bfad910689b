/*
 * What a source keeps of every job, in the order of the list of jobs: an element is made when a job
 * is new and released when it is gone from the list.
 */
#ifndef PL_SOURCES_CGROUP_PER_JOB_STATE_H
#define PL_SOURCES_CGROUP_PER_JOB_STATE_H

#include "jobs/discovery/cgroup_jobs.h"

struct per_job_state {
	size_t size;                    /* of an element, which begins with its job's number */
	void (*release)(void *element); /* NULL: there is nothing to release */
	char *list;
	size_t count, cap;
};

/* Elements as the jobs are now: new ones are zero but for their number. The one of the i-th job is
 * the i-th; they move when this is called. */
void per_job_state(struct per_job_state *f, struct cgroup_jobs *jobs);
void per_job_state_release(struct per_job_state *f);

static inline void *per_job_stateed(const struct per_job_state *f, size_t i)
{
	return f->list + i * f->size;
}

#endif
