/*
 * The wait family: a parent that takes a child's status also records it, with the child's usage.
 * This closes the books for children that could not speak for themselves: static programs, killed
 * ones, raw exits. The real functions are called because they are cancellation points; all but
 * waitid become wait4, which returns the usage.
 */
#include "preload/guest.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static pid_t (*real_wait4)(pid_t, int *, int, struct rusage *);
static int (*real_waitid)(idtype_t, id_t, siginfo_t *, int);

void resolve_wait(void)
{
	real_wait4 = (pid_t(*)(pid_t, int *, int, struct rusage *))next_function("wait4");
	real_waitid = (int (*)(idtype_t, id_t, siginfo_t *, int))next_function("waitid");
}

static pid_t do_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	struct rusage ru;
	int st = 0;

	if (!real_wait4)
		return (pid_t)libc_result(-ENOSYS);
	pid_t r = real_wait4(pid, &st, options, usage ? usage : &ru);
	if (r > 0) {
		if (guest.active)
			__atomic_fetch_add(&guest.reaps, 1, __ATOMIC_RELAXED);
		record_reap(r, st, usage ? usage : &ru);
		if (status)
			*status = st;
	}
	return r;
}

EXPORT pid_t wait(int *status)
{
	return do_wait4(-1, status, 0, NULL);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return do_wait4(pid, status, options, NULL);
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	return do_wait4(-1, status, options, usage);
}

EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return do_wait4(pid, status, options, usage);
}

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

/* What one child added to the usage of all; its largest resident set cannot be told. */
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

/*
 * libc's waitid drops the usage of the child: it is the growth of what all children used, unless
 * another thread took a child meanwhile.
 */
EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	struct rusage before, after;
	siginfo_t own = {0};

	if (!real_waitid)
		return (int)libc_result(-ENOSYS);
	if (!guest.active || guest.silent || (options & WNOWAIT))
		return real_waitid(type, id, info, options);
	if (!info)
		info = &own;
	unsigned reaps = __atomic_load_n(&guest.reaps, __ATOMIC_RELAXED);
	long known = sys2(__NR_getrusage, RUSAGE_CHILDREN, &before);
	pid_t saved = info->si_pid;
	info->si_pid = 0;
	int r = real_waitid(type, id, info, options);
	if (r != 0)
		info->si_pid = saved;
	if (r != 0 || info->si_pid <= 0 || status_of(info) < 0)
		return r;
	known |= sys2(__NR_getrusage, RUSAGE_CHILDREN, &after);
	if (__atomic_fetch_add(&guest.reaps, 1, __ATOMIC_RELAXED) != reaps)
		known = -1;
	if (known == 0)
		subtract_usage(&after, &before);
	record_reap(info->si_pid, status_of(info), known == 0 ? &after : NULL);
	return r;
}
