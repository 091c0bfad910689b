/*
 * The wait family: a parent records the status and usage of its children. This accounts for
 * children without own records: static programs, killed ones, raw exits. The real functions are
 * called because they are cancellation points.
 *
 * libc's wait and waitpid become wait4, which returns the usage. If another library interposes
 * them, and for waitid, the usage is the growth of the usage of all children.
 *
 * A tracer also waits for threads and for processes of other parents. The kernel does not add these
 * to the usage of its children, which tells them apart.
 */
#include "preload/guest.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_KILLED:
		return info->si_status & 0x7f;
	case CLD_DUMPED:
		return (info->si_status & 0x7f) | 0x80;
	default:
		return -1;
	}
}

static void subtract(struct timeval *a, const struct timeval *b)
{
	a->tv_sec -= b->tv_sec;
	a->tv_usec -= b->tv_usec;
	if (a->tv_usec < 0) {
		a->tv_usec += 1000000;
		a->tv_sec--;
	}
}

/* What one child added to the usage of all; its maximum RSS is unknown. */
static void subtract_usage(struct rusage *a, const struct rusage *b)
{
	subtract(&a->ru_utime, &b->ru_utime);
	subtract(&a->ru_stime, &b->ru_stime);
	a->ru_maxrss = 0;
	a->ru_minflt -= b->ru_minflt;
	a->ru_majflt -= b->ru_majflt;
	a->ru_inblock -= b->ru_inblock;
	a->ru_oublock -= b->ru_oublock;
	a->ru_nvcsw -= b->ru_nvcsw;
	a->ru_nivcsw -= b->ru_nivcsw;
}

void growth_begin(struct growth *g)
{
	g->begin_ns = 0;
	g->reaps = __atomic_load_n(&guest.reaps, __ATOMIC_RELAXED);
	g->known = sys2(__NR_getrusage, RUSAGE_CHILDREN, &g->before) == 0;
}

/* Was the usage of this child not added? */
static bool was_traced(const struct growth *g, const struct rusage *usage)
{
	struct rusage after;

	if (!g->known || sys2(__NR_getrusage, RUSAGE_CHILDREN, &after) != 0)
		return false;
	subtract_usage(&after, &g->before);
	return after.ru_minflt < usage->ru_minflt ||
	       (!after.ru_minflt && !after.ru_nvcsw && !after.ru_nivcsw && !after.ru_utime.tv_sec &&
		!after.ru_utime.tv_usec && !after.ru_stime.tv_sec && !after.ru_stime.tv_usec);
}

bool growth_any(const struct growth *g)
{
	return g->known && !was_traced(g, &(struct rusage){0});
}

void growth_end(const struct growth *g, pid_t pid, int status)
{
	struct rusage after;
	bool known = g->known && sys2(__NR_getrusage, RUSAGE_CHILDREN, &after) == 0;

	if (__atomic_fetch_add(&guest.reaps, 1, __ATOMIC_RELAXED) != g->reaps)
		known = false;
	if (guest.tracer && was_traced(g, &(struct rusage){0}))
		return;
	if (known)
		subtract_usage(&after, &g->before);
	record_reap(pid, g->begin_ns, status, known ? &after : NULL);
}

/* A copy that ran on our memory and installed a filter is gone: we are no longer silent.
 */
static pid_t heard_last(pid_t r)
{
	if (r > 0 && guest.silent && r == guest.silent_pid)
		__atomic_store_n(&guest.silent, false, __ATOMIC_SEQ_CST);
	return r;
}

static pid_t real_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (!NEXT(wait4))
		return (pid_t)libc_result(sys4(__NR_wait4, pid, status, options, usage));
	return next.wait4(pid, status, options, usage);
}

/* libc's own wait4(), even if it is interposed. */
static pid_t libcs_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (!libcs.wait4)
		return (pid_t)libc_result(sys4(__NR_wait4, pid, status, options, usage));
	return libcs.wait4(pid, status, options, usage);
}

static pid_t by_wait3(pid_t pid, int *status, int options, struct rusage *usage)
{
	(void)pid;
	return next.wait3(status, options, usage);
}

/* Passes the caller's pointers to the kernel, which checks them. */
static pid_t do_wait4(pid_t (*real)(pid_t, int *, int, struct rusage *), pid_t pid, int *status,
		      int options, struct rusage *usage)
{
	struct rusage ru;
	struct growth g = {0};
	int st = 0;

	if (!status)
		status = &st;
	if (!usage)
		usage = &ru;
	if (guest.tracer)
		growth_begin(&g);
	pid_t r = real(pid, status, options, usage);
	if (r > 0 && !(guest.tracer && was_traced(&g, usage))) {
		__atomic_fetch_add(&guest.reaps, 1, __ATOMIC_RELAXED);
		record_reap(r, 0, *status, usage);
	}
	return r;
}

EXPORT pid_t wait(int *status)
{
	struct growth g;
	int st = 0;

	if (!watching() && NEXT(wait))
		return heard_last(next.wait(status));
	if (next_is_libc.wait || !NEXT(wait))
		return do_wait4(libcs_wait4, -1, status, 0, NULL);
	growth_begin(&g);
	pid_t r = next.wait(status ? status : &st);
	if (r > 0)
		growth_end(&g, r, status ? *status : st);
	return r;
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	struct growth g;
	int st = 0;

	if (!watching() && NEXT(waitpid))
		return heard_last(next.waitpid(pid, status, options));
	if (next_is_libc.waitpid || !NEXT(waitpid))
		return do_wait4(libcs_wait4, pid, status, options, NULL);
	growth_begin(&g);
	pid_t r = next.waitpid(pid, status ? status : &st, options);
	if (r > 0)
		growth_end(&g, r, status ? *status : st);
	return r;
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	if (!watching() && NEXT(wait3))
		return heard_last(next.wait3(status, options, usage));
	return do_wait4(next_is_libc.wait3 || !NEXT(wait3) ? libcs_wait4 : by_wait3, -1, status,
			options, usage);
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return watching() ? do_wait4(real_wait4, pid, status, options, usage)
			  : heard_last(real_wait4(pid, status, options, usage));
}

static int real_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	if (!NEXT(waitid))
		return (int)libc_result(sys5(__NR_waitid, type, id, info, options, NULL));
	return next.waitid(type, id, info, options);
}

/* The kernel fills in all of *info, with pid 0 if there was no child. */
EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct growth g;
	siginfo_t own = {0};

	if (options & WNOWAIT)
		return real_waitid(type, id, info, options);
	if (!info)
		info = &own;
	if (!watching()) {
		int silent = real_waitid(type, id, info, options);
		if (silent == 0)
			heard_last(info->si_pid);
		return silent;
	}
	growth_begin(&g);
	int r = real_waitid(type, id, info, options);
	if (r == 0 && info->si_pid > 0 && status_of(info) >= 0)
		growth_end(&g, info->si_pid, status_of(info));
	return r;
}

/* As in libc: the kernel stores the word that libc returns. */
static long raw_ptrace(int request, const long *a)
{
	long word = 0;

	if (request < PTRACE_PEEKTEXT || request > PTRACE_PEEKUSR)
		return libc_result(sys4(__NR_ptrace, request, a[0], a[1], a[2]));
	long r = libc_result(sys4(__NR_ptrace, request, a[0], a[1], &word));
	if (r < 0)
		return r;
	set_errno(0);
	return word;
}

/* A copy may trace, too. If it runs on its parent's memory, waits of the parent get a little
 * slower. */
void note_trace(int request)
{
	if (request != PTRACE_TRACEME && watching())
		guest.tracer = true;
}

/* The first argument is an enum in libc's header, which is an int. */
EXPORT long ptrace(int request, ...);
EXPORT long ptrace(int request, ...)
{
	va_list ap;
	long a[3];

	va_start(ap, request);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	note_trace(request);
	if (!NEXT(ptrace))
		return raw_ptrace(request, a);
	return next.ptrace(request, a[0], a[1], a[2]);
}
