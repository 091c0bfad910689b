/*
 * What the unit tests share: cmocka with the headers it wants before it, a directory to work in,
 * and assertions on byte strings.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/strbuf.h"

/* A growing string holds exactly this literal, NUL bytes in it included, and keeps its promise. */
#define assert_text(sb, literal)                                             \
	do {                                                                 \
		if ((sb)->len != sizeof(literal) - 1 ||                      \
		    memcmp((sb)->buf, literal, sizeof(literal) - 1) != 0)    \
			fail_msg("got '%s', want '%s'", (sb)->buf, literal); \
		assert_int_equal((sb)->buf[(sb)->len], 0);                   \
	} while (0)

#define assert_contains(text, part)                                  \
	do {                                                         \
		if (!strstr(text, part))                             \
			fail_msg("'%s' is not in '%s'", part, text); \
	} while (0)

/* Says why a test did not run, in the list that `make check` shows at its end, too. */
static inline void note_skip(const char *test, const char *why)
{
	const char *list = getenv("PL_SKIPS");

	print_message("skipped: %s\n", why);
	int fd = list ? open(list, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (fd >= 0) {
		dprintf(fd, "unit: %s: %s\n", test, why);
		close(fd);
	}
}

/* The kernel gives exit records, and ids that mean something, in its first pid namespace only. */
static inline bool in_container(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino != 0xEFFFFFFCu;
}

static inline bool exits_must_work(void)
{
	return geteuid() == 0 && !in_container();
}

#define NO_EXITS \
	(in_container() ? "no exit records in a container" : "exit records need CAP_NET_ADMIN")

/* Returns from the test, so that what it has made so far is released: skip() would jump over that.
 */
#define skip_because(why)                 \
	do {                              \
		note_skip(__func__, why); \
		return;                   \
	} while (0)

/* ---- a directory to work in ----------------------------------------------------------------- */

static inline char *scratch_make(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = xasprintf("%s/plimsoll-unit-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");

	assert_non_null(mkdtemp(path));
	return path;
}

/* From now on in memory where that can be: for what waits for the disk again and again, and is not
 * about what the disk does. */
static inline void scratch_in_memory(void)
{
	if (access("/dev/shm", W_OK | X_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* Not by the functions under test. */
static inline void scratch_remove(char *path)
{
	(void)nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

/* As setup and teardown of a test: the path is its state. */
static inline int scratch_setup(void **state)
{
	*state = scratch_make();
	return 0;
}

static inline int scratch_teardown(void **state)
{
	scratch_remove(*state);
	return 0;
}

static inline void write_file(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	assert_int_equal(close(fd), 0);
}

static inline int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A file that only exists in memory. */
static inline int memory_file(const void *data, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	return fd;
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* The same bytes in memory that ends where they end, so that a sanitizer sees one read too many. */
static inline char *exact_copy(const void *data, size_t n)
{
	char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	if (n)
		memcpy(copy, data, n);
	return copy;
}

static inline double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static inline size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* xorshift64*: random enough, and the same everywhere. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}
