/*
 * The sampling loop: one timer, aligned with the wall clock so that hosts tick together, each
 * source at its own multiple of the period. Sources that may block are read in threads of their
 * own; one that never answers is left behind and said to be absent. The loop keeps to a budget of
 * CPU time by stretching its period, and samples its own cost, lateness and losses as the source
 * "sampler".
 */
#ifndef PL_SAMPLER_SAMPLER_H
#define PL_SAMPLER_SAMPLER_H

#include <stdint.h>

#include "core/value.h"
#include "jobs/discovery/job_processes.h"
#include "sampler/metric_filter.h"
#include "sampler/sample_output.h"
#include "samples/sample_file.h"
#include "sources/source.h"

struct pollfd;
struct active_sources;

/* A source by name with what goes with it; texts are the caller's. */
struct sampler_source {
	const char *name;   /* NAME or NAME=OPTION */
	uint64_t period_ns; /* rounded to ticks; 0: the source's own rhythm */
};

/* What the owner of a loop wants after it was woken. */
enum sampler_wish {
	SAMPLER_GO_ON,
	SAMPLER_READ_JOBS, /* a reading of the sources of jobs now, between two ticks */
	SAMPLER_CHANGED,   /* the options are others: they are in force from here on */
	SAMPLER_END,
};

/* How delivery to a collector is; batches. */
struct sampler_delivery {
	uint64_t waiting, dropped, refused, damaged;
	unsigned troubles; /* that stand in its way */
};

/* What an owner does between readings. All are called by the thread that samples. */
struct sampler_hooks {
	/* Before it sleeps: descriptors to wait for, and in *wake_ns (boot time) when to be woken
	 * at the latest. Their number. */
	size_t (*prepare)(void *user, struct pollfd *fds, size_t cap, uint64_t *wake_ns);
	/* After each sleep, with the same descriptors. */
	enum sampler_wish (*woken)(void *user, const struct pollfd *fds, size_t count);
	/* HUP came. */
	enum sampler_wish (*hangup)(void *user);
	/* Around each reading, those between ticks too: who is there, and what may be forgotten. */
	void (*before)(void *user, bool last);
	void (*after)(void *user, bool last);
	/* The sources were opened, or others were: what may be asked how they are, valid until the
	 * sampler ends. */
	void (*opened)(void *user, const struct active_sources *slots);
	/* How delivery is, for the sampler's own metrics; false, or no function: there is none. */
	bool (*delivery)(void *user, struct sampler_delivery *ret);
	void *user;
};
#define SAMPLER_FDS 16 /* of an owner */

struct sampler_options {
	const char *root; /* "" on a live machine */
	/* the job, opened; NULL: the node alone. One without a finder is kept by its owner. */
	struct job_processes *watch;
	/* boot time when the job began under our eyes: its counters were 0; 0: it was there */
	uint64_t begin_ns;
	struct cgroup_jobs *jobs; /* all jobs of the node, in the node daemon; NULL otherwise */
	struct exits *exits;      /* ends of processes by job, in the node daemon; NULL otherwise */
	uint64_t period_ns;
	uint64_t checkpoint_ns; /* how often what was written must be on the disk; 0: never */
	uint64_t duration_ns;   /* end after this time; 0: with the job */
	uint64_t timeout_ns;    /* for sources that block */
	double budget;          /* share of one CPU, 0.005 for half a percent; 0: none */
	const struct sampler_source *only; /* these sources; none: all that can be used */
	size_t only_count;
	const struct sampler_source *also; /* those on request besides, where there is no only */
	size_t also_count;
	const struct metric_filter *metrics;  /* NULL: all */
	const struct sampler_source *periods; /* rhythms of sources by name */
	size_t period_count;
	const char *finished;               /* file whose word FINISHED ends it; NULL: none */
	int stop;                           /* ends when this can be read or is closed; -1: none */
	int file;                           /* sample file, O_APPEND; where there is no outlet */
	struct sample_file_head *head;      /* its period follows a change of the options */
	const struct sample_output *outlet; /* what readings are handed to; NULL: the file */
	const struct sampler_hooks *hooks;  /* NULL: nobody has any */
};

struct sampler_result {
	const char
		*end; /* what ended it: "job", "signal", "stop", "duration", "finished", "file" */
	int signal;   /* that ended it; 0: none */
	int sender;   /* of it; 0: the kernel, or somebody in another pid namespace */
	uint64_t ticks, overruns, lost, late_max_ns, late_sum_ns;
	uint64_t begin_ns, end_ns; /* boot time of the first and the last tick */
	uint64_t cpu_us;           /* of this process, while sampling */
	unsigned
		stretch_max; /* periods between ticks at most: more than 1 where the budget asked */
	/* CPU time between the first and the last tick: of the processes, ended ones included, and
	 * of the job's control groups; the difference is what nobody itemised */
	double itemised_us, total_us;
	bool itemised_known, total_known;
	int write_error;       /* first errno of handing over; 0: none */
	struct value *sources; /* dict: name to "sampled" or the reason why not */
};
void sampler_result_release(struct sampler_result *r);

extern const struct sample_metric sampler_metrics[];
extern const size_t sampler_metric_count;

/* Samples until something ends it; takes a last reading then. Signals that end it (INT, TERM, and
 * HUP where there is no hook for it) are taken for its time. 0, or a negative errno when it could
 * not begin. */
int sampler_run(const struct sampler_options *o, struct sampler_result *ret);

#endif
