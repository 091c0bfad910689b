/*
 * libc functions that wait for a child internally, without calling our wait functions: system(),
 * pclose(), and fclose() of a popen() stream.
 *
 * The pid of system()'s child is unknown. It began after the call and has us as parent, which is
 * enough for readers. The pid of popen()'s child is behind the stream; the kernel tells whether it
 * is our child before, and not after.
 *
 * The shells of wordexp() are not recorded, since their status is unknown.
 */
#include "preload/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#define NO_SHELL (127 << 8)

/* The status of system()'s child; -1: no child, or unknown. */
static int status_of(const struct growth *g, const char *command, int r)
{
	if (!command)
		return r ? 0 : -1;
	/* also the status of a shell that could not be executed */
	return r == NO_SHELL && !growth_any(g) ? -1 : r;
}

EXPORT int system(const char *command)
{
	struct growth g;
	struct own_io own = {0};
	int pid;

	if (!NEXT(system))
		return (int)libc_result(-EAGAIN);
	if (guest_who(&pid) == NOBODY)
		return next.system(command);
	growth_begin(&g);
	g.begin_ns = now_boottime_ns(pid, &own);
	if (own.syscr)
		own_add(pid, &own);
	int r = next.system(command);
	int status = status_of(&g, command, r);
	if (status >= 0)
		growth_end(&g, 0, status);
	return r;
}

/* The allocation of popen() in every glibc since 2.1. Other streams have other sizes, so their lock
 * is elsewhere. */
struct popened {
	FILE stream;
	const void *functions;
	int pid;
	void *next;
	char lock[];
};

static bool is_child(int pid)
{
	return sys5(__NR_waitid, P_PID, pid, NULL, WEXITED | WNOHANG | WNOWAIT, NULL) == 0;
}

/* The child behind a stream of popen(); 0: none. */
static int child_behind(const FILE *stream)
{
	const struct popened *p = (const struct popened *)stream;

	return (const char *)stream->_lock == p->lock && p->pid > 1 && is_child(p->pid) ? p->pid
											: 0;
}

/* Did an error of the last write hide a child with status 0? Otherwise another thread waited for
 * it. */
static bool was_hidden(const struct growth *g)
{
	return __atomic_load_n(&guest.reaps, __ATOMIC_RELAXED) == g->reaps && growth_any(g);
}

static int close_stream(int (*real)(FILE *), FILE *stream)
{
	struct growth g;
	int pid = watching() && stream ? child_behind(stream) : 0;

	if (!pid)
		return real(stream);
	growth_begin(&g);
	int r = real(stream);
	if (!is_child(pid) && (r != -1 || was_hidden(&g)))
		growth_end(&g, pid, r == -1 ? 0 : r);
	return r;
}

EXPORT int pclose(FILE *stream)
{
	return NEXT(pclose) ? close_stream(next.pclose, stream) : (int)libc_result(-EBADF);
}

EXPORT int fclose(FILE *stream)
{
	return NEXT(fclose) ? close_stream(next.fclose, stream) : (int)libc_result(-EBADF);
}
