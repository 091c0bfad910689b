/*
 * A list of jobs for tests of what stands on one: control groups that the test makes, each a job.
 * It takes the place of src/job/jobs.c at link time.
 */
#ifndef PL_TESTS_FAKE_JOBS_H
#define PL_TESTS_FAKE_JOBS_H

#include "unit.h"

#include <errno.h>

#include "core/clock.h"
#include "core/fs.h"
#include "job/jobs.h"

struct jobs {
	struct job list[8];
	char *dirs[8];
	size_t count;
	uint64_t next;
};

/* dir: where its processes are. */
static inline struct job *fake_job(struct jobs *j, const char *dir, bool version2)
{
	size_t i = j->count++;
	struct job *job = &j->list[i];

	*job = (struct job){.number = ++j->next,
			    .version2 = version2,
			    .state = JOB_RUNNING,
			    .id = strdup(strrchr(dir, '-') + 1),
			    .path = strdup(strrchr(dir, '/')),
			    .begin_ns = clock_boottime_ns()};
	for (size_t c = 0; c < JOBS_CONTROLLERS; c++)
		job->dirs[c] = -1;
	job->dirs[JOBS_MEMBERS] = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	job->dirs[JOBS_CPUACCT] = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	job->dirs[JOBS_PERF] = version2 ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	j->dirs[i] = strdup(dir);
	return job;
}

static inline void fake_jobs_release(struct jobs *j)
{
	for (size_t i = 0; i < j->count; i++) {
		free(j->list[i].id);
		free(j->list[i].path);
		free(j->dirs[i]);
		for (size_t c = 0; c < JOBS_CONTROLLERS; c++)
			close_fd(&j->list[i].dirs[c]);
	}
	*j = (struct jobs){.next = j->next};
}

size_t jobs_count(const struct jobs *j)
{
	return j->count;
}

struct job *jobs_at(struct jobs *j, size_t i)
{
	return &j->list[i];
}

struct job *jobs_by_number(struct jobs *j, uint64_t number)
{
	for (size_t i = 0; i < j->count; i++)
		if (j->list[i].number == number)
			return &j->list[i];
	return NULL;
}

struct job *jobs_of_process(struct jobs *j, pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/cgroup", pid);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(AT_FDCWD, path, 65536, &text) < 0)
		return NULL;
	for (size_t i = 0; i < j->count; i++)
		if (strstr(text.buf, j->list[i].path))
			return &j->list[i];
	return NULL;
}

int jobs_visit_processes(const struct jobs *j, const struct job *job,
			 void (*visit)(void *user, pid_t pid), void *user)
{
	_cleanup_free_ char *path = xasprintf("%s/cgroup.procs", j->dirs[job - j->list]);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	int n = 0, pid;

	while (f && fscanf(f, "%d", &pid) == 1) {
		visit(user, pid);
		n++;
	}
	return f ? n : -ENOENT;
}

#endif
