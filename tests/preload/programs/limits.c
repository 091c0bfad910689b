/*
 * A limit on the size of files, and SIGXFSZ in every state it can be in:
 *
 *     limits set BYTES default|ignored|blocked none|thread|process PROGRAM [ARGUMENT...]
 *     limits report [own]     what a program under such a limit sees; own: and writes a file itself
 *     limits caught BYTES     the same with a handler
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "host.h"

static void set_limit(const char *bytes)
{
	struct rlimit r = {strtoul(bytes, NULL, 10), RLIM_INFINITY};

	setrlimit(RLIMIT_FSIZE, &r);
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	sigprocmask(how, &set, NULL);
}

/* The limited program finds no record file and begins a new one. */
static void forget_records(void)
{
	const char *directory = getenv("PLIMSOLL_OUTPUT");
	DIR *d = directory ? opendir(directory) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static int mode_set(char **argv)
{
	if (!strcmp(argv[1], "ignored"))
		signal(SIGXFSZ, SIG_IGN);
	if (!strcmp(argv[1], "blocked"))
		block(SIG_BLOCK);
	if (!strcmp(argv[2], "thread"))
		raise(SIGXFSZ);
	if (!strcmp(argv[2], "process"))
		kill(getpid(), SIGXFSZ);
	set_limit(argv[0]);
	forget_records();
	execv(argv[3], argv + 3);
	return 126;
}

static void *nothing(void *arg)
{
	return arg;
}

static void use_everything(void)
{
	pthread_t t;
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	printf("child %d\n", wait_for(pid));
	printf("thread %d", pthread_create(&t, NULL, nothing, NULL));
	printf(" %d\n", pthread_join(t, NULL));
}

/* How many are waiting: a process and each of its threads can hold one. */
static void take_pending(void)
{
	struct timespec zero = {0, 0};
	siginfo_t info;
	sigset_t set;
	int taken = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (taken < 5 && sigtimedwait(&set, &info, &zero) == SIGXFSZ) {
		printf("taken: code %d\n", info.si_code);
		taken++;
	}
	printf("taken %d\n", taken);
}

static int mode_report(char **argv)
{
	print_signals("main");
	use_everything();
	print_signals("used");
	fflush(stdout);
	if (argv[0]) {
		int fd = open("own", O_WRONLY | O_CREAT | O_APPEND, 0600);
		char block[8192] = {0};

		for (int i = 0; i < 3; i++) {
			ssize_t n = write(fd, block, sizeof(block));
			printf("written %zd errno %d\n", n, n < 0 ? errno : 0);
			fflush(stdout);
		}
	}
	take_pending();
	return 21;
}

static volatile sig_atomic_t caught;

static void count(int sig)
{
	(void)sig;
	caught++;
}

static int mode_caught(char **argv)
{
	struct sigaction sa = {.sa_handler = count};

	sigaction(SIGXFSZ, &sa, NULL);
	set_limit(argv[0]);
	use_everything();
	printf("caught %d\n", (int)caught);
	int fd = open("own", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 3; i++)
		printf("written %zd\n", write(fd, "12345678", 8));
	printf("caught %d\n", (int)caught);
	return 22;
}

static const struct mode modes[] = {
	{"set", mode_set}, {"report", mode_report}, {"caught", mode_caught}};
MAIN(modes)
