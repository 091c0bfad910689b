/*
 * Which descriptors count which process. The descriptors of a process also count the threads and
 * children that it creates later, and theirs: these must not get their own, or they would be
 * counted twice. Threads and children that existed before are not counted, and need their own.
 *
 * To tell them apart, threads and children are listed right before and after the descriptors are
 * opened. If one appeared meanwhile, it is unknown which events it has: all are closed and opened
 * again. Those listed are attached, too; a child that appears later was created later, and is
 * covered. A fork copies the events long before the child is visible, so a running process gets a
 * moment before the second look. A process whose parent is not part of the job is either an orphan
 * of a covered process, or was started by somebody else; see is_orphan().
 *
 * Descriptors of an ended process stay open while a process that they count may be alive.
 */
#include "sources/counters/counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/process_stat.h"

/* An attachment is closed after as many readings without a process that needs it. */
#define IDLE_READINGS 2
/* How deep children are followed. */
#define DEPTH_MAX 64
/* How often to begin again because a child or thread appeared meanwhile. After that it is left out
 * rather than counted twice. */
#define TRIES 16
/* A fork takes less, except that of a very large process. */
#define FORK_US 500

static void attach(struct counters *c, int pid, uint64_t starttime, unsigned depth);

static uint64_t tick_now(void)
{
	return clock_boottime_ns() / 1000 / PL_TICK_US;
}

/* ---- known processes ---- */

static struct covered *find(const struct coverage *v, int pid)
{
	return process_table_find(&v->known, pid);
}

static void know(struct coverage *v, int pid, uint64_t starttime, int by, bool attached)
{
	v->known.entry_size = sizeof(struct covered);
	*(struct covered *)process_table_put(&v->known, pid) = (struct covered){
		.pid = pid, .starttime = starttime, .by = by, .attached = attached};
	if (by >= 0)
		v->attachments[by].users++;
}

static void add_pid(struct pids *p, uint64_t pid)
{
	if (pid == 0 || pid > INT32_MAX)
		return;
	GROW(p->list, p->count, p->cap);
	p->list[p->count++] = (int)pid;
}

static bool has_pid(const struct pids *p, int pid)
{
	for (size_t i = p->count; i-- > 0;)
		if (p->list[i] == pid)
			return true;
	return false;
}

static void note_session(struct coverage *v, const uint64_t *f)
{
	if (!has_pid(&v->sessions, (int)f[STAT_SESSION]))
		add_pid(&v->sessions, f[STAT_SESSION]);
	if (!has_pid(&v->groups, (int)f[STAT_PGRP]))
		add_pid(&v->groups, f[STAT_PGRP]);
}

/* ---- attaching ---- */

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void free_pids(struct pids *p)
{
	free(p->list);
}

/* Does the first list have all of the second? */
static bool holds(const struct pids *all, const struct pids *some)
{
	for (size_t i = 0; i < some->count; i++)
		if (!has_pid(all, some->list[i]))
			return false;
	return true;
}

static void list_threads(const struct coverage *v, int pid, struct pids *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/task", v->root, pid);
	_cleanup_list_ DIR *d = opendir(path);
	uint64_t tid;

	ret->count = 0;
	for (const struct dirent *e; d && (e = readdir(d));)
		if (parse_u64(e->d_name, &tid) == 0)
			add_pid(ret, tid);
	/* the first thread first: most often it creates the others */
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

/* Is a thread running, and perhaps in the middle of a fork? */
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

/* children: those that existed before. */
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

/* Attaches to the children that existed before the descriptors of their parent. */
static void attach_children(struct counters *c, const struct pids *children, unsigned depth)
{
	for (size_t i = 0; i < children->count; i++) {
		int pid = children->list[i];
		struct process_stat stat;

		if (pid != getpid() && !find(&c->cover, pid) &&
		    process_stat_read(c->cover.root, pid, &stat))
			attach(c, pid, stat.st.f[STAT_STARTTIME], depth + 1);
	}
}

/* Opens descriptors for a process and for the children it has already. */
static void attach(struct counters *c, int pid, uint64_t starttime, unsigned depth)
{
	struct coverage *v = &c->cover;
	_cleanup_(free_pids) struct pids children = {0};
	struct process_stat stat = {0};
	const uint64_t *f = stat.st.f;

	if (process_stat_read(v->root, pid, &stat)) {
		note_session(v, f);
		if (v->begun) {
			v->late++;
			v->late_ticks +=
				f[STAT_UTIME] + f[STAT_STIME] + f[STAT_CUTIME] + f[STAT_CSTIME];
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

/* ---- deciding ---- */

static bool is_alive(const struct coverage *v, int pid)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d", v->root, pid);

	return access(path, F_OK) == 0;
}

/*
 * Is a process whose parent is not part of the job an orphan of a covered process, which the
 * launcher, init or another reaper has adopted? Otherwise a launcher has started it.
 *
 * A process that a launcher starts is in the session of the launcher (tasks of slurmstepd: the
 * leader of their session ended when slurmstepd became a daemon, and all tasks of a step are in the
 * process group of the first; the job knows them by their environment as main processes) or leads
 * its own. An orphan is in the process group of a covered process; or, where its session is not
 * that of its new parent, in a session with a covered process, or in one whose leader is gone, like
 * a daemon.
 */
static bool is_orphan(struct coverage *v, const struct job_process *w)
{
	struct process_stat stat, parent;

	if (w->starttime < v->begin_tick)
		return false;
	if (w->ppid == 1 || !process_stat_read(v->root, w->pid, &stat))
		return true;
	int session = (int)stat.st.f[STAT_SESSION], group = (int)stat.st.f[STAT_PGRP];
	if (session > 0 && process_stat_read(v->root, w->ppid, &parent) &&
	    (int)parent.st.f[STAT_SESSION] == session)
		return !w->main && group != w->pid && group != (int)parent.st.f[STAT_PGRP] &&
		       has_pid(&v->groups, group);
	return session > 0 && (has_pid(&v->sessions, session) || !is_alive(v, session));
}

static void cover(struct coverage *v, const struct job_process *w, int by)
{
	struct process_stat stat = {0};

	know(v, w->pid, w->starttime, by, false);
	if (process_stat_read(v->root, w->pid, &stat))
		note_session(v, stat.st.f);
}

static void decide(struct counters *c, const struct job_processes *w, const struct job_process *p,
		   unsigned depth)
{
	struct coverage *v = &c->cover;
	const struct job_process *parent_seen = job_processes_find(w, p->ppid);

	if (find(v, p->pid))
		return;
	/* decide about the parent first: that may cover this one */
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

/* ---- the job's processes ---- */

struct sweeping {
	struct coverage *v;
	const struct job_processes *w;
};

/* Has a process ended, or was its pid reused? */
static bool has_ended(void *user, void *entry)
{
	const struct sweeping *s = user;
	const struct covered *p = entry;
	const struct job_process *now = job_processes_find(s->w, p->pid);

	if (now && now->starttime == p->starttime)
		return false;
	if (p->by >= 0)
		s->v->attachments[p->by].users--;
	return true;
}

static bool has_orphans(const struct coverage *v)
{
	const struct covered *p;

	PROCESS_TABLE_EACH(&v->known, p)
		if (p->by == COVER_ORPHAN)
			return true;
	return false;
}

static void close_unused(struct counters *c)
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

	process_table_remove_if(&v->known, has_ended, &(struct sweeping){v, w});
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
		/* nothing was attached before: each of them needs its own */
		v->begin_tick = tick_now();
		for (size_t i = 0; i < count; i++)
			if (!find(v, new[i]->pid))
				attach(c, new[i]->pid, new[i]->starttime, 0);
		v->begun = true;
	}
	for (size_t i = 0; i < count; i++)
		decide(c, w, new[i], 0);
	close_unused(c);
}

void coverage_release(struct counters *c)
{
	struct coverage *v = &c->cover;
	const char *root = v->root;

	for (size_t i = 0; i < v->attachment_count; i++)
		counters_detach(c, &v->attachments[i].fds);
	free(v->attachments);
	process_table_release(&v->known);
	free_pids(&v->sessions);
	free_pids(&v->groups);
	*v = (struct coverage){.root = root};
}
