/*
 * The node daemon: samples every job of this host and hands the readings on. `plimsoll node` and
 * the names of older programs fill its settings; node.c runs it, node_control.c speaks with those
 * who configure it, node_protocol.h has the protocols besides its own.
 */
#ifndef PL_NODE_NODE_H
#define PL_NODE_NODE_H

#include "context/context.h"
#include "core/value.h"
#include "node/node_request.h"
#include "node/node_settings.h"

/* What is not among the settings. */
struct node_options {
	bool once;           /* a reading, and the end */
	const char *root;    /* of /proc and /sys; "" on a live machine */
	unsigned high_water; /* messages of other protocols that may wait; 0: 1000 */
	int linger_ms;
	/* processes that are a job together */
	const int *pids;
	size_t pid_count;
	/* Called when the sources are open; NULL: nobody wants to know. */
	void (*opened)(void *user, const struct active_sources *slots);
	void *user;
	/* Puts flags on top of settings that were read again; what set them the first time. */
	void (*flags)(void *user, struct config *c);
	void *flags_user;
};

/* Runs the daemon with the settings in ctx->config; the exit status. */
int do_node(struct context *ctx, const struct node_options *o);

/* ---- changes while it runs ----------------------------------------------------------------------
 */

struct link;
struct link_keys;

/* A path in the runtime directory, which is made with create. Freed by the caller; NULL with the
 * reason in *why. */
char *node_runtime_path(const struct config *c, const char *prefix, const char *name, bool create,
			struct strbuf *why);
/* The address for a node of this name: its socket in the runtime directory, which is made with
 * create. Freed by the caller; NULL with the reason in *why. */
char *node_control_address(const struct config *c, const char *name, bool create,
			   struct strbuf *why);

struct node_control;
struct node_control_options {
	const char *uri;               /* NULL: none */
	const struct link_keys *keys;  /* NULL: plain */
	const struct node_wire *wires; /* where messages of node_protocols are taken */
	/* Checks a change and puts it in force; what is wrong in *why. */
	int (*change)(void *user, const struct node_change *c, struct strbuf *why);
	/* What is in force, for an answer. */
	struct value *(*show)(void *user);
	void *user;
};

int node_control_open(struct node_control **ret, const struct node_control_options *o,
		      struct strbuf *why);
void node_control_close(struct node_control *c);
/* Descriptors to wait for; their number. */
size_t node_control_poll(struct node_control *c, struct pollfd *fds, size_t cap);
/* Takes messages. True: a change is in force, and is answered by node_control_answer() once it has
 * been carried out. */
bool node_control_work(struct node_control *c);
void node_control_answer(struct node_control *c);
/* Is there a message that was not taken yet? */
bool node_control_busy(const struct node_control *c);

/* Asks a node: an answer, or NULL with what is wrong in *why. */
struct value *node_ask(const char *uri, const struct link_keys *keys, const struct node_change *c,
		       uint64_t timeout_ns, struct strbuf *why);

#endif
