/* Functions of module "web": HTTP by libmicrohttpd, and the files of the pages. */
#pragma once

#include <sys/types.h>

#include "core/strbuf.h"
#include "web/web.h"

#define HTTP_HEADERS_MAX 24
#define HTTP_BODY_MAX ((size_t)1 << 20)

struct http_header {
	const char *name;
	const char *value;
};

/* What is sent. The strings stay until end() is called. */
struct http_reply {
	unsigned status;
	struct http_header headers[HTTP_HEADERS_MAX];
	size_t header_count;
	const void *data;
	size_t size;
	/* Instead of data: bytes as they come. Fills buf; 0: nothing yet, call wake() later; -1:
	 * the end. */
	ssize_t (*read)(void *user, char *buf, size_t size);
	void *user; /* of read() */
};

/* One request, which belongs to the module. */
struct http_call {
	char *target; /* as the client sent it: path and query */
	const char *method;
	struct strbuf body;
	size_t body_max; /* set by begin(); HTTP_BODY_MAX at first */
	bool body_too_large;
	bool malformed; /* the header: a proxy may take it for another request */
	bool has_peer;  /* of a Unix socket */
	uid_t peer_uid;
	char address[64];        /* of the client; "" over a Unix socket */
	struct http_reply reply; /* complete when begin() returns true, or before wake() */
	void *user;              /* of the server */
};

struct http_events {
	/* The header is there. True: the reply is ready, else submit() follows once the body is
	 * complete. */
	bool (*begin)(void *user, struct http_call *c);
	/* Fills the reply later, in another thread, and calls wake(). */
	void (*submit)(void *user, struct http_call *c);
	/* The last call for this request. */
	void (*end)(void *user, struct http_call *c);
	void *user;
};

/* PEM texts; NULL, both: no TLS. */
struct http_tls {
	const char *cert, *key;
};

struct web_http_functions {
	/* Serves a listening socket, which it takes, with so many threads; NULL on failure. */
	void *(*start)(int fd, unsigned threads, unsigned connections,
		       const struct http_events *events, const struct http_tls *tls);
	/* Takes no more connections; then, after all calls were woken, stops. */
	void (*quiesce)(void *server);
	void (*stop)(void *server);
	/* A header of the request; NULL: absent. Valid until end(). */
	const char *(*header)(const struct http_call *c, const char *name);
	/* How many headers have this name, and the last of them (NULL: do not say). */
	unsigned (*headers)(const struct http_call *c, const char *name, const char **ret_last);
	/* Continues a submitted call, or a stream that had nothing to read. */
	void (*wake)(struct http_call *c);
	unsigned (*connections)(void *server);
	/* Ends with a NULL path; sorted by path. */
	const struct web_asset *assets;
};
