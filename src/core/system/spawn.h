/*
 * Commands of others whose output a source reads: run without a shell, with an environment of their
 * own, in a session of their own, for a limited time and a limited output, and ended with all that
 * they started. Used by slow sources only: it waits for the command.
 */
#ifndef PL_CORE_SYSTEM_SPAWN_H
#define PL_CORE_SYSTEM_SPAWN_H

#include <sys/types.h>

#include "core/strbuf.h"

struct spawn {
	const char *path;        /* the program */
	const char *const *argv; /* ends with NULL */
	const char *input;       /* what it reads, at most a few hundred bytes; NULL: nothing */
	unsigned timeout_ms;
	size_t max; /* bytes of output */
};

/*
 * Output and error output together in *out. The exit status, or a negative errno: -ETIMEDOUT when
 * it was ended after its time, -EFBIG when it was ended because it said too much, -EINTR when a
 * signal ended it, -EBUSY when one that was ended earlier still hangs in the kernel, which *stuck
 * remembers from call to call.
 */
int spawn_run(const struct spawn *c, pid_t *stuck, struct strbuf *out);

/* Ends all that run now, with what they started: for a program that leaves their threads behind. */
void spawn_end_all(void);

/* The program of this name in PATH or the directories where system programs are, all below root:
 * its path in *ret. With a root PATH is not looked at. */
bool spawn_find(const char *root, const char *name, struct strbuf *ret);

/* What went wrong, for a person: the errno, or the status and the first line that it said. */
void spawn_explain(const struct spawn *c, int r, const struct strbuf *said, struct strbuf *why);

#endif
