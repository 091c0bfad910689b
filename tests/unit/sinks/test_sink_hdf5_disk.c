/*
 * The feed hdf5 on a disk that fails: after every failure what was committed is in the files once,
 * also when the power goes and only what was synced is left.
 */
#include "hdf5_cells.h"

#include "failing_disk.h"

static const struct harness_plan plan = {
	.nodes = 2, .entries = 24, .readings = 2, .jobs = 12, .processes = 1};

/* Gives entries from..to and commits, with what fails now and then given again; as replay does it.
 */
static unsigned insist(void *feed, unsigned from, unsigned to)
{
	unsigned tries = 1;

	for (;; tries++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		int r = harness_batches(&sink_hdf5, feed, &plan, from, to, NULL, &why);

		if (r >= 0)
			r = sink_hdf5.commit(feed, to, &why);
		if (r >= 0)
			return tries;
		if (r != -EAGAIN || tries > 50)
			fail_msg("%d after %u tries: %s", r, tries, why.buf);
	}
}

/* Killed, and the power gone: no orderly end. The feed that begins afterwards is at entry 13. */
static void *after_power_cut(void *feed, const char *dir, struct place *p)
{
	uint64_t position;

	fault_add("sync", dir, 0, -1, EIO);
	fault_add("write", dir, 0, -1, EIO);
	fault_add("truncate", dir, 0, -1, EIO);
	sink_hdf5.close(feed);
	fault_clear();
	fault_power_cut();
	feed = harness_start(&sink_hdf5, &p->o, &position);
	assert_int_equal(position, 13);
	return feed;
}

/* Each sync of the file and its journal fails once, with the power gone after the next commit. */
static void pages_that_are_gone(void **state)
{
	static const char *const where[] = {"live.hdf5", "journal."};
	unsigned hits = 0;

	for (unsigned way = 0; way < 24; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way);
		uint64_t position;
		struct place p;

		assert_int_equal(mkdir(dir, 0700), 0);
		fault_disk(dir);
		place_make(&p, dir, "live.hdf5");
		p.o.level = way / 2 % 2;
		void *feed = harness_start(&sink_hdf5, &p.o, &position);
		(void)insist(feed, 1, 4);
		fault_add("sync", where[way % 2], way / 4 % 3, 1 + (int)(way / 12),
			  way & 4 ? EIO : ENOSPC);
		for (unsigned k = 5; k <= 11; k += 2)
			(void)insist(feed, k, k + 1);
		hits += fault_hits();
		fault_clear();
		feed = after_power_cut(feed, dir, &p);
		(void)insist(feed, 13, 14);
		sink_hdf5.close(feed);
		check_files(dir, &plan, 14, 1);
		place_release(&p);
		fault_disk(NULL);
	}
	assert_true(hits >= 24);
}

/* Files that were rolled over are on the disk before the journal is about another. */
static void rolled_over(void **state)
{
	for (unsigned way = 0; way < 6; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way);
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		uint64_t position;
		struct place p;

		assert_int_equal(mkdir(dir, 0700), 0);
		fault_disk(dir);
		place_make(&p, dir, way % 2 ? "live.hdf5" : "files");
		void *feed = harness_start(&sink_hdf5, &p.o, &position);
		(void)insist(feed, 1, 4);
		fault_add("sync", ".hdf5", way / 2, 2, EIO);
		(void)sink_hdf5.reopen(feed, &why);
		for (unsigned k = 5; k <= 11; k += 2)
			(void)insist(feed, k, k + 1);
		fault_clear();
		feed = after_power_cut(feed, dir, &p);
		sink_hdf5.close(feed);
		struct cells c = {0};
		(void)read_files(dir, &c);
		check_cells(&c, &plan, 12);
		free(c.list);
		place_release(&p);
		fault_disk(NULL);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)
	const struct CMUnitTest tests[] = {
		TEST(pages_that_are_gone),
		TEST(rolled_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
