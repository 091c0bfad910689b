/* Shared by sink_worker.c and sink_worker_thread.c: one sink and its thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "sinks/sink_worker.h"

#define NOTE_FILE "position"
#define ASIDE_DIR "left-out"

struct sink_worker {
	struct sink_workers *workers;
	const struct sink *sink;
	struct sink_options options; /* texts owned */
	char *name;                  /* of its directory */
	char *shown;
	int dir;
	pthread_t thread;
	bool started, joined;
	atomic_bool reopen;

	/* used by the thread only */
	void *state;    /* NULL: not open */
	bool opened;    /* it was open once */
	bool begun;     /* its first position is known */
	bool note_lost; /* our note of its position was damaged */
	struct commit_log_reader *reader;
	uint64_t given;        /* entries delivered since the last commit */
	uint64_t next;         /* the entry after the last one delivered or skipped */
	uint64_t due_ns;       /* of the next commit, if entries were delivered */
	uint64_t single;       /* up to this entry each is committed alone, to find a bad one */
	uint64_t pause_ns;     /* the next one */
	unsigned stale;        /* commits in a row that asked for their entries again */
	uint64_t noted_ns;     /* when the note was written */
	bool note_failed;      /* it could not be, which was logged */
	uint64_t seed;         /* of the jitter */
	struct strbuf why;     /* scratch */
	uint64_t said_ns;      /* when something was last logged, */
	char said[256];        /* and what */
	struct strbuf refused; /* since the last commit: a byte for each entry, 1: part of it was
				  refused, and it is kept aside */
	uint64_t refused_from; /* the entry of the first byte */

	/* for others, under the lock */
	pthread_mutex_t lock;
	struct sink_workers_state shared;
};

struct sink_workers {
	struct sink_workers_options o;
	uint64_t log_end; /* next number of the log when we began: later entries are new */
	int dir;
	struct sink_worker *sinks[SINK_WORKERS_MAX];
	size_t count;
	atomic_bool stop;
	atomic_ullong drain_until_ns;
	pthread_mutex_t trim_lock;
	pthread_mutex_t wake_lock; /* with its condition: for pauses that a stop ends */
	pthread_cond_t wake;
};

/* The thread; user is the worker. */
void *sink_workers_work(void *user);
/* Keeps a copy of this entry in a separate log, so that refused data is not lost. */
int sink_workers_keep_aside(struct sink_worker *w, uint64_t number);
/* See struct sink_options; user is the worker. */
int sink_workers_refused(void *user, uint64_t number, const char *reason);
/* How many entries it has. */
uint64_t sink_workers_kept_aside(const struct sink_worker *w);
/* Trims entries that all sinks have. */
void sink_workers_trim(struct sink_workers *r);
