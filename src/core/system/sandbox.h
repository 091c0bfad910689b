/*
 * A child process that parses files from strangers with a library that was not hardened. It keeps
 * its memory and the given descriptors: no capabilities, no way to open, connect, execute, signal
 * or trace anything, limited memory and CPU time. Other system calls fail with EPERM.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

struct sandbox_limits {
	uint64_t memory; /* bytes of address space beyond what the process has */
	unsigned cpu_s;  /* seconds; SIGXCPU ends it */
};

/* For a child that has just been forked. The descriptors become 3, 4 and so on; 0 to 2 are
 * /dev/null, others are closed. Resets signals and ignores those from a terminal. The child dies
 * with its parent. 0, or a negative errno: then the child must exit. */
#define SANDBOX_FDS_MAX 4
#define SANDBOX_FAILED 71 /* exit status of a child that could not enter the sandbox */
int sandbox_enter(const int *keep, size_t count, const struct sandbox_limits *limits);

/* Describes a status of waitpid(): "signal 11, Segmentation fault". */
void sandbox_describe_end(int status, struct strbuf *out);
/* The error message for a file whose reader died. */
void sandbox_say_reader_died(const char *path, const char *format, int status, struct strbuf *why);
