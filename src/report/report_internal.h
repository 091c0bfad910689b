/* Shared by the files that load a report; see report.h. */
#pragma once

#include "core/hash_map.h"
#include "report/report.h"
#include "store/series.h"

/* A process on its way into groups, tree and bars, in depth-first order. */
struct report_proc {
	int64_t start, duration, cpu; /* us; UNKNOWN */
	int64_t rssmax, read, written;
	uint32_t parent, last; /* indexes; a root is its own parent; last: its last descendant */
	uint32_t name, tags;   /* numbers in report.names */
	uint32_t host, pid, lane;
	int32_t rank; /* -1: none */
	uint8_t exitcode, signal;
	bool failed;
	bool replaced; /* it executed another program */
	int64_t state;
	uint32_t step; /* place in report.steps, + 1; 0: none */
};

/* Counts for the findings. */
struct report_tally {
	int64_t signalled, killed; /* by any signal, by SIGKILL */
	int64_t failed;            /* by their exit status */
	int64_t running;
	int64_t brief, brief_time; /* processes below BRIEF_US; us that starting them took */
	int64_t without_time, without_cpu;
	int64_t reaped_cpu; /* of roots and all children that they waited for; UNKNOWN */
	size_t signals[65]; /* processes ended by each signal; 0: other signals */
};
#define REPORT_BRIEF_US 100000

struct report_loading {
	struct report *r;
	struct store *store;
	int64_t job;
	const struct report_options *o;
	struct hash_map names; /* numbers of report.names, by text */
	struct report_proc *procs;
	size_t count;
	uint32_t *by_start; /* indexes of processes with known times, in order of start */
	size_t started;
	struct report_tally tally;
	size_t known_hosts;    /* whose CPUs the metadata have */
	bool granted;          /* a batch system granted the cores */
	bool out_of_memory;    /* in the eyes of the batch system */
	int64_t tasks;         /* started by it; 0: unknown */
	int64_t oom_kills;     /* in the cgroups of its runs; UNKNOWN */
	int64_t refault_bytes; /* of files, read again below their memory limit; UNKNOWN */
	double link_speed;     /* bytes/s of the fastest network adapter; 0: unknown */
	struct series_list series;
};

/* Takes the reason. host NULL: unknown, or several. */
void report_add_absence(struct report *r, const char *host, const char *metric, int64_t count,
			char *reason);
int report_load_processes(struct report_loading *l);
/* The number of a text in report.names. */
uint32_t report_name(struct report_loading *l, const char *s, size_t size);
/* Grows a list so that it has a place for number; new places are 0. */
void report_room_for(uint32_t **list, size_t *count, size_t number);
/* "1 by SIGKILL, 2 by SIGTERM" */
void report_add_signals(struct strbuf *out, const size_t signals[65]);
void report_make_groups(struct report_loading *l);
void report_make_flame(struct report_loading *l);
void report_make_bars(struct report_loading *l);
void report_make_phases(struct report *r);
/* For each process the phase of a script that it belongs to, as a number in report.names, or 0;
 * NULL: there are none. Freed by the caller. */
uint32_t *report_phase_operations(struct report_loading *l);
void report_phases_release(struct report_phases *p);
int report_load_series(struct report_loading *l);
/* Hardware, cores and limits from the metadata. */
int report_load_metadata(struct report_loading *l);
void report_find(struct report_loading *l);
/* Figures about processes beside and after each other, and threads; see findings.h. */
void report_take_peers(const struct report_loading *l, struct finding_figures *f);
/* What threads waited for most, by reason: the texts of the source `waits`. */
struct report_partners {
	double seconds[WAIT_REASONS];
	double same_futex; /* of a place in memory that is not the end of a thread */
	struct strbuf text[WAIT_REASONS], of[WAIT_REASONS];
};
/* Figures keep pointers to the texts. */
void report_take_partners(const struct report_loading *l, struct report_partners *p,
			  struct finding_figures *f);
void report_partners_release(struct report_partners *p);
/* Finds the steps of the job; metadata NULL: none. */
void report_take_steps(struct report_loading *l, const struct value *metadata);
void report_steps_release(struct report *r);
/* NULL: it belongs to none. */
const char *report_step_name(const struct report *r, const struct report_proc *p);
/* Says in findings in which step most of it was. */
void report_name_steps(struct report *r);
/* The largest sum of the peaks of processes that a host had at one time: an upper bound; NAN. */
double report_peaks_together(const struct report_loading *l);
void report_load_energy(struct report_loading *l);

/* Appends a group. */
struct report_group *report_group_add(struct report_groups *g, const char *name);
/* Sorts by CPU time or name, and drops what is beyond the limit. */
void report_groups_end(struct report_groups *g, bool by_name);

/* ---- totals.c ------------------------------------------------------------------------------- */
/* The series of a metric over all hosts; NULL: it has none. */
const struct report_series *report_series_of(const struct report *r, const char *metric);
/* One number from the series of a metric and a kind of entities (NULL: any); NAN: it has none. */
enum series_fold {
	LARGEST_VALUE,
	LARGEST_INCREASE,
	SUM_OF_INCREASES,
	SUM_OF_COUNTERS, /* the values of counters that began at 0 with the job */
};
double report_series_fold(const struct report_loading *l, const char *metric, const char *kind,
			  enum series_fold how);
/* The increase of a counter of the job on all hosts; where the job was not sampled, of its
 * processes. */
double report_job_increase(const struct report_loading *l, const char *metric);
/*
 * Files of the job in memory (tmpfs: /dev/shm, often /tmp) at one time, in bytes, at most. They
 * count for what the job asked for, and belong to no process. *ret_seen: the host's shared memory
 * was sampled; otherwise pipes, sockets and the like are among them.
 */
double report_files_in_memory(const struct report_loading *l, bool *ret_seen);
/* Does the memory of a job grow all the time? */
void report_take_growth(const struct report *r, struct finding_figures *f);
/* The hosts of a job without records. */
void report_hosts_from_series(struct report_loading *l);
/* CPU time, accounting, cores and memory limit, from records, metadata and samples. */
void report_settle_totals(struct report_loading *l);
