/* See stage_place.h. */
#include "run/stage_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fs.h"

void stage_place_release(struct stage_place *p)
{
	stage_place_abandon(p);
	close_fd(&p->dir);
	free(p->path);
	free(p->name);
	*p = (struct stage_place)STAGE_PLACE_INIT;
}

/* Is this directory the job directory, or below it? */
static bool inside(int dir, const char *job)
{
	_cleanup_free_ char *here = fs_path_of(dir);
	size_t n = strlen(job);

	return !here || (!strncmp(here, job, n) && (!here[n] || here[n] == '/'));
}

/* "DIR/x.tgz" where DIR exists: the name of the archive itself. */
static int open_parent(struct stage_place *p, const char *dest, struct strbuf *why)
{
	const char *base = path_base(dest);

	p->path = base == dest ? xstrdup(".") : xstrndup(dest, (size_t)(base - dest));
	p->name = xstrdup(base);
	p->exact = true;
	p->dir = fs_open_named(p->path, false, why);
	return p->dir < 0 ? p->dir : 0;
}

int stage_place_open(struct stage_place *p, const char *dest, const char *name, const char *job,
		     struct strbuf *why)
{
	struct stat st;
	int r = 0;

	*p = (struct stage_place)STAGE_PLACE_INIT;
	bool there = stat(dest, &st) == 0;
	if (there && !S_ISDIR(st.st_mode))
		return strbuf_fail(why, -EEXIST, "'%s' exists and is not a directory", dest);
	if (!there && fs_archive_suffix(dest) && fs_archive_suffix(name)) {
		r = open_parent(p, dest, why);
	} else {
		p->path = xstrdup(dest);
		p->name = xstrdup(name);
		p->dir = fs_open_named(dest, !there, why);
		r = p->dir < 0 ? p->dir : 0;
	}
	if (r == 0 && inside(p->dir, job)) {
		strbuf_addf(why, "'%s' is inside the job directory, which will be removed", dest);
		r = -EINVAL;
	}
	return r;
}

int stage_place_create(struct stage_place *p, struct strbuf *why)
{
	p->fd = openat(p->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (p->fd < 0) {
		p->aside = xasprintf(".%s.%d.part", p->name, (int)getpid());
		(void)unlinkat(p->dir, p->aside, 0);
		p->fd = openat(p->dir, p->aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			       0600);
	}
	if (p->fd >= 0)
		return 0;
	int e = -errno;
	return strbuf_fail(why, e, "cannot create a file in '%s': %s", p->path, strerror(-e));
}

static char *path_in(const struct stage_place *p, const char *name)
{
	return xasprintf("%s%s%s", p->path, str_suffix(p->path, "/") ? "" : "/", name);
}

static int give_name(struct stage_place *p, char **ret)
{
	if (!p->exact)
		return p->aside ? fs_move_numbered(p->dir, p->aside, p->dir, p->name, ret)
				: fs_link_numbered(p->fd, p->dir, p->name, ret);
	char self[64];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", p->fd);
	*ret = xstrdup(p->name);
	if (p->aside)
		return fs_move_once(p->dir, p->aside, p->dir, p->name);
	return linkat(AT_FDCWD, self, p->dir, p->name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int stage_place_publish(struct stage_place *p, char **ret_path, struct strbuf *why)
{
	_cleanup_free_ char *name = NULL;
	int r = fs_sync(p->fd);

	if (r == 0)
		r = give_name(p, &name);
	if (r == 0)
		r = fs_sync_dir(p->dir);
	if (r < 0)
		return strbuf_fail(why, r, "cannot put '%s' into '%s': %s", p->name, p->path,
				   strerror(-r));
	*ret_path = path_in(p, name);
	free(p->aside);
	p->aside = NULL;
	close(p->fd);
	p->fd = -1;
	return 0;
}

void stage_place_abandon(struct stage_place *p)
{
	if (p->aside)
		(void)unlinkat(p->dir, p->aside, 0);
	close_fd(&p->fd);
	free(p->aside);
	p->aside = NULL;
	p->fd = -1;
}

int stage_place_move(struct stage_place *p, const char *from, char **ret_path, struct strbuf *why)
{
	_cleanup_free_ char *name = NULL;
	int r = fs_move_numbered(AT_FDCWD, from, p->dir, p->name, &name);

	if (r == 0)
		*ret_path = path_in(p, name);
	else if (r != -EXDEV)
		strbuf_addf(why, "cannot move '%s' to '%s': %s", from, p->path, strerror(-r));
	return r;
}

char *stage_place_free_name(const struct stage_place *p)
{
	for (int i = 0;; i++) {
		_cleanup_free_ char *name = fs_numbered_name(p->name, i);

		if (faccessat(p->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			return path_in(p, name);
	}
}
