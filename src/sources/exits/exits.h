/*
 * Exit accounting: the kernel's exit records (taskstats) of all tasks of a node, attributed to
 * jobs. The job of a task is found by the control group it ended in (exits_bpf.h, version 2), by
 * its parent (a child inherits the job of its parent: cn_proc), or by the control groups at the
 * last scan; tasks without a job are counted separately. A separate thread receives, so that bursts
 * are not lost; losses that the kernel reports are counted.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "jobs/discovery/cgroup_jobs.h"

/* Sums over tasks that ended. */
struct exit_sums {
#define TASK_SUM(member, field, unit, help) uint64_t member;
#include "sources/exits/task_fields.def"
#undef TASK_SUM
	uint64_t tasks, processes;  /* tasks are threads; a process ends with its last one */
	uint64_t failed, signalled; /* processes that ended with a status, by a signal */
	uint64_t rss_peak, vm_peak; /* bytes, largest of one process */
	uint64_t begin_s, etime_us; /* earliest start since 1970, longest life */
};

struct exits;
struct exits_bpf;

struct exits_options {
	struct cgroup_jobs *jobs; /* used under exits_lock(): the list may change in between */
	size_t buffer;            /* of the netlink sockets; 0: 16 MiB */
	struct exits_bpf *bpf;    /* owned from now on, even on failure; NULL: none */
};

/* Negative errno with the reason: there are no exit records then, but the node works without. */
int exits_open(struct exits **ret, const struct exits_options *o, struct strbuf *why);
void exits_close(struct exits *e);

/* The list of jobs may change only between these two, because the receiving thread reads it. */
void exits_lock(struct exits *e);
void exits_unlock(struct exits *e);
/* Registers a new job: its processes are looked up now, and their children will inherit it. Under
 * the lock. */
void exits_adopt(struct exits *e, const struct job *job);
/* Sums of the ended tasks of a job, and of tasks without a job; false: the job is unknown. */
bool exits_of(struct exits *e, uint64_t job_number, struct exit_sums *ret);
void exits_unattributed(struct exits *e, struct exit_sums *ret);
/* Handles all that the kernel has reported so far, so that the sums are up to date. */
void exits_sync(struct exits *e);
/* Forgets a job that ended. */
void exits_drop(struct exits *e, uint64_t job_number);

struct exits_losses {
	uint64_t taskstats, cnproc; /* times that the kernel reported drops */
	uint64_t records;           /* exit records received */
	/* tasks of jobs, recognised by the group they ended in, by their parent, by a scan of
	 * groups */
	uint64_t by_bpf, by_lineage, by_groups;
	bool lineage;     /* cn_proc is available */
	bool bpf;         /* BPF reports groups */
	uint64_t alive;   /* known processes of jobs */
	uint64_t rescans; /* scans of all groups after a loss */
};
void exits_losses(struct exits *e, struct exits_losses *ret);

/* ---- living tasks --------------------------------------------------------------------------- */

/* Asks the kernel about each living thread, at about 5 us each. */
struct exits_living;
int exits_living_open(struct exits_living **ret, struct exits *e, struct strbuf *why);
void exits_living_close(struct exits_living *l);
/* Sums of the ended and the living tasks of a job, without counting a task twice. *ret_alive: how
 * many are alive. 0, or -ENOENT: the job is unknown. */
int exits_living_of(struct exits_living *l, uint64_t job_number, struct exit_sums *ret,
		    uint64_t *ret_alive);
