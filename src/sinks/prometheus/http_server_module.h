/* Functions of module "endpoint": answers HTTP requests on a listening socket. */
#pragma once

#include "core/strbuf.h"

/* Writes the page of GET /metrics; accept: that header of the request, or "". Returns the content
 * type. */
typedef const char *(*endpoint_page)(void *user, const char *accept, struct strbuf *out);

struct http_server_functions {
	/* Takes the socket; NULL on failure. Calls page() in its own thread. */
	void *(*start)(int fd, endpoint_page page, void *user);
	void (*stop)(void *server);
};
