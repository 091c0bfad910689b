/*
 * Threads that read and write a known amount beside children that do so, too:
 *
 *     totals THREADS LIFE CHILD WAITER END [PROGRAM [ARGUMENT...]]
 *     totals child
 *
 * Each thread, the first one included, reads 64 KiB in 64 calls and writes 32 KiB in 32 calls; each
 * child does three times that.
 * LIFE    before: the threads are gone when the child is made; after: they begin when it is gone;
 *         during: they end when the process does; alive: they live on; detached; keys: as before,
 *         but they work in the destructor of a thread-specific value
 * CHILD   none, fork, vfork, spawn, system, popen, killed, thrice (three of them)
 * WAITER  first, thread (which makes the child, too), other (than the one that made it)
 * END     return, exit, _exit, thread (which exits), leave (the first one leaves, another exits),
 *         last (the last one returns, and exit handlers work), buffer (10 bytes are in stdout's)
 *         exec, exec_thread
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>

#include "host.h"

#define WRITES 32
#define READS 64

extern char **environ;

static char self[4096];
static const char *life, *kind, *waiter, *end;
static pthread_barrier_t done;

static void work(int times)
{
	char block[1024];
	int in = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);

	for (int i = 0; i < times * READS; i++)
		read(in, block, sizeof(block));
	for (int i = 0; i < times * WRITES; i++)
		write(out, block, sizeof(block));
	close(in);
	close(out);
}

static pthread_key_t key;

static void works_late(void *value)
{
	if (value == &key) /* in the next round */
		pthread_setspecific(key, self);
	else
		work(1);
}

static bool one_by_one(void)
{
	return strcmp(life, "during") && strcmp(life, "alive") && strcmp(life, "detached");
}

static void *worker(void *arg)
{
	if (!strcmp(life, "keys"))
		pthread_setspecific(key, &key);
	else
		work(1);
	if (!one_by_one())
		pthread_barrier_wait(&done);
	if (!strcmp(life, "alive"))
		for (;;)
			pause();
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void begin(int n)
{
	pthread_t t;

	if (!strcmp(life, "keys")) { /* a key behind those that others make with the first thread */
		pthread_create(&t, NULL, nothing, NULL);
		pthread_join(t, NULL);
		pthread_key_create(&key, works_late);
	}

	pthread_barrier_init(&done, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		pthread_create(&t, NULL, worker, NULL);
		if (one_by_one())
			pthread_join(t, NULL);
		else
			pthread_detach(t);
	}
}

/* ---- children -------------------------------------------------------------------------------- */

static pid_t make_child(void)
{
	char *argv[] = {self, "child", NULL};
	pid_t pid;

	if (!strcmp(kind, "vfork")) {
		pid = vfork();
		if (!pid) {
			execve(self, argv, environ);
			_exit(127);
		}
		return pid;
	}
	if (!strcmp(kind, "spawn"))
		return posix_spawn(&pid, self, NULL, NULL, argv, environ) ? -1 : pid;
	pid = fork();
	if (!pid) {
		work(3);
		if (!strcmp(kind, "killed"))
			raise(SIGKILL);
		_exit(0);
	}
	return pid;
}

static pid_t child;

static void *waits(void *arg)
{
	wait_for(child);
	return arg;
}

static void one_child(void)
{
	char command[4200];
	pthread_t t;

	snprintf(command, sizeof(command), "exec '%s' child", self);
	if (!strcmp(kind, "system")) {
		system(command);
		return;
	}
	if (!strcmp(kind, "popen")) {
		pclose(popen(command, "r"));
		return;
	}
	child = make_child();
	if (strcmp(waiter, "other")) {
		wait_for(child);
		return;
	}
	pthread_create(&t, NULL, waits, NULL);
	pthread_join(t, NULL);
}

static void *children(void *arg)
{
	if (strcmp(kind, "none"))
		for (int i = 0; i < (strcmp(kind, "thrice") ? 1 : 3); i++)
			one_child();
	return arg;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void *exits(void *arg)
{
	exit((int)(long)arg);
}

/* Once the first thread has left, which counts as no I/O to find out. */
static void *exits_after_first(void *arg)
{
	char path[64], target[16];

	snprintf(path, sizeof(path), "/proc/self/task/%d/exe", (int)getpid());
	while (readlink(path, target, sizeof(target)) >= 0)
		usleep(100);
	return exits(arg);
}

static char **program;

static void *executes(void *arg)
{
	execv(program[0], program);
	exit(126);
}

static void *leaves(void *arg)
{
	pthread_exit(arg);
}

static void works_at_exit(void)
{
	work(1);
}

static int come_to_end(void)
{
	pthread_t t;

	if (!strcmp(end, "exit"))
		exit(7);
	if (!strcmp(end, "_exit"))
		_exit(7);
	if (!strcmp(end, "buffer"))
		printf("10 letters");
	if (!strcmp(end, "exec"))
		executes(NULL);
	if (!strcmp(end, "exec_thread")) {
		pthread_create(&t, NULL, executes, NULL);
		pthread_join(t, NULL);
	}
	if (!strcmp(end, "last") || !strcmp(end, "leave")) { /* libc loads a library for it */
		pthread_create(&t, NULL, leaves, NULL);
		pthread_join(t, NULL);
	}
	if (!strcmp(end, "last")) {
		atexit(works_at_exit);
		pthread_create(&t, NULL, nothing, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(end, "leave")) {
		pthread_create(&t, NULL, exits_after_first, (void *)7);
		pthread_exit(NULL);
	}
	if (!strcmp(end, "thread")) {
		pthread_create(&t, NULL, exits, (void *)7);
		pthread_join(t, NULL);
	}
	return 7;
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	pthread_t t;

	if (n < 0 || argc < 2)
		return 125;
	if (!strcmp(argv[1], "child")) {
		work(3);
		return 0;
	}
	if (argc < 6)
		return 125;
	life = argv[2];
	kind = argv[3];
	waiter = argv[4];
	end = argv[5];
	work(1);
	if (strcmp(life, "after"))
		begin(atoi(argv[1]));
	if (!strcmp(waiter, "thread")) {
		pthread_create(&t, NULL, children, NULL);
		pthread_join(t, NULL);
	} else {
		children(NULL);
	}
	if (!strcmp(life, "after"))
		begin(atoi(argv[1]));
	else if (!one_by_one())
		pthread_barrier_wait(&done);
	if (!strcmp(life, "detached"))
		usleep(20000);
	program = argv + 6;
	return come_to_end();
}
