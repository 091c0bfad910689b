/*
 * Which processes belong to the job, and which of them are main: the job ends with these. A process
 * is classified once, while its parent is known; later it may have another one. A process whose
 * parent ended before it was seen is recognised by its session or process group. Main processes are
 * the topmost ones that cannot be waiting for us; the shell of a job script may be, if it started
 * the monitor.
 */
#include <errno.h>
#include <string.h>

#include "jobs/discovery/job_processes_internal.h"

#define ENVIRON_MAX (128 * 1024)
#define TICKS_PER_S 100
#define YOUNG_TICKS (2 * TICKS_PER_S)

static bool is_named(const struct job_processes_finder *f, const struct job_processes_proc *p)
{
	for (size_t i = 0; i < f->named_count; i++)
		if (f->named[i].pid == p->pid && f->named[i].starttime == p->starttime)
			return true;
	return false;
}

static bool is_young(const struct job_processes_finder *f, const struct job_processes_proc *p)
{
	return f->live && p->starttime + YOUNG_TICKS > f->now_ns / (1000000000ull / TICKS_PER_S);
}

static bool may_read_environ(const struct job_processes_finder *f,
			     const struct job_processes_proc *p)
{
	return !p->kernel && (p->uid == f->uid || !f->uid);
}

static bool is_of_job(const struct job_processes_proc *p)
{
	return p && (p->verdict == VERDICT_MEMBER || p->verdict == VERDICT_ENDED);
}

/* Two nodes may run on one host: the environment names the node. */
static bool is_of_other_node(const struct job_processes_finder *f, const struct strbuf *environment)
{
	const char *node;
	size_t n;

	return f->node && environ_find(environment, "SLURMD_NODENAME", &node, &n) &&
	       strcmp(node, f->node) != 0;
}

/* Reads what needs another file: command line and environment. */
static void inspect(struct job_processes_finder *f, struct job_processes_proc *p)
{
	if (p->inspected)
		return;
	p->inspected = true;
	p->stepd = -1;
	if ((f->mode == MODE_UNDECIDED || f->mode == MODE_STEPD) && !strcmp(p->comm, "slurmstepd"))
		p->stepd = batch_stepd(f, p);
	if (p->stepd >= 0 && self_is_above(f, p->pid))
		f->own_step = p->stepd;
	bool useful = f->mode == MODE_UNDECIDED || f->mode == MODE_ENVIRON || f->mode == MODE_LIST;
	if (!useful || p->has_id || !may_read_environ(f, p))
		return;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	if (procs_read(f, p->pid, "environ", ENVIRON_MAX, &text) < 0 || !environ_has_job(f, &text))
		return;
	const char *step;
	size_t n;
	p->has_id = !is_of_other_node(f, &text);
	if (environ_find(&text, "SLURM_STEP_ID", &step, &n))
		p->step = batch_step(f, step, n);
	else if (environ_find(&text, "SLURM_JOB_ID", &step, &n))
		p->step = batch_step(f, "batch", 5);
}

/* A child of a step's daemon: is the daemon that of this node? */
static bool is_task_of_other_node(const struct job_processes_finder *f,
				  const struct job_processes_proc *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *node;
	size_t n;

	if (!f->node || !may_read_environ(f, p) ||
	    procs_read(f, p->pid, "environ", ENVIRON_MAX, &text) < 0)
		return false;
	if (!environ_find(&text, "SLURMD_NODENAME", &node, &n))
		return is_young(f, p); /* it will be looked at again */
	return is_of_other_node(f, &text);
}

/* Was it started by a process of the job? */
static bool is_offspring(const struct job_processes_finder *f, struct job_processes_proc *p,
			 const struct job_processes_proc *parent)
{
	const struct job_processes_proc *of = NULL;

	if (parent && parent->verdict == VERDICT_MEMBER)
		of = parent;
	/* a session contains only descendants of its leader */
	else if (p->session > 1 && p->session != p->pid && is_of_job(procs_find(f, p->session)))
		of = procs_find(f, p->session);
	/* a process group may contain siblings: the parent decides then */
	else if (p->ppid == 1 && p->pgrp > 1 && p->pgrp != p->pid &&
		 is_of_job(procs_find(f, p->pgrp)))
		of = procs_find(f, p->pgrp);
	else
		return false;
	p->step = of->step;
	return true;
}

static bool belongs(struct job_processes_finder *f, struct job_processes_proc *p,
		    const struct job_processes_proc *parent)
{
	if (p->in_group)
		return true;
	switch (f->mode) {
	case MODE_UNDECIDED:
	case MODE_GROUP:
		return false;
	case MODE_TREE:
		if (is_named(f, p))
			return true;
		break;
	case MODE_STEPD:
		if (p->stepd >= 0)
			return false;
		if (parent && parent->stepd >= 0 && !is_task_of_other_node(f, p)) {
			p->step = parent->stepd;
			return true;
		}
		break;
	case MODE_LIST:
		for (size_t i = 0; i < f->listed_count; i++)
			if (f->listed[i].pid == p->pid) {
				p->step = f->listed[i].step;
				return true;
			}
		if (p->has_id) /* started since */
			return true;
		break;
	case MODE_ENVIRON:
		if (p->has_id)
			return true;
		break;
	case MODE_SESSION:
		if (p->session == f->self_session)
			return true;
		break;
	case MODE_USER:
		return !p->kernel && p->pid > 1 && p->uid == f->uid;
	}
	return is_offspring(f, p, parent);
}

void members_place(struct job_processes_finder *f, const struct job_processes_proc *p)
{
	GROW(f->joined, f->joined_count, f->joined_cap);
	f->joined[f->joined_count++] = p->pid;
	f->dirty = true;
}

static void join(struct job_processes_finder *f, struct job_processes_proc *p)
{
	p->verdict = VERDICT_MEMBER;
	procs_poll(f, p);
	members_place(f, p);
}

/* Determines whether a process may be waiting for us, and whether it is listed. */
static void find_role(struct job_processes_finder *f, struct job_processes_proc *p)
{
	const struct job_processes_proc *parent = procs_find(f, p->ppid);
	bool searched = f->kind != JOB_PROCESSES_PIDS && f->kind != JOB_PROCESSES_CGROUP;
	bool above = self_is_above(f, p->pid);

	p->hidden = searched && (above || name_is_daemon(p->comm));
	p->waiting = p->hidden || p->awaits;
	if (f->kind == JOB_PROCESSES_CGROUP && above) {
		p->waiting = true;
		p->hidden = name_is_launcher(p->comm);
	}
	if (searched && f->inside &&
	    (name_is_remote_launcher(p->comm) ||
	     (batch_is_batch_like(f, p->step) && name_is_shell(p->comm) &&
	      !(parent && parent->verdict == VERDICT_MEMBER && !parent->hidden))))
		p->waiting = true;
	/* the placeholder of a step for processes that come by ssh */
	if (p->step >= 0 && !strcmp(f->steps[p->step].name, "extern") &&
	    !strcmp(p->comm, "sleep") && parent && !strcmp(parent->comm, "slurmstepd"))
		p->hidden = p->waiting = true;
}

/* The ancestors of a monitor may wait for its end. They may be classified after it. */
static void await(struct job_processes_finder *f, const struct job_processes_proc *monitor)
{
	struct job_processes_proc *p = procs_find(f, monitor->ppid);

	for (int depth = 0; p && p->pid > 1 && depth < 64; depth++) {
		p->awaits = p->waiting = true;
		p->main = false;
		p = procs_find(f, p->ppid);
	}
}

/* True if it was classified. */
static bool judge(struct job_processes_finder *f, struct job_processes_proc *p)
{
	const struct job_processes_proc *parent = procs_find(f, p->ppid);
	bool named = f->mode == MODE_TREE && is_named(f, p);

	/* a named one may be our child: the command that we run; and orphans of the job become our
	 * children if we are their reaper */
	if (p->pid == f->self || (!named && parent && parent->verdict == VERDICT_OURS)) {
		p->verdict = VERDICT_OURS;
		return true;
	}
	/* a daemon's child has its name and title until exec: look at it again */
	if (f->kind != JOB_PROCESSES_PIDS && name_is_daemon(p->comm) && is_young(f, p) &&
	    (parent ? !strcmp(p->comm, parent->comm) : p->in_group))
		return false;
	inspect(f, p);
	if (!belongs(f, p, parent) || p->zombie)
		return false;
	if (!named && !f->all_users && p->uid != f->uid)
		return false;
	if (p->maybe_thread && procs_is_thread(f, p->pid)) {
		p->asked = true;
		return false;
	}
	if (!named && self_is_monitor(f, p)) {
		p->verdict = VERDICT_OURS;
		await(f, p);
		return true;
	}
	join(f, p);
	return true;
}

/* Is it one of the processes that the job ends with? */
static bool is_main(const struct job_processes_finder *f, const struct job_processes_proc *p,
		    const struct strbuf *environment)
{
	const struct job_processes_proc *parent = procs_find(f, p->ppid);
	int64_t task;

	if (f->kind == JOB_PROCESSES_PIDS)
		return is_named(f, p);
	if (p->waiting || p->hidden)
		return false;
	/* Slurm names the task in its environment and that of its descendants */
	if (p->step >= 0 && !batch_is_batch_like(f, p->step) &&
	    environ_number(environment, "SLURM_TASK_PID", &task))
		return task == p->pid;
	if (parent && parent->verdict == VERDICT_MEMBER && !parent->waiting)
		return false;
	return f->kind == JOB_PROCESSES_CGROUP || p->ppid != 1 || name_is_launcher(p->comm);
}

static void settle(struct job_processes_finder *f, struct job_processes_proc *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (may_read_environ(f, p) && procs_read(f, p->pid, "environ", ENVIRON_MAX, &text) == 0) {
		p->rank = environ_rank(&text);
		/* between fork and exec it has its parent's environment */
		if (is_young(f, p)) {
			GROW(f->rankless, f->rankless_count, f->rankless_cap);
			f->rankless[f->rankless_count++] = (struct job_processes_again){
				.pid = p->pid, .due_ns = f->now_ns + 500 * 1000000ull};
		}
	}
	p->main = is_main(f, p, &text);
}

void members_ranks(struct job_processes_finder *f)
{
	size_t keep = 0;

	for (size_t i = 0; i < f->rankless_count; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct job_processes_again a = f->rankless[i];
		struct job_processes_proc *p = procs_find(f, a.pid);

		if (a.due_ns > f->now_ns) {
			f->rankless[keep++] = a;
			continue;
		}
		if (!p || p->verdict != VERDICT_MEMBER ||
		    procs_read(f, a.pid, "environ", ENVIRON_MAX, &text) < 0)
			continue;
		int rank = environ_rank(&text);
		if (rank != p->rank) {
			p->rank = rank;
			f->dirty = true;
		}
		if (!a.looks++) {
			a.due_ns = f->now_ns + 2000 * 1000000ull;
			f->rankless[keep++] = a;
		}
	}
	f->rankless_count = keep;
}

/* It may be between fork and exec, or about to change its user. */
static bool deserves_another_look(const struct job_processes_finder *f,
				  const struct job_processes_proc *p)
{
	if (p->asked || p->kernel || !is_young(f, p))
		return false;
	return f->mode != MODE_TREE || !f->all_users || (p->ppid > 1 && !procs_find(f, p->ppid));
}

struct turn {
	uint64_t starttime;
	int pid;
};

static int turn_order(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->starttime != y->starttime)
		return x->starttime < y->starttime ? -1 : 1;
	return x->pid - y->pid;
}

/* Parents before their children, because the parent counts more than anything else. */
static void sort_fresh(struct job_processes_finder *f)
{
	_cleanup_free_ struct turn *turns = xcalloc(f->fresh_count, sizeof(*turns));

	for (size_t i = 0; i < f->fresh_count; i++) {
		const struct job_processes_proc *p = procs_find(f, f->fresh[i]);

		turns[i] = (struct turn){p ? p->starttime : 0, f->fresh[i]};
	}
	qsort(turns, f->fresh_count, sizeof(*turns), turn_order);
	for (size_t i = 0; i < f->fresh_count; i++)
		f->fresh[i] = turns[i].pid;
}

void members_judge(struct job_processes_finder *f)
{
	if (f->fresh_count > 1)
		sort_fresh(f);
	/* a process may have been classified before the parent or leader it belongs to */
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < f->fresh_count; i++) {
			struct job_processes_proc *p = procs_find(f, f->fresh[i]);

			if (p && p->verdict == VERDICT_NEW)
				changed |= judge(f, p);
		}
	}
	for (size_t i = 0; i < f->fresh_count; i++) {
		struct job_processes_proc *p = procs_find(f, f->fresh[i]);

		if (!p || p->verdict != VERDICT_NEW)
			continue;
		p->verdict = VERDICT_STRANGER;
		if (deserves_another_look(f, p)) {
			p->asked = true;
			procs_again(f, p->pid);
		}
	}
	f->fresh_count = 0;
	/* the role of children depends on that of their parent */
	for (size_t i = 0; i < f->joined_count; i++) {
		struct job_processes_proc *p = procs_find(f, f->joined[i]);

		if (p && p->verdict == VERDICT_MEMBER)
			find_role(f, p);
	}
	for (size_t i = 0; i < f->joined_count; i++) {
		struct job_processes_proc *p = procs_find(f, f->joined[i]);

		if (p && p->verdict == VERDICT_MEMBER)
			settle(f, p);
	}
	f->joined_count = 0;
}

void members_reconsider(struct job_processes_finder *f)
{
	struct job_processes_proc *p;

	PROCESS_TABLE_EACH(&f->procs, p)
		if (p->verdict == VERDICT_STRANGER)
			procs_fresh(f, p);
	members_judge(f);
}
