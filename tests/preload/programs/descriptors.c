/*
 * Programs to whom every descriptor matters: those that close all of them, use all of them, jump
 * out of calls, or fork while other threads come and go. `descriptors MODE [ARGUMENT]`.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "host.h"

/* ---- closing everything ---------------------------------------------------------------------- */

/* With nothing open, not even the standard three: the next to be opened is number 0. */
static int after_closing(void)
{
	char text[1024];
	int fd = open("result", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	pid_t pid = fork();

	if (!pid)
		_exit(4);
	int status = wait_for(pid);
	descriptors(text, sizeof(text));
	dprintf(fd, "number %d, child %d, open: %s\n", fd, status, text);
	return 11;
}

static int mode_loop(char **argv)
{
	(void)argv;
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	return after_closing();
}

static int mode_closefrom(char **argv)
{
	(void)argv;
	closefrom(0);
	return after_closing();
}

static int mode_close_range(char **argv)
{
	(void)argv;
	close_range(0, ~0u, 0);
	return after_closing();
}

/* ---- using all of them ---------------------------------------------------------------------- */

static void *nothing(void *arg)
{
	return arg;
}

static int mode_all(char **argv)
{
	int fd, last = -1, count = 0;
	pthread_t t;

	(void)argv;
	while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		last = fd;
		count++;
	}
	printf("errno %d, %d opened, the last is %d\n", errno, count, last);
	pid_t pid = fork();
	if (!pid)
		_exit(6);
	printf("child %d\n", wait_for(pid));
	printf("thread %d", pthread_create(&t, NULL, nothing, NULL));
	printf(" %d\n", pthread_join(t, NULL));
	close(last);
	printf("free again: %d\n", open("/dev/null", O_RDONLY));
	return 12;
}

/* ---- jumping out of waitpid ------------------------------------------------------------------ */

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void jump(int sig)
{
	(void)sig;
	jumps++;
	siglongjmp(back, 1);
}

/* Goes off once: under a tracer a faster one would never let its handler come to an end. */
static void set_timer(int us)
{
	struct itimerval t = {{0, 0}, {0, us}};

	setitimer(ITIMER_REAL, &t, NULL);
}

/* Children that end at once and waits that are left by a jump, again and again. A jump may come
 * after the kernel took the child and before we learn of it: then there is none left. */
static int mode_jumps(char **argv)
{
	char before[4096], after[4096];
	struct sigaction sa = {.sa_handler = jump};
	volatile int left = 400;

	(void)argv;
	sigaction(SIGALRM, &sa, NULL);
	descriptors(before, sizeof(before));
	while (left > 0 || jumps < 300) {
		volatile pid_t pid = fork();

		if (!pid) {
			set_timer(0);
			_exit(0);
		}
		sigsetjmp(back, 1);
		set_timer(50 + jumps % 7 * 30);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		set_timer(0);
		left--;
	}
	signal(SIGALRM, SIG_IGN);
	descriptors(after, sizeof(after));
	printf("before: %s\nafter:  %s\n", before, after);
	printf("left over: %d", wait(NULL));
	printf(" errno %d\n", errno);
	print_signals("after");
	return strcmp(before, after) ? 1 : 13;
}

/* ---- threads that come and go ---------------------------------------------------------------- */

static volatile int stop;
static int created;

static void *keep_creating(void *arg)
{
	pthread_t t[4];

	while (!stop) {
		for (int i = 0; i < 4; i++)
			created += pthread_create(&t[i], NULL, nothing, NULL) == 0;
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	return arg;
}

/* What children execute meanwhile has what their parent opened and nothing else. */
static int mode_forks(char **argv)
{
	char before[4096];
	int strangers = 0, count = argv[0] ? atoi(argv[0]) : 300;
	pthread_t t;

	descriptors(before, sizeof(before));
	pthread_create(&t, NULL, keep_creating, NULL);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/proc/self/exe", "descriptors", "same", before, NULL);
			_exit(1);
		}
		strangers += wait_for(pid) != 0;
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("programs with a descriptor of somebody else: %d\n", strangers);
	return 14;
}

static int mode_same(char **argv)
{
	char now[4096];

	descriptors(now, sizeof(now));
	return strcmp(argv[0], now) != 0;
}

/* Writes to a closed descriptor, and says what a program that does so might meet. */
static int mode_closed_output(char **argv)
{
	int count = argv[0] ? atoi(argv[0]) : 20000;
	pthread_t t;

	close(1);
	pthread_create(&t, NULL, keep_creating, NULL);
	for (int i = 0; i < count; i++)
		write(1, "lost", 4);
	stop = 1;
	pthread_join(t, NULL);
	fprintf(stderr, "created %d\n", created);
	return 16;
}

/* ---- numbers that were somebody else's ------------------------------------------------------- */

static volatile int begun;

static void *until_told(void *arg)
{
	begun = 1;
	while (!*(volatile int *)arg)
		usleep(100);
	return NULL;
}

/*
 * Closes everything but the standard three and puts a pipe on all numbers up to 1023. Whoever had
 * one of them must neither close it nor read what is in the pipe, when threads end or begin.
 */
static int mode_taken_over(char **argv)
{
	struct rlimit r = {1024, 1024};
	char data[4096] = {0};
	int p[2], told = 0, open_numbers = 0, available = 0;
	pthread_t t;

	(void)argv;
	setrlimit(RLIMIT_NOFILE, &r);
	pthread_create(&t, NULL, until_told, &told);
	while (!begun)
		usleep(100);
	close_range(3, ~0u, 0);
	pipe(p);
	write(p[1], data, sizeof(data));
	for (int fd = 5; fd < 1024; fd++)
		dup2(p[0], fd);
	told = 1;
	pthread_join(t, NULL);
	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	for (int fd = 3; fd < 1024; fd++)
		open_numbers += fcntl(fd, F_GETFD) >= 0;
	ioctl(p[0], FIONREAD, &available);
	printf("open %d, in the pipe %d\n", open_numbers, available);
	return 17;
}

/* ---- copies ---------------------------------------------------------------------------------- */

extern pid_t _Fork(void) __attribute__((weak));

static int counters_open(void)
{
	char path[64], target[64];
	int n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t size = readlink(path, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = 0;
		n += strstr(target, "perf_event") != NULL;
	}
	return n;
}

static int say_counters(void *arg)
{
	dprintf(1, "%s: %d\n", (const char *)arg, counters_open());
	_exit(0);
}

/* How many event counters are open in a process with four threads, and in copies of it. */
static int mode_copies(char **argv)
{
	static char stack[65536];
	int told = 0;
	pthread_t t[3];

	(void)argv;
	for (int i = 0; i < 3; i++) {
		begun = 0;
		pthread_create(&t[i], NULL, until_told, &told);
		while (!begun)
			usleep(100);
	}
	dprintf(1, "process: %d\n", counters_open());
	pid_t pid = fork();
	if (!pid)
		say_counters("fork");
	wait_for(pid);
	pid = _Fork ? _Fork() : fork();
	if (!pid)
		say_counters("_Fork");
	wait_for(pid);
	wait_for(clone(say_counters, stack + sizeof(stack), SIGCHLD, "clone"));
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		say_counters("syscall clone");
	wait_for(pid);
#ifdef SYS_fork
	pid = (pid_t)syscall(SYS_fork);
	if (!pid)
		say_counters("syscall fork");
	wait_for(pid);
#endif
	/* they have one table of descriptors, and the counters are the parent's */
	wait_for(clone(say_counters, stack + sizeof(stack), CLONE_FILES | SIGCHLD, "shared"));
	dprintf(1, "process: %d\n", counters_open());
	told = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 18;
}

static void *keep_forking(void *arg)
{
	int *most = arg;

	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(counters_open());
		int n = wait_for(pid);
		if (n > *most)
			*most = n;
	}
	stop = 1;
	return NULL;
}

/* Forks while others open their counters. */
static int mode_copies_meanwhile(char **argv)
{
	int most = 0;
	pthread_t t;

	(void)argv;
	pthread_create(&t, NULL, keep_forking, &most);
	keep_creating(NULL);
	pthread_join(t, NULL);
	printf("at most %d\n", most);
	return 19;
}

/* ---- a lock on what standard input is ------------------------------------------------------- */

/* As others see it: a process's own lock is no hindrance to itself. */
static void say_locked(const char *when)
{
	pid_t pid = fork();

	if (!pid) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		fcntl(0, F_GETLK, &lock);
		_exit(lock.l_type != F_UNLCK);
	}
	dprintf(1, "%s: %d\n", when, wait_for(pid));
}

static int mode_locked(char **argv)
{
	say_locked(argv[0]);
	return 20;
}

/* A lock ends when its process closes any descriptor of the file, and outlives an exec. */
static int mode_locks(char **argv)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char *nothing[] = {"nothing", NULL};

	(void)argv;
	close(0);
	open("locked", O_RDWR | O_CREAT, 0600);
	fcntl(0, F_SETLK, &lock);
	say_locked("before");
	execv("/no/such/program", nothing);
	say_locked("after a failed exec");
	system("exit 3");
	pclose(popen("exit 4", "r"));
	say_locked("after shells");
	fcntl(0, F_SETLK, &lock);
	execl("/proc/self/exe", "descriptors", "locked", "after an exec", NULL);
	return 1;
}

static const struct mode modes[] = {
	{"locks", mode_locks},
	{"locked", mode_locked},
	{"copies", mode_copies},
	{"copies_meanwhile", mode_copies_meanwhile},
	{"loop", mode_loop},
	{"closefrom", mode_closefrom},
	{"close_range", mode_close_range},
	{"all", mode_all},
	{"jumps", mode_jumps},
	{"forks", mode_forks},
	{"same", mode_same},
	{"closed_output", mode_closed_output},
	{"taken_over", mode_taken_over},
};
MAIN(modes)
