/*
 * Files in places where others may write too: whose directories are used, which are refused, and
 * that a file is replaced whole or not at all.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "core/files/fs.h"

#define NOBODY 65534

static char *below(void **state, const char *name)
{
	return xasprintf("%s/%s", (const char *)*state, name);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void check_content(const char *path, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	assert_int_equal(fs_read(AT_FDCWD, path, 1 << 20, &got), 0);
	assert_string_equal(got.buf, want);
}

static size_t entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return n;
}

static void refuse_private(const char *prefix, const char *name, bool create, int error,
			   const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(fs_open_private(prefix, name, create, &why), error);
	assert_contains(why.buf, why_has);
	/* and nobody needs to ask why */
	assert_int_equal(fs_open_private(prefix, name, create, NULL), error);
}

/* ---- private directories -------------------------------------------------------------------- */

static void a_missing_prefix_is_as_open_as_where_it_is(void **state)
{
	_cleanup_free_ char *open = below(state, "open"), *prefix = below(state, "open/prefix");
	_cleanup_free_ char *inner = below(state, "open/prefix/me"), *own = below(state, "own");
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(mkdir(open, 0700), 0);
	assert_int_equal(chmod(open, 01777), 0);
	mode_t before = umask(077);

	int fd = fs_open_private(prefix, "me", true, &why);
	umask(before);
	if (fd < 0)
		fail_msg("%s", why.buf);
	close(fd);
	assert_int_equal(mode_of(prefix), 01777);
	assert_int_equal(mode_of(inner), 0700);
	/* once more, now that they exist */
	fd = fs_open_private(prefix, "me", true, &why);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	/* where not everybody may write, a wrong name opens nothing to all */
	umask(0);
	fd = fs_open_private(own, "me", true, &why);
	umask(before);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mode_of(own), 0700);
	fd = fs_open_private(prefix, "me", false, &why);
	assert_true(fd >= 0);
	close(fd);
}

static void nothing_is_made_unasked(void **state)
{
	_cleanup_free_ char *prefix = below(state, "prefix");

	refuse_private(prefix, "me", false, -ENOENT, prefix);
	assert_false(exists(prefix));
	assert_int_equal(mkdir(prefix, 0700), 0);
	refuse_private(prefix, "me", false, -ENOENT, "me");
	assert_int_equal(entries(prefix), 0);
}

static void a_link_is_refused(void **state)
{
	_cleanup_free_ char *target = below(state, "target"), *link = below(state, "me");

	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, link), 0);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = fs_open_private(*state, "me", true, &why);
	assert_true(r == -ELOOP || r == -ENOTDIR);
	assert_contains(why.buf, "'me'");
	assert_contains(why.buf, (const char *)*state);
	/* a link to nowhere too, and what it points to is not made */
	assert_int_equal(rmdir(target), 0);
	assert_true(fs_open_private(*state, "me", true, NULL) < 0);
	assert_false(exists(target));
}

static void a_file_is_refused(void **state)
{
	_cleanup_free_ char *file = below(state, "me");

	write_file(file, "x", 1);
	refuse_private(*state, "me", true, -ENOTDIR, "'me'");
	check_content(file, "x");
}

static void a_mode_that_somebody_chose_is_kept(void **state)
{
	static const mode_t kept[] = {01777, 0755, 02775, 0750, 0770, 0700};
	_cleanup_free_ char *dir = below(state, "me"), *inner = below(state, "me/job");

	assert_int_equal(mkdir(dir, 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		assert_int_equal(chmod(dir, kept[i]), 0);
		int fd = fs_open_private(*state, "me", i % 2, NULL);
		assert_true(fd >= 0);
		assert_int_equal(mode_of(dir), kept[i]);
		/* what is below is ours alone */
		int job = fs_open_subdir(fd, "job", true, NULL);
		assert_true(job >= 0);
		assert_int_equal(mode_of(inner), 0700);
		assert_int_equal(fchmod(job, 0775), 0);
		close(job);
		close(fd);
	}
	assert_int_equal(chmod(dir, 0777), 0);
	refuse_private(*state, "me", true, -EPERM, "sticky");
	assert_int_equal(mode_of(dir), 0777);
}

static void a_prefix_that_others_may_change_is_refused(void **state)
{
	_cleanup_free_ char *prefix = below(state, "prefix");

	assert_int_equal(mkdir(prefix, 0700), 0);
	assert_int_equal(chmod(prefix, 0777), 0);
	refuse_private(prefix, "me", true, -EPERM, "sticky");
	assert_int_equal(chmod(prefix, 0770), 0);
	refuse_private(prefix, "me", true, -EPERM, "sticky");
	assert_int_equal(chmod(prefix, 0702), 0);
	refuse_private(prefix, "me", true, -EPERM, "sticky");
	assert_int_equal(entries(prefix), 0);
	assert_int_equal(chmod(prefix, 01777), 0);
	int fd = fs_open_private(prefix, "me", true, NULL);
	assert_true(fd >= 0);
	close(fd);
}

static void what_belongs_to_others_is_refused(void **state)
{
	if (geteuid() != 0)
		skip_because("only root can give a directory away");
	_cleanup_free_ char *prefix = below(state, "prefix"), *dir = below(state, "prefix/me");
	assert_int_equal(mkdir(prefix, 0755), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chown(dir, NOBODY, NOBODY), 0);
	refuse_private(prefix, "me", true, -EPERM, "65534");
	assert_int_equal(mode_of(dir), 0700);
	/* nor may the prefix, unless it is sticky */
	assert_int_equal(chown(dir, 0, 0), 0);
	assert_int_equal(chown(prefix, NOBODY, NOBODY), 0);
	refuse_private(prefix, "me", true, -EPERM, "another user");
	assert_int_equal(chmod(prefix, 01755), 0);
	int fd = fs_open_private(prefix, "me", true, NULL);
	assert_true(fd >= 0);
	close(fd);
}

static void one_level_at_a_time(void **state)
{
	int dir = open_dir(*state);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(fs_open_subdir(dir, "a", false, &why), -ENOENT);
	int a = fs_open_subdir(dir, "a", true, &why);
	assert_true(a >= 0);
	int b = fs_open_subdir(a, "b", true, &why);
	assert_true(b >= 0);
	_cleanup_free_ char *path = fs_path_of(b), *want = below(state, "a/b");
	_cleanup_free_ char *real = realpath(want, NULL);
	assert_string_equal(path, real);
	assert_int_equal(mode_of(want), 0700);
	static const char *const bad[] = {"", ".", "..", "a/b", "/", "../x"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(fs_open_subdir(dir, bad[i], true, &why), -EINVAL);
	assert_int_equal(entries(*state), 1);
	close(b);
	close(a);
	close(dir);
}

static void directories_that_the_user_names(void **state)
{
	_cleanup_free_ char *dir = below(state, "job"), *link = below(state, "link");
	_cleanup_free_ char *deep = below(state, "no/such/dir");
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(fs_open_named(dir, false, &why), -ENOENT);
	assert_contains(why.buf, dir);
	int fd = fs_open_named(dir, true, &why);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mode_of(dir), 0700);
	/* links are the user's own doing, and so are modes */
	assert_int_equal(symlink(dir, link), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	fd = fs_open_named(link, true, &why);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mode_of(dir), 0755);
	assert_int_equal(fs_open_named(deep, true, &why), -ENOENT);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void files_up_to_a_limit(void **state)
{
	_cleanup_free_ char *path = below(state, "file"), *empty = below(state, "empty");
	_cleanup_free_ char *data = malloc(200000);
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	for (size_t i = 0; i < 200000; i++)
		data[i] = (char)(i % 251);
	write_file(path, data, 200000);
	assert_int_equal(fs_read(AT_FDCWD, path, 200000, &got), 0);
	assert_int_equal(got.len, 200000);
	assert_memory_equal(got.buf, data, 200000);
	strbuf_reset(&got);
	assert_int_equal(fs_read(AT_FDCWD, path, 199999, &got), -EFBIG);
	strbuf_reset(&got);
	assert_int_equal(fs_read(AT_FDCWD, path, 0, &got), -EFBIG);
	write_file(empty, "", 0);
	strbuf_reset(&got);
	assert_int_equal(fs_read(AT_FDCWD, empty, 0, &got), 0);
	assert_int_equal(got.len, 0);
}

/* The size of such a file is 0 until it is read. */
static void files_of_proc(void **state)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	(void)state;
	assert_int_equal(fs_read(AT_FDCWD, "/proc/self/status", 1 << 16, &got), 0);
	assert_true(str_prefix(got.buf, "Name:"));
	strbuf_reset(&got);
	assert_int_equal(fs_read(AT_FDCWD, "/proc/self/status", 10, &got), -EFBIG);
}

static void what_is_no_file(void **state)
{
	_cleanup_free_ char *path = below(state, "file"), *link = below(state, "link");
	_cleanup_free_ char *fifo = below(state, "fifo");
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;
	int dir = open_dir(*state);

	assert_int_equal(fs_read(dir, "nothing", 100, &got), -ENOENT);
	write_file(path, "x", 1);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(fs_read(dir, "link", 100, &got), -ELOOP);
	assert_int_equal(fs_read(dir, "file", 100, &got), 0);
	assert_text(&got, "x");
	assert_int_equal(fs_read(AT_FDCWD, *state, 100, &got), -EINVAL);
	assert_int_equal(fs_read(AT_FDCWD, "/dev/null", 100, &got), -EINVAL);
	/* nobody writes into it: reading would wait for ever */
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(10);
	assert_int_equal(fs_read(dir, "fifo", 100, &got), -EINVAL);
	alarm(0);
	close(dir);
}

/* ---- replacing ------------------------------------------------------------------------------ */

static void files_are_replaced(void **state)
{
	_cleanup_free_ char *path = below(state, "file");
	int dir = open_dir(*state);
	mode_t before = umask(022);

	assert_int_equal(fs_replace(dir, "file", "one", 3, 0600), 0);
	check_content(path, "one");
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(fs_replace(dir, "file", "number two", 10, 0666), 0);
	check_content(path, "number two");
	assert_int_equal(mode_of(path), 0644);
	assert_int_equal(fs_replace(dir, "file", "", 0, 0600), 0);
	check_content(path, "");
	assert_int_equal(entries(*state), 1);
	umask(before);
	close(dir);
}

static void a_file_of_the_user_keeps_its_rights(void **state)
{
	_cleanup_free_ char *path = below(state, "file"), *link = below(state, "link");
	mode_t before = umask(022);

	assert_int_equal(fs_put_file(path, "one", 3), 0);
	assert_int_equal(mode_of(path), 0644);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(fs_put_file(link, "two", 3), 0);
	check_content(path, "two");
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(chmod(path, 0662), 0);
	assert_int_equal(fs_put_file(path, "three", 5), 0);
	check_content(path, "three");
	assert_int_equal(mode_of(path), 0662);
	if (geteuid() != 0) {
		assert_int_equal(chmod(path, 0444), 0);
		assert_int_equal(fs_put_file(path, "four", 4), -EACCES);
		check_content(path, "three");
	}
	assert_int_equal(entries(*state), 2);
	umask(before);
}

static void a_reader_keeps_the_old_file(void **state)
{
	_cleanup_free_ char *path = below(state, "file");
	int dir = open_dir(*state);
	char buf[8] = "";

	assert_int_equal(fs_replace(dir, "file", "old", 3, 0600), 0);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fs_replace(dir, "file", "new", 3, 0600), 0);
	assert_int_equal(read(fd, buf, sizeof(buf)), 3);
	assert_memory_equal(buf, "old", 3);
	close(fd);
	close(dir);
}

static void a_link_is_replaced_itself(void **state)
{
	_cleanup_free_ char *target = below(state, "target"), *link = below(state, "link");
	_cleanup_free_ char *aside = xasprintf("%s/.link.%d", (char *)*state, (int)getpid());
	int dir = open_dir(*state);

	write_file(target, "precious", 8);
	assert_int_equal(symlink("target", link), 0);
	/* somebody guessed the name of the temporary file */
	assert_int_equal(symlink("target", aside), 0);
	assert_int_equal(fs_replace(dir, "link", "new", 3, 0600), 0);
	check_content(target, "precious");
	check_content(link, "new");
	assert_int_equal(entries(*state), 2);
	close(dir);
}

static void the_old_file_stays_when_there_is_no_room(void **state)
{
	static char large[100000];
	_cleanup_free_ char *path = below(state, "file");
	struct rlimit before, small;
	int dir = open_dir(*state);

	assert_int_equal(fs_replace(dir, "file", "old", 3, 0600), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = fs_replace(dir, "file", large, sizeof(large), 0600);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, -EFBIG);
	check_content(path, "old");
	/* and what was begun is gone */
	assert_int_equal(entries(*state), 1);
	close(dir);
}

static void the_old_file_stays_where_nothing_may_be_written(void **state)
{
	if (geteuid() == 0)
		skip_because("root may write everywhere");
	_cleanup_free_ char *path = below(state, "file");
	int dir = open_dir(*state);
	assert_int_equal(fs_replace(dir, "file", "old", 3, 0600), 0);
	assert_int_equal(chmod(*state, 0500), 0);
	assert_int_equal(fs_replace(dir, "file", "new", 3, 0600), -EACCES);
	assert_int_equal(chmod(*state, 0700), 0);
	check_content(path, "old");
	close(dir);
}

static void a_directory_is_not_replaced(void **state)
{
	_cleanup_free_ char *path = below(state, "dir");
	int dir = open_dir(*state);

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(fs_replace(dir, "dir", "x", 1, 0600), -EISDIR);
	assert_true(fs_replace(dir, "no/such/place", "x", 1, 0600) < 0);
	assert_int_equal(entries(*state), 1);
	close(dir);
}

/* ---- removing ------------------------------------------------------------------------------- */

static void trees_are_removed(void **state)
{
	static const char *const dirs[] = {"tree", "tree/a", "tree/a/b", "tree/a/b/c",
					   "tree/empty"};
	int dir = open_dir(*state);

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *path = below(state, dirs[i]);
		_cleanup_free_ char *file = xasprintf("%s/file", path);

		assert_int_equal(mkdir(path, 0700), 0);
		if (i < 4)
			write_file(file, "x", 1);
	}
	_cleanup_free_ char *fifo = below(state, "tree/a/fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(fs_remove_tree(dir, "tree"), 0);
	assert_int_equal(entries(*state), 0);
	assert_int_equal(fs_remove_tree(dir, "tree"), -ENOENT);
	close(dir);
}

static void links_are_removed_not_followed(void **state)
{
	_cleanup_free_ char *outside = below(state, "outside"),
			    *keep = below(state, "outside/keep");
	_cleanup_free_ char *tree = below(state, "tree"), *to_dir = below(state, "tree/to_dir");
	_cleanup_free_ char *to_file = below(state, "tree/to_file"), *top = below(state, "top");
	int dir = open_dir(*state);

	assert_int_equal(mkdir(outside, 0700), 0);
	write_file(keep, "keep", 4);
	assert_int_equal(mkdir(tree, 0700), 0);
	assert_int_equal(symlink(outside, to_dir), 0);
	assert_int_equal(symlink(keep, to_file), 0);
	assert_int_equal(fs_remove_tree(dir, "tree"), 0);
	assert_false(exists(tree));
	check_content(keep, "keep");
	/* nor at the top */
	assert_int_equal(symlink(outside, top), 0);
	assert_int_equal(fs_remove_tree(dir, "top"), 0);
	assert_false(exists(top));
	check_content(keep, "keep");
	/* a file is a tree of its own */
	assert_int_equal(fs_remove_tree(dir, "outside/keep"), 0);
	assert_false(exists(keep));
	close(dir);
}

/* ---- names and places ----------------------------------------------------------------------- */

static void names(void **state)
{
	char name[258];

	(void)state;
	assert_true(fs_is_name("a"));
	assert_true(fs_is_name("..."));
	assert_true(fs_is_name(".hidden"));
	assert_true(fs_is_name("-x"));
	assert_true(fs_is_name("a b\n"));
	assert_false(fs_is_name(""));
	assert_false(fs_is_name("."));
	assert_false(fs_is_name(".."));
	assert_false(fs_is_name("/"));
	assert_false(fs_is_name("a/"));
	assert_false(fs_is_name("a/b"));
	memset(name, 'x', sizeof(name));
	name[255] = 0;
	assert_true(fs_is_name(name));
	name[255] = 'x';
	name[256] = 0;
	assert_false(fs_is_name(name));
}

static void places(void **state)
{
	int proc = open_dir("/proc"), dir = open_dir(*state);
	_cleanup_free_ char *path = fs_path_of(proc), *ours = fs_path_of(dir);
	_cleanup_free_ char *real = realpath(*state, NULL);

	assert_string_equal(path, "/proc");
	assert_string_equal(ours, real);
	assert_null(fs_path_of(-1));
	assert_false(fs_is_network(proc));
	assert_false(fs_is_network(-1));
	close(proc);
	close(dir);
}

#define with_dir(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_dir(a_missing_prefix_is_as_open_as_where_it_is),
		with_dir(nothing_is_made_unasked),
		with_dir(a_link_is_refused),
		with_dir(a_file_is_refused),
		with_dir(a_mode_that_somebody_chose_is_kept),
		with_dir(a_prefix_that_others_may_change_is_refused),
		with_dir(what_belongs_to_others_is_refused),
		with_dir(one_level_at_a_time),
		with_dir(directories_that_the_user_names),
		with_dir(files_up_to_a_limit),
		cmocka_unit_test(files_of_proc),
		with_dir(what_is_no_file),
		with_dir(files_are_replaced),
		with_dir(a_file_of_the_user_keeps_its_rights),
		with_dir(a_reader_keeps_the_old_file),
		with_dir(a_link_is_replaced_itself),
		with_dir(the_old_file_stays_when_there_is_no_room),
		with_dir(the_old_file_stays_where_nothing_may_be_written),
		with_dir(a_directory_is_not_replaced),
		with_dir(trees_are_removed),
		with_dir(links_are_removed_not_followed),
		cmocka_unit_test(names),
		with_dir(places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
