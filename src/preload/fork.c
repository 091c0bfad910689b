/*
 * Copies of a process with their own memory and descriptors. fork() calls atfork handlers; _Fork(),
 * clone() and the system calls do not and are handled here.
 *
 * A copy remembers the process that made it, since it may be adopted. It closes the event counters
 * of threads that it does not have.
 */
#include "preload/guest.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *dso) __attribute__((weak));

bool makes_copy(unsigned long flags)
{
	return !(flags & (CLONE_VM | CLONE_FILES));
}

void before_copy(void)
{
	int pid;

	if (guest_who(&pid) != NOBODY)
		guest.forking = pid;
	events_hold();
}

void after_copy(void)
{
	events_release();
}

void begin_copy(void)
{
	int pid;

	if (guest_who(&pid) != COPY)
		return;
	guest.forked = pid;
	guest.forker = guest.forking;
	events_begin_child(pid);
}

void fork_begin(void)
{
	if (__register_atfork)
		__register_atfork(before_copy, after_copy, begin_copy, NULL);
}

/* Without libc's _Fork() this is the system call. */
EXPORT pid_t _Fork(void)
{
	before_copy();
	pid_t pid = NEXT(_Fork) ? next._Fork()
				: (pid_t)libc_result(sys5(__NR_clone, SIGCHLD, 0, 0, 0, 0));
	if (pid)
		after_copy();
	else
		begin_copy();
	return pid;
}

/* Start routine and argument of a copy, which reads them on its copy of the stack. */
struct start {
	int (*routine)(void *);
	void *arg;
};

static int begin_clone(void *p)
{
	struct start s = *(struct start *)p;

	begin_copy();
	return s.routine(s.arg);
}

/* Like libc, reads the last three arguments even if they are missing. */
EXPORT int clone(int (*routine)(void *), void *stack, int flags, void *arg, ...)
{
	struct start s = {routine, arg};
	void *rest[3];
	va_list ap;

	va_start(ap, arg);
	for (int i = 0; i < 3; i++)
		rest[i] = va_arg(ap, void *);
	va_end(ap);
	if (!NEXT(clone))
		return (int)libc_result(-EAGAIN);
	if (!watching() || !routine || !makes_copy((unsigned)flags))
		return next.clone(routine, stack, flags, arg, rest[0], rest[1], rest[2]);
	before_copy();
	int pid = next.clone(begin_clone, stack, flags, &s, rest[0], rest[1], rest[2]);
	after_copy();
	return pid;
}
