/* Control groups that a test makes for itself, and programs that run in them. */
#pragma once

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "jobs/discovery/cgroup_jobs.h"

/* The mount of a controller of version 1, or of version 2 ("cgroup2"); NULL: none. */
static inline char *group_mount(const char *controller)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/mounts", "re");
	char line[1024], path[512], type[64], options[256];

	while (f && fgets(line, sizeof(line), f)) {
		_cleanup_free_ char *one = NULL;

		if (sscanf(line, "%*s %511s %63s %255s", path, type, options) != 3)
			continue;
		if (!strcmp(type, "cgroup2") && !strcmp(controller, type))
			return xstrdup(path);
		one = xasprintf(",%s,", options);
		_cleanup_free_ char *want = xasprintf(",%s,", controller);
		if (!strcmp(type, "cgroup") && strstr(one, want))
			return xstrdup(path);
	}
	return NULL;
}

/* A new group "plimsoll-test-<pid>-<id>"; NULL where none can be made. */
static inline char *group_make(const char *controller, int id)
{
	_cleanup_free_ char *mount = group_mount(controller);

	if (!mount)
		return NULL;
	char *dir = xasprintf("%s/plimsoll-test-%d-%d", mount, (int)getpid(), id);
	if (mkdir(dir, 0755) == 0)
		return dir;
	free(dir);
	return NULL;
}

/* The list of the jobs that this test makes below the mounts of these controllers. */
static inline struct cgroup_jobs *group_jobs(const char *const *controllers, size_t count)
{
	_cleanup_free_ char *pattern = xasprintf("^plimsoll-test-%d-([0-9]+)$", (int)getpid());
	const char *const patterns[] = {pattern};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char *roots[8] = {NULL};
	struct cgroup_jobs_options o = {.root = "", .patterns = patterns, .pattern_count = 1};
	struct cgroup_jobs *j = NULL;

	for (size_t i = 0; i < count && i < ARRAY_SIZE(roots); i++) {
		roots[o.root_count] = group_mount(controllers[i]);
		o.root_count += roots[o.root_count] != NULL;
	}
	o.roots = (const char *const *)roots;
	assert_int_equal(cgroup_jobs_open(&j, &o, &why), 0);
	for (size_t i = 0; i < o.root_count; i++)
		free(roots[i]);
	return j;
}

/* For a child between fork and exec, too: no allocation. */
static inline bool group_enter(const char *dir, int pid)
{
	char path[600], text[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int n = snprintf(text, sizeof(text), "%d", pid);
	bool done = fd >= 0 && write(fd, text, (size_t)n) == n;
	if (fd >= 0)
		close(fd);
	return done;
}

static inline void group_remove(char *dir)
{
	/* the kernel is done with a member a moment after its end */
	for (int i = 0; dir && i < 500 && rmdir(dir) < 0 && errno != ENOENT; i++)
		usleep(10000);
	free(dir);
}

static inline uint64_t group_number(const char *dir, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned long long v = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &v), 1);
	return v;
}

/* Burns CPU time of this thread. */
static inline void burn_ms(unsigned ms)
{
	struct timespec ts;
	volatile unsigned x = 0;
	uint64_t begin, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	begin = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	do {
		for (int i = 0; i < 10000; i++)
			x += (unsigned)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	} while (now - begin < ms);
}
