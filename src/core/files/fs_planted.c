/*
 * Output to a path that the user named, in a directory where others may create files, too: never
 * writes to files that they left there. The kernel refuses some of these if fs.protected_symlinks,
 * _hardlinks, _regular and _fifos are set, but trusts the owner of the directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"

static bool is_trusted(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

enum sharing { OURS, THEIRS, EVERYBODYS };

/* Who can create files in the directory of this path? */
static enum sharing sharing_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : NULL;
	struct stat st;

	if (stat(dir ? dir : ".", &st) < 0)
		return OURS;
	if (st.st_mode & S_IWOTH || (st.st_mode & S_ISVTX && st.st_mode & S_IWGRP))
		return EVERYBODYS;
	return is_trusted(st.st_uid) ? OURS : THEIRS;
}

/* Why a file must not be used; NULL: it may be. In the directory of one user, files belong to that
 * user. */
static const char *judge(const char *path, const struct stat *st)
{
	enum sharing sharing = sharing_of(path);

	if (sharing == OURS || S_ISDIR(st->st_mode))
		return NULL;
	if (S_ISLNK(st->st_mode))
		return is_trusted(st->st_uid) ? NULL : "a link";
	if (sharing == THEIRS)
		return NULL;
	if (!is_trusted(st->st_uid))
		return S_ISREG(st->st_mode) ? "a file" : "a special file";
	return S_ISREG(st->st_mode) && st->st_nlink > 1 ? "a hard link" : NULL;
}

static int refuse(const char *path, const char *what, struct strbuf *why)
{
	return strbuf_fail(why, -EPERM,
			   "'%s' is %s that somebody else may have put into this shared directory; "
			   "remove it or choose another name",
			   path, what);
}

int fs_check_output(const char *path, bool *ret_link, struct strbuf *why)
{
	struct stat st;
	bool there = lstat(path, &st) == 0;
	const char *what = there ? judge(path, &st) : NULL;

	if (ret_link)
		*ret_link = there && S_ISLNK(st.st_mode);
	return what ? refuse(path, what, why) : 0;
}

/* Checks the open file before it is changed. */
static int check_opened(int fd, const char *path, struct strbuf *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	const char *what = judge(path, &st);
	return what ? refuse(path, what, why) : 0;
}

int fs_open_output(const char *path, int flags, mode_t mode, struct strbuf *why)
{
	bool link = false;
	int r = fs_check_output(path, &link, why);
	struct stat st;

	if (r < 0)
		return r;
	int fd = open(path,
		      (flags & ~O_TRUNC) | O_CREAT | O_NOCTTY | O_CLOEXEC | (link ? 0 : O_NOFOLLOW),
		      mode);
	if (fd < 0)
		r = -errno;
	else if (!link)
		r = check_opened(fd, path, why);
	if (r == 0 && flags & O_TRUNC && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size &&
	    ftruncate(fd, 0) < 0)
		r = -errno;
	if (r < 0)
		close_fd(&fd);
	return r < 0 ? r : fd;
}

int fs_open_result_dir(int dirfd, const char *name)
{
	struct stat st;

	if (mkdirat(dirfd, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* our own link is fine */
	if (fd < 0 && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
		if (!is_trusted(st.st_uid))
			return -EPERM;
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}
