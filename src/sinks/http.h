/*
 * Requests to servers that feeds write to (module "http": libcurl, zlib). One connection is kept
 * open; bodies are packed where the server takes that; what a server answers is read up to a limit.
 */
#ifndef PL_SINKS_HTTP_H
#define PL_SINKS_HTTP_H

#include <stdint.h>

#include "core/strbuf.h"

#define HTTP_REPLY_MAX ((size_t)16 << 20)

struct http;

struct http_options {
	const char *url;       /* http:// or https://, host, port, and what all paths begin with */
	const char *user_file; /* "user:password" in a file, for basic authentication; NULL: none */
	bool no_check_certificates;
	long timeout_ms; /* for one request; 0: 30 s */
};

struct http_request {
	const char *method;   /* "POST" */
	const char *path;     /* with its "/", behind the URL */
	const char *type;     /* of the content; NULL: no body */
	const char *encoding; /* said of a body that is packed already; NULL: none */
	const char *header;   /* one more, whole; NULL: none */
	const void *body;
	size_t size;
	bool pack; /* gzip the body */
};

struct http_reply {
	long status;
	struct strbuf body;
	uint64_t retry_after_s; /* 0: not said */
	const char *url;        /* that was asked, the connection's; its secrets are not shown */
};
#define HTTP_REPLY_INIT             \
	{                           \
		.body = STRBUF_INIT \
	}

struct http_functions {
	/* -EINVAL: no such URL, or the file of the user cannot be used. */
	int (*open)(struct http **ret, const struct http_options *o, struct strbuf *why);
	void (*close)(struct http *h);
	/*
	 * 0 with any status that the server gave; -EAGAIN when there was no whole answer: not
	 * reachable, too slow, broken off; -EMSGSIZE when the answer is too long. The reply is
	 * emptied first.
	 */
	int (*send)(struct http *h, const struct http_request *r, struct http_reply *reply,
		    struct strbuf *why);
};

/* Loads the module; NULL with the reason in *why. */
const struct http_functions *http_module(struct strbuf *why);
/* A status that may be another one later: 408, 429 and those from 500 on. */
bool http_is_passing(long status);
/* The first line of an answer, cut, for a message. */
void http_add_reason(struct strbuf *out, const struct http_reply *reply);

#endif
