/*
 * State of the daemon for others: the pid file, which is locked while the daemon lives and so never
 * stale, and the socket of the service manager.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "context/current_job.h"
#include "core/files/fs.h"
#include "inbox/daemon.h"

#define PIDFILE_NAME "daemon.pid"

/* ---- pid file ------------------------------------------------------------------------------- */

/* Splits "/a/b" into "/a" and "b". */
static int split(const char *path, char **ret_dir, char **ret_name)
{
	_cleanup_free_ char *own = xstrdup(path);
	size_t n = strlen(own);

	while (n > 1 && own[n - 1] == '/')
		own[--n] = 0;
	char *slash = strrchr(own, '/');
	const char *name = slash ? slash + 1 : own;
	if (!fs_is_name(name))
		return -EINVAL;
	*ret_name = xstrdup(name);
	*ret_dir = !slash         ? xstrdup(".")
		   : slash == own ? xstrdup("/")
				  : xstrndup(own, (size_t)(slash - own));
	return 0;
}

static int open_place(struct pidfile *p, struct context *ctx, const char *path, bool create,
		      struct strbuf *why)
{
	_cleanup_free_ char *parent = NULL;

	if (!path) {
		p->name = xstrdup(PIDFILE_NAME);
		return job_directory_open_prefix(&ctx->config, job_layout(ctx), create, why);
	}
	if (split(path, &parent, &p->name) < 0)
		return strbuf_fail(why, -EINVAL, "'%s' is not a file name", path);
	return fs_open_named(parent, false, why);
}

int pidfile_open(struct pidfile *p, struct context *ctx, const char *path, bool create,
		 struct strbuf *why)
{
	*p = (struct pidfile)PIDFILE_INIT;
	p->dir = open_place(p, ctx, path, create, why);
	if (p->dir < 0)
		return p->dir;
	_cleanup_free_ char *dir = fs_path_of(p->dir);
	p->path = xasprintf("%s/%s", dir ? dir : ".", p->name);
	p->fd = openat(p->dir, p->name,
		       (create ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		       0644);
	if (p->fd < 0)
		return strbuf_fail(why, -errno, "cannot open '%s': %s", p->path, strerror(errno));
	return 0;
}

int pidfile_lock(struct pidfile *p)
{
	/* a lock of the open file survives fork() into the background */
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat st;

	if (fcntl(p->fd, F_OFD_SETLK, &whole) < 0)
		return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	/* a daemon that just ended may have removed the file */
	if (fstat(p->fd, &st) == 0 && st.st_nlink == 0)
		return -ESTALE;
	return 0;
}

static bool parse_state(const char *text, pid_t *ret_pid, struct daemon_counts *ret)
{
	unsigned long long ingested = 0, failed = 0, waiting = 0, skipped = 0;
	int pid = 0;

	if (sscanf(text, "%d\ningested %llu failed %llu waiting %llu skipped %llu", &pid, &ingested,
		   &failed, &waiting, &skipped) < 1 ||
	    pid <= 0)
		return false;
	*ret_pid = pid;
	*ret = (struct daemon_counts){ingested, failed, waiting, skipped};
	return true;
}

bool pidfile_running(const struct pidfile *p, pid_t *ret_pid, struct daemon_counts *ret)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char text[256];

	if (fcntl(p->fd, F_OFD_GETLK, &whole) < 0 || whole.l_type == F_UNLCK)
		return false;
	/* locked and still empty: it is starting */
	for (int i = 0; i < 200; i++) {
		ssize_t n = pread(p->fd, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = 0;
		if (parse_state(text, ret_pid, ret))
			return true;
		usleep(10000);
	}
	return false;
}

void pidfile_write(struct pidfile *p, const struct daemon_counts *n)
{
	char text[256];
	int size = snprintf(
		text, sizeof(text), "%d\ningested %llu failed %llu waiting %llu skipped %llu\n",
		(int)getpid(), (unsigned long long)n->ingested, (unsigned long long)n->failed,
		(unsigned long long)n->waiting, (unsigned long long)n->skipped);

	if (pwrite(p->fd, text, (size_t)size, 0) == size)
		(void)!ftruncate(p->fd, size);
}

void pidfile_remove(struct pidfile *p)
{
	(void)unlinkat(p->dir, p->name, 0);
}

void pidfile_release(struct pidfile *p)
{
	close_fd(&p->fd);
	close_fd(&p->dir);
	free(p->path);
	free(p->name);
	*p = (struct pidfile)PIDFILE_INIT;
}

/* ---- setup of daemons ---------------------------------------------------------- */

int hold_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN); /* a closed connection is an error, not the end */
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- service manager ------------------------------------------------------------------------ */

void notify_service_manager(const char *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;

	if (n < 2 || n >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(to.sun_path, path, n);
	if (path[0] == '@')
		to.sun_path[0] = 0; /* an abstract name, without a NUL at its end */
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
			     (struct sockaddr *)&to,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

uint64_t watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us = 0, who = (uint64_t)getpid();

	if (!usec || parse_u64(usec, &us) < 0 || us > UINT64_MAX / 1000)
		return 0;
	if (pid && (parse_u64(pid, &who) < 0 || who != (uint64_t)getpid()))
		return 0;
	return us * 1000;
}
