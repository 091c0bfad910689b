/* The sources that a sampler reads: opened, read at their own rhythm, the slow ones in threads. */
#ifndef PL_SAMPLER_ACTIVE_SOURCES_H
#define PL_SAMPLER_ACTIVE_SOURCES_H

#include <pthread.h>

#include "sampler/sampler.h"

/* What a thread of a slow source and the loop tell each other. */
enum active_source_phase { ACTIVE_SOURCE_IDLE, ACTIVE_SOURCE_ASKED, ACTIVE_SOURCE_DONE };

struct active_source {
	const struct source *source;
	struct source_context ctx;
	char *option;
	struct sample_set set;
	void *state;
	uint64_t every; /* ticks between readings */
	/* at first it is read more often, so that short jobs have several readings: after 1, 2, 4
	 * and so on ticks, until that is every; as its cost allows */
	bool eager;
	uint64_t wait;      /* ticks after the last reading */
	uint64_t read_tick; /* of the last reading */
	uint64_t cost_ns;   /* CPU time of it */
	unsigned stretch;   /* times as many, where it is too dear */
	uint64_t cpu_ns;    /* CPU time of its readings since the budget was looked at */
	unsigned number;    /* in the outlet */
	bool told;          /* the outlet knows it */
	bool begun;         /* it was told what the job's counters were at its begin */
	bool broken;        /* could not be opened: nothing to read */
	uint64_t tried_ns;  /* when it was opened last */
	int status;         /* of the last open or read */
	struct strbuf why;
	/* slow sources only */
	struct job_processes
		watch; /* the list as it was when the source was asked: ours changes meanwhile */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum active_source_phase phase;
	bool opened, quit, hung, started;
	uint64_t asked_ns;
};

struct active_sources {
	struct active_source *
		*list; /* each on its own: a thread that hangs keeps its slot for ever */
	size_t count, cap;
};

/* Opens all sources that were asked for, or that are of use here. */
void active_sources_open(struct active_sources *s, const struct sampler_options *o);
/* The same after the options changed: what is wanted still stays open, with its rhythm by the new
 * ones; all are told anew. */
void active_sources_change(struct active_sources *s, const struct sampler_options *o);
/* Reads those that are due at a tick and hands what they gave to the outlet; all at the last. */
void active_sources_read(struct active_sources *s, const struct sampler_options *o,
			 const struct sample_output *out, uint64_t tick, bool last);
/* Reads those of the node's jobs, whenever. */
void active_sources_read_jobs(struct active_sources *s, const struct sampler_options *o,
			      const struct sample_output *out, uint64_t tick);
/* Hands over what a source gave when it was last read, as far as it is wanted. */
void active_source_hand_over(struct active_source *s, const struct sampler_options *o,
			     const struct sample_output *out, uint64_t tick);
/* CPU time of all readings since this was last asked for, and the source that took most of it; NULL
 * when there was none. */
uint64_t active_sources_cost(struct active_sources *s, struct active_source **ret_dearest);
/* The source that is read least often for its cost; NULL when there is none. */
struct active_source *active_sources_stretched(struct active_sources *s);
/* Between two readings: is there a source that wants to see the list of processes, and show it. */
bool active_sources_want_look(const struct active_sources *s);
void active_sources_look(struct active_sources *s);
/* Asks slow sources for a last reading, which active_sources_wait() waits for and
 * active_sources_read() takes. */
void active_sources_ask_last(struct active_sources *s, const struct sampler_options *o,
			     const struct sample_output *out, uint64_t tick);
/* There are readings after the last: what is dear is read at its own pace again. */
void active_sources_go_on(struct active_sources *s);
/* Closes; threads that do not answer are left behind. */
void active_sources_close(struct active_sources *s);
/* Name to "sampled" or the reason; over: nothing is read any more. */
struct value *active_sources_states(const struct active_sources *s, bool over);
bool active_sources_wait(struct active_sources *s, uint64_t ns);
/* CPU time in us by the last readings: of the job's processes, ended ones included, and of its
 * control groups. False where that source is not there. */
bool active_sources_itemised(const struct active_sources *s, double *ret);
bool active_sources_total(const struct active_sources *s, double *ret);

#endif
