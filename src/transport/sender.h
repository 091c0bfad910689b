/*
 * The node's side of delivery: batches go into a spool on disk and from there to the collector, and
 * leave the spool when the collector has acknowledged that they are durable. A thread does all of
 * this: a collector that is away, or a disk that hangs, never blocks the caller. The spool is
 * bounded and drops its oldest batches; the queue in memory before it is bounded as well.
 * docs/delivery.md has the protocol.
 */
#pragma once

#include <stdint.h>

#include "transport/delivery_problems.h"
#include "transport/link.h"
#include "transport/log/commit_log.h"

struct sender_options {
	const char *uri;              /* of the collector */
	const struct link_keys *keys; /* NULL: plain */
	const char *node;             /* our name, for the collector's log */
	const char *spool;            /* directory; batches of earlier runs in it are sent first */
	uint64_t spool_limit;         /* bytes; 0: 256 MiB */
	unsigned window;              /* batches that may wait for acknowledgement; 0: 32 */
	/* Instead of a spool: sends what others append to this log, from this number on, and does
	 * not trim it; see sender_position(). For collectors that forward. */
	struct commit_log *log;
	uint64_t from;
	/* Called by the sender's thread when a problem begins or is over. */
	void (*say)(void *user, bool over, const char *text);
	void *user;
};

struct sender;

int sender_start(struct sender **ret, const struct sender_options *o, struct strbuf *why);
/* Copies a batch as made by batcher_take(). -ENOBUFS: the queue is full, the batch is dropped and
 * counted; -EBADMSG: invalid batch. */
int sender_batch(struct sender *d, const void *p, size_t n);
/* The number of the first entry of the log that is not acknowledged. */
uint64_t sender_position(struct sender *d);

struct sender_counts {
	uint64_t given;        /* by sender_batch() */
	uint64_t sent, resent; /* messages */
	uint64_t acknowledged; /* batches */
	uint64_t refused;      /* by the collector as invalid: they are never stored */
	uint64_t dropped;      /* because the spool was full, also by earlier runs */
	uint64_t damaged;      /* in the spool: they cannot be read any more */
	uint64_t lost_at_stop; /* of those dropped: left in memory when the spool failed */
	uint64_t spooled, spooled_bytes; /* in the spool now */
	uint64_t failed;        /* attempts to write to the spool; those batches stay in memory */
	uint64_t away_since_ns; /* boot time since when the collector is away; 0: it is there */
	bool key_refused;       /* the collector does not know our key, or has another key */
	bool refusing;          /* it answers, but accepts nothing: its log is full, or our key */
	int disk_error;         /* of the last attempt to write, negative errno */
	char reason[128];       /* of the last refusal */
	char problem[PROBLEM_COUNT][PROBLEM_TEXT]; /* of delivery; empty: none */
};
void sender_counts(struct sender *d, struct sender_counts *ret);
/* Waits until everything is acknowledged, up to the time-out, and ends. Returns the number of
 * batches left in the spool for the next run; *ret, if given, gets the counts. */
uint64_t sender_stop(struct sender *d, uint64_t timeout_ns, struct sender_counts *ret);
