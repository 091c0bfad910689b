/* CPU time and limits of the control group that we are in, version 1 or 2. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"
#include "sources/source.h"

/* The file with the CPU time of the group of this process. False: there is none, or it is in the
 * root group. root: prefix of /proc and /sys, normally "". */
bool cgroup_cpu_path(const char *root, struct strbuf *ret);
/* CPU time that such a group has used so far, in microseconds. */
bool cgroup_cpu_us(const char *path, uint64_t *ret);
/* The limits of this process: the smallest of its group and the groups above, and what they did. */
struct cgroup_limits {
	uint64_t memory;       /* bytes; 0: none, or not known */
	uint64_t oom_kills;    /* in these groups so far */
	double quota;          /* CPUs; 0: none, or not known */
	uint64_t throttled_us; /* time that a quota stopped tasks, summed over CPUs, so far */
	uint64_t refaults;     /* pages of files read again because of the memory limit, so far */
	bool kills_counted, throttling_counted, refaults_counted;
};
void cgroup_limits_read(const char *root, struct cgroup_limits *ret);
/* The groups of another process, a text as /proc has it, if they are neither those of this one nor
 * those that *ret has already; false: *ret is as it was. Of a process that has ended they are not
 * known. */
bool cgroup_groups_other(const char *root, pid_t pid, struct strbuf *ret);
/* The limits of such groups. */
void cgroup_limits_of(const char *root, const char *groups, struct cgroup_limits *ret);
/* Turns the counts into those since an earlier reading. */
void cgroup_limits_since(const struct cgroup_limits *before, struct cgroup_limits *now);
/* Can the CPU time of our group be read? With a job to watch: does it have a group? */
int cgroup_probe(const struct source_context *ctx, struct source_report *report);
