/*
 * Sampling a job on this host: what `plimsoll monitor` does with its options, and other names too.
 * Each host samples into the job's directory; when it is over one of them waits for the others and
 * puts the samples together.
 */
#ifndef PL_MONITOR_MONITOR_H
#define PL_MONITOR_MONITOR_H

#include "context/context.h"
#include "jobs/job_hosts.h"
#include "sampler/sampler.h"

#define MONITOR_SOURCES_MAX 64

/* What the host that puts all together can use. */
struct monitor_finish {
	const struct jobdir *job;
	const struct job_hosts *peers;
	const char *missing; /* hosts that have not reported, blanks between; "" when all have */
};

struct monitor_options;

/* Files of another form, written from what all hosts sampled; monitor_layouts.def lists them. */
struct monitor_layout {
	const char *name;
	/* Called on the host that puts all together, before it does. Says what went wrong; 0 or a
	 * negative errno. */
	int (*write)(const struct monitor_options *o, const struct monitor_finish *f);
};
/* NULL: there is none of that name. */
const struct monitor_layout *monitor_layout_find(const char *name);

struct monitor_options {
	struct job_processes_options watch;
	char *const *command; /* run this and sample it; NULL: a job that runs already */
	const char *dir;      /* the job's directory; NULL: plimsoll-<job id> in the current one */
	const char *jobid;    /* NULL: the batch system's, or a new one */
	const char *name;     /* of the job; NULL: the command's or the batch system's */
	uint64_t interval_ns, duration_ns, checkpoint_ns;
	uint64_t timeout_ns; /* of sources that may block */
	uint64_t merge_ns;   /* how long hosts that are late are waited for */
	bool wait_sampling;  /* and those that sample as long as they do */
	double budget;
	struct sampler_source only[MONITOR_SOURCES_MAX], periods[MONITOR_SOURCES_MAX];
	size_t only_count, period_count;
	struct metric_filter metrics; /* to keep; none: all */
	uint64_t find_ns;             /* how long to look for the job's processes */
	uint64_t find_every_ns;
	bool others_too;      /* other hosts may have processes of the job where this has none */
	const char *finished; /* file whose word FINISHED ends it; NULL: none */
	bool quiet;           /* no line about what was done */
	bool no_submit;       /* leave only the directory */
	bool submit;          /* put it into the store where that is left to others */
	const struct monitor_layout *layout; /* to write besides; NULL: none */
	/* Called on the host that puts all together instead of merging; NULL: merges. */
	int (*finish)(void *user, const struct monitor_finish *f);
	void *user;
};
/* What the options begin as. */
#define MONITOR_DEFAULTS                                                                \
	{                                                                               \
		.watch = {.root = ""}, .interval_ns = 1000000000ull,                    \
		.checkpoint_ns = 60000000000ull, .timeout_ns = 10000000000ull,          \
		.merge_ns = 60000000000ull, .budget = 0.005, .find_ns = 25000000000ull, \
		.find_every_ns = 250000000ull                                           \
	}

/* The exit status: the command's, or 0, or EXIT_FAILED with a message said. */
int do_monitor(struct context *ctx, const struct monitor_options *o);

#endif
