/*
 * Who is counted by which descriptors. A process that gets descriptors counts for the threads and
 * children that it makes from then on, and those for theirs: they must not get their own, or they
 * would count twice. What was there before counts for nobody, and must.
 *
 * Told apart so: threads and children are listed right before and after the descriptors are opened.
 * As long as one came meanwhile it is not known which events it has: all are closed and opened
 * again. Those listed are attached too; a child that turns up later was made later, and is covered.
 * A fork copies the events long before the child can be seen, so a process that is running is given
 * a moment before the second look. A process whose parent is not of the job is either an orphan of
 * one that was covered, or was started by somebody else; see is_orphan().
 *
 * Descriptors of a process that ended stay open while a process may be alive that they count.
 */
#include "sources/counters/counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/procparse.h"

/* So many readings without a process that needs it, and an attachment is given up. */
#define IDLE_READINGS 2
/* A thread's children are followed so deep. */
#define DEPTH_MAX 64
/* So often we begin again because a child or a thread came meanwhile. After that such a one is left
 * out rather than counted twice. */
#define TRIES 16
/* A fork takes less, but that of a very large process. */
#define FORK_US 500

struct pids {
	int *list;
	size_t count, cap;
};

static void attach(struct counters *c, int pid, uint64_t starttime, unsigned depth);

static uint64_t tick_now(void)
{
	return clock_boottime_ns() / 1000 / PL_TICK_US;
}

static bool read_stat(const struct coverage *v, int pid, struct proc_stat *st)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/stat", v->root, pid);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	return fs_read(AT_FDCWD, path, 4096, &text) >= 0 &&
	       clock_parse_stat(text.buf, text.len, st) && st->last >= STAT_STARTTIME;
}

/* ---- who is known --------------------------------------------------------------------------- */

/* The place of a pid, or where it would be. */
static size_t place_of(const struct coverage *v, int pid)
{
	size_t low = 0, high = v->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v->list[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct covered *find(const struct coverage *v, int pid)
{
	size_t at = place_of(v, pid);

	return at < v->count && v->list[at].pid == pid ? &v->list[at] : NULL;
}

static void know(struct coverage *v, int pid, uint64_t starttime, int by, bool attached)
{
	size_t at = place_of(v, pid);

	GROW(v->list, v->count, v->cap);
	memmove(&v->list[at + 1], &v->list[at], (v->count - at) * sizeof(*v->list));
	v->count++;
	v->list[at] = (struct covered){
		.pid = pid, .starttime = starttime, .by = by, .attached = attached};
	if (by >= 0)
		v->attachments[by].users++;
}

static bool knows_session(const struct coverage *v, int session)
{
	for (size_t i = v->session_count; i-- > 0;)
		if (v->sessions[i] == session)
			return true;
	return false;
}

static bool knows_group(const struct coverage *v, int group)
{
	for (size_t i = v->group_count; i-- > 0;)
		if (v->groups[i] == group)
			return true;
	return false;
}

static void note_session(struct coverage *v, const struct proc_stat *st)
{
	int session = (int)st->f[STAT_SESSION], group = (int)st->f[STAT_PGRP];

	if (session > 0 && !knows_session(v, session)) {
		GROW(v->sessions, v->session_count, v->session_cap);
		v->sessions[v->session_count++] = session;
	}
	if (group > 0 && !knows_group(v, group)) {
		GROW(v->groups, v->group_count, v->group_cap);
		v->groups[v->group_count++] = group;
	}
}

/* ---- attaching ------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void add_pid(struct pids *p, uint64_t pid)
{
	if (pid == 0 || pid > INT32_MAX)
		return;
	GROW(p->list, p->count, p->cap);
	p->list[p->count++] = (int)pid;
}

static void free_pids(struct pids *p)
{
	free(p->list);
}

/* Is everyone of the second list in the first? */
static bool holds(const struct pids *all, const struct pids *some)
{
	for (size_t i = 0; i < some->count; i++) {
		size_t k = 0;

		while (k < all->count && all->list[k] != some->list[i])
			k++;
		if (k == all->count)
			return false;
	}
	return true;
}

static void list_threads(const struct coverage *v, int pid, struct pids *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/task", v->root, pid);
	DIR *d = opendir(path);
	uint64_t tid;

	ret->count = 0;
	for (const struct dirent *e; d && (e = readdir(d));)
		if (parse_u64(e->d_name, &tid) == 0)
			add_pid(ret, tid);
	if (d)
		closedir(d);
	/* the first thread first: most often it is the one that makes others */
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_number);
}

/* Adds the children of a thread: a line of numbers. */
static void list_children(struct coverage *v, int pid, int tid, struct pids *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/task/%d/children", v->root, pid, tid);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t child;

	if (fs_read(AT_FDCWD, path, 1 << 22, &text) == -ENOENT) {
		_cleanup_free_ char *thread = xasprintf("%s/proc/%d/task/%d", v->root, pid, tid);

		v->no_children_files |= access(thread, F_OK) == 0;
	}
	const char *end = text.buf + text.len;
	for (const char *p = text.buf; p < end && proc_number(&p, end, &child);) {
		add_pid(ret, child);
		p += p < end && *p == ' ';
	}
}

static int free_attachment(struct coverage *v)
{
	size_t i = 0;

	while (i < v->attachment_count && v->attachments[i].pid)
		i++;
	if (i == v->attachment_count) {
		GROW(v->attachments, v->attachment_count, v->attachment_cap);
		v->attachments[v->attachment_count++] = (struct attachment){0};
	}
	return (int)i;
}

static void note_denied(struct coverage *v, int error)
{
	if (error == -ESRCH || error == -ENOENT)
		return;
	v->denied++;
	v->denied_error = -error;
}

/* Is a thread running, and so perhaps in the middle of a fork? */
static bool is_busy(const struct coverage *v, int pid, const struct pids *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		_cleanup_free_ char *path =
			xasprintf("%s/proc/%d/task/%d/stat", v->root, pid, threads->list[i]);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		if (fs_read(AT_FDCWD, path, 4096, &text) >= 0 &&
		    clock_parse_stat(text.buf, text.len, &st) && st.f[STAT_STATE] != 'S')
			return true;
	}
	return false;
}

static void list_all_children(struct coverage *v, int pid, const struct pids *threads,
			      struct pids *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < threads->count; i++)
		list_children(v, pid, threads->list[i], ret);
}

/* children: those that were there before. */
static int attach_threads(struct counters *c, struct attachment *a, struct pids *children)
{
	_cleanup_(free_pids) struct pids before = {0}, after = {0}, now = {0};
	struct coverage *v = &c->cover;
	int error = -ESRCH;

	for (int i = 0;; i++) {
		children->count = 0;
		list_threads(v, a->pid, &before);
		for (size_t k = 0; k < before.count; k++) {
			list_children(v, a->pid, before.list[k], children);
			int r = counters_attach(c, &a->fds, before.list[k], -1, 0);
			if (r < 0 && r != -ESRCH)
				error = r;
		}
		if (!a->fds.count || i == TRIES)
			break;
		if (is_busy(v, a->pid, &before))
			usleep(FORK_US);
		list_threads(v, a->pid, &after);
		list_all_children(v, a->pid, &after, &now);
		if (holds(&before, &after) && holds(children, &now))
			break;
		counters_detach_from(c, &a->fds, 0);
	}
	return a->fds.count ? 0 : error;
}

/* Those that are children now were there before their parent's descriptors. */
static void attach_children(struct counters *c, const struct pids *children, unsigned depth)
{
	for (size_t i = 0; i < children->count; i++) {
		int pid = children->list[i];
		struct proc_stat st;

		if (pid != getpid() && !find(&c->cover, pid) && read_stat(&c->cover, pid, &st))
			attach(c, pid, st.f[STAT_STARTTIME], depth + 1);
	}
}

/* Gives a process descriptors of its own, and what it made before. */
static void attach(struct counters *c, int pid, uint64_t starttime, unsigned depth)
{
	struct coverage *v = &c->cover;
	_cleanup_(free_pids) struct pids children = {0};
	struct proc_stat st;

	if (read_stat(v, pid, &st)) {
		note_session(v, &st);
		if (v->begun) {
			v->late++;
			v->late_ticks += st.f[STAT_UTIME] + st.f[STAT_STIME] + st.f[STAT_CUTIME] +
					 st.f[STAT_CSTIME];
		}
	}
	struct attachment a = {.pid = pid, .begin_tick = tick_now()};
	int r = attach_threads(c, &a, &children);
	if (r < 0) {
		note_denied(v, r);
		counters_detach(c, &a.fds);
		know(v, pid, starttime, COVER_DENIED, false);
	} else {
		int number = free_attachment(v);

		v->attachments[number] = a;
		v->counts = true;
		know(v, pid, starttime, number, true);
	}
	if (depth < DEPTH_MAX)
		attach_children(c, &children, depth);
}

/* ---- deciding ------------------------------------------------------------------------------- */

static bool is_alive(const struct coverage *v, int pid)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d", v->root, pid);

	return access(path, F_OK) == 0;
}

/*
 * A process whose parent is not of the job: a launcher has started it, or it has lost a parent that
 * was covered, and the launcher, init or another reaper has taken it.
 *
 * What a launcher starts is in the launcher's session (slurmstepd's tasks: the leader of their
 * session ended when slurmstepd became a daemon, and all tasks of a step are in the process group
 * of the first; the job knows them by their environment as main processes) or leads one of its own.
 * An orphan is in the process group of somebody who was covered; or, where its session is not that
 * of its new parent, in a session in which we covered somebody, or in one whose leader is gone, as
 * daemons are.
 */
static bool is_orphan(struct coverage *v, const struct job_process *w)
{
	struct proc_stat st, parent;

	if (w->starttime < v->begin_tick)
		return false;
	if (w->ppid == 1 || !read_stat(v, w->pid, &st))
		return true;
	int session = (int)st.f[STAT_SESSION], group = (int)st.f[STAT_PGRP];
	if (session > 0 && read_stat(v, w->ppid, &parent) && (int)parent.f[STAT_SESSION] == session)
		return !w->main && group != w->pid && group != (int)parent.f[STAT_PGRP] &&
		       knows_group(v, group);
	return session > 0 && (knows_session(v, session) || !is_alive(v, session));
}

static void cover(struct coverage *v, const struct job_process *w, int by)
{
	struct proc_stat st;

	know(v, w->pid, w->starttime, by, false);
	if (read_stat(v, w->pid, &st))
		note_session(v, &st);
}

static void decide(struct counters *c, const struct job_processes *w, const struct job_process *p,
		   unsigned depth)
{
	struct coverage *v = &c->cover;
	const struct job_process *parent_seen = job_processes_find(w, p->ppid);

	if (find(v, p->pid))
		return;
	/* the parent's case first; it may bring this one along */
	if (parent_seen && !find(v, p->ppid) && parent_seen != p && depth < DEPTH_MAX) {
		decide(c, w, parent_seen, depth + 1);
		if (find(v, p->pid))
			return;
	}
	const struct covered *parent = find(v, p->ppid);
	if (!parent) {
		if (v->begun && is_orphan(v, p))
			cover(v, p, COVER_ORPHAN);
		else
			attach(c, p->pid, p->starttime, 0);
		return;
	}
	bool before = parent->attached && v->no_children_files &&
		      p->starttime < v->attachments[parent->by].begin_tick;
	if (parent->by == COVER_DENIED || before)
		attach(c, p->pid, p->starttime, 0);
	else
		cover(v, p, parent->by);
}

/* ---- the job's processes -------------------------------------------------------------------- */

/* Forgets those that ended, or whose pid is another's now. */
static void sweep(struct coverage *v, const struct job_processes *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->count; i++) {
		struct covered *p = &v->list[i];
		const struct job_process *now = job_processes_find(w, p->pid);

		if (now && now->starttime == p->starttime)
			v->list[kept++] = *p;
		else if (p->by >= 0)
			v->attachments[p->by].users--;
	}
	v->count = kept;
}

static bool has_orphans(const struct coverage *v)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->list[i].by == COVER_ORPHAN)
			return true;
	return false;
}

static void give_up_unused(struct counters *c)
{
	struct coverage *v = &c->cover;

	if (has_orphans(v))
		return;
	for (size_t i = 0; i < v->attachment_count; i++) {
		struct attachment *a = &v->attachments[i];

		if (!a->pid)
			continue;
		a->idle = a->users ? 0 : a->idle + 1;
		if (a->idle <= IDLE_READINGS)
			continue;
		counters_take(c, &a->fds);
		counters_detach(c, &a->fds);
		*a = (struct attachment){0};
	}
}

static int by_start(const void *a, const void *b)
{
	const struct job_process *x = *(const struct job_process *const *)a;
	const struct job_process *y = *(const struct job_process *const *)b;

	if (x->starttime != y->starttime)
		return x->starttime < y->starttime ? -1 : 1;
	return x->pid - y->pid;
}

void coverage_update(struct counters *c, const struct job_processes *w)
{
	struct coverage *v = &c->cover;
	_cleanup_free_ const struct job_process **new = NULL;
	size_t count = 0, cap = 0;

	sweep(v, w);
	for (size_t i = 0; i < w->count; i++) {
		if (find(v, w->list[i].pid) || w->list[i].pid == getpid())
			continue;
		GROW(new, count, cap);
		new[count++] = &w->list[i];
	}
	/* parents come before their children */
	if (count)
		qsort(new, count, sizeof(*new), by_start);
	if (!v->begun && count) {
		/* nothing has been attached before these: all of them are on their own */
		v->begin_tick = tick_now();
		for (size_t i = 0; i < count; i++)
			if (!find(v, new[i]->pid))
				attach(c, new[i]->pid, new[i]->starttime, 0);
		v->begun = true;
	}
	for (size_t i = 0; i < count; i++)
		decide(c, w, new[i], 0);
	give_up_unused(c);
}

void coverage_release(struct counters *c)
{
	struct coverage *v = &c->cover;
	const char *root = v->root;

	for (size_t i = 0; i < v->attachment_count; i++)
		counters_detach(c, &v->attachments[i].fds);
	free(v->attachments);
	free(v->list);
	free(v->sessions);
	free(v->groups);
	*v = (struct coverage){.root = root};
}
