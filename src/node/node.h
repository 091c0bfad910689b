/*
 * The node daemon: samples every job of this host and sends the samples. `plimsoll node` and the
 * personalities of other tools fill its settings; node.c runs it, node_control.c handles requests
 * for configuration, node_protocol.h declares other protocols.
 */
#pragma once

#include "context/context.h"
#include "core/value.h"
#include "node/node_request.h"
#include "node/node_settings.h"

/* Options that are not settings. */
struct node_options {
	bool once;           /* take one reading and end */
	const char *root;    /* of /proc and /sys; "" on a live machine */
	unsigned high_water; /* messages of other protocols that may wait; 0: 1000 */
	int linger_ms;
	/* processes that form one job */
	const int *pids;
	size_t pid_count;
	/* Called when the sources are open; may be NULL. */
	void (*opened)(void *user, const struct active_sources *active);
	void *user;
	/* Applies the flags of the command line to reloaded settings. */
	void (*flags)(void *user, struct config *c);
	void *flags_user;
};

/* Runs the daemon with the settings in ctx->config; the exit status. */
int do_node(struct context *ctx, const struct node_options *o);

/* ---- changes while it runs ---- */

struct link;
struct link_keys;

/* A path in the runtime directory; create: makes the directory. Freed by the caller; NULL with the
 * reason in *why. */
char *node_runtime_path(const struct config *c, const char *prefix, const char *name, bool create,
			struct strbuf *why);
/* The address of a node of this name: a socket in the runtime directory. Otherwise the same. */
char *node_control_address(const struct config *c, const char *name, bool create,
			   struct strbuf *why);

struct node_control;
struct node_control_options {
	const char *uri;               /* NULL: none */
	const struct link_keys *keys;  /* NULL: plain */
	const struct node_wire *wires; /* addresses for messages of node_protocols */
	/* Checks a change and applies it; what is wrong in *why. */
	int (*change)(void *user, const struct node_change *c, struct strbuf *why);
	/* The settings in force and the status, for an answer. */
	struct value *(*show)(void *user);
	void *user;
};

int node_control_open(struct node_control **ret, const struct node_control_options *o,
		      struct strbuf *why);
void node_control_close(struct node_control *c);
/* Descriptors to wait for; their number. */
size_t node_control_poll(struct node_control *c, struct pollfd *fds, size_t cap);
/* Handles messages. True: a change is in force; node_control_answer() answers it when it has been
 * carried out. */
bool node_control_work(struct node_control *c);
void node_control_answer(struct node_control *c);
/* May there be a message that was not handled yet? */
bool node_control_busy(const struct node_control *c);

/* Sends a request to a node: the answer, or NULL with what is wrong in *why. */
struct value *node_ask(const char *uri, const struct link_keys *keys, const struct node_change *c,
		       uint64_t timeout_ns, struct strbuf *why);
