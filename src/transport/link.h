/*
 * Messages between nodes, collectors and those who configure them, by ZeroMQ (module "zmq"). A
 * message is a list of parts. One thread owns a link.
 */
#ifndef PL_TRANSPORT_LINK_H
#define PL_TRANSPORT_LINK_H

#include <stdint.h>

#include "core/strbuf.h"

enum link_kind {
	LINK_DEALER, /* a node to its collector; configure to a node */
	LINK_ROUTER, /* a collector, a node's control address: the first part is the peer's handle
		      */
	LINK_PUSH,   /* to a collector of another protocol */
	LINK_PULL,   /* from nodes of another protocol */
};

/* A key that may not call any more, for the log. */
struct revoked_key {
	char key[41];
	char *name; /* of the nodes that it was for */
	char *time; /* "": not known */
};

/* Keys of CURVE as 40 characters of Z85. */
struct link_keys {
	const char *secret, *public; /* our own; NULL: plain */
	const char *server;          /* DEALER: the public key of who is called */
	const char *const *allowed;  /* ROUTER: public keys of who may call; none: nobody */
	size_t allowed_count;
	const char *const *names; /* of each: what it is for; NULL there: it may call no more */
	const struct revoked_key *revoked;
	size_t revoked_count;
};

struct link_options {
	enum link_kind kind;
	const char *uri;
	bool bind;
	const struct link_keys *keys; /* NULL: plain */
	/* plain binds: addresses that may call, "10.1.2.3" or "10.1.0.0/16"; none: all */
	const char *const *peers;
	size_t peer_count;
	bool own_users; /* local binds: only this user and root may call, whoever can reach it */
	size_t message_max; /* longer ones end the connection; 0: 16 MiB */
	/* Binds: connections at once, a quarter of them from one address; 0: what open files allow.
	 * Whoever makes us hold more than four messages of the largest size is closed. */
	size_t connections_max;
	int high_water;         /* messages held per peer; 0: 1000 */
	int answers_high_water; /* the same of those to it; 0: as many */
	int linger_ms;          /* at close */
	/* Connects: without a connection sending would block, and link_state() knows. Else what is
	 * sent before there is one waits for it, up to the high-water mark. */
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
/* For poll(): readable when link_receive() may have something (edge-triggered: receive until there
 * is nothing more, also after sending). */
int link_descriptor(struct link *l);
/* 0, -EAGAIN when it would block, -EHOSTUNREACH when a ROUTER's peer is gone. */
int link_send(struct link *l, const struct link_part *parts, size_t count);
/* 1 with the parts, valid until the next call; 0 when there is none; negative errno. Parts above
 * LINK_PARTS_MAX are cut off. */
int link_receive(struct link *l, struct link_part *parts, size_t *ret_count);
enum link_state {
	LINK_AWAY,
	LINK_THERE,
	LINK_KEY_REFUSED, /* the other side does not know our key */
	LINK_KEY_UNFIT,   /* it breaks off while keys are exchanged: it has another than we think */
	LINK_KEYS_MISSING, /* one side has keys, the other none */
};
/* Of one that connects, with only_connected; how many connections were made so far. */
enum link_state link_state(struct link *l, uint64_t *ret_connections);
/* Of the last message: the place of its peer's public key in allowed, -1 where there are no keys.
 */
int link_peer_key(struct link *l);
/* Name of the peer of the last message for logs: its address, and the number of its key. */
void link_peer(struct link *l, struct strbuf *out);
/* A number that stands for the peer of the last message, past restarts: of its key, or of its
 * address (the network of one of IPv6); 0: nobody knows. */
uint64_t link_peer_number(struct link *l);
/* How many connections were refused for their key or address; with who, a line for each peer that
 * was refused for the first time since this was last asked (of the first 256). */
uint64_t link_refused(struct link *l, struct strbuf *who);
/* The same of connections over TCP that were closed for what they made us hold, or for their
 * number; each line has an address and the reason. */
uint64_t link_closed(struct link *l, struct strbuf *who);
/* Says both in the log; how many there were in all so far. */
void link_say_refused(struct link *l, uint64_t *ret_refused, uint64_t *ret_closed);
/* ROUTER with keys: others may call from now on. Places of keys stay what they were, new ones are
 * behind them. From any thread; negative, and nothing is changed, when one is no key. */
int link_allow(struct link *l, const struct link_keys *keys, struct strbuf *why);
/* Where it is bound: with the port where "*" was asked for. */
void link_endpoint(struct link *l, struct strbuf *out);
/* Makes a pair of keys; each 41 bytes with the end. */
int link_make_keys(char *ret_public, char *ret_secret, struct strbuf *why);
/* True when an address cannot be reached from elsewhere: ipc, inproc, loopback. */
bool link_is_local(const char *uri);

#endif
