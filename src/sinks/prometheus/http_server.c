/* The address that Prometheus scrapes; see openmetrics.h. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/module.h"
#include "sinks/prometheus/http_server_module.h"
#include "sinks/prometheus/openmetrics.h"

struct endpoint {
	const struct http_server_functions *functions;
	void *server;
	struct openmetrics *exposition;
	unsigned port;
};

static const char *page(void *user, const char *accept, struct strbuf *out)
{
	const struct endpoint *e = user;
	bool openmetrics = strstr(accept, "application/openmetrics-text") != NULL;

	openmetrics_render(e->exposition, openmetrics, out);
	return openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			   : "text/plain; version=0.0.4; charset=utf-8";
}

/* Splits "HOST:PORT"; false if it is invalid. */
static bool split_address(const char *address, char **ret_host, char **ret_port)
{
	const char *colon = strrchr(address, ':');
	uint64_t port;

	if (!colon || parse_u64(colon + 1, &port) < 0 || port > 65535)
		return false;
	size_t n = (size_t)(colon - address);
	bool brackets = n >= 2 && address[0] == '[' && colon[-1] == ']';
	if (!brackets && memchr(address, ':', n))
		return false;
	*ret_host = brackets ? xstrndup(address + 1, n - 2) : xstrndup(address, n);
	*ret_port = xstrdup(colon + 1);
	return true;
}

static int try_listen(const struct addrinfo *a, int *ret)
{
	int one = 1, off = 0;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* all addresses include those of IPv4 */
	if (a->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	*ret = fd;
	return 0;
}

static int listen_on(const char *address, unsigned *ret_port, struct strbuf *why)
{
	_cleanup_free_ char *host = NULL, *port = NULL;
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	int fd = -1, r = -EADDRNOTAVAIL;

	if (!split_address(address, &host, &port))
		return strbuf_fail(why, -EINVAL, "invalid address '%s'; use HOST:PORT", address);
	int error = getaddrinfo(*host ? host : NULL, port, &hints, &list);
	if (error)
		return strbuf_fail(why, -EINVAL, "cannot resolve '%s': %s", host,
				   gai_strerror(error));
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		r = try_listen(a, &fd);
	freeaddrinfo(list);
	if (fd < 0)
		return strbuf_fail(why, r, "cannot listen on '%s': %s", address, strerror(-r));
	if (getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
		*ret_port = ntohs(bound.ss_family == AF_INET6
					  ? ((struct sockaddr_in6 *)&bound)->sin6_port
					  : ((struct sockaddr_in *)&bound)->sin_port);
	return fd;
}

int http_server_open(struct endpoint **ret, const char *address, struct openmetrics *x,
		     struct strbuf *why)
{
	const struct module *m = module_load("endpoint", why);
	unsigned port = 0;

	if (!m)
		return -ENOSYS;
	int fd = listen_on(address, &port, why);
	if (fd < 0)
		return fd;
	struct endpoint *e = xcalloc(1, sizeof(*e));
	*e = (struct endpoint){.functions = m->functions, .exposition = x, .port = port};
	e->server = e->functions->start(fd, page, e);
	if (!e->server) {
		close(fd);
		free(e);
		return strbuf_fail(why, -EIO, "cannot start the HTTP server on '%s'", address);
	}
	*ret = e;
	return 0;
}

unsigned http_server_port(const struct endpoint *e)
{
	return e->port;
}

void http_server_close(struct endpoint *e)
{
	if (!e)
		return;
	e->functions->stop(e->server);
	free(e);
}
