/*
 * A directory that jobs arrive in, and their way into the store: what is there already, what lands
 * while we watch (inotify), and what a look at everything finds where there are no events. Archives
 * and directories of stopped jobs are taken, never names with a dot in front, never links.
 *
 * An input is claimed (inbox_claim.h), submitted, and then removed or moved to done/ beside it;
 * one that is at fault itself goes to the configured failed_dir or failed/ with the reason beside
 * it. When the store is at fault the input goes back under its name and everything waits.
 *
 * Serves the daemon alone, so it speaks through the log. Nothing here blocks but the store and the
 * reading of an input.
 */
#ifndef PL_INBOX_INBOX_H
#define PL_INBOX_INBOX_H

#include "core/config.h"
#include "store/store.h"

struct inbox_options {
	const char *dir; /* NULL: none, the store alone is looked after */
	bool keep, recursive, strict;
	uint64_t interval_ns; /* between two looks at everything */
};

struct inbox_entry {
	char *dir, *name;
	int64_t changed_ns;
};
struct inbox_watch {
	int wd;
	char *path;
};
/* An input that we cannot handle, as it was: not tried again until it changes, or for a while. */
struct inbox_refused {
	char *path;
	int64_t changed_ns;
	uint64_t until_ns;
	bool busy; /* it is to be looked at again soon */
};

struct inbox {
	const struct config *config;
	struct inbox_options o;
	char *dir; /* without links, absolute */
	int notify;
	struct inbox_watch *watches;
	size_t watch_count, watch_cap;
	struct inbox_entry *queue;
	size_t queue_next, queue_count, queue_cap;
	struct inbox_refused *refused;
	size_t refused_count, refused_cap;
	uint64_t next_look_ns; /* by the boot clock */
	int64_t now_ns;        /* of the look, by the directory's clock */
	size_t unsettled;      /* what the look left because it may still be written */
	bool watch_failed, dir_failed;

	struct store *store;
	bool trouble; /* with the store */
	uint64_t retry_ns, pause_ns;
	char *suspect;    /* the input that the store refused last, */
	unsigned strikes; /* and how often */

	uint64_t ingested, failed;
	uint64_t skipped; /* they were in the store already */
};

/* -EINVAL and the like with *why said when it cannot ever work; a store that is out of reach and a
 * directory without events are no failures. */
int inbox_init(struct inbox *in, const struct config *c, const struct inbox_options *o,
	       struct strbuf *why);
void inbox_release(struct inbox *in);

/* To be polled for reading, then inbox_events(); -1 when there is none. */
int inbox_fd(const struct inbox *in);
void inbox_events(struct inbox *in);
/* Finds everything that waits, puts back what dead daemons held. */
void inbox_look(struct inbox *in);
/* One input. False when there is nothing to do now. */
bool inbox_step(struct inbox *in);
size_t inbox_waiting(const struct inbox *in);
/* When to come back though nothing happened: boot clock, ns. A look is due at next_look_ns. */
uint64_t inbox_due_ns(const struct inbox *in);

/* The store, opened where needed; NULL while there is trouble. Afterwards inbox_store_failed()
 * tells that it did not work out. */
struct store *inbox_store(struct inbox *in);
void inbox_store_failed(struct inbox *in, const char *why);

/* ---- between its files ---------------------------------------------------------------------- */

#define NS_PER_S UINT64_C(1000000000)

void inbox_push(struct inbox *in, const char *dir, const char *name, int64_t changed_ns);
/* Directories that were watched and are about to go. */
void inbox_unwatch(struct inbox *in, const char *path);
bool inbox_is_refused(struct inbox *in, const char *path, int64_t changed_ns);
/* Says why and lets it be until it changes. busy: for some seconds, and says so once. */
void inbox_refuse(struct inbox *in, const char *dir, const char *name, const char *why, bool busy);

#endif
