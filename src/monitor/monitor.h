/*
 * Sampling a job on this host, for `plimsoll monitor` and the personalities of other tools. Each
 * host samples into the job's directory; at the end one of them waits for the others and merges the
 * samples.
 */
#pragma once

#include "context/context.h"
#include "jobs/job_hosts.h"
#include "sampler/sampler.h"

#define MONITOR_SOURCES_MAX 64

/* What the merging host knows. */
struct monitor_finish {
	const struct job_directory *job;
	const struct job_hosts *peers;
	const char *missing; /* hosts that did not report, separated by blanks; "": none */
};

struct monitor_options;

/* Files in another layout, written from the samples of all hosts; see monitor_layouts.def. */
struct monitor_layout {
	const char *name;
	/* Called on the merging host, before it merges. Logs errors; 0 or a negative errno. */
	int (*write)(const struct monitor_options *o, const struct monitor_finish *f);
};
/* NULL: no layout has this name. */
const struct monitor_layout *monitor_layout_find(const char *name);

struct monitor_options {
	struct job_processes_options watch;
	char *const *command; /* run this and sample it; NULL: a job that runs already */
	const char *dir;      /* the job's directory; NULL: plimsoll-<job id> in the current one */
	const char *jobid;    /* NULL: the batch system's, or a new one */
	const char *name;     /* of the job; NULL: the command's or the batch system's */
	uint64_t interval_ns, duration_ns, checkpoint_ns;
	uint64_t timeout_ns; /* of sources that may block */
	uint64_t merge_ns;   /* how long to wait for late hosts */
	bool wait_sampling;  /* and for those that still sample */
	double budget;
	struct sampler_source only[MONITOR_SOURCES_MAX], periods[MONITOR_SOURCES_MAX];
	size_t only_count, period_count;
	struct metric_filter metrics; /* to keep; none: all */
	uint64_t find_ns;             /* how long to look for the job's processes */
	uint64_t find_every_ns;
	bool others_too;                     /* processes of the job may be on other hosts only */
	const char *finished;                /* file whose word FINISHED ends it; NULL: none */
	bool quiet;                          /* no line about what was done */
	bool no_submit;                      /* leave only the directory */
	bool submit;                         /* store the job even where others would do that */
	const struct monitor_layout *layout; /* written in addition; NULL: none */
	/* Called on the merging host instead of merging; NULL: merge. */
	int (*finish)(void *user, const struct monitor_finish *f);
	void *user;
};
/* Defaults of the options. */
#define MONITOR_DEFAULTS                                                                \
	{                                                                               \
		.watch = {.root = ""}, .interval_ns = 1000000000ull,                    \
		.checkpoint_ns = 60000000000ull, .timeout_ns = 10000000000ull,          \
		.merge_ns = 60000000000ull, .budget = 0.005, .find_ns = 25000000000ull, \
		.find_every_ns = 250000000ull                                           \
	}

/* The exit status: that of the command, or 0, or EXIT_FAILED after an error message. */
int do_monitor(struct context *ctx, const struct monitor_options *o);
