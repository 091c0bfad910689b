/*
 * Logs on disks that fail: what a sync did not bring to the disk is not in the log, now or after
 * the power was gone, and what came later is.
 */
#include "commit_log.h"

#include <errno.h>

#include "core/files/fs.h"
#include "failing_disk.h"

/* ---- what a sync says ------------------------------------------------------------------------ */

/* Only what cannot be synced by its nature counts as synced. */
static void syncs_that_fail(void **state)
{
	static const int errors[] = {EIO, EROFS, ENOSPC, EINVAL, EDQUOT};
	_cleanup_free_ char *path = xasprintf("%s/file", (char *)*state);
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	_cleanup_close_ int dir = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ends[2];

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		fault_add("sync", path, 0, 1, errors[i]);
		assert_int_equal(fs_sync(fd), -errors[i]);
		assert_int_equal(fs_sync(fd), 0);
		fault_clear();
		fault_add("sync", *state, 0, 1, errors[i]);
		/* there are filesystems that do not sync directories */
		assert_int_equal(fs_sync_dir(dir), errors[i] == EINVAL ? 0 : -errors[i]);
		fault_clear();
		fault_add("sync", path, 0, 1, errors[i]);
		fault_add("sync", "/.file.", 0, 1, errors[i]);
		assert_int_equal(fs_replace_durable(dir, "file", "x", 1, 0600), -errors[i]);
		fault_clear();
	}
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fs_sync(ends[1]), 0);
	close(ends[0]), close(ends[1]);
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(fs_sync(null), 0);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* A disk that became read-only acknowledges nothing. */
static void a_disk_that_is_read_only(void **state)
{
	struct commit_log *l = open_log(*state, 0, 0, false);
	uint64_t last = 0;

	append_some(l, 1, 3);
	assert_int_equal(commit_log_sync(l), 0);
	fault_add("sync", *state, 0, -1, EROFS);
	for (unsigned i = 0; i < 20; i++) {
		_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;
		uint64_t number;

		make_entry(4, &e);
		int r = commit_log_append(l, e.buf, e.len, &number);
		assert_true(r < 0 || commit_log_sync(l) == -EROFS);
		assert_int_equal(commit_log_synced_next(l), 4);
	}
	assert_true(fault_hits() > 1);
	fault_clear();
	assert_int_equal(append_some(l, 4, 5), 8);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_all_entries(l, 1, 0, &last), 8);
	commit_log_close(l);
}

/* A reader that was in the segment that was given up goes on in the one behind it. */
static void reader_over_a_failed_sync(void **state)
{
	for (unsigned synced = 0; synced < 3; synced++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, synced);
		struct commit_log *l = open_log(dir, 0, 0, false);
		struct commit_log_reader *r = commit_log_read_from(l, 1);
		struct commit_log_counts c;
		uint64_t last = 0;

		if (synced)
			append_some(l, 1, synced);
		assert_int_equal(commit_log_sync(l), 0);
		assert_int_equal(read_on(r, 0, &last), synced);
		append_some(l, 100, 3);
		fault_add("sync", *state, 0, 1, EIO);
		assert_int_equal(commit_log_sync(l), -EIO);
		assert_int_equal(append_some(l, synced + 1, 4), synced + 4);
		assert_int_equal(commit_log_sync(l), 0);
		assert_int_equal(read_on(r, 0, &last), 4);
		assert_int_equal(last, synced + 4);
		commit_log_reader_close(r);
		commit_log_close(l);
		l = open_log(dir, 0, 0, false);
		last = 0;
		assert_int_equal(read_all_entries(l, 1, 0, &last), synced + 4);
		commit_log_counts(l, &c);
		assert_int_equal(c.damaged, 0);
		commit_log_close(l);
		fault_clear();
	}
}

/* Whatever fails while a group is synced: what was synced is there after the power was gone, and
 * numbers of what was not are given again. */
static void power_after_failed_syncs(void **state)
{
	uint64_t seed = 20261116;

	for (unsigned round = 0; round < 60; round++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, round);
		uint64_t next = 1, last = 0;

		fault_disk(dir);
		struct commit_log *l = open_log(dir, 0, 8192, false);
		for (unsigned group = 0; group < 20; group++) {
			unsigned want = 1 + (unsigned)(random_next(&seed) >> 20) % 6;
			uint64_t number = 0;
			int r = 0;

			if ((random_next(&seed) >> 20) % 3 == 0)
				fault_add("sync", dir, (unsigned)(random_next(&seed) >> 20) % 3, 1,
					  EIO);
			/* cutting off fails on a bad disk, too */
			if ((random_next(&seed) >> 20) % 2 == 0)
				fault_add("truncate", dir, 0, -1, EIO);
			for (unsigned i = 0; i < want && r == 0; i++) {
				_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;

				make_entry(commit_log_next_number(l), &e);
				r = commit_log_append(l, e.buf, e.len, &number);
			}
			(void)commit_log_sync(l);
			fault_clear();
		}
		/* what is not synced when the power goes is nobody's */
		append_some(l, commit_log_next_number(l), 2);
		next = commit_log_synced_next(l);
		fault_add("sync", dir, 0, -1, EIO);
		commit_log_close(l);
		fault_clear();
		fault_power_cut();
		l = open_log(dir, 0, 8192, false);
		assert_int_equal(commit_log_next_number(l), next);
		assert_int_equal(read_all_entries(l, 1, 0, &last), next - 1);
		append_some(l, next, 5);
		assert_int_equal(commit_log_sync(l), 0);
		last = 0;
		assert_int_equal(read_all_entries(l, 1, 0, &last), next + 4);
		commit_log_close(l);
		fault_disk(NULL);
	}
}

/* ---- what cannot be read for now
 * -----------------------------------------------------------------
 */

/* Whichever file cannot be opened or read for a moment while the log is opened: nothing is lost. */
static void opened_for_want_of_descriptors(void **state)
{
	static const char *const calls[] = {"open", "read"};
	static const int errors[] = {EMFILE, ENFILE, ENOMEM};
	struct commit_log_options o = {.dir = *state, .segment = 4096};
	struct commit_log *l = open_log(*state, 0, 4096, false);
	unsigned refused = 0;

	append_some(l, 1, 40);
	commit_log_close(l);
	for (unsigned way = 0; way < 36; way++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_free_ char *saved = xasprintf("%s/state", (char *)*state);
		uint64_t last = 0;

		/* segments alone know the id then */
		if (way >= 18)
			assert_true(unlink(saved) == 0 || errno == ENOENT);
		fault_add(calls[way % 2], way % 2 ? ".log" : "", way / 6, 1, errors[way % 3]);
		int r = commit_log_open(&l, &o, &why);
		fault_clear();
		if (r == 0)
			commit_log_close(l);
		else
			assert_int_equal(r, -errors[way % 3]);
		refused += r < 0;
		l = open_log(*state, 0, 4096, false);
		assert_int_equal(commit_log_next_number(l), 41);
		assert_int_equal(read_all_entries(l, 1, 0, &last), 40);
		commit_log_close(l);
	}
	assert_true(refused > 10);
}

/* The same while it is read: an error, and later the entry. */
static void read_for_want_of_descriptors(void **state)
{
	static const int errors[] = {EMFILE, ENFILE, ENOMEM};
	struct commit_log *l = open_log(*state, 0, 4096, false);

	append_some(l, 1, 60);
	assert_int_equal(commit_log_sync(l), 0);
	for (unsigned way = 0; way < 24; way++) {
		struct commit_log_reader *r = commit_log_read_from(l, 1);
		unsigned failed = 0;
		uint64_t number, wanted = 1;
		struct commit_log_counts c;
		const void *p;
		size_t n;
		int got;

		fault_add(way % 2 ? "read" : "open", ".log", way / 2, 3, errors[way % 3]);
		while ((got = commit_log_reader_next(r, &p, &n, &number)) != 0) {
			if (got < 0) {
				assert_int_equal(got, -errors[way % 3]);
				failed++;
				continue;
			}
			assert_int_equal(number, wanted);
			check_entry(p, n, wanted++);
		}
		assert_int_equal(failed, fault_hits());
		assert_int_equal(wanted, 61);
		commit_log_counts(l, &c);
		assert_int_equal(c.damaged, 0);
		commit_log_reader_close(r);
		fault_clear();
	}
	commit_log_close(l);
}

/* ---- what is counted
 * -----------------------------------------------------------------
 */

/* A spool that cannot write its state counts what it drops all the same, and what was trimmed is
 * not dropped. */
static void counted_without_a_state(void **state)
{
	struct commit_log *l = open_log(*state, 65536, 0, true);
	struct commit_log_counts c;
	uint64_t last = 0;

	append_some(l, 1, 100);
	assert_int_equal(commit_log_sync(l), 0);
	fault_add("rename", "state", 0, -1, EIO);
	append_some(l, 101, 900);
	assert_int_equal(commit_log_sync(l), 0);
	commit_log_counts(l, &c);
	uint64_t dropped = c.dropped_entries;
	assert_in_range(dropped, 500, 999);
	commit_log_close(l);
	l = open_log(*state, 65536, 0, true);
	commit_log_counts(l, &c);
	assert_int_equal(c.dropped_entries, dropped);
	assert_int_equal(commit_log_first(l), dropped + 1);
	assert_int_equal(read_all_entries(l, 1, 0, &last), 1000 - dropped);
	commit_log_trim(l, 1001);
	commit_log_close(l);
	fault_clear();
	l = open_log(*state, 65536, 0, true);
	commit_log_counts(l, &c);
	assert_int_equal(c.dropped_entries, dropped);
	commit_log_close(l);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, disk_setup, disk_teardown)
	static const struct CMUnitTest tests[] = {
		TEST(syncs_that_fail),
		TEST(a_disk_that_is_read_only),
		TEST(reader_over_a_failed_sync),
		TEST(power_after_failed_syncs),
		TEST(opened_for_want_of_descriptors),
		TEST(read_for_want_of_descriptors),
		TEST(counted_without_a_state),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
