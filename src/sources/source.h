/*
 * A source of data is one constant in one file, listed in sources.def. This is its contract: its
 * name, whether it can be used here and, if it is sampled, how a reading is taken. Code that reads
 * /proc or /sys takes the root of the tree from the context, so that tests run on recorded trees.
 */
#pragma once

#include "core/strbuf.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "jobs/discovery/job_processes.h"
#include "samples/sample.h"

struct exits;

struct source_context {
	const char *root;            /* in front of /proc, /sys and /dev; "" on a live machine */
	struct job_processes *watch; /* the job being sampled; NULL when the whole node is */
	uint64_t begin_ns; /* boot time when the watched job began; 0: before watching began */
	struct cgroup_jobs *jobs; /* all jobs of the node, in the node daemon; NULL otherwise */
	struct exits *exits; /* ends of processes, by job, in the node daemon; NULL otherwise */
	const char *option;  /* the text behind NAME= on the command line; NULL: none */
	/* these two may change between readings */
	unsigned stretch; /* read expensive values less often by this factor; 0 means 1 */
	bool whole;       /* read everything: this is the last reading */
};

/* The result of a probe, for people. */
struct source_report {
	struct strbuf detail; /* what the source gives here, or why it is not usable */
	const char *remedy;   /* the command that would enable it; NULL: none */
};
#define SOURCE_REPORT_INIT            \
	{                             \
		.detail = STRBUF_INIT \
	}

struct source {
	const char *name;
	const char *help; /* one phrase, no full stop */
	/*
	 * 0: usable. Negative errno: not usable, or not fully (-ENOENT: there is no such thing
	 * here, -EACCES or -EPERM: there is, and the remedy gives access). The report says what is
	 * missing and how to enable it. Leaves nothing open. NULL: opens the source, describes it
	 * and closes it.
	 */
	int (*probe)(const struct source_context *ctx, struct source_report *report);
	void (*describe)(void *state, struct strbuf *out); /* without a probe: what is open */
	const char *remedy; /* when permission is missing and the report has none; NULL: none */

	/* ---- sampling; open is NULL for a source that is not sampled ---- */

	const struct sample_metric *metrics; /* NULL: known only when it is open */
	size_t metric_count;
	unsigned every;   /* default: read at each tick (1), or about every n seconds */
	bool slow;        /* may block: read in its own thread, with a time-out */
	bool eases;       /* reads expensive values less often by itself, according to ctx->stretch,
			   * and the rest at every tick whatever the budget */
	bool needs_job;   /* samples the processes or cgroups of ctx->watch, which must exist */
	bool runs_option; /* the text behind NAME= may be a program to run or a library to load */
	bool on_request;  /* not sampled by default */
	bool needs_jobs;  /* samples ctx->jobs: only in the node daemon */
	/*
	 * Prepares sampling: *state belongs to the source. set has the metrics above; a source that
	 * knows them only now sets set->metrics and set->metric_count. Entities may be added here
	 * or while reading. 0, or a negative errno with the reason in *why: the source is then
	 * absent, and nothing is left open. ctx stays valid until close.
	 */
	int (*open)(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why);
	/*
	 * Takes a reading into rows of set, which sample_begin() has emptied. Descriptors stay open
	 * between readings where that is cheaper. A value that cannot be read is left out of the
	 * row, with sample_absent() if that is permanent. Negative errno when nothing could be read
	 * at all; the sampler keeps trying.
	 */
	int (*read)(void *state, struct sample_set *set);
	/* The list of the job's processes has changed, and no reading is due. NULL: not needed. Not
	 * for slow sources. */
	void (*look)(void *state);
	/* About every glance_ns, at irregular times between readings, with a list of the job's
	 * processes that is up to date: for states, which have to be sampled more often than
	 * counters. NULL: not needed. Not for slow sources. */
	void (*glance)(void *state);
	uint64_t glance_ns;
	void (*close)(void *state);
};

/* Every source, sorted by name; ends with NULL. */
extern const struct source *const sources[];
const struct source *source_find(const char *name); /* NULL when there is none */
/* Adds up to max metrics of sampled sources that a word may mean, separated by commas. */
void sources_near_metrics(const char *word, size_t max, struct strbuf *out);
/* Adds "; did you mean 'process'?" for a misspelt source, or how to list them. */
void sources_add_near(const char *word, struct strbuf *out);
/* Runs the probe of a source; -ETIMEDOUT when a slow one does not answer. */
int source_probe(const struct source *s, const struct source_context *ctx,
		 struct source_report *report);

/* For probes: opens the source, takes one reading into a new set and closes it; negative errno with
 * the reason in *why. */
int source_once(const struct source *s, const struct source_context *ctx, struct sample_set *set,
		struct strbuf *why);
/* For probes of devices: lists those of a kind by name; none is the text when there are none. */
int source_probe_kind(const struct source *s, const struct source_context *ctx,
		      enum entity_kind kind, const char *none, struct source_report *report);

#define SOURCE(symbol) extern const struct source source_##symbol;
#include "sources/sources.def"
#undef SOURCE
