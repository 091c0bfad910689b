/*
 * What bounded a job, from its core time (analysis/core_time) and other figures: a list of
 * findings, of which the first is the verdict, each with evidence and one change to make. Pure
 * functions; absent figures are NAN and lead to no finding.
 *
 * Failures come first, then causes by the time that mending them could save. Advice on cores comes
 * from cores used and threads ready to run, never from threads that exist; on memory from the peak
 * with a margin; neither is given for jobs that did not complete.
 */
#pragma once

#include <stdint.h>

#include "analysis/core_time/core_time.h"
#include "core/strbuf.h"

enum finding_id {
#define FINDING(id, name, group, meaning) FINDING_##id,
#include "analysis/findings/finding_ids.def"
#undef FINDING
	FINDING_COUNT
};

enum finding_group { GROUP_FAILURE, GROUP_CAUSE, GROUP_GENERAL, GROUP_RESOURCE };

struct finding_id_row {
	const char *name, *meaning;
	enum finding_group group;
};
extern const struct finding_id_row finding_ids[FINDING_COUNT];

enum finding_weight { FINDING_NOTE, FINDING_WARNING, FINDING_SEVERE };

struct finding_evidence {
	const char
		*metric; /* a name of `plimsoll metrics`, of a part of core time, or of a figure */
	double value;
	const char *unit;
	char *where; /* a host, rank, process or program; NULL: the whole job */
};

struct finding {
	enum finding_id id;
	enum finding_weight weight;
	double share;  /* of the core time; NAN: it is not about time */
	double saving; /* s, the most that mending it could save; NAN */
	char *title;   /* one sentence without a full stop */
	char *details; /* sentences with the figures */
	char *advice;  /* one concrete change */
	char *command; /* that shows more; NULL: none */
	struct finding_evidence *evidence;
	size_t evidence_count, evidence_cap;
};

struct findings {
	struct finding *list;
	size_t count, cap;
};
void findings_release(struct findings *f);

/* The figures of a job that rules look at. Numbers come first: finding_figures_init() makes all up
 * to time NAN, which is unknown. Texts are printable; NULL: unknown. */
struct finding_figures {
	double duration; /* s */
	double exitcode;
	double cores;         /* usable by the job */
	double cpu, cpu_peak; /* s; the most CPUs busy at one time */
	double cpu_wait;      /* s that tasks were runnable but not running */
	double throttled;     /* s that a CPU limit stopped them, over CPUs */
	double quota;         /* cores by a CPU limit */
	double threads_peak;  /* threads at one time, running or not */
	double tasks;         /* started by the batch system */

	double parallel, alone;             /* s with most cores busy; with one, others idle */
	double stored_read, stored_written; /* bytes from and to storage */
	double reads, read_bytes;           /* system calls and their bytes */
	double writes, write_bytes;
	double memory_pressure; /* 0..1 of the time */
	double switches;        /* context switches that threads asked for */
	double preempted;       /* others, as of threads that yield their core in a loop */

	double memory_used, memory_most;  /* bytes on a host at one time: lower and upper bound */
	double memory_limit;              /* bytes of a host */
	double memory_first, memory_last; /* bytes after a tenth of the time, and at the end */
	double memory_rising;             /* share of the samples in between that grew */
	double swap_used;                 /* bytes */
	double refaulted; /* bytes of files, read again after a memory limit had dropped them */
	double minor_faults, major_faults;
	double oom_kills;

	double network_rate, network_speed; /* bytes/s of the busiest host and of its adapter */

	double processes, failed, signalled, killed; /* killed: by SIGKILL */
	double crashed;                              /* by SIGSEGV and the like */
	double crash_signal;
	double signal;            /* no crash, that ended a process */
	double unseen;            /* processes whose CPU time is unknown and in no total */
	double brief;             /* processes below a tenth of a second */
	double brief_time;        /* s that starting them took */
	double top_share;         /* of all CPU time, by top_name */
	double chain, chain_time; /* the most programs in turn below one parent; s in all */

	double ranks, rank_mean, rank_most; /* CPU s */
	double hosts, host_mean, host_most;
	double hosts_missing;                       /* granted, but nothing was recorded there */
	double peers, peer_mean, peer_most;         /* processes of one program at the same time */
	double workers, worker_mean, worker_most;   /* threads of a process, without its first */
	double sharing, sharing_mean, sharing_most; /* those of them that share its work */
	double same_futex;                /* thread seconds in the same futex that is no mutex */
	double takers;                    /* processes that waited for a semaphore of several */
	double semaphore, taker_pipes;    /* s that they waited for it, and in pipes */
	double taker_cpu;                 /* s that they computed */
	double gpus, gpus_idle, gpu_busy; /* gpu_busy: 0..1, mean of all */
	double gpus_asked;    /* by the batch system, or visible to it (CUDA_VISIBLE_DEVICES) */
	double gpu_processes; /* of the job that computed on them, at most; NAN */
	double cycles, instructions, misses;
	double accounting_total, accounting_itemised; /* CPU s */
	double node_busy, node_peak; /* 0..1 of the cores of a node, where node is set */
	double time_limit;           /* s that were asked for */

	struct core_time time;                /* all 0: nothing is known */
	const char *job;                      /* its id, for commands; NULL: "JOB" */
	const char *run;                      /* the command to run it again; NULL: unknown */
	const char *top_name;                 /* the executable with the most CPU time */
	const char *brief_name;               /* the executable of most brief processes */
	const char *failed_name;              /* the executable that failed as the job did */
	const char *crash_name;               /* the executable that crashed */
	const char *killed_name;              /* the executable that SIGKILL ended */
	const char *signal_name;              /* the executable that another signal ended */
	const char *crash_step, *killed_step; /* the steps of these processes */
	const char *signal_step, *failed_step;
	const char *rank_step;                /* of the ranks */
	const char *signals;                  /* "2 by SIGKILL, 1 by SIGTERM", by their numbers */
	const char *rank_name, *host_name;    /* the busiest */
	const char *peer_name;                /* the program of the peers */
	const char *partner[WAIT_REASONS];    /* what threads waited for most: "read pipe from 12
						 (sort)" */
	const char *partner_of[WAIT_REASONS]; /* the process that did */
	const char *cut_off; /* why the batch system or a person ended it, in words */
	bool end_known;      /* it ended by itself: only its recording was cut off */
	const char *node;    /* the host, where this is not a job but a day of a node */
	bool running;        /* it has not ended */
	bool granted;        /* a batch system gave it the cores */
	bool sampled;        /* its CPU time was sampled */
	bool looked;         /* what its threads waited for was sampled */
	bool at_time_limit;  /* it was cut off at its time limit */
};
/* All NAN, nothing known. */
void finding_figures_init(struct finding_figures *f);

/* The limits that rules compare with: finding_limits.def. */
struct finding_limit {
	const char *name;
	double value;
	const char *reason;
};
enum finding_limit_id {
#define FINDING_LIMIT(id, name, value, reason) LIMIT_##id,
#include "analysis/findings/finding_limits.def"
#undef FINDING_LIMIT
	LIMIT_COUNT
};
extern const struct finding_limit finding_limits[LIMIT_COUNT];

/* What the figures say, the verdict first; always one at least. *to is empty before. */
void findings_find(struct findings *to, const struct finding_figures *f);

const char *finding_weight_name(enum finding_weight weight);
