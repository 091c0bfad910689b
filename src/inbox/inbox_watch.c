/*
 * Finding inputs by events and scans. An event says that a file is complete; a scan cannot know, so
 * it skips files that were changed in the last two seconds or are open for writing.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "inbox/inbox.h"
#include "inbox/inbox_claim.h"
#include "jobs/job_directory.h"
#include "jobs/metadata_file.h"

#define SETTLED_NS ((int64_t)(2 * NS_PER_S))
#define DEPTH_MAX 32
#define JOB_DEPTH 3 /* job directory, host, file */
#define WATCH_MASK (IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW)

static int64_t changed_ns(const struct stat *st)
{
	return st->st_ctim.tv_sec * (int64_t)NS_PER_S + st->st_ctim.tv_nsec;
}

static void look_within(struct inbox *in, uint64_t ns)
{
	uint64_t at = clock_boottime_ns() + ns;

	if (at < in->next_look_ns)
		in->next_look_ns = at;
}

/* ---- is it one, is it complete -------------------------------------------------------------- */

/* A lease is granted only while nobody writes. If we may not ask, only the age counts. */
static bool being_written(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

/* The last change in the directory of a job. */
static int64_t newest_change(int dir_fd, const char *name, int depth)
{
	_cleanup_list_ DIR *dir = fs_open_list(dir_fd, name);
	int64_t newest = 0;
	struct stat st;

	if (!dir)
		return 0;
	int fd = dirfd(dir);
	if (fstat(fd, &st) == 0)
		newest = changed_ns(&st);
	for (struct dirent *e; (e = readdir(dir));) {
		int64_t at = 0;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		at = S_ISDIR(st.st_mode) && depth > 1 ? newest_change(fd, e->d_name, depth - 1)
						      : changed_ns(&st);
		newest = at > newest ? at : newest;
	}
	return newest;
}

/* A job with processes that are still recorded is left until they have ended. */
static bool is_recorded(struct inbox *in, const char *dir, const char *name, const char *path)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;

	if (job_directory_open_path(&j, in->config, path, NULL, false, &why) < 0 ||
	    !job_directory_running(&j, true, &names))
		return false;
	strbuf_addf(&why, "still recorded by %s; will be stored when that has ended", names.buf);
	inbox_refuse(in, dir, name, why.buf, true);
	return true;
}

static void consider(struct inbox *in, int dirfd, const char *dir, const char *name,
		     const struct stat *st, bool complete)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	bool is_dir = S_ISDIR(st->st_mode);

	if (inbox_is_refused(in, path, changed_ns(st)))
		return;
	if (!complete) {
		int64_t at = is_dir ? newest_change(dirfd, name, JOB_DEPTH) : changed_ns(st);

		if (in->now_ns - at < SETTLED_NS || (!is_dir && being_written(dirfd, name))) {
			in->unsettled++;
			return;
		}
	}
	if (is_dir && is_recorded(in, dir, name, path)) {
		in->unsettled++;
		return;
	}
	inbox_push(in, dir, name, st->st_mtim.tv_sec * (int64_t)NS_PER_S + st->st_mtim.tv_nsec);
}

/* ---- looking -------------------------------------------------------------------------------- */

static void watch(struct inbox *in, const char *path)
{
	if (in->notify < 0)
		return;
	int wd = inotify_add_watch(in->notify, path, WATCH_MASK);
	if (wd < 0) {
		if (!in->watch_failed && errno != ENOENT)
			log_warn("cannot watch '%s': %s; scanning it at intervals instead", path,
				 strerror(errno));
		in->watch_failed = true;
		return;
	}
	for (size_t i = 0; i < in->watch_count; i++)
		if (in->watches[i].wd == wd) {
			free(in->watches[i].path);
			in->watches[i].path = xstrdup(path);
			return;
		}
	GROW(in->watches, in->watch_count, in->watch_cap);
	in->watches[in->watch_count++] = (struct inbox_watch){wd, xstrdup(path)};
}

static void forget_watch(struct inbox *in, size_t i)
{
	free(in->watches[i].path);
	in->watches[i] = in->watches[--in->watch_count];
}

void inbox_unwatch(struct inbox *in, const char *path)
{
	for (size_t i = 0; i < in->watch_count; i++)
		if (!strcmp(in->watches[i].path, path)) {
			(void)inotify_rm_watch(in->notify, in->watches[i].wd);
			forget_watch(in, i);
			return;
		}
}

static void tell_recovered(void *user, const char *dir, const char *name)
{
	log_warn("put back '%s/%s': its daemon died while reading it", dir, name);
	inbox_push(user, dir, name, 0);
}

static void look_at_directory(struct inbox *in, const char *dir, int depth);

static void look_at_entry(struct inbox *in, int dirfd, const char *dir, const char *name,
			  bool complete, int depth)
{
	struct stat st;

	if (name[0] == '.' || fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISREG(st.st_mode) && fs_archive_suffix(name))
		consider(in, dirfd, dir, name, &st, complete);
	if (!S_ISDIR(st.st_mode) || !strcmp(name, "done") || !strcmp(name, "failed"))
		return;
	_cleanup_close_ int fd =
		openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && job_directory_is_stopped(fd)) {
		consider(in, dirfd, dir, name, &st, complete);
	} else if (fd >= 0 && in->o.recursive && depth < DEPTH_MAX) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

		look_at_directory(in, path, depth + 1);
	}
}

static void look_at_directory(struct inbox *in, const char *dir, int depth)
{
	_cleanup_list_ DIR *list = fs_open_list(AT_FDCWD, dir);

	if (!list)
		return;
	/* watch first, so that nothing is missed that arrives during the scan */
	watch(in, dir);
	(void)claims_recover(dir, tell_recovered, in);
	for (struct dirent *e; (e = readdir(list));)
		look_at_entry(in, dirfd(list), dir, e->d_name, false, depth);
}

static int by_age(const void *a, const void *b)
{
	const struct inbox_entry *x = a, *y = b;

	return x->changed_ns != y->changed_ns ? (x->changed_ns > y->changed_ns ? 1 : -1)
					      : strcmp(x->name, y->name);
}

static void empty_queue(struct inbox *in)
{
	for (size_t i = in->queue_next; i < in->queue_count; i++) {
		free(in->queue[i].dir);
		free(in->queue[i].name);
	}
	in->queue_next = in->queue_count = 0;
}

void inbox_look(struct inbox *in)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	in->next_look_ns = clock_boottime_ns() + in->o.interval_ns;
	if (!in->dir)
		return;
	int r = claims_clock_ns(in->dir, &in->now_ns, &why);
	if (r < 0) {
		if (!in->dir_failed)
			log_warn("cannot use '%s', waiting: %s", in->dir,
				 why.len ? why.buf : strerror(-r));
		in->dir_failed = true;
		return;
	}
	if (in->dir_failed)
		log_warn("'%s' is usable again", in->dir);
	in->dir_failed = false;
	empty_queue(in);
	in->unsettled = 0;
	look_at_directory(in, in->dir, 0);
	if (in->queue_count)
		qsort(in->queue, in->queue_count, sizeof(*in->queue), by_age);
	if (in->unsettled)
		look_within(in, (uint64_t)SETTLED_NS);
}

/* ---- events --------------------------------------------------------------------------------- */

static void take_event(struct inbox *in, const struct inotify_event *e)
{
	_cleanup_close_ int fd = -1;
	size_t i = 0;

	if (e->mask & IN_Q_OVERFLOW) {
		look_within(in, 0);
		return;
	}
	while (i < in->watch_count && in->watches[i].wd != e->wd)
		i++;
	if (i == in->watch_count)
		return;
	if (e->mask & IN_IGNORED) {
		forget_watch(in, i);
		return;
	}
	if (!e->len || e->name[0] == '.')
		return;
	/* the list of watches may grow during the scan */
	_cleanup_free_ char *dir = xstrdup(in->watches[i].path);
	if ((e->mask & IN_ISDIR) || meta_is_name(e->name))
		look_within(in, (uint64_t)SETTLED_NS);
	/* a new file is not yet complete, but there may be no later event for a link */
	if ((e->mask & IN_CREATE) && !(e->mask & IN_ISDIR)) {
		if (fs_archive_suffix(e->name))
			look_within(in, (uint64_t)SETTLED_NS);
		return;
	}
	if ((e->mask & IN_CREATE) && !in->o.recursive)
		return;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		look_at_entry(in, fd, dir, e->name, !(e->mask & IN_CREATE), 1);
}

void inbox_events(struct inbox *in)
{
	_Alignas(struct inotify_event) char buf[16384];
	ssize_t n;

	if (in->notify < 0)
		return;
	while ((n = read(in->notify, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;

			take_event(in, e);
			p += sizeof(*e) + e->len;
		}
}
