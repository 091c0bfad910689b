/*
 * A collector's side of delivery: takes batches from nodes, drops those it has already, appends the
 * others to the log, syncs several at once, and acknowledges. What is acknowledged is in the log
 * once, whatever was killed meanwhile on either side. docs/delivery.md has the protocol.
 */
#ifndef PL_TRANSPORT_RECEIVER_H
#define PL_TRANSPORT_RECEIVER_H

#include <stdint.h>

#include "transport/link.h"
#include "transport/log/commit_log.h"
#include "transport/sending_nodes.h"

struct receiver_options {
	const char *uri;
	const struct link_keys *keys; /* NULL: plain */
	/* Of each allowed key: a shell pattern of the nodes it may send for, NULL where it was
	 * withdrawn. NULL: any. Must stay. */
	const char *const *names;
	const char *const *peers; /* plain: addresses that may call; none: all */
	size_t peer_count;
	size_t connections_max; /* see link.h */
	struct commit_log *log; /* stays the caller's, and is closed after receiver_stop() */
	const char *state;      /* directory for the checkpoint; made when it is not there */
	uint64_t sync_ns;       /* a batch waits at most so long for others; 0: 5 ms */
};

struct receive;

/* Reads the checkpoint and the log behind it, then listens; a thread of its own does the rest. */
int receiver_start(struct receive **ret, const struct receiver_options *o, struct strbuf *why);
void receiver_stop(struct receive *r);
/* Entries of the log below this number are needed no more: trims it, once what must be remembered
 * of them is in the checkpoint. Instead of commit_log_trim(). */
void receiver_trim(struct receive *r, uint64_t number);
/* Others may send from now on; keys->names must stay from here, those from before need not. Keys
 * keep their places. Who is connected with one that was withdrawn gets no answer any more. */
int receiver_allow(struct receive *r, const struct link_keys *keys, struct strbuf *why);
/* Where it listens: with the port where "*" was asked for. */
void receiver_endpoint(struct receive *r, struct strbuf *out);

struct receiver_counts {
	uint64_t batches, bytes; /* appended */
	uint64_t duplicates;     /* there already */
	uint64_t early;          /* came before others that are missing, and will come again */
	uint64_t bad;            /* messages and batches that are none; each peer is logged once */
	uint64_t refused;        /* connections, for their key or address */
	uint64_t closed;         /* connections, for what they made us hold, or their number */
	uint64_t withdrawn;      /* batches of who was allowed when he was connected */
	uint64_t no_room;        /* could not be appended or synced, and will come again */
	uint64_t syncs;
	uint64_t nodes; /* names, of those in receive_senders() */
};
void receiver_counts(struct receive *r, struct receiver_counts *ret);
/* The nodes that are known, those that were silent for longest first; see sending_nodes.h. */
void receive_senders(struct receive *r, struct sending_nodes *ret);

#endif
