/*
 * What bounded a job, from its figures: a list of findings, the heaviest first, each with evidence
 * and one change to make. Pure functions; absent figures are NAN and lead to no finding.
 */
#ifndef PL_ANALYSIS_FINDINGS_H
#define PL_ANALYSIS_FINDINGS_H

#include <stdint.h>

#include "core/strbuf.h"

enum finding_kind {
	FINDING_CPU,    /* computing bounded it */
	FINDING_MEMORY, /* close to its limit, paging, swapping */
	FINDING_IO,     /* storage */
	FINDING_NETWORK,
	FINDING_WAITING,   /* runnable but not run, or throttled */
	FINDING_IDLE,      /* cores that had nothing to do */
	FINDING_IMBALANCE, /* of ranks, hosts */
	FINDING_FAILED,    /* ended with an error */
	FINDING_KILLED,    /* by a signal */
	FINDING_OOM,       /* out of memory */
	FINDING_SHORT,     /* very many very short processes */
	FINDING_GPU,       /* GPUs that had nothing to do */
	FINDING_BOOKS,     /* what is not itemised */
};

enum finding_weight { FINDING_NOTE, FINDING_WARNING, FINDING_SEVERE };

struct finding {
	enum finding_kind kind;
	enum finding_weight weight;
	char *title;    /* one phrase: "4 of 8 cores had nothing to do" */
	char *evidence; /* one sentence with the figures */
	char *advice;   /* one concrete change */
};

struct findings {
	struct finding *list;
	size_t count, cap;
};
void findings_release(struct findings *f);

/* The figures of a job that rules look at. NAN: not known; NULL likewise. Texts are printable. */
struct finding_figures {
	const char *job; /* its id, for commands; NULL: "JOB" */
	double duration; /* s */
	double exitcode;
	bool running;         /* it has not ended */
	double cores;         /* that the job could use */
	bool granted;         /* by a batch system, to this job alone */
	double cpu, cpu_peak; /* s; CPUs busy at most at one time */
	double cpu_system;    /* s, of cpu */
	double cpu_wait;      /* s that tasks were runnable and did not run */
	double throttled;     /* s that a CPU limit stopped them */
	double threads_peak;  /* that existed at one time, running or not */
	double tasks;         /* that the batch system started; NAN: not known */

	double io_wait;                     /* s that tasks waited for storage */
	double stored_read, stored_written; /* bytes from and to storage */
	double reads, read_bytes;           /* calls, and bytes by calls */
	double writes, write_bytes;
	double cpu_pressure, memory_pressure, io_pressure; /* 0..1 of the time */
	bool sampled;                                      /* there is a curve of its CPU time */

	double memory_used;  /* bytes on a host at one time: it was at least that much */
	double memory_most;  /* and at most that much */
	double memory_limit; /* bytes of a host that the job may use */
	double swap_used;    /* bytes */
	double major_faults;
	double oom_kills;

	double network_rate, network_speed; /* bytes/s, of the busiest host and its adapter */

	double processes, failed, signalled, killed; /* killed: by SIGKILL */
	double unseen;           /* whose CPU time nobody knows, and which is in no total */
	double brief, brief_cpu; /* below a tenth of a second; s */
	const char *brief_name;  /* the executable most of them had */
	const char *signals;     /* "2 by SIGKILL, 1 by SIGTERM", by their numbers */
	const char *failed_name;
	const char *top_name; /* the executable with most CPU, and its part of all */
	double top_share;

	double ranks, rank_mean, rank_most; /* CPU s */
	const char *rank_name;
	double hosts, host_mean, host_most;
	const char *host_name;

	double gpus, gpus_idle, gpu_busy; /* gpu_busy: 0..1, mean of all */

	double accounting_total, accounting_itemised; /* CPU s */

	/* a day of a node, as collectors store it, and no job: its host, and the part of its cores
	 * that was busy, 0..1 */
	const char *node;
	double node_busy, node_peak;
};
/* All NAN, nothing known. */
void finding_figures_init(struct finding_figures *f);

/* The limits that rules compare with, and why they are where they are: for the code and the
 * manual. */
struct finding_limit {
	const char *name;
	double value;
	const char *reason;
};
enum finding_limit_id {
	LIMIT_CPU_BOUND,
	LIMIT_IDLE,
	LIMIT_IDLE_TIME,
	LIMIT_MOMENT,
	LIMIT_COMPUTED,
	LIMIT_SYSTEM,
	LIMIT_DEMAND,
	LIMIT_BLOCKED,
	LIMIT_WAITED,
	LIMIT_CPU_WAIT,
	LIMIT_CPU_PRESSURE,
	LIMIT_THROTTLED,
	LIMIT_IO_WAIT,
	LIMIT_IO_PRESSURE,
	LIMIT_IO_RATE,
	LIMIT_CALL_SIZE,
	LIMIT_CALL_RATE,
	LIMIT_MEMORY_NEAR,
	LIMIT_MEMORY_SPARE,
	LIMIT_MEMORY_SMALL,
	LIMIT_MEMORY_PRESSURE,
	LIMIT_SWAP,
	LIMIT_FAULTS,
	LIMIT_NETWORK,
	LIMIT_RANKS,
	LIMIT_HOSTS,
	LIMIT_UNEVEN_CPU,
	LIMIT_BRIEF_COUNT,
	LIMIT_BRIEF_SHARE,
	LIMIT_BRIEF_RATE,
	LIMIT_FAILED_SHARE,
	LIMIT_FAILED_COUNT,
	LIMIT_GPU_IDLE,
	LIMIT_GPU_LOW,
	LIMIT_BOOKS,
	LIMIT_ACCOUNTING_CPU,
	LIMIT_COUNT
};
extern const struct finding_limit finding_limits[LIMIT_COUNT];

/* What the figures say, the heaviest first; always one at least. *to is empty before. */
void findings_find(struct findings *to, const struct finding_figures *f);

const char *finding_kind_name(enum finding_kind kind);
const char *finding_weight_name(enum finding_weight weight);

#endif
