/* Commands for answers; see run_command.h. */
#include "web/answers/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "web/server.h"

#define MEMORY_MAX ((rlim_t)4 << 30)
#define SAID_MAX ((size_t)65536)
#define SLICE_MS 100 /* how soon the end of the server is noticed */

extern char **environ;

/* ---- starting ---------------------------------------------------------------------------------
 */

char *web_scratch_directory(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = xasprintf("%s/plimsoll-serve-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");

	if (mkdtemp(path))
		return path;
	free(path);
	return NULL;
}

/* A directory that is removed already: no operand is the name of a file there. */
static int empty_directory(void)
{
	_cleanup_free_ char *path = web_scratch_directory();

	if (!path)
		return -errno;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd;
	(void)rmdir(path);
	return r;
}

/* Our environment, with the store that we serve, the viewer or NULL, and what --csv is to print.
 * Freed by the caller, entries excepted. */
static char **environment(char *store, char *viewer, char *format)
{
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	char **list = xcalloc(n + 5, sizeof(*list));
	for (size_t i = 0; i < n; i++)
		if (!str_prefix(environ[i], "PLIMSOLL_DB=") && !str_prefix(environ[i], "NO_COLOR="))
			list[kept++] = environ[i];
	list[kept++] = store;
	if (viewer) /* only here: what we were started with holds for all */
		list[kept++] = viewer;
	list[kept++] = (char *)(uintptr_t) "NO_COLOR=1";
	list[kept] = format;
	return list;
}

struct start {
	char *const *words, *const *environment;
	int in, out, said, dir;
	pid_t parent;
};

/* In the child, between fork() and exec(): only what is safe there. */
static _Noreturn void become(const struct start *s)
{
	const struct rlimit core = {0, 0};
	const struct rlimit cpu = {2 * COMMAND_TIME_S, 2 * COMMAND_TIME_S};
	sigset_t none;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->parent || dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 ||
	    dup2(s->said, 2) < 0 || fchdir(s->dir) < 0)
		_exit(127);
	(void)close_range(3, UINT_MAX, 0);
	(void)setrlimit(RLIMIT_CORE, &core);
	(void)setrlimit(RLIMIT_CPU, &cpu);
#ifndef __SANITIZE_ADDRESS__ /* which maps more */
	const struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};
	(void)setrlimit(RLIMIT_AS, &memory);
#endif
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)execve("/proc/self/exe", s->words, s->environment);
	_exit(127);
}

/* ---- listening --------------------------------------------------------------------------------
 */

/* Reads what is there; false at the end. */
static bool take(int fd, struct strbuf *out, size_t max, bool cut, int *ret_error)
{
	char buf[65536];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	size_t room = max - out->len;
	if ((size_t)n > room && !cut) {
		*ret_error = -EFBIG;
		return false;
	}
	strbuf_add(out, buf, (size_t)n < room ? (size_t)n : room);
	return true;
}

static int listen_to(struct web_server *w, int out, int said, struct command_end *e)
{
	uint64_t end = clock_boottime_ns() + COMMAND_TIME_S * 1000000000ull;
	struct pollfd p[2] = {{.fd = out, .events = POLLIN}, {.fd = said, .events = POLLIN}};
	int r = 0;

	while (r == 0 && (p[0].fd >= 0 || p[1].fd >= 0)) {
		if (clock_boottime_ns() >= end)
			return -ETIMEDOUT;
		if (__atomic_load_n(&w->stopping, __ATOMIC_ACQUIRE))
			return -ECANCELED;
		if (poll(p, 2, SLICE_MS) <= 0)
			continue;
		if (p[0].revents && !take(out, &e->out, COMMAND_OUTPUT_MAX, false, &r))
			p[0].fd = -1;
		if (p[1].revents && !take(said, &e->said, SAID_MAX, true, &r))
			p[1].fd = -1;
	}
	return r;
}

static int finish(pid_t pid, int r, struct command_end *e)
{
	int status = 0;

	if (r < 0)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)kill(-pid, SIGKILL); /* what it left behind */
	if (r < 0)
		return r;
	if (!WIFEXITED(status))
		return -EINTR;
	e->status = WEXITSTATUS(status);
	return 0;
}

static int run_in(struct web_server *w, struct start *s, int fds[4], struct command_end *ret)
{
	pid_t pid = fork();

	if (pid == 0)
		become(s);
	int r = pid < 0 ? -errno : 0;
	close(fds[1]);
	close(fds[3]);
	fds[1] = fds[3] = -1;
	if (r < 0)
		return r;
	(void)setpgid(pid, pid);
	return finish(pid, listen_to(w, fds[0], fds[2], ret), ret);
}

int web_spawn(const struct web_request *q, const struct command_line *l, int dir,
	      struct command_end *ret)
{
	struct web_server *w = q->server;
	_cleanup_free_ char *store = xasprintf("PLIMSOLL_DB=%s", w->store_url ? w->store_url : "");
	_cleanup_free_ char *viewer =
		*q->viewer->text ? xasprintf(VIEWER_ENV "=%s", q->viewer->text) : NULL;
	/* see cmd/command.h */
	_cleanup_free_ char *format =
		xasprintf("PLIMSOLL_OF_SERVER=%s", q->type->table ? q->type->table : "1");
	_cleanup_free_ char **env = environment(store, viewer, format);
	_cleanup_close_ int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int empty = dir < 0 ? empty_directory() : -1;
	int fds[4] = {-1, -1, -1, -1};

	ret->status = -1;
	if (l->overflow)
		return -E2BIG;
	if (in < 0 || (dir < 0 && empty < 0))
		return in < 0 ? -EIO : empty;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	int r = pipe2(fds + 2, O_CLOEXEC) < 0 ? -errno : 0;
	struct start s = {.words = l->words,
			  .environment = env,
			  .in = in,
			  .out = fds[1],
			  .said = fds[3],
			  .dir = dir < 0 ? empty : dir,
			  .parent = getpid()};
	if (r == 0)
		r = run_in(w, &s, fds, ret);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close_fd(&fds[i]);
	return r;
}

void command_end_release(struct command_end *e)
{
	strbuf_release(&e->out);
	strbuf_release(&e->said);
}
