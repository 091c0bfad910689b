/*
 * Trees of /proc and /sys that tests write: one for the test that runs, with files, links,
 * directories and programs by their names below it.
 */
#pragma once

#include "unit.h"

#include <errno.h>

static const char *tree; /* of the test that runs */

/* As setup of a test; scratch_teardown() removes it. The path is the test's state, too. */
static inline int tree_setup(void **state)
{
	*state = scratch_make();
	tree = *state;
	assert_int_equal(chmod(tree, 0755), 0);
	return 0;
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, tree_setup, scratch_teardown)

/* The path of a name, with the directories that lead to it. */
static inline char *tree_path(const char *name)
{
	char *path = xasprintf("%s/%s", tree, name);

	for (char *p = path + strlen(tree) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
	return path;
}

/* In place: who has it open sees it. */
static inline void put_bytes(const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = tree_path(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	assert_int_equal(close(fd), 0);
}

static inline void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* The arguments behind the text are those of the name. */
PL_PRINTF(1, 3) static inline void putf(const char *fmt, const char *text, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, text);
	assert_in_range(vsnprintf(name, sizeof(name), fmt, ap), 1, sizeof(name) - 1);
	va_end(ap);
	put(name, text);
}

struct tree_file {
	const char *name, *text;
};

static inline void put_list(const char *dir, const struct tree_file *list)
{
	for (; list->name; list++)
		putf("%s/%s", list->text, dir, list->name);
}

/* Files of one directory: put_files("sys/block/sda", {"size", "100\n"}, {"ro", "0\n"}). */
#define put_files(dir, ...) put_list(dir, (const struct tree_file[]){__VA_ARGS__, {NULL, NULL}})

static inline void put_dir(const char *name)
{
	_cleanup_free_ char *path = tree_path(name);

	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

static inline void put_link(const char *name, const char *target)
{
	_cleanup_free_ char *path = tree_path(name);

	assert_int_equal(symlink(target, path), 0);
}

/* A file, or a directory with all that is in it. */
static inline void drop(const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", tree, name);

	assert_int_equal(nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void mode(const char *name, mode_t bits)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", tree, name);

	assert_int_equal(chmod(path, bits), 0);
}

static inline void program(const char *name, const char *text)
{
	put(name, text);
	mode(name, 0755);
}

/* As somebody who may not read everything; root may. */
static inline void become_user(void)
{
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
}

static inline void become_again(void)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}
