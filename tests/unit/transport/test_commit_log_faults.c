/*
 * Logs that something happens to: writers killed at any moment, a disk that is full, every kind of
 * damage. What was synced is there, nothing is there twice, half or in another's place.
 */
#include "commit_log.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- killed ---------------------------------------------------------------------------------- */

struct shared {
	_Atomic uint64_t synced; /* number up to which a sync has returned */
};

static void append_until_killed(const char *dir, struct shared *s)
{
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT, why = STRBUF_INIT;
	struct commit_log_options o = {.dir = dir, .segment = 8192};
	struct commit_log *l;
	uint64_t number;

	if (commit_log_open(&l, &o, &why) < 0)
		_exit(2);
	for (;;) {
		for (unsigned i = 0; i < 7; i++) {
			make_entry(commit_log_next_number(l), &e);
			if (commit_log_append(l, e.buf, e.len, &number) < 0)
				_exit(3);
		}
		if (commit_log_sync(l) < 0)
			_exit(4);
		s->synced = number;
	}
}

static void killed_at_any_moment(void **state)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned rounds = getenv("PL_LONG") ? 200 : 15;
	uint64_t seed = (uint64_t)time(NULL) | 1;

	assert_true(s != MAP_FAILED);
	for (unsigned round = 0; round < rounds; round++) {
		uint64_t before = s->synced, last = 0;
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			append_until_killed(*state, s);
		while (s->synced == before && waitpid(pid, &status, WNOHANG) == 0)
			usleep(500);
		usleep((useconds_t)(random_next(&seed) >> 11) % 20000);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		struct commit_log *l = open_log(*state, 0, 8192, false);
		uint64_t next = commit_log_next_number(l), first = commit_log_first(l);
		assert_true(next > s->synced);
		assert_int_equal(read_all_entries(l, first, 0, &last), next - first);
		assert_int_equal(last, next - 1);
		/* as in use: else each round reads all that the ones before have written */
		if (next - first > 500)
			commit_log_trim(l, next - 100);
		commit_log_close(l);
	}
	munmap(s, sizeof(*s));
}

/* ---- torn ends ------------------------------------------------------------------------------- */

static char *last_segment(const char *dir, uint64_t first)
{
	return xasprintf("%s/%020llu.log", dir, (unsigned long long)first);
}

/* Wherever a file ends, what is whole stays, and the next one has the number of what was cut off.
 */
static void cut_anywhere(void **state)
{
	struct commit_log *l = open_log(*state, 0, 0, false);
	_cleanup_free_ char *file = last_segment(*state, 1);
	uint64_t ends[6] = {LOG_HEADER}, last;
	struct stat st;

	for (uint64_t i = 1; i <= 5; i++) {
		append_some(l, i, 1);
		assert_int_equal(stat(file, &st), 0);
		ends[i] = (uint64_t)st.st_size;
	}
	commit_log_close(l);
	for (uint64_t size = ends[5]; size-- > 0;) {
		uint64_t whole = 0;

		if (size > 2000 && size % 7) /* each byte near the start, some elsewhere */
			continue;
		assert_int_equal(truncate(file, (off_t)size), 0);
		_cleanup_free_ char *saved = xasprintf("%s/state", (char *)*state);
		assert_int_equal(unlink(saved), 0); /* it knows the numbers of before */
		while (whole < 5 && ends[whole + 1] <= size)
			whole++;
		l = open_log(*state, 0, 0, false);
		assert_int_equal(commit_log_next_number(l), whole + 1);
		last = 0;
		assert_int_equal(read_all_entries(l, 1, 0, &last), whole);
		struct commit_log_counts c;
		commit_log_counts(l, &c);
		assert_int_equal(c.damaged, 0);
		commit_log_close(l);
	}
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	char buf[4096];
	ssize_t n;
	int fd = open(from, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(&bytes, buf, (size_t)n);
	close(fd);
	write_file(to, bytes.buf, bytes.len);
}

/* Each byte of a segment changed in turn: at most the entry that it is in is lost. */
static void damaged_anywhere(void **state, bool is_last)
{
	_cleanup_free_ char *file = last_segment(*state, 1),
			    *good = xasprintf("%s/good", (char *)*state);
	struct commit_log *l = open_log(*state, 0, 4096, false);
	uint64_t ends[64] = {LOG_HEADER}, count = 0, total;
	struct commit_log_counts c;
	struct stat st;

	for (uint64_t i = 1; i < 64; i++) {
		append_some(l, i, 1);
		assert_int_equal(commit_log_sync(l), 0);
		assert_int_equal(stat(file, &st), 0);
		if ((uint64_t)st.st_size == ends[i - 1])
			break; /* in the next segment */
		ends[i] = (uint64_t)st.st_size;
		count = i;
		if (is_last && i == 5)
			break;
	}
	total = commit_log_next_number(l) - 1;
	assert_int_equal(total, is_last ? count : count + 1);
	commit_log_close(l);
	copy_file(file, good);
	for (uint64_t at = 0; at < ends[count]; at += at < 600 ? 1 : 37) {
		uint64_t last = 0, hit = 0;

		copy_file(good, file);
		int fd = open(file, O_RDWR | O_CLOEXEC);
		char byte;
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		close(fd);
		while (at >= ends[hit])
			hit++;
		l = open_log(*state, 0, 4096, false);
		size_t got = read_all_entries(l, 1, 0, &last);
		assert_int_equal(got, hit ? total - 1 : total);
		assert_int_equal(commit_log_next_number(l), total + 1);
		last = 0;
		(void)read_all_entries(l, 1, 0, &last);
		commit_log_counts(l, &c);
		/* the end of the last segment is no place that is skipped, but one that is cut off;
		 * nobody reads the header of another */
		assert_int_equal(c.damaged, is_last ? hit < count : hit > 0);
		commit_log_close(l);
	}
}

static void damage_in_the_last_segment(void **state)
{
	damaged_anywhere(state, true);
}

static void damage_in_another_segment(void **state)
{
	damaged_anywhere(state, false);
}

/* An entry inside an entry, as a peer might send it, is not found when damage is searched past. */
static void forged_entries(void **state)
{
	_cleanup_free_ char *file = last_segment(*state, 1);
	struct commit_log *l = open_log(*state, 0, 0, false);
	unsigned char forged[LOG_ENTRY + 4];
	uint64_t number, last = 0;
	const void *p;
	size_t n;

	log_put_entry(forged, 0, "evil", 4, 1);
	assert_int_equal(commit_log_append(l, forged, sizeof(forged), &number), 0);
	append_some(l, 2, 1);
	commit_log_close(l);
	int fd = open(file, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "?", 1, LOG_HEADER), 1);
	close(fd);
	l = open_log(*state, 0, 0, false);
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	assert_int_equal(commit_log_reader_next(r, &p, &n, &number), 1);
	assert_int_equal(number, 2);
	check_entry(p, n, 2);
	assert_int_equal(read_on(r, 0, &last), 0);
	commit_log_reader_close(r);
	commit_log_close(l);
}

static void lost_segments(void **state)
{
	struct commit_log *l = open_log(*state, 0, 4096, false);
	uint64_t last = 0;

	append_some(l, 1, 60);
	assert_int_equal(commit_log_sync(l), 0);
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	assert_true(l->segment_count > 4);
	uint64_t lost = l->segments[3].first - l->segments[2].first;
	_cleanup_free_ char *file = last_segment(*state, l->segments[2].first);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(read_on(r, 0, &last), 60 - lost);
	assert_int_equal(last, 60);
	commit_log_reader_close(r);
	commit_log_close(l);
	l = open_log(*state, 0, 4096, false);
	last = 0;
	assert_int_equal(read_all_entries(l, 1, 0, &last), 60 - lost);
	commit_log_close(l);
}

/* ---- full ------------------------------------------------------------------------------------ */

static uint64_t fill(struct commit_log *l, uint64_t from, int error)
{
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;
	uint64_t number;

	for (;; from++) {
		make_entry(from, &e);
		int r = commit_log_append(l, e.buf, e.len, &number);

		if (r < 0) {
			assert_int_equal(r, error);
			return from;
		}
		assert_int_equal(number, from);
	}
}

/* A small disk of our own, in a mount namespace that ends with us. */
static void on_a_full_disk(void **state)
{
	if (geteuid() != 0)
		skip_because("not root");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", *state, "tmpfs", 0, "size=256k") < 0)
		skip_because("cannot mount");
	_cleanup_free_ char *dir = xasprintf("%s/log", (char *)*state);
	_cleanup_free_ char *ballast = xasprintf("%s/ballast", (char *)*state);
	struct commit_log *l = open_log(dir, 0, 16384, false);
	uint64_t last = 0;

	uint64_t next = fill(l, 1, -ENOSPC);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_all_entries(l, 1, 0, &last), next - 1);
	commit_log_trim(l, next / 2); /* works on a full disk, and makes room */
	assert_int_equal(append_some(l, next, 20), next + 19);
	assert_int_equal(commit_log_sync(l), 0);
	commit_log_close(l);
	l = open_log(dir, 0, 16384, false);
	last = 0;
	assert_int_equal(read_all_entries(l, 1, 0, &last), next + 20 - next / 2);
	commit_log_close(l);
	assert_int_equal(umount(*state), 0);

	/* a spool makes room for the newest of its own, however full the disk is */
	assert_int_equal(mount("tmpfs", *state, "tmpfs", 0, "size=256k"), 0);
	l = open_log(dir, 1 << 20, 16384, true);
	append_some(l, 1, 200);
	int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char block[4096] = {1};
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
	append_some(l, 201, 300);
	assert_int_equal(commit_log_sync(l), 0);
	struct commit_log_counts c;
	commit_log_counts(l, &c);
	assert_true(c.dropped_entries > 0);
	last = 0;
	assert_int_equal(read_all_entries(l, 1, 0, &last), 500 - c.dropped_entries);
	assert_int_equal(last, 500);
	commit_log_close(l);
	assert_int_equal(umount(*state), 0);
}

/* A limit on the size of files is no reason to die. */
static void file_size_limit(void **state)
{
	struct rlimit before, limit;
	struct commit_log *l = open_log(*state, 0, 0, false);
	uint64_t last = 0;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 20000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;
	uint64_t number, i = 1;
	int r = 0;
	for (; r == 0 && i < 1000; i++) {
		make_entry(i, &e);
		r = commit_log_append(l, e.buf, e.len, &number);
	}
	assert_true(r == -ENOSPC || r == -EFBIG);
	i--;
	assert_int_equal(commit_log_append(l, e.buf, e.len, &number), r);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(append_some(l, i, 5), i + 4);
	assert_int_equal(commit_log_sync(l), 0);
	assert_int_equal(read_all_entries(l, 1, 0, &last), i + 4);
	commit_log_close(l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_at_any_moment, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(cut_anywhere, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(damage_in_the_last_segment, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(damage_in_another_segment, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(forged_entries, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(lost_segments, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(on_a_full_disk, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(file_size_limit, scratch_setup, scratch_teardown),
	};

	scratch_in_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
