/* What the module "zmq" offers to link.c; see link.h. */
#ifndef PL_TRANSPORT_ZMQ_LINK_MODULE_H
#define PL_TRANSPORT_ZMQ_LINK_MODULE_H

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

/* ---- what is to be said once: zmq_reports.c
 * ------------------------------------------------------------
 */

#define TOLD_MAX 256

struct told {
	char *seen[TOLD_MAX];
	size_t seen_count;
	struct strbuf waiting; /* lines that nobody has fetched */
};

void zmq_reports_add(struct told *t, const char *text);
void zmq_reports_take(struct told *t, struct strbuf *out);
void zmq_reports_release(struct told *t);

/* ---- who may call: zmq_auth.c, compiled into the module
 * ---------------------------------------------
 */

struct zap;

/* What it tells of a peer with a key beside the place of that: the key itself. */
#define ZAP_KEY "X-Key"

/*
 * Answers every connection that is made to the sockets of a context, in a thread of its own: by
 * key where there are keys, else by address. To be begun before anything is bound.
 */
int zmq_auth_start(struct zap **ret, void *context, const struct link_options *o,
		   struct strbuf *why);
/* After the context was shut down. */
void zmq_auth_stop(struct zap *z);
int zmq_auth_allow(struct zap *z, const struct link_keys *keys, struct strbuf *why);
uint64_t zmq_auth_refused(struct zap *z, struct strbuf *who);

/* ---- how much they may make us hold: zmq_guard.c
 * ----------------------------------------------------
 */

#define LINK_MESSAGE_MAX ((size_t)16 << 20) /* where nothing else is said */
#define LINK_HIGH_WATER 1000                /* the same */

struct guard;

/* Less than this, behind what was delivered, is heartbeats and the like. */
#define GUARD_SMALL_CHANGE 65536
/* Bytes that were read from a connection, and of our own that were acknowledged; -ENOSYS where the
 * kernel (before 4.1) does not tell. */
int zmq_guard_ask(int fd, uint64_t *ret_received, uint64_t *ret_acknowledged);
/* Resets a connection of libzmq's, which then closes it. Were it only shut down, libzmq would first
 * read all that waits in the kernel's buffer, which may be dozens of megabytes. */
void guard_disconnect(int fd);
/* Watches the connections of a socket that listens, in a thread of its own. To be begun before it
 * is bound. */
int zmq_guard_start(struct guard **ret, void *context, void *socket, const struct link_options *o);
/* After the socket's monitor was stopped. */
void zmq_guard_stop(struct guard *g);
/* There is no whole message that nobody has taken. */
void zmq_guard_taken(struct guard *g);
/* A message came over this descriptor, of so many bytes with all that is around them. */
void zmq_guard_delivered(struct guard *g, int fd, size_t bytes);
uint64_t zmq_guard_closed(struct guard *g, struct strbuf *who);

#endif
