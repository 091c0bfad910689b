/* What sink_worker.c and sink_worker_thread.c share: one feed and its thread. */
#ifndef PL_SINKS_SINK_WORKER_INTERNAL_H
#define PL_SINKS_SINK_WORKER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "sinks/sink_worker.h"

#define NOTE_FILE "position"
#define ASIDE_DIR "left-out"

struct sink_worker {
	struct sink_workers *replay;
	const struct sink *feed;
	struct sink_options options; /* texts owned */
	char *name;                  /* of its directory */
	char *shown;
	int dir;
	pthread_t thread;
	bool started, joined;
	atomic_bool reopen;

	/* the thread's own */
	void *state;    /* NULL: not open */
	bool opened;    /* it was, once */
	bool begun;     /* it is known where it begins */
	bool note_lost; /* our note of its position could not be understood */
	struct commit_log_reader *reader;
	uint64_t given;         /* entries handed over since the last commit */
	uint64_t next;          /* the entry after the last one that was handed over or skipped */
	uint64_t due_ns;        /* of the next commit, when something was given */
	uint64_t single;        /* up to this entry each is committed by itself: one is bad */
	uint64_t pause_ns;      /* the next one */
	unsigned stale;         /* commits in a row that asked for their entries again */
	uint64_t noted_ns;      /* when the note was written */
	bool note_failed;       /* it could not be, and that was said */
	uint64_t seed;          /* of the jitter */
	struct strbuf why;      /* scratch */
	uint64_t said_ns;       /* when something was last said, */
	char said[256];         /* and what */
	uint64_t open_position; /* as it was told */
	struct strbuf refused;  /* since the last commit: a byte for each entry, 1: kept aside for a
				   part of it */
	uint64_t refused_from;  /* which entry the first byte is about */

	/* for others, under the lock */
	pthread_mutex_t lock;
	struct sink_workers_state shared;
};

struct sink_workers {
	struct sink_workers_options o;
	uint64_t log_end; /* the number that came next when we began: what is behind it is new */
	int dir;
	struct sink_worker *sinks[SINK_WORKERS_FEEDS_MAX];
	size_t count;
	atomic_bool stop;
	atomic_ullong drain_until_ns;
	pthread_mutex_t trim_lock;
	pthread_mutex_t wake_lock; /* and its condition: for pauses that a stop ends */
	pthread_cond_t wake;
};

/* The thread; user is the feed. */
void *sink_workers_work(void *user);
/* Keeps the entry of this number aside, in a log of its own: what is left out is not lost. */
int sink_workers_keep_aside(struct sink_worker *f, uint64_t number);
/* For feeds that take a part of an entry (feed_options.refused); user is the feed. Negative: it
 * cannot be kept, and must wait. */
int sink_workers_refused(void *user, uint64_t number, const char *reason);
/* How many are there. */
uint64_t sink_workers_kept_aside(const struct sink_worker *f);
/* Trims what all feeds have. */
void sink_workers_trim(struct sink_workers *r);

#endif
