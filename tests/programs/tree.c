/*
 * A program that plays a tree of processes, step by step as its arguments say, for the tests of how
 * their records are joined: `tree STEP...`. Built dynamically and statically.
 *
 *   burn:MS  sleep:MS  thread:MS (a thread that burns)
 *   fork:N [ STEP... ]     N forked children, which then end
 *   spawn PROGRAM [ STEP... ]  a vforked child that executes a tree
 *   daemon [ STEP... ]     a grandchild whose parent ends at once
 *   traced [ STEP... ]     a forked child, and another one that traces it to its end
 *   raw-traced [ STEP... ] the same by syscall()
 *   wait  raw-wait         for all children, through libc or past it
 *   timens:OFFSET          children forked from here on: their clocks are ahead by "SECONDS
 * NANOSECONDS" ignore                 children: they become nobody's zombies exec:PROGRAM executes
 * a tree in its place, with the steps that follow exit:CODE  raw-exit:CODE  kill:SIGNAL
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void burn(long ms)
{
	long until = cpu_us() + ms * 1000;
	volatile unsigned long x = 0;

	while (cpu_us() < until)
		for (int i = 0; i < 5000; i++)
			x += (unsigned long)i;
}

static void *burn_thread(void *ms)
{
	burn((long)ms);
	return NULL;
}

static void run_thread(long ms)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, burn_thread, (void *)ms) == 0)
		pthread_join(thread, NULL);
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* The bracket that closes the one at open. */
static char **closing(char **open)
{
	int depth = 0;

	for (char **s = open; *s; s++) {
		depth += !strcmp(*s, "[") - !strcmp(*s, "]");
		if (!depth)
			return s;
	}
	fprintf(stderr, "tree: a bracket is not closed\n");
	exit(2);
}

/* The argument of a step, NULL when it is another step. */
static const char *argument(const char *step, const char *name)
{
	size_t n = strlen(name);

	return strncmp(step, name, n) ? NULL : step[n] == ':' ? step + n + 1 : step[n] ? NULL : "";
}

static void play(char **step, char **end);

static void child(char **open, char **close)
{
	play(open + 1, close);
	exit(0);
}

static void fork_children(long n, char **open, char **close)
{
	while (n-- > 0)
		if (fork() == 0)
			child(open, close);
}

static void fork_daemon(char **open, char **close)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0)
			child(open, close);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static long trace(bool raw, int request, pid_t pid, long data)
{
	return raw ? syscall(SYS_ptrace, request, pid, 0L, data)
		   : ptrace((enum __ptrace_request)request, pid, NULL, (void *)data);
}

/* Sees a process that is another's child through; ready is closed once it is traced. */
static void trace_to_end(pid_t pid, bool raw, int ready)
{
	int status = 0;

	if (trace(raw, PTRACE_SEIZE, pid, 0) < 0)
		perror("tree: cannot trace");
	close(ready);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		trace(raw, PTRACE_CONT, pid, status >> 16 ? 0 : WSTOPSIG(status));
	exit(0);
}

static void fork_traced(bool raw, char **open, char **end)
{
	int ends[2];
	char c;

	if (pipe(ends) < 0)
		exit(2);
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		while (read(ends[0], &c, 1) < 0 && errno == EINTR)
			;
		close(ends[0]);
		child(open, end);
	}
	if (fork() == 0)
		trace_to_end(pid, raw, ends[1]);
	close(ends[0]);
	close(ends[1]);
}

/* argv of a tree: its name and the steps up to end. */
static char **arguments(const char *program, char **step, char **end)
{
	size_t n = (size_t)(end - step);
	char **argv = calloc(n + 2, sizeof(*argv));

	if (!argv)
		exit(2);
	argv[0] = (char *)program;
	memcpy(argv + 1, step, n * sizeof(*argv));
	return argv;
}

static void spawn(const char *program, char **open, char **close)
{
	char **argv = arguments(program, open + 1, close);

	if (vfork() == 0) {
		execv(program, argv);
		_exit(127);
	}
	free(argv);
}

static void execute(const char *program, char **step, char **end)
{
	execv(program, arguments(program, step, end));
	perror(program);
	_exit(127);
}

static void wait_raw(void)
{
	siginfo_t info;

	while (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, NULL) == 0 || errno == EINTR)
		;
}

static void wait_all(void)
{
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void unshare_time(const char *offset)
{
	FILE *f;

	if (unshare(CLONE_NEWTIME) < 0 || !(f = fopen("/proc/self/timens_offsets", "w"))) {
		perror("tree: no time namespace");
		exit(2);
	}
	fprintf(f, "boottime %s\nmonotonic %s\n", offset, offset);
	if (fclose(f) != 0)
		perror("tree: no offset of clocks");
}

/* One step without a block. */
static void act(const char *step, char **next, char **end)
{
	const char *a;

	if ((a = argument(step, "burn")))
		burn(atol(a));
	else if ((a = argument(step, "sleep")))
		sleep_ms(atol(a));
	else if ((a = argument(step, "thread")))
		run_thread(atol(a));
	else if (argument(step, "wait"))
		wait_all();
	else if (argument(step, "raw-wait"))
		wait_raw();
	else if ((a = argument(step, "timens")))
		unshare_time(a);
	else if (argument(step, "ignore"))
		signal(SIGCHLD, SIG_IGN);
	else if ((a = argument(step, "exec")))
		execute(a, next, end);
	else if ((a = argument(step, "exit")))
		exit(atoi(a));
	else if ((a = argument(step, "raw-exit")))
		syscall(SYS_exit_group, atoi(a));
	else if ((a = argument(step, "kill")))
		kill(getpid(), atoi(a));
	else {
		fprintf(stderr, "tree: '%s' is no step\n", step);
		exit(2);
	}
}

static void play(char **step, char **end)
{
	while (step < end) {
		const char *name = *step++;
		const char *n = argument(name, "fork");
		bool raw = argument(name, "raw-traced"), traced = raw || argument(name, "traced");
		char **open = step;

		if (argument(name, "spawn") && open < end)
			open++;
		if (!n && !traced && !argument(name, "spawn") && !argument(name, "daemon")) {
			act(name, step, end);
			continue;
		}
		char **close = closing(open);
		if (n)
			fork_children(*n ? atol(n) : 1, open, close);
		else if (argument(name, "daemon"))
			fork_daemon(open, close);
		else if (traced)
			fork_traced(raw, open, close);
		else
			spawn(*step, open, close);
		step = close + 1;
	}
}

int main(int argc, char **argv)
{
	play(argv + 1, argv + argc);
	return 0;
}
