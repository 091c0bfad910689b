/*
 * Ends that run no exit handler: _exit, _Exit, quick_exit, and daemon(), whose parent libc ends
 * from within. A vfork child may end here too: it records itself as a copy and writes to no memory
 * but its stack.
 */
#include "preload/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* last: nothing of the program runs any more. */
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

/* The handlers of at_quick_exit run after us; one that ends otherwise writes a later END. */
EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
	leave(NEXT(quick_exit), status, false);
}

/* Should daemon() fail to fork, the image goes on. */
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
