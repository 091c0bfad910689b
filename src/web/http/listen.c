/*
 * The socket of the server: a loopback address or a Unix socket, which other hosts cannot reach;
 * or, with passwords and encryption, any address.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core/files/fs.h"
#include "web/server.h"

#define BACKLOG 1024

static int take_port(int fd, struct web_server *w)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);

	if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
		return -errno;
	w->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						    : ((struct sockaddr_in *)&bound)->sin_port);
	w->address = xasprintf("%s://%s:%u%s/", w->options->tls_cert ? "https" : "http", w->host,
			       w->port, w->options->base_path);
	snprintf(w->cookie, sizeof(w->cookie), "plimsoll_session_%u", w->port);
	return fd;
}

static int say_taken(const struct web_server *w, int r, struct strbuf *why)
{
	const char *address = w->options->listen;

	if (r == -EADDRINUSE)
		return strbuf_fail(why, r,
				   "%s is in use; if it is a server of yours, `plimsoll serve "
				   "--link` prints a link to it, or else choose another port with "
				   "--listen 127.0.0.1:0",
				   address);
	return strbuf_fail(why, r, "cannot listen on %s: %s; choose another with --listen", address,
			   strerror(-r));
}

static int bind_tcp(struct web_server *w, const struct sockaddr *a, socklen_t size,
		    struct strbuf *why)
{
	_cleanup_close_ int fd =
		socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return strbuf_fail(why, -errno, "cannot make a socket: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a, size) < 0 || listen(fd, BACKLOG) < 0)
		return say_taken(w, -errno, why);
	int r = take_port(fd, w);
	fd = r < 0 ? fd : -1;
	return r;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1", "localhost", "[::1]"; and others, which are not of this host alone. */
static int parse_address(const char *host, uint16_t port, union address *a, bool *ret_loopback)
{
	size_t n = strlen(host);

	if (*host == '[' && n > 2 && host[n - 1] == ']') {
		_cleanup_free_ char *bare = xstrndup(host + 1, n - 2);

		a->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
		*ret_loopback = inet_pton(AF_INET6, bare, &a->v6.sin6_addr) == 1 &&
				IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
		return inet_pton(AF_INET6, bare, &a->v6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	a->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (inet_pton(AF_INET, !strcmp(host, "localhost") ? "127.0.0.1" : host, &a->v4.sin_addr) !=
	    1)
		return -EINVAL;
	*ret_loopback = ntohl(a->v4.sin_addr.s_addr) == INADDR_LOOPBACK;
	return 0;
}

/* What an address that other hosts can reach needs. */
static int check_reach(const struct serve_options *o, struct strbuf *why)
{
	if (o->auth == AUTH_TOKEN)
		return strbuf_fail(
			why, -EINVAL,
			"--listen %s: other hosts could reach this address, which needs "
			"--auth users or pam; or use 127.0.0.1:PORT, [::1]:PORT or unix:PATH, and "
			"a tunnel (ssh -L 8420:127.0.0.1:8420 HOST) from other hosts",
			o->listen);
	if (!web_has_passwords(o))
		return strbuf_fail(why, -EINVAL,
				   "--listen %s: with --auth proxy only the proxy may reach the "
				   "server; use 127.0.0.1:PORT, [::1]:PORT or unix:PATH",
				   o->listen);
	if (!o->tls_cert && !o->behind_proxy)
		return strbuf_fail(
			why, -EINVAL,
			"--listen %s: other hosts could reach this address, and "
			"passwords would not be encrypted; use --tls-cert and --tls-key, "
			"or --behind-proxy if a proxy with TLS is in front",
			o->listen);
	return 0;
}

/* The name in links: as it is listened to, or of this host where that is any address. */
static char *name_of(const struct web_server *w, const char *host)
{
	char own[256] = "localhost";

	if (w->options->server_name)
		return xstrdup(w->options->server_name);
	if (!strcmp(host, "localhost"))
		return xstrdup("127.0.0.1");
	if (!strcmp(host, "0.0.0.0") || !strcmp(host, "[::]"))
		(void)gethostname(own, sizeof(own) - 1);
	else
		return xstrdup(host);
	return xstrdup(own);
}

static int listen_tcp(struct web_server *w, struct strbuf *why)
{
	const char *text = w->options->listen, *colon = strrchr(text, ':');
	bool loopback = false;
	union address a;
	uint64_t port;

	_cleanup_free_ char *host = xstrndup(text, colon ? (size_t)(colon - text) : 0);
	if (!colon || parse_u64(colon + 1, &port) < 0 || port > 65535 ||
	    parse_address(host, (uint16_t)port, &a, &loopback) < 0)
		return strbuf_fail(why, -EINVAL,
				   "invalid address '%s' of --listen; use 127.0.0.1:PORT, "
				   "[::1]:PORT, another address of this host or unix:PATH",
				   text);
	int r = loopback ? 0 : check_reach(w->options, why);
	if (r < 0)
		return r;
	w->host = name_of(w, host);
	return bind_tcp(w, &a.any, a.any.sa_family == AF_INET6 ? sizeof(a.v6) : sizeof(a.v4), why);
}

/* A socket that nobody listens on any more is removed. */
static void remove_stale(const struct sockaddr_un *a)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd >= 0 && lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_uid == geteuid() && connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
	    errno == ECONNREFUSED)
		(void)unlink(a->sun_path);
}

static int listen_unix(struct web_server *w, const char *path, struct strbuf *why)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (!*path || strlen(path) >= sizeof(a.sun_path))
		return strbuf_fail(why, -EINVAL,
				   "--listen unix:PATH takes a path of up to %zu bytes",
				   sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, path, strlen(path));
	remove_stale(&a);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return strbuf_fail(why, -errno, "cannot make a socket: %s", strerror(errno));
	/* with --auth peer the kernel says who asks, and with a proxy it has the secret */
	mode_t mask = umask(w->options->auth == AUTH_TOKEN ? 0177 : 0111);
	int r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	(void)umask(mask);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0)
		return say_taken(w, r, why);
	w->socket = xstrdup(path);
	w->address = xasprintf("unix:%s", path);
	r = fd;
	fd = -1;
	return r;
}

int web_listen(struct web_server *w, struct strbuf *why)
{
	const char *text = w->options->listen;

	if (str_prefix(text, "unix:"))
		return listen_unix(w, text + strlen("unix:"), why);
	return listen_tcp(w, why);
}
