/*
 * The ends of all tasks of a node, exactly, by the kernel's exit records (taskstats), each booked
 * on the job it belonged to: by the group it ended in (exits_bpf.h, version 2), by lineage (a child
 * inherits its parent's job: cn_proc), by the control groups seen when processes were last looked
 * through, else on nobody, and that is counted.
 * A thread of its own receives, so that no burst is lost; losses that the kernel reports are
 * counted.
 */
#ifndef PL_SOURCES_EXITS_EXITS_H
#define PL_SOURCES_EXITS_EXITS_H

#include <stdint.h>

#include "core/strbuf.h"
#include "jobs/discovery/cgroup_jobs.h"

/* Sums over tasks that ended. Times in ns, memory in bytes. */
struct exit_sums {
	uint64_t tasks, processes;   /* tasks are threads; a process ends with its last one */
	uint64_t cpu_ns;             /* cpu_run_virtual_total */
	uint64_t user_us, system_us; /* by ticks */
	uint64_t cpu_count, cpu_delay_ns;
	uint64_t blkio_count, blkio_delay_ns, swapin_count, swapin_delay_ns;
	uint64_t freepages_count, freepages_delay_ns;
	uint64_t minor_faults, major_faults;
	uint64_t read_char, write_char, read_syscalls, write_syscalls; /* in steps of 1024 */
	uint64_t read_bytes, write_bytes, cancelled_write_bytes;
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t rss_peak, vm_peak;      /* largest of one process */
	uint64_t coremem, virtmem;       /* integrals, MiB x us */
	uint64_t begin_s, etime_us;      /* earliest start since 1970, longest life */
	uint64_t failed, signalled;      /* processes that ended with a status, by a signal */
	uint64_t cpu_real_ns, cpu_scaled_ns, user_scaled_us, system_scaled_us; /* by ticks */
};

struct exits;
struct exits_bpf;

struct exits_options {
	struct cgroup_jobs
		*jobs;         /* asked under exits_lock(): the list may change between two looks */
	size_t buffer;         /* of the netlink sockets; 0: 16 MiB */
	struct exits_bpf *bpf; /* is taken, also when it fails; NULL: without */
};

/* -EPERM and others with the reason: then there are no exit records, the rest of the node works. */
int exits_open(struct exits **ret, const struct exits_options *o, struct strbuf *why);
void exits_close(struct exits *e);

/* The list of jobs changes only between these two: the receiving thread looks at it. */
void exits_lock(struct exits *e);
void exits_unlock(struct exits *e);
/* A job is new: its processes are looked up now and become its lineage. Under the lock. */
void exits_adopt(struct exits *e, const struct job *job);
/* What ended of a job so far, and of nobody's; false: nothing is known of it. */
bool exits_of(struct exits *e, uint64_t job_number, struct exit_sums *ret);
void exits_unattributed(struct exits *e, struct exit_sums *ret);
/* Takes in all that the kernel has reported by now: what is asked for next is as of this moment. */
void exits_sync(struct exits *e);
/* Forgets a job that ended. */
void exits_drop(struct exits *e, uint64_t job_number);

struct exits_losses {
	uint64_t taskstats, cnproc; /* times that the kernel said it had to drop */
	uint64_t records;           /* exit records received */
	/* tasks that were of a job: by the group they ended in, by a fork, by their groups */
	uint64_t by_bpf, by_lineage, by_groups;
	bool lineage;     /* cn_proc is there */
	bool bpf;         /* groups are told by BPF */
	uint64_t alive;   /* processes of jobs that are known now */
	uint64_t rescans; /* times that /proc was looked through after a loss */
};
void exits_losses(struct exits *e, struct exits_losses *ret);

/* ---- living tasks -----------------------------------------------------------------------------
 */

/* Asks the kernel about each thread that lives, about 5 us each. */
struct exits_living;
int exits_living_open(struct exits_living **ret, struct exits *e, struct strbuf *why);
void exits_living_close(struct exits_living *l);
/* What ended of a job and what its living tasks used so far, no task twice, as of now. *ret_alive:
 * how many live. 0, or -ENOENT: nothing is known of the job. */
int exits_living_of(struct exits_living *l, uint64_t job_number, struct exit_sums *ret,
		    uint64_t *ret_alive);

#endif
