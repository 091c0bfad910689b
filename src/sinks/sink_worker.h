/*
 * Replaying a collector's log to its feeds: one thread for each, from its own position, so that a
 * slow or dead one holds up nobody and catches up. A feed that cannot take an entry now gets it
 * again after a pause that grows, whatever the reason; an entry that its target refuses for what is
 * in it is left out, counted, said and kept aside.
 * Whoever has the log is told what every feed has, so that it can be trimmed.
 */
#ifndef PL_SINKS_SINK_WORKER_H
#define PL_SINKS_SINK_WORKER_H

#include <stdint.h>

#include "core/log.h"
#include "sinks/sink.h"
#include "transport/log/commit_log.h"

#define SINK_WORKERS_FEEDS_MAX 64

struct sink_workers_options {
	struct commit_log *log;
	const char *dir;         /* what is remembered of each feed is in a directory below it */
	unsigned commit_entries; /* a commit after so many; 0: the feed's own, or 512 */
	uint64_t commit_ns;      /* or so long; 0: the feed's own, or 1 s */
	uint64_t pause_ns, pause_max_ns; /* between tries, doubling; 0: 100 ms, 30 s */
	/* Everything below this entry is with all feeds; called by their threads, one at a time. */
	void (*trim)(void *user, uint64_t number);
	/* A sentence for a person; called by the feeds' threads. */
	void (*say)(void *user, enum log_level level, const char *feed, const char *text);
	void *user;
};

struct sink_workers;

int sink_workers_new(struct sink_workers **ret, const struct sink_workers_options *o,
		     struct strbuf *why);
/* Before sink_workers_start(). The options' texts are copied; state is filled in. shown: for
 * people, without passwords. */
int sink_workers_add(struct sink_workers *r, const struct sink *feed, const struct sink_options *o,
		     const char *shown, struct strbuf *why);
int sink_workers_start(struct sink_workers *r, struct strbuf *why);
/* Asks all feeds to begin anew: files are rolled over. */
void sink_workers_reopen(struct sink_workers *r);
/* Ends all threads: what is in the log is handed over if that takes no longer than drain_ns, what
 * was handed over is committed. False when a feed did not come back within another grace_ns: its
 * thread is left alone, and the replay must not be freed. */
bool sink_workers_stop(struct sink_workers *r, uint64_t drain_ns, uint64_t grace_ns);
void sink_workers_free(struct sink_workers *r);

enum sink_workers_phase {
	SINK_WORKERS_OPENING, /* for the first time */
	SINK_WORKERS_RUNNING,
	SINK_WORKERS_PAUSING, /* the target cannot take anything now */
	SINK_WORKERS_FAILED,  /* it never will: what was asked for is wrong */
	SINK_WORKERS_ENDED,
};
const char *sink_workers_phase_name(enum sink_workers_phase phase);

struct sink_workers_state {
	const char *feed, *shown;
	enum sink_workers_phase phase;
	uint64_t position;       /* first entry that it has not got for sure */
	uint64_t entries_behind; /* in the log, and not yet committed */
	int64_t behind_since_ns; /* boot time when it last had everything; 0: it has */
	uint64_t committed;      /* entries that it has whole, since the start */
	uint64_t skipped;        /* entries that it can never take, or not all of */
	uint64_t aside;          /* entries that are kept aside, also from before */
	uint64_t missing;        /* entries that were no longer in the log */
	uint64_t failures;       /* tries that ended with "not now" */
	char reason[256];        /* of the last failure or skip */
	int64_t reason_us;
};
size_t sink_workers_count(const struct sink_workers *r);
/* The name of a feed's directory below that of the replay; the caller's. */
char *sink_workers_directory(const struct sink *feed, const char *target);
void sink_workers_state(struct sink_workers *r, size_t i, struct sink_workers_state *ret);

#endif
