/* Output under a temporary name; see atomic_output.h. */
#include "tables/atomic_output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "core/files/fs.h"

#define LOCK_WAIT_MS 600000
#define LOCK_STEP_MS 50

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? xstrdup("/")
	       : slash       ? xstrndup(path, (size_t)(slash - path))
			     : xstrdup(".");
}

static int failed(struct strbuf *why, const char *what, const char *path, int error)
{
	strbuf_addf(why, "cannot %s '%s': %s", what, path, strerror(-error));
	return error;
}

/* ---- the lock ---- */

/* Is it still the lock file? Its last owner may have removed it before we got the lock. */
static bool still_there(int fd, const char *path)
{
	struct stat ours, theirs;

	return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
	       ours.st_dev == theirs.st_dev;
}

static int take_lock(struct atomic_output *p, struct strbuf *why)
{
	_cleanup_free_ char *dir = dir_of(p->target);

	p->lock_path = xasprintf("%s/.%s.lock", dir, path_base(p->target));
	for (int waited = 0; waited < LOCK_WAIT_MS;) {
		int fd = open(p->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);

		if (fd < 0)
			return failed(why, "create", p->lock_path, -errno);
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && still_there(fd, p->lock_path)) {
			p->lock = fd;
			return 0;
		}
		close(fd);
		(void)poll(NULL, 0, LOCK_STEP_MS);
		waited += LOCK_STEP_MS;
	}
	return strbuf_fail(why, -EBUSY, "another process writes '%s': it holds the lock '%s'",
			   p->target, p->lock_path);
}

static void give_lock(struct atomic_output *p)
{
	if (p->lock >= 0) {
		(void)unlink(p->lock_path);
		close(p->lock);
	}
	p->lock = -1;
	free(p->lock_path);
	p->lock_path = NULL;
}

/* ---- the file beside it ---- */

static int copy_into(int to, const char *path, struct strbuf *why)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0)
		return failed(why, "read", path, -errno);
	/* some filesystems can share the blocks */
	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	int r = fs_copy(from, to);
	return r < 0 ? failed(why, "copy", path, r) : 0;
}

static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* old: the file that it will replace; NULL: none */
static int make_temporary(struct atomic_output *p, const struct stat *old, struct strbuf *why)
{
	_cleanup_free_ char *dir = dir_of(p->target);

	p->temporary = xasprintf("%s/.%s.XXXXXX", dir, path_base(p->target));
	_cleanup_close_ int fd = mkostemp(p->temporary, O_CLOEXEC);
	if (fd < 0) {
		int e = -errno;

		free(p->temporary);
		p->temporary = NULL;
		return failed(why, "write", p->target, e);
	}
	p->path = p->temporary;
	if (old)
		fs_keep_rights(fd, old);
	else
		(void)fchmod(fd, new_mode());
	return p->existed ? copy_into(fd, p->target, why) : 0;
}

static int prepare(struct atomic_output *p, const struct table_format *f, struct strbuf *why)
{
	struct stat st;
	int r;

	if (f->database && (r = take_lock(p, why)) < 0)
		return r;
	if (lstat(p->target, &st) < 0)
		return errno == ENOENT ? make_temporary(p, NULL, why)
				       : failed(why, "write", p->target, -errno);
	/* rename() does not check this */
	if (access(p->target, W_OK) < 0)
		return failed(why, "write", p->target, -errno);
	p->existed = f->database && st.st_size > 0;
	if (p->existed && f->transactions)
		return 0;
	return make_temporary(p, &st, why);
}

int atomic_output_begin(struct atomic_output *p, const struct table_format *f, const char *path,
			struct strbuf *why)
{
	bool link = false;
	struct stat st;

	*p = (struct atomic_output){.lock = -1};
	if (strcmp(path, "-") != 0 && fs_check_output(path, &link, why) < 0)
		return -EPERM;
	if (!strcmp(path, "-") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode))) {
		bool directory = strcmp(path, "-") != 0 && S_ISDIR(st.st_mode);

		if (directory)
			return failed(why, "write", path, -EISDIR);
		if (!f->text && f->database)
			return strbuf_fail(why, -EINVAL,
					   "cannot write %s to '%s': not a regular file", f->name,
					   path);
		p->target = xstrdup(path);
		p->path = p->target;
		return 0;
	}
	/* a link stays: its target is replaced. A link that appeared after the check is not
	 * followed */
	p->target = link ? realpath(path, NULL) : NULL;
	if (!p->target)
		p->target = xstrdup(path);
	p->path = p->target;
	int r = prepare(p, f, why);
	if (r < 0)
		atomic_output_cancel(p);
	return r;
}

int atomic_output_commit(struct atomic_output *p, struct strbuf *why)
{
	int r = 0;

	if (p->temporary && rename(p->temporary, p->target) < 0) {
		r = failed(why, "write", p->target, -errno);
	} else if (p->temporary) {
		free(p->temporary);
		p->temporary = NULL;
		(void)fs_sync_parent(p->target);
	}
	atomic_output_cancel(p);
	return r;
}

void atomic_output_cancel(struct atomic_output *p)
{
	if (p->temporary) {
		/* a database that is being written has a journal */
		_cleanup_free_ char *journal = xasprintf("%s-journal", p->temporary);

		(void)unlink(p->temporary);
		(void)unlink(journal);
	}
	give_lock(p);
	free(p->temporary);
	free(p->target);
	p->temporary = p->target = NULL;
	p->path = NULL;
}
