/*
 * A request to configure a node: one JSON object,
 *	{"configure": 1, "period": "1s", "metrics": "system.*", "sources": "jobs system@10s"}
 * with what is to change; without any of these it asks for the settings in force.
 */
#pragma once

#include "core/value.h"

#define NODE_REQUEST_MAX 65536

struct node_protocol;

struct node_change {
	const char *period, *metrics, *sources; /* as settings; NULL: unchanged */
	/* metrics under the names of the protocol of the message; NULL: unchanged */
	const char *names;
	const struct node_protocol *protocol;
};

struct node_request {
	struct node_change change; /* texts belong to value */
	struct value *value;
};

/* -EBADMSG when it is not a request, -EINVAL when it is invalid, with the reason in *why; *ret is
 * then empty. */
int node_request_read(struct node_request *ret, const void *p, size_t n, struct strbuf *why);
void node_request_release(struct node_request *r);
/* Writes a request. */
void node_request_write(const struct node_change *c, struct strbuf *out);
