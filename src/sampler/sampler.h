/*
 * The sampling loop: one timer, aligned with the wall clock so that hosts tick together; each
 * source has its own multiple of the period. Sources that may block are read in threads; one that
 * never answers is reported as absent. The loop keeps within a CPU budget by stretching its period,
 * and samples its own cost, delay and losses as the source "sampler".
 */
#pragma once

#include <stdint.h>

#include "core/value.h"
#include "jobs/discovery/job_processes.h"
#include "sampler/metric_filter.h"
#include "sampler/sample_output.h"
#include "samples/sample_file.h"
#include "sources/source.h"

struct pollfd;
struct active_sources;

/* A source by name, with its period; texts belong to the caller. */
struct sampler_source {
	const char *name;   /* NAME or NAME=OPTION */
	uint64_t period_ns; /* rounded to ticks; 0: the source's default */
};

/* What the owner of a sampler wants after a wake-up. */
enum sampler_wish {
	SAMPLER_GO_ON,
	SAMPLER_READ_JOBS, /* samples of the sources of jobs now, between two ticks */
	SAMPLER_CHANGED,   /* the options have changed: apply them */
	SAMPLER_END,
};

/* The state of delivery to a collector, in batches. */
struct sampler_delivery {
	uint64_t waiting, dropped, refused, damaged;
	unsigned problems; /* current ones */
};

/* Functions of the owner, called by the sampling thread. */
struct sampler_hooks {
	/* Before it sleeps: adds descriptors to wait for, and returns their number; *wake_ns:
	 * latest wake-up time (boot time). */
	size_t (*prepare)(void *user, struct pollfd *fds, size_t cap, uint64_t *wake_ns);
	/* After each sleep, with the same descriptors. */
	enum sampler_wish (*woken)(void *user, const struct pollfd *fds, size_t count);
	/* SIGHUP arrived. */
	enum sampler_wish (*hangup)(void *user);
	/* Before and after samples are taken, also between ticks. */
	void (*before)(void *user, bool last);
	void (*after)(void *user, bool last);
	/* The sources were opened or changed; valid until the sampler ends. */
	void (*opened)(void *user, const struct active_sources *sources);
	/* The state of delivery, for the sampler's own metrics; false, or no function: none. */
	bool (*delivery)(void *user, struct sampler_delivery *ret);
	void *user;
};
#define SAMPLER_FDS 16 /* most descriptors of an owner */

struct sampler_options {
	const char *root; /* "" on a live machine */
	/* the job, opened; NULL: the node only. Without a finder the owner keeps it up to date. */
	struct job_processes *watch;
	/* boot time when we saw the job begin, with counters at 0; 0: it ran before */
	uint64_t begin_ns;
	struct cgroup_jobs *jobs; /* all jobs of the node, in the node daemon; NULL otherwise */
	struct exits *exits;      /* ends of processes by job, in the node daemon; NULL otherwise */
	uint64_t period_ns;
	uint64_t checkpoint_ns;            /* how often the output is synced; 0: never */
	uint64_t duration_ns;              /* end after this time; 0: with the job */
	uint64_t timeout_ns;               /* for sources that block */
	double budget;                     /* share of one CPU, 0.005 for half a percent; 0: none */
	const struct sampler_source *only; /* these sources; none: all usable ones */
	size_t only_count;
	const char *skip; /* sources to leave out, separated by blanks; without only; NULL: none */
	const struct sampler_source *also; /* in addition, sources on request; without only */
	size_t also_count;
	const struct metric_filter *metrics;  /* NULL: all */
	const struct sampler_source *periods; /* of sources by name */
	size_t period_count;
	const char *finished;               /* ends when this file says FINISHED; NULL: none */
	int stop;                           /* ends when this is readable or closed; -1: none */
	int file;                           /* sample file, O_APPEND; without output */
	struct sample_file_head *head;      /* its period follows changes of the options */
	const struct sample_output *output; /* where samples go; NULL: the file */
	const struct sampler_hooks *hooks;  /* NULL: none */
};

struct sampler_result {
	/* what ended it: "job", "signal", "stop", "duration", "finished", "owner" */
	const char *end;
	int signal; /* that ended it; 0: none */
	int sender; /* of the signal; 0: the kernel, or a process in another pid namespace */
	uint64_t ticks, overruns, lost, late_max_ns, late_sum_ns;
	uint64_t begin_ns, end_ns; /* boot time of the first and the last tick */
	uint64_t cpu_us;           /* of this process, while sampling */
	unsigned stretch_max; /* most periods between ticks: above 1 if the budget required it */
	/* CPU time between the first and the last tick: of the processes, including ended ones, and
	 * of the job's cgroups; the difference is not accounted for */
	double itemised_us, total_us;
	bool itemised_known, total_known;
	int write_error;       /* errno of the first failed write; 0: none */
	struct value *sources; /* dict: name to "sampled" or the reason why not */
};
void sampler_result_release(struct sampler_result *r);

extern const struct sample_metric sampler_metrics[];
extern const size_t sampler_metric_count;

/* Samples until something ends it, then takes the last samples. Meanwhile INT and TERM end it, and
 * HUP unless there is a hook for it. Problems are in *ret: sources that could not be opened, and
 * the first write error. */
void sampler_run(const struct sampler_options *o, struct sampler_result *ret);
