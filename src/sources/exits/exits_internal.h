/* Shared by the files exits*.c; see exits.h. All but the lock itself is used under the lock. */
#pragma once

#include <pthread.h>

#include "core/system/process_table.h"
#include "sources/exits/cnproc.h"
#include "sources/exits/exits.h"
#include "sources/exits/exits_bpf.h"
#include "sources/exits/taskstats.h"

/* A process that belongs to a job, until it ends. If records do not name the process of a thread
 * (before version 12), threads are in the table too. */
struct known {
	int pid;
	uint32_t slot;
	uint32_t pass; /* the last scan that saw it */
	bool thread;
	bool leader_ended; /* its first thread has ended, others live */
	bool ending;       /* it has ended, but records may still arrive */
	bool looked_up;    /* found by its groups, not by its parent */
	uint64_t begin_ns; /* boot time; in ticks if it was found alive */
};

/* ---- exits.c -------------------------------------------------------------------------------- */

#define SLOT_NONE UINT32_MAX

/* A job. */
struct exits_slot {
	uint64_t number; /* 0: free */
	struct exit_sums sums;
	uint64_t next_scan_ns, scan_period_ns;
	bool peopled;       /* a process was seen in it */
	uint64_t groups[2]; /* its control groups of version 2; 0: none */
};

/* What BPF reported about a task that ended. */
struct bpf_report {
	int tid;
	uint32_t slot;
	uint64_t time_ns;
};
#define REPORTS_SIZE 4096 /* a power of two, and more than the ring holds */

/* A process that has ended; sorted by time. */
struct ending {
	int pid;
	uint64_t begin_ns, since_ns;
};

/* A task that is included in the sums. */
struct ended_task {
	int tid;
	uint64_t time_ns; /* when it was added */
};

#define ASKED_SIZE 256 /* a power of two */

struct exits {
	struct cgroup_jobs *jobs;
	struct taskstats_listener taskstats;
	struct cnproc cnproc;
	bool by_thread;             /* records do not name the process */
	struct process_table known; /* of struct known */
	struct exits_slot *slots;
	size_t slot_count, slot_cap;
	struct exit_sums nobody;
	struct exits_losses losses;
	struct task_exit *records; /* received, not yet added to the sums */
	size_t record_count, record_cap;
	struct ending *endings; /* a queue */
	size_t ending_first, ending_count, ending_cap;
	struct ended_task *ended; /* in the last seconds, while living tasks are asked for */
	size_t ended_count, ended_cap;
	unsigned ended_users;
	struct {
		int pid;
		uint64_t time_ns;
	} asked[ASKED_SIZE];        /* processes that recently had no job */
	bool version2;              /* there was a job with groups of version 2 */
	struct exits_bpf *bpf;      /* NULL: none */
	struct bpf_report *reports; /* by the low bits of the thread id */
	struct hash_map groups;     /* slots of jobs by their groups */
	bool groups_changed;
	bool lost; /* since the last scan of all groups */
	uint64_t next_rescan_ns;
	uint32_t pass;
	uint64_t now_ns; /* of this round */
	/* the thread and the lock */
	pthread_t thread;
	int wake; /* an eventfd */
	_Atomic bool quit;
	pthread_mutex_t gate, lock;
	_Atomic(pthread_t) owner; /* 0: nobody */
	unsigned depth;
};

uint32_t exits_slot_of(const struct exits *e, uint64_t number);
/* The same, added if it is new. */
uint32_t exits_slot_for(struct exits *e, const struct job *job);

/* ---- exits_account.c ------------------------------------------------------------------------ */

void exit_sums_add_task(struct exit_sums *s, const struct task_exit *x);
void exits_on_event(void *user, const struct cnproc_event *event);
void exits_account(struct exits *e, const struct task_exit *x);
/* A process has ended: it is removed after its last records had time to arrive. */
void exits_ending(struct exits *e, struct known *k);
void exits_remove_ended(struct exits *e);

/* ---- exits_scan.c --------------------------------------------------------------------------- */

/* The slot of the job of a process by its groups; SLOT_NONE: none. */
uint32_t exits_ask(struct exits *e, int pid);
/* Adds a process of a job that was not found by its parent. */
void exits_admit(struct exits *e, int pid, uint32_t slot);
/* Scans the groups of a job. */
void exits_scan(struct exits *e, uint32_t slot);
/* Scans all jobs after a loss and removes processes that have ended. */
void exits_rescan(struct exits *e);
/* Scans the jobs that are due; returns when to scan again. */
uint64_t exits_scan_due(struct exits *e);

/* ---- exits_bpf_match.c ---------------------------------------------------------------------- */

/* Reads what BPF reports about the received records; behind: there are more records. */
void exits_read_bpf(struct exits *e, bool behind);
/* The slot of the job that a task ended in; SLOT_NONE: none or unknown. */
uint32_t exits_bpf_match(struct exits *e, int tid);

/* ---- exits_living.c ------------------------------------------------------------------------- */

/* Removes tasks that ended more than a few seconds ago. */
void exits_forget_ended(struct exits *e);
