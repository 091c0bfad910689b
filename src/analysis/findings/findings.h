/*
 * What bounded a job, from its figures: a list of findings, the heaviest first, each with evidence
 * and one change to make. Pure functions; absent figures are NAN and lead to no finding.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

enum finding_kind {
	FINDING_CPU,    /* computing bounded it */
	FINDING_MEMORY, /* close to its limit, paging, swapping */
	FINDING_IO,     /* storage */
	FINDING_NETWORK,
	FINDING_WAITING,    /* runnable but not run, or throttled */
	FINDING_IDLE,       /* cores that had nothing to do */
	FINDING_IMBALANCE,  /* of ranks, hosts */
	FINDING_FAILED,     /* ended with an error */
	FINDING_KILLED,     /* by a signal */
	FINDING_OOM,        /* out of memory */
	FINDING_SHORT,      /* very many very short processes */
	FINDING_GPU,        /* GPUs that had nothing to do */
	FINDING_ACCOUNTING, /* what is not itemised */
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

/* The figures of a job that rules look at. Numbers come first: finding_figures_init() makes all up
 * to job NAN, which is unknown. Texts are printable; NULL: unknown. */
struct finding_figures {
	double duration; /* s */
	double exitcode;
	double cores;         /* usable by the job */
	double cpu, cpu_peak; /* s; the most CPUs busy at one time */
	double cpu_system;    /* s, part of cpu */
	double cpu_wait;      /* s that tasks were runnable but not running */
	double throttled;     /* s that a CPU limit stopped them */
	double threads_peak;  /* threads at one time, running or not */
	double tasks;         /* started by the batch system */

	double io_wait;                     /* s that tasks waited for storage */
	double stored_read, stored_written; /* bytes from and to storage */
	double reads, read_bytes;           /* system calls and their bytes */
	double writes, write_bytes;
	double cpu_pressure, memory_pressure, io_pressure; /* 0..1 of the time */

	double memory_used, memory_most; /* bytes on a host at one time: lower and upper bound */
	double memory_limit;             /* bytes of a host */
	double swap_used;                /* bytes */
	double major_faults;
	double oom_kills;

	double network_rate, network_speed; /* bytes/s of the busiest host and of its adapter */

	double processes, failed, signalled, killed; /* killed: by SIGKILL */
	double unseen;           /* processes whose CPU time is unknown and in no total */
	double brief, brief_cpu; /* processes below a tenth of a second; s */
	double top_share;        /* of all CPU time, by top_name */

	double ranks, rank_mean, rank_most; /* CPU s */
	double hosts, host_mean, host_most;
	double hosts_missing;                         /* granted, but nothing was recorded there */
	double gpus, gpus_idle, gpu_busy;             /* gpu_busy: 0..1, mean of all */
	double accounting_total, accounting_itemised; /* CPU s */
	double node_busy, node_peak; /* 0..1 of the cores of a node, where node is set */

	const char *job;                   /* its id, for commands; NULL: "JOB" */
	const char *top_name;              /* the executable with the most CPU time */
	const char *brief_name;            /* the executable of most brief processes */
	const char *failed_name;           /* the executable that failed as the job did */
	const char *signals;               /* "2 by SIGKILL, 1 by SIGTERM", by their numbers */
	const char *rank_name, *host_name; /* the busiest */
	const char *node; /* the host, where this is not a job but a day of a node */
	bool running;     /* it has not ended */
	bool granted;     /* a batch system gave it the cores */
	bool sampled;     /* there is a series of its CPU time */
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

/* What the figures say, the heaviest first; always one at least. *to is empty before. */
void findings_find(struct findings *to, const struct finding_figures *f);

/* The name in JSON, and the word for people. */
const char *finding_kind_name(enum finding_kind kind);
const char *finding_weight_name(enum finding_weight weight);
