/*
 * A child that parses what strangers made, with a library that was not written against malice. It
 * keeps the descriptors that it is given, its memory and nothing else: no capabilities, no way to
 * open, connect, execute, signal or trace anything, and a bound on memory and CPU time. What is not
 * allowed fails with EPERM.
 */
#ifndef PL_CORE_SYSTEM_SANDBOX_H
#define PL_CORE_SYSTEM_SANDBOX_H

#include <stdint.h>

#include "core/strbuf.h"

struct sandbox_limits {
	uint64_t memory; /* bytes of address space beyond what the process has */
	unsigned cpu_s;  /* seconds; SIGXCPU ends it */
};

/* Descriptors become 3, 4 and so on, in this order; 0 to 2 lead to /dev/null, others are closed.
 * For a child that has just been forked: signals are reset, and those from a terminal ignored. It
 * dies with its parent. 0, or a negative errno: then the child must not go on. */
#define SANDBOX_FDS_MAX 4
#define SANDBOX_FAILED 71 /* exit status of a child that could not give up its rights */
int sandbox_enter(const int *keep, size_t count, const struct sandbox_limits *limits);

/* How a child ended, from waitpid()'s status: "signal 11, Segmentation fault". */
void sandbox_describe_end(int status, struct strbuf *out);
/* The sentence about a file whose reader ended before it was done. */
void sandbox_say_reader_died(const char *path, const char *format, int status, struct strbuf *why);

#endif
