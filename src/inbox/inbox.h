/*
 * A directory in which jobs arrive, to be stored: inputs that exist at the start, those that arrive
 * while it is watched (inotify), and those that a periodic scan finds where there are no events.
 * Archives and directories of stopped jobs are taken, but no hidden names and no links.
 *
 * An input is claimed (inbox_claim.h), submitted, and then removed or moved to done/. An invalid
 * one goes to the configured failed_dir or to failed/, with the reason in a file. If the store
 * fails, the input is put back under its name and everything waits.
 *
 * Used by the daemon only, so it writes to the log. Only the store and reading an input may block.
 */
#pragma once

#include "core/config.h"
#include "core/value.h"
#include "store/store.h"

struct hook;
struct inbox_options {
	const char *dir; /* NULL: none, only the store is maintained */
	bool keep, recursive, strict;
	uint64_t interval_ns; /* between two scans */
	struct hook *hook;    /* is told what happens; NULL: nobody */
	bool analyse;         /* compare new jobs with the models */
};

struct inbox_entry {
	char *dir, *name;
	int64_t changed_ns;
};
struct inbox_watch {
	int wd;
	char *path;
};
/* An input that we cannot handle: not tried again until it changes, or for a while. */
struct inbox_refused {
	char *path;
	int64_t changed_ns;
	uint64_t until_ns;
	bool busy; /* try again soon */
};

struct inbox {
	const struct config *config;
	struct inbox_options o;
	char *dir; /* absolute, without links */
	int notify;
	struct inbox_watch *watches;
	size_t watch_count, watch_cap;
	struct inbox_entry *queue;
	size_t queue_next, queue_count, queue_cap;
	struct inbox_refused *refused;
	size_t refused_count, refused_cap;
	uint64_t next_look_ns; /* by the boot clock */
	int64_t now_ns;        /* of the scan, by the clock of the filesystem */
	size_t unsettled;      /* inputs that may still be written */
	bool watch_failed, dir_failed;

	struct store *store;
	bool trouble; /* with the store */
	uint64_t retry_ns, pause_ns;
	char *suspect;    /* the input that the store refused last */
	unsigned strikes; /* and how often */

	int64_t *fresh; /* jobs to be analysed */
	size_t fresh_next, fresh_count, fresh_cap;
	bool look_for_jobs;  /* that others stored */
	int64_t last_job;    /* the last one that was found so */
	int64_t unlucky;     /* the job at which the store failed */
	struct value *noted; /* what was reported of models */

	uint64_t ingested, failed;
	uint64_t skipped; /* that were in the store already */
};

/* Fails only for errors that cannot pass, such as -EINVAL, explained in *why; an unreachable store
 * and a directory without events are no failures. */
int inbox_init(struct inbox *in, const struct config *c, const struct inbox_options *o,
	       struct strbuf *why);
void inbox_release(struct inbox *in);

/* To be polled for reading, then call inbox_events(); -1: none. */
int inbox_fd(const struct inbox *in);
void inbox_events(struct inbox *in);
/* Scans for all inputs, and puts back those of dead daemons. */
void inbox_look(struct inbox *in);
/* Handles one input. False: nothing to do now. */
bool inbox_step(struct inbox *in);
size_t inbox_waiting(const struct inbox *in);
/* Analyses one new job. False: there is none, or the store fails. */
bool inbox_analyse(struct inbox *in);
/* When to call again without an event: boot time, ns. A scan is due at next_look_ns. */
uint64_t inbox_due_ns(const struct inbox *in);

/* The store, opened if needed; NULL while it fails. Report later errors by inbox_store_failed(). */
struct store *inbox_store(struct inbox *in);
void inbox_store_failed(struct inbox *in, const char *why);

/* ---- between its files ---------------------------------------------------------------------- */

#define NS_PER_S UINT64_C(1000000000)

struct import_result;
/* Tell the hook. source: the original path of the input; moved: where it is now, NULL: unknown. */
void inbox_tell_submitted(struct inbox *in, const struct import_result *got, const char *source);
/* result: of one model, see views/outliers/job_analysis.h. */
void inbox_tell_outlier(struct inbox *in, int64_t job, const char *label,
			const struct value *result);
void inbox_tell_failed(struct inbox *in, const char *source, const char *reason, const char *moved);

/* Remembers a job for inbox_analyse(). */
void inbox_analyse_later(struct inbox *in, int64_t job);

void inbox_push(struct inbox *in, const char *dir, const char *name, int64_t changed_ns);
/* Stops watching a directory that is about to be claimed. */
void inbox_unwatch(struct inbox *in, const char *path);
bool inbox_is_refused(struct inbox *in, const char *path, int64_t changed_ns);
/* Logs the reason, and ignores it until it changes. busy: for some seconds, logged once. */
void inbox_refuse(struct inbox *in, const char *dir, const char *name, const char *why, bool busy);
