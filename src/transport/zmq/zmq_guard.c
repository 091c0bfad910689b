/*
 * Part of module "zmq": limits the memory and number of connections. libzmq limits each part of a
 * message and the number of complete messages. It does not limit the parts of an endless message,
 * what arrives before a peer is authenticated, or the number of connections. But it reports every
 * connection with its descriptor: the kernel knows how many bytes arrived, we know how many of them
 * were in messages that we received, and the rest is held. A connection that holds too much is
 * reset, and libzmq frees its memory. Honest nodes connect again and resend what was not
 * acknowledged.
 *
 * Empty parts take 2 bytes on the wire and 64 in memory. So the memory of the process is watched as
 * well, while there are connections with many bytes and no complete message. It also includes
 * memory that libzmq has not freed yet after closing connections, whose peers may connect again at
 * once: until it is freed, new connections get nothing on top of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "core/clock.h"
#include "core/system/thread.h"
#include "transport/zmq/link_module.h"

#define MB ((uint64_t)1 << 20)
#define HELD_TOTAL (256 * MB)    /* most for all connections */
#define GROWTH_LEAST (16 * MB)   /* of memory, which may have other reasons */
#define HANDSHAKE_MAX 8192       /* bytes; a complete one has less than 1,000 */
#define HANDSHAKE_NS 15000000000 /* libzmq's own time-out is for the first step only */
#define HANDSHAKES_OF_ONE 128    /* at the same time from one address */
#define GROWTH (4 * MB)          /* of memory: check every connection */
#define TICK_MS 20
#define LOOK_NS 1000000000ull
#define CALM_AFTER_NS 10000000000ull
#define DESCRIPTORS_KEPT 128 /* for files, sinks and so on */
#define CONNECTIONS_MOST 65536
/* A CURVE server sends a greeting and a WELCOME before it knows the peer. */
#define SENT_BEFORE_KNOWN (64 + 170)
#define READY_LEAST (64 + 20) /* a greeting and the shortest READY */

struct caller {
	int fd;
	unsigned char address[16];
	uint16_t port;
	bool known; /* its handshake is complete */
	uint64_t since;
	uint64_t received;  /* bytes read by libzmq at the last check */
	uint64_t before;    /* the same at the check before */
	uint64_t delivered; /* bytes on the wire of messages that we received */
	uint64_t last_delivered;
	uint64_t quiet_from; /* received at the last delivery */
};

struct guard {
	void *monitor;
	pthread_t thread;
	bool curve;
	uint64_t held_max;  /* of one connection, in an incomplete message */
	uint64_t whole_max; /* and with complete messages that were not received yet */
	uint64_t total_max, calm_max, growth_max;
	size_t connections_max, of_one_max;
	int statm;
	uint64_t looked_ns, calm_bytes, looked_bytes;
	bool much;        /* all together had much unfinished at the last check */
	uint64_t left_ns; /* when one of these was last closed, or left */
	/* below: under lock */
	pthread_mutex_t lock;
	struct caller *callers;
	size_t count, cap;
	uint32_t *places; /* by descriptor: index plus one */
	size_t place_cap;
	bool taken; /* all complete messages since the last check */
	uint64_t closed;
	struct zmq_reports reports;
};

/* ---- connections ---- */

static struct caller *find(struct guard *g, int fd)
{
	uint32_t place = fd >= 0 && (size_t)fd < g->place_cap ? g->places[fd] : 0;

	return place ? &g->callers[place - 1] : NULL;
}

/* Bytes since the last complete message. */
static uint64_t unfinished(const struct caller *c)
{
	return c->received > c->quiet_from ? c->received - c->quiet_from : 0;
}

/* A connection has ended; libzmq may not have freed its memory yet. */
static void forget(struct guard *g, int fd)
{
	struct caller *c = find(g, fd);

	if (!c)
		return;
	if (unfinished(c) >= g->calm_max || (g->much && unfinished(c)))
		g->left_ns = clock_boottime_ns();
	*c = g->callers[--g->count];
	g->places[c->fd] = (uint32_t)(c - g->callers) + 1;
	g->places[fd] = 0;
}

/* The peer's address: IPv4 mapped; of IPv6 the /64 network, which a peer usually owns. */
static bool ask_peer(int fd, unsigned char *ret_address, uint16_t *ret_port)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof(a);

	memset(ret_address, 0, 16);
	if (getpeername(fd, (struct sockaddr *)&a, &size) < 0)
		return false;
	if (a.ss_family == AF_INET) {
		const struct sockaddr_in *in = (struct sockaddr_in *)&a;

		memset(ret_address + 10, 0xff, 2);
		memcpy(ret_address + 12, &in->sin_addr, 4);
		*ret_port = in->sin_port;
	} else if (a.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (struct sockaddr_in6 *)&a;
		bool mapped = IN6_IS_ADDR_V4MAPPED(&in->sin6_addr);

		memcpy(ret_address, &in->sin6_addr, mapped ? 16 : 8);
		*ret_port = in->sin6_port;
	} else {
		return false;
	}
	return true;
}

static void add_address(const struct caller *c, struct strbuf *out)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN] = "";
	bool v4 = !memcmp(c->address, mapped, sizeof(mapped));

	(void)inet_ntop(v4 ? AF_INET : AF_INET6, c->address + (v4 ? 12 : 0), text, sizeof(text));
	strbuf_addf(out, "%s%s", text, v4 ? "" : "/64");
}

void guard_disconnect(int fd)
{
	static const struct sockaddr none = {.sa_family = AF_UNSPEC};

	if (connect(fd, &none, sizeof(none)) < 0)
		(void)shutdown(fd, SHUT_RDWR);
}

/* Resets a connection; libzmq then closes it. The descriptor may have been reused by now. */
static void end(struct guard *g, const struct caller *c, const char *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned char address[16];
	uint16_t port = 0;
	int fd = c->fd;

	if (ask_peer(fd, address, &port) && port == c->port && !memcmp(address, c->address, 16)) {
		guard_disconnect(fd);
		g->closed++;
		add_address(c, &text);
		strbuf_addf(&text, ": %s", why);
		zmq_reports_add(&g->reports, text.buf);
	}
	forget(g, fd);
}

/* ---- what they hold ---- */

static uint64_t held(const struct caller *c)
{
	return c->received > c->delivered ? c->received - c->delivered : 0;
}

/* If all complete messages were received since the check before, the rest of what had arrived by
 * then is an incomplete message. Otherwise complete ones may be waiting. */
static bool holds_too_much(const struct guard *g, const struct caller *c)
{
	uint64_t came = g->taken ? c->before : c->received;

	return came > c->delivered + (g->taken ? g->held_max : g->whole_max);
}

int zmq_guard_ask(int fd, uint64_t *ret_received, uint64_t *ret_acknowledged)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);
	int waiting = 0; /* in the kernel's memory, not in ours */

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return -errno;
	if (size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(uint64_t))
		return -ENOSYS;
	*ret_received = info.tcpi_bytes_received;
	if (ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0 && (uint64_t)waiting < *ret_received)
		*ret_received -= (uint64_t)waiting;
	*ret_acknowledged = info.tcpi_bytes_acked;
	return 0;
}

/* False: it is gone. */
static bool look(struct guard *g, struct caller *c)
{
	uint64_t acknowledged = 0;

	c->before = c->received;
	int r = zmq_guard_ask(c->fd, &c->received, &acknowledged);

	if (r < 0) {
		c->known = true;
		return r == -ENOSYS;
	}
	if (!c->known)
		c->known = g->curve ? acknowledged > SENT_BEFORE_KNOWN + 1
				    : c->received >= READY_LEAST;
	if (c->delivered != c->last_delivered) {
		if (c->delivered + GUARD_SMALL_CHANGE > c->received)
			c->delivered = c->received;
		c->last_delivered = c->delivered;
		c->quiet_from = c->received;
	}
	return true;
}

static struct caller *most(struct guard *g, uint64_t (*of)(const struct caller *c))
{
	struct caller *ret = NULL;

	for (size_t i = 0; i < g->count; i++)
		if (!ret || of(&g->callers[i]) > of(ret))
			ret = &g->callers[i];
	return ret;
}

static uint64_t total(const struct guard *g, uint64_t (*of)(const struct caller *c))
{
	uint64_t ret = 0;

	for (size_t i = 0; i < g->count; i++)
		ret += of(&g->callers[i]);
	return ret;
}

static uint64_t resident(const struct guard *g)
{
	char text[128] = "";
	unsigned long long pages = 0;
	ssize_t n = g->statm < 0 ? -1 : pread(g->statm, text, sizeof(text) - 1, 0);

	if (n > 0)
		(void)sscanf(text, "%*u %llu", &pages);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Checks each one; backwards, since a removed one is replaced by the last. */
static void look_at_each(struct guard *g, uint64_t now)
{
	for (size_t i = g->count; i--;) {
		struct caller *c = &g->callers[i];

		if (!look(g, c))
			forget(g, c->fd);
		else if (!c->known && c->received > HANDSHAKE_MAX)
			end(g, c, "its handshake is too long");
		else if (!c->known && now - c->since > HANDSHAKE_NS)
			end(g, c, "its handshake does not end");
		else if (holds_too_much(g, c))
			end(g, c, "it sends an endless message, or faster than it is read");
	}
}

/* May memory of closed connections still be in use, or their peers connect again? */
static bool unsettled(const struct guard *g, uint64_t now)
{
	return g->left_ns && now < g->left_ns + CALM_AFTER_NS;
}

static bool is_pressed(const struct guard *g, uint64_t bytes)
{
	return bytes > g->calm_bytes + g->growth_max;
}

/* Closes those that hold most first. */
static void look_at_all(struct guard *g, uint64_t now)
{
	if (unsettled(g, now))
		malloc_trim(0);
	uint64_t bytes = resident(g);
	bool pressed = is_pressed(g, bytes);
	g->much = total(g, unfinished) >= g->calm_max;
	while (g->count && total(g, held) > g->total_max)
		end(g, most(g, held), "all connections hold too much memory, and it holds most");
	while (pressed && total(g, unfinished) >= g->calm_max)
		end(g, most(g, unfinished), "memory is short, and it holds most");
	/* memory of closed connections is not the normal level */
	if (total(g, unfinished) < g->calm_max && (bytes < g->calm_bytes || !unsettled(g, now)))
		g->calm_bytes = bytes;
	g->looked_bytes = bytes;
}

static void look_around(struct guard *g)
{
	uint64_t now = clock_boottime_ns(), bytes = resident(g);

	if (now - g->looked_ns < LOOK_NS && bytes < g->looked_bytes + GROWTH &&
	    !is_pressed(g, bytes))
		return;
	g->looked_ns = now;
	pthread_mutex_lock(&g->lock);
	look_at_each(g, now);
	look_at_all(g, now);
	g->taken = false;
	pthread_mutex_unlock(&g->lock);
}

/* ---- how many they are ---- */

/* The oldest incomplete handshake of an address (NULL: of all); NULL: none. */
static struct caller *oldest_unknown(struct guard *g, const unsigned char *address)
{
	struct caller *ret = NULL;

	for (size_t i = 0; i < g->count; i++) {
		struct caller *c = &g->callers[i];

		if (!c->known && (!address || !memcmp(c->address, address, 16)) &&
		    (!ret || c->since < ret->since))
			ret = c;
	}
	return ret;
}

static void count_like(struct guard *g, const unsigned char *address, size_t *ret_all,
		       size_t *ret_unknown)
{
	*ret_all = *ret_unknown = 0;
	for (size_t i = 0; i < g->count; i++)
		if (!memcmp(g->callers[i].address, address, 16)) {
			*ret_all += 1;
			*ret_unknown += !g->callers[i].known;
		}
}

/* One too many: closes the oldest incomplete handshake, or else the new connection. */
static void make_room(struct guard *g, int fd, const unsigned char *address, const char *why)
{
	struct caller *c = oldest_unknown(g, address);

	if (!c)
		c = find(g, fd);
	if (c)
		end(g, c, why);
}

static void look_at_unknown(struct guard *g, const unsigned char *address)
{
	for (size_t i = g->count; i--;) {
		struct caller *c = &g->callers[i];

		if (!c->known && !memcmp(c->address, address, 16) && !look(g, c))
			forget(g, c->fd);
	}
}

static void keep_few(struct guard *g, int fd, const unsigned char *address)
{
	size_t all, unknown;

	count_like(g, address, &all, &unknown);
	if (unknown > HANDSHAKES_OF_ONE) {
		look_at_unknown(g, address);
		count_like(g, address, &all, &unknown);
	}
	if (unknown > HANDSHAKES_OF_ONE)
		make_room(g, fd, address, "too many handshakes at once");
	else if (all > g->of_one_max)
		make_room(g, fd, address, "too many connections from one address");
	if (g->count > g->connections_max)
		make_room(g, fd, NULL, "too many connections");
}

static void add(struct guard *g, int fd)
{
	struct caller c = {.fd = fd, .since = clock_boottime_ns()};

	forget(g, fd); /* in case its end was not reported */
	if (fd < 0 || !ask_peer(fd, c.address, &c.port))
		return;
	if ((size_t)fd >= g->place_cap) {
		size_t cap = (size_t)fd + 256;

		g->places = xreallocarray(g->places, cap, sizeof(*g->places));
		memset(g->places + g->place_cap, 0, (cap - g->place_cap) * sizeof(*g->places));
		g->place_cap = cap;
	}
	GROW(g->callers, g->count, g->cap);
	g->callers[g->count++] = c;
	g->places[fd] = (uint32_t)g->count;
	keep_few(g, fd, c.address);
}

/* ---- the thread ---- */

/* False: the end. An event has two parts: its kind and descriptor, and the address. */
static bool take_event(struct guard *g)
{
	unsigned char event[6], address[256];
	uint16_t what;
	int32_t fd;
	int n = zmq_recv(g->monitor, event, sizeof(event), 0);

	if (n < 0)
		return errno == EINTR;
	(void)zmq_recv(g->monitor, address, sizeof(address), 0);
	if (n != sizeof(event))
		return true;
	memcpy(&what, event, sizeof(what));
	memcpy(&fd, event + sizeof(what), sizeof(fd));
	if (what == ZMQ_EVENT_MONITOR_STOPPED)
		return false;
	pthread_mutex_lock(&g->lock);
	if (what == ZMQ_EVENT_ACCEPTED)
		add(g, fd);
	else
		forget(g, fd);
	pthread_mutex_unlock(&g->lock);
	return true;
}

static void *serve(void *user)
{
	struct guard *g = user;
	zmq_pollitem_t item = {.socket = g->monitor, .events = ZMQ_POLLIN};

	for (;;) {
		bool watch = g->count || unsettled(g, clock_boottime_ns());
		int n = zmq_poll(&item, 1, watch ? TICK_MS : -1);

		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && !take_event(g))
			break;
		look_around(g);
	}
	zmq_close(g->monitor);
	return NULL;
}

/* ---- for the module ---- */

static void free_guard(struct guard *g)
{
	if (g->statm >= 0)
		close(g->statm);
	pthread_mutex_destroy(&g->lock);
	zmq_reports_release(&g->reports);
	free(g->callers);
	free(g->places);
	free(g);
}

static void set_limits(struct guard *g, const struct link_options *o)
{
	unsigned high_water = o->high_water > 0 ? (unsigned)o->high_water : LINK_HIGH_WATER;
	struct rlimit files;

	g->connections_max = CONNECTIONS_MOST;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < CONNECTIONS_MOST)
		g->connections_max = files.rlim_cur > 2 * DESCRIPTORS_KEPT
					     ? files.rlim_cur - DESCRIPTORS_KEPT
					     : files.rlim_cur / 2;
	if (o->connections_max && o->connections_max < g->connections_max)
		g->connections_max = o->connections_max;
	g->of_one_max = g->connections_max / 4 ? g->connections_max / 4 : 1;
	g->held_max = 4 * (o->message_max ? o->message_max : LINK_MESSAGE_MAX);
	g->whole_max = g->held_max + high_water * (g->held_max / 4);
	if (g->whole_max > HELD_TOTAL)
		g->whole_max = HELD_TOTAL;
	g->total_max = 8 * g->held_max < HELD_TOTAL ? 8 * g->held_max : HELD_TOTAL;
	g->calm_max = g->total_max / 256;
	g->growth_max = g->total_max > GROWTH_LEAST ? g->total_max : GROWTH_LEAST;
}

int zmq_guard_start(struct guard **ret, void *context, void *socket, const struct link_options *o)
{
	static const char address[] = "inproc://guard";
	struct guard *g = xcalloc(1, sizeof(*g));
	int none = 0, r = 0;

	*g = (struct guard){.curve = o->keys != NULL, .reports.waiting = STRBUF_INIT};
	pthread_mutex_init(&g->lock, NULL);
	set_limits(g, o);
	g->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	g->calm_bytes = g->looked_bytes = resident(g);
	if (zmq_socket_monitor(socket, address,
			       ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
				       ZMQ_EVENT_MONITOR_STOPPED) < 0)
		r = -errno;
	g->monitor = r < 0 ? NULL : zmq_socket(context, ZMQ_PAIR);
	if (r == 0 &&
	    (!g->monitor || zmq_setsockopt(g->monitor, ZMQ_LINGER, &none, sizeof(none)) < 0 ||
	     zmq_connect(g->monitor, address) < 0))
		r = -errno;
	if (r == 0)
		r = thread_start(&g->thread, 0, serve, g);
	if (r < 0) {
		if (g->monitor)
			zmq_close(g->monitor);
		free_guard(g);
		return r;
	}
	*ret = g;
	return 0;
}

void zmq_guard_stop(struct guard *g)
{
	pthread_join(g->thread, NULL);
	free_guard(g);
}

void zmq_guard_taken(struct guard *g)
{
	pthread_mutex_lock(&g->lock);
	g->taken = true;
	pthread_mutex_unlock(&g->lock);
}

void zmq_guard_delivered(struct guard *g, int fd, size_t bytes)
{
	pthread_mutex_lock(&g->lock);
	struct caller *c = find(g, fd);
	if (c)
		c->delivered += bytes;
	pthread_mutex_unlock(&g->lock);
}

uint64_t zmq_guard_closed(struct guard *g, struct strbuf *who)
{
	pthread_mutex_lock(&g->lock);
	uint64_t ret = g->closed;
	if (who)
		zmq_reports_take(&g->reports, who);
	pthread_mutex_unlock(&g->lock);
	return ret;
}
