/* The sources that a sampler reads, each with its own period, slow ones in threads. */
#pragma once

#include <pthread.h>

#include "sampler/sampler.h"

/* The state of a slow source, shared by its thread and the loop. */
enum active_source_phase { ACTIVE_SOURCE_IDLE, ACTIVE_SOURCE_ASKED, ACTIVE_SOURCE_DONE };

struct active_source {
	const struct source *source;
	struct source_context ctx;
	char *option;
	struct sample_set set;
	void *state;
	uint64_t every; /* ticks between samples */
	/* at first it is sampled more often, so that short jobs have several samples: after 1, 2, 4
	 * and so on ticks, up to every, within the budget */
	bool eager;
	uint64_t wait;      /* ticks to the next early sample */
	uint64_t read_tick; /* of the last sample */
	uint64_t cost_ns;   /* its CPU time */
	unsigned stretch;   /* multiplies every, if it is too expensive */
	uint64_t cpu_ns;    /* CPU time since the budget was last checked */
	unsigned number;    /* in the output */
	bool announced;     /* the output knows it */
	bool begun;         /* the output has its counters at the begin of the job */
	bool broken;        /* could not be opened */
	uint64_t tried_ns;  /* when it was last opened */
	int status;         /* of the last open or read */
	struct strbuf why;
	/* slow sources only */
	struct job_processes watch; /* a copy of the list, which changes meanwhile */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum active_source_phase phase;
	bool opened, quit, hung, started;
	uint64_t asked_ns;
};

struct active_sources {
	struct active_source **list; /* allocated one by one: a hanging thread keeps its own */
	size_t count, cap;
	uint64_t glance_ns; /* boot time of the next glance; 0: none */
	uint64_t glance_end_ns;
};

/* Opens all sources that were requested, or that are usable here. */
void active_sources_open(struct active_sources *s, const struct sampler_options *o);
/* After a change of the options: sources that are still wanted stay open with their new periods;
 * all are made known to the output again. */
void active_sources_change(struct active_sources *s, const struct sampler_options *o);
/* Reads the sources that are due at a tick, all at the last, and writes their samples. */
void active_sources_read(struct active_sources *s, const struct sampler_options *o,
			 const struct sample_output *out, uint64_t tick, bool last);
/* Reads the sources of the node's jobs, at any time. */
void active_sources_read_jobs(struct active_sources *s, const struct sampler_options *o,
			      const struct sample_output *out, uint64_t tick);
/* Writes the last samples of a source, as far as they are wanted. */
void active_source_hand_over(struct active_source *s, const struct sampler_options *o,
			     const struct sample_output *out, uint64_t tick);
/* CPU time of all sources since the last call, and the source that used most; NULL: none. */
uint64_t active_sources_cost(struct active_sources *s, struct active_source **ret_costliest);
/* The source with the largest stretch; NULL: none is stretched. */
struct active_source *active_sources_stretched(struct active_sources *s);
/* Between two ticks: does a source want to see the list of processes? Shows it to these. */
bool active_sources_want_look(const struct active_sources *s);
void active_sources_look(struct active_sources *s);
/* Plans when sources next glance at the job; list->glance_ns is 0 if none wants to. */
void active_sources_plan_glance(struct active_sources *s, uint64_t now);
/* Lets them if it is time, and plans the next one. */
void active_sources_glance(struct active_sources *s, const struct sampler_options *o, uint64_t now);
/* Asks slow sources for last samples; active_sources_wait() waits for them, and
 * active_sources_read() takes them. */
void active_sources_ask_last(struct active_sources *s, const struct sampler_options *o,
			     const struct sample_output *out, uint64_t tick);
/* Sampling goes on after last samples were taken: expensive sources return to their pace. */
void active_sources_go_on(struct active_sources *s);
/* Closes all; threads that do not answer are detached. */
void active_sources_close(struct active_sources *s);
/* Dict of names to "sampled" or the reason why not; over: sampling has ended. */
struct value *active_sources_states(const struct active_sources *s, bool over);
bool active_sources_wait(struct active_sources *s, uint64_t ns);
/* CPU time in us by the last samples: of the job's processes, including ended ones, and of its
 * cgroups. False: that source is not available. */
bool active_sources_itemised(const struct active_sources *s, double *ret);
bool active_sources_total(const struct active_sources *s, double *ret);
