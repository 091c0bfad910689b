/*
 * Where a collector's data goes: a sink is one constant in one file, named in sinks.def. Each
 * configured sink replays the collector's log in its own thread from its own position, so that a
 * slow or dead one holds up no other. It gets each batch at least once; its target must hold the
 * data once. To that end the target stores the position, uses keys, or counts rows.
 */
#pragma once

#include <stdint.h>

#include "core/value.h"
#include "samples/row_layout.h"
#include "transport/batch.h"

struct own_metrics;

struct sink_options {
	const char *target;    /* what follows KIND: */
	const char *state;     /* private directory for what the sink has to remember */
	uint64_t log;          /* id of the log that entries come from */
	const char *user_file; /* a file with "user:password"; NULL: none */
	bool no_check_certificates;
	const char *prefix;                   /* of indices and tables; NULL: the sink's default */
	int level;                            /* of compression; -1: the sink's default */
	uint64_t rollover_bytes, rollover_ns; /* 0: never */
	/* Sources with a table in this layout get no rows of our own; NULL: they get both. */
	const struct row_layout *layout;
	/* The target refused part of this entry and took the rest: the entry is counted and kept
	 * aside. NULL: not wanted. Negative errno: it cannot be kept now; the commit must fail, and
	 * is tried again. */
	int (*refused)(void *user, uint64_t number, const char *reason);
	void *refused_user;
	struct own_metrics *own; /* metrics of the collector itself; NULL: none */
};

struct sink {
	const char *name;   /* KIND */
	const char *target; /* what the target is, for help: "PATH", "URL" */
	const char *help;   /* one phrase, no full stop */
	/*
	 * Opens the target. *position: number of the first log entry that it may not have (0: it
	 * does not know, the worker's own note counts). -EAGAIN: not reachable now, try again
	 * later; other negative errnos: never; the reason is in *why.
	 */
	int (*open)(const struct sink_options *o, void **state, uint64_t *position,
		    struct strbuf *why);
	/*
	 * Takes one entry of the log, opened (read events by sample_file_next(), do not close),
	 * with its name. May buffer it until commit. 1: wants a commit now, because much is
	 * buffered. -EBADMSG, -E2BIG: the target will never take this entry: it is skipped, counted
	 * and kept aside. All other errors: not now; this entry and those since the last commit
	 * come again after a pause.
	 */
	int (*batch)(void *state, uint64_t number, const struct batch_name *name,
		     struct sample_file *f, struct strbuf *why);
	/* Makes everything up to and including this entry durable in the target. Errors as above.
	 * -ESTALE: others changed in the target what the sink had looked up; it has discarded the
	 * entries since the last commit, which come again without a pause. */
	int (*commit)(void *state, uint64_t number, struct strbuf *why);
	/*
	 * The log was restored to an earlier state: entries from this number on in the target are
	 * of the lost log. The sink must remember that durably. Errors as above. NULL: where open()
	 * gives no position.
	 */
	int (*number_again)(void *state, uint64_t next, struct strbuf *why);
	/* Starts a new file (rollover by HUP); NULL: nothing to do. */
	int (*reopen)(void *state, struct strbuf *why);
	/* Discards what was not committed. */
	void (*close)(void *state);
	/* Commit after so many entries, or so long, at the latest; 0: defaults of sink_worker.h. */
	unsigned commit_entries;
	uint64_t commit_ns;
};

/* The end of open(): hands out the state, or closes it if r is an error, which is returned. */
static inline int sink_opened(void *opened, int r, void (*close)(void *state), void **state)
{
	if (r < 0)
		close(opened);
	else
		*state = opened;
	return r;
}

extern const struct sink *const sinks[]; /* sorted by name; ends with NULL */
const struct sink *sink_find(const char *name);
/* "KIND:TARGET" without passwords; freed by the caller. */
char *sink_shown(const char *sink);

/* The job that an entity belongs to: a job itself, or its metadata "job"; false: the whole node.
 * Not terminated. */
bool sink_job_of(const struct entity *e, const char **ret, size_t *ret_size);
