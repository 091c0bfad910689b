/* Delivery: from a node's spool into a collector's log, once, in order, past restarts of either. */
#include "delivery.h"

#include <sched.h>
#include <sys/mount.h>

#include "transport/protocol.h"

static char *below_dir(void **state, const char *name)
{
	return xasprintf("%s/%s", (char *)*state, name);
}

static void all_arrive(void **state)
{
	_cleanup_free_ char *spool = below_dir(state, "spool"), *dir = below_dir(state, "c");
	struct collector c;

	assert_int_equal(mkdir(dir, 0700), 0);
	collector_start(&c, dir, NULL);
	struct sender *d = node_start(spool, (struct sender_options){.uri = c.uri});
	give(d, "n1", 7, 1, 200);
	wait_until(delivered(d).acknowledged == 200);
	struct sender_counts n = delivered(d);
	assert_int_equal(n.given, 200);
	assert_int_equal(n.refused + n.dropped + n.failed + n.spooled, 0);
	assert_int_equal(n.away_since_ns, 0);
	assert_false(n.key_refused);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	assert_int_equal(received(&c).batches, 200);
	assert_int_equal(received(&c).bad, 0);
	assert_int_equal(received(&c).nodes, 1);
	assert_true(received(&c).syncs < 200);
	assert_int_equal(check_log(c.log, "n1", 7, 1), 200);
	collector_stop(&c);
}

/* The collector comes late, goes, and comes back with what it knew; the node restarts meanwhile. */
static void restarts_of_both(void **state)
{
	_cleanup_free_ char *spool = below_dir(state, "spool"), *dir = below_dir(state, "c");
	struct collector c;

	assert_int_equal(mkdir(dir, 0700), 0);
	collector_start(&c, dir, NULL);
	_cleanup_free_ char *uri = xstrdup(c.uri);
	collector_stop(&c);
	struct sender *d = node_start(spool, (struct sender_options){.uri = uri});
	give(d, "n1", 7, 1, 50);
	wait_until(delivered(d).spooled == 50);
	assert_true(delivered(d).away_since_ns > 0);
	assert_true(delivered(d).spooled_bytes > 50 * 40);
	assert_int_equal(sender_stop(d, 1000000, NULL), 50);
	d = node_start(spool, (struct sender_options){.uri = uri});
	assert_int_equal(delivered(d).spooled, 50);
	give(d, "n1", 8, 1, 50);
	collector_start(&c, dir, uri);
	wait_until(delivered(d).acknowledged == 100);
	assert_int_equal(delivered(d).away_since_ns, 0);
	assert_int_equal(check_log(c.log, "n1", 7, 1), 50);
	assert_int_equal(check_log(c.log, "n1", 8, 1), 50);
	collector_stop(&c);
	give(d, "n1", 8, 51, 10);
	wait_until(delivered(d).away_since_ns > 0);
	collector_start(&c, dir, uri);
	assert_int_equal(received(&c).nodes, 1); /* one name, of two starts */
	assert_int_equal(sender_stop(d, 60000000000, NULL), 0);
	assert_int_equal(check_log(c.log, "n1", 8, 1), 60);
	assert_int_equal(received(&c).batches, 10);
	collector_stop(&c);
}

/* A full spool loses its oldest, and says how many. */
static void full_spool(void **state)
{
	_cleanup_free_ char *spool = below_dir(state, "spool"), *dir = below_dir(state, "c");
	struct collector c;

	assert_int_equal(mkdir(dir, 0700), 0);
	collector_start(&c, dir, NULL);
	_cleanup_free_ char *uri = xstrdup(c.uri);
	collector_stop(&c);
	struct sender_options o = {.uri = uri, .spool_limit = 65536};
	struct sender *d = node_start(spool, o);
	give(d, "n1", 7, 1, 1000);
	wait_until(delivered(d).spooled + delivered(d).dropped == 1000);
	uint64_t dropped = delivered(d).dropped;
	assert_in_range(dropped, 100, 990);
	assert_true(delivered(d).spooled_bytes <= 65536);
	assert_int_equal(sender_stop(d, 0, NULL), 1000 - dropped);
	d = node_start(spool, o);
	assert_int_equal(delivered(d).dropped, dropped);
	collector_start(&c, dir, uri);
	wait_until(delivered(d).acknowledged == 1000 - dropped);
	assert_int_equal(check_log(c.log, "n1", 7, dropped + 1), 1000 - dropped);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	collector_stop(&c);
}

/* A collector passes on what is in its log. */
static void forwarding(void **state)
{
	_cleanup_free_ char *near = below_dir(state, "near"), *far = below_dir(state, "far");
	_cleanup_free_ char *spool = below_dir(state, "spool");
	struct collector a, b;

	assert_int_equal(mkdir(near, 0700), 0);
	assert_int_equal(mkdir(far, 0700), 0);
	collector_start(&a, near, NULL);
	collector_start(&b, far, NULL);
	struct sender *on = node_start(NULL, (struct sender_options){.uri = b.uri, .log = a.log});
	struct sender *d = node_start(spool, (struct sender_options){.uri = a.uri});
	for (uint64_t i = 1; i <= 40; i++) {
		give(d, "n1", 7, i, 1);
		give(d, "n2", 9, i, 1);
	}
	wait_until(sender_position(on) == 81);
	assert_int_equal(check_log(b.log, "n1", 7, 1), 40);
	assert_int_equal(check_log(b.log, "n2", 9, 1), 40);
	(void)sender_stop(on, 0, NULL);
	/* from a position of its own, and what it sent before is known there */
	on = node_start(NULL, (struct sender_options){.uri = b.uri, .log = a.log, .from = 41});
	wait_until(sender_position(on) == 81);
	/* the answer to one that is known says that those behind it are known, too */
	assert_in_range(received(&b).duplicates, 1, 40);
	assert_int_equal(received(&b).batches, 80);
	(void)sender_stop(on, 0, NULL);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	assert_int_equal(commit_log_first(a.log), 1);
	collector_stop(&a);
	collector_stop(&b);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void send_batch(struct link *l, uint64_t before, const void *p, size_t n)
{
	unsigned char words[16];
	struct link_part parts[] = {{"PLIM1", 5}, {"BATCH", 5}, {words, 16}, {p, n}};

	pl_put_u64(words, 5);
	pl_put_u64(words + 8, before);
	assert_int_equal(link_send(l, parts, 4), 0);
}

static void expect_ack(struct link *l, uint64_t number)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;

	assert_true(await(l, parts, &count, 60000));
	assert_int_equal(count, 4);
	assert_true(part_is(&parts[0], "PLIM1"));
	assert_true(part_is(&parts[1], "ACK"));
	assert_int_equal(parts[2].size, 16);
	assert_int_equal(pl_get_u64(parts[2].data), 7);
	assert_int_equal(pl_get_u64((const char *)parts[2].data + 8), number);
	assert_true(part_is(&parts[3], "n1"));
}

static void expect_nack(struct link *l, uint64_t number, enum nack_reason reason, const char *text)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;

	assert_true(await(l, parts, &count, 60000));
	assert_int_equal(count, 5);
	assert_true(part_is(&parts[1], "NACK"));
	assert_int_equal(parts[2].size, 32);
	assert_int_equal(pl_get_u64((const char *)parts[2].data + 8), number);
	assert_int_equal(pl_get_u64((const char *)parts[2].data + 16), 5);
	assert_int_equal(pl_get_u64((const char *)parts[2].data + 24), reason);
	assert_true(part_is(&parts[3], "n1"));
	assert_true(part_is(&parts[4], text));
}

static void send_number(struct link *l, uint64_t before, uint64_t number)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;

	make_batch("n1", 7, number, &batch);
	send_batch(l, before, batch.buf, batch.len);
}

static void duplicates_and_early_ones(void **state)
{
	struct collector c;

	collector_start(&c, *state, NULL);
	struct link *l = open_link(&(struct link_options){.kind = LINK_DEALER, .uri = c.uri});
	send_number(l, 0, 1);
	expect_ack(l, 1);
	send_number(l, 0, 1);
	expect_ack(l, 1);
	send_number(l, 3, 4); /* 2 and 3 are still to come */
	expect_nack(l, 4, NACK_EARLY, "batches before it are missing");
	send_number(l, 1, 2);
	send_number(l, 2, 3);
	send_number(l, 3, 4);
	send_number(l, 4, 9); /* 5 to 8 never will */
	uint64_t last = 0;
	while (last < 9) {
		struct link_part parts[LINK_PARTS_MAX];
		size_t count;

		assert_true(await(l, parts, &count, 60000));
		assert_true(part_is(&parts[1], "ACK"));
		last = pl_get_u64((const char *)parts[2].data + 8);
	}
	send_number(l, 0, 5);
	expect_ack(l, 9);
	assert_int_equal(received(&c).duplicates, 2);
	assert_int_equal(received(&c).early, 1);
	assert_int_equal(received(&c).batches, 5);
	assert_int_equal(commit_log_next_number(c.log), 6);
	link_close(l);
	collector_stop(&c);
}

/* Refused for ever, and those behind it are taken all the same. */
static void bad_batches(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct batch_name name = {.node = "n1", .boot = 7, .number = 1};
	struct link_part parts[LINK_PARTS_MAX];
	struct collector c;
	size_t count;

	collector_start(&c, *state, NULL);
	struct link *l = open_link(&(struct link_options){.kind = LINK_DEALER, .uri = c.uri});
	assert_int_equal(batch_pack(&name, "nonsense", 8, &batch), 0);
	send_batch(l, 0, batch.buf, batch.len);
	expect_nack(l, 1, NACK_REFUSED, "is not a sample file");
	send_batch(l, 0, "nonsense", 8); /* not even a name */
	send_number(l, 1, 2);
	expect_ack(l, 2);
	assert_int_equal(send_text(l, "nonsense"), 0);
	assert_int_equal(link_send(l, (struct link_part[]){{"PLIM1", 5}, {"WHAT", 4}}, 2), 0);
	assert_int_equal(
		link_send(l,
			  (struct link_part[]){{"PLIM1", 5}, {"BATCH", 5}, {"short", 5}, {"x", 1}},
			  4),
		0);
	assert_int_equal(
		link_send(l, (struct link_part[]){{"PLIM1", 5}, {"HELLO", 5}, {"n1", 2}, {"1", 1}},
			  4),
		0);
	assert_true(await(l, parts, &count, 60000));
	assert_int_equal(count, 4);
	assert_true(part_is(&parts[1], "HELLO"));
	assert_true(part_is(&parts[2], "collector"));
	assert_int_equal(received(&c).bad, 5);
	assert_int_equal(received(&c).batches, 1);
	link_close(l);
	collector_stop(&c);
}

/* The same by delivery: the node gives it up and goes on. */
static void refused_ones_leave_the_spool(void **state)
{
	_cleanup_free_ char *spool = below_dir(state, "spool"), *dir = below_dir(state, "c");
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct batch_name name = {.node = "n1", .boot = 7, .number = 3};
	struct collector c;

	assert_int_equal(mkdir(dir, 0700), 0);
	collector_start(&c, dir, NULL);
	struct sender *d = node_start(spool, (struct sender_options){.uri = c.uri});
	assert_int_equal(sender_batch(d, "nonsense", 8), -EBADMSG);
	give(d, "n1", 7, 1, 2);
	assert_int_equal(batch_pack(&name, "nonsense", 8, &batch), 0);
	assert_int_equal(sender_batch(d, batch.buf, batch.len), 0);
	give(d, "n1", 7, 4, 2);
	wait_until(delivered(d).acknowledged == 4);
	assert_int_equal(delivered(d).refused, 1);
	assert_string_equal(delivered(d).reason, "is not a sample file");
	assert_int_equal(sender_stop(d, 60000000000, NULL), 0);
	assert_int_equal(commit_log_next_number(c.log), 5);
	collector_stop(&c);
}

/* A log without room: the node waits, and goes on when there is some. */
static void full_log(void **state)
{
	_cleanup_free_ char *spool = below_dir(state, "spool"), *dir = below_dir(state, "c");
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct collector c;

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(collector_open(&c, dir, (struct receiver_options){0},
					(struct commit_log_options){.limit = 65536}, &why),
			 0);
	struct sender *d = node_start(spool, (struct sender_options){.uri = c.uri});
	give(d, "n1", 7, 1, 600);
	wait_until(received(&c).no_room > 0);
	/* what is there is read, and makes room for what is not */
	struct commit_log_reader *r = commit_log_read_from(c.log, 1);
	for (uint64_t taken = 0; taken < 600; usleep(5000)) {
		struct batch_name name;
		uint64_t number;
		const void *p;
		size_t n;

		while (commit_log_reader_next(r, &p, &n, &number) > 0) {
			assert_int_equal(batch_peek(p, n, &name, &why), 0);
			assert_int_equal(name.number, ++taken);
			assert_int_equal(number, taken);
		}
		receiver_trim(c.receive, taken + 1);
	}
	commit_log_reader_close(r);
	wait_until(delivered(d).acknowledged == 600);
	assert_int_equal(commit_log_next_number(c.log), 601);
	assert_int_equal(received(&c).batches, 600);
	assert_int_equal(delivered(d).dropped, 0);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	collector_stop(&c);
}

/* A spool without room: what comes goes from memory, and into the spool again once there is some.
 */
static void full_disk(void **state)
{
	_cleanup_free_ char *disk = below_dir(state, "disk"), *dir = below_dir(state, "c");
	_cleanup_free_ char *spool = below_dir(state, "disk/spool");
	_cleanup_free_ char *ballast = below_dir(state, "disk/ballast");
	char block[4096] = {1};
	struct collector c;

	if (geteuid() != 0)
		skip_because("not root");
	assert_int_equal(mkdir(disk, 0700), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", disk, "tmpfs", 0, "size=128k") < 0)
		skip_because("cannot mount");
	collector_start(&c, dir, NULL);
	_cleanup_free_ char *uri = xstrdup(c.uri);
	struct sender *d = node_start(spool, (struct sender_options){.uri = c.uri});
	give(d, "n1", 7, 1, 5);
	wait_until(delivered(d).acknowledged == 5);
	int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
	give(d, "n1", 7, 6, 200); /* more than the rest of a page */
	wait_until(delivered(d).acknowledged == 205);
	assert_int_equal(delivered(d).disk_error, -ENOSPC);
	assert_true(delivered(d).failed > 0);
	/* nor are they lost while the collector is away */
	collector_stop(&c);
	wait_until(delivered(d).away_since_ns > 0);
	give(d, "n1", 7, 206, 200);
	wait_until(delivered(d).given == 405);
	collector_start(&c, dir, uri);
	wait_until(delivered(d).acknowledged == 405);
	assert_int_equal(unlink(ballast), 0);
	give(d, "n1", 7, 406, 100);
	wait_until(delivered(d).acknowledged == 505);
	wait_until(delivered(d).disk_error == 0);
	assert_int_equal(delivered(d).dropped + delivered(d).refused, 0);
	assert_int_equal(check_log(c.log, "n1", 7, 1), 505);
	assert_int_equal(sender_stop(d, 0, NULL), 0);
	collector_stop(&c);
	assert_int_equal(umount(disk), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_arrive, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(restarts_of_both, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(full_spool, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(forwarding, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(duplicates_and_early_ones, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(bad_batches, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(refused_ones_leave_the_spool, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(full_log, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(full_disk, scratch_setup, scratch_teardown),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
