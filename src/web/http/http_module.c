/*
 * Module "web": HTTP for `plimsoll serve`, by libmicrohttpd. A few threads wait for all
 * connections; a request that takes time is suspended and woken by the thread that has its answer.
 */
#include <malloc.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/module.h"
#include "web/http/assets_module.h"
#include "web/http/http_module.h"

#define TIMEOUT_S 10                   /* without a byte */
#define MEMORY_MAX ((size_t)24 << 10)  /* of a connection: request line, header, buffers */
#define DISCARD_MAX ((size_t)16 << 20) /* of a body that is refused */
#define MEMORY_STEP ((size_t)1024)
#define CROWD 256 /* connections whose memory is worth giving back */

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_events events;
	int listening;
	unsigned open, most; /* connections; since memory was given back */
};

struct call {
	struct http_call base; /* must be first */
	struct MHD_Connection *connection;
	bool begun, ready, submitted, queued;
	size_t discarded; /* bytes of a body that nobody wants */
};

/* ---- replies ----------------------------------------------------------------------------------
 */

static ssize_t read_stream(void *user, uint64_t at PL_UNUSED, char *buf, size_t size)
{
	struct call *c = user;
	ssize_t n = c->base.reply.read(c->base.reply.user, buf, size);

	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0)
		MHD_suspend_connection(c->connection);
	return n;
}

static struct MHD_Response *response_of(struct call *c)
{
	struct http_reply *r = &c->base.reply;

	if (r->read)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, c,
							 NULL);
	return MHD_create_response_from_buffer(r->size, (void *)(uintptr_t)r->data,
					       MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_reply(struct call *c)
{
	struct http_reply *r = &c->base.reply;
	struct MHD_Response *response = response_of(c);

	c->queued = true;
	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < r->header_count; i++)
		(void)MHD_add_response_header(response, r->headers[i].name, r->headers[i].value);
	if (c->base.malformed) /* what follows may not be a request */
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	enum MHD_Result done = MHD_queue_response(c->connection, r->status, response);
	MHD_destroy_response(response);
	return done;
}

/* ---- requests ---------------------------------------------------------------------------------
 */

/* Of a connection: a request whose header has not come whole. The library forgets it if the rest is
 * malformed. */
struct early {
	struct call *call;
};

static void free_call(struct call *c)
{
	if (!c)
		return;
	strbuf_release(&c->base.body);
	free(c->base.target);
	free(c);
}

static struct early *early_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* The allocator would keep what a crowd of connections had: whenever half of them are gone, it
 * gives back what is free. */
static void count_connection(struct http_server *s, bool opened)
{
	unsigned open = opened ? __atomic_add_fetch(&s->open, 1, __ATOMIC_RELAXED)
			       : __atomic_sub_fetch(&s->open, 1, __ATOMIC_RELAXED);
	unsigned most = __atomic_load_n(&s->most, __ATOMIC_RELAXED);

	if (open > most) {
		__atomic_store_n(&s->most, open, __ATOMIC_RELAXED);
	} else if (most >= CROWD && open <= most / 2) {
		__atomic_store_n(&s->most, open, __ATOMIC_RELAXED);
		malloc_trim(0);
	}
}

static void connected(void *user, struct MHD_Connection *connection PL_UNUSED, void **context,
		      enum MHD_ConnectionNotificationCode how)
{
	struct early *e = *context;

	count_connection(user, how == MHD_CONNECTION_NOTIFY_STARTED);
	if (how == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = xcalloc(1, sizeof(*e));
	} else if (e) {
		free_call(e->call);
		free(e);
		*context = NULL;
	}
}

/* The first that is known of a request: what it asks for, before anything is decoded. */
static void *take_target(void *user PL_UNUSED, const char *target,
			 struct MHD_Connection *connection)
{
	struct early *e = early_of(connection);
	struct call *c;

	if (!e)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->base.target = xstrdup(target);
	c->base.body = (struct strbuf)STRBUF_INIT;
	c->connection = connection;
	free_call(e->call);
	e->call = c;
	return c;
}

/* Of the host alone: a client has many ports. */
static void take_address(struct call *c)
{
	const union MHD_ConnectionInfo *client =
		MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	if (client && client->client_addr &&
	    (client->client_addr->sa_family == AF_INET ||
	     client->client_addr->sa_family == AF_INET6))
		(void)getnameinfo(client->client_addr, sizeof(struct sockaddr_in6), c->base.address,
				  sizeof(c->base.address), NULL, 0, NI_NUMERICHOST);
}

static void find_peer(struct call *c)
{
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof(a);
	struct ucred peer;

	if (!fd || getsockname(fd->connect_fd, (struct sockaddr *)&a, &size) < 0 ||
	    a.ss_family != AF_UNIX)
		return;
	size = sizeof(peer);
	if (getsockopt(fd->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return;
	c->base.has_peer = true;
	c->base.peer_uid = peer.uid;
}

/* By its header; 0: it has none. */
static uint64_t declared_size(const struct call *c)
{
	const char *length = MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t n = 0;

	return length && parse_u64(length, &n) < 0 ? UINT64_MAX : n;
}

struct framing {
	unsigned lengths, encodings;
	bool bad;
};

static enum MHD_Result look_at(void *user, enum MHD_ValueKind kind PL_UNUSED, const char *name,
			       size_t name_size, const char *value, size_t value_size PL_UNUSED)
{
	struct framing *f = user;

	f->bad = f->bad || strcspn(name, " \t") != name_size;
	f->lengths += !strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (!strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
		f->encodings++;
		f->bad = f->bad || !value || strcasecmp(value, "chunked") != 0;
	}
	return MHD_YES;
}

/* The library takes requests that others may divide in another way: with two lengths, or blanks in
 * a name. */
static bool is_malformed(const struct call *c)
{
	struct framing f = {.bad = false};

	(void)MHD_get_connection_values_n(c->connection, MHD_HEADER_KIND, look_at, &f);
	return f.bad || f.lengths + f.encodings > 1;
}

static enum MHD_Result begin(struct http_server *s, struct call *c, const char *method)
{
	struct early *e = early_of(c->connection);

	/* from here on the library says when it is over */
	if (e && e->call == c)
		e->call = NULL;
	c->begun = true;
	c->base.method = method;
	c->base.body_max = HTTP_BODY_MAX;
	c->base.body_too_large = declared_size(c) > HTTP_BODY_MAX;
	c->base.malformed = is_malformed(c);
	take_address(c);
	find_peer(c);
	c->ready = s->events.begin(s->events.user, &c->base);
	/* a client that still sends would not read the reply: short bodies are read in any case */
	bool at_once = c->base.malformed || declared_size(c) > DISCARD_MAX;
	return c->ready && at_once ? send_reply(c) : MHD_YES;
}

/* False: there is no end of it. */
static bool take_body(struct call *c, const char *data, size_t n)
{
	if (c->ready || c->base.body_too_large) {
		c->discarded += n;
		return c->discarded <= DISCARD_MAX;
	}
	if (c->base.body.len + n > c->base.body_max) {
		c->base.body_too_large = true;
		strbuf_release(&c->base.body);
		return true;
	}
	strbuf_add(&c->base.body, data, n);
	return true;
}

static enum MHD_Result request(void *user, struct MHD_Connection *connection PL_UNUSED,
			       const char *url PL_UNUSED, const char *method,
			       const char *version PL_UNUSED, const char *data, size_t *size,
			       void **state)
{
	struct http_server *s = user;
	struct call *c = *state;

	if (!c)
		return MHD_NO;
	if (!c->begun)
		return begin(s, c, method);
	if (c->queued)
		*size = 0;
	if (*size) {
		if (!take_body(c, data, *size))
			return MHD_NO;
		*size = 0;
		return MHD_YES;
	}
	if (c->queued)
		return MHD_YES;
	if (c->ready || c->submitted)
		return send_reply(c);
	c->submitted = true;
	MHD_suspend_connection(c->connection);
	s->events.submit(s->events.user, &c->base);
	return MHD_YES;
}

static void completed(void *user, struct MHD_Connection *connection PL_UNUSED, void **state,
		      enum MHD_RequestTerminationCode how PL_UNUSED)
{
	struct http_server *s = user;
	struct call *c = *state;

	if (!c)
		return;
	*state = NULL;
	struct early *e = early_of(c->connection);
	if (e && e->call == c)
		e->call = NULL;
	s->events.end(s->events.user, &c->base);
	free_call(c);
}

static const char *header(const struct http_call *call, const char *name)
{
	const struct call *c = (const struct call *)call;

	return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

struct named {
	const char *name, *last;
	unsigned count;
};

static enum MHD_Result count_named(void *user, enum MHD_ValueKind kind PL_UNUSED, const char *name,
				   const char *value)
{
	struct named *n = user;

	if (!strcasecmp(name, n->name)) {
		n->count++;
		n->last = value;
	}
	return MHD_YES;
}

static unsigned headers(const struct http_call *call, const char *name, const char **ret_last)
{
	const struct call *c = (const struct call *)call;
	struct named n = {.name = name};

	(void)MHD_get_connection_values(c->connection, MHD_HEADER_KIND, count_named, &n);
	if (ret_last)
		*ret_last = n.last;
	return n.count;
}

static void wake(struct http_call *call)
{
	MHD_resume_connection(((struct call *)call)->connection);
}

/* ---- the server -------------------------------------------------------------------------------
 */

static void no_log(void *user PL_UNUSED, const char *format PL_UNUSED, va_list ap PL_UNUSED)
{
}

/* Targets are decoded by web/http/target.c, strictly. */
static size_t keep_escapes(void *user PL_UNUSED, struct MHD_Connection *c PL_UNUSED, char *s)
{
	return strlen(s);
}

#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

static void *start(int fd, unsigned threads, unsigned connections, const struct http_events *events,
		   const struct http_tls *tls)
{
	struct http_server *s = xcalloc(1, sizeof(*s));
	const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
	const struct MHD_OptionItem encrypted[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)tls->cert},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)tls->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_VERSIONS},
		{MHD_OPTION_END, 0, NULL}};

	s->events = *events;
	s->listening = fd;
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			(tls->cert ? MHD_USE_TLS : 0),
		0, NULL, NULL, request, s, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, take_target, s,
		MHD_OPTION_NOTIFY_CONNECTION, connected, s, MHD_OPTION_NOTIFY_COMPLETED, completed,
		s, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_THREAD_POOL_SIZE,
		threads, MHD_OPTION_CONNECTION_LIMIT, connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_MAX,
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, MEMORY_STEP, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)TIMEOUT_S, MHD_OPTION_ARRAY, tls->cert ? encrypted : none,
		MHD_OPTION_END);
	if (s->daemon)
		return s;
	free(s);
	return NULL;
}

static void quiesce(void *server)
{
	struct http_server *s = server;

	s->listening = MHD_quiesce_daemon(s->daemon);
}

static void stop(void *server)
{
	struct http_server *s = server;

	MHD_stop_daemon(s->daemon);
	if (s->listening >= 0)
		close(s->listening);
	free(s);
}

static unsigned connections(void *server)
{
	struct http_server *s = server;
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info ? info->num_connections : 0;
}

static const struct web_http_functions functions = {
	.start = start,
	.quiesce = quiesce,
	.stop = stop,
	.header = header,
	.headers = headers,
	.wake = wake,
	.connections = connections,
	.assets = web_assets,
};

PL_MODULE("web", "libmicrohttpd", &functions);
