/*
 * What the parts of the source `process` share: the processes of a job as it knows them (members),
 * and the account of what they used.
 *
 * The job's counters must neither lose what ended processes used nor count it twice. The kernel
 * helps: when a process is waited for, its CPU time and page faults, and those of the children that
 * it waited for itself, join its parent's cutime, cstime, cminflt and cmajflt, and its I/O joins
 * its parent's /proc/PID/io. So
 *
 *	total = what the living show, their own and of their children, and
 *		what those left behind that nobody in the job inherits from
 *
 * and even a process that came and went between two readings is there, through its parent, without
 * any privilege. Not inherited is what is waited for outside of the job, and what nobody waits for
 * (SIGCHLD ignored): then the last reading stays in the total, and for root the kernel's exit
 * record. Whether a parent inherited is seen from its own counters, which must have grown by that
 * much. Time on the run queue and the number of slices are inherited by nobody.
 */
#ifndef PL_SOURCES_PROCESS_PROCESS_H
#define PL_SOURCES_PROCESS_PROCESS_H

#include <stdint.h>

#include "core/system/procparse.h"
#include "jobs/discovery/job_processes.h"
#include "sources/exits/taskstats.h"
#include "sources/process/procdir.h"
#include "sources/process/thread_counters.h"

#define PROCESS_COLUMNS_MAX 32

/* What is accounted for. */
enum usage {
	USAGE_USER, /* microseconds */
	USAGE_SYSTEM,
	USAGE_MINFLT,
	USAGE_MAJFLT,
	USAGE_KIDS_END, /* the ones above are separate for children: c* in stat */
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
	MEMBER_LATE, /* found gone while this reading was taken: who inherited shows at the next */
	MEMBER_GONE, /* was gone before this reading began */
};

/* CPU time as it was shown last. */
struct cpu_split {
	uint64_t user_us, system_us;
};

/* A process as long as its account is open. */
struct member {
	int pid, ppid, rank;
	uint64_t starttime; /* 0: known from its exit record alone */
	uint64_t job;       /* as struct job_process has it */
	enum member_state state;
	bool listed; /* in the list of the watch */
	bool known;  /* read at least once */
	unsigned read_pass;

	/* files; see process_read.c */
	int stat_fd, io_fd, sched_fd;
	int io_error, sched_error;       /* what does not change: not asked again */
	struct thread_counters *threads; /* NULL while it has one */

	/* what the last reading gave */
	uint64_t time_ns, cpu_ns; /* when, and all CPU time by then */
	bool cpu_exact;           /* cpu_ns is no count of ticks */
	bool quiet;               /* it did not run between the last two readings */
	bool had_threads;         /* more than one at some time */
	bool clock_known;         /* clock_ns was taken just before the last reading */
	uint64_t clock_ns;
	uint64_t own[USAGE_END];       /* I/O as the file has it, with that of its children */
	uint64_t kids[USAGE_KIDS_END]; /* of its children, since we watch */
	uint64_t kids_before[USAGE_KIDS_END]; /* what it had of children before we came */
	uint64_t exits[USAGE_END];            /* exit records of its threads */
	uint64_t thread_count, rss, vms;

	/* inheritance; see process_members.c */
	uint64_t got[USAGE_INHERITED_END]; /* what it may have inherited in this reading */
	struct member *heir;               /* of one that is gone; NULL: outside of the job */
	bool sure;                         /* its heir inherited by now, or never will */
	bool partial;                      /* own is what its heir, gone too, did not have */
	struct inheritance *claims;        /* on one that lives; NULL: none in this reading */

	/* for its row */
	uint32_t entity;
	bool has_entity;
	int told_rank;
	char comm[PROC_COMM_MAX + 1];
	size_t comm_len;
	uint64_t stack; /* where its stack starts: another one after exec */
	struct cpu_split shown;
	uint64_t row_present;
	int64_t row[PROCESS_COLUMNS_MAX];
};

struct members {
	struct member **by_pid; /* sorted by pid, then start */
	struct member **by_age; /* parents before their children */
	size_t count, cap;
	unsigned pass;
	uint64_t since_ticks;                       /* we watch since */
	uint64_t ended[USAGE_END];                  /* left behind and inherited by nobody */
	uint64_t unsure[USAGE_END];                 /* left behind by late ones, in this reading */
	uint64_t total[USAGE_END];                  /* of the last reading: never falls */
	uint64_t started, ended_count, ended_shown; /* shown: late ones too, never falls */
	/* what only the files can tell: whether one that is not listed has ended, and whether a
	 * process of this number is there at all */
	bool (*gone)(void *user, struct member *one);
	bool (*exists)(void *user, int pid);
	void (*forget)(void *user, struct member *one); /* closes its files */
	void *user;
};

/* ---- process_members.c ------------------------------------------------------------------------
 */

void members_release(struct members *m);
/* Begins a reading with who is alive now, sorted by pid. */
void members_sync(struct members *m, const struct job_process *list, size_t count);
/* The youngest of this number that began no later; NULL when there is none. */
struct member *members_find(const struct members *m, int pid, uint64_t starttime);
/* One that is known from its exit record; members_sort() follows when all are added. */
struct member *members_add_exit(struct members *m, int pid, int ppid);
void members_sort(struct members *m);
/* Books a reading of a member: its own counters, and those of its children as the kernel has them.
 */
void member_took(struct members *m, struct member *one, const uint64_t own[USAGE_END],
		 const uint64_t kids[USAGE_KIDS_END]);
/* Books a reading that would show nothing new. */
void member_unchanged(struct members *m, struct member *one);
/* Settles the accounts of those that ended, and makes m->total. */
void members_settle(struct members *m);

/* ---- process_read.c ---------------------------------------------------------------------------
 */

/* What a look at a process shows, beside what is in the account. */
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
/* 0 and the reading is booked, -ESRCH when it is gone, else what stands against it. */
int process_look(struct process_reader *r, struct members *m, struct member *one,
		 struct reading *ret);
/* Did it not run at all since the last reading? Then nothing of it has changed but what others can
 * do to it: its memory can be taken away, which is looked at now and then. */
bool process_idle(struct process_reader *r, const struct members *m, struct member *one);
/* Has it ended? */
bool process_gone(struct process_reader *r, struct member *one);
bool process_exists(struct process_reader *r, int pid);
/* Closes its files. */
void process_forget(struct process_reader *r, struct member *one);
/* What exact CPU time is more than its ticks tell, us. */
uint64_t process_beyond_ticks(const struct member *one);
/*
 * CPU time in user mode and in the kernel, as the kernel divides it: in the ratio of their ticks,
 * and neither ever falls, so that neither grows by more than both. Ticks alone are steps of 10 ms:
 * at short periods user time would be above the whole. *shown is what was given last.
 */
struct cpu_split process_split_cpu(struct cpu_split *shown, const uint64_t usage[USAGE_END],
				   uint64_t beyond_us);
/*
 * Hundredths of a per cent of one CPU; false when that makes no sense. The kernel books the time of
 * a task that runs by the tick: what a reading has of it may be some of the time before, and is
 * then more than so many CPUs can give. That part is left for the next, in *late_ns.
 */
bool process_percent(uint64_t cpu_ns, uint64_t over_ns, unsigned cpus, uint64_t *late_ns,
		     int64_t *ret);

/* ---- process_exits.c --------------------------------------------------------------------------
 */

/* Exit records of the kernel, for what no parent in the job inherits. */
struct process_exits {
	struct taskstats_listener listener;
	struct exit_record *list; /* of processes that are not members, while draining */
	size_t count, cap;
	uint64_t lost;
	struct members *members;
};

/* Negative errno with the reason in *why when there will be none. */
int process_exits_open(struct process_exits *e, struct members *m, const char *root,
		       struct strbuf *why);
void process_exits_close(struct process_exits *e);
void process_exits_drain(struct process_exits *e);
/* One record; drain calls it. */
void process_exits_take(struct process_exits *e, const struct task_exit *x);
/* Finds the members' children among those taken. */
void process_exits_settle(struct process_exits *e);

#endif
