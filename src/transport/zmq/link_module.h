/* The interface of the module "zmq" to link.c, and of its parts; see link.h. */
#pragma once

#include "transport/link.h"

struct link_functions {
	int (*open)(struct link **ret, const struct link_options *o, struct strbuf *why);
	void (*close)(struct link *l);
	int (*descriptor)(struct link *l);
	int (*send)(struct link *l, const struct link_part *parts, size_t count);
	int (*receive)(struct link *l, struct link_part *parts, size_t *ret_count);
	enum link_state (*state)(struct link *l, uint64_t *ret_connections);
	int (*peer_key)(struct link *l);
	void (*peer)(struct link *l, struct strbuf *out);
	uint64_t (*peer_number)(struct link *l);
	uint64_t (*refused)(struct link *l, struct strbuf *who);
	int (*allow)(struct link *l, const struct link_keys *keys, struct strbuf *why);
	uint64_t (*closed)(struct link *l, struct strbuf *who);
	void (*endpoint)(struct link *l, struct strbuf *out);
	int (*make_keys)(char *ret_public, char *ret_secret, struct strbuf *why);
	void (*version)(struct strbuf *out);
};

/* ---- messages that are logged once: zmq_reports.c ---- */

#define REPORTS_MAX 256

struct zmq_reports {
	char *seen[REPORTS_MAX];
	size_t seen_count;
	struct strbuf waiting; /* lines not yet fetched */
};

void zmq_reports_add(struct zmq_reports *t, const char *text);
void zmq_reports_take(struct zmq_reports *t, struct strbuf *out);
void zmq_reports_release(struct zmq_reports *t);

/* ---- who may connect: zmq_auth.c ---- */

struct zmq_auth;

/* The message property with a peer's key. */
#define AUTH_KEY "X-Key"

/* Decides on every connection to the sockets of a context, in a thread: by key if there are keys,
 * otherwise by address. To be started before a socket is bound. */
int zmq_auth_start(struct zmq_auth **ret, void *context, const struct link_options *o,
		   struct strbuf *why);
/* After the context was shut down. */
void zmq_auth_stop(struct zmq_auth *z);
int zmq_auth_allow(struct zmq_auth *z, const struct link_keys *keys, struct strbuf *why);
uint64_t zmq_auth_refused(struct zmq_auth *z, struct strbuf *who);

/* ---- memory and number of connections: zmq_guard.c ---- */

#define LINK_MESSAGE_MAX ((size_t)16 << 20) /* default */
#define LINK_HIGH_WATER 1000                /* default */

struct guard;

/* Fewer bytes than this after delivered messages are heartbeats and the like. */
#define GUARD_SMALL_CHANGE 65536
/* Bytes read from a connection, and bytes of ours that were acknowledged; -ENOSYS: not supported by
 * the kernel (before 4.1). */
int zmq_guard_ask(int fd, uint64_t *ret_received, uint64_t *ret_acknowledged);
/* Resets a connection of libzmq, which then closes it. After a mere shutdown() libzmq would first
 * read the kernel's buffer, which may be dozens of megabytes. */
void guard_disconnect(int fd);
/* Watches the connections of a listening socket, in a thread. To be started before it is bound. */
int zmq_guard_start(struct guard **ret, void *context, void *socket, const struct link_options *o);
/* After the socket's monitor was stopped. */
void zmq_guard_stop(struct guard *g);
/* All complete messages were received. */
void zmq_guard_taken(struct guard *g);
/* A message was received over this descriptor, of this many bytes on the wire. */
void zmq_guard_delivered(struct guard *g, int fd, size_t bytes);
uint64_t zmq_guard_closed(struct guard *g, struct strbuf *who);
