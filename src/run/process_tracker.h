/*
 * Follows the processes of a run by kernel events: children of our processes are ours. Writes a
 * KEXIT record when a process ends. Without kernel events it scans /proc from time to time, at
 * least for names.
 */
#pragma once

#include <stdint.h>

#include "core/system/process_table.h"
#include "records/record_file.h"
#include "sources/exits/cnproc.h"
#include "sources/exits/taskstats.h"

struct live {
	int pid; /* of its first thread */
	int ppid;
	uint64_t begin_ns, end_ns;
	uint64_t exec_ns;       /* time of its last exec; 0: none */
	struct strbuf *exec_at; /* all exec times, as in EXEC_TIMES */
	uint64_t exe_hash;      /* of the program's path, if only /proc is scanned */
	uint32_t threads_alive, threads_total, execs;
	uint32_t counted; /* threads that are in stats */
	int status;
	bool gone, peeked, seen;
	struct task_exit stats; /* sums over its threads; maxima of peaks */
};

struct process_tracker {
	int root;  /* the process whose descendants are ours */
	int apart; /* a child that is not ours; 0: none */
	uint64_t procdev;
	bool blind; /* /proc is of another pid namespace, where our pids are of other processes */
	struct cnproc cnproc;
	struct cnproc waker; /* tells of our processes only, while armed; -2: cannot be opened */
	bool armed;          /* nothing happened to our processes if the waker is silent */
	size_t own_events;   /* of the last drain: those of our processes */
	struct taskstats_listener taskstats;
	char *cnproc_reason, *taskstats_reason; /* why not available; NULL: available */
	bool lossy;
	struct process_table live; /* of struct live */
	int *gone;                 /* ended processes whose KEXIT is not written yet */
	size_t gone_count, gone_cap;
	struct task_exit *records; /* statistics that are not added yet */
	size_t record_count, record_cap;
	size_t unpeeked;
	uint64_t forks, exits;
	uint64_t next_scan_ns, scan_period_ns;
};

/* kernel false: /proc only. */
void process_tracker_open(struct process_tracker *l, bool kernel);
void process_tracker_close(struct process_tracker *l);
bool process_tracker_has_events(const struct process_tracker *l);

/* Adds the command that the root has just started, in case its fork event was lost. */
void process_tracker_begin(struct process_tracker *l, int pid);
/* Reads kernel events and adds records for ended processes. Returns the number of events. */
size_t process_tracker_drain(struct process_tracker *l, struct record_writer *w);
/*
 * After a drain without events of our processes: lets the waker tell when there is one, so that
 * events of other processes can wait until there are many. False: it cannot, or there was one just
 * now.
 */
bool process_tracker_arm(struct process_tracker *l, struct record_writer *w);
/* The waker told: something happened to our processes, or did before it watched. */
void process_tracker_woken(struct process_tracker *l);
/* Adds PEEK records of processes that have run for a while. Returns when to call again (boot time
 * in ns), 0: never. */
uint64_t process_tracker_peek(struct process_tracker *l, struct record_writer *w);
/* Processes known to be alive. */
size_t process_tracker_alive(const struct process_tracker *l);
/* At the end: adds PEEK records of all remaining processes. */
void process_tracker_peek_all(struct process_tracker *l, struct record_writer *w);
