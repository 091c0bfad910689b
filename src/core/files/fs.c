/* Files and directories; see fs.h. */
#include "core/files/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int fail(struct strbuf *why, int error, const char *fmt, ...) PL_PRINTF(3, 4);
static int fail(struct strbuf *why, int error, const char *fmt, ...)
{
	va_list ap;

	if (why) {
		strbuf_reset(why);
		va_start(ap, fmt);
		strbuf_vaddf(why, fmt, ap);
		va_end(ap);
	}
	return -error;
}

/* Checks that only we and root can replace files in a directory. */
static int check_prefix(int fd, const char *prefix, struct strbuf *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(why, errno, "cannot stat '%s': %s", prefix, strerror(errno));
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return fail(why, EPERM,
			    "directory '%s' is writable by others and not sticky, so anybody could "
			    "replace our files: chmod +t it or choose another prefix",
			    prefix);
	if (st.st_uid != 0 && st.st_uid != geteuid() && !(st.st_mode & S_ISVTX))
		return fail(why, EPERM,
			    "directory '%s' belongs to another user and is not sticky: choose "
			    "another prefix",
			    prefix);
	return 0;
}

/* A directory that the user chose keeps its mode, since others may use it. Every level below is
 * private. */
static int check_ours(int fd, const char *name, bool chosen, struct strbuf *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(why, errno, "cannot stat '%s': %s", name, strerror(errno));
	if (st.st_uid != geteuid())
		return fail(why, EPERM,
			    "directory '%s' belongs to uid %u, not to you: remove it or choose "
			    "another prefix",
			    name, (unsigned)st.st_uid);
	if (chosen && (st.st_mode & 002) && !(st.st_mode & S_ISVTX))
		return fail(
			why, EPERM,
			"directory '%s' is writable by everybody and not sticky, so anybody could "
			"replace our files: chmod o-w or +t it, or choose another prefix",
			name);
	if (!chosen && (st.st_mode & 077) && fchmod(fd, 0700) < 0)
		return fail(why, errno, "cannot make '%s' private: %s", name, strerror(errno));
	return 0;
}

/* Opens one level without following a link. */
static int open_level(int dirfd, const char *name, struct strbuf *why)
{
	int fd = openat(dirfd, name, DIR_FLAGS);

	if (fd >= 0)
		return fd;
	if (errno == ELOOP || errno == ENOTDIR)
		return fail(why, errno, "'%s' is a symbolic link or not a directory: remove it",
			    name);
	return fail(why, errno, "cannot open directory '%s': %s", name, strerror(errno));
}

static int open_ours(int dirfd, const char *name, bool create, bool chosen, struct strbuf *why)
{
	if (!fs_is_name(name))
		return fail(why, EINVAL, "invalid directory name '%s'", name);
	if (create && mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return fail(why, errno, "cannot create directory '%s': %s", name, strerror(errno));
	int fd = open_level(dirfd, name, why);
	if (fd < 0)
		return fd;
	int r = check_ours(fd, name, chosen, why);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int fs_open_subdir(int dirfd, const char *name, bool create, struct strbuf *why)
{
	return open_ours(dirfd, name, create, false, why);
}

/* Is the parent directory open to everybody and sticky, as /tmp is? */
static bool is_open_to_all(const char *path)
{
	_cleanup_free_ char *above = xasprintf("%s/..", path);
	struct stat st;

	return stat(above, &st) == 0 && (st.st_mode & S_ISVTX) && (st.st_mode & 002);
}

int fs_open_private(const char *prefix, const char *name, bool create, struct strbuf *why)
{
	_cleanup_close_ int fd = open(prefix, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && create) {
		if (mkdir(prefix, 0700) < 0 && errno != EEXIST)
			return fail(why, errno, "cannot create directory '%s': %s", prefix,
				    strerror(errno));
		fd = open(prefix, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && is_open_to_all(prefix))
			(void)fchmod(fd, 01777);
	}
	if (fd < 0)
		return fail(why, errno, "cannot open directory '%s': %s", prefix, strerror(errno));
	int r = check_prefix(fd, prefix, why);
	if (r < 0)
		return r;
	r = open_ours(fd, name, create, true, why);
	if (r < 0 && why && why->len) {
		_cleanup_strbuf_ struct strbuf inner = STRBUF_INIT;

		strbuf_add(&inner, why->buf, why->len);
		strbuf_reset(why);
		strbuf_addf(why, "%s (in '%s')", inner.buf, prefix);
	}
	return r;
}

int fs_open_named(const char *path, bool create, struct strbuf *why)
{
	if (create && mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail(why, errno, "cannot create directory '%s': %s", path, strerror(errno));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(why, errno, "cannot open directory '%s': %s", path, strerror(errno));
	return fd;
}

int fs_make_parents(const char *path, mode_t mode, struct strbuf *why)
{
	_cleanup_free_ char *dir = xstrdup(path);

	for (char *p = *dir ? dir + 1 : dir; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		if (mkdir(dir, mode) < 0 && errno != EEXIST)
			return fail(why, errno, "cannot create directory '%s': %s", dir,
				    strerror(errno));
	}
	return 0;
}

int fs_read(int dirfd, const char *name, size_t max, struct strbuf *out)
{
	struct stat st;
	_cleanup_close_ int fd =
		openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > max)
		return -EFBIG;
	/* files of /proc have size 0: read to the end */
	for (;;) {
		char buf[65536];
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			return 0;
		if (out->len + (size_t)n > max)
			return -EFBIG;
		strbuf_add(out, buf, (size_t)n);
	}
}

int fs_write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

int fs_scratch_file(void)
{
	const char *tmp = getenv("TMPDIR");
	int fd = open(tmp && *tmp ? tmp : "/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	char name[] = "/tmp/plimsoll-XXXXXX";
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd < 0 ? -errno : fd;
}

int fs_copy(int from, int to)
{
	char buf[65536];
	ssize_t n;
	int r;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if ((r = fs_write_all(to, buf, (size_t)n)) < 0)
			return r;
	return n < 0 ? -errno : 0;
}

static int sync_by(int (*sync)(int), int fd)
{
	struct stat st;
	int r;

	do
		r = sync(fd);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return 0;
	r = -errno;
	return r == -EINVAL && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) ? 0 : r;
}

int fs_sync(int fd)
{
	return sync_by(fdatasync, fd);
}

int fs_sync_dir(int dirfd)
{
	return sync_by(fsync, dirfd);
}

int fs_sync_parent(const char *path)
{
	const char *name = path_base(path);
	_cleanup_free_ char *dir =
		name == path ? xstrdup(".") : xstrndup(path, (size_t)(name - path));
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fs_sync_dir(fd);
}

void fs_keep_rights(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;

	if (fchown(fd, old->st_uid, old->st_gid) < 0 && fchown(fd, (uid_t)-1, old->st_gid) < 0)
		mode = (mode & ~(mode_t)070) | (mode & 070 & (mode & 07) << 3);
	(void)fchmod(fd, mode);
}

/* old: file whose permissions the new one gets, or NULL: mode less the umask. */
static int replace(int dirfd, const char *name, const void *data, size_t n, mode_t mode,
		   const struct stat *old, bool sync)
{
	_cleanup_free_ char *aside = xasprintf(".%s.%d", name, (int)getpid());

	if (!fs_is_name(name))
		return -EINVAL;
	(void)unlinkat(dirfd, aside, 0);
	int fd = openat(dirfd, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (old)
		fs_keep_rights(fd, old);
	int r = fs_write_all(fd, data, n);
	if (r == 0 && sync)
		r = fs_sync(fd);
	/* network filesystems report a full disk or quota at close() */
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && renameat(dirfd, aside, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, aside, 0);
	return r < 0 || !sync ? r : fs_sync_dir(dirfd);
}

int fs_replace(int dirfd, const char *name, const void *data, size_t n, mode_t mode)
{
	return replace(dirfd, name, data, n, mode, NULL, false);
}

int fs_replace_durable(int dirfd, const char *name, const void *data, size_t n, mode_t mode)
{
	return replace(dirfd, name, data, n, mode, NULL, true);
}

int fs_put_file(const char *path, const void *data, size_t n)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	bool link = false;
	int r = fs_check_output(path, &link, &ignored);

	if (r < 0)
		return r;
	_cleanup_free_ char *real = link ? realpath(path, NULL) : NULL;
	const char *to = real ? real : path, *name = path_base(to);
	struct stat st;
	bool there = lstat(to, &st) == 0;

	if (there && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (there && !S_ISREG(st.st_mode)) {
		_cleanup_close_ int special = open(to, O_WRONLY | O_CLOEXEC);

		return special < 0 ? -errno : fs_write_all(special, data, n);
	}
	/* rename() ignores the permissions of the file */
	if (there && access(to, W_OK) < 0)
		return -errno;
	_cleanup_free_ char *dir = name == to ? xstrdup(".") : xstrndup(to, (size_t)(name - to));
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno
		      : replace(fd, name, data, n, there ? 0600 : 0666, there ? &st : NULL, false);
}

int fs_write_once(int fd, const void *data, size_t n, off_t at)
{
	static const struct timespec at_once = {0};
	sigset_t xfsz, before;
	ssize_t done;
	int r = 0;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &xfsz, &before);
	do
		done = at < 0 ? write(fd, data, n) : pwrite(fd, data, n, at);
	while (done < 0 && errno == EINTR);
	if (done < 0) {
		r = -errno;
		if (r == -EFBIG && !sigismember(&before, SIGXFSZ))
			(void)sigtimedwait(&xfsz, NULL, &at_once);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? r : (size_t)done == n ? 0 : -ENOSPC;
}

void fs_close_list(DIR **d)
{
	if (*d)
		closedir(*d);
}

DIR *fs_open_list(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d)
		close_fd(&fd);
	return d;
}

int fs_remove_tree(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, DIR_FLAGS);

	if (fd < 0) {
		if (errno == ENOTDIR || errno == ELOOP)
			return unlinkat(dirfd, name, 0) < 0 ? -errno : 0;
		return -errno;
	}
	_cleanup_list_ DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (e->d_type == DT_DIR) {
			int r = fs_remove_tree(fd, e->d_name);

			if (r < 0)
				return r;
		} else if (unlinkat(fd, e->d_name, 0) < 0) {
			return -errno;
		}
	}
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

bool fs_is_name(const char *name)
{
	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/') &&
	       strlen(name) <= 255;
}

bool fs_is_network(int fd)
{
	/* some are not in linux/magic.h */
	static const unsigned long network[] = {
		NFS_SUPER_MAGIC,
		SMB_SUPER_MAGIC,
		0xff534d42ul /* CIFS */,
		0xfe534d42ul /* SMB2 */,
		AFS_SUPER_MAGIC,
		CODA_SUPER_MAGIC,
		V9FS_MAGIC,
		CEPH_SUPER_MAGIC,
		0x65735546ul /* FUSE */,
		0x0bd00bd0ul /* Lustre */,
		0x47504653ul /* GPFS */,
		0x19830326ul /* BeeGFS */,
		0x013111a8ul /* IBRIX */,
		0x20030528ul /* OrangeFS */,
		0xaad7aaeaul /* Panasas */,
		0x7461636ful /* OCFS2 */,
		0x01161970ul /* GFS2 */,
	};
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(network); i++)
		if ((unsigned long)st.f_type == network[i])
			return true;
	return false;
}

char *fs_path_of(int fd)
{
	char link[64], path[4096];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return NULL;
	path[n] = 0;
	return xstrdup(path);
}
