/* Logs of batches: order, numbers, bounds, trimming, and readers beside the one who appends. */
#include "commit_log.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static size_t count_segments(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += str_suffix(e->d_name, ".log");
	closedir(d);
	return n;
}

static void what_goes_in_comes_out(void **state)
{
	struct commit_log *l = open_log(*state, 0, 8192, false);
	uint64_t last = 0;

	assert_int_equal(commit_log_first(l), 1);
	assert_int_equal(commit_log_next_number(l), 1);
	assert_int_equal(append_some(l, 1, 100), 100);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_all_entries(l, 0, 0, &last), 100);
	last = 0;
	assert_int_equal(read_all_entries(l, 42, 0, &last), 59);
	assert_true(count_segments(*state) > 3);
	struct commit_log_counts c;
	commit_log_counts(l, &c);
	assert_int_equal(c.entries, 100);
	assert_int_equal(c.dropped_entries + c.dropped_bytes + c.damaged, 0);
	assert_true(c.bytes > 100 * 20);
	commit_log_close(l);
}

/* Entries that are not synced are nobody's yet; those that are come as they are synced. */
static void only_what_was_synced_is_seen(void **state)
{
	struct commit_log *l = open_log(*state, 0, 0, false);
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	uint64_t last = 0;

	append_some(l, 1, 10);
	assert_int_equal(read_on(r, 0, &last), 0);
	assert_false(commit_log_reader_wait(r, 1000000));
	assert_int_equal(commit_log_sync(l), 0);
	assert_true(commit_log_reader_wait(r, 0));
	append_some(l, 11, 5);
	assert_int_equal(read_on(r, 0, &last), 10);
	assert_false(commit_log_reader_wait(r, 1000000));
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_on(r, 0, &last), 5);
	assert_int_equal(last, 15);
	commit_log_reader_close(r);
	commit_log_close(l);
}

static void one_process_at_a_time(void **state)
{
	struct commit_log *l = open_log(*state, 0, 0, false), *other = NULL;
	struct commit_log_options o = {.dir = *state};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(commit_log_open(&other, &o, &why), -EBUSY);
	assert_contains(why.buf, "another process uses");
	commit_log_close(l);
	strbuf_reset(&why);
	assert_int_equal(commit_log_open(&other, &o, &why), 0);
	commit_log_close(other);
	o.dir = "/dev/null/log";
	assert_int_equal(commit_log_open(&other, &o, &why), -ENOTDIR);
	assert_contains(why.buf, "/dev/null/log");
}

/* A process that another thread forks meanwhile (a reader of HDF5) has the lock's descriptor, too.
 */
static void closed_whoever_was_forked(void **state)
{
	struct commit_log *l = open_log(*state, 0, 0, false);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	commit_log_close(l);
	l = open_log(*state, 0, 0, false);
	commit_log_close(l);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void numbers_go_on(void **state)
{
	uint64_t next = 1, last;

	for (unsigned round = 0; round < 6; round++) {
		struct commit_log *l = open_log(*state, 0, 4096, false);

		assert_int_equal(commit_log_next_number(l), next);
		append_some(l, next, 20);
		assert_int_equal(commit_log_sync(l), 0);
		next += 20;
		if (round % 2)
			commit_log_trim(l, next);
		last = 0;
		assert_int_equal(read_all_entries(l, 1, 0, &last), round % 2 ? 0 : 20);
		commit_log_close(l);
	}
	/* even when every segment is gone, or the state is */
	_cleanup_free_ char *state_file = xasprintf("%s/state", (char *)*state);
	_cleanup_free_ char *command = xasprintf("rm %s/*.log", (char *)*state);
	assert_int_equal(unlink(state_file), 0);
	struct commit_log *l = open_log(*state, 0, 4096, false);
	uint64_t id = commit_log_id(l);
	assert_true(id != 0);
	assert_int_equal(commit_log_next_number(l), next);
	commit_log_close(l);
	assert_int_equal(system(command), 0);
	l = open_log(*state, 0, 4096, false);
	assert_int_equal(commit_log_next_number(l), next);
	assert_true(commit_log_id(l) == id);
	commit_log_close(l);
}

/* Whoever begins with the first that is there waits for one where there is none. */
static void waiting_for_the_first(void **state)
{
	struct commit_log *l = open_log(*state, 0, 4096, false);
	struct commit_log_reader *r = commit_log_read_from(l, 0);
	uint64_t last = 0;

	assert_false(commit_log_reader_wait(r, 1000000));
	append_some(l, 1, 200);
	assert_int_equal(commit_log_sync(l), 0);
	assert_true(commit_log_reader_wait(r, 1000000));
	commit_log_trim(l, 201);
	assert_false(commit_log_reader_wait(r, 1000000));
	append_some(l, 201, 1);
	assert_int_equal(commit_log_sync(l), 0);
	assert_true(commit_log_reader_wait(r, 0));
	assert_int_equal(read_on(r, 0, &last), 1);
	assert_int_equal(last, 201);
	commit_log_reader_close(r);
	commit_log_close(l);
}

static void trimming(void **state)
{
	struct commit_log *l = open_log(*state, 0, 4096, false);
	struct commit_log_counts c;
	uint64_t last = 0;

	append_some(l, 1, 2);
	commit_log_trim(l, 1000); /* nothing that was not synced */
	assert_int_equal(commit_log_first(l), 1);
	append_some(l, 3, 198);
	assert_int_equal(commit_log_sync(l), 0);
	size_t before = count_segments(*state);
	commit_log_trim(l, 150);
	assert_true(count_segments(*state) < before);
	assert_int_equal(commit_log_first(l), 150);
	commit_log_trim(l, 50); /* never back */
	assert_int_equal(commit_log_first(l), 150);
	assert_int_equal(read_all_entries(l, 1, 0, &last), 51);
	commit_log_counts(l, &c);
	assert_int_equal(c.entries, 51);
	assert_int_equal(c.dropped_entries, 0);
	commit_log_close(l);
	l = open_log(*state, 0, 4096, false);
	assert_int_equal(commit_log_first(l), 150);
	last = 0;
	assert_int_equal(read_all_entries(l, 1, 0, &last), 51);
	commit_log_trim(l, 201);
	assert_int_equal(commit_log_first(l), 201);
	assert_int_equal(count_segments(*state), 1);
	commit_log_counts(l, &c);
	assert_int_equal(c.entries, 0);
	assert_true(c.bytes < 4096);
	commit_log_close(l);
}

/* A spool drops its oldest, counts them, and remembers the count. */
static void full_spools_drop(void **state)
{
	struct commit_log *l = open_log(*state, 65536, 0, true);
	struct commit_log_counts c;
	uint64_t last = 0;

	append_some(l, 1, 1000);
	assert_int_equal(commit_log_sync(l), 0);
	commit_log_counts(l, &c);
	assert_in_range(c.bytes, 65536 * 3 / 4, 65536);
	assert_true(c.dropped_entries > 500);
	assert_true(c.dropped_bytes > 500 * 20);
	assert_int_equal(commit_log_first(l), c.dropped_entries + 1);
	assert_int_equal(read_all_entries(l, 1, 0, &last), 1000 - c.dropped_entries);
	assert_int_equal(last, 1000);
	uint64_t dropped = c.dropped_entries;
	commit_log_close(l);
	l = open_log(*state, 65536, 0, true);
	commit_log_counts(l, &c);
	assert_int_equal(c.dropped_entries, dropped);
	/* what was trimmed is not missed */
	commit_log_trim(l, 1001);
	append_some(l, 1001, 40);
	commit_log_counts(l, &c);
	assert_int_equal(c.dropped_entries, dropped);
	commit_log_close(l);
}

static void entries_have_a_largest_size(void **state)
{
	struct commit_log *l = open_log(*state, 65536, 0, true);
	_cleanup_free_ char *big = xcalloc(1, COMMIT_LOG_ENTRY_MAX + 1);
	uint64_t number = 0, last = 0;

	append_some(l, 1, 10);
	assert_int_equal(commit_log_append(l, big, COMMIT_LOG_ENTRY_MAX + 1, &number), -E2BIG);
	assert_int_equal(commit_log_append(l, big, 70000, &number), -ENOSPC);
	assert_int_equal(append_some(l, 11, 1), 11);
	assert_int_equal(commit_log_sync(l), 0);
	(void)read_all_entries(l, 1, 0, &last);
	assert_int_equal(last, 11);
	commit_log_close(l);
}

/* A collector's log refuses, keeps what it has, and takes more when there is room again. */
static void full_logs_refuse(void **state)
{
	struct commit_log *l = open_log(*state, 65536, 0, false);
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;
	uint64_t number = 0, i = 1, last = 0;
	struct commit_log_counts c;
	int r;

	for (;; i++) {
		make_entry(i, &e);
		r = commit_log_append(l, e.buf, e.len, &number);
		if (r < 0)
			break;
		assert_int_equal(number, i);
	}
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_all_entries(l, 1, 0, &last), i - 1);
	commit_log_counts(l, &c);
	assert_int_equal(c.dropped_entries, 0);
	assert_true(c.bytes <= 65536);
	commit_log_trim(l, i / 2);
	assert_int_equal(append_some(l, i, 10), i + 9);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_all_entries(l, i, 0, &last), 10);
	commit_log_close(l);
}

/* A reader that the log has run away from goes on with what there is. */
static void readers_survive_drops(void **state)
{
	struct commit_log *l = open_log(*state, 65536, 0, true);
	struct commit_log_reader *r;
	uint64_t number, last = 0;
	const void *p;
	size_t n;

	append_some(l, 1, 20);
	assert_int_equal(commit_log_sync(l), 0);
	r = commit_log_read_from(l, 1);
	for (uint64_t i = 1; i <= 5; i++) {
		assert_int_equal(commit_log_reader_next(r, &p, &n, &number), 1);
		assert_int_equal(number, i);
		check_entry(p, n, i);
	}
	append_some(l, 21, 1000);
	assert_int_equal(commit_log_sync(l), 0);
	uint64_t first = commit_log_first(l);
	assert_true(first > 20);
	assert_int_equal(read_on(r, 0, &last), 1020 - first + 1);
	assert_int_equal(last, 1020);
	commit_log_reader_close(r);
	r = commit_log_read_from(l, 5000); /* a log that lost its end */
	append_some(l, 1021, 1);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_on(r, 0, &last), 1);
	commit_log_reader_close(r);
	commit_log_close(l);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREAD_ENTRIES 3000

struct beside {
	struct commit_log *log;
	size_t count;
	bool bad;
};

static void *read_beside(void *user)
{
	_cleanup_strbuf_ struct strbuf want = STRBUF_INIT;
	struct beside *b = user;
	struct commit_log_reader *r = commit_log_read_from(b->log, 1);
	uint64_t number;
	const void *p;
	size_t n;

	while (b->count < THREAD_ENTRIES && !b->bad) {
		int got = commit_log_reader_next(r, &p, &n, &number);

		if (got == 0) {
			(void)commit_log_reader_wait(r, 100000000);
			continue;
		}
		make_entry(++b->count, &want);
		b->bad = got < 0 || number != b->count || n != want.len ||
			 memcmp(p, want.buf, n) != 0;
	}
	commit_log_reader_close(r);
	return NULL;
}

static void readers_in_threads(void **state)
{
	struct beside readers[3] = {0};
	pthread_t threads[3];
	struct commit_log *l = open_log(*state, 0, 131072, false);

	for (unsigned i = 0; i < 3; i++) {
		readers[i].log = l;
		assert_int_equal(pthread_create(&threads[i], NULL, read_beside, &readers[i]), 0);
	}
	for (uint64_t i = 1; i <= THREAD_ENTRIES; i += 60) {
		append_some(l, i, 60);
		assert_int_equal(commit_log_sync(l), 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_false(readers[i].bad);
		assert_int_equal(readers[i].count, THREAD_ENTRIES);
	}
	commit_log_close(l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_goes_in_comes_out, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(only_what_was_synced_is_seen, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(one_process_at_a_time, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(closed_whoever_was_forked, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(numbers_go_on, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(waiting_for_the_first, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(trimming, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(full_spools_drop, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(entries_have_a_largest_size, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(full_logs_refuse, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(readers_survive_drops, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(readers_in_threads, scratch_setup,
						scratch_teardown),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
