/*
 * Processes of a job on a tree that the test writes, which one of them we are, and what a watch
 * finds.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "jobs/discovery/job_processes.h"
#include "jobs/discovery/job_processes_internal.h"

#define OTHER_UID 54321

static inline void make_dirs(const char *path)
{
	_cleanup_free_ char *copy = xstrdup(path);

	for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		(void)mkdir(copy, 0700);
		*p = '/';
	}
}

static inline void put(const char *root, const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", root, name);

	make_dirs(path);
	write_file(path, data, n);
}

#define put_text(root, name, text) put(root, name, text, strlen(text))

/* For files of a process. Lists of words, as environ and cmdline are, have '|' for NUL. */
static inline void put_of(const char *root, int pid, const char *file, const char *text)
{
	_cleanup_free_ char *name = xasprintf("proc/%d/%s", pid, file);
	_cleanup_free_ char *copy = xstrdup(text);

	for (char *p = copy; !strcmp(file, "environ") + !strcmp(file, "cmdline") && *p; p++)
		if (*p == '|')
			*p = 0;
	put(root, name, copy, strlen(text));
}

struct fake {
	int pid, ppid, pgrp, session;
	unsigned start;
	const char *comm;
	char state;
	int threads;
	unsigned uid;
};

static inline void fake_put(const char *root, struct fake p)
{
	_cleanup_free_ char *stat = xasprintf(
		"%d (%s) %c %d %d %d 0 -1 4194560 10 0 0 0 1 2 0 0 20 0 %d 0 %u 1000 50\n", p.pid,
		p.comm ? p.comm : "prog", p.state ? p.state : 'S', p.ppid, p.pgrp ? p.pgrp : p.ppid,
		p.session ? p.session : 7, p.threads ? p.threads : 1, p.start ? p.start : 100);
	_cleanup_free_ char *status =
		xasprintf("Name:\t%s\nUid:\t%u\t%u\n", p.comm ? p.comm : "prog",
			  p.uid ? p.uid : (unsigned)geteuid(), (unsigned)geteuid());

	put_of(root, p.pid, "stat", stat);
	put_of(root, p.pid, "status", status);
}
#define fake(root, number, parent, ...) \
	fake_put(root, (struct fake){.pid = (number), .ppid = (parent), ##__VA_ARGS__})

static inline void gone(const char *root, int pid)
{
	scratch_remove(xasprintf("%s/proc/%d", root, pid));
}

/* Which one of the tree we are. */
static inline void be(const char *root, int pid)
{
	_cleanup_free_ char *link = xasprintf("%s/proc/self", root);
	_cleanup_free_ char *target = xasprintf("%d", pid);

	(void)unlink(link);
	assert_int_equal(symlink(target, link), 0);
}

/* "101* 102(3)": pids, * for main, (rank). */
static inline void describe(const struct job_processes *w, struct strbuf *out)
{
	for (size_t i = 0; i < w->count; i++) {
		strbuf_addf(out, "%s%d%s", i ? " " : "", w->list[i].pid,
			    w->list[i].main ? "*" : "");
		if (w->list[i].rank >= 0)
			strbuf_addf(out, "(%d)", w->list[i].rank);
	}
}

#define assert_finds(w, want)                                                             \
	do {                                                                              \
		_cleanup_strbuf_ struct strbuf got_ = STRBUF_INIT;                        \
		int r_ = job_processes_update(w);                                         \
		describe(w, &got_);                                                       \
		if (strcmp(got_.buf, want) != 0)                                          \
			fail_msg("found '%s', want '%s' (%s)", got_.buf, want, (w)->how); \
		assert_int_equal(r_, (int)(w)->count);                                    \
	} while (0)

static inline void open_watch(struct job_processes *w, struct job_processes_options o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = job_processes_open(w, &o, &why);

	if (r < 0)
		fail_msg("%s (%s)", why.buf, strerror(-r));
}

static inline void clean_environment(void)
{
	static const char *const names[] = {"SLURM_JOB_ID",    "SLURM_JOBID", "SLURM_STEP_ID",
					    "SLURMD_NODENAME", "PBS_JOBID",   "PBS_JOB_ID",
					    "OAR_JOB_ID",      "OAR_JOBID",   "LSB_JOBID",
					    "FLUX_JOB_ID",     "JOB_ID"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static inline int setup(void **state)
{
	clean_environment();
	*state = scratch_make();
	put_text(*state, "proc/loadavg", "0.00 0.00 0.00 1/100 30000\n");
	return 0;
}

/* The trees have us under one name, whichever program this is. */
static inline int tree_setup(void **state)
{
	static char name[] = "test_watch";

	program_invocation_short_name = name;
	return setup(state);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, tree_setup, scratch_teardown)
#define on_this_machine(f) cmocka_unit_test_setup_teardown(f, setup, scratch_teardown)
