/* Files of processes; see procdir.h. */
#include "sources/process/procdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

/* For everything else that the program opens. */
#define FDS_RESERVED 128
/* Released if there are still none left. */
#define FDS_STEP 32
#define PATH_SIZE 64
/* Non-blocking: a recorded tree may contain anything, even a pipe without a writer. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static unsigned descriptor_limit(unsigned percent)
{
	struct rlimit r;

	(void)raise_file_limit();
	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur <= FDS_RESERVED)
		return 0;
	if (r.rlim_cur > INT_MAX)
		r.rlim_cur = INT_MAX;
	return (unsigned)((r.rlim_cur - FDS_RESERVED) * percent / 100);
}

/* In a container with the host's /proc our pids differ from those in /proc. */
static bool numbers_are_ours(int fd)
{
	char self[16] = "";

	return readlinkat(fd, "self", self, sizeof(self) - 1) > 0 &&
	       strtol(self, NULL, 10) == getpid();
}

/* Are there CPUs without ticks (nohz_full)? There the clock of a running process may not advance
 * for a second. */
static bool ticks_stop(void)
{
	char c = 0;
	_cleanup_close_ int fd = open("/sys/devices/system/cpu/nohz_full", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &c, 1) == 1 && c >= '0' && c <= '9';
}

int procdir_open(struct procdir *d, const char *root, unsigned percent, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s/proc", root);

	*d = (struct procdir){.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), .live = !*root};
	if (d->fd < 0)
		return strbuf_fail(why, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (!d->live)
		return 0;
	d->limit = descriptor_limit(percent);
	d->clocks = numbers_are_ours(d->fd);
	d->idle_known = d->clocks && !ticks_stop();
	return 0;
}

bool procdir_cpu_clock(const struct procdir *d, int pid, uint64_t *ret_ns)
{
	/* the clock id of the CPU time of a process, as the kernel forms it */
	clockid_t id = (clockid_t)(~(unsigned)pid << 3 | 2);
	struct timespec ts;

	if (!d->clocks || clock_gettime(id, &ts) < 0)
		return false;
	*ret_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	return true;
}

void procdir_close(struct procdir *d)
{
	close_fd(&d->fd);
	d->fd = -1;
}

/* "PID/NAME" without stdio: needed for every file that is not open. */
static bool make_path(char path[PATH_SIZE], int pid, const char *name)
{
	char digits[16];
	size_t n = 0, at = 0, len = strlen(name);

	if (pid <= 0 || len > PATH_SIZE - sizeof(digits) - 2)
		return false;
	for (unsigned v = (unsigned)pid; v; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		path[at++] = digits[--n];
	path[at++] = '/';
	memcpy(path + at, name, len + 1);
	return true;
}

/* Opens a file; -ESRCH: there is no such process. */
static int open_file(struct procdir *d, int pid, const char *name, int flags)
{
	char path[PATH_SIZE];

	if (!make_path(path, pid, name))
		return -EINVAL;
	int fd = openat(d->fd, path, flags);
	if (fd >= 0)
		return fd;
	int r = -errno;
	if (r == -EMFILE || r == -ENFILE)
		d->limit = d->kept > FDS_STEP ? d->kept - FDS_STEP : 0;
	/* the kernel does not have this file, or the process has just ended */
	if (r == -ENOENT && make_path(path, pid, "") && faccessat(d->fd, path, F_OK, 0) < 0)
		return -ESRCH;
	return r;
}

void procdir_forget(struct procdir *d, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	d->kept--;
}

/* Keeps a descriptor, or closes it if there are too many. */
static void keep_or_close(struct procdir *d, int *kept, int fd, bool keep)
{
	if (*kept >= 0) {
		if (d->kept > d->limit)
			procdir_forget(d, kept);
	} else if (keep && d->kept < d->limit) {
		*kept = fd;
		d->kept++;
	} else {
		close(fd);
	}
}

ssize_t procdir_read(struct procdir *d, int *fd, int pid, const char *name, bool keep, char *buf,
		     size_t size)
{
	int now = *fd >= 0 ? *fd : open_file(d, pid, name, OPEN_FLAGS);

	if (now < 0)
		return now;
	ssize_t n = pread(now, buf, size, 0);
	if (n >= 0) {
		keep_or_close(d, fd, now, keep);
		return n;
	}
	int r = -errno;
	if (*fd >= 0)
		procdir_forget(d, fd);
	else
		close(now);
	return r;
}

ssize_t procdir_link(const struct procdir *d, int pid, const char *name, char *buf, size_t size)
{
	char path[PATH_SIZE];

	if (!make_path(path, pid, name))
		return -EINVAL;
	ssize_t n = readlinkat(d->fd, path, buf, size);
	return n < 0 ? -errno : n;
}

static bool is_number(const char *name, int *ret)
{
	int v = 0;

	for (const char *p = name; *p; p++) {
		if (*p < '0' || *p > '9' || v > (INT_MAX - 9) / 10)
			return false;
		v = v * 10 + (*p - '0');
	}
	*ret = v;
	return *name != 0;
}

int procdir_numbers(const struct procdir *d, int pid, const char *name,
		    void (*each)(void *user, int number), void *user)
{
	_Alignas(struct dirent64) char buf[8192];
	char path[PATH_SIZE];
	int count = 0;

	if (!make_path(path, pid, name))
		return -EINVAL;
	_cleanup_close_ int fd = openat(d->fd, path, OPEN_FLAGS | O_DIRECTORY);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	for (ssize_t n; (n = getdents64(fd, buf, sizeof(buf))) != 0;) {
		if (n < 0)
			return errno == ENOENT ? -ESRCH : -errno;
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(buf + at);
			int number;

			if (is_number(e->d_name, &number)) {
				count++;
				if (each)
					each(user, number);
			}
			at += e->d_reclen;
		}
	}
	return count;
}

int procdir_count_fds(struct procdir *d, int *fd, int pid)
{
	struct stat st;

	if (!d->live)
		return procdir_numbers(d, pid, "fd", NULL, NULL);
	int now = *fd >= 0 ? *fd : open_file(d, pid, "fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (now < 0)
		return now == -ENOENT ? -ESRCH : now;
	int r = fstat(now, &st) < 0 ? -errno : 0;
	keep_or_close(d, fd, now, true);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	if (st.st_size > 0 && st.st_size < INT_MAX)
		return (int)st.st_size;
	return procdir_numbers(d, pid, "fd", NULL, NULL);
}
