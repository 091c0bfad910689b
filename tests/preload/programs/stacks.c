/*
 * Little stack: ends and waits in a signal handler on an alternate stack, and in threads with the
 * smallest stack there is. Below each stack lies a page that nobody may touch.
 * `stacks signal SIZE|minimum WHAT [THREADS]`, `stacks thread WHAT` or `stacks crowded
 * SIZE fails|forks|vforks [used]`.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "host.h"

extern char **environ;

static const char *what;
static pid_t child;

static void say(const char *text)
{
	write(1, text, strlen(text));
}

static void do_it(void)
{
	char *args[] = {"true", NULL};
	int status = 0;
	siginfo_t info;

	if (!strcmp(what, "_exit")) {
		_exit(51);
	} else if (!strcmp(what, "_Exit")) {
		_Exit(52);
	} else if (!strcmp(what, "syscall")) {
		syscall(SYS_exit_group, 53);
	} else if (!strcmp(what, "execve")) {
		execve("/bin/false", args, environ);
	} else if (!strcmp(what, "waitpid")) {
		waitpid(child, &status, 0);
		say(WEXITSTATUS(status) == 5 ? "taken\n" : "not taken\n");
	} else if (!strcmp(what, "waitid")) {
		waitid(P_PID, (id_t)child, &info, WEXITED);
		say(info.si_status == 5 ? "taken\n" : "not taken\n");
	}
}

static void handler(int sig)
{
	(void)sig;
	do_it();
}

/* Memory with a page below it that nobody may touch. */
static char *guarded(size_t size)
{
	size_t whole = (size + 4095) / 4096 * 4096;
	char *p = mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	mprotect(p, 4096, PROT_NONE);
	return p + 4096;
}

static void *sleeping(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int mode_signal(char **argv)
{
	size_t size = !strcmp(argv[0], "minimum") ? (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096
						  : strtoul(argv[0], NULL, 10);
	stack_t stack = {.ss_sp = guarded(size), .ss_size = size};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	pthread_t t;

	what = argv[1];
	for (int i = argv[2] ? atoi(argv[2]) : 0; i > 0; i--)
		pthread_create(&t, NULL, sleeping, NULL);
	if (!strncmp(what, "wait", 4) && !(child = fork()))
		_exit(5);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	say("on the signal stack\n");
	raise(SIGUSR1);
	say("back\n");
	return 54;
}

/* How much of a signal stack is used by the time that a copy has ended on it: `stacks used
 * [THREADS]`.
 */
static int mode_used(char **argv)
{
	enum { SIZE = 65536 };
	unsigned char *p =
		mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = p, .ss_size = SIZE};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	int untouched = 0;
	pthread_t t;

	what = "_exit";
	memset(p, 0xa5, SIZE);
	pid_t pid = fork();
	if (!pid) {
		for (int i = argv[0] ? atoi(argv[0]) : 0; i > 0; i--)
			pthread_create(&t, NULL, sleeping, NULL);
		sigaltstack(&stack, NULL);
		sigaction(SIGUSR1, &sa, NULL);
		raise(SIGUSR1);
	}
	if (wait_for(pid) != 51)
		return 1;
	while (untouched < SIZE && p[untouched] == 0xa5)
		untouched++;
	printf("%d\n", SIZE - untouched);
	return 0;
}

/* Not before pthread_create() has returned in the first thread, whose state is looked at. */
static volatile int created;

static void *on_small_stack(void *arg)
{
	while (!created)
		usleep(100);
	do_it();
	return arg;
}

static int mode_thread(char **argv)
{
	pthread_attr_t attr;
	pthread_t t;
	void *ret = NULL;

	what = argv[0];
	if (!strncmp(what, "wait", 4) && !(child = fork()))
		_exit(5);
	pthread_attr_init(&attr);
	printf("size %d\n", pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		created = 0;
		printf("created %d", pthread_create(&t, &attr, on_small_stack, (void *)8));
		created = 1;
		printf(" joined %d", pthread_join(t, &ret));
		printf(" returned %ld\n", (long)ret);
		what = "return";
	}
	return 55;
}

/* ---- executing where no library can be loaded ------------------------------------------------ */

static int result;

/* The loader of what is executed finds no descriptor: it says so, and ends with 127. */
static void execute_crowded(int sig)
{
	char *args[] = {"true", NULL};
	pid_t pid;

	(void)sig;
	if (!strcmp(what, "fails")) {
		for (int i = 0; i < 20; i++)
			result = execve("/", args, environ) < 0 ? errno : 0;
		return;
	}
	pid = !strcmp(what, "forks") ? fork() : vfork();
	if (!pid) {
		execve("/bin/true", args, environ);
		_exit(100 + errno);
	}
	waitpid(pid, &result, 0);
	result = WEXITSTATUS(result);
}

/*
 * On a signal stack with data of the program below it. Every descriptor is in use, so that the
 * environment for the next program is another. used: how much of the stack was.
 */
static int mode_crowded(char **argv)
{
	enum { ALL = 1 << 20 };
	size_t size = strtoul(argv[0], NULL, 10), overwritten = 0, lowest;
	unsigned char *p =
		mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = p + ALL - size, .ss_size = size};
	struct sigaction sa = {.sa_handler = execute_crowded, .sa_flags = SA_ONSTACK};

	what = argv[1];
	memset(p, 0xa5, ALL);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){32, 32});
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	void *before = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(before, 65536);
	raise(SIGUSR1);
	void *after = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < ALL - size; i++)
		overwritten += p[i] != 0xa5;
	for (lowest = 0; lowest < ALL && p[lowest] == 0xa5;)
		lowest++;
	if (argv[2])
		printf("%zu\n", ALL - lowest);
	else
		printf("result %d, overwritten %zu, memory %s\n", result, overwritten,
		       before == after ? "given back" : "kept");
	return 56;
}

static const struct mode modes[] = {{"used", mode_used},
				    {"signal", mode_signal},
				    {"thread", mode_thread},
				    {"crowded", mode_crowded}};
MAIN(modes)
