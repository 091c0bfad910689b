/*
 * Every function that libplimsoll.so stands in for, in every place that a program may call it from:
 * plainly, in a second thread, in a child of vfork, in a signal handler.
 *
 *     matrix                    all cells, each in a process of its own: results, errno, memory
 *     matrix list               the functions
 *     matrix cell CALL PLACE    one cell
 *     matrix arrived WORD       what the cells execute
 *
 * Everything is printed the same way in every run. The lines of a cell are sorted: a daemon speaks
 * while its maker does.
 */
#include "matrix_calls.h"

/* ---- the table ------------------------------------------------------------------------------ */

enum place { PLAIN, THREAD, VFORK, SIGNAL, PLACES };
static const char *const places[PLACES] = {"plain", "thread", "vfork", "signal"};

/* Some functions have several cells: what stands behind the slash tells them apart. */
struct call {
	const char *name;
	void (*run)(void);
	const char *cannot[PLACES]; /* why there is no such cell */
};

static const char borrowed[] = "a thread of a child that runs on its parent's memory is none that "
			       "libc knows";

static const struct call calls[] = {
	{"_Exit", call__Exit},
	{"_Fork", call__Fork},
	{"_exit", call__exit},
	{"chroot", call_chroot},
	{"clone", call_clone},
	{"daemon", call_daemon},
	{"execl", call_execl},
	{"execle", call_execle},
	{"execlp", call_execlp},
	{"execv", call_execv},
	{"execve", call_execve},
	{"execveat", call_execveat},
	{"execvp", call_execvp},
	{"execvpe", call_execvpe},
	{"fclose", call_fclose},
	{"fexecve", call_fexecve},
	{"pclose", call_pclose},
	{"pivot_root", call_pivot_root},
	{"prctl", call_prctl},
	{"prctl/filter", call_prctl_filter},
	{"pthread_create", call_pthread_create, {[VFORK] = borrowed}},
	{"ptrace", call_ptrace},
	{"quick_exit", call_quick_exit},
	{"setns", call_setns},
	{"syscall", call_syscall},
	{"syscall/clone", call_syscall_clone},
	{"syscall/execve", call_syscall_execve},
	{"syscall/exit_group", call_syscall_exit_group},
	{"syscall/filter", call_syscall_filter},
	{"system", call_system},
	{"thrd_create", call_thrd_create, {[VFORK] = borrowed}},
	{"wait", call_wait},
	{"wait3", call_wait3},
	{"wait4", call_wait4},
	{"waitid", call_waitid},
	{"waitpid", call_waitpid},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* ---- the places ----------------------------------------------------------------------------- */

static const struct call *current;

static void *in_thread(void *arg)
{
	current->run();
	return arg;
}

static void in_handler(int sig)
{
	(void)sig;
	current->run();
}

static void run_vfork(void)
{
	volatile unsigned long before = preloaded_data();
	volatile pid_t pid = vfork();

	if (!pid) {
		current->run();
		_exit(50);
	}
	/* what ends a child or replaces it leaves its parent's memory alone, in the library, too */
	if (strstr(current->name, "exec") || strstr(current->name, "xit"))
		say("memory of the library %s\n",
		    preloaded_data() == before ? "the same" : "CHANGED");
	say("child %d\n", wait_for(pid));
}

static void run_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, in_thread, NULL) != 0)
		_exit(97);
	pthread_join(t, NULL);
}

static void run_signal(void)
{
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
}

static int run_cell(enum place place)
{
	char before[256], after[256];
	sigset_t mask, now;

	give();
	descriptors(before, sizeof(before));
	sigprocmask(SIG_BLOCK, NULL, &mask);
	switch (place) {
	case THREAD:
		run_thread();
		break;
	case VFORK:
		run_vfork();
		break;
	case SIGNAL:
		run_signal();
		break;
	default:
		current->run();
	}
	sigprocmask(SIG_BLOCK, NULL, &now);
	descriptors(after, sizeof(after));
	for (int sig = 1; sig < 65; sig++)
		if (sigismember(&mask, sig) != sigismember(&now, sig))
			say("SIGNAL %d\n", sig);
	if (strcmp(before, after) != 0)
		say("DESCRIPTORS %sbecame %s\n", before, after);
	flush_said();
	return 10 + (int)place;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_sorted(char *text)
{
	char *lines[256], *save = NULL;
	size_t n = 0;

	for (char *l = strtok_r(text, "\n", &save); l && n < 256; l = strtok_r(NULL, "\n", &save))
		lines[n++] = l;
	qsort(lines, n, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < n; i++)
		printf("  %s\n", lines[i]);
}

/* All who write are gone when the pipe ends. */
static void print_cell(const struct call *c, enum place place)
{
	char text[16384];
	size_t used = 0;
	ssize_t n;
	int p[2];

	printf("%s %s", c->name, places[place]);
	if (c->cannot[place]) {
		printf(": cannot be: %s\n", c->cannot[place]);
		return;
	}
	fflush(stdout);
	if (pipe2(p, O_CLOEXEC) < 0)
		_exit(96);
	pid_t pid = fork();
	if (!pid) {
		dup2(p[1], 1);
		execl(self, "matrix", "cell", c->name, places[place], NULL);
		_exit(95);
	}
	close(p[1]);
	while ((n = read(p[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	close(p[0]);
	text[used] = 0;
	printf(": status %d\n", wait_for(pid));
	print_sorted(text);
}

static int list(void)
{
	for (size_t i = 0; i < CALLS; i++)
		if (!strchr(calls[i].name, '/'))
			puts(calls[i].name);
	return 0;
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc == 3 && !strcmp(argv[1], "arrived")) {
		say("arrived with %s\n", argv[2]);
		flush_said();
		return 7;
	}
	for (size_t i = 0; argc == 4 && i < CALLS; i++)
		for (int place = 0; place < PLACES; place++)
			if (!strcmp(calls[i].name, argv[2]) && !strcmp(places[place], argv[3])) {
				current = &calls[i];
				return run_cell(place);
			}
	for (size_t i = 0; i < CALLS; i++)
		for (int place = 0; place < PLACES; place++)
			print_cell(&calls[i], place);
	return 0;
}
