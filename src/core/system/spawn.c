/* Runs commands; see spawn.h. */
#include "core/system/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/text/text.h"

#define MS 1000000ull
#define SLICE_MS 50 /* how soon the end is noticed while another process holds the pipe */

/* ---- starting -------------------------------------------------------------------------------- */

/* The read end of a pipe that contains the input already, so that nobody waits for the command to
 * read. */
static int make_input(const char *text)
{
	int fds[2];

	if (!text || !*text) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		return fd < 0 ? -errno : fd;
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	ssize_t n = write(fds[1], text, strlen(text));
	int error = n < 0 ? errno : EFBIG;
	close(fds[1]);
	if (n == (ssize_t)strlen(text) && fcntl(fds[0], F_SETFL, 0) == 0)
		return fds[0];
	close(fds[0]);
	return -error;
}

/* With an environment that does not depend on ours. */
static int spawn(const struct spawn *c, int in, int out, pid_t *ret)
{
	static const char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
	const char *home = getenv("HOME");
	_cleanup_free_ char *home_is = xasprintf("HOME=%s", home ? home : "/");
	char *const env[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)locale, home_is, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	sigemptyset(&none);
	sigfillset(&all);
	int r = posix_spawn_file_actions_adddup2(&actions, in, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, out, 1);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, out, 2);
	r = r ? r : posix_spawnattr_setsigmask(&attr, &none);
	r = r ? r : posix_spawnattr_setsigdefault(&attr, &all);
	r = r ? r
	      : posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
							POSIX_SPAWN_SETSIGDEF);
	r = r ? r
	      : posix_spawn(ret, c->path, &actions, &attr, (char *const *)(uintptr_t)c->argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* ---- listening ------------------------------------------------------------------------------- */

/* Has it ended? It stays a zombie, so that its pid and process group are not reused. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return errno == ECHILD;
	return info.si_pid == pid;
}

/* Reads what is there. 1: more may come, 0: the end, or a negative errno. */
static int take(int fd, size_t max, struct strbuf *out)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	if (n == 0)
		return 0;
	if (out->len + (size_t)n > max)
		return -EFBIG;
	strbuf_add(out, buf, (size_t)n);
	return 1;
}

/* Reads until it ends or its time is over. */
static int listen_to(const struct spawn *c, pid_t pid, int fd, struct strbuf *out)
{
	uint64_t end = clock_boottime_ns() + c->timeout_ms * MS;
	bool open = true;

	for (;;) {
		uint64_t now = clock_boottime_ns();

		if (now >= end)
			return -ETIMEDOUT;
		uint64_t left = (end - now) / MS + 1;
		struct pollfd p = {.fd = open ? fd : -1, .events = POLLIN};
		int wait = !open ? 1 : left < SLICE_MS ? (int)left : SLICE_MS;
		bool ended = has_ended(pid);

		if (poll(&p, 1, ended ? 0 : wait) > 0) {
			int r = take(fd, c->max, out);

			if (r < 0)
				return r;
			open = r > 0;
		} else if (ended) {
			return 0;
		}
		if (ended && !open)
			return 0;
	}
}

/* Kills the process group and waits a moment for its leader, which may hang in the kernel. */
static int finish(pid_t pid, int r, pid_t *stuck)
{
	int status = 0;

	(void)kill(-pid, SIGKILL);
	for (int i = 0; i < 100; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			break;
		if (got < 0) /* its status was taken elsewhere */
			return r;
		if (i == 99) {
			*stuck = pid;
			return r < 0 ? r : -ETIMEDOUT;
		}
		usleep(1000);
	}
	if (r < 0)
		return r;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

/* Running commands of all threads; each leads a process group. */
#define RUNNING_MAX 8
static pid_t running[RUNNING_MAX];

static void note_running(pid_t was, pid_t is)
{
	for (size_t i = 0; i < RUNNING_MAX; i++) {
		pid_t expected = was;

		if (__atomic_compare_exchange_n(&running[i], &expected, is, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	}
}

void spawn_end_all(void)
{
	for (size_t i = 0; i < RUNNING_MAX; i++) {
		pid_t pid = __atomic_load_n(&running[i], __ATOMIC_SEQ_CST);

		if (pid > 0)
			kill(-pid, SIGKILL);
	}
}

int spawn_run(const struct spawn *c, pid_t *stuck, struct strbuf *out)
{
	_cleanup_close_ int in = -1;
	int fds[2];
	pid_t pid = 0;

	if (*stuck > 0 && waitpid(*stuck, NULL, WNOHANG) == 0)
		return -EBUSY;
	*stuck = 0;
	in = make_input(c->input);
	if (in < 0)
		return in;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	/* only our end: the command may not expect EAGAIN */
	int r = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : spawn(c, in, fds[1], &pid);
	close(fds[1]);
	if (r == 0) {
		note_running(0, pid);
		r = listen_to(c, pid, fds[0], out);
		note_running(pid, 0);
		r = finish(pid, r, stuck);
	}
	close(fds[0]);
	return r;
}

/* ---- finding and explaining ------------------------------------------------------------------ */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

bool spawn_find(const char *root, const char *name, struct strbuf *ret)
{
	static const char usual[] = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";
	const char *env = *root ? NULL : getenv("PATH");
	_cleanup_free_ char *dirs = xasprintf("%s:%s", env ? env : "", usual);

	for (const char *p = dirs; *p; p += strcspn(p, ":"), p += *p == ':') {
		size_t n = strcspn(p, ":");

		if (*p != '/')
			continue;
		strbuf_reset(ret);
		strbuf_addf(ret, "%s%.*s/%s", root, (int)n, p, name);
		if (is_program(ret->buf))
			return true;
	}
	strbuf_reset(ret);
	return false;
}

void spawn_explain(const struct spawn *c, int r, const struct strbuf *said, struct strbuf *why)
{
	if (r == -ETIMEDOUT)
		strbuf_addf(why, "'%s' did not answer within %u s", c->path, c->timeout_ms / 1000);
	else if (r == -EFBIG)
		strbuf_addf(why, "'%s' printed more than %zu bytes", c->path, c->max);
	else if (r == -EBUSY)
		strbuf_addf(why, "'%s' still hangs", c->path);
	else if (r == -EINTR)
		strbuf_addf(why, "'%s' was killed by a signal", c->path);
	else if (r < 0)
		strbuf_addf(why, "cannot run '%s': %s", c->path, strerror(-r));
	else {
		size_t n = strspn(said->buf, " \t\r\n"), line = strcspn(said->buf + n, "\r\n");

		strbuf_addf(why, "'%s' exited with status %d", c->path, r);
		if (line) {
			strbuf_addstr(why, ": ");
			text_add_printable(why, said->buf + n, line < 160 ? line : 160);
		}
	}
}
