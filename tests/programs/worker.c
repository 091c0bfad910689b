/*
 * A program that does a known amount of work and then waits to be killed, for the tests of what is
 * sampled: `worker MODE [ARGUMENT...]`. It writes "ready" and figures of its own to its output when
 * it is done, and with SIGUSR1 it begins what it is to do later.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long number(char **argv, int i, long fallback)
{
	return argv[i] ? strtol(argv[i], NULL, 10) : fallback;
}

/* Burns CPU for so many milliseconds. */
static void burn(long ms)
{
	struct timespec begin, t;
	volatile unsigned long x = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		for (int i = 0; i < 20000; i++)
			x += (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((t.tv_sec - begin.tv_sec) * 1000 + (t.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(9);
}

static void await_signal(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
}

static void rest(void)
{
	for (;;)
		pause();
}

/* CPU time of its own, as the kernel tells it, in microseconds. */
static void mode_burn(char **argv)
{
	struct rusage ru;
	char line[64];

	burn(number(argv, 0, 100));
	getrusage(RUSAGE_SELF, &ru);
	snprintf(line, sizeof(line), "cpu %ld\nready\n",
		 (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 + ru.ru_utime.tv_usec +
			 ru.ru_stime.tv_usec);
	say(line);
	rest();
}

static void mode_spin(char **argv)
{
	volatile unsigned long x = 0;

	(void)argv;
	say("ready\n");
	for (;;)
		x++;
}

static void mode_rest(char **argv)
{
	(void)argv;
	say("ready\n");
	rest();
}

static pthread_barrier_t done;

static void *thread(void *ms)
{
	burn((long)ms);
	pthread_barrier_wait(&done);
	rest();
	return NULL;
}

static void *short_thread(void *ms)
{
	burn((long)ms);
	return NULL;
}

/* COUNT MS: so many threads with so much each, and one before them that has ended. */
static void mode_threads(char **argv)
{
	long count = number(argv, 0, 8), ms = number(argv, 1, 50);
	pthread_t t;

	pthread_create(&t, NULL, short_thread, (void *)ms);
	pthread_join(t, NULL);
	pthread_barrier_init(&done, NULL, (unsigned)count + 1);
	for (long i = 0; i < count; i++)
		pthread_create(&t, NULL, thread, (void *)ms);
	pthread_barrier_wait(&done);
	usleep(50000);
	say("ready\n");
	rest();
}

/* FILE BYTES CHUNK */
static void mode_write(char **argv)
{
	static char buf[1 << 20];
	long left = number(argv, 1, 1000), chunk = number(argv, 2, 1000);
	int fd = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (; left > 0; left -= chunk)
		if (write(fd, buf, (size_t)(left < chunk ? left : chunk)) < 0)
			_exit(9);
	say("ready\n");
	rest();
}

/* SHARED PRIVATE COUNT: MiB that all children use together, MiB of each, how many */
static void mode_share(char **argv)
{
	size_t shared = (size_t)number(argv, 0, 16) << 20, own = (size_t)number(argv, 1, 4) << 20;
	long count = number(argv, 2, 4);
	int p[2];
	char c;
	char *all = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (pipe(p) < 0)
		_exit(9);
	for (long i = 0; i < count; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			char *mine = mmap(NULL, own, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(mine, 1, own);
			memset(all, 1, shared);
			if (write(p[1], "x", 1) != 1)
				_exit(9);
			rest();
		}
	for (long i = 0; i < count; i++)
		if (read(p[0], &c, 1) != 1)
			_exit(9);
	say("ready\n");
	rest();
}

/* COUNT MS: at the signal so many children one after the other with so much each */
static void mode_children(char **argv)
{
	long count = number(argv, 0, 60), ms = number(argv, 1, 80);

	say("ready\n");
	await_signal();
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			burn(ms);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	say("done\n");
	rest();
}

/* MS: two children with so much each, alive at "ready"; at the signal they end and nobody waits */
static void mode_ignore(char **argv)
{
	pid_t pids[2];

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			burn(number(argv, 0, 100));
			say("ready\n");
			rest();
		}
	}
	await_signal();
	for (int i = 0; i < 2; i++)
		kill(pids[i], SIGKILL);
	say("done\n");
	rest();
}

/* MS: at the signal it works so much and ends */
static void mode_leave(char **argv)
{
	say("ready\n");
	await_signal();
	burn(number(argv, 0, 100));
}

/* COMMAND...: at the signal it becomes another program */
static void mode_become(char **argv)
{
	sigset_t none;

	say("ready\n");
	await_signal();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	_exit(9);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char **argv);
	} modes[] = {
		{"burn", mode_burn},         {"spin", mode_spin},     {"rest", mode_rest},
		{"threads", mode_threads},   {"write", mode_write},   {"share", mode_share},
		{"children", mode_children}, {"ignore", mode_ignore}, {"leave", mode_leave},
		{"become", mode_become},
	};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1])) {
			modes[i].run(argv + 2);
			return 0;
		}
	return 2;
}
