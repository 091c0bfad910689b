/*
 * vfork stays vfork: the parent sleeps until its child is gone, sees what the child wrote to
 * memory, and nothing in it was written that the child did not write. `vforks MODE`.
 */
#include <spawn.h>
#include <time.h>

#include "host.h"

extern char **environ;

static char *args[] = {"sh", "-c", "exit 5", NULL};
static volatile int shared;

static long elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

/* The parent is suspended: it cannot run before the child has slept and ended. */
static int mode_suspends(char **argv)
{
	struct timespec begin, nap = {0, 60000000};

	(void)argv;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid_t pid = vfork();
	if (!pid) {
		nanosleep(&nap, NULL);
		shared = 42;
		_exit(7);
	}
	printf("suspended %s, shared %d\n", elapsed_ms(&begin) >= 60 ? "yes" : "no", shared);
	printf("status %d\n", wait_for(pid));
	return 81;
}

/* What the child does in vfork: the parent's memory is the child's. */
static void act(int what)
{
	switch (what) {
	case 0:
		_exit(1);
	case 1:
		_Exit(2);
	case 2:
		syscall(SYS_exit_group, 3);
	case 3:
		execve("/bin/sh", args, environ);
	case 4:
		execvp("sh", args);
	case 5:
		execl("/bin/sh", "sh", "-c", "exit 6", NULL);
	case 6:
		execlp("sh", "sh", "-c", "exit 7", NULL);
	case 7:
		execve("/no/such/file", args, environ);
		shared = errno;
		_exit(8);
	case 8:
		execvp("no-such-program", args);
		shared = errno;
		_exit(9);
	case 9:
		syscall(SYS_execve, "/bin/sh", args, environ);
	case 10:
		syscall(SYS_execve, "/no/such/file", args, environ);
		shared = errno;
		_exit(10);
	}
}

static int mode_memory(char **argv)
{
	(void)argv;
	for (volatile int i = 0; i <= 10; i++) {
		shared = 0;
		errno = 0;
		volatile unsigned long before = preloaded_data();
		pid_t pid = vfork();

		if (!pid)
			act(i);
		printf("%d: memory %s, shared %d\n", i,
		       preloaded_data() == before ? "unchanged" : "changed", shared);
		printf("%d: status %d\n", i, wait_for(pid));
	}
	return 82;
}

/* Children made by the bare system calls, of which libc knows nothing. */
static int mode_bare(char **argv)
{
	(void)argv;
	for (int i = 0; i < 4; i++) {
		fflush(stdout);
		long pid = i % 2 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : syscall(SYS_fork);

		if (!pid && i < 2)
			syscall(SYS_exit_group, i + 1);
		if (!pid)
			exit(i + 1);
		printf("status %d\n", wait_for((pid_t)pid));
	}
	return 83;
}

static int mode_spawn(char **argv)
{
	pid_t pid;

	(void)argv;
	printf("spawn %d", posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ));
	printf(" status %d\n", wait_for(pid));
	printf("spawn %d", posix_spawnp(&pid, "sh", NULL, NULL, args, environ));
	printf(" status %d\n", wait_for(pid));
	printf("missing %d\n", posix_spawn(&pid, "/no/such/file", NULL, NULL, args, environ));
	printf("left over: %d\n", wait(NULL));
	fflush(stdout);
	printf("system %d\n", system("exit 3"));
	return 84;
}

static const struct mode modes[] = {{"suspends", mode_suspends},
				    {"memory", mode_memory},
				    {"bare", mode_bare},
				    {"spawn", mode_spawn}};
MAIN(modes)
