/*
 * How batch systems and container engines name the control groups of their jobs. Patterns are paths
 * below the mount of a hierarchy: % is the job id, @ the node name, ~ the user, * any text; none of
 * them matches a slash.
 */
#pragma once

#include <stddef.h>

#include "core/util.h"

struct cgroup_pattern {
	const char *manager; /* as in scheduler.c */
	const char *pattern;
	bool word;      /* the id is a word ("12.server", a hash), not a number */
	bool container; /* matched only on request */
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
	MATCH_JOB,   /* it is the group of a job */
};

/* Matches a path below the mount ("oar/alice_12") with one row of the table. */
enum cgroup_pattern_match cgroup_pattern_match(const struct cgroup_pattern *g, const char *path,
					       struct span *ret_id, struct span *ret_user);

/* Does a part of a path match a part of a pattern, for this job on this node (NULL: on any)? */
bool cgroup_pattern_part(struct span pattern, struct span name, const char *job, const char *node);
/* How much of a path of /proc/PID/cgroup matches the whole pattern, so; 0: it does not. */
size_t cgroup_pattern_prefix(const char *pattern, const char *path, const char *job,
			     const char *node);
