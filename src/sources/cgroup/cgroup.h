/* The control group that a process is in: CPU used, memory limit and kills, version 1 or 2. */
#ifndef PL_SOURCES_CGROUP_CGROUP_H
#define PL_SOURCES_CGROUP_CGROUP_H

#include <stdint.h>

#include "core/strbuf.h"
#include "sources/source.h"

/* Path of the group that keeps this process's CPU account, below the mount of its hierarchy. False
 * when there is none, or it is the root group of the whole machine. root: where /proc and /sys are
 * looked for, "" normally. */
bool cgroup_cpu_path(const char *root, struct strbuf *ret);
/* CPU used so far by such a group, in microseconds. */
bool cgroup_cpu_us(const char *path, uint64_t *ret);
/* What limits the memory of this process: the smallest limit of its group and of those above. */
struct cgroup_memory {
	uint64_t limit;     /* bytes; 0: none, or not known */
	uint64_t oom_kills; /* so far, of these groups */
	bool counted;       /* oom_kills is known */
};
void cgroup_memory_read(const char *root, struct cgroup_memory *ret);
/* Whether our own group's account can be read; with a job to watch, whether it has a group. */
int cgroup_probe(const struct source_context *ctx, struct source_report *report);

#endif
