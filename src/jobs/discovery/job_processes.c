/* Processes of a job; see job_processes.h and job_processes_internal.h. */
#include "jobs/discovery/job_processes.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "jobs/discovery/job_processes_internal.h"

#define SECOND_NS 1000000000ull
/* Title, environment and user of a process may change. */
#define REREAD_NS (30 * SECOND_NS)
#define GROUPS_NS (10 * SECOND_NS)
/* A script may continue with its next command, and a job with its next step. */
#define OVER_NS (3 * SECOND_NS)

static int open_pids(struct job_processes_finder *f, const struct job_processes_options *o,
		     struct strbuf *why)
{
	f->named = xcalloc(o->pid_count, sizeof(*f->named));
	for (size_t i = 0; i < o->pid_count; i++) {
		struct job_processes_proc p;

		if (procs_look(f, o->pids[i], &p) < 0 || p.zombie)
			continue;
		f->named[f->named_count].pid = p.pid;
		f->named[f->named_count++].starttime = p.starttime;
	}
	f->mode = MODE_TREE;
	if (f->named_count)
		return 0;
	return strbuf_fail(why, -ENOENT,
			   o->pid_count > 1 ? "none of the named processes exists, not even %d"
					    : "there is no process %d",
			   o->pid_count ? o->pids[0] : 0);
}

static int open_kind(struct job_processes_finder *f, struct job_processes *w,
		     const struct job_processes_options *o, struct strbuf *why)
{
	const char *id;

	switch (o->kind) {
	case JOB_PROCESSES_PIDS:
		return open_pids(f, o, why);
	case JOB_PROCESSES_CGROUP:
		f->mode = MODE_GROUP;
		return groups_named(f, w, o->cgroup ? o->cgroup : "", why);
	case JOB_PROCESSES_JOB:
		return batch_find(f, o, why);
	case JOB_PROCESSES_USER:
		f->mode = MODE_USER;
		return 0;
	case JOB_PROCESSES_NONE:
		break;
	}
	if (scheduler_find(env_lookup, &id))
		return batch_find(f, o, why);
	f->mode = f->self_session > 0 ? MODE_SESSION : MODE_USER;
	return 0;
}

int job_processes_open(struct job_processes *w, const struct job_processes_options *o,
		       struct strbuf *why)
{
	struct job_processes_finder *f = xcalloc(1, sizeof(*f));

	*w = (struct job_processes){.finder = f};
	f->root = xstrdup(o->root ? o->root : "");
	f->kind = o->kind;
	f->uid = geteuid();
	f->all_users = o->all_users ||
		       (!f->uid && o->kind != JOB_PROCESSES_NONE && o->kind != JOB_PROCESSES_USER);
	f->own_step = -1;
	f->step_class = STEP_NONE;
	f->scontrol.out = (struct strbuf)STRBUF_INIT;
	int r = procs_open(f, why);
	if (r == 0) {
		self_find(f);
		mounts_find(&f->mounts, f->root);
		if (o->launcher) {
			free(f->launcher);
			f->launcher = xstrdup(o->launcher);
		}
		r = open_kind(f, w, o, why);
	}
	if (r < 0)
		job_processes_close(w);
	return r;
}

void job_processes_close(struct job_processes *w)
{
	struct job_processes_finder *f = w->finder;

	if (f) {
		scontrol_close(f);
		groups_close(f);
		procs_close(f);
		free(f->root);
		free(f->named);
		free(f->above);
		free(f->launcher);
		free(f->job);
		free(f->only_step);
		free(f->node);
		free(f->steps);
		free(f);
	}
	for (size_t i = 0; i < w->group_count; i++)
		free(w->groups[i].path);
	free(w->groups);
	free(w->list);
	free(w->how);
	*w = (struct job_processes){0};
}

/* ---- the list ------------------------------------------------------------------------------- */

static void say_how(struct job_processes *w)
{
	const struct job_processes_finder *f = w->finder;
	const char *way = f->mode == MODE_GROUP   ? "its control groups"
			  : f->mode == MODE_STEPD ? "the process trees of slurmstepd"
			  : f->mode == MODE_LIST  ? "scontrol listpids"
						  : "the environment of processes";

	free(w->how);
	if (f->job && f->mode == MODE_UNDECIDED)
		w->how = xasprintf("job %s has no processes on this host, or does not exist",
				   f->job);
	else if (f->job)
		w->how = xasprintf("job %s%s%s of %s by %s", f->job, f->only_step ? "." : "",
				   f->only_step ? f->only_step : "", batch_title(f), way);
	else if (f->mode == MODE_GROUP)
		w->how = xasprintf("control group %s", f->dirs[0].path);
	else if (f->mode == MODE_TREE && f->named_count == 1)
		w->how = xasprintf("process %d and its descendants", f->named[0].pid);
	else
		w->how = xstrdup(f->mode == MODE_TREE      ? "named processes and their descendants"
				 : f->mode == MODE_SESSION ? "processes of this session"
							   : "processes of this user");
}

static bool is_listed(const struct job_processes_finder *f, const struct job_processes_proc *p)
{
	if (p->verdict != VERDICT_MEMBER || p->hidden)
		return false;
	return !f->job ||
	       (f->step_class != STEP_NONE && batch_step_class(f, p->step) == f->step_class);
}

/* Orphans are main processes only if there are no others. */
static void promote(struct job_processes_finder *f)
{
	struct job_processes_proc *p;

	PROCESS_TABLE_EACH(&f->procs, p) {
		const struct job_processes_proc *parent = procs_find(f, p->ppid);

		if (is_listed(f, p) && !p->waiting && !name_is_shell(p->comm) &&
		    !(parent && is_listed(f, parent) && !parent->waiting))
			p->main = true;
	}
}

static bool has_main(const struct job_processes_finder *f)
{
	const struct job_processes_proc *p;

	PROCESS_TABLE_EACH(&f->procs, p)
		if (is_listed(f, p) && p->main)
			return true;
	return false;
}

/* Processes whose parent ended have a new one. */
static void find_new_parents(struct job_processes_finder *f)
{
	struct job_processes_proc *p, now;

	PROCESS_TABLE_EACH(&f->procs, p) {
		const struct job_processes_proc *parent = procs_find(f, p->ppid);

		if (p->verdict == VERDICT_MEMBER && parent && parent->verdict == VERDICT_ENDED &&
		    procs_look(f, p->pid, &now) == 0 && now.starttime == p->starttime)
			p->ppid = now.ppid;
	}
	f->parents_ended = false;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct job_process *)a)->pid - ((const struct job_process *)b)->pid;
}

static void make_list(struct job_processes *w)
{
	struct job_processes_finder *f = w->finder;
	const struct job_processes_proc *p;

	if (f->parents_ended)
		find_new_parents(f);
	if (f->job)
		batch_choose(f);
	if (!f->ever_main && f->kind != JOB_PROCESSES_PIDS && !has_main(f))
		promote(f);
	w->count = 0;
	PROCESS_TABLE_EACH(&f->procs, p) {
		if (!is_listed(f, p))
			continue;
		GROW(w->list, w->count, w->cap);
		w->list[w->count++] = (struct job_process){.pid = p->pid,
							   .ppid = p->ppid,
							   .starttime = p->starttime,
							   .rank = p->rank,
							   .main = p->main};
		f->ever_main |= p->main;
	}
	if (w->count)
		qsort(w->list, w->count, sizeof(*w->list), by_pid);
	w->found_any |= w->count > 0;
	f->dirty = false;
}

/* Notes since when no main process runs. */
static void note_quiet(struct job_processes *w)
{
	struct job_processes_finder *f = w->finder;
	bool quiet = w->found_any && (f->ever_main || !w->count);

	for (size_t i = 0; quiet && i < w->count; i++)
		quiet = !w->list[i].main;
	if (!quiet)
		f->quiet_ns = 0;
	else if (!f->quiet_ns)
		f->quiet_ns = f->now_ns;
}

/* If our session has only ourselves and our ancestors: all processes of the user. */
static void widen(struct job_processes *w)
{
	struct job_processes_finder *f = w->finder;

	if (f->mode != MODE_SESSION || w->found_any)
		return;
	f->mode = MODE_USER;
	members_reconsider(f);
	make_list(w);
}

int job_processes_update(struct job_processes *w)
{
	struct job_processes_finder *f = w->finder;
	enum job_processes_mode mode = f->mode;
	int r = 0;

	f->now_ns = clock_boottime_ns();
	f->updates++;
	procs_reap(f);
	if (f->mode == MODE_UNDECIDED && groups_of_job(f))
		f->mode = MODE_GROUP;
	if (f->mode == MODE_GROUP) {
		procs_retry(f);
	} else {
		if (f->mode != MODE_TREE && f->now_ns - f->reread_ns > REREAD_NS) {
			f->reread = true;
			f->reread_ns = f->now_ns;
		}
		if (f->mode == MODE_LIST)
			scontrol_update(f, false);
		r = procs_scan(f);
	}
	if (f->dir_count)
		groups_scan(f);
	members_judge(f);
	members_ranks(f);
	if (f->mode == MODE_UNDECIDED)
		batch_decide(f);
	if (f->dirty)
		make_list(w);
	widen(w);
	note_quiet(w);
	if (!w->how || mode != f->mode)
		say_how(w);
	if (w->count && !w->group_count &&
	    (!f->groups_ns || f->now_ns - f->groups_ns > GROUPS_NS)) {
		f->groups_ns = f->now_ns;
		groups_fill(f, w);
	}
	return r < 0 ? r : (int)w->count;
}

/* ---- questions ------------------------------------------------------------------------------ */

bool job_processes_over(const struct job_processes *w)
{
	const struct job_processes_finder *f = w->finder;
	uint64_t patience = f->live && f->inside ? OVER_NS : 0;

	return f->quiet_ns && f->now_ns - f->quiet_ns >= patience;
}

bool job_processes_quiet(const struct job_processes *w)
{
	const struct job_processes_finder *f = w->finder;

	return f && f->quiet_ns && f->live && f->inside;
}

const struct job_process *job_processes_find(const struct job_processes *w, int pid)
{
	const struct job_process key = {.pid = pid};

	return w->count ? bsearch(&key, w->list, w->count, sizeof(key), by_pid) : NULL;
}

const char *job_processes_group(const struct job_processes *w, const char *controller)
{
	for (size_t i = 0; i < w->group_count; i++)
		if (!strcmp(w->groups[i].controller, controller))
			return w->groups[i].path;
	return NULL;
}
