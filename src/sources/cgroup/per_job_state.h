/*
 * Shared by the sources of all jobs of a node. struct per_job_state is what a source has for each
 * job, in the order of the list of jobs: an element is added for a new job and released when the
 * job is no longer listed.
 */
#pragma once

#include "jobs/discovery/cgroup_jobs.h"
#include "sources/source.h"

struct per_job_state {
	size_t size;                    /* of an element, which starts with the number of its job */
	void (*release)(void *element); /* NULL: there is nothing to release */
	char *list;
	size_t count, cap;
};

/* Updates the elements: the i-th is that of the i-th job; new ones are zero except for their
 * number. Elements may move. */
void per_job_state_update(struct per_job_state *f, struct cgroup_jobs *jobs);
void per_job_state_release(struct per_job_state *f);

static inline void *per_job_state_at(const struct per_job_state *f, size_t i)
{
	return f->list + i * f->size;
}

/* Are there jobs here? */
int jobs_probe(const struct source_context *ctx, struct source_report *report);
/* Adds the entity of a job with its metadata. */
uint32_t jobs_entity(struct sample_set *set, const struct job *job);
/* Is the owner known by name? Until then the metadata are sent again. */
bool jobs_owner_is_known(const struct job *job);
