/*
 * Part of module "zmq": what those who call may make us hold. libzmq bounds each part of a message
 * and the number of whole messages. It does not bound the parts of a message that has no end, nor
 * what comes before somebody is known, nor how many call. It tells of every connection and of the
 * descriptor, though: the kernel knows how many bytes came over that, we know how many of them were
 * in messages that we got, and the rest is held. A connection that holds too much is reset, and
 * libzmq forgets what it had of it. Honest nodes call again, and send again what was not
 * acknowledged.
 *
 * Empty parts take 2 bytes on the way and 64 in memory. So the memory of the process is watched as
 * well, while there are connections of which much came and nothing whole. It also shows what libzmq
 * has not freed yet of connections that were closed, whose peers may call again at once: until that
 * has come back, new ones get nothing on top of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "transport/zmq/link_module.h"

#define MB ((uint64_t)1 << 20)
#define HELD_TOTAL (256 * MB)    /* of all connections at most */
#define GROWTH_LEAST (16 * MB)   /* of memory, that is none of our business */
#define HANDSHAKE_MAX 8192       /* bytes; a whole one has less than 1,000 */
#define HANDSHAKE_NS 15000000000 /* libzmq's own time is for its first step */
#define HANDSHAKES_OF_ONE 128    /* from one address at once */
#define GROWTH (4 * MB)          /* of memory: time to look at every connection */
#define TICK_MS 20
#define LOOK_NS 1000000000ull
#define CALM_AFTER_NS 10000000000ull
#define DESCRIPTORS_KEPT 128 /* for files, sinks and others */
#define CONNECTIONS_MOST 65536
/* What a server of CURVE has sent before it knows who calls: a greeting and a WELCOME. */
#define SENT_BEFORE_KNOWN (64 + 170)
#define READY_LEAST (64 + 20) /* a greeting and the shortest READY */

struct caller {
	int fd;
	unsigned char address[16];
	uint16_t port;
	bool known; /* its handshake is done */
	uint64_t since;
	uint64_t received;  /* bytes that libzmq has read, as of the last look */
	uint64_t before;    /* the same as of the look before */
	uint64_t delivered; /* in messages that we got, with what is around them */
	uint64_t last_delivered;
	uint64_t quiet_from; /* received when something was last delivered */
};

struct guard {
	void *monitor;
	pthread_t thread;
	bool curve;
	uint64_t held_max;  /* of one connection, in a message that is not whole */
	uint64_t whole_max; /* and with whole ones that nobody has taken yet */
	uint64_t total_max, calm_max, growth_max;
	size_t connections_max, of_one_max;
	int statm;
	uint64_t looked_ns, calm_bytes, looked_bytes;
	bool much;        /* was unfinished at the last look, of all together */
	uint64_t left_ns; /* when one of those who had it was last closed, or went */
	/* below: under lock */
	pthread_mutex_t lock;
	struct caller *callers;
	size_t count, cap;
	uint32_t *places; /* by descriptor: place plus one */
	size_t place_cap;
	bool taken; /* all whole messages, since the last look */
	uint64_t closed;
	struct told told;
};

/* ---- connections -------------------------------------------------------------------------------
 */

static struct caller *find(struct guard *g, int fd)
{
	uint32_t place = fd >= 0 && (size_t)fd < g->place_cap ? g->places[fd] : 0;

	return place ? &g->callers[place - 1] : NULL;
}

/* What came since we last got something whole. */
static uint64_t unfinished(const struct caller *c)
{
	return c->received > c->quiet_from ? c->received - c->quiet_from : 0;
}

/* libzmq tells that one has gone, or we have ended it, before its memory is free. */
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

/* Who calls, those of IPv4 mapped; of IPv6 the network, since who has an address has one. */
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

/* Ends one; libzmq then closes it. The descriptor may be somebody else's by now. */
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
		zmq_reports_add(&g->told, text.buf);
	}
	forget(g, fd);
}

/* ---- what they hold ----------------------------------------------------------------------------
 */

static uint64_t held(const struct caller *c)
{
	return c->received > c->delivered ? c->received - c->delivered : 0;
}

/* Where all that was whole has been taken since the look before, the rest of what had come by then
 * is a message without its end. Otherwise whole ones may wait for us. */
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

/* False when it is gone. */
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

/* Each for itself; backwards, since who ends is replaced by the last. */
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
			end(g, c, "it sends a message without an end, or more than is taken");
	}
}

/* Whether memory of those who went may be on its way back, or they call again. */
static bool unsettled(const struct guard *g, uint64_t now)
{
	return g->left_ns && now < g->left_ns + CALM_AFTER_NS;
}

static bool is_pressed(const struct guard *g, uint64_t bytes)
{
	return bytes > g->calm_bytes + g->growth_max;
}

/* Whoever holds most goes first. */
static void look_at_all(struct guard *g, uint64_t now)
{
	if (unsettled(g, now))
		malloc_trim(0);
	uint64_t bytes = resident(g);
	bool pressed = is_pressed(g, bytes);
	g->much = total(g, unfinished) >= g->calm_max;
	while (g->count && total(g, held) > g->total_max)
		end(g, most(g, held), "all together hold too much, and it holds most");
	while (pressed && total(g, unfinished) >= g->calm_max)
		end(g, most(g, unfinished), "memory is short, and most of it is its own");
	/* memory that is full of what they left is not what is usual */
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

/* ---- how many they are -------------------------------------------------------------------------
 */

/* The oldest without a handshake, of an address or (NULL) of all; NULL: none. */
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

/* One too many: who has not said who he is goes before who has, and the new one before those. */
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

	forget(g, fd); /* where we were not told of its end */
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

/* ---- the thread --------------------------------------------------------------------------------
 */

/* False at the end. Events are pairs of parts: what it is and of which descriptor, and the address.
 */
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

/* ---- for the module ----------------------------------------------------------------------------
 */

static void free_guard(struct guard *g)
{
	if (g->statm >= 0)
		close(g->statm);
	pthread_mutex_destroy(&g->lock);
	zmq_reports_release(&g->told);
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

static int start_thread(struct guard *g)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&g->thread, NULL, serve, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int zmq_guard_start(struct guard **ret, void *context, void *socket, const struct link_options *o)
{
	static const char address[] = "inproc://guard";
	struct guard *g = xcalloc(1, sizeof(*g));
	int none = 0, r = 0;

	*g = (struct guard){.curve = o->keys != NULL, .told.waiting = STRBUF_INIT};
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
		r = start_thread(g);
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
		zmq_reports_take(&g->told, who);
	pthread_mutex_unlock(&g->lock);
	return ret;
}
