/*
 * Shared by the files of the source `process`: the processes of a job (members) and the accounting
 * of what they used.
 *
 * The counters of a job must neither lose what ended processes used nor count it twice. The kernel
 * helps: when a process is waited for, its CPU time and page faults, and those of the children that
 * it waited for, are added to cutime, cstime, cminflt and cmajflt of its parent, and its I/O to
 * /proc/PID/io of its parent. So
 *
 *	total = what living processes show, their own and that of their children, and
 *		what ended processes used from which nobody in the job inherits
 *
 * and even a process that lived only between two readings is included, through its parent, without
 * any privilege. Nobody inherits from processes that are waited for outside the job, or not at all
 * (SIGCHLD ignored): then the last reading stays in the total, or for root the kernel's exit
 *record. A parent has inherited if its own counters have grown by that much. Time on the run queue
 *and the number of time slices are never inherited.
 */
#pragma once

#include <stdint.h>

#include "core/system/procparse.h"
#include "jobs/discovery/job_processes.h"
#include "sources/exits/taskstats.h"
#include "sources/process/procdir.h"
#include "sources/process/thread_counters.h"

#define PROCESS_COLUMNS_MAX 32

/* The counters of the accounting. */
enum usage {
	USAGE_USER, /* microseconds */
	USAGE_SYSTEM,
	USAGE_MINFLT,
	USAGE_MAJFLT,
	USAGE_KIDS_END, /* those above are separate for children: c* in stat */
	USAGE_IO = USAGE_KIDS_END,
	USAGE_INHERITED_END = USAGE_IO + 7, /* in the order of proc_io_names */
	USAGE_ONCPU = USAGE_INHERITED_END,  /* nanoseconds */
	USAGE_WAITING,
	USAGE_SLICES,
	USAGE_BLKIO, /* microseconds */
	USAGE_END
};

enum member_state {
	MEMBER_LIVE,
	MEMBER_LATE, /* ended during this reading: the next one shows who inherited */
	MEMBER_GONE, /* ended before this reading */
};

/* CPU time as last reported. */
struct cpu_split {
	uint64_t user_us, system_us;
};

/* A process, until its usage is settled. */
struct member {
	int pid, ppid, rank;
	uint64_t starttime; /* 0: known only from its exit record */
	uint64_t job;       /* as struct job_process has it */
	enum member_state state;
	bool listed; /* in the list of the job */
	bool known;  /* read at least once */
	unsigned read_pass;

	/* files; see process_read.c */
	int stat_fd, io_fd, sched_fd;
	int io_error, sched_error;       /* permanent: not tried again */
	struct thread_counters *threads; /* NULL while it has one */

	/* the last reading */
	uint64_t time_ns, cpu_ns; /* its time, and all CPU time until then */
	bool cpu_exact;           /* cpu_ns is exact, not a number of ticks */
	bool quiet;               /* it did not run between the last two readings */
	bool had_threads;         /* had more than one at some time */
	bool clock_known;         /* clock_ns was read just before the last reading */
	uint64_t clock_ns;
	uint64_t own[USAGE_END];              /* I/O as in the file, with that of its children */
	uint64_t kids[USAGE_KIDS_END];        /* of its children, since we watch */
	uint64_t kids_before[USAGE_KIDS_END]; /* of its children, before we watched */
	uint64_t exits[USAGE_END];            /* exit records of its threads */
	uint64_t thread_count, rss, vms;

	/* inheritance; see process_members.c */
	uint64_t got[USAGE_INHERITED_END]; /* what it may have inherited in this reading */
	struct member *heir;               /* of an ended process; NULL: outside the job */
	bool sure;                         /* its heir has inherited by now, or never will */
	bool partial;                      /* own is what its heir, ended too, did not have */
	struct inheritance *claims;        /* on a living process; NULL: none in this reading */

	/* for its row */
	uint32_t entity;
	bool has_entity;
	int reported_rank;
	char comm[PROC_COMM_MAX + 1];
	size_t comm_len;
	uint64_t stack; /* address of its stack: changes at exec */
	struct cpu_split shown;
	uint64_t row_present;
	int64_t row[PROCESS_COLUMNS_MAX];
};

struct members {
	struct member **by_pid; /* sorted by pid, then start */
	struct member **by_age; /* parents before their children */
	size_t count, cap;
	unsigned pass;
	uint64_t since_ticks;                       /* since when we watch */
	uint64_t ended[USAGE_END];                  /* of ended processes without an heir */
	uint64_t unsure[USAGE_END];                 /* the same of late ones, in this reading */
	uint64_t total[USAGE_END];                  /* of the last reading: never falls */
	uint64_t started, ended_count, ended_shown; /* shown: with late ones, never falls */
	/* by its files: has a process that is not listed ended, and is there a process with this
	 * pid? */
	bool (*gone)(void *user, struct member *one);
	bool (*exists)(void *user, int pid);
	void (*forget)(void *user, struct member *one); /* closes its files */
	void *user;
};

/* ---- process_members.c ---------------------------------------------------------------------- */

void members_release(struct members *m);
/* Starts a reading with the living processes, sorted by pid. */
void members_sync(struct members *m, const struct job_process *list, size_t count);
/* The youngest process with this pid that started no later; NULL: none. */
struct member *members_find(const struct members *m, int pid, uint64_t starttime);
/* Adds a process known from its exit record; call members_sort() when all are added. */
struct member *members_add_exit(struct members *m, int pid, int ppid);
void members_sort(struct members *m);
/* Accounts for a reading of a member: its own counters and, as the kernel has them, those of its
 * children. */
void member_took(struct members *m, struct member *one, const uint64_t own[USAGE_END],
		 const uint64_t kids[USAGE_KIDS_END]);
/* The same if nothing has changed. */
void member_unchanged(struct members *m, struct member *one);
/* Settles the usage of ended members and computes m->total. */
void members_settle(struct members *m);

/* ---- process_read.c ------------------------------------------------------------------------- */

/* A reading of a process, besides the counters. */
struct reading {
	char text[2048]; /* of stat: comm points into it */
	struct proc_stat st;
	unsigned io_present; /* as proc_io has it */
	bool oncpu_known, sched_known, blkio_known;
	bool percent_known; /* there was a reading before */
	int64_t percent;    /* of a CPU since then, in hundredths */
};

struct process_reader {
	struct procdir dir;
	struct threadpace pace;
	uint64_t page_size;
	bool delays; /* the kernel accounts delays */
	unsigned cpus;
};

int process_reader_open(struct process_reader *r, const char *root, struct strbuf *why);
void process_reader_close(struct process_reader *r);
/* Reads a process and accounts for it; -ESRCH: it is gone, or another negative errno. */
int process_look(struct process_reader *r, struct members *m, struct member *one,
		 struct reading *ret);
/* Was it idle since the last reading? Then only others can have changed it: its memory may have
 * been reclaimed, which is checked from time to time. */
bool process_idle(struct process_reader *r, const struct members *m, struct member *one);
/* Has it ended? */
bool process_gone(struct process_reader *r, struct member *one);
bool process_exists(struct process_reader *r, int pid);
/* Closes its files. */
void process_forget(struct process_reader *r, struct member *one);
/* By how much exact CPU time exceeds its ticks, in us. */
uint64_t process_beyond_ticks(const struct member *one);
/*
 * CPU time in user mode and in the kernel, split as the kernel does it: in the ratio of their
 * ticks. Neither ever falls, so neither grows by more than their sum. Ticks alone have steps of 10
 * ms: at short periods user time would exceed the total. *shown is what was reported last.
 */
struct cpu_split process_split_cpu(struct cpu_split *shown, const uint64_t usage[USAGE_END],
				   uint64_t beyond_us);
/*
 * Hundredths of a percent of one CPU; false if the values make no sense. The kernel accounts the
 * time of a running task by ticks: a reading may include time from before, and then exceed what the
 * CPUs can give. That part is left for the next reading, in *late_ns.
 */
bool process_percent(uint64_t cpu_ns, uint64_t over_ns, unsigned cpus, uint64_t *late_ns,
		     int64_t *ret);

/* ---- process_exits.c ------------------------------------------------------------------------ */

/* Exit records of the kernel, for processes from which no parent in the job inherits. */
struct process_exits {
	struct taskstats_listener listener;
	struct exit_record *list; /* of processes that are not members, while draining */
	size_t count, cap;
	uint64_t lost;
	struct members *members;
};

/* Negative errno with the reason in *why if there are no exit records. */
int process_exits_open(struct process_exits *e, struct members *m, const char *root,
		       struct strbuf *why);
void process_exits_close(struct process_exits *e);
void process_exits_drain(struct process_exits *e);
/* Handles one record, for process_exits_drain(). */
void process_exits_take(struct process_exits *e, const struct task_exit *x);
/* Finds children of members among the records. */
void process_exits_settle(struct process_exits *e);
