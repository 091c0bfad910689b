/*
 * The collector's side of delivery: receives batches from nodes, drops duplicates, appends the
 * others to the log, syncs several at once, and acknowledges them. An acknowledged batch is in the
 * log exactly once, whatever was killed meanwhile on either side. docs/delivery.md has the
 * protocol.
 */
#pragma once

#include <stdint.h>

#include "transport/link.h"
#include "transport/log/commit_log.h"
#include "transport/sending_nodes.h"

struct receiver_options {
	const char *uri;
	const struct link_keys *keys; /* NULL: plain */
	/* For each allowed key: a shell pattern of the nodes it may send for; NULL: it was revoked.
	 * NULL instead of the list: any. Must stay valid. */
	const char *const *names;
	const char *const *peers; /* plain: addresses that may connect; none: all */
	size_t peer_count;
	size_t connections_max; /* see link.h */
	struct commit_log *log; /* the caller closes it after receiver_stop() */
	const char *state;      /* directory for the checkpoint, created if missing */
	uint64_t sync_ns;       /* longest time that a batch waits for others; 0: 5 ms */
};

struct receive;

/* Reads the checkpoint and the log after it, then listens in a thread. */
int receiver_start(struct receive **ret, const struct receiver_options *o, struct strbuf *why);
void receiver_stop(struct receive *r);
/* Entries of the log below this number are not needed any more: trims it after the checkpoint
 * covers them. Use this instead of commit_log_trim(). */
void receiver_trim(struct receive *r, uint64_t number);
/* Changes the allowed keys; keys->names must stay valid, the old ones need not. Keys keep their
 * indexes. A connected peer with a revoked key gets no answer any more. */
int receiver_allow(struct receive *r, const struct link_keys *keys, struct strbuf *why);
/* The address it listens at, with the real port instead of "*". */
void receiver_endpoint(struct receive *r, struct strbuf *out);

struct receiver_counts {
	uint64_t batches, bytes; /* appended */
	uint64_t duplicates;     /* in the log already */
	uint64_t early;          /* batches before them are missing; they will be sent again */
	uint64_t bad;            /* invalid messages and batches; each peer is logged once */
	uint64_t refused;        /* connections, because of their key or address */
	uint64_t closed;         /* connections, because of their memory use or number */
	uint64_t withdrawn;      /* batches of peers whose key was revoked meanwhile */
	uint64_t no_room;        /* could not be appended or synced; they will be sent again */
	uint64_t syncs;
	uint64_t nodes; /* number of nodes in receive_senders() */
};
void receiver_counts(struct receive *r, struct receiver_counts *ret);
/* The known nodes, longest silent first; see sending_nodes.h. */
void receive_senders(struct receive *r, struct sending_nodes *ret);
