/* Moves files without replacing any; see fs.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files/fs.h"

#define NUMBERS_MAX 100000

size_t fs_archive_suffix(const char *name)
{
	static const char *const endings[] = {".tgz",    ".tar.gz",  ".tar",
					      ".tar.xz", ".tar.bz2", ".tar.zst"};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (str_suffix(name, endings[i]) && strlen(name) > strlen(endings[i]))
			return strlen(endings[i]);
	return 0;
}

/* Reserves the name with an empty file or directory, which rename() may replace. */
static int move_onto_placeholder(int from, const char *name, int to, const char *as, bool dir)
{
	if (dir) {
		if (mkdirat(to, as, 0700) < 0)
			return -errno;
	} else {
		int fd = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return -errno;
		close(fd);
	}
	if (renameat(from, name, to, as) == 0)
		return 0;
	int e = -errno;
	(void)unlinkat(to, as, dir ? AT_REMOVEDIR : 0);
	return e;
}

int fs_move_once(int from, const char *name, int to, const char *as)
{
	struct stat st;

	if (renameat2(from, name, to, as, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* NFS has no such flag, but link() fails if the name exists */
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode)) {
		if (linkat(from, name, to, as, 0) == 0)
			return unlinkat(from, name, 0) < 0 ? -errno : 0;
		if (errno != EPERM && errno != EOPNOTSUPP)
			return -errno;
	}
	return move_onto_placeholder(from, name, to, as, S_ISDIR(st.st_mode));
}

char *fs_numbered_name(const char *name, int i)
{
	size_t stem = strlen(name) - fs_archive_suffix(name);

	return i ? xasprintf("%.*s.%d%s", (int)stem, name, i, name + stem) : xstrdup(name);
}

/* Tries numbered names until one is free. */
static int number(const char *like, char **ret, int (*try)(void *user, const char *as), void *user)
{
	for (int i = 0; i < NUMBERS_MAX; i++) {
		_cleanup_free_ char *as = fs_numbered_name(like, i);
		int r = try(user, as);

		if (r == 0 && ret) {
			*ret = as;
			as = NULL;
		}
		if (r != -EEXIST && r != -ENOTEMPTY)
			return r;
	}
	return -EEXIST;
}

struct moving {
	int from, to;
	const char *name;
};

static int try_move(void *user, const char *as)
{
	const struct moving *m = user;

	return fs_move_once(m->from, m->name, m->to, as);
}

int fs_move_numbered(int from, const char *name, int to, const char *like, char **ret)
{
	struct moving m = {from, to, name};

	return number(like, ret, try_move, &m);
}

static int try_link(void *user, const char *as)
{
	const struct moving *m = user;
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", m->from);
	return linkat(AT_FDCWD, self, m->to, as, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int fs_link_numbered(int fd, int to, const char *like, char **ret)
{
	struct moving m = {fd, to, NULL};

	return number(like, ret, try_link, &m);
}
