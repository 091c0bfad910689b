/*
 * Small things every file needs: scope-bound cleanup, checked allocation for commands, and a few
 * macros. Commands may abort when memory is gone; nothing that runs inside a user's program
 * includes this header.
 */
#ifndef PL_CORE_UTIL_H
#define PL_CORE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define _cleanup_(f) __attribute__((cleanup(f)))
#define PL_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define PL_UNUSED __attribute__((unused))

/* The word that a number of any type has behind it: plural(n, "job", "jobs"). */
#define plural(n, one, many) ((n) == 1 ? (one) : (many))

/* What is called once when memory has run out; it may end the process by itself. NULL: nothing. */
void at_out_of_memory(void (*call)(void *user), void *user);

/* Allocation that never returns NULL: prints one line and ends with status 70 (EX_SOFTWARE). */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xreallocarray(void *ptr, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PL_PRINTF(1, 2);

static inline void free_ptr(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(free_ptr)

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define _cleanup_close_ _cleanup_(close_fd)

static inline void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}
#define _cleanup_fclose_ _cleanup_(close_file)

/* Makes room for one more element in a growing array, doubling; cap counts elements. */
#define GROW(ptr, count, cap)                                                \
	do {                                                                 \
		if ((count) >= (cap)) {                                      \
			(cap) = (cap) ? (cap)*2 : 16;                        \
			(ptr) = xreallocarray((ptr), (cap), sizeof(*(ptr))); \
		}                                                            \
	} while (0)

/* Strict numbers: the whole string, in range, or -EINVAL / -ERANGE; *ret untouched on failure. */
int parse_u64(const char *s, uint64_t *ret);
int parse_i64(const char *s, int64_t *ret);
/* A process id: greater than 0. */
int parse_pid(const char *s, int *ret);
/* Durations: "250ms", "10s", "2m", "1h", "3d", a bare number is seconds. Nanoseconds out. */
int parse_duration_ns(const char *s, uint64_t *ret);
/* Sizes: "500M", "2G", a bare number is bytes. */
int parse_size(const char *s, uint64_t *ret);

/* What a shell has in $? after a status that wait() gave, and after a command that could not be
 * started for this errno. */
int shell_status(int status);
int shell_error_status(int error);

/* To the nearest whole number; |v| must be below 2^63. The C library's own is in libm, whose pages
 * would be those of every process that runs beside a job. */
static inline int64_t round_i64(double v)
{
	return (int64_t)(v + (v < 0 ? -0.5 : 0.5));
}

bool str_prefix(const char *s, const char *prefix);
bool str_suffix(const char *s, const char *suffix);
/* The same text, or both NULL. */
bool str_same(const char *a, const char *b);
/* The part behind the last slash; never NULL. */
const char *path_base(const char *path);

#endif
