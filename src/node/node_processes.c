/*
 * The processes of all jobs; see node_processes.h. A pid that was in the list before is taken for
 * the same process; since a pid may be reused, all are examined again now and then.
 */
#include "node/node_processes.h"

#include <string.h>

#include "core/system/process_stat.h"

#define LOOK_AGAIN 16 /* updates */

static int by_pid(const void *a, const void *b)
{
	return ((const struct job_process *)a)->pid - ((const struct job_process *)b)->pid;
}

static bool look(const struct node_processes *p, pid_t pid, struct job_process *ret)
{
	struct process_stat stat = {0};
	const uint64_t *f = stat.st.f;

	if (!process_stat_read(p->root, pid, &stat) || f[STAT_STATE] == 'Z' || f[STAT_STATE] == 'X')
		return false;
	*ret = (struct job_process){
		.pid = pid, .ppid = (int)f[STAT_PPID], .starttime = f[STAT_STARTTIME], .rank = -1};
	return true;
}

static void take(void *user, pid_t pid)
{
	struct node_processes *p = user;
	struct job_processes *w = &p->watch;
	struct job_process key = {.pid = pid}, one;
	const struct job_process *known =
		p->before_count && p->updates % LOOK_AGAIN
			? bsearch(&key, p->before, p->before_count, sizeof(key), by_pid)
			: NULL;

	if (known)
		one = *known;
	else if (!look(p, pid, &one))
		return;
	one.job = p->job->number;
	GROW(w->list, w->count, w->cap);
	w->list[w->count++] = one;
}

void node_processes_update(struct node_processes *p, struct cgroup_jobs *jobs)
{
	struct job_processes *w = &p->watch;
	size_t left = 0;

	if (p->before_cap < w->count) {
		p->before_cap = w->cap;
		p->before = xreallocarray(p->before, p->before_cap, sizeof(*p->before));
	}
	if (w->count)
		memcpy(p->before, w->list, w->count * sizeof(*w->list));
	p->before_count = w->count;
	p->updates++;
	w->count = 0;
	for (size_t i = 0; i < cgroup_jobs_count(jobs); i++) {
		p->job = cgroup_jobs_at(jobs, i);
		if (p->job->state == JOB_RUNNING)
			(void)cgroup_jobs_visit_processes(jobs, p->job, take, p);
	}
	if (w->count)
		qsort(w->list, w->count, sizeof(*w->list), by_pid);
	/* list a process that moved from job to job meanwhile only once */
	for (size_t i = 0; i < w->count; i++)
		if (!left || w->list[left - 1].pid != w->list[i].pid)
			w->list[left++] = w->list[i];
	w->count = left;
	w->found_any |= left > 0;
}

void node_processes_release(struct node_processes *p)
{
	free(p->watch.list);
	free(p->before);
	p->watch = (struct job_processes){0};
	p->before = NULL;
	p->before_count = p->before_cap = 0;
}
