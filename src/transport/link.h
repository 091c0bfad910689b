/*
 * Messages between nodes, collectors and `plimsoll configure`, by ZeroMQ (module "zmq"). A message
 * is a list of parts. Each link belongs to one thread.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

enum link_kind {
	LINK_DEALER, /* a node to its collector; configure to a node */
	LINK_ROUTER, /* a collector, a node's control address: the first part is the peer's id */
	LINK_PUSH,   /* to a collector of another protocol */
	LINK_PULL,   /* from nodes of another protocol */
};

/* A key that was revoked, for the log. */
struct revoked_key {
	char key[41];
	char *name; /* of the nodes that it was for */
	char *time; /* "": unknown */
};

/* CURVE keys, 40 characters of Z85 each. */
struct link_keys {
	const char *secret, *public; /* our own; NULL: plain */
	const char *server;          /* DEALER: the public key of the peer */
	const char *const *allowed;  /* ROUTER: public keys that may connect */
	size_t allowed_count;
	const char *const *names; /* of each allowed key; NULL there: it was revoked */
	const struct revoked_key *revoked;
	size_t revoked_count;
};

struct link_options {
	enum link_kind kind;
	const char *uri;
	bool bind;
	const struct link_keys *keys; /* NULL: plain */
	/* plain binds: addresses that may connect, "10.1.2.3" or "10.1.0.0/16"; none: all */
	const char *const *peers;
	size_t peer_count;
	bool own_users;     /* local binds: only this user and root may connect */
	size_t message_max; /* a longer message ends the connection; 0: 16 MiB */
	/* Binds: most connections, a quarter of them from one address; 0: as many as open files
	 * allow. A connection for which we hold more than four messages of the largest size is
	 * closed. */
	size_t connections_max;
	int high_water;         /* messages held per peer; 0: 1000 */
	int answers_high_water; /* messages held to send to it; 0: the same */
	int linger_ms;          /* at close */
	/* Connects: without a connection link_send() returns -EAGAIN, and link_state() works.
	 * Otherwise messages wait for a connection, up to the high-water mark. */
	bool only_connected;
};

struct link_part {
	const void *data;
	size_t size;
};
#define LINK_PARTS_MAX 8

struct link;

int link_open(struct link **ret, const struct link_options *o, struct strbuf *why);
void link_close(struct link *l);
/* For poll(): readable when link_receive() may have a message (edge-triggered: receive until there
 * is none, also after sending). */
int link_descriptor(struct link *l);
/* 0, -EAGAIN: it would block, -EHOSTUNREACH: a ROUTER's peer is gone. */
int link_send(struct link *l, const struct link_part *parts, size_t count);
/* 1 with the parts, valid until the next call; 0: no message; negative errno. Drops parts above
 * LINK_PARTS_MAX. */
int link_receive(struct link *l, struct link_part *parts, size_t *ret_count);
enum link_state {
	LINK_AWAY,
	LINK_THERE,
	LINK_KEY_REFUSED,  /* the peer does not know our key */
	LINK_KEY_UNFIT,    /* it ends the key exchange: it has another key than we think */
	LINK_KEYS_MISSING, /* one side has keys, the other none */
};
/* Of a link with only_connected; *ret_connections: connections made so far. */
enum link_state link_state(struct link *l, uint64_t *ret_connections);
/* Index in allowed of the key of the last message's peer, -1 without keys. */
int link_peer_key(struct link *l);
/* The peer of the last message for logs: its address, and the number of its key. */
void link_peer(struct link *l, struct strbuf *out);
/* A hash that identifies the peer of the last message, also after restarts: of its key, or of its
 * address (the /64 network of an IPv6 address); 0: unknown. */
uint64_t link_peer_number(struct link *l);
/* Number of connections refused because of their key or address. *who, if given, gets a line for
 * each peer that was refused for the first time since the last call (of the first 256). */
uint64_t link_refused(struct link *l, struct strbuf *who);
/* The same for TCP connections that were closed because of their memory use or number; each line
 * has an address and the reason. */
uint64_t link_closed(struct link *l, struct strbuf *who);
/* Logs both; returns the totals so far. */
void link_log_refused(struct link *l, uint64_t *ret_refused, uint64_t *ret_closed);
/* ROUTER with keys: changes the allowed keys, which keep their indexes; new ones come last. From
 * any thread; negative: one is not a key, and nothing has changed. */
int link_allow(struct link *l, const struct link_keys *keys, struct strbuf *why);
/* The address it is bound to, with the real port instead of "*". */
void link_endpoint(struct link *l, struct strbuf *out);
/* Makes a pair of keys; each 41 bytes with the end. */
int link_make_keys(char *ret_public, char *ret_secret, struct strbuf *why);
/* Is an address unreachable from other hosts: ipc, inproc, loopback? */
bool link_is_local(const char *uri);
