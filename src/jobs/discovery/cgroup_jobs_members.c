/*
 * The processes of jobs; see cgroup_jobs_internal.h. Surprising: version 1 names a process in every
 * group that one of its threads is in.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "jobs/discovery/cgroup_jobs_internal.h"

#define SENTINELS_TRIED 64

/* ---- lists ---------------------------------------------------------------------------------- */

struct pids {
	pid_t *list;
	size_t count, cap;
	size_t foreign; /* processes of other pid namespaces, which have no pid here */
	size_t dirs;
	bool first; /* stop at the first group with a process */
};

static void take_pid(void *user, pid_t pid)
{
	struct pids *l = user;

	if (!pid) {
		l->foreign++;
		return;
	}
	GROW(l->list, l->count, l->cap);
	l->list[l->count++] = pid;
}

/* The members of a directory and of those below it. */
static int collect(struct pids *l, int dir, unsigned depth)
{
	struct stat st;

	int r = cgroup_each_process(dir, ".", take_pid, l);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	if ((l->first && (l->count || l->foreign)) || depth >= CGROUP_JOBS_STEPS_DEPTH ||
	    fstat(dir, &st) < 0 || st.st_nlink == 2)
		return 0; /* two links: no subdirectory, on filesystems that count them */
	_cleanup_list_ DIR *d = fs_open_list(dir, ".");
	for (const struct dirent *e; d && (e = readdir(d)) && l->dirs < CGROUP_JOBS_STEPS_MAX;) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		_cleanup_close_ int sub = openat(dirfd(d), e->d_name,
						 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			continue;
		l->dirs++;
		(void)collect(l, sub, depth + 1);
		if (l->first && (l->count || l->foreign))
			break;
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

int cgroup_jobs_visit_processes(const struct cgroup_jobs *j, const struct job *job,
				void (*visit)(void *user, pid_t pid), void *user)
{
	struct pids l = {0};
	int seen = 0;

	(void)j;
	if (job->dirs[CGROUP_JOBS_MEMBERS] < 0)
		return -ENOENT;
	int r = collect(&l, job->dirs[CGROUP_JOBS_MEMBERS], 0);
	if (l.count)
		qsort(l.list, l.count, sizeof(*l.list), by_number);
	for (size_t i = 0; i < l.count; i++)
		if (!i || l.list[i] != l.list[i - 1]) {
			seen++;
			visit(user, l.list[i]);
		}
	free(l.list);
	return r < 0 ? r : seen;
}

/* ---- is any process there? ------------------------------------------------------------------ */

void members_unwatch(struct entry *e)
{
	if (e->pidfd >= 0)
		close(e->pidfd); /* which also removes it from the epoll */
	e->pidfd = -1;
}

/* Keeps a pidfd of one that is alive. The first in the list are the oldest. */
static bool watch_one(struct cgroup_jobs *j, struct entry *e, const struct pids *l)
{
	bool unknown = false;

	if (!e->live)
		return l->count > 0;
	for (size_t i = 0; i < l->count && i < SENTINELS_TRIED; i++) {
		int fd = (int)syscall(SYS_pidfd_open, l->list[i], 0);
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = e};

		if (fd < 0) {
			unknown |= errno != ESRCH;
			continue;
		}
		if (poll(&p, 1, 0) == 0 && j->epoll >= 0 &&
		    epoll_ctl(j->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
			e->pidfd = fd;
			return true;
		}
		unknown |= !(p.revents & POLLIN);
		close(fd);
	}
	/* too many dead ones first, or none can be opened: trust the list */
	return unknown || l->count > SENTINELS_TRIED;
}

static int by_rank(const struct cgroup_jobs *j, const struct group *a, const struct group *b)
{
	return j->hierarchies[a->hierarchy].rank - j->hierarchies[b->hierarchy].rank;
}

bool members_any(struct cgroup_jobs *j, struct entry *e)
{
	int after = -1;

	e->looked_ns = j->now_ns;
	members_unwatch(e);
	/* the best hierarchy first; the next where the manager does not use it */
	for (size_t n = 0; n < e->group_count; n++) {
		const struct group *g = NULL;
		struct pids l = {.first = true};

		for (size_t i = 0; i < e->group_count; i++)
			if (j->hierarchies[e->groups[i]->hierarchy].rank > after &&
			    (!g || by_rank(j, e->groups[i], g) < 0))
				g = e->groups[i];
		if (!g)
			break;
		after = j->hierarchies[g->hierarchy].rank;
		(void)collect(&l, g->fd, 0);
		bool any = l.foreign || watch_one(j, e, &l);
		free(l.list);
		if (!any)
			continue;
		e->job.dirs[CGROUP_JOBS_MEMBERS] = g->fd;
		e->job.inodes[CGROUP_JOBS_MEMBERS] = g->inode;
		return true;
	}
	return false;
}

bool members_ever(const struct entry *e)
{
	int dir = e->job.dirs[CGROUP_JOBS_CPUACCT];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *p;
	uint64_t v = 0;

	if (dir < 0 ||
	    fs_read(dir, e->job.version2 ? "cpu.stat" : "cpuacct.usage", 65536, &text) < 0)
		return false;
	p = e->job.version2 ? strstr(text.buf, "usage_usec ") : text.buf;
	if (p && e->job.version2)
		p += strlen("usage_usec ");
	return p && proc_number(&p, text.buf + text.len, &v) && v;
}

/* ---- the job of a process -------------------------------------------------------------------- */

struct job *cgroup_jobs_of_process(struct cgroup_jobs *j, pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/cgroup", j->root, (int)pid);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char *controllers, *group;

	if (fs_read(AT_FDCWD, path, 65536, &text) < 0)
		return NULL;
	for (char *p = text.buf; mount_line(&p, &controllers, &group);) {
		const struct cgroup_mount *m = mount_of(&j->mounts, controllers);

		if (!m)
			continue;
		const struct hierarchy *h = &j->hierarchies[m - j->mounts.list];
		const char *below = mount_below(m, group);
		below += strspn(below, "/");
		/* the group itself, then those above it */
		for (size_t n = strlen(below); n; n--) {
			if (below[n] && below[n] != '/')
				continue;
			struct entry *e = entries_find(j, h->space, below, n);

			if (e && !e->hidden)
				return &e->job;
		}
	}
	return NULL;
}
