/*
 * Module "zmq": links by libzmq; see link.h. Each link has its own context, so that its access
 * rules apply to this link only. Every limit that libzmq has is set: per peer, the high-water mark
 * times the largest part. zmq_guard.c adds those that it lacks.
 */
#include <zmq.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/clock.h"
#include "core/module.h"
#include "transport/zmq/link_module.h"

#define DOMAIN "plimsoll"
#define BROKEN_OFF 3 /* failed handshakes in a row: the keys do not match */
#define CALL_AGAIN_NS 5000000000ull

struct link {
	void *context, *socket;
	void *monitor; /* reports connections; NULL: not wanted */
	enum link_state state;
	uint64_t connections;
	unsigned broken_off; /* failed handshakes in a row */
	char *uri;           /* of the peer */
	uint64_t call_ns;    /* when to connect again; 0: libzmq does that itself */
	bool keys;
	struct zmq_auth *auth;
	struct guard *guard;               /* if it listens over TCP */
	int fd;                            /* if it connects: its connection; -1: none */
	uint64_t got, got_before, got_max; /* bytes of complete messages; most beyond them */
	zmq_msg_t parts[LINK_PARTS_MAX];
	size_t part_count;
};

static int fail(struct strbuf *why, int error, const char *what, const char *uri)
{
	strbuf_addf(why, "%s '%s': %s", what, uri, zmq_strerror(error));
	/* libzmq has its own error numbers as well */
	return error > 0 && error < ZMQ_HAUSNUMERO ? -error : -EIO;
}

static int set_int(struct link *l, int option, int value)
{
	return zmq_setsockopt(l->socket, option, &value, sizeof(value));
}

/* ---- options ---- */

/* By the credentials that the kernel has of peers of a local socket. */
static int set_users(struct link *l)
{
	const uid_t users[] = {geteuid(), 0};

	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		if (zmq_setsockopt(l->socket, ZMQ_IPC_FILTER_UID, &users[i], sizeof(users[i])) < 0)
			return -1;
	return 0;
}

static int set_limits(struct link *l, const struct link_options *o)
{
	static const struct {
		int option, value;
	} fixed[] = {
		{ZMQ_RECONNECT_IVL, 100},
		{ZMQ_RECONNECT_IVL_MAX, 5000},
		{ZMQ_CONNECT_TIMEOUT, 5000},
		{ZMQ_HANDSHAKE_IVL, 10000},
		{ZMQ_HEARTBEAT_TIMEOUT, 15000},
		{ZMQ_HEARTBEAT_TTL, 15000},
		{ZMQ_TCP_KEEPALIVE, 1},
		{ZMQ_TCP_KEEPALIVE_IDLE, 60},
		{ZMQ_BACKLOG, 1024},
	};
	int high_water = o->high_water > 0 ? o->high_water : LINK_HIGH_WATER;
	int64_t message_max = (int64_t)(o->message_max ? o->message_max : LINK_MESSAGE_MAX);
	/* the peer's libzmq may be too old for heartbeats */
	int heartbeat = o->kind == LINK_PUSH || o->kind == LINK_PULL ? 0 : 5000;

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (set_int(l, fixed[i].option, fixed[i].value) < 0)
			return -1;
	int out = o->answers_high_water > 0 ? o->answers_high_water : high_water;
	if (set_int(l, ZMQ_SNDHWM, out) < 0 || set_int(l, ZMQ_RCVHWM, high_water) < 0 ||
	    set_int(l, ZMQ_LINGER, o->linger_ms) < 0 ||
	    set_int(l, ZMQ_HEARTBEAT_IVL, heartbeat) < 0 ||
	    zmq_setsockopt(l->socket, ZMQ_MAXMSGSIZE, &message_max, sizeof(message_max)) < 0)
		return -1;
	if (o->kind == LINK_ROUTER && set_int(l, ZMQ_ROUTER_MANDATORY, 1) < 0)
		return -1;
	if (o->only_connected && set_int(l, ZMQ_IMMEDIATE, 1) < 0)
		return -1;
	if (o->own_users && set_users(l) < 0)
		return -1;
	return strchr(o->uri, '[') ? set_int(l, ZMQ_IPV6, 1) : 0;
}

static int set_key(struct link *l, int option, const char *key, const char *what,
		   struct strbuf *why)
{
	if (key && strlen(key) == 40 && zmq_setsockopt(l->socket, option, key, 41) == 0)
		return 0;
	return strbuf_fail(why, -EINVAL, "%s key is %s", what,
			   key ? "not 40 characters long: see plimsoll keys" : "missing");
}

static int set_keys(struct link *l, const struct link_options *o, struct strbuf *why)
{
	const struct link_keys *k = o->keys;
	int r = 0;

	if (o->bind && (k || o->peer_count))
		r = zmq_setsockopt(l->socket, ZMQ_ZAP_DOMAIN, DOMAIN, strlen(DOMAIN)) < 0 ? -EIO
											  : 0;
	if (!k || r < 0)
		return r;
	r = set_key(l, ZMQ_CURVE_SECRETKEY, k->secret, "the secret", why);
	if (o->bind)
		return r < 0 ? r : set_int(l, ZMQ_CURVE_SERVER, 1) < 0 ? -EIO : 0;
	if (r == 0)
		r = set_key(l, ZMQ_CURVE_PUBLICKEY, k->public, "the public", why);
	if (r == 0)
		r = set_key(l, ZMQ_CURVE_SERVERKEY, k->server, "the server's public", why);
	return r;
}

/* ---- opening and closing ---- */

/* Makes libzmq report connections, before there is one. */
static int begin_monitor(struct link *l)
{
	static const char address[] = "inproc://monitor";
	int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
		     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
		     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
	int none = 0;

	if (zmq_socket_monitor(l->socket, address, events) < 0)
		return -1;
	l->monitor = zmq_socket(l->context, ZMQ_PAIR);
	return !l->monitor || zmq_setsockopt(l->monitor, ZMQ_LINGER, &none, sizeof(none)) < 0
		       ? -1
		       : zmq_connect(l->monitor, address);
}

static void close_link(struct link *l)
{
	for (size_t i = 0; i < l->part_count; i++)
		zmq_msg_close(&l->parts[i]);
	if (l->guard) {
		(void)zmq_socket_monitor(l->socket, NULL, 0);
		zmq_guard_stop(l->guard);
	}
	if (l->monitor) {
		(void)zmq_socket_monitor(l->socket, NULL, 0);
		zmq_close(l->monitor);
	}
	if (l->socket)
		zmq_close(l->socket);
	if (l->auth) {
		zmq_ctx_shutdown(l->context);
		zmq_auth_stop(l->auth);
	}
	if (l->context)
		while (zmq_ctx_term(l->context) < 0 && errno == EINTR)
			;
	free(l->uri);
	free(l);
}

static int open_socket(struct link *l, const struct link_options *o, struct strbuf *why)
{
	static const int types[] = {[LINK_DEALER] = ZMQ_DEALER,
				    [LINK_ROUTER] = ZMQ_ROUTER,
				    [LINK_PUSH] = ZMQ_PUSH,
				    [LINK_PULL] = ZMQ_PULL};

	l->context = zmq_ctx_new();
	if (!l->context)
		return fail(why, errno, "cannot open", o->uri);
	if (o->bind && (o->keys || o->peer_count)) {
		int r = zmq_auth_start(&l->auth, l->context, o, why);

		if (r < 0)
			return r;
	}
	l->socket = zmq_socket(l->context, types[o->kind]);
	if (!l->socket || set_limits(l, o) < 0 ||
	    (o->only_connected && !o->bind && begin_monitor(l) < 0))
		return fail(why, errno, "cannot open", o->uri);
	int r = set_keys(l, o, why);
	if (r < 0)
		return r;
	r = o->bind && str_prefix(o->uri, "tcp:")
		    ? zmq_guard_start(&l->guard, l->context, l->socket, o)
		    : 0;
	if (r < 0)
		return fail(why, -r, "cannot watch", o->uri);
	r = o->bind ? zmq_bind(l->socket, o->uri) : zmq_connect(l->socket, o->uri);
	return r < 0 ? fail(why, errno, o->bind ? "cannot listen on" : "cannot connect to", o->uri)
		     : 0;
}

static int open_link(struct link **ret, const struct link_options *o, struct strbuf *why)
{
	struct link *l = xcalloc(1, sizeof(*l));

	l->keys = o->keys != NULL;
	l->uri = xstrdup(o->uri);
	l->fd = -1;
	l->got_max = 4 * (o->message_max ? o->message_max : LINK_MESSAGE_MAX);
	int r = open_socket(l, o, why);

	if (r < 0) {
		close_link(l);
		return r;
	}
	*ret = l;
	return 0;
}

/* ---- messages ---- */

static int descriptor(struct link *l)
{
	int fd = -1;
	size_t size = sizeof(fd);

	return zmq_getsockopt(l->socket, ZMQ_FD, &fd, &size) < 0 ? -errno : fd;
}

static int send_parts(struct link *l, const struct link_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int flags = ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0), r;

		do
			r = zmq_send(l->socket, parts[i].data, parts[i].size, flags);
		while (r < 0 && errno == EINTR);
		if (r < 0)
			return errno == EAGAIN || errno == EHOSTUNREACH ? -errno : -EIO;
	}
	return 0;
}

/* Receives one part. */
static int receive_part(struct link *l, zmq_msg_t *m)
{
	int r;

	zmq_msg_init(m);
	do
		r = zmq_msg_recv(m, l->socket, ZMQ_DONTWAIT);
	while (r < 0 && errno == EINTR);
	if (r >= 0)
		return 1;
	r = errno;
	zmq_msg_close(m);
	return r == EAGAIN ? 0 : -EIO;
}

/* Size of a part on the wire: with its header, and what CURVE adds. */
static size_t wire_size(struct link *l, const zmq_msg_t *m)
{
	size_t n = zmq_msg_size(m) + (l->keys ? 33 : 0);

	return n + (n > 255 ? 9 : 2);
}

static int receive_parts(struct link *l, struct link_part *parts, size_t *ret_count)
{
	zmq_msg_t spare = {0};
	bool more = true;
	size_t bytes = 0;
	int fd = -1;

	for (size_t i = 0; i < l->part_count; i++)
		zmq_msg_close(&l->parts[i]);
	l->part_count = 0;
	while (more) {
		bool room = l->part_count < LINK_PARTS_MAX;
		zmq_msg_t *m = room ? &l->parts[l->part_count] : &spare;
		int r = receive_part(l, m);

		if (r == 0 && !l->part_count && l->guard)
			zmq_guard_taken(l->guard);
		if (r <= 0)
			return l->part_count && r == 0 ? -EIO : r;
		more = zmq_msg_more(m);
		bytes += wire_size(l, m);
		if (l->guard && !more)
			fd = zmq_msg_get(m, ZMQ_SRCFD);
		if (room) {
			parts[l->part_count] = (struct link_part){zmq_msg_data(m), zmq_msg_size(m)};
			l->part_count++;
		} else {
			zmq_msg_close(m);
		}
	}
	l->got += bytes;
	if (l->guard)
		zmq_guard_delivered(l->guard, fd, bytes);
	*ret_count = l->part_count;
	return 1;
}

/* A collector that ends during a handshake fails it, too: only repeated failures mean wrong keys.
 * If the peer refuses us, libzmq does not connect again by itself. */
static void take_failure(struct link *l, uint16_t event, uint32_t value)
{
	l->broken_off++;
	if (event != ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
		l->call_ns = clock_boottime_ns() + CALL_AGAIN_NS;
	if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
		l->state = LINK_KEY_REFUSED;
	else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL)
		l->state = value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ? LINK_KEYS_MISSING
									       : LINK_KEY_UNFIT;
	else if (l->keys && l->broken_off >= BROKEN_OFF)
		l->state = LINK_KEY_UNFIT;
	else if (l->state == LINK_THERE)
		l->state = LINK_AWAY;
}

static void take_event(struct link *l, const unsigned char *p)
{
	uint16_t event;
	uint32_t value;

	memcpy(&event, p, sizeof(event));
	memcpy(&value, p + sizeof(event), sizeof(value));
	if (event == ZMQ_EVENT_CONNECTED) {
		l->fd = (int)value;
		l->got = l->got_before = 0;
		return;
	}
	if (event == ZMQ_EVENT_DISCONNECTED)
		l->fd = -1;
	if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
		l->state = LINK_THERE;
		l->connections++;
		l->broken_off = 0;
		l->call_ns = 0;
	} else if (event != ZMQ_EVENT_DISCONNECTED) {
		take_failure(l, event, value);
	} else if (l->state == LINK_THERE) {
		l->state = LINK_AWAY;
	}
}

/* The peer might send an endless message, too; after a reset libzmq connects again. */
static void check_answers(struct link *l)
{
	uint64_t received, acknowledged;

	if (l->fd < 0 || zmq_guard_ask(l->fd, &received, &acknowledged) < 0)
		return;
	if (l->got != l->got_before && l->got + GUARD_SMALL_CHANGE > received)
		l->got = received;
	l->got_before = l->got;
	if (received > l->got && received - l->got > l->got_max) {
		guard_disconnect(l->fd);
		l->fd = -1;
	}
}

/* Our key may be allowed by now. Unsent messages stay with the caller. */
static void call_again(struct link *l)
{
	if (!l->call_ns || clock_boottime_ns() < l->call_ns)
		return;
	l->call_ns = 0;
	(void)zmq_disconnect(l->socket, l->uri);
	if (zmq_connect(l->socket, l->uri) < 0)
		l->call_ns = clock_boottime_ns() + CALL_AGAIN_NS;
}

/* An event has two parts: its kind, and the address. */
static enum link_state state(struct link *l, uint64_t *ret_connections)
{
	unsigned char event[6], address[256];

	while (l->monitor) {
		int n = zmq_recv(l->monitor, event, sizeof(event), ZMQ_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		(void)zmq_recv(l->monitor, address, sizeof(address), ZMQ_DONTWAIT);
		if (n == sizeof(event))
			take_event(l, event);
	}
	check_answers(l);
	call_again(l);
	*ret_connections = l->connections;
	return l->state;
}

/* ---- peers ---- */

static const char *property(struct link *l, const char *name)
{
	return l->part_count ? zmq_msg_gets(&l->parts[l->part_count - 1], name) : NULL;
}

static int peer_key(struct link *l)
{
	const char *user = property(l, "User-Id");
	uint64_t place;

	return l->auth && user && parse_u64(user, &place) == 0 && place < INT32_MAX ? (int)place
										    : -1;
}

static void peer(struct link *l, struct strbuf *out)
{
	const char *address = property(l, "Peer-Address");
	int key = peer_key(l);

	strbuf_addstr(out, address && *address ? address : "unknown address");
	if (key >= 0)
		strbuf_addf(out, " (%d)", key + 1);
}

static uint64_t peer_number(struct link *l)
{
	const char *key = property(l, AUTH_KEY), *address = property(l, "Peer-Address");
	struct in6_addr v6;

	if (key)
		return XXH3_64bits(key, strlen(key));
	if (!address || !*address)
		return 0;
	if (inet_pton(AF_INET6, address, &v6) == 1 && !IN6_IS_ADDR_V4MAPPED(&v6))
		return XXH3_64bits(&v6, 8);
	return XXH3_64bits(address, strlen(address));
}

static int allow(struct link *l, const struct link_keys *keys, struct strbuf *why)
{
	return l->auth ? zmq_auth_allow(l->auth, keys, why) : -EINVAL;
}

static uint64_t refused(struct link *l, struct strbuf *who)
{
	return l->auth ? zmq_auth_refused(l->auth, who) : 0;
}

static uint64_t closed(struct link *l, struct strbuf *who)
{
	return l->guard ? zmq_guard_closed(l->guard, who) : 0;
}

static void endpoint(struct link *l, struct strbuf *out)
{
	char uri[512] = "";
	size_t size = sizeof(uri);

	if (zmq_getsockopt(l->socket, ZMQ_LAST_ENDPOINT, uri, &size) == 0)
		strbuf_addstr(out, uri);
}

static int make_keys(char *ret_public, char *ret_secret, struct strbuf *why)
{
	if (zmq_curve_keypair(ret_public, ret_secret) == 0)
		return 0;
	return strbuf_fail(why, -ENOTSUP, "cannot make keys: %s", zmq_strerror(errno));
}

static void show_version(struct strbuf *out)
{
	int major, minor, patch;

	zmq_version(&major, &minor, &patch);
	strbuf_addf(out, "%d.%d.%d", major, minor, patch);
}

static const struct link_functions functions = {
	.open = open_link,
	.close = close_link,
	.descriptor = descriptor,
	.send = send_parts,
	.receive = receive_parts,
	.state = state,
	.peer_key = peer_key,
	.peer = peer,
	.peer_number = peer_number,
	.refused = refused,
	.closed = closed,
	.allow = allow,
	.endpoint = endpoint,
	.make_keys = make_keys,
	.version = show_version,
};

PL_MODULE("zmq", "libzmq", &functions);
