/*
 * A node's side of delivery: batches go into a spool on disk and from there to the collector, who
 * acknowledges what is durable with him; only then do they leave the spool. All of it happens in a
 * thread of its own: a collector that is away, or a disk that hangs, never holds up the caller. The
 * spool is bounded and drops its oldest; so is what waits to get into it. docs/delivery.md has the
 * protocol.
 */
#ifndef PL_TRANSPORT_SENDER_H
#define PL_TRANSPORT_SENDER_H

#include <stdint.h>

#include "transport/delivery_problems.h"
#include "transport/link.h"
#include "transport/log/commit_log.h"

struct sender_options {
	const char *uri;              /* of the collector */
	const struct link_keys *keys; /* NULL: plain */
	const char *node;             /* our own name, for the collector's log */
	const char *spool;            /* directory; what an earlier run left in it goes first */
	uint64_t spool_limit;         /* bytes; 0: 256 MiB */
	unsigned window;              /* batches that may wait for their acknowledgement; 0: 32 */
	/* Instead of a spool: sends what others append to this log, from this number on, and trims
	 * nothing; see sender_position(). For collectors that pass on. */
	struct commit_log *log;
	uint64_t from;
	/* Told of what stands in the way, once; by the thread that delivers. */
	void (*say)(void *user, bool over, const char *text);
	void *user;
};

struct sender;

int sender_start(struct sender **ret, const struct sender_options *o, struct strbuf *why);
/* Takes a batch (its bytes are copied), as batcher_take() made it. -ENOBUFS: what waits for the
 * disk is too much already, it is dropped and counted; -EBADMSG: it is no batch. */
int sender_batch(struct sender *d, const void *p, size_t n);
/* The number of the first entry of the log that was not acknowledged. */
uint64_t sender_position(struct sender *d);

struct sender_counts {
	uint64_t given;        /* by sender_batch() */
	uint64_t sent, resent; /* messages */
	uint64_t acknowledged; /* batches */
	uint64_t refused;      /* by the collector, for what they are: they will never be stored */
	uint64_t dropped;      /* for want of room, also in earlier runs with this spool */
	uint64_t damaged;      /* in the spool: they cannot be read any more */
	uint64_t lost_at_stop; /* of those dropped: were in memory, and the spool did not take them
				*/
	uint64_t spooled, spooled_bytes; /* there now */
	uint64_t failed; /* attempts to write to the spool; what it did not take is in memory */
	uint64_t away_since_ns; /* boot time since when the collector is away; 0: it is there */
	bool key_refused;       /* the collector does not know our key, or is not who we think */
	bool refusing;          /* it answers, and takes nothing: no room, or not for our key */
	int disk_error;         /* of the last attempt to write, negative errno */
	char reason[128];       /* of the last refusal */
	char trouble[TROUBLE_COUNT][TROUBLE_TEXT]; /* what stands in the way; empty: nothing */
};
void sender_counts(struct sender *d, struct sender_counts *ret);
/* Waits until everything is acknowledged, at most so long, and ends. How many batches are still in
 * the spool, for the next run; with ret, what became of all. */
uint64_t sender_stop(struct sender *d, uint64_t timeout_ns, struct sender_counts *ret);

#endif
