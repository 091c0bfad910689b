/*
 * Part of module "zmq": ZeroMQ's authentication protocol (ZAP). libzmq asks this thread about every
 * connection before it reads a message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <zmq.h>

#include "core/system/thread.h"
#include "core/text/text.h"
#include "transport/zmq/link_module.h"

#define FRAME_MAX 256

struct network {
	struct in6_addr address;
	unsigned bits;
};

struct allowed_key {
	unsigned char key[32];
	bool withdrawn;
};

struct zmq_auth {
	void *socket;
	pthread_t thread;
	bool curve;
	struct network *networks;
	size_t network_count;
	/* below: under lock */
	pthread_mutex_t lock;
	struct allowed_key *keys;
	size_t key_count;
	struct revoked_key *revoked;
	size_t revoked_count;
	uint64_t refused;
	struct zmq_reports reports;
};

struct request {
	char frame[8][FRAME_MAX + 1];
	size_t size[8];
	size_t count;
};
enum { VERSION, REQUEST, DOMAIN, ADDRESS, IDENTITY, MECHANISM, CREDENTIALS };

/* ---- addresses ---- */

/* Parses an address; IPv4 is mapped into IPv6. */
static bool parse_address(const char *text, struct in6_addr *ret, bool *v4)
{
	struct in_addr a;

	*v4 = inet_pton(AF_INET, text, &a) == 1;
	if (!*v4)
		return inet_pton(AF_INET6, text, ret) == 1;
	memset(ret, 0, sizeof(*ret));
	ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
	memcpy(ret->s6_addr + 12, &a, 4);
	return true;
}

/* "10.1.2.3", "10.0.0.0/8", "fd00::/16" */
static bool parse_network(const char *text, struct network *ret)
{
	char address[64];
	size_t n = strcspn(text, "/");
	uint64_t bits = 0;
	bool v4;

	if (n >= sizeof(address))
		return false;
	memcpy(address, text, n);
	address[n] = 0;
	if (!parse_address(address, &ret->address, &v4))
		return false;
	if (text[n] && (parse_u64(text + n + 1, &bits) < 0 || bits > (v4 ? 32 : 128)))
		return false;
	ret->bits = !text[n] ? 128 : v4 ? 96 + (unsigned)bits : (unsigned)bits;
	return true;
}

static bool is_in(const struct network *net, const struct in6_addr *a)
{
	unsigned whole = net->bits / 8, rest = net->bits % 8;

	return !memcmp(net->address.s6_addr, a->s6_addr, whole) &&
	       (!rest || (net->address.s6_addr[whole] ^ a->s6_addr[whole]) >> (8 - rest) == 0);
}

/* ---- requests ---- */

/* False: the context has ended. Frames that are too long are cut, and match nothing. */
static bool receive(struct zmq_auth *z, struct request *q)
{
	int more = 1;
	size_t size = sizeof(more);

	for (q->count = 0; more; q->count += q->count < 8) {
		char spare[FRAME_MAX + 1];
		char *into = q->count < 8 ? q->frame[q->count] : spare;
		int n = zmq_recv(z->socket, into, FRAME_MAX, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n > FRAME_MAX)
			n = FRAME_MAX;
		into[n] = 0;
		if (q->count < 8)
			q->size[q->count] = (size_t)n;
		if (zmq_getsockopt(z->socket, ZMQ_RCVMORE, &more, &size) < 0)
			return false;
	}
	return true;
}

static int find_key(struct zmq_auth *z, const char *key)
{
	int place = -1;

	pthread_mutex_lock(&z->lock);
	for (size_t i = 0; i < z->key_count && place < 0; i++)
		if (!z->keys[i].withdrawn && !memcmp(z->keys[i].key, key, 32))
			place = (int)i;
	pthread_mutex_unlock(&z->lock);
	return place;
}

/* Index of the key or network that allows this connection, -1: none. */
static int decide(struct zmq_auth *z, const struct request *q)
{
	struct in6_addr a;
	bool v4;

	if (q->count < CREDENTIALS || strcmp(q->frame[VERSION], "1.0") != 0)
		return -1;
	if (z->curve) {
		if (strcmp(q->frame[MECHANISM], "CURVE") != 0 || q->count <= CREDENTIALS ||
		    q->size[CREDENTIALS] != 32)
			return -1;
		return find_key(z, q->frame[CREDENTIALS]);
	}
	if (strcmp(q->frame[MECHANISM], "NULL") != 0 || !parse_address(q->frame[ADDRESS], &a, &v4))
		return -1;
	for (size_t i = 0; i < z->network_count; i++)
		if (is_in(&z->networks[i], &a))
			return (int)i;
	return -1;
}

/* Adds why a key is refused. The caller holds lock. */
static void add_reason(const struct zmq_auth *z, const char *key, struct strbuf *out)
{
	const struct revoked_key *r = NULL;

	for (size_t i = z->revoked_count; i-- && !r;)
		if (!strcmp(z->revoked[i].key, key))
			r = &z->revoked[i];
	strbuf_addf(out, " with key %s", key);
	if (!r) {
		strbuf_addstr(out, ", which is not in the file of --allow");
		return;
	}
	strbuf_addf(out, ", which was revoked%s%s; it was for '", *r->time ? " at " : "", r->time);
	text_add_printable(out, r->name, strlen(r->name));
	strbuf_addch(out, '\'');
}

/* Counts a refused connection, and reports it once. */
static void count_refused(struct zmq_auth *z, const struct request *q)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char key[41] = "";

	strbuf_addf(&text, "%.100s",
		    q->count > ADDRESS && q->size[ADDRESS] ? q->frame[ADDRESS] : "unknown address");
	pthread_mutex_lock(&z->lock);
	if (q->count > CREDENTIALS && q->size[CREDENTIALS] == 32 &&
	    zmq_z85_encode(key, (const uint8_t *)q->frame[CREDENTIALS], 32))
		add_reason(z, key, &text);
	else
		strbuf_addstr(&text,
			      z->curve ? " without a key" : ", which is not an allowed address");
	z->refused++;
	zmq_reports_add(&z->reports, text.buf);
	pthread_mutex_unlock(&z->lock);
}

/* Adds the peer's key as a property of its messages: a name and a value with their lengths. */
static void add_key(const struct zmq_auth *z, const struct request *q, struct strbuf *out)
{
	char key[41] = "";

	if (!z->curve || q->size[CREDENTIALS] != 32 ||
	    !zmq_z85_encode(key, (const uint8_t *)q->frame[CREDENTIALS], 32))
		return;
	strbuf_addch(out, (char)strlen(AUTH_KEY));
	strbuf_addstr(out, AUTH_KEY);
	strbuf_add(out, "\0\0\0", 3);
	strbuf_addch(out, (char)strlen(key));
	strbuf_addstr(out, key);
}

static void answer(struct zmq_auth *z, const struct request *q, int place)
{
	_cleanup_strbuf_ struct strbuf more = STRBUF_INIT;
	const char *status = place < 0 ? "400" : "200", *text = place < 0 ? "not allowed" : "OK";
	char user[24] = "";

	if (place >= 0)
		snprintf(user, sizeof(user), "%d", place);
	(void)zmq_send(z->socket, "1.0", 3, ZMQ_SNDMORE);
	(void)zmq_send(z->socket, q->frame[REQUEST], q->count > REQUEST ? q->size[REQUEST] : 0,
		       ZMQ_SNDMORE);
	(void)zmq_send(z->socket, status, 3, ZMQ_SNDMORE);
	(void)zmq_send(z->socket, text, strlen(text), ZMQ_SNDMORE);
	(void)zmq_send(z->socket, user, strlen(user), ZMQ_SNDMORE);
	if (place >= 0)
		add_key(z, q, &more);
	(void)zmq_send(z->socket, more.buf, more.len, 0);
}

static void *serve(void *user)
{
	struct zmq_auth *z = user;
	struct request q;

	while (receive(z, &q)) {
		int place = decide(z, &q);

		if (place < 0)
			count_refused(z, &q);
		answer(z, &q, place);
	}
	zmq_close(z->socket);
	return NULL;
}

/* ---- for the module ---- */

static void free_revoked(struct revoked_key *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].name);
		free(list[i].time);
	}
	free(list);
}

static struct revoked_key *copy_revoked(const struct link_keys *k)
{
	struct revoked_key *list = xcalloc(k->revoked_count + 1, sizeof(*list));

	for (size_t i = 0; i < k->revoked_count; i++) {
		list[i] = k->revoked[i];
		list[i].name = xstrdup(list[i].name);
		list[i].time = xstrdup(list[i].time);
	}
	return list;
}

static void free_auth(struct zmq_auth *z)
{
	pthread_mutex_destroy(&z->lock);
	free_revoked(z->revoked, z->revoked_count);
	zmq_reports_release(&z->reports);
	free(z->keys);
	free(z->networks);
	free(z);
}

int zmq_auth_allow(struct zmq_auth *z, const struct link_keys *k, struct strbuf *why)
{
	struct allowed_key *list = xcalloc(k->allowed_count + 1, sizeof(*list));

	for (size_t i = 0; i < k->allowed_count; i++) {
		list[i].withdrawn = k->names && !k->names[i];
		if (strlen(k->allowed[i]) != 40 || !zmq_z85_decode(list[i].key, k->allowed[i])) {
			strbuf_addf(why, "'%.60s' is not a key of 40 characters", k->allowed[i]);
			free(list);
			return -EINVAL;
		}
	}
	struct revoked_key *revoked = copy_revoked(k);
	pthread_mutex_lock(&z->lock);
	struct allowed_key *old = z->keys;
	struct revoked_key *before = z->revoked;
	size_t before_count = z->revoked_count;
	z->keys = list;
	z->key_count = k->allowed_count;
	z->revoked = revoked;
	z->revoked_count = k->revoked_count;
	pthread_mutex_unlock(&z->lock);
	free(old);
	free_revoked(before, before_count);
	return 0;
}

static int take_rules(struct zmq_auth *z, const struct link_options *o, struct strbuf *why)
{
	z->curve = o->keys != NULL;
	if (o->keys)
		return zmq_auth_allow(z, o->keys, why);
	z->networks = xcalloc(o->peer_count + 1, sizeof(*z->networks));
	for (size_t i = 0; i < o->peer_count; i++)
		if (!parse_network(o->peers[i], &z->networks[z->network_count++]))
			return strbuf_fail(why, -EINVAL,
					   "'%.60s' is not an address or ADDRESS/BITS",
					   o->peers[i]);
	return 0;
}

int zmq_auth_start(struct zmq_auth **ret, void *context, const struct link_options *o,
		   struct strbuf *why)
{
	struct zmq_auth *z = xcalloc(1, sizeof(*z));

	*z = (struct zmq_auth){.reports.waiting = STRBUF_INIT};
	pthread_mutex_init(&z->lock, NULL);
	int r = take_rules(z, o, why);
	z->socket = r < 0 ? NULL : zmq_socket(context, ZMQ_REP);
	if (r == 0 && (!z->socket || zmq_bind(z->socket, "inproc://zeromq.zap.01") < 0))
		r = strbuf_fail(why, -EIO, "cannot start authentication: %s", zmq_strerror(errno));
	else if (r == 0 && (r = thread_start(&z->thread, 0, serve, z)) < 0)
		strbuf_addf(why, "cannot start a thread: %s", strerror(-r));
	if (r < 0) {
		if (z->socket)
			zmq_close(z->socket);
		free_auth(z);
		return r;
	}
	*ret = z;
	return 0;
}

void zmq_auth_stop(struct zmq_auth *z)
{
	pthread_join(z->thread, NULL);
	free_auth(z);
}

uint64_t zmq_auth_refused(struct zmq_auth *z, struct strbuf *who)
{
	pthread_mutex_lock(&z->lock);
	uint64_t ret = z->refused;
	if (who)
		zmq_reports_take(&z->reports, who);
	pthread_mutex_unlock(&z->lock);
	return ret;
}
