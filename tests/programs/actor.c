/*
 * A program that ends, forks, executes and spawns threads in every way there is, for the tests of
 * collection: `actor MODE [ARGUMENT...]`. Built dynamically, statically and with musl.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int number(char **argv, int i, int fallback)
{
	return argv[i] ? (int)strtol(argv[i], NULL, 10) : fallback;
}

/* Burns CPU for so many milliseconds. */
static void burn(int ms)
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

static void raw_exit(int code)
{
	register long a __asm__("rax") = SYS_exit_group;
	register long b __asm__("rdi") = code;

	__asm__ volatile("syscall" ::"r"(a), "r"(b) : "rcx", "r11", "memory");
	for (;;)
		;
}

/* ---- ends ----------------------------------------------------------------------------------- */

static int mode_return(char **argv)
{
	return number(argv, 0, 0);
}

static int mode_exit(char **argv)
{
	exit(number(argv, 0, 0));
}

static int mode__exit(char **argv)
{
	_exit(number(argv, 0, 0));
}

static int mode__Exit(char **argv)
{
	_Exit(number(argv, 0, 0));
}

static int mode_quick_exit(char **argv)
{
	quick_exit(number(argv, 0, 0));
}

static int mode_raw_exit(char **argv)
{
	raw_exit(number(argv, 0, 0));
	return 0;
}

static int mode_syscall_exit(char **argv)
{
	syscall(SYS_exit_group, number(argv, 0, 0));
	return 0;
}

static int mode_kill(char **argv)
{
	kill(getpid(), number(argv, 0, SIGKILL));
	pause();
	return 0;
}

static int mode_segv(char **argv)
{
	(void)argv;
	*(volatile int *)8 = 1;
	return 0;
}

static int mode_abort(char **argv)
{
	(void)argv;
	abort();
}

static int mode_burn(char **argv)
{
	burn(number(argv, 0, 10));
	return number(argv, 1, 0);
}

static int mode_sleep(char **argv)
{
	usleep((useconds_t)number(argv, 0, 100) * 1000);
	return number(argv, 1, 0);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 99;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int mode_fork(char **argv)
{
	pid_t pid = fork();

	if (!pid)
		exit(number(argv, 0, 7));
	return wait_for(pid) == number(argv, 0, 7) ? 0 : 98;
}

static int mode_fork_kill(char **argv)
{
	pid_t pid = fork();

	(void)argv;
	if (!pid) {
		kill(getpid(), SIGKILL);
		pause();
	}
	return wait_for(pid) == 137 ? 0 : 98;
}

static int mode_vfork(char **argv)
{
	static int shared;
	pid_t pid = vfork();

	(void)argv;
	if (!pid) {
		shared = 1; /* only a true vfork lets the parent see this */
		_exit(5);
	}
	return wait_for(pid) == 5 && shared ? 0 : 98;
}

/* The parent takes its child before that has been off a processor once: nothing but CPU time tells
 * of it. */
static int mode_vfork_spin(char **argv)
{
	int status, taken;
	pid_t pid = vfork();

	(void)argv;
	if (!pid)
		_exit(5);
	while ((taken = waitpid(pid, &status, WNOHANG)) == 0)
		;
	return taken == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 0 : 98;
}

static int mode_vfork_exec(char **argv)
{
	pid_t pid = vfork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	return wait_for(pid);
}

static char clone_stack[65536];

static int clone_child(void *arg)
{
	(void)arg;
	_exit(6);
}

static int mode_clone(char **argv)
{
	pid_t pid = clone(clone_child, clone_stack + sizeof(clone_stack), SIGCHLD, NULL);

	(void)argv;
	return wait_for(pid) == 6 ? 0 : 98;
}

static int mode_spawn(char **argv)
{
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) != 0)
		return 97;
	return wait_for(pid);
}

/* starts the command N times and waits for all of them */
static int mode_spawn_many(char **argv)
{
	int count = number(argv, 0, 4), bad = 0;
	pid_t pid[64];

	for (int i = 0; i < count && i < 64; i++)
		if (posix_spawnp(&pid[i], argv[1], NULL, NULL, argv + 1, environ) != 0)
			return 97;
	for (int i = 0; i < count && i < 64; i++)
		bad |= wait_for(pid[i]);
	return bad;
}

static void *thread_writes(void *arg)
{
	static char buf[4096];
	int fd = open("/dev/null", O_WRONLY);

	for (int i = 0; i < (int)(long)arg; i++)
		if (write(fd, buf, sizeof(buf)) != sizeof(buf))
			return NULL;
	close(fd);
	return arg;
}

/* actor thread_writes PAGES [COMMAND...]: another thread writes so much, then starts the command
 * and waits for it */
static int mode_thread_writes(char **argv)
{
	pthread_t t;
	void *ret = NULL;

	if (pthread_create(&t, NULL, thread_writes, (void *)(long)number(argv, 0, 1)) != 0 ||
	    pthread_join(t, &ret) != 0 || !ret)
		return 97;
	return argv[1] ? mode_spawn(argv + 1) : 0;
}

/* burns a little, then executes the command in place */
static int mode_then_exec(char **argv)
{
	burn(number(argv, 0, 0));
	execvp(argv[1], argv + 1);
	return 97;
}

static int mode_system(char **argv)
{
	int status = system(argv[0]);

	return WEXITSTATUS(status);
}

static int mode_popen(char **argv)
{
	FILE *p = popen(argv[0], "r");
	char line[256];

	while (p && fgets(line, sizeof(line), p))
		fputs(line, stdout);
	return p ? WEXITSTATUS(pclose(p)) : 97;
}

/* waits with every call of the family, in turn */
static int mode_waits(char **argv)
{
	(void)argv;
	for (int i = 0; i < 5; i++) {
		struct rusage ru;
		siginfo_t info;
		int status = 0;
		pid_t pid = fork(), got = 0;

		if (!pid)
			_exit(10 + i);
		switch (i) {
		case 0:
			got = wait(&status);
			break;
		case 1:
			got = waitpid(pid, &status, 0);
			break;
		case 2:
			got = wait3(&status, 0, &ru);
			break;
		case 3:
			got = wait4(pid, &status, 0, &ru);
			break;
		default:
			/* looked at first without taking it: that must not count */
			waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
			if (waitid(P_PID, (id_t)pid, &info, WEXITED) == 0)
				got = info.si_pid;
			status = info.si_status << 8;
			break;
		}
		if (got != pid || WEXITSTATUS(status) != 10 + i)
			return 90 + i;
	}
	return 0;
}

static int mode_ignore_children(char **argv)
{
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();

	if (!pid) {
		burn(number(argv, 0, 10));
		exit(4);
	}
	return wait(NULL) < 0 && errno == ECHILD ? 0 : 98;
}

/* fork, setsid, fork: the classic way into the background */
static int mode_setsid(char **argv)
{
	pid_t pid = fork();

	if (pid)
		return wait_for(pid);
	setsid();
	if (fork())
		_exit(0);
	usleep((useconds_t)number(argv, 0, 5) * 1000);
	_exit(9);
}

static int mode_daemon(char **argv)
{
	if (daemon(1, 1) < 0)
		return 97;
	usleep((useconds_t)number(argv, 0, 5) * 1000);
	return 9;
}

/* ---- exec
 * ---------------------------------------------------------------------------------------- */

static char *self;

/* executes itself N times, each time burning a little, then ends with N */
static int mode_chain(char **argv)
{
	int left = number(argv, 0, 3), total = number(argv, 1, left);
	char a[16], b[16];

	burn(number(argv, 2, 0));
	if (!left)
		return total;
	snprintf(a, sizeof(a), "%d", left - 1);
	snprintf(b, sizeof(b), "%d", total);
	char *next[] = {self, (char *)"chain", a, b, argv[0] && argv[1] ? argv[2] : NULL, NULL};
	execve(self, next, environ);
	return 97;
}

/* exec with the variant that is named, of /bin/echo */
static int mode_exec(char **argv)
{
	const char *how = argv[0];
	char *args[] = {(char *)"echo", (char *)"one", (char *)"two words", NULL};
	char *env[] = {(char *)"A=B", NULL};

	if (!strcmp(how, "execl"))
		execl("/bin/echo", "echo", "one", "two words", (char *)NULL);
	else if (!strcmp(how, "execle"))
		execle("/bin/echo", "echo", "one", "two words", (char *)NULL, environ);
	else if (!strcmp(how, "execlp"))
		execlp("echo", "echo", "one", "two words", (char *)NULL);
	else if (!strcmp(how, "execv"))
		execv("/bin/echo", args);
	else if (!strcmp(how, "execve"))
		execve("/bin/echo", args, environ);
	else if (!strcmp(how, "execvp"))
		execvp("echo", args);
	else if (!strcmp(how, "execvpe"))
		execvpe("echo", args, environ);
	else if (!strcmp(how, "fexecve"))
		fexecve(open("/bin/echo", O_RDONLY | O_CLOEXEC), args, environ);
	else if (!strcmp(how, "execveat"))
		syscall(SYS_execveat, AT_FDCWD, "/bin/echo", args, environ, 0);
	else if (!strcmp(how, "bare"))
		execve("/bin/echo", args, env);
	else if (!strcmp(how, "fails")) {
		execve("/no/such/file", args, environ);
		if (errno != ENOENT)
			return 96;
		execve("/etc/passwd", args, environ);
		if (errno != EACCES)
			return 95;
		setenv("PATH", "/usr/bin:/bin", 1);
		execvp("no-such-command-anywhere", args);
		return errno == ENOENT ? 0 : 94;
	}
	return 97;
}

/* ---- threads
 * ------------------------------------------------------------------------------------- */

static void *thread_body(void *arg)
{
	burn((int)(long)arg);
	return arg;
}

static int thread_body_c11(void *arg)
{
	burn((int)(long)arg);
	return 0;
}

static void *thread_pthread_exit(void *arg)
{
	burn((int)(long)arg);
	pthread_exit((void *)7);
}

static void *thread_cancelled(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* actor threads COUNT [MS] [AT_ONCE] */
static int mode_threads(char **argv)
{
	int count = number(argv, 0, 4), ms = argv[0] ? number(argv, 1, 0) : 0;
	int batch = argv[0] && argv[1] ? number(argv, 2, 16) : 16;
	pthread_t t[4096];

	if (batch > 4096)
		batch = 4096;
	for (int done = 0; done < count;) {
		int n = count - done < batch ? count - done : batch;

		for (int i = 0; i < n; i++)
			if (pthread_create(&t[i], NULL, thread_body, (void *)(long)ms) != 0)
				return 97;
		for (int i = 0; i < n; i++) {
			void *ret = NULL;

			if (pthread_join(t[i], &ret) != 0 || ret != (void *)(long)ms)
				return 96;
		}
		done += n;
	}
	return 0;
}

static int mode_c11_threads(char **argv)
{
	int count = number(argv, 0, 4);

	for (int i = 0; i < count; i++) {
		thrd_t t;
		int result = -1;

		if (thrd_create(&t, thread_body_c11, NULL) != thrd_success)
			return 97;
		if (thrd_join(t, &result) != thrd_success || result != 0)
			return 96;
	}
	return 0;
}

static int mode_thread_ends(char **argv)
{
	pthread_t t;
	void *ret;

	(void)argv;
	pthread_create(&t, NULL, thread_pthread_exit, NULL);
	pthread_join(t, &ret);
	if (ret != (void *)7)
		return 96;
	pthread_create(&t, NULL, thread_cancelled, NULL);
	usleep(1000);
	pthread_cancel(t);
	pthread_join(t, &ret);
	return ret == PTHREAD_CANCELED ? 0 : 95;
}

/* ends while other threads still run */
static int mode_live_threads(char **argv)
{
	int count = number(argv, 0, 3);
	pthread_t t;

	for (int i = 0; i < count; i++)
		pthread_create(&t, NULL, thread_cancelled, NULL);
	usleep(2000);
	return 0;
}

/* a forked copy that ends, as the argument says, while its threads still run: after so many
 * milliseconds by exit, _exit or in a thread that is not its first */
static void *ending_thread(void *arg)
{
	usleep((useconds_t)(long)arg * 1000);
	exit(8);
}

static int mode_fork_live_threads(char **argv)
{
	int ms = number(argv, 1, 0);
	pthread_t t;
	pid_t pid = fork();

	if (pid)
		return wait_for(pid) == 8 ? 0 : 98;
	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, thread_cancelled, NULL);
	if (!strcmp(argv[0], "thread")) {
		pthread_create(&t, NULL, ending_thread, (void *)(long)ms);
		pause();
	}
	usleep((useconds_t)ms * 1000);
	if (!strcmp(argv[0], "_exit"))
		_exit(8);
	exit(8);
}

static void *last_thread(void *arg)
{
	usleep(20000);
	burn(5);
	return arg;
}

/* the first thread leaves, the process goes on */
static int mode_leader_leaves(char **argv)
{
	pthread_t t;

	(void)argv;
	pthread_create(&t, NULL, last_thread, NULL);
	pthread_exit(NULL);
}

static void *waiting_thread(void *arg)
{
	int status;

	waitpid(*(pid_t *)arg, &status, 0);
	return NULL;
}

/* a thread that is cancelled while it waits for a child: waitpid is a cancellation point */
static int mode_cancel_wait(char **argv)
{
	pid_t pid = fork();
	pthread_t t;
	void *ret;

	(void)argv;
	if (!pid) {
		pause();
		_exit(0);
	}
	pthread_create(&t, NULL, waiting_thread, &pid);
	usleep(5000);
	pthread_cancel(t);
	pthread_join(t, &ret);
	kill(pid, SIGTERM);
	return ret == PTHREAD_CANCELED && wait_for(pid) == 128 + SIGTERM ? 0 : 98;
}

/* ---- I/O
 * ------------------------------------------------------------------------------------------ */

/* writes BYTES to a file in CALLS calls, and says what the kernel booked for us */
static int mode_io(char **argv)
{
	const char *path = argv[0];
	int calls = number(argv, 1, 10), bytes = number(argv, 2, 1000);
	static char buf[1 << 20];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < calls; i++)
		if (write(fd, buf, (size_t)bytes) != bytes)
			return 97;
	close(fd);
	fd = open(path, O_RDONLY);
	for (int i = 0; i < calls; i++)
		if (read(fd, buf, (size_t)bytes) != bytes)
			return 96;
	close(fd);
	return 0;
}

/* prints without flushing: libc writes it after every exit handler */
static int mode_printf(char **argv)
{
	for (int i = 0; i < number(argv, 0, 10); i++)
		printf("x");
	return 0;
}

/* actor touch_memory MIB [MS]: keeps it for so long */
static int mode_touch_memory(char **argv)
{
	size_t n = (size_t)number(argv, 0, 8) << 20;
	char *p = malloc(n);

	memset(p, 1, n);
	__asm__ volatile("" ::"r"(p) : "memory");
	usleep((useconds_t)(argv[0] ? number(argv, 1, 0) : 0) * 1000);
	free(p);
	return 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *thread_locks(void *arg)
{
	for (int i = 0; i < (int)(long)arg; i++) {
		pthread_mutex_lock(&lock);
		burn(10);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* actor lock COUNT TIMES: threads of which one at a time computes */
static int mode_lock(char **argv)
{
	int count = number(argv, 0, 4), times = argv[0] ? number(argv, 1, 10) : 10;
	pthread_t t[64];

	for (int i = 0; i < count && i < 64; i++)
		if (pthread_create(&t[i], NULL, thread_locks, (void *)(long)times) != 0)
			return 97;
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} modes[] = {
	{"return", mode_return},
	{"exit", mode_exit},
	{"_exit", mode__exit},
	{"_Exit", mode__Exit},
	{"quick_exit", mode_quick_exit},
	{"raw_exit", mode_raw_exit},
	{"syscall_exit", mode_syscall_exit},
	{"kill", mode_kill},
	{"segv", mode_segv},
	{"abort", mode_abort},
	{"burn", mode_burn},
	{"sleep", mode_sleep},
	{"fork", mode_fork},
	{"fork_kill", mode_fork_kill},
	{"vfork", mode_vfork},
	{"vfork_spin", mode_vfork_spin},
	{"vfork_exec", mode_vfork_exec},
	{"clone", mode_clone},
	{"spawn", mode_spawn},
	{"spawn_many", mode_spawn_many},
	{"then_exec", mode_then_exec},
	{"system", mode_system},
	{"popen", mode_popen},
	{"waits", mode_waits},
	{"ignore_children", mode_ignore_children},
	{"setsid", mode_setsid},
	{"daemon", mode_daemon},
	{"chain", mode_chain},
	{"exec", mode_exec},
	{"threads", mode_threads},
	{"thread_writes", mode_thread_writes},
	{"c11_threads", mode_c11_threads},
	{"thread_ends", mode_thread_ends},
	{"live_threads", mode_live_threads},
	{"fork_live_threads", mode_fork_live_threads},
	{"leader_leaves", mode_leader_leaves},
	{"cancel_wait", mode_cancel_wait},
	{"io", mode_io},
	{"printf", mode_printf},
	{"touch_memory", mode_touch_memory},
	{"lock", mode_lock},
};

int main(int argc, char **argv)
{
	self = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			return modes[i].run(argv + 2);
	fprintf(stderr, "usage: actor MODE [ARGUMENT...]\n");
	return 2;
}
