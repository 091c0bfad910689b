/*
 * Delivery on disks that fail: what could not be synced is sent again and nothing else is, so that
 * every batch is in the collector's log once and in order; and what the spool did not take is not
 * taken for there.
 */
#include "delivery.h"

#include "faults.h"

static int setup(void **state)
{
	fault_clear();
	return scratch_setup(state);
}

static int teardown(void **state)
{
	fault_clear();
	return scratch_teardown(state);
}

/* A group of batches reaches over several segments, and the sync of one of them fails. */
static void groups_that_are_synced_in_part(void **state)
{
	unsigned hits = 0;

	for (unsigned way = 0; way < 12; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way),
				    *spool = xasprintf("%s/spool", dir),
				    *logs = xasprintf("%s/log/", dir);
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct sender *d[2];
		struct collector c;

		assert_int_equal(mkdir(dir, 0700), 0);
		/* a group is full before its time is over */
		if (collector_open(&c, dir, (struct receiver_options){.sync_ns = 50000000},
				   (struct commit_log_options){.segment = 4096}, &why) < 0)
			fail_msg("%s", why.buf);
		fault_add("sync", logs, way, 1, way % 2 ? EIO : ENOSPC);
		for (unsigned i = 0; i < 2; i++) {
			_cleanup_free_ char *own = xasprintf("%s%u", spool, i);

			d[i] = node_start(own, (struct sender_options){.uri = c.uri,
								       .node = i ? "n2" : "n1"});
			give(d[i], i ? "n2" : "n1", 1, 1, 60);
		}
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(sender_stop(d[i], 60000000000, NULL), 0);
		hits += fault_hits();
		fault_clear();
		assert_int_equal(check_log(c.log, "n1", 1, 1), 60);
		assert_int_equal(check_log(c.log, "n2", 1, 1), 60);
		assert_int_equal(commit_log_next_number(c.log), 121);
		collector_stop(&c);
	}
	assert_true(hits > 6);
}

/* A spool drops its oldest where the disk is full: that makes room, and nothing of what was written
 * and not synced is taken for there. */
static void a_full_disk_below_the_spool(void **state)
{
	unsigned hits = 0;

	for (unsigned way = 0; way < 10; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way),
				    *spool = xasprintf("%s/spool", dir);
		struct sender_counts n;
		struct collector c;

		assert_int_equal(mkdir(dir, 0700), 0);
		/* nobody is there yet */
		struct sender *d =
			node_start(spool, (struct sender_options){.uri = "ipc:///nonexistent",
								  .spool_limit = 32768});
		give(d, "n1", 1, 1, 40);
		wait_until(delivered(d).spooled == 40);
		/* so that the next ones get there at once */
		fault_add("write", "/spool/", 0, -1, EIO);
		give(d, "n1", 1, 41, 40);
		wait_until(delivered(d).disk_error);
		fault_clear();
		fault_add(way % 2 ? "sync" : "write", "/spool/", way / 2, 1, ENOSPC);
		wait_until(!delivered(d).disk_error);
		wait_until(delivered(d).spooled + delivered(d).dropped == 80);
		sender_stop(d, 0, &n);
		assert_int_equal(n.lost_at_stop, 0);
		hits += fault_hits();
		fault_clear();
		collector_start(&c, dir, NULL);
		d = node_start(spool, (struct sender_options){.uri = c.uri, .spool_limit = 32768});
		assert_int_equal(sender_stop(d, 60000000000, NULL), 0);
		/* the oldest went, the others follow each other */
		assert_int_equal(check_log(c.log, "n1", 1, n.dropped + 1), 80 - n.dropped);
		collector_stop(&c);
	}
	assert_true(hits > 4);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(groups_that_are_synced_in_part),
		TEST(a_full_disk_below_the_spool),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
