/* CPU time, memory limit and OOM kills of the control group that we are in, version 1 or 2. */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "sources/source.h"

/* The file with the CPU time of the group of this process. False: there is none, or it is in the
 * root group. root: prefix of /proc and /sys, normally "". */
bool cgroup_cpu_path(const char *root, struct strbuf *ret);
/* CPU time that such a group has used so far, in microseconds. */
bool cgroup_cpu_us(const char *path, uint64_t *ret);
/* The memory limit of this process: the smallest of its group and the groups above. */
struct cgroup_memory {
	uint64_t limit;     /* bytes; 0: none, or not known */
	uint64_t oom_kills; /* in these groups so far */
	bool counted;       /* oom_kills is known */
};
void cgroup_memory_read(const char *root, struct cgroup_memory *ret);
/* Can the CPU time of our group be read? With a job to watch: does it have a group? */
int cgroup_probe(const struct source_context *ctx, struct source_report *report);
