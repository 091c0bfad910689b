/* What module "endpoint" offers: answering HTTP requests on a socket that is listened on. */
#ifndef PL_SINKS_PROMETHEUS_HTTP_SERVER_MODULE_H
#define PL_SINKS_PROMETHEUS_HTTP_SERVER_MODULE_H

#include "core/strbuf.h"

/* The page of GET /metrics; accept is the request's header, "" when there is none. The type of what
 * was written, a constant. */
typedef const char *(*endpoint_page)(void *user, const char *accept, struct strbuf *out);

struct http_server_functions {
	/* The socket is taken. NULL when it cannot be. Requests come from a thread of its own. */
	void *(*start)(int fd, endpoint_page page, void *user);
	void (*stop)(void *server);
};

#endif
