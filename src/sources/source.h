/*
 * A source of data is one constant in one file, named in sources.def. This is its contract: what it
 * is called, whether it can be used here, and, for those that are sampled, how a reading is taken.
 * Code that reads /proc or /sys takes the root of the tree from the context, so that tests run on
 * recorded trees.
 */
#ifndef PL_SOURCES_SOURCE_H
#define PL_SOURCES_SOURCE_H

#include "core/strbuf.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "jobs/discovery/job_processes.h"
#include "samples/sample.h"

struct exits;

struct source_context {
	const char *root;            /* in front of /proc, /sys and /dev; "" on a live machine */
	struct job_processes *watch; /* the job being sampled; NULL when the whole node is */
	uint64_t begin_ns; /* boot time when the watched job began; 0: before it was watched */
	struct cgroup_jobs *jobs; /* all jobs of the node, in the node daemon; NULL otherwise */
	struct exits *exits; /* ends of processes, by job, in the node daemon; NULL otherwise */
	const char *option;  /* what was said behind NAME= on the command line; NULL: nothing */
	/* these two may change between readings */
	unsigned stretch; /* what is dear is to be read so many times seldomer; 0 stands for 1 */
	bool whole;       /* everything is to be read: it is the last time */
};

/* What a probe found, for a person. */
struct source_report {
	struct strbuf detail; /* what it gives here, or why it does not */
	const char *remedy;   /* the command that would mend it; NULL when there is none */
};
#define SOURCE_REPORT_INIT            \
	{                             \
		.detail = STRBUF_INIT \
	}

struct source {
	const char *name;
	const char *help; /* one phrase, no full stop */
	/*
	 * 0: usable. Negative errno: not, or not in full (-ENOENT: nothing of the kind is here,
	 * -EACCES or -EPERM: it is, and the remedy gives access); the report says what is missing
	 * and what would mend it. Leaves nothing open behind it.
	 */
	int (*probe)(const struct source_context *ctx, struct source_report *report);

	/* ---- sampling; open is NULL for a source that is not sampled ---- */

	const struct sample_metric *metrics; /* NULL: known only once it is open */
	size_t metric_count;
	unsigned every; /* by default read at each tick (1), or about every n seconds */
	bool slow;      /* may block: read in a thread of its own, with a time-out */
	bool eases;     /* reads what is dear on a clock of its own, by the stretch of its context,
			 * and the rest at every tick whatever the budget */
	bool needs_job; /* samples the processes or groups of ctx->watch, so there must be one */
	bool runs_option; /* what is behind NAME= may be a program or library, which is run or
			     loaded */
	bool on_request;  /* not among those sampled by default */
	bool needs_jobs;  /* samples ctx->jobs: only in the node daemon */
	/*
	 * Makes ready: *state is the source's own. set has the metrics above; a source that knows
	 * them only now sets set->metrics and set->metric_count. What a row is about may be added
	 * here or while reading. 0, or a negative errno with the reason in *why: the source is then
	 * absent, and nothing is left open. ctx stays valid until close.
	 */
	int (*open)(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why);
	/*
	 * Takes a reading: rows of set, which sample_begin() has emptied. Descriptors stay open
	 * from reading to reading where that is cheaper. What cannot be read is left out of the
	 * row, with sample_absent() where that will not change. Negative errno when nothing could
	 * be read at all; the sampler goes on asking.
	 */
	int (*read)(void *state, struct sample_set *set);
	/* The list of the job's processes is new, and no reading is due; NULL: of no interest. Only
	 * for sources that are not slow. */
	void (*look)(void *state);
	void (*close)(void *state);
};

/* Every source, sorted by name; ends with NULL. */
extern const struct source *const sources[];
const struct source *source_find(const char *name); /* NULL when there is none */
/* Adds up to max metrics of sampled sources that a word may mean, commas between them. */
void sources_near_metrics(const char *word, size_t max, struct strbuf *out);
/* "; did you mean 'process'?" for a word that is no sampled source, or where to find them. */
void sources_add_near(const char *word, struct strbuf *out);
/* Its probe; one that may block and does not answer is -ETIMEDOUT. */
int source_probe(const struct source *s, const struct source_context *ctx,
		 struct source_report *report);

/* For probes: opens the source, takes one reading into a new set and closes it; negative errno with
 * the reason in *why. */
int source_once(const struct source *s, const struct source_context *ctx, struct sample_set *set,
		struct strbuf *why);
/* For probes of what a node may have several of: names those of a kind that there are; none tells
 * that there is none. */
int source_probe_kind(const struct source *s, const struct source_context *ctx,
		      enum entity_kind kind, const char *none, struct source_report *report);

#define SOURCE(symbol) extern const struct source source_##symbol;
#include "sources/sources.def"
#undef SOURCE

#endif
