/*
 * Requests to the servers of sinks (module "http": libcurl, zlib). One connection is kept open.
 * Replies are read up to a limit.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

#define HTTP_REPLY_MAX ((size_t)16 << 20)

struct http;

struct http_options {
	const char *url; /* http:// or https://, host, port, and a prefix of all paths */
	const char
		*user_file; /* a file with "user:password", for basic authentication; NULL: none */
	bool no_check_certificates;
	long timeout_ms; /* for one request; 0: 30 s */
};

struct http_request {
	const char *method;   /* "POST" */
	const char *path;     /* begins with "/", appended to the URL */
	const char *type;     /* of the content; NULL: no body */
	const char *encoding; /* of a body that is already compressed; NULL: none */
	const char *header;   /* one more header line; NULL: none */
	const void *body;
	size_t size;
	bool pack; /* gzip the body */
};

struct http_reply {
	long status;
	struct strbuf body;
	uint64_t retry_after_s; /* 0: not given */
	const char *url;        /* of the connection; with its password */
};
#define HTTP_REPLY_INIT             \
	{                           \
		.body = STRBUF_INIT \
	}

struct http_functions {
	/* -EINVAL: not a URL, or user_file cannot be used. */
	int (*open)(struct http **ret, const struct http_options *o, struct strbuf *why);
	void (*close)(struct http *h);
	/*
	 * 0 with any status; -EAGAIN without a complete reply (unreachable, too slow, broken off);
	 * -EMSGSIZE if the reply is too long.
	 */
	int (*send)(struct http *h, const struct http_request *r, struct http_reply *reply,
		    struct strbuf *why);
};

/* Loads the module; NULL with the reason in *why. */
const struct http_functions *http_module(struct strbuf *why);
/* Is it a status that may change by itself: 408, 425, 429, 500 and above? */
bool http_is_passing(long status);
/* Adds status and first line of a reply, for a message. */
void http_add_reason(struct strbuf *out, const struct http_reply *reply);
