/*
 * Prints all that a program can see of its own state, when main begins and again in an exit
 * handler: descriptors, signals, limits, timers, environment, arguments. `state [STATUS]`.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "host.h"

extern char **environ;

/* The kernel's own view: libc hides signals 32 and 33. */
struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void print_dispositions(const char *when)
{
	for (int sig = 1; sig <= 64; sig++) {
		struct kernel_sigaction sa = {0};

		if (syscall(SYS_rt_sigaction, sig, NULL, &sa, 8) < 0)
			printf("%s signal %d: errno %d\n", when, sig, errno);
		else
			printf("%s signal %d: %s flags %lx mask %llx\n", when, sig,
			       sa.handler == SIG_DFL   ? "default"
			       : sa.handler == SIG_IGN ? "ignored"
						       : "caught",
			       sa.flags, (unsigned long long)sa.mask);
	}
}

static void print_limits(const char *when)
{
	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		struct rlimit r;

		getrlimit(i, &r);
		printf("%s limit %d: %llu %llu\n", when, i, (unsigned long long)r.rlim_cur,
		       (unsigned long long)r.rlim_max);
	}
}

static void print_all(const char *when)
{
	static const int timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
	struct itimerval timer;
	char text[4096];
	stack_t stack;
	int parent_death;

	descriptors(text, sizeof(text));
	printf("%s descriptors %s\n", when, text);
	print_signals(when);
	print_dispositions(when);
	print_limits(when);
	sigaltstack(NULL, &stack);
	printf("%s signal stack flags %d size %zu\n", when, stack.ss_flags, stack.ss_size);
	for (int i = 0; i < 3; i++) {
		getitimer(timers[i], &timer);
		printf("%s timer %d: %ld %ld\n", when, i, timer.it_interval.tv_sec,
		       timer.it_value.tv_sec);
	}
	prctl(PR_GET_NAME, text);
	prctl(PR_GET_PDEATHSIG, &parent_death);
	printf("%s name %s dumpable %d parent death %d no new privileges %d slack %d\n", when, text,
	       prctl(PR_GET_DUMPABLE), parent_death, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_TIMERSLACK));
	mode_t mask = umask(0);
	umask(mask);
	printf("%s umask %o directory %s niceness %d\n", when, mask, getcwd(text, sizeof(text)),
	       getpriority(PRIO_PROCESS, 0));
	struct stat st;
	stat("/proc/self/task", &st);
	printf("%s threads %d\n", when, (int)st.st_nlink - 2);
}

static void at_end(void)
{
	print_all("end");
}

int main(int argc, char **argv)
{
	int first_errno = errno;

	atexit(at_end);
	printf("errno %d\n", first_errno);
	print_all("main");
	for (int i = 0; i < argc; i++)
		printf("argument %d: %s\n", i, argv[i]);
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "PLIMSOLL_", 9) != 0)
			printf("variable %s\n", *e);
	return argc > 1 ? atoi(argv[1]) : 0;
}
