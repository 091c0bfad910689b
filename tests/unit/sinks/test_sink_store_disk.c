/*
 * The feed store in a SQLite file on a disk that fails: what was committed is there once after
 * every failure, also when the power goes and only what was synced is left.
 */
#include "sink_store_jobs.h"

#include <errno.h>
#include <sys/wait.h>

#include "failing_disk.h"

static const struct harness_plan plan = {
	.nodes = 2, .entries = 24, .readings = 2, .jobs = 3, .processes = 1};

/* Gives entries from..to and commits, with what fails now and then given again; as replay does it.
 */
static void insist(void *feed, unsigned from, unsigned to)
{
	for (unsigned tries = 1;; tries++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		int r = harness_batches(&sink_store, feed, &plan, from, to, NULL, &why);

		if (r >= 0)
			r = sink_store.commit(feed, to, &why);
		if (r >= 0)
			return;
		if (r != -EAGAIN || tries > 50)
			fail_msg("%d after %u tries: %s", r, tries, why.buf);
	}
}

/* The sink as it is opened by replay, which tries again. */
static void *begin(const struct sink_options *o, uint64_t *position)
{
	for (unsigned tries = 1;; tries++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		void *feed = NULL;

		*position = 0;
		int r = sink_store.open(o, &feed, position, &why);
		if (r == 0)
			return feed;
		if (tries > 50)
			fail_msg("%d after %u tries: %s", r, tries, why.buf);
	}
}

/* Killed, and the power gone: no orderly end. */
static void end_with_power(void *feed, const char *dir)
{
	fault_add("sync", dir, 0, -1, EIO);
	fault_add("write", dir, 0, -1, EIO);
	fault_add("truncate", dir, 0, -1, EIO);
	fault_add("unlink", dir, 0, -1, EIO);
	sink_store.close(feed);
	fault_clear();
	fault_power_cut();
}

/* Each sync of the file and its journal fails once, then the power is gone. */
static void syncs_that_fail(void **state)
{
	static const char *const where[] = {".db", "-wal", "-journal"};
	unsigned hits = 0;

	for (unsigned way = 0; way < 48; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way),
				    *url = xasprintf("%s/store.db", dir);
		const struct sink_options o = {.target = url, .state = dir, .log = 77};
		uint64_t position;

		assert_int_equal(mkdir(dir, 0700), 0);
		fault_disk(dir);
		fault_add("sync", where[way % 3], way / 3, 1, way % 2 ? EIO : ENOSPC);
		void *feed = begin(&o, &position);
		for (unsigned k = 1; k <= 11; k += 2)
			insist(feed, k, k + 1);
		hits += fault_hits();
		fault_clear();
		end_with_power(feed, dir);
		feed = begin(&o, &position);
		if (position != 13)
			fail_msg("way %u: position %llu", way, (unsigned long long)position);
		insist(feed, 13, 14);
		sink_store.close(feed);
		check_all(url, &plan, 14);
		fault_disk(NULL);
	}
	assert_true(hits >= 12);
}

static pid_t play_in_child(const struct sink_options *o)
{
	pid_t pid = fork();
	uint64_t position;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	void *feed = begin(o, &position);
	for (unsigned k = 1; k <= 11; k += 2)
		insist(feed, k, k + 1);
	sink_store.close(feed);
	_exit(0);
}

/* Killed, perhaps after a sync that failed: whoever opens the file next may find a commit that is
 * in memory only. What he says of it must be so when the power goes. */
static void what_the_next_one_finds(void **state)
{
	static const char *const where[] = {"-wal", "*/store.db"};
	unsigned killed = 0;

	for (unsigned way = 0; way < 64; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way),
				    *url = xasprintf("%s/store.db", dir);
		const struct sink_options o = {.target = url, .state = dir, .log = 77};
		uint64_t found, position;
		int status;

		assert_int_equal(mkdir(dir, 0700), 0);
		fault_disk(dir);
		sink_store.close(begin(&o, &position));
		if (way % 2)
			fault_add("sync", "-wal", 2 + way / 16, 1, EIO);
		fault_add(way & 2 ? "write" : "sync", where[way / 4 % 2], way / 8, 1, FAULT_KILL);
		pid_t pid = play_in_child(&o);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		killed += WIFSIGNALED(status);
		fault_clear();
		void *feed = begin(&o, &found);
		end_with_power(feed, dir);
		feed = begin(&o, &position);
		if (position != found)
			fail_msg("way %u: position %llu, and %llu after the power was gone", way,
				 (unsigned long long)found, (unsigned long long)position);
		insist(feed, position ? (unsigned)position : 1, 14);
		sink_store.close(feed);
		check_all(url, &plan, 14);
		fault_disk(NULL);
	}
	assert_true(killed > 40);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)
	const struct CMUnitTest tests[] = {
		TEST(syncs_that_fail),
		TEST(what_the_next_one_finds),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
