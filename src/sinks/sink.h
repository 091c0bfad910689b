/*
 * Where a collector's data goes: a feed is one constant in one file, named in sinks.def. Each one
 * that is configured replays the collector's log in a thread of its own from its own position, so
 * that a slow or dead one holds up nobody. It gets each batch at least once; what is read back from
 * its target must be there once: positions that lie in the target itself, keys, or row counts.
 */
#ifndef PL_SINKS_SINK_H
#define PL_SINKS_SINK_H

#include <stdint.h>

#include "core/value.h"
#include "samples/row_layout.h"
#include "transport/batch.h"

struct own_metrics;

struct sink_options {
	const char *target;    /* what stands behind KIND: */
	const char *state;     /* directory for what must be remembered, private to this feed */
	uint64_t log;          /* id of the log that entries come from */
	const char *user_file; /* "user:password" in a file; NULL: none */
	bool no_check_certificates;
	const char *prefix;                   /* of indices and tables; NULL: the feed's own */
	int level;                            /* of compression; -1: the feed's own */
	uint64_t rollover_bytes, rollover_ns; /* 0: never */
	/* Sources that a table of this layout is for have no rows of our own; NULL: they have both.
	 */
	const struct row_layout *layout;
	/* A part of this entry was refused for what is in it, the rest is taken: the entry is
	 * counted and kept aside. NULL: nobody wants to know. Negative errno: it cannot be kept
	 * now, so that part must wait: the commit fails, and is tried again. */
	int (*refused)(void *user, uint64_t number, const char *reason);
	void *refused_user;
	struct own_metrics *own; /* what the collector says of itself; NULL: nothing */
};

struct sink {
	const char *name;   /* KIND */
	const char *target; /* what the target is, for help: "PATH", "URL" */
	const char *help;   /* one phrase, no full stop */
	/*
	 * Opens the target. *position: number of the first log entry that it has not got for sure
	 * (0: it does not know, the caller's own note counts). -EAGAIN: not reachable now, call
	 * again later; other negative errnos: never, the reason in *why.
	 */
	int (*open)(const struct sink_options *o, void **state, uint64_t *position,
		    struct strbuf *why);
	/*
	 * One entry of the log, opened (events by sample_file_next(); not to be closed), with its
	 * name. What it gives may be held back until commit. 1: a commit is wanted now, as much is
	 * held. -EBADMSG, -E2BIG: the target has seen this entry and will never take it: it is left
	 * out, counted, kept aside, and the next one comes. All other errors, -EAGAIN or not: not
	 * now; the same entry and those since the last commit come again after a pause.
	 */
	int (*batch)(void *state, uint64_t number, const struct batch_name *name,
		     struct sample_file *f, struct strbuf *why);
	/* Everything up to and with this entry is to be durable in the target. 0, errors as above.
	 * -ESTALE: others changed in the target what it had looked up; it keeps nothing, and the
	 * entries since the last commit come again without a pause. */
	int (*commit)(void *state, uint64_t number, struct strbuf *why);
	/*
	 * The log was put back to an earlier state: what the target knows of entries from this
	 * number on is of others, and it remembers so for good. Errors as above. NULL: where
	 * open() gives no position.
	 */
	int (*number_again)(void *state, uint64_t next, struct strbuf *why);
	/* Asked to begin anew (rollover by HUP); NULL: means nothing here. */
	int (*reopen)(void *state, struct strbuf *why);
	/* Gives up what was not committed. */
	void (*close)(void *state);
	/* A commit at the latest after so many entries, or so long; 0: what sink_worker.h has. */
	unsigned commit_entries;
	uint64_t commit_ns;
};

extern const struct sink *const sinks[]; /* sorted by name; ends with NULL */
const struct sink *sink_find(const char *name);
/* "KIND:TARGET" as it may be shown; freed by the caller. */
char *sink_shown(const char *sink);

/* The job that a row is about: a job itself, or what has a fact "job"; false: the node as a whole.
 * Not terminated. */
bool sink_job_of(const struct entity *e, const char **ret, size_t *ret_size);

#endif
