/* What the parts of exits*.c share; see exits.h. All but the lock itself is under the lock. */
#ifndef PL_SOURCES_EXITS_EXITS_INTERNAL_H
#define PL_SOURCES_EXITS_EXITS_INTERNAL_H

#include <pthread.h>

#include "sources/exits/cnproc.h"
#include "sources/exits/exits.h"
#include "sources/exits/exits_bpf.h"
#include "sources/exits/taskstats.h"

/* ---- exits_table.c: processes that are known to be of a job -----------------------------------
 */

/* One of them, forgotten when it ends. Where records do not tell the process of a thread (before
 * their version 12), threads are here too. */
struct known {
	int pid; /* 0: the place is free */
	uint32_t slot;
	uint32_t pass; /* the look through the groups that saw it last */
	bool thread;
	bool leader_ended; /* its first thread is gone, others live */
	bool ending;       /* it is gone, but for records that may be under way */
	bool looked_up;    /* known by its groups, not by its parent */
	uint64_t begin_ns; /* boot time; of one that was found living, in steps of a tick */
};

struct known_table {
	struct known *list;
	size_t size, used; /* size is a power of two */
};

struct known *known_find(const struct known_table *t, int pid);
/* The one of this number, made when it is new. Others may move. */
struct known *known_put(struct known_table *t, int pid, bool *ret_new);
void known_erase(struct known_table *t, struct known *k); /* others may move */
/* Gives room back after a storm; not while the list is gone through. */
void known_trim(struct known_table *t);
void known_release(struct known_table *t);

/* ---- exits.c ----------------------------------------------------------------------------------
 */

#define SLOT_NONE UINT32_MAX

/* A job. */
struct exits_slot {
	uint64_t number; /* 0: the place is free */
	struct exit_sums sums;
	uint64_t next_scan_ns, scan_period_ns;
	bool peopled;       /* a process was seen in it */
	uint64_t groups[2]; /* its control groups of version 2; 0: none */
};

/* What BPF told of a task that ended. */
struct told {
	int tid;
	uint32_t slot;
	uint64_t time_ns;
};
#define TOLD_SIZE 2048 /* a power of two */

/* A process that is gone, in the order of their ends. */
struct ending {
	int pid;
	uint64_t begin_ns, since_ns;
};

/* A task whose end is in the sums. */
struct ended_task {
	int tid;
	uint64_t time_ns; /* when it was booked */
};

#define ASKED_SIZE 256 /* a power of two */

struct exits {
	struct cgroup_jobs *jobs;
	struct taskstats_listener taskstats;
	struct cnproc cnproc;
	bool by_thread; /* records do not name the process */
	struct known_table known;
	struct exits_slot *slots;
	size_t slot_count, slot_cap;
	struct exit_sums nobody;
	struct exits_losses losses;
	struct task_exit *records; /* received and not yet booked */
	size_t record_count, record_cap;
	struct ending *endings; /* a queue */
	size_t ending_first, ending_count, ending_cap;
	struct ended_task *ended; /* of the last seconds, while there is someone who asks */
	size_t ended_count, ended_cap;
	unsigned ended_users;
	struct {
		int pid;
		uint64_t time_ns;
	} asked[ASKED_SIZE];   /* processes that were found to be of no job a moment ago */
	bool version2;         /* there was a job whose groups are of version 2 */
	struct exits_bpf *bpf; /* NULL: none */
	struct told *told;     /* by the last bits of the number */
	struct {
		uint64_t group; /* 0: the place is free */
		uint32_t slot;
	} * groups; /* of jobs */
	size_t group_size;
	bool groups_changed;
	bool lost; /* since the last look through all groups */
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
/* The same, made when it is new. */
uint32_t exits_slot_for(struct exits *e, const struct job *job);

/* ---- exits_account.c
 * -----------------------------------------------------------------------------
 */

void exit_sums_add_task(struct exit_sums *s, const struct task_exit *x);
void exits_on_event(void *user, const struct cnproc_event *event);
void exits_account(struct exits *e, const struct task_exit *x);
/* One that is gone: forgotten when its last records have had their time. */
void exits_ending(struct exits *e, struct known *k);
void exits_bury(struct exits *e);

/* ---- exits_scan.c -----------------------------------------------------------------------------
 */

/* The slot of the job that a process is in by its groups; SLOT_NONE. */
uint32_t exits_ask(struct exits *e, int pid);
/* A process of a job, known by other means than its parent. */
void exits_admit(struct exits *e, int pid, uint32_t slot);
/* Looks through the groups of a job. */
void exits_scan(struct exits *e, uint32_t slot);
/* All jobs, after a loss, and forgets those that are gone. */
void exits_rescan(struct exits *e);
/* Looks through those whose time has come; when to look again. */
uint64_t exits_scan_due(struct exits *e);

/* ---- exits_bpf_match.c
 * -----------------------------------------------------------------------------
 */

/* Takes in what BPF tells of the records that were received; behind: there are more of them. */
void exits_hear(struct exits *e, bool behind);
/* The slot of the job that a task ended in; SLOT_NONE: none, or nothing is known. */
uint32_t exits_bpf_match(struct exits *e, int tid);

/* ---- exits_living.c ---------------------------------------------------------------------------
 */

/* Those that ended more than some seconds ago. */
void exits_forget_ended(struct exits *e);

#endif
