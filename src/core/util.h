/*
 * Helpers for every file: cleanup at the end of a scope, checked allocation, number parsing.
 * Running out of memory ends the program, so the preload library does not use this header.
 */
#pragma once

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

/* The noun for a number: plural(n, "job", "jobs"). */
#define plural(n, one, many) ((n) == 1 ? (one) : (many))

/* Called once when memory runs out; it may end the process. NULL: none. */
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

/* Raises the limit of open files to the hard limit; false: it is there, or cannot be raised. */
bool raise_file_limit(void);

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

/* Parses the whole string as a number. 0, -EINVAL or -ERANGE; leaves *ret unchanged on failure. */
int parse_u64(const char *s, uint64_t *ret);
int parse_i64(const char *s, int64_t *ret);
/* A process id, greater than 0. */
int parse_pid(const char *s, int *ret);
/* A duration in nanoseconds: "250ms", "10s", "2m", "1h", "3d"; a plain number is in seconds. */
int parse_duration_ns(const char *s, uint64_t *ret);
/* A size in bytes: "500M", "2G", or a plain number. */
int parse_size(const char *s, uint64_t *ret);

/* The shell's $? for a status of wait(), and for a command that could not be started with this
 * errno. */
int shell_status(int status);
int shell_error_status(int error);

/* Rounds to the nearest integer; |v| must be below 2^63. Avoids libm, whose pages would add to the
 * memory of every process beside a job. */
static inline int64_t round_i64(double v)
{
	return (int64_t)(v + (v < 0 ? -0.5 : 0.5));
}

/* Flushes f: 0, or a negative errno where anything written to it so far failed. */
int output_error(FILE *f);

bool str_prefix(const char *s, const char *prefix);
bool str_suffix(const char *s, const char *suffix);
/* getenv(), for functions that take a way to look up variables. */
const char *env_lookup(const char *name);
/* Equal strings, or both NULL. */
bool str_same(const char *a, const char *b);
/* The part after the last slash. */
const char *path_base(const char *path);
