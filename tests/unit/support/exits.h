/* A job, and who books its exit records: what the tests of exits.h share. */
#pragma once

#include "cgroups.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "sources/exits/exits.h"
#include "sources/exits/exits_bpf.h"
#include "sources/exits/taskstats.h"

/* Behind its record a task has still to free what it had, which is much with a sanitizer. */
#ifdef __SANITIZE_ADDRESS__
#define LEAST_SHARE 0.7
#define BEHIND_NS 5000000
#else
#define LEAST_SHARE 0.99
#define BEHIND_NS 300000
#endif

struct world {
	struct cgroup_jobs *jobs;
	struct exits *exits;
	struct strbuf why, no_bpf;
	char *group;
	struct job *job;
};

static struct exits *forking; /* those of the test that runs */

static inline int setup_with(void **state, const char *controller, size_t buffer, bool bpf)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct exits_options o = {.buffer = buffer};

	w->why = (struct strbuf)STRBUF_INIT;
	w->no_bpf = (struct strbuf)STRBUF_INIT;
	if (bpf)
		(void)exits_bpf_open(&o.bpf, &w->no_bpf);
	w->jobs = o.jobs = group_jobs(&controller, 1);
	w->group = group_make(controller, 1);
	if (exits_open(&w->exits, &o, &w->why) < 0)
		w->exits = NULL;
	forking = w->exits;
	if (w->exits && w->group) {
		exits_lock(w->exits);
		(void)cgroup_jobs_update(w->jobs);
		w->job = cgroup_jobs_by_id(w->jobs, "1");
		assert_non_null(w->job);
		exits_adopt(w->exits, w->job);
		exits_unlock(w->exits);
	}
	*state = w;
	return 0;
}

static inline int setup(void **state)
{
	return setup_with(state, "cpuacct", 0, false);
}

static inline int setup_version2(void **state)
{
	return setup_with(state, "cgroup2", 0, false);
}

static inline int setup_tiny(void **state)
{
	return setup_with(state, "cpuacct", 65536, false);
}

static int children[16], child_count;

static inline int teardown(void **state)
{
	struct world *w = *state;

	/* of a test that failed */
	for (; child_count; child_count--)
		if (kill(children[child_count - 1], SIGKILL) == 0)
			waitpid(children[child_count - 1], NULL, 0);

	forking = NULL;
	exits_close(w->exits);
	cgroup_jobs_close(w->jobs);
	group_remove(w->group);
	strbuf_release(&w->why);
	strbuf_release(&w->no_bpf);
	free(w);
	return 0;
}

#define need_exits(w)                                                           \
	do {                                                                    \
		if (!(w)->exits && exits_must_work())                           \
			fail_msg("no exit records for root: %s", (w)->why.buf); \
		if (!(w)->exits)                                                \
			skip_because(NO_EXITS);                                 \
		if (!(w)->group)                                                \
			skip_because("no control group can be made here");      \
	} while (0)

static inline struct exit_sums sums_of(struct world *w)
{
	struct exit_sums s;

	exits_sync(w->exits);
	assert_true(exits_of(w->exits, w->job->number, &s));
	return s;
}

/*
 * A child that enters the group, if there is one, and then does its work. The thread of exits must
 * not be in the allocator at that moment: the child would wait for a lock of the sanitizer's
 * allocator, which nobody releases there.
 */
static inline int start(const char *group, void (*work)(void *), void *arg)
{
	if (forking)
		exits_lock(forking);
	int pid = fork();
	if (pid != 0 && forking)
		exits_unlock(forking);

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (group && !group_enter(group, getpid()))
			_exit(99);
		work(arg);
		_exit(0);
	}
	children[child_count++] = pid;
	return pid;
}

static inline int finish(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < child_count; i++)
		if (children[i] == pid)
			children[i] = children[--child_count];
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 99);
	return status;
}
