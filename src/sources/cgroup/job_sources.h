/* What the sources of all jobs of a node share. */
#ifndef PL_SOURCES_CGROUP_JOB_SOURCES_H
#define PL_SOURCES_CGROUP_JOB_SOURCES_H

#include "sources/source.h"

/* Are there jobs here? */
int jobs_probe(const struct source_context *ctx, struct source_report *report);
/* A new job's entity with its facts. */
uint32_t jobs_entity(struct sample_set *set, const struct job *job);
/* By name, which does not change: until then it is told again. */
bool jobs_owner_is_known(const struct job *job);

#endif
