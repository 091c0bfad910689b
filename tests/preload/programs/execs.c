/*
 * Programs with threads that execute others, and programs that fail to:
 *
 *     execs work MIB                                        reads and sleeps, and is done
 *     execs threads N MIB leader|thread waits|alone PROGRAM [ARGUMENT...]
 *     execs fails N MIB HOW MIB signal|exit|waits           N times in vain, with three threads
 * alive
 */
#include <fcntl.h>
#include <stdbool.h>

#include "host.h"

#define SLEEPS 50

extern char **environ;

/* Reads so many MiB in calls of 64 KiB, and gives up the CPU so many times. */
static void work(int mib)
{
	static _Thread_local char block[65536];
	int fd = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < mib * 16; i++)
		read(fd, block, sizeof(block));
	close(fd);
	for (int i = 0; i < SLEEPS; i++)
		usleep(200);
}

static int mode_work(char **argv)
{
	work(atoi(argv[0]));
	return 0;
}

static pthread_barrier_t done;
static char **program;

static void *worker(void *arg)
{
	work((int)(long)arg);
	pthread_barrier_wait(&done);
	for (;;)
		pause();
	return NULL;
}

static void *executes(void *arg)
{
	work((int)(long)arg);
	pthread_barrier_wait(&done);
	execv(program[0], program);
	exit(126);
}

static void waits_for_a_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		work(3);
		_exit(0);
	}
	wait_for(pid);
}

static int mode_threads(char **argv)
{
	int n = atoi(argv[0]), mib = atoi(argv[1]);
	bool by_thread = !strcmp(argv[2], "thread");
	pthread_t t;

	program = argv + 4;
	if (!strcmp(argv[3], "waits"))
		waits_for_a_child();
	pthread_barrier_init(&done, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		pthread_create(&t, NULL, by_thread && !i ? executes : worker,
			       (void *)(long)(mib / n));
	pthread_barrier_wait(&done);
	if (by_thread)
		for (;;)
			pause();
	execv(program[0], program);
	return 126;
}

static int fail_once(const char *how)
{
	char *argv[] = {"nothing", NULL};

	if (!strcmp(how, "execvp"))
		return execvp("no-such-program", argv);
	if (!strcmp(how, "execvpe"))
		return execvpe("no-such-program", argv, environ);
	if (!strcmp(how, "execlp"))
		return execlp("no-such-program", "nothing", NULL);
	if (!strcmp(how, "execve"))
		return execve("broken", argv, environ);
	if (!strcmp(how, "execv"))
		return execv("broken", argv);
	if (!strcmp(how, "execl"))
		return execl("broken", "nothing", NULL);
	if (!strcmp(how, "execle"))
		return execle("broken", "nothing", NULL, environ);
	if (!strcmp(how, "execveat"))
		return execveat(AT_FDCWD, "broken", argv, environ, 0);
	if (!strcmp(how, "fexecve"))
		return fexecve(0, argv, environ);
	if (!strcmp(how, "syscall"))
		return (int)syscall(SYS_execve, "broken", argv, environ);
	if (!strcmp(how, "syscall_at"))
		return (int)syscall(SYS_execveat, AT_FDCWD, "broken", argv, environ, 0);
	if (!strcmp(how, "chroot"))
		return chroot("/no/such/directory");
	exit(125);
}

static int mode_fails(char **argv)
{
	int fd = open("broken", O_WRONLY | O_CREAT | O_TRUNC, 0700), n = atoi(argv[0]);
	pthread_t t;

	write(fd,
	      "\x7f"
	      "ELF: no program",
	      16);
	close(fd);
	if (!strcmp(argv[4], "waits"))
		waits_for_a_child();
	pthread_barrier_init(&done, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, worker, (void *)(long)atoi(argv[1]));
	pthread_barrier_wait(&done);
	for (int i = 0; i < n; i++) {
		int r = fail_once(argv[2]);

		if (!i)
			printf("%d %s\n", r, strerror(errno));
	}
	work(atoi(argv[3]));
	fflush(stdout);
	if (!strcmp(argv[4], "signal"))
		raise(SIGTERM);
	return 7;
}

static const struct mode modes[] = {
	{"work", mode_work}, {"threads", mode_threads}, {"fails", mode_fails}};
MAIN(modes)
