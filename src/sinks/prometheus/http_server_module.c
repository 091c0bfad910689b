/*
 * Module "endpoint": serves a page over HTTP, by libmicrohttpd. Clients that connect and send no
 * complete request must not keep others out: when there are too many, the oldest connection of the
 * address with the most of them is closed, before any that was served. Nor may clients make us hold
 * many pages that they do not read: then the one with the largest page is closed.
 */
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/module.h"
#include "sinks/prometheus/http_server_module.h"

#define CONNECTIONS_MAX 512 /* including those that are being closed */
#define CALLERS_MAX 64
#define TIMEOUT_S 10 /* without a byte */
#define MEMORY_MAX ((size_t)16384)
#define PAGES_MAX ((size_t)32 << 20) /* bytes not yet fetched */

/* A connected client. */
struct caller {
	int fd;
	unsigned char address[16];
	bool served;
	size_t page; /* bytes of the page that is being fetched */
};

struct server {
	struct MHD_Daemon *daemon;
	endpoint_page page;
	void *user;
	/* used by the server's thread only */
	struct caller *callers[CALLERS_MAX + 1]; /* the oldest first */
	size_t caller_count;
};

/* ---- clients --------------------------------------------------------------------------- */

static void forget(struct server *s, const struct caller *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->caller_count; i++)
		if (s->callers[i] != c)
			s->callers[kept++] = s->callers[i];
	s->caller_count = kept;
}

static size_t like(const struct server *s, const struct caller *c)
{
	size_t n = 0;

	for (size_t i = 0; i < s->caller_count; i++)
		n += s->callers[i]->served == c->served &&
		     !memcmp(s->callers[i]->address, c->address, sizeof(c->address));
	return n;
}

/* Shuts down the oldest of the most numerous clients; the server then closes it. */
static void make_room(struct server *s)
{
	const struct caller *gone = s->callers[0];

	for (size_t i = 1; i < s->caller_count; i++) {
		const struct caller *c = s->callers[i];

		if (gone->served && !c->served)
			gone = c;
		else if (gone->served == c->served && like(s, c) > like(s, gone))
			gone = c;
	}
	(void)shutdown(gone->fd, SHUT_RDWR);
	forget(s, gone);
}

/* Shuts down the clients with the largest pages, the oldest first, until there is room. */
static void make_room_for(struct server *s, const struct caller *one)
{
	for (;;) {
		const struct caller *gone = NULL;
		size_t all = one->page;

		for (size_t i = 0; i < s->caller_count; i++) {
			const struct caller *c = s->callers[i];

			if (c == one)
				continue;
			all += c->page;
			if (c->page && (!gone || c->page > gone->page))
				gone = c;
		}
		if (!gone || all <= PAGES_MAX)
			return;
		(void)shutdown(gone->fd, SHUT_RDWR);
		forget(s, gone);
	}
}

static void take_address(struct caller *c, const struct sockaddr *a)
{
	if (a && a->sa_family == AF_INET)
		memcpy(c->address, &((const struct sockaddr_in *)a)->sin_addr, 4);
	else if (a && a->sa_family == AF_INET6) /* a client has a whole network of these */
		memcpy(c->address, &((const struct sockaddr_in6 *)a)->sin6_addr, 8);
}

static void connected(void *user, struct MHD_Connection *c, void **context,
		      enum MHD_ConnectionNotificationCode what)
{
	struct server *s = user;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *fd =
			MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
		const union MHD_ConnectionInfo *peer =
			MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
		struct caller *one = xcalloc(1, sizeof(*one));

		one->fd = fd ? fd->connect_fd : -1;
		take_address(one, peer ? peer->client_addr : NULL);
		*context = one;
		s->callers[s->caller_count++] = one;
		if (s->caller_count > CALLERS_MAX)
			make_room(s);
	} else if (*context) {
		forget(s, *context);
		free(*context);
		*context = NULL;
	}
}

static struct caller *caller_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void note_served(struct server *s, struct MHD_Connection *c, size_t bytes)
{
	struct caller *one = caller_of(c);

	if (!one)
		return;
	one->served = true;
	one->page = bytes;
	make_room_for(s, one);
}

static void fetched(void *user PL_UNUSED, struct MHD_Connection *c, void **state PL_UNUSED,
		    enum MHD_RequestTerminationCode how PL_UNUSED)
{
	struct caller *one = caller_of(c);

	if (one)
		one->page = 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
			      struct strbuf *text)
{
	size_t n = text->len;
	char *data = strbuf_take(text);
	struct MHD_Response *r = MHD_create_response_from_buffer(n, data, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(data);
		return MHD_NO;
	}
	(void)MHD_add_response_header(r, "Content-Type", type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, "Allow", "GET, HEAD");
	enum MHD_Result done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result request(void *user, struct MHD_Connection *c, const char *url,
			       const char *method, const char *version PL_UNUSED,
			       const char *data PL_UNUSED, size_t *size, void **state)
{
	static int begun;
	struct server *s = user;
	struct strbuf text = STRBUF_INIT;
	const char *type = "text/plain; charset=utf-8";
	unsigned status = MHD_HTTP_OK;

	/* the first call has only the header */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*size) {
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
		strbuf_addstr(&text, "only GET is allowed\n");
	} else if (!strcmp(url, "/metrics")) {
		const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");

		type = s->page(s->user, accept ? accept : "", &text);
	} else if (!strcmp(url, "/")) {
		strbuf_addstr(&text, "plimsoll: see /metrics\n");
	} else {
		status = MHD_HTTP_NOT_FOUND;
		strbuf_addstr(&text, "not found; see /metrics\n");
	}
	note_served(s, c, text.len);
	return answer(c, status, type, &text);
}

static void no_log(void *user PL_UNUSED, const char *format PL_UNUSED, va_list ap PL_UNUSED)
{
}

static void *start(int fd, endpoint_page page, void *user)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->page = page;
	s->user = user;
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		request, s, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_NOTIFY_CONNECTION, connected, s, MHD_OPTION_NOTIFY_COMPLETED, fetched, s,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)TIMEOUT_S, MHD_OPTION_END);
	if (s->daemon)
		return s;
	free(s);
	return NULL;
}

static void stop(void *server)
{
	struct server *s = server;

	MHD_stop_daemon(s->daemon);
	free(s);
}

static const struct http_server_functions functions = {start, stop};

PL_MODULE("endpoint", "libmicrohttpd", &functions);
