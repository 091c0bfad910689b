/* Lists of jobs over trees that a test writes. */
#pragma once

#include "tree.h"

#include "jobs/discovery/cgroup_jobs.h"

struct list {
	struct cgroup_jobs *jobs;
	struct strbuf why;
};

static inline void list_close(struct list *l)
{
	cgroup_jobs_close(l->jobs);
	if (l->why.buf)
		strbuf_release(&l->why);
	*l = (struct list){0};
}

static inline int list_open_with(struct list *l, const struct cgroup_jobs_options *o)
{
	list_close(l);
	l->why = (struct strbuf)STRBUF_INIT;
	return cgroup_jobs_open(&l->jobs, o, &l->why);
}

static inline void list_open(struct list *l)
{
	struct cgroup_jobs_options o = {.root = tree};

	assert_int_equal(list_open_with(l, &o), 0);
	assert_true(cgroup_jobs_update(l->jobs) >= 0);
}

static inline struct job *job_of(struct list *l, const char *id)
{
	struct job *job = cgroup_jobs_by_id(l->jobs, id);

	if (!job)
		fail_msg("there is no job %s", id);
	return job;
}

static inline void assert_job(struct list *l, const char *id, const char *manager, const char *user,
			      const char *path, enum job_state state)
{
	const struct job *job = job_of(l, id);

	assert_string_equal(job->manager, manager);
	assert_string_equal(job->path, path);
	if (user)
		assert_string_equal(job->user, user);
	else
		assert_null(job->user);
	assert_int_equal(job->state, state);
}

/* A group of a hierarchy ("" is version 2, mounted at the top) with these members. */
static inline void group_put(const char *hierarchy, const char *path, const char *members)
{
	putf("sys/fs/cgroup%s%s/%s/cgroup.procs", members, *hierarchy ? "/" : "", hierarchy, path);
}

/* Removes a group with what it holds, as rmdir does. */
static inline void group_remove(const char *hierarchy, const char *path)
{
	_cleanup_free_ char *name =
		xasprintf("sys/fs/cgroup%s%s/%s", *hierarchy ? "/" : "", hierarchy, path);

	drop(name);
}

static inline void version2(void)
{
	put("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
}
