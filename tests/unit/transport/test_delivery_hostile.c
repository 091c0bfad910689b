/*
 * A collector and those who do not mean well, or do not know better: garbage at the port, scans,
 * connections that are opened and left, peers that never read, reconnects without end, strangers.
 * It goes on serving, and its memory stays where it was. PL_LONG=1: more of everything.
 */
#include "delivery.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/text/text.h"
#include "transport/keyring.h"
#include "transport/protocol.h"

static bool is_long(void)
{
	return getenv("PL_LONG") != NULL;
}

static size_t resident_kb(void)
{
	size_t kb = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, "VmRSS: %zu kB", &kb);
	fclose(f);
	return kb;
}

/* A plain connection to the collector's port; -1 when it is not taken. */
static int connect_to(const char *uri)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	const char *colon = strrchr(uri, ':');
	uint64_t port;

	assert_int_equal(parse_u64(colon + 1, &port), 0);
	a.sin_port = htons((uint16_t)port);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Delivers one batch from a new node, to show that it is served. */
static void still_serves(struct collector *c, const char *dir)
{
	static uint64_t boot = 1000;
	_cleanup_free_ char *spool = xasprintf("%s/spool-%llu", dir, (unsigned long long)++boot);
	struct sender *d = node_start(spool, (struct sender_options){.uri = c->uri});

	give(d, "good", boot, 1, 3);
	wait_until(delivered(d).acknowledged == 3);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	assert_int_equal(check_log(c->log, "good", boot, 1), 3);
}

static void begin(struct collector *c, void **state)
{
	struct receiver_options o = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *dir = xasprintf("%s/c", (char *)*state);

	assert_int_equal(mkdir(dir, 0700), 0);
	if (collector_open(c, dir, o, (struct commit_log_options){0}, &why) < 0)
		fail_msg("%s", why.buf);
	still_serves(c, *state);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* What a greeting of ZMTP 3 looks like, with a handshake behind it. */
static const unsigned char greeting[] =
	"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
	"\4\x26\5READY\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0\0";
#define GREETING 64
#define HANDSHAKE (GREETING + 40)

/* Sends up to n bytes, the first ones given, the rest random; how much was taken. */
static size_t send_garbage(int fd, const void *start, size_t start_size, size_t n, uint64_t *seed)
{
	unsigned char buf[65536];
	size_t sent = 0;

	if (start_size && send(fd, start, start_size, MSG_NOSIGNAL) < 0)
		return 0;
	while (sent < n) {
		size_t m = n - sent < sizeof(buf) ? n - sent : sizeof(buf);

		for (size_t i = 0; i < m; i += 8) {
			uint64_t v = random_next(seed);

			memcpy(buf + i, &v, m - i < 8 ? m - i : 8);
		}
		ssize_t r = send(fd, buf, m, MSG_NOSIGNAL);
		if (r <= 0)
			break;
		sent += (size_t)r;
	}
	return sent;
}

/* Random bytes at once, behind a greeting, behind a handshake; and messages that are none. */
static void garbage_at_the_port(void **state)
{
	size_t goal = (is_long() ? (size_t)1 << 30 : (size_t)20 << 20), sent = 0, kb;
	uint64_t seed = 88172645463325252ull;
	static const size_t starts[] = {0, 10, GREETING, HANDSHAKE};
	struct link_part parts[2];
	struct collector c;

	begin(&c, state);
	kb = resident_kb();
	for (unsigned i = 0; i < 400; i++) {
		int fd = connect_to(c.uri);

		assert_true(fd >= 0);
		sent += send_garbage(fd, greeting, starts[i % 4], 100000, &seed);
		close(fd);
	}
	/* the rest where it hurts most: whole messages, by a peer that keeps to the transport */
	_cleanup_free_ unsigned char *big = xmalloc(1 << 20);
	for (size_t i = 0; i < 1 << 20; i += 8) {
		uint64_t v = random_next(&seed);

		memcpy(big + i, &v, 8);
	}
	struct link *l = open_link(
		&(struct link_options){.kind = LINK_DEALER, .uri = c.uri, .high_water = 4});
	parts[0] = (struct link_part){PROTOCOL_NAME, 5};
	for (uint64_t messages = 0; sent < goal;) {
		parts[1] = (struct link_part){big, 1 << 20};
		int r = link_send(l, parts, 1 + messages % 2);

		if (r == -EAGAIN) {
			usleep(1000);
			continue;
		}
		assert_int_equal(r, 0);
		messages++;
		sent += messages % 2 ? 5 : 1 << 20;
	}
	wait_until(received(&c).bad > 0);
	still_serves(&c, *state);
	link_close(l);
	print_message("%zu MB of garbage, memory from %zu to %zu kB\n", sent >> 20, kb,
		      resident_kb());
	assert_true(resident_kb() < kb + 65536);
	assert_true(received(&c).bad >= 10);
	collector_stop(&c);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void scans_and_half_open_connections(void **state)
{
	unsigned scans = is_long() ? 20000 : 500, held = 200;
	int fds[200];
	struct collector c;

	begin(&c, state);
	size_t kb = resident_kb();
	for (unsigned i = 0; i < scans; i++) {
		int fd = connect_to(c.uri);

		if (fd >= 0) {
			/* by a reset, as scanners do */
			struct linger now = {1, 0};
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
			close(fd);
		}
	}
	for (unsigned i = 0; i < held; i++) {
		fds[i] = connect_to(c.uri);
		assert_true(fds[i] >= 0);
		/* some say a part of what they should, and no more */
		if (i % 2)
			(void)send(fds[i], greeting, i % 3 ? 12 : HANDSHAKE, MSG_NOSIGNAL);
	}
	still_serves(&c, *state);
	assert_true(resident_kb() < kb + 65536);
	for (unsigned i = 0; i < held; i++)
		close(fds[i]);
	still_serves(&c, *state);
	collector_stop(&c);
}

/* Asks and asks and never takes an answer: they pile up to the mark and no further. */
static void a_peer_that_never_reads(void **state)
{
	unsigned count = is_long() ? 2000000 : 60000;
	struct link_part parts[] = {{PROTOCOL_NAME, 5}, {"HELLO", 5}, {"n1", 2}, {"1", 1}};
	struct collector c;

	begin(&c, state);
	size_t kb = resident_kb();
	struct link *l = open_link(
		&(struct link_options){.kind = LINK_DEALER, .uri = c.uri, .high_water = 500});
	uint64_t until = now_ms() + 60000;
	for (unsigned i = 0; i < count && now_ms() < until;) {
		int r = link_send(l, parts, 4);

		assert_true(r == 0 || r == -EAGAIN);
		if (r == -EAGAIN)
			usleep(100);
		else
			i++;
	}
	still_serves(&c, *state);
	assert_true(resident_kb() < kb + 65536);
	link_close(l);
	collector_stop(&c);
}

static void reconnects_without_end(void **state)
{
	unsigned count = is_long() ? 10000 : 150;
	struct link_part parts[LINK_PARTS_MAX];
	struct collector c;
	size_t n, kb = 0;

	begin(&c, state);
	for (unsigned i = 0; i < count; i++) {
		struct link_part hello[] = {{PROTOCOL_NAME, 5}, {"HELLO", 5}, {"n1", 2}, {"1", 1}};
		struct link *l =
			open_link(&(struct link_options){.kind = LINK_DEALER, .uri = c.uri});

		assert_int_equal(link_send(l, hello, 4), 0);
		if (i % 10 == 0)
			assert_true(await(l, parts, &n, 60000));
		link_close(l);
		if (i == count / 10)
			kb = resident_kb();
	}
	still_serves(&c, *state);
	print_message("%u reconnects, memory from %zu to %zu kB\n", count, kb, resident_kb());
	assert_true(resident_kb() < kb + 32768);
	collector_stop(&c);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void strangers_are_refused(void **state)
{
	struct keyring server = {0}, node = {0}, stranger = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *a = xasprintf("%s/a", (char *)*state),
			    *b = xasprintf("%s/b", (char *)*state);
	struct link_keys sk, nk, xk;
	struct collector c;

	assert_int_equal(link_make_keys(server.public, server.secret, &why), 0);
	assert_int_equal(link_make_keys(node.public, node.secret, &why), 0);
	assert_int_equal(link_make_keys(stranger.public, stranger.secret, &why), 0);
	const char *allowed[] = {node.public}, *names[] = {"n[12]"};
	keyring_use(&server, &sk);
	sk.allowed = allowed;
	sk.allowed_count = 1;
	assert_int_equal(keyring_server(&node, server.public, &why), 0);
	assert_int_equal(keyring_server(&stranger, server.public, &why), 0);
	keyring_use(&node, &nk);
	keyring_use(&stranger, &xk);
	struct receiver_options o = {.keys = &sk, .names = names};
	assert_int_equal(collector_open(&c, *state, o, (struct commit_log_options){0}, &why), 0);

	struct sender *x = node_start(b, (struct sender_options){.uri = c.uri, .keys = &xk});
	struct sender *d = node_start(a, (struct sender_options){.uri = c.uri, .keys = &nk});
	give(x, "n1", 1, 1, 3);
	give(d, "n1", 2, 1, 3);
	give(d, "n3", 2, 1, 2); /* not a name that its key is for */
	give(d, "n2", 2, 1, 1);
	wait_until(delivered(d).acknowledged == 4);
	assert_int_equal(delivered(d).refused, 2);
	assert_string_equal(delivered(d).reason, "its key is not allowed for node 'n3'");
	wait_until(delivered(x).key_refused);
	wait_until(received(&c).refused > 0);
	assert_int_equal(delivered(x).acknowledged, 0);
	assert_int_equal(delivered(x).spooled, 3);
	assert_true(delivered(x).away_since_ns > 0);
	assert_int_equal(check_log(c.log, "n1", 1, 1), 0);
	assert_int_equal(check_log(c.log, "n1", 2, 1), 3);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	assert_int_equal(sender_stop(x, 0, NULL), 3);
	collector_stop(&c);
}

/* A node with a key of its own, and what it may send for. */
struct keyed {
	struct keyring server, node;
	struct link_keys sk, nk;
	const char *allowed[1], *names[1];
	struct collector c;
};

static void keyed_open(struct keyed *k, const char *dir, const char *names)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	*k = (struct keyed){.names = {names}};
	assert_int_equal(link_make_keys(k->server.public, k->server.secret, &why), 0);
	assert_int_equal(link_make_keys(k->node.public, k->node.secret, &why), 0);
	assert_int_equal(keyring_server(&k->node, k->server.public, &why), 0);
	keyring_use(&k->server, &k->sk);
	keyring_use(&k->node, &k->nk);
	k->allowed[0] = k->node.public;
	k->sk.allowed = k->allowed;
	k->sk.allowed_count = 1;
	const struct receiver_options o = {.keys = &k->sk, .names = k->names};
	assert_int_equal(collector_open(&k->c, dir, o, (struct commit_log_options){0}, &why), 0);
}

/* The name outside is its own, the readings inside are said to be another's. */
static void a_node_speaks_for_itself_only(void **state)
{
	_cleanup_free_ char *spool = xasprintf("%s/a", (char *)*state);
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct keyed k;

	keyed_open(&k, *state, "n[12]");
	struct sender *d =
		node_start(spool, (struct sender_options){.uri = k.c.uri, .keys = &k.nk});
	make_batch_of("n3", "n1", 2, 1, &batch);
	assert_int_equal(sender_batch(d, batch.buf, batch.len), 0);
	wait_until(delivered(d).refused == 1);
	assert_string_equal(delivered(d).reason,
			    "its key is not allowed for the samples of node 'n3'");
	assert_int_equal(check_log(k.c.log, "n1", 2, 1), 0);
	/* a name that no terminal, path or label should meet */
	make_batch_of("n1\n\033[2J", "n2", 2, 1, &batch);
	assert_int_equal(sender_batch(d, batch.buf, batch.len), 0);
	wait_until(delivered(d).refused == 2);
	/* one that it is allowed for */
	make_batch_of("n2", "n1", 3, 1, &batch);
	assert_int_equal(sender_batch(d, batch.buf, batch.len), 0);
	wait_until(delivered(d).acknowledged == 1);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	collector_stop(&k.c);
}

/* Two files of two hosts, one behind the other, in one batch: the second is damage. */
static void no_second_host_in_a_batch(void **state)
{
	_cleanup_strbuf_ struct strbuf both = STRBUF_INIT, why = STRBUF_INIT, batch = STRBUF_INIT;
	static const char *const hosts[] = {"n1", "n3", "n1"};
	const struct batch_name name = {.node = "n1", .boot = 1, .number = 1};
	unsigned readings = 0;
	struct sample_file f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct sample_file_head head = {.host = (char *)hosts[i],
						.realtime_ns = (int64_t)i};
		struct sample_writer *w = sample_writer_open(-1, &head);
		struct sample_set set;

		sample_init(&set, one_metric, 1);
		unsigned source = sample_writer_source(w, "test", 1, &set);
		sample_begin(&set);
		sample_row(&set, sample_entity(&set, ENTITY_JOB, "1"));
		sample_put(&set, 0, 1);
		sample_writer_add(w, source, &set);
		sample_writer_take(w, &both);
		sample_writer_close(w, "end");
		sample_release(&set);
	}
	assert_int_equal(batch_pack(&name, both.buf, both.len, &batch), 0);
	assert_int_equal(batch_open(&f, batch.buf, batch.len, &why), 0);
	for (int event; (event = sample_file_next(&f)) > 0;)
		if (event == SAMPLE_READING) {
			assert_string_equal(f.head.host, "n1");
			readings++;
		}
	assert_int_equal(readings, 2);
	assert_true(f.damaged_places > 0 || f.skipped_readings > 0);
	sample_file_close(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(garbage_at_the_port, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(scans_and_half_open_connections, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_peer_that_never_reads, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(reconnects_without_end, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(strangers_are_refused, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_node_speaks_for_itself_only, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(no_second_host_in_a_batch),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
