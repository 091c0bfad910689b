/* The feed hdf5: every value is in the files once, however files are begun. */
#include "hdf5_cells.h"

#include <sched.h>
#include <sys/mount.h>

#include "many_names.h"

static const struct harness_plan plan = {
	.nodes = 2, .entries = 8, .readings = 5, .jobs = 3, .processes = 2};

static void a_life(void **state)
{
	static const char *const targets[] = {"all.hdf5", "some"};

	for (int level = 0; level < 10; level += 9)
		for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
			_cleanup_free_ char *dir = xasprintf("%s/%d%zu", (char *)*state, level, i);
			struct place p;

			assert_int_equal(mkdir(dir, 0700), 0);
			place_make(&p, dir, targets[i]);
			p.o.level = level;
			harness_life(&sink_hdf5, &p.o, &plan);
			check_files(dir, &plan, plan.entries, 1);
			place_release(&p);
		}
}

/* ---- files are begun anew -------------------------------------------------------------------- */

static unsigned count_files(const char *dir, const char *suffix)
{
	unsigned n = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += str_suffix(e->d_name, suffix);
	closedir(d);
	return n;
}

static void rolled_over_by_size(void **state)
{
	static const char *const targets[] = {"all.hdf5", "some"};

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		_cleanup_free_ char *dir = xasprintf("%s/%zu", (char *)*state, i);
		uint64_t position;
		struct place p;

		assert_int_equal(mkdir(dir, 0700), 0);
		place_make(&p, dir, targets[i]);
		/* every commit fills a file, several in a second */
		p.o.rollover_bytes = 1;
		void *feed = harness_start(&sink_hdf5, &p.o, &position);
		for (unsigned k = 1; k <= plan.entries; k++)
			harness_must(&sink_hdf5, feed, &plan, k, k, true);
		sink_hdf5.close(feed);
		check_files(dir, &plan, plan.entries, plan.entries);
		/* nothing but files, the state, and the directory's own two */
		assert_int_equal(count_files(dir, ""), plan.entries + 3);
		place_release(&p);
	}
}

/* A file that nothing is in yet is gone on with, too. */
static void begun_and_left(void **state)
{
	uint64_t position;
	struct place p;

	place_make(&p, *state, "some");
	sink_hdf5.close(harness_start(&sink_hdf5, &p.o, &position));
	struct timespec pause = {.tv_sec = 1, .tv_nsec = 100000000};
	nanosleep(&pause, NULL);
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	assert_int_equal(position, 0);
	harness_must(&sink_hdf5, feed, &plan, 1, plan.entries, true);
	sink_hdf5.close(feed);
	check_files(*state, &plan, plan.entries, 1);
	place_release(&p);
}

static void rolled_over_by_time(void **state)
{
	uint64_t position;
	struct place p;

	place_make(&p, *state, "some");
	p.o.rollover_ns = 1000000000;
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	harness_must(&sink_hdf5, feed, &plan, 1, 2, true);
	struct timespec pause = {.tv_sec = 1, .tv_nsec = 100000000};
	nanosleep(&pause, NULL);
	harness_must(&sink_hdf5, feed, &plan, 3, 3, true);
	harness_must(&sink_hdf5, feed, &plan, 4, plan.entries, true);
	sink_hdf5.close(feed);
	check_files(*state, &plan, plan.entries, 2);
	place_release(&p);
}

/* As colmet does it: a name with another time, or the same file, or one that was moved away. */
static void rolled_over_when_asked(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	for (int one_file = 0; one_file < 2; one_file++) {
		char *dir = xasprintf("%s/%d", (char *)*state, one_file);
		uint64_t position;
		struct place p;

		assert_int_equal(mkdir(dir, 0700), 0);
		place_make(&p, dir, one_file ? "all.hdf5" : "some");
		void *feed = harness_start(&sink_hdf5, &p.o, &position);
		harness_must(&sink_hdf5, feed, &plan, 1, 2, true);
		harness_must(&sink_hdf5, feed, &plan, 3, 3, false);
		assert_int_equal(sink_hdf5.reopen(feed, &why), 0);
		harness_must(&sink_hdf5, feed, &plan, 4, 4, true);
		check_files(dir, &plan, 4, one_file ? 1 : 2);
		if (one_file) {
			_cleanup_free_ char *away = xasprintf("%s/yesterday.hdf5", dir);

			assert_int_equal(rename(p.target, away), 0);
			harness_must(&sink_hdf5, feed, &plan, 5, 5, true);
		}
		assert_int_equal(sink_hdf5.reopen(feed, &why), 0);
		harness_must(&sink_hdf5, feed, &plan, one_file ? 6 : 5, plan.entries, true);
		sink_hdf5.close(feed);
		check_files(dir, &plan, plan.entries, one_file ? 2 : 3);
		place_release(&p);
		free(dir);
	}
}

/* A log that was put back to an earlier state gives its numbers to other entries, and the file
 * knows that for good. */
static void numbers_that_come_again(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;
	struct place p;

	place_make(&p, *state, "all.hdf5");
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	harness_must(&sink_hdf5, feed, &plan, 1, 5, true);
	assert_int_equal(sink_hdf5.number_again(feed, 3, &why), 0);
	sink_hdf5.close(feed);
	feed = harness_start(&sink_hdf5, &p.o, &position);
	assert_int_equal(position, 3);
	harness_must(&sink_hdf5, feed, &plan, 3, 4, true);
	sink_hdf5.close(feed);
	sink_hdf5.close(harness_start(&sink_hdf5, &p.o, &position));
	assert_int_equal(position, 5);
	place_release(&p);
}

static void copy_file(const char *from, const char *to)
{
	_cleanup_free_ char *command = xasprintf("cp '%s' '%s'", from, to);

	assert_int_equal(system(command), 0);
}

/* What cannot be found any more takes no rows; what was not committed goes to another file. */
static void go_on_elsewhere(void *feed)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	harness_must(&sink_hdf5, feed, &plan, 4, 5, false);
	assert_int_equal(sink_hdf5.commit(feed, 5, &why), -EAGAIN);
	assert_contains(why.buf, "or its filesystem was removed");
	harness_must(&sink_hdf5, feed, &plan, 4, plan.entries, true);
	sink_hdf5.close(feed);
}

static void removed_under_us(void **state)
{
	for (int way = 0; way < 3; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%d", (char *)*state, way);
		_cleanup_free_ char *kept = xasprintf("%s/kept.hdf5", dir);
		uint64_t position;
		struct place p;

		assert_int_equal(mkdir(dir, 0700), 0);
		place_make(&p, dir, way == 2 ? "some" : "all.hdf5");
		void *feed = harness_start(&sink_hdf5, &p.o, &position);
		harness_must(&sink_hdf5, feed, &plan, 1, 3, true);
		if (way == 2) {
			_cleanup_free_ char *names = xasprintf(
				"cp '%s'.*.hdf5 '%s' && rm '%s'.*.hdf5", p.target, kept, p.target);

			assert_int_equal(system(names), 0);
		} else {
			copy_file(p.target, kept);
			assert_int_equal(way ? rename(kept, p.target) : unlink(p.target), 0);
		}
		go_on_elsewhere(feed);
		check_files(dir, &plan, plan.entries, way == 1 ? 1 : 2);
		/* it knows that for good */
		sink_hdf5.close(harness_start(&sink_hdf5, &p.o, &position));
		assert_int_equal(position, plan.entries + 1);
		place_release(&p);
	}
}

static void unmounted_under_us(void **state)
{
	_cleanup_free_ char *data = xasprintf("%s/data", (char *)*state);
	_cleanup_free_ char *kept = xasprintf("%s/kept.hdf5", (char *)*state);
	struct cells c = {0};
	uint64_t position;
	struct place p;

	assert_int_equal(mkdir(data, 0700), 0);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", data, "tmpfs", 0, NULL) < 0)
		skip();
	place_make(&p, *state, "data/all.hdf5");
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	harness_must(&sink_hdf5, feed, &plan, 1, 3, true);
	copy_file(p.target, kept);
	assert_int_equal(umount2(data, MNT_DETACH), 0);
	go_on_elsewhere(feed);
	assert_int_equal(read_files(*state, &c) + read_files(data, &c), 2);
	check_cells(&c, &plan, plan.entries);
	free(c.list);
	place_release(&p);
}

/* 42 batches of 100 sources each are more than a file takes: the next node has its own all the
 * same. */
static void one_node_cannot_use_up_the_names(void **state)
{
	struct place p;

	place_make(&p, *state, "all.hdf5");
	many_play(&sink_hdf5, &p.o, 42);
	place_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_life, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(rolled_over_by_size, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(begun_and_left, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(rolled_over_by_time, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(rolled_over_when_asked, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(numbers_that_come_again, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(removed_under_us, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(one_node_cannot_use_up_the_names, scratch_setup,
						scratch_teardown),
		/* last: it leaves the mounts of others */
		cmocka_unit_test_setup_teardown(unmounted_under_us, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
