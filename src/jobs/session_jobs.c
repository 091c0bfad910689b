/* The current job and the last job of a session, and the last job of all; see job_directory.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/system/process_stat.h"
#include "jobs/job_directory.h"

#define PREFIX_FILE_MAX 65536
#define SESSIONS_MAX 128 /* last jobs of so many sessions are remembered */

/* Start time and parent of a process; false: it does not exist. */
static bool read_start(pid_t pid, unsigned long long *ret_start, pid_t *ret_parent)
{
	struct process_stat stat;

	if (!process_stat_read("", pid, &stat))
		return false;
	*ret_start = stat.st.f[STAT_STARTTIME];
	*ret_parent = (pid_t)stat.st.f[STAT_PPID];
	return true;
}

static char *session_name(void)
{
	char host[65], boot[9];
	pid_t sid = getsid(0), parent;
	unsigned long long start = 0;

	/* session ids are reused: the start of the leader distinguishes them */
	this_host(host, sizeof(host), boot);
	(void)read_start(sid, &start, &parent);
	return xasprintf("current.%s.%d.%llu", boot, (int)sid, start);
}

static bool same_words(pid_t a, pid_t b)
{
	_cleanup_strbuf_ struct strbuf of_a = STRBUF_INIT, of_b = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)a);
	if (fs_read(AT_FDCWD, path, 65536, &of_a) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)b);
	return fs_read(AT_FDCWD, path, 65536, &of_b) == 0 && of_a.len && of_a.len == of_b.len &&
	       !memcmp(of_a.buf, of_b.buf, of_a.len);
}

/* "PID START" of the shell that called us. Subshells, as "$(...)" creates them, end at once: the
 * shell above them counts. */
static char *shell_name(void)
{
	pid_t pid = getppid(), parent = 0, above;
	unsigned long long start, other;

	if (!read_start(pid, &start, &parent))
		return xstrdup("");
	while (parent > 1 && same_words(pid, parent) && read_start(parent, &other, &above)) {
		pid = parent;
		start = other;
		parent = above;
	}
	return xasprintf("%d %llu", (int)pid, start);
}

/* A shell that is not known counts as alive. */
static bool shell_lives(const char *name)
{
	unsigned long long start, now;
	pid_t parent;
	int pid;

	if (sscanf(name, "%d %llu", &pid, &start) != 2)
		return true;
	return read_start(pid, &now, &parent) && now == start;
}

static int prefix_file_set(const struct config *c, const char *name, const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_close_ int fd = job_directory_open_prefix(c, &job_layout_native, true, &why);

	return fd < 0 ? fd : fs_replace(fd, name, text, strlen(text), 0600);
}

static char *prefix_file_get(const struct config *c, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
	_cleanup_close_ int fd = job_directory_open_prefix(c, &job_layout_native, false, &why);

	if (fd < 0 || fs_read(fd, name, PREFIX_FILE_MAX, &text) < 0 || !text.len)
		return NULL;
	return strbuf_take(&text);
}

int current_job_set(const struct config *c, const char *id, bool of_shell)
{
	_cleanup_free_ char *name = session_name(), *shell = of_shell ? shell_name() : NULL;
	_cleanup_free_ char *text = xasprintf("%s%s%s", id, shell ? "\n" : "", shell ? shell : "");

	return prefix_file_set(c, name, text);
}

void current_job_clear(const struct config *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *name = session_name();
	_cleanup_close_ int fd = job_directory_open_prefix(c, &job_layout_native, false, &why);

	if (fd >= 0)
		(void)unlinkat(fd, name, 0);
}

char *current_job_get(const struct config *c)
{
	_cleanup_free_ char *name = session_name(), *text = prefix_file_get(c, name);
	const char *shell = text ? strchr(text, '\n') : NULL;

	if (shell && !shell_lives(shell + 1)) {
		current_job_clear(c);
		return NULL;
	}
	return text ? xstrndup(text, strcspn(text, "\n")) : NULL;
}

/*
 * The file of the last jobs: the path of the last one, then that of each session, newest first, as
 * "SESSION PATH". Of two concurrent writers one may be lost; then the user has to name the job.
 */
int last_job_set(const struct config *c, const char *path)
{
	_cleanup_free_ char *session = session_name(), *before = prefix_file_get(c, "last");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	size_t own = strlen(session), kept = 0;

	if (strchr(path, '\n'))
		return prefix_file_set(c, "last", "");
	strbuf_addf(&text, "%s\n%s %s\n", path, session, path);
	for (const char *p = before ? strchr(before, '\n') : NULL; p && *++p && kept < SESSIONS_MAX;
	     p = strchr(p, '\n')) {
		size_t n = strcspn(p, "\n");

		if ((!strncmp(p, session, own) && p[own] == ' ') ||
		    text.len + n > PREFIX_FILE_MAX / 2)
			continue;
		strbuf_addf(&text, "%.*s\n", (int)n, p);
		kept++;
	}
	return prefix_file_set(c, "last", text.buf);
}

char *last_job_get(const struct config *c)
{
	char *text = prefix_file_get(c, "last");

	if (text)
		text[strcspn(text, "\n")] = 0;
	if (text && !*text) {
		free(text);
		text = NULL;
	}
	return text;
}

char *session_job_get(const struct config *c)
{
	_cleanup_free_ char *session = session_name(), *text = prefix_file_get(c, "last");
	size_t own = strlen(session);

	for (const char *p = text ? strchr(text, '\n') : NULL; p && *++p; p = strchr(p, '\n'))
		if (!strncmp(p, session, own) && p[own] == ' ')
			return xstrndup(p + own + 1, strcspn(p + own + 1, "\n"));
	return NULL;
}
