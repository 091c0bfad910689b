/*
 * The living processes of a run, followed through the kernel's events: a child of one of ours is
 * one of ours. When a process ends, what the kernel said of it becomes a KEXIT record. Where the
 * kernel tells nothing, /proc is looked through from time to time instead, for names at least.
 */
#ifndef PL_RUN_PROCESS_TRACKER_H
#define PL_RUN_PROCESS_TRACKER_H

#include <stdint.h>

#include "records/record_file.h"
#include "sources/exits/cnproc.h"
#include "sources/exits/taskstats.h"

struct live {
	int tgid; /* 0: free */
	int ppid;
	uint64_t begin_ns, end_ns;
	uint64_t exec_ns;       /* when it executed its last program; 0: none */
	struct strbuf *exec_at; /* all of those times, as EXEC_TIMES has them */
	uint64_t exe_hash;      /* of the program's name, where only /proc is looked through */
	uint32_t threads_alive, threads_total, execs;
	uint32_t booked; /* threads that stats has */
	int status;
	bool gone, peeked, seen;
	struct task_exit stats; /* sums over its threads; the peaks are the largest */
};

struct process_tracker {
	int root;  /* the process whose descendants are ours */
	int apart; /* one that is not; 0: none */
	uint64_t procdev;
	bool blind; /* /proc is that of another pid namespace, where our numbers mean others */
	struct cnproc cnproc;
	struct taskstats_listener taskstats;
	char *cnproc_reason, *taskstats_reason; /* why not, where not */
	bool lossy;
	struct live *table;
	size_t size, used; /* size is a power of two */
	int *gone;         /* processes whose end was seen and is not written yet */
	size_t gone_count, gone_cap;
	struct task_exit *records; /* statistics that are not booked yet */
	size_t record_count, record_cap;
	size_t unpeeked;
	uint64_t forks, exits;
	uint64_t next_scan_ns, scan_period_ns;
};

/* kernel false: /proc only. */
void process_tracker_open(struct process_tracker *l, bool kernel);
void process_tracker_close(struct process_tracker *l);
bool process_tracker_has_events(const struct process_tracker *l);

/* The root has just executed its command, a child of its own. Where the kernel's word of that is
 * lost, nobody below it would be known. */
void process_tracker_begin(struct process_tracker *l, int pid);
/* Takes in what the kernel reported and adds records for those that ended. The number of events. */
size_t process_tracker_drain(struct process_tracker *l, struct record_writer *w);
/* Looks at processes that have been there for a while; adds PEEK records. Returns when to look
 * again (boot time in ns), 0 for never. */
uint64_t process_tracker_peek(struct process_tracker *l, struct record_writer *w);
/* Processes known to be alive. */
size_t process_tracker_alive(const struct process_tracker *l);
/* At the end: looks at all that are left, for their names. */
void process_tracker_peek_all(struct process_tracker *l, struct record_writer *w);

#endif
