/*
 * What batch systems, and those of containers, call the control groups of their jobs. Patterns are
 * paths below the mount of a hierarchy, part by part: % is the job's id, @ the node's name, ~ the
 * user, * any text. None of them goes beyond a slash.
 */
#ifndef PL_JOBS_DISCOVERY_CGROUP_PATTERNS_H
#define PL_JOBS_DISCOVERY_CGROUP_PATTERNS_H

#include <stddef.h>

#include "core/util.h"

struct cgroup_pattern {
	const char *manager; /* as in scheduler.c */
	const char *pattern;
	bool word;      /* the id is a word ("12.server", a hash), not a number */
	bool container; /* found only where that is asked for */
};

extern const struct cgroup_pattern manager_groups[];
extern const size_t manager_group_count;

/* A part of a text, not terminated. */
struct span {
	const char *p;
	size_t n;
};

enum cgroup_pattern_match {
	MATCH_NONE,
	MATCH_ABOVE, /* jobs may be below it */
	MATCH_JOB,   /* it is a job's own */
};

/* What a path below the mount ("oar/alice_12") is by one row of the table. */
enum cgroup_pattern_match cgroup_pattern_match(const struct cgroup_pattern *g, const char *path,
					       struct span *ret_id, struct span *ret_user);

#endif
