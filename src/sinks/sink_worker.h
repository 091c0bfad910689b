/*
 * Replays a collector's log to its sinks: one thread for each, from its own position, so that a
 * slow or dead one holds up no other and catches up later. A sink that cannot take an entry now
 * gets it again after a growing pause. An entry that its target refuses because of its content is
 * skipped, counted, logged and kept aside. The owner of the log is told which entries all sinks
 * have, so that it can be trimmed.
 */
#pragma once

#include <stdint.h>

#include "core/log.h"
#include "sinks/sink.h"
#include "transport/log/commit_log.h"

#define SINK_WORKERS_MAX 64

struct sink_workers_options {
	struct commit_log *log;
	const char *dir;                 /* each sink has a state directory below it */
	unsigned commit_entries;         /* commit after so many; 0: the sink's own, or 512 */
	uint64_t commit_ns;              /* or so long; 0: the sink's own, or 1 s */
	uint64_t pause_ns, pause_max_ns; /* between tries, doubling; 0: 100 ms, 30 s */
	/* All sinks have everything before this entry; called by their threads, one at a time. */
	void (*trim)(void *user, uint64_t number);
	/* A message for the log; called by the sinks' threads. */
	void (*say)(void *user, enum log_level level, const char *sink, const char *text);
	void *user;
};

struct sink_workers;

int sink_workers_new(struct sink_workers **ret, const struct sink_workers_options *o,
		     struct strbuf *why);
/* Before sink_workers_start(). Copies the options and fills in the state. shown: for messages,
 * without passwords. */
int sink_workers_add(struct sink_workers *r, const struct sink *sink, const struct sink_options *o,
		     const char *shown, struct strbuf *why);
int sink_workers_start(struct sink_workers *r, struct strbuf *why);
/* Asks all sinks to start new files. */
void sink_workers_reopen(struct sink_workers *r);
/* Ends all threads: delivers what is in the log as far as that takes no longer than drain_ns, and
 * commits. False if a sink did not return within another grace_ns: its thread is left running, and
 * the workers must not be freed. */
bool sink_workers_stop(struct sink_workers *r, uint64_t drain_ns, uint64_t grace_ns);
void sink_workers_free(struct sink_workers *r);

enum sink_workers_phase {
	SINK_WORKERS_OPENING, /* for the first time */
	SINK_WORKERS_RUNNING,
	SINK_WORKERS_PAUSING, /* the target cannot take anything now */
	SINK_WORKERS_FAILED,  /* it never will: its address or options are wrong */
	SINK_WORKERS_ENDED,
};
const char *sink_workers_phase_name(enum sink_workers_phase phase);

struct sink_workers_state {
	const char *sink, *shown;
	enum sink_workers_phase phase;
	uint64_t position;       /* first entry that it may not have */
	uint64_t entries_behind; /* in the log and not yet committed */
	int64_t behind_since_ns; /* boot time when it last had everything; 0: it has now */
	uint64_t committed;      /* complete entries since the start */
	uint64_t skipped;        /* entries that it refused, or parts of them */
	uint64_t aside;          /* entries kept aside, including earlier ones */
	uint64_t missing;        /* entries that the log no longer had */
	uint64_t failures;       /* tries that are repeated later */
	char reason[256];        /* of the last failure or skip */
	int64_t reason_us;
};
size_t sink_workers_count(const struct sink_workers *r);
/* The name of a sink's state directory; freed by the caller. */
char *sink_workers_directory(const struct sink *sink, const char *target);
void sink_workers_state(struct sink_workers *r, size_t i, struct sink_workers_state *ret);
