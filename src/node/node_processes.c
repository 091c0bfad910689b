/*
 * The processes of all jobs; see node_processes.h. A process that was in the list before is taken
 * for the same one; since a number may be used again, all are looked at anew now and then.
 */
#include "node/node_processes.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system/procparse.h"

#define LOOK_AGAIN 16 /* updates */

static int by_pid(const void *a, const void *b)
{
	return ((const struct job_process *)a)->pid - ((const struct job_process *)b)->pid;
}

static bool look(const struct node_processes *p, pid_t pid, struct job_process *ret)
{
	char path[512], text[1024];
	struct proc_stat st;

	snprintf(path, sizeof(path), "%s/proc/%d/stat", p->root, (int)pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n <= 0 || !clock_parse_stat(text, (size_t)n, &st) || st.last < STAT_STARTTIME ||
	    st.f[STAT_STATE] == 'Z' || st.f[STAT_STATE] == 'X')
		return false;
	*ret = (struct job_process){.pid = pid,
				    .ppid = (int)st.f[STAT_PPID],
				    .starttime = st.f[STAT_STARTTIME],
				    .rank = -1};
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
	size_t kept = 0;

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
	/* one that moved from job to job while we looked is there once */
	for (size_t i = 0; i < w->count; i++)
		if (!kept || w->list[kept - 1].pid != w->list[i].pid)
			w->list[kept++] = w->list[i];
	w->count = kept;
	w->found_any |= kept > 0;
}

void node_processes_release(struct node_processes *p)
{
	free(p->watch.list);
	free(p->before);
	p->watch = (struct job_processes){0};
	p->before = NULL;
	p->before_count = p->before_cap = 0;
}
