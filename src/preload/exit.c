/*
 * Exits without exit handlers: _exit, _Exit, quick_exit, and the parent in daemon(). A vfork child
 * may exit here, too: it records itself as a copy and writes only to its stack.
 */
#include "preload/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* last: no more code of the program runs. */
static __attribute__((noreturn)) void leave(void (*real)(int), int status, bool last)
{
	int pid;

	record_end(BY_EXIT, status);
	if (last)
		silence_lift();
	else if (guest_who(&pid) != NOBODY)
		threads_reopen(pid); /* a handler may wait for a thread */
	if (real)
		real(status);
	for (;;) {
		sys1(__NR_exit_group, status);
		sys1(__NR_exit, status);
	}
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
	leave(next._exit, status, true);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
	leave(next._Exit, status, true);
}

/* at_quick_exit handlers run after us; another exit in them writes another END. */
EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
	leave(NEXT(quick_exit), status, false);
}

/* If daemon() fails to fork, the image goes on. */
EXPORT int daemon(int nochdir, int noclose)
{
	if (!NEXT(daemon))
		return (int)libc_result(-EAGAIN);
	record_end(BY_EXIT, 0);
	int r = next.daemon(nochdir, noclose);
	if (r < 0 && guest_who(NULL) == IMAGE)
		record_resume();
	return r;
}
