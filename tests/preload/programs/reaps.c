/*
 * Children that libc waits for from within: those of system(), pclose() and fclose(). `reaps MODE`
 * prints what each call returned and left in errno, and how many descriptors and children stay.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "host.h"

#define SENTINEL 4242

#define ROW(what, expression)                                  \
	do {                                                   \
		fflush(stdout);                                \
		errno = SENTINEL;                              \
		long r_ = (long)(expression);                  \
		printf("%s: %lx errno %d\n", what, r_, errno); \
		fflush(stdout);                                \
	} while (0)

static int left_over(void)
{
	char text[1024];

	descriptors(text, sizeof(text));
	printf("open: %s\n", text);
	ROW("left over", waitpid(-1, NULL, WNOHANG));
	return 0;
}

/* Every way that a shell can end. */
static int mode_system(char **argv)
{
	(void)argv;
	ROW("exit", system("exit 3"));
	ROW("killed", system("kill -9 $$"));
	ROW("terminated", system("kill -15 $$"));
	ROW("command not found", system("nosuchcommand 2>/dev/null"));
	ROW("a shell?", system(NULL));
	ROW("nothing", system(""));
	print_signals("after");
	return left_over();
}

static int mode_kill(char **argv)
{
	ROW("killed", system(argv[0]));
	return 0;
}

/* No process can be made. */
static int mode_refused(char **argv)
{
	struct rlimit none = {0, 0};

	(void)argv;
	setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, RLIM_INFINITY});
	setrlimit(RLIMIT_NPROC, &none);
	ROW("refused", system("exit 3") != 0);
	setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
	return left_over();
}

static int mode_ignored(char **argv)
{
	(void)argv;
	signal(SIGCHLD, SIG_IGN);
	ROW("SIGCHLD ignored", system("exit 3"));
	ROW("SIGCHLD ignored", pclose(popen("exit 3", "r")));
	return left_over();
}

static FILE *say(const char *command, const char *mode)
{
	FILE *f = popen(command, mode);

	if (!f)
		exit(97);
	return f;
}

static int mode_pclose(char **argv)
{
	char line[64];

	(void)argv;
	FILE *f = say("echo one; exit 4", "r");
	ROW("read", fgets(line, sizeof(line), f) != NULL);
	ROW("exit", pclose(f));
	ROW("killed", pclose(say("kill -9 $$", "r")));
	f = say("read x; exit $x", "w");
	fprintf(f, "5\n");
	ROW("written", pclose(f));
	f = say("exec <&-; exit 0", "w");
	usleep(200000);
	signal(SIGPIPE, SIG_IGN);
	fprintf(f, "lost\n");
	ROW("nobody reads", pclose(f));
	FILE *a = say("exit 6", "r"), *b = say("exit 7", "re");
	ROW("second first", pclose(b));
	ROW("then the first", pclose(a));
	ROW("no stream of popen", pclose(fopen("/dev/null", "r")));
	return left_over();
}

static int mode_fclose(char **argv)
{
	(void)argv;
	ROW("exit", fclose(say("exit 4", "r")));
	ROW("killed", fclose(say("kill -9 $$", "r")));
	ROW("file", fclose(fopen("/dev/null", "r")));
	FILE *f = fopen("/dev/full", "w");
	fputs("x", f);
	ROW("full", fclose(f));
	char *text;
	size_t size;
	f = open_memstream(&text, &size);
	fputs("x", f);
	ROW("memory", fclose(f));
	ROW("standard input", fclose(stdin));
	return left_over();
}

/* The child was waited for by somebody else. */
static int mode_taken(char **argv)
{
	(void)argv;
	FILE *f = say("exit 8", "r");
	int status;

	ROW("waited for", wait(&status) > 0 && WEXITSTATUS(status) == 8);
	ROW("pclose", pclose(f));
	f = say("exit 9", "r");
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		ROW("copy", pclose(f));
		_exit(0);
	}
	wait_for(pid);
	ROW("original", pclose(f));
	return left_over();
}

static int reap_cookie(void *cookie)
{
	return wait_for((pid_t)(intptr_t)cookie) == 3 ? 0 : -1;
}

static pid_t shell(const char *command)
{
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(126);
	}
	return pid;
}

/* Streams whose cookie looks like a child of popen(): the end of one is the cookie's business, and
 * the other one still runs. */
static int mode_cookies(char **argv)
{
	intptr_t pid = shell("exit 3");
	FILE *f = fopencookie((void *)pid, "r", (cookie_io_functions_t){.close = reap_cookie});

	(void)argv;
	ROW("taken by the cookie", fclose(f));
	pid = shell("sleep 0.2; exit 4");
	f = fopencookie((void *)pid, "r", (cookie_io_functions_t){0});
	ROW("still running", fclose(f));
	ROW("its end", wait_for((pid_t)pid));
	pid = shell("exit 5");
	f = fopencookie((void *)pid, "r", (cookie_io_functions_t){0});
	ROW("pclose", pclose(f));
	ROW("its end", wait_for((pid_t)pid));
	return left_over();
}

static void *run_shell(void *arg)
{
	return (void *)(long)system(arg);
}

/* Several at once: each gets its own. */
static int mode_threads(char **argv)
{
	static const char *const commands[] = {"sleep 0.2; kill -9 $$", "sleep 0.1; exit 5",
					       "sleep 0.15; kill -15 $$", "exit 6"};
	pthread_t t[4];
	void *ret;

	(void)argv;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run_shell, (void *)commands[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &ret);
		printf("%d: %lx\n", i, (long)ret);
	}
	return left_over();
}

static void *run_shells(void *arg)
{
	for (int i = 0; i < 20; i++)
		system(arg);
	return NULL;
}

/* Two at once again and again, whose shells become ones that tell nobody how they end. */
static int mode_mute(char **argv)
{
	pthread_t t[2];

	(void)argv;
	pthread_create(&t[0], NULL, run_shells, "exec env -i /bin/sh -c 'kill -9 $$'");
	pthread_create(&t[1], NULL, run_shells, "exec env -i /bin/sh -c 'exit 5'");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return left_over();
}

/* A thread that is cancelled in system() ends its child. */
static int mode_cancelled(char **argv)
{
	pthread_t t;
	void *ret;

	(void)argv;
	pthread_create(&t, NULL, run_shell, "exec sleep 100");
	usleep(300000);
	pthread_cancel(t);
	pthread_join(t, &ret);
	printf("cancelled %d\n", ret == PTHREAD_CANCELED);
	print_signals("after");
	return left_over();
}

static volatile sig_atomic_t taken;

static void on_child(int sig)
{
	(void)sig;
	taken++;
}

/* Handlers see the same, and SIGINT is ignored meanwhile. */
static int mode_handlers(char **argv)
{
	(void)argv;
	signal(SIGCHLD, on_child);
	signal(SIGINT, on_child);
	ROW("killed", system("kill -INT $PPID; sleep 0.1; kill -9 $$"));
	printf("handled %d\n", (int)taken);
	ROW("pclose", pclose(say("sleep 0.1; kill -9 $$", "r")));
	printf("handled %d\n", (int)taken);
	print_signals("after");
	return left_over();
}

/* system() in some threads, children that are waited for by their pid in the others. */
#define BESIDE 8
#define EACH 12

static void *spawn_and_wait(void *way)
{
	for (int i = 0; i < EACH; i++) {
		pid_t pid = way ? fork() : vfork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

static void *call_system(void *arg)
{
	for (int i = 0; i < EACH; i++)
		if (system("exit 0"))
			abort();
	return arg;
}

static int mode_beside(char **argv)
{
	pthread_t threads[BESIDE];

	for (int i = 0; i < BESIDE; i++)
		pthread_create(&threads[i], NULL, i % 2 ? spawn_and_wait : call_system,
			       argv[2] ? "fork" : NULL);
	for (int i = 0; i < BESIDE; i++)
		pthread_join(threads[i], NULL);
	return left_over();
}

static const struct mode modes[] = {
	{"beside", mode_beside},       {"system", mode_system},     {"kill", mode_kill},
	{"refused", mode_refused},     {"ignored", mode_ignored},   {"pclose", mode_pclose},
	{"fclose", mode_fclose},       {"taken", mode_taken},       {"threads", mode_threads},
	{"cancelled", mode_cancelled}, {"handlers", mode_handlers}, {"cookies", mode_cookies},
	{"mute", mode_mute},
};
MAIN(modes)
