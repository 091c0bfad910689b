/*
 * The feed hdf5 when things go wrong: killed at any moment, killed with the process that finishes
 * its work, no room on the disk, a file that somebody damaged. Nothing is lost and nothing is there
 * twice.
 */
#include "hdf5_cells.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const struct harness_plan plan = {
	.nodes = 3, .entries = 60, .readings = 4, .jobs = 40, .processes = 1};

/* ---- kill -9 --------------------------------------------------------------------------------- */

/* Plays all that is missing, a commit for every few entries; a child's work. */
static void play(const struct sink_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position = 0;
	void *state = NULL;

	/* the process that finishes the last one's work may be at it still */
	int r = -EAGAIN;
	for (int i = 0; i < 3000 && r == -EAGAIN; i++) {
		const struct timespec pause = {.tv_nsec = 10000000};

		r = sink_hdf5.open(o, &state, &position, &why);
		if (r == -EAGAIN)
			nanosleep(&pause, NULL);
	}
	if (r < 0)
		_exit(3);
	for (unsigned k = position ? (unsigned)position : 1; k <= plan.entries; k++)
		if (harness_batches(&sink_hdf5, state, &plan, k, k, NULL, &why) < 0 ||
		    (k % 2 == 0 && sink_hdf5.commit(state, k, &why) < 0))
			_exit(4);
	if (sink_hdf5.commit(state, plan.entries, &why) < 0)
		_exit(4);
	sink_hdf5.close(state);
	_exit(0);
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The process that finishes the work of one who was killed holds his locks. */
static void wait_for_the_last(const struct place *p)
{
	_cleanup_free_ char *path = xasprintf("%s/journal.0", p->state);
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		assert_int_equal(flock(fd, LOCK_EX), 0);
}

/* Rows of a file that was left at any moment: those of whole entries, each once. */
static unsigned check_left(const char *dir)
{
	struct cells c = {0};
	size_t each = 0;

	(void)read_files(dir, &c);
	for (unsigned s = 0; s < HARNESS_SOURCES; s++)
		each += plan.readings * harness_entities(&plan, s);
	assert_int_equal(c.count % each, 0);
	unsigned entries = (unsigned)(c.count / each);
	if (entries)
		check_cells(&c, &plan, entries);
	free(c.list);
	return entries;
}

static void killed_at_any_moment(void **state)
{
	unsigned kills = 0, last = 0, seed = 20270115, wanted = getenv("PL_LONG") ? 200 : 20;
	struct place p;

	place_make(&p, *state, "live.hdf5");
	p.o.level = 0;
	for (unsigned round = 0; round < 1000; round++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			play(&p.o);
		/* what a run lasts changes with the machine: the pauses cover all of it */
		seed = seed * 1103515245 + 12345;
		struct timespec pause = {.tv_nsec = (long)(seed >> 8) % 60000000};
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		int status = wait_for(pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			break;
		}
		kills++;
		/* as it lies there, before anything of ours repairs it */
		wait_for_the_last(&p);
		unsigned now = check_left(*state);
		assert_true(now >= last);
		last = now;
		/* enough; now to the end */
		if (kills >= wanted)
			break;
	}
	pid_t pid = fork();
	if (pid == 0)
		play(&p.o);
	assert_int_equal(wait_for(pid), 0);
	print_message("%u kills\n", kills);
	assert_true(kills >= 3);
	check_files(*state, &plan, plan.entries, 1);
	place_release(&p);
}

/* ---- a commit that was broken off ------------------------------------------------------------ */

static size_t whole_file(const char *path, unsigned char **ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret = xmalloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

/* Two commits with a stop between them, and an end without a word; a child's work. */
static void two_commits(const struct sink_options *o, int told, int go)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position = 0;
	void *state = NULL;
	char c = 0;

	if (sink_hdf5.open(o, &state, &position, &why) < 0 ||
	    harness_batches(&sink_hdf5, state, &plan, 1, 2, NULL, &why) < 0 ||
	    sink_hdf5.commit(state, 2, &why) < 0 || write(told, &c, 1) != 1 ||
	    read(go, &c, 1) != 1 ||
	    harness_batches(&sink_hdf5, state, &plan, 3, 4, NULL, &why) < 0 ||
	    sink_hdf5.commit(state, 4, &why) < 0)
		_exit(3);
	_exit(0);
}

/* Puts back some of what the second commit changed; the number of places. */
static unsigned tear(const char *path, const unsigned char *before, size_t n, unsigned spare)
{
	_cleanup_free_ unsigned char *after = NULL;
	size_t m = whole_file(path, &after);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned torn = 0;

	assert_true(m >= n && fd >= 0);
	for (size_t at = 0; at < n; at += 512) {
		size_t size = n - at < 512 ? n - at : 512;

		if (memcmp(before + at, after + at, size) == 0 || at / 512 % 3 == spare)
			continue;
		torn++;
		assert_int_equal(pwrite(fd, before + at, size, (off_t)at), (ssize_t)size);
	}
	close(fd);
	return torn;
}

/* The power went while a commit was overwriting: some of it is as before. The journal has it. */
static void broken_off_while_overwriting(void **state)
{
	for (unsigned way = 0; way < 6; way++) {
		_cleanup_free_ char *dir = xasprintf("%s/%u", (char *)*state, way);
		_cleanup_free_ unsigned char *before = NULL;
		int told[2], go[2];
		uint64_t position;
		struct place p;
		char c;

		assert_int_equal(mkdir(dir, 0700), 0);
		place_make(&p, dir, "live.hdf5");
		p.o.level = way % 2;
		assert_int_equal(pipe(told) | pipe(go), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			two_commits(&p.o, told[1], go[0]);
		assert_int_equal(read(told[0], &c, 1), 1);
		size_t n = whole_file(p.target, &before);
		assert_int_equal(write(go[1], &c, 1), 1);
		assert_int_equal(wait_for(pid), 0);
		for (int i = 0; i < 2; i++)
			close(told[i]), close(go[i]);
		assert_true(tear(p.target, before, n, way / 2) > 5);
		void *feed = harness_start(&sink_hdf5, &p.o, &position);
		assert_int_equal(position, 5);
		harness_must(&sink_hdf5, feed, &plan, 5, 6, true);
		sink_hdf5.close(feed);
		check_files(dir, &plan, 6, 1);
		place_release(&p);
	}
}

/* The journal itself was being written: the commit never was. */
static void broken_off_in_the_journal(void **state)
{
	uint64_t position;
	struct place p;

	place_make(&p, *state, "live.hdf5");
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	harness_must(&sink_hdf5, feed, &plan, 1, 2, true);
	sink_hdf5.close(feed);
	/* the last slot is that of the close, the one before it that of the commit */
	for (int slot = 0; slot < 2; slot++) {
		_cleanup_free_ char *path = xasprintf("%s/journal.%d", p.state, slot);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		unsigned char byte;

		assert_true(fd >= 0);
		assert_int_equal(pread(fd, &byte, 1, 40), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, 40), 1);
		close(fd);
		feed = harness_start(&sink_hdf5, &p.o, &position);
		/* one slot is left, then none: the collector's own note counts */
		assert_int_equal(position, slot ? 0 : 3);
		sink_hdf5.close(feed);
	}
	check_files(*state, &plan, 2, 1);
	place_release(&p);
}

/* ---- no room --------------------------------------------------------------------------------- */

static void set_limit(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file that may not grow any more stands for a full disk: both are "no room". */
static void no_room(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;
	struct place p;
	struct stat st;

	place_make(&p, *state, "live.hdf5");
	p.o.level = 0;
	signal(SIGXFSZ, SIG_IGN);
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	harness_must(&sink_hdf5, feed, &plan, 1, 4, true);
	assert_int_equal(stat(p.target, &st), 0);
	set_limit((rlim_t)st.st_size);
	unsigned refused = 0;
	for (unsigned k = 5; k <= 12; k++) {
		int r = harness_batches(&sink_hdf5, feed, &plan, 5, k, NULL, &why);

		r = r == 0 ? sink_hdf5.commit(feed, k, &why) : r;
		refused += r == -EAGAIN;
		assert_true(r == -EAGAIN || (r == 0 && !refused));
	}
	assert_true(refused >= 5);
	assert_contains(why.buf, "live.hdf5': File too large");
	/* what is committed can be read meanwhile */
	assert_true(check_left(*state) >= 4);
	set_limit(RLIM_INFINITY);
	harness_must(&sink_hdf5, feed, &plan, 5, plan.entries, true);
	sink_hdf5.close(feed);
	signal(SIGXFSZ, SIG_DFL);
	check_files(*state, &plan, plan.entries, 1);
	place_release(&p);
}

/* ---- files that are not what they should be
 * ------------------------------------------------------ */

static void not_to_be_opened(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *second = xasprintf("%s/second", (char *)*state);
	uint64_t position;
	struct place p;
	void *feed = NULL;

	place_make(&p, *state, "live.hdf5");
	write_file(p.target, "no HDF5 file at all, but so long that it could have been one", 60);
	assert_int_equal(sink_hdf5.open(&p.o, &feed, &position, &why), -EBADMSG);
	assert_contains(why.buf, "live.hdf5'");
	assert_int_equal(unlink(p.target), 0);

	/* two at once */
	feed = harness_start(&sink_hdf5, &p.o, &position);
	struct sink_options twin = p.o;
	void *other = NULL;
	strbuf_reset(&why);
	assert_int_equal(sink_hdf5.open(&twin, &other, &position, &why), -EAGAIN);
	twin.state = second;
	strbuf_reset(&why);
	assert_int_equal(sink_hdf5.open(&twin, &other, &position, &why), -EAGAIN);
	assert_contains(why.buf, "is being written by another program");
	sink_hdf5.close(feed);

	p.o.target = "";
	assert_int_equal(sink_hdf5.open(&p.o, &feed, &position, &why), -EINVAL);
	place_release(&p);
}

/* Overwrites what was packed, and only that: the library can open everything and read nothing. */
static void damage_chunks(const char *path)
{
	_cleanup_free_ unsigned char *data = NULL;
	size_t n = whole_file(path, &data);
	unsigned chunks = 0;

	for (size_t i = 0; i + 64 < n; i++)
		/* with zeros behind them these bytes are an address */
		if (data[i] == 0x78 && data[i + 1] == 0x01 && (data[i + 2] || data[i + 3])) {
			memset(data + i + 2, 0xff, 30);
			chunks++;
		}
	assert_true(chunks > 10);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, data, n, 0), (ssize_t)n);
	close(fd);
}

/* A file that the library cannot go on with is put aside, and another is begun. */
static void damaged_under_us(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;
	struct place p;
	unsigned tries = 0;

	place_make(&p, *state, "live.hdf5");
	void *feed = harness_start(&sink_hdf5, &p.o, &position);
	harness_must(&sink_hdf5, feed, &plan, 1, 2, true);
	sink_hdf5.close(feed);
	damage_chunks(p.target);
	int r = -EAGAIN;
	feed = harness_start(&sink_hdf5, &p.o, &position);
	while (r == -EAGAIN && tries++ < 10) {
		r = harness_batches(&sink_hdf5, feed, &plan, 3, 4, NULL, &why);
		r = r == 0 ? sink_hdf5.commit(feed, 4, &why) : r;
	}
	assert_int_equal(r, 0);
	assert_true(tries > 1);
	assert_contains(why.buf, "live.hdf5': the HDF5 library failed");
	sink_hdf5.close(feed);
	/* entries 3 and 4 are in the new one */
	struct cells c = {0};
	read_file(p.target, &c);
	assert_int_equal(c.count, 2 * plan.readings * (2 * plan.jobs + 1));
	free(c.list);
	place_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_at_any_moment, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(broken_off_while_overwriting, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(broken_off_in_the_journal, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(no_room, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(not_to_be_opened, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(damaged_under_us, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
