/*
 * Runs a command and reads its output: without a shell, with a minimal environment, in its own
 * session, with limits on time and output. Kills it with everything it started. Blocks, so only
 * slow sources use it.
 */
#pragma once

#include <sys/types.h>

#include "core/strbuf.h"

struct spawn {
	const char *path;        /* the program */
	const char *const *argv; /* ends with NULL */
	const char *input;       /* its stdin, up to a few hundred bytes; NULL: empty */
	unsigned timeout_ms;
	size_t max; /* bytes of output */
};

/*
 * Appends stdout and stderr to *out. The exit status, or a negative errno: -ETIMEDOUT (killed after
 * its time), -EFBIG (killed after too much output), -EINTR (killed by a signal), -EBUSY (an earlier
 * one, whose pid is in *stuck, still hangs in the kernel).
 */
int spawn_run(const struct spawn *c, pid_t *stuck, struct strbuf *out);

/* Kills all running commands, for a program that exits without waiting for their threads. */
void spawn_end_all(void);

/* Finds a program in PATH (if root is empty) and the system directories below root; *ret is its
 * path. */
bool spawn_find(const char *root, const char *name, struct strbuf *ret);

/* Describes a result of spawn_run(): the error, or the status and the first line of output. */
void spawn_explain(const struct spawn *c, int r, const struct strbuf *said, struct strbuf *why);
