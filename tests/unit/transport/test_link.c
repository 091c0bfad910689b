/* Links: messages there and back, limits, and who may call. */
#include "link.h"

static void there_and_back(void **state)
{
	struct link_part parts[LINK_PARTS_MAX], out[3];
	_cleanup_strbuf_ struct strbuf who = STRBUF_INIT;
	_cleanup_free_ char *uri = NULL;
	char handle[64];
	size_t count;

	(void)state;
	struct link *router = bind_link((struct link_options){.kind = LINK_ROUTER}, &uri);
	assert_true(str_prefix(uri, "tcp://127.0.0.1:"));
	assert_int_equal(link_receive(router, parts, &count), 0);
	struct link *dealer = open_link(&(struct link_options){.kind = LINK_DEALER, .uri = uri});
	out[0] = (struct link_part){"PLIM1", 5};
	out[1] = (struct link_part){"", 0};
	out[2] = (struct link_part){"a\0b", 3};
	assert_int_equal(link_send(dealer, out, 3), 0);
	assert_true(await(router, parts, &count, PATIENCE_MS));
	assert_int_equal(count, 4);
	assert_true(part_is(&parts[1], "PLIM1"));
	assert_int_equal(parts[2].size, 0);
	assert_int_equal(parts[3].size, 3);
	assert_memory_equal(parts[3].data, "a\0b", 3);
	assert_int_equal(link_peer_key(router), -1);
	link_peer(router, &who);
	assert_text(&who, "127.0.0.1");
	assert_in_range(parts[0].size, 1, sizeof(handle));
	memcpy(handle, parts[0].data, parts[0].size);
	out[0] = (struct link_part){handle, parts[0].size};
	out[1] = (struct link_part){"yes", 3};
	assert_int_equal(link_send(router, out, 2), 0);
	assert_true(await(dealer, parts, &count, PATIENCE_MS));
	assert_int_equal(count, 1);
	assert_true(part_is(&parts[0], "yes"));
	link_close(dealer);
	/* gone: the router hears of it soon */
	int r = 0;
	for (uint64_t until = now_ms() + PATIENCE_MS; r == 0 && now_ms() < until; usleep(10000))
		r = link_send(router, out, 2);
	assert_int_equal(r, -EHOSTUNREACH);
	link_close(router);
}

static void parts_are_bounded(void **state)
{
	struct link_part parts[LINK_PARTS_MAX], out[12];
	_cleanup_free_ char *uri = NULL;
	size_t count;

	(void)state;
	struct link *pull = bind_link((struct link_options){.kind = LINK_PULL}, &uri);
	struct link *push =
		open_link(&(struct link_options){.kind = LINK_PUSH, .uri = uri, .linger_ms = 1000});
	for (size_t i = 0; i < 12; i++)
		out[i] = (struct link_part){"abcdefghijkl" + i, 1};
	assert_int_equal(link_send(push, out, 12), 0);
	assert_int_equal(send_text(push, "next"), 0);
	assert_true(await(pull, parts, &count, PATIENCE_MS));
	assert_int_equal(count, LINK_PARTS_MAX);
	assert_true(part_is(&parts[7], "h"));
	assert_true(await(pull, parts, &count, PATIENCE_MS));
	assert_int_equal(count, 1);
	assert_true(part_is(&parts[0], "next"));
	link_close(push);
	link_close(pull);
}

/* One that is too long ends its connection and nothing else. */
static void messages_are_bounded(void **state)
{
	struct link_options o = {.kind = LINK_PULL, .message_max = 1000};
	struct link_part parts[LINK_PARTS_MAX];
	_cleanup_free_ char *uri = NULL, *big = xcalloc(1, 1001);
	size_t count;

	(void)state;
	struct link *pull = bind_link(o, &uri);
	struct link *bad = open_link(&(struct link_options){.kind = LINK_PUSH, .uri = uri});
	assert_int_equal(link_send(bad, &(struct link_part){big, 1001}, 1), 0);
	struct link *good = open_link(&(struct link_options){.kind = LINK_PUSH, .uri = uri});
	assert_int_equal(link_send(good, &(struct link_part){big, 1000}, 1), 0);
	assert_true(await(pull, parts, &count, PATIENCE_MS));
	assert_int_equal(parts[0].size, 1000);
	assert_false(await(pull, parts, &count, 200));
	link_close(bad);
	link_close(good);
	link_close(pull);
}

/* Nobody listens: with only_connected it would block at once, else when the mark is reached. */
static void sending_never_blocks(void **state)
{
	_cleanup_free_ char *uri = NULL;

	(void)state;
	link_close(bind_link((struct link_options){.kind = LINK_ROUTER}, &uri));
	struct link_options o = {.kind = LINK_DEALER, .uri = uri, .only_connected = true};
	struct link *l = open_link(&o);
	assert_int_equal(send_text(l, "x"), -EAGAIN);
	link_close(l);
	o.only_connected = false;
	o.high_water = 10;
	l = open_link(&o);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(send_text(l, "x"), 0);
	assert_int_equal(send_text(l, "x"), -EAGAIN);
	link_close(l);
}

/* ---- who may call ---------------------------------------------------------------------------- */

struct pair {
	char public[41], secret[41];
};

static void make_pair(struct pair *p)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(link_make_keys(p->public, p->secret, &why), 0);
	assert_int_equal(strlen(p->public), 40);
	assert_int_equal(strlen(p->secret), 40);
	assert_string_not_equal(p->public, p->secret);
}

static struct link *call(const char *uri, const struct pair *own, const char *server)
{
	struct link_keys k = {.secret = own->secret, .public = own->public, .server = server};

	return open_link(&(struct link_options){.kind = LINK_DEALER, .uri = uri, .keys = &k});
}

static uint64_t await_refused(struct link *l, uint64_t above, struct strbuf *who)
{
	uint64_t n = 0;

	for (uint64_t until = now_ms() + PATIENCE_MS; now_ms() < until; usleep(10000)) {
		n = link_refused(l, who);
		if (n > above)
			break;
	}
	return n;
}

static void keys_decide(void **state)
{
	struct pair server, one, two, stranger, other;
	struct link_part parts[LINK_PARTS_MAX];
	_cleanup_strbuf_ struct strbuf who = STRBUF_INIT;
	_cleanup_free_ char *uri = NULL;
	size_t count;

	(void)state;
	make_pair(&server);
	make_pair(&one);
	make_pair(&two);
	make_pair(&stranger);
	make_pair(&other);
	const char *allowed[] = {one.public, two.public};
	struct link_keys k = {.secret = server.secret, .allowed = allowed, .allowed_count = 2};
	struct link *router =
		bind_link((struct link_options){.kind = LINK_ROUTER, .keys = &k}, &uri);

	struct link *bad = call(uri, &stranger, server.public);
	struct link *plain = open_link(&(struct link_options){.kind = LINK_DEALER, .uri = uri});
	struct link *misled = call(uri, &one, other.public); /* another server's key */
	assert_int_equal(send_text(bad, "bad"), 0);
	assert_int_equal(send_text(plain, "plain"), 0);
	assert_int_equal(send_text(misled, "misled"), 0);
	assert_true(await_refused(router, 0, &who) > 0);
	_cleanup_free_ char *line = xasprintf(
		"127.0.0.1 with key %s, which is not in the file of --allow\n", stranger.public);
	assert_string_equal(who.buf, line);

	struct link *good = call(uri, &two, server.public);
	assert_int_equal(send_text(good, "good"), 0);
	assert_true(await(router, parts, &count, PATIENCE_MS));
	assert_int_equal(count, 2);
	assert_true(part_is(&parts[1], "good"));
	assert_int_equal(link_peer_key(router), 1);
	strbuf_reset(&who);
	link_peer(router, &who);
	assert_text(&who, "127.0.0.1 (2)");
	assert_false(await(router, parts, &count, 300));
	/* the stranger knocks again and again, and is named once */
	uint64_t n = link_refused(router, NULL);
	strbuf_reset(&who);
	link_close(bad);
	bad = call(uri, &stranger, server.public);
	assert_true(await_refused(router, n, &who) > n);
	assert_text(&who, "");
	link_close(bad);
	link_close(plain);
	link_close(misled);
	link_close(good);
	link_close(router);
}

static void no_keys_allowed_is_nobody(void **state)
{
	struct link_part parts[LINK_PARTS_MAX];
	_cleanup_free_ char *uri = NULL;
	struct pair server, one;
	size_t count;

	(void)state;
	make_pair(&server);
	make_pair(&one);
	struct link_keys k = {.secret = server.secret};
	struct link *router =
		bind_link((struct link_options){.kind = LINK_ROUTER, .keys = &k}, &uri);
	struct link *l = call(uri, &one, server.public);
	assert_int_equal(send_text(l, "x"), 0);
	assert_true(await_refused(router, 0, NULL) > 0);
	assert_int_equal(link_receive(router, parts, &count), 0);
	link_close(l);
	link_close(router);
}

static void addresses_decide(void **state)
{
	static const struct {
		const char *peers[2];
		bool in;
	} rows[] = {
		{{"127.0.0.1", "10.0.0.1"}, true}, {{"10.0.0.1", "127.0.0.0/8"}, true},
		{{"126.0.0.0/7", "::1"}, true},    {{"0.0.0.0/0", "::1"}, true},
		{{"128.0.0.0/7", "::1"}, false},   {{"127.0.0.2", "127.0.0.0/32"}, false},
		{{"::1", "fd00::/8"}, false},      {{"::ffff:127.0.0.1", "10.0.0.1"}, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct link_options o = {
			.kind = LINK_PULL, .peers = rows[i].peers, .peer_count = 2};
		_cleanup_strbuf_ struct strbuf who = STRBUF_INIT;
		struct link_part parts[LINK_PARTS_MAX];
		_cleanup_free_ char *uri = NULL;
		size_t count;

		struct link *pull = bind_link(o, &uri);
		struct link *push =
			open_link(&(struct link_options){.kind = LINK_PUSH, .uri = uri});
		assert_int_equal(send_text(push, "x"), 0);
		if (rows[i].in) {
			assert_true(await(pull, parts, &count, PATIENCE_MS));
			assert_int_equal(link_refused(pull, &who), 0);
		} else {
			assert_true(await_refused(pull, 0, &who) > 0);
			assert_text(&who, "127.0.0.1, which is not an allowed address\n");
			assert_int_equal(link_receive(pull, parts, &count), 0);
		}
		link_close(push);
		link_close(pull);
	}
}

static void refused(const struct link_options *o, int error, const char *reason)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct link *l = NULL;

	assert_int_equal(link_open(&l, o, &why), error);
	assert_contains(why.buf, reason);
}

static void what_cannot_be_opened(void **state)
{
	const char *bad_peer[] = {"10.0.0.1/33"}, *bad_key[] = {"short"};
	_cleanup_free_ char *uri = NULL;
	struct pair own;

	(void)state;
	make_pair(&own);
	struct link *l = bind_link((struct link_options){.kind = LINK_ROUTER}, &uri);
	refused(&(struct link_options){.kind = LINK_ROUTER, .uri = uri, .bind = true}, -EADDRINUSE,
		uri);
	link_close(l);
	refused(&(struct link_options){.kind = LINK_DEALER, .uri = "nonsense"}, -EINVAL,
		"cannot connect to 'nonsense'");
	refused(&(struct link_options){.kind = LINK_PULL,
				       .uri = uri,
				       .bind = true,
				       .peers = bad_peer,
				       .peer_count = 1},
		-EINVAL, "'10.0.0.1/33' is not an address");
	struct link_keys k = {.secret = "short"};
	struct link_options o = {
		.kind = LINK_ROUTER, .uri = "tcp://127.0.0.1:*", .bind = true, .keys = &k};
	refused(&o, -EINVAL, "the secret key is not 40 characters long");
	k.secret = own.secret;
	k.allowed = bad_key;
	k.allowed_count = 1;
	refused(&o, -EINVAL, "'short' is not a key");
	o.bind = false;
	o.kind = LINK_DEALER;
	k.public = own.public;
	refused(&o, -EINVAL, "the server's public key is missing");
}

/* Sends many times what may be held, in whole messages; with and without keys, fast and slow. */
static void send_much(const struct link_keys *server, const struct link_keys *client)
{
	struct link_options o = {
		.kind = LINK_ROUTER, .message_max = 100000, .keys = server, .high_water = 4};
	struct link_part parts[LINK_PARTS_MAX], out[3] = {{"PLIM1", 5}, {"", 0}};
	_cleanup_free_ char *uri = NULL, *big = xcalloc(1, 90000);
	_cleanup_strbuf_ struct strbuf who = STRBUF_INIT;
	size_t count, taken = 0;

	struct link *router = bind_link(o, &uri);
	struct link *dealer = open_link(&(struct link_options){
		.kind = LINK_DEALER, .uri = uri, .keys = client, .high_water = 2});
	for (unsigned sent = 0; taken < 300 && link_closed(router, &who) == 0;) {
		/* the first 90,000, the others 1 to 4 kB */
		out[2] = (struct link_part){big, sent < 100 ? 90000 : 1000 + 10 * sent};
		if (sent < 300 && link_send(dealer, out, 3) == 0)
			sent++;
		if (await(router, parts, &count, 0)) {
			assert_int_equal(count, 4);
			taken++;
		}
		if (sent == 150 && taken < 150)
			usleep(10000);
	}
	assert_int_equal(link_closed(router, &who), 0);
	assert_text(&who, "");
	link_close(dealer);
	link_close(router);
}

/* Nobody takes them for longer than it takes to look at all connections. */
static void whole_messages_may_wait(void **state)
{
	struct link_options o = {.kind = LINK_ROUTER, .message_max = 100000, .high_water = 4};
	struct link_part parts[LINK_PARTS_MAX], out[2] = {{"", 0}};
	_cleanup_free_ char *uri = NULL, *big = xcalloc(1, 90000);
	_cleanup_strbuf_ struct strbuf who = STRBUF_INIT;
	size_t count, sent = 0;

	(void)state;
	out[1] = (struct link_part){big, 90000};
	struct link *router = bind_link(o, &uri);
	struct link *dealer =
		open_link(&(struct link_options){.kind = LINK_DEALER, .uri = uri, .high_water = 2});
	for (int i = 0; i < 150; i++) {
		while (sent < 1000 && link_send(dealer, out, 2) == 0)
			sent++;
		usleep(10000);
	}
	assert_in_range(sent, 6, 999);
	for (size_t taken = 0; taken < sent; taken++) {
		assert_true(await(router, parts, &count, 5000));
		assert_int_equal(count, 3);
	}
	assert_int_equal(link_closed(router, &who), 0);
	assert_text(&who, "");
	link_close(dealer);
	link_close(router);
}

static void whole_messages_are_not_held_against_anybody(void **state)
{
	char server[2][41], client[2][41];
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_int_equal(link_make_keys(server[0], server[1], &why), 0);
	assert_int_equal(link_make_keys(client[0], client[1], &why), 0);
	const char *const allowed[] = {client[0]};
	send_much(NULL, NULL);
	send_much(
		&(struct link_keys){.secret = server[1], .allowed = allowed, .allowed_count = 1},
		&(struct link_keys){.secret = client[1], .public = client[0], .server = server[0]});
}

static void local_addresses(void **state)
{
	static const char *const local[] = {"ipc:///run/x",         "inproc://x",
					    "tcp://127.0.0.1:5556", "tcp://127.9.8.7:*",
					    "tcp://localhost:1",    "tcp://[::1]:5556",
					    "tcp://lo:1",           "tcp://[::ffff:127.0.0.1]:1"};
	static const char *const far[] = {"tcp://*:5556",
					  "tcp://0.0.0.0:5556",
					  "tcp://10.0.0.1:1",
					  "tcp://[::]:5556",
					  "tcp://node17:5556",
					  "tcp://localhost.example.org:1",
					  "tcp://127.0.0.1",
					  "tcp://",
					  "epgm://127.0.0.1:1",
					  "",
					  "tcp://127.0.0.1:1;10.0.0.1:2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (!link_is_local(local[i]))
			fail_msg("%s is local", local[i]);
	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		if (link_is_local(far[i]))
			fail_msg("%s is not local", far[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(parts_are_bounded),
		cmocka_unit_test(messages_are_bounded),
		cmocka_unit_test(sending_never_blocks),
		cmocka_unit_test(keys_decide),
		cmocka_unit_test(no_keys_allowed_is_nobody),
		cmocka_unit_test(addresses_decide),
		cmocka_unit_test(what_cannot_be_opened),
		cmocka_unit_test(whole_messages_are_not_held_against_anybody),
		cmocka_unit_test(whole_messages_may_wait),
		cmocka_unit_test(local_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
