/*
 * What those who configure a node send: one JSON object,
 *	{"configure": 1, "period": "1s", "metrics": "system.*", "sources": "jobs system@10s"}
 * with what is to change; without any of them it asks what is in force.
 */
#ifndef PL_NODE_NODE_REQUEST_H
#define PL_NODE_NODE_REQUEST_H

#include "core/value.h"

#define NODE_REQUEST_MAX 65536

struct node_protocol;

struct node_change {
	const char *period, *metrics, *sources; /* as settings; NULL: not said */
	/* metrics under the names of a protocol, whose message it was; NULL: not said */
	const char *names;
	const struct node_protocol *protocol;
};

struct node_request {
	struct node_change change; /* texts are value's */
	struct value *value;
};

/* -EBADMSG when it is none, -EINVAL when it is wrong, with the reason in *why; *ret is then empty.
 */
int node_request_read(struct node_request *ret, const void *p, size_t n, struct strbuf *why);
void node_request_release(struct node_request *r);
/* The same, to be sent. */
void node_request_write(const struct node_change *c, struct strbuf *out);

#endif
