/* Finding the processes of a job: on trees that the test writes, and on this machine. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "job/watch.h"
#include "job/watch_finder.h"
#include "unit.h"

/* ---- a tree ------------------------------------------------------------------------------------
 */

#define OTHER_UID 54321

static void make_dirs(const char *path)
{
	_cleanup_free_ char *copy = xstrdup(path);

	for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		(void)mkdir(copy, 0700);
		*p = '/';
	}
}

static void put(const char *root, const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", root, name);

	make_dirs(path);
	write_file(path, data, n);
}

#define put_text(root, name, text) put(root, name, text, strlen(text))

/* For files of a process. Lists of words, as environ and cmdline are, have '|' for NUL. */
static void put_of(const char *root, int pid, const char *file, const char *text)
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

static void fake_put(const char *root, struct fake p)
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

static void gone(const char *root, int pid)
{
	scratch_remove(xasprintf("%s/proc/%d", root, pid));
}

/* Which one of the tree we are. */
static void be(const char *root, int pid)
{
	_cleanup_free_ char *link = xasprintf("%s/proc/self", root);
	_cleanup_free_ char *target = xasprintf("%d", pid);

	(void)unlink(link);
	assert_int_equal(symlink(target, link), 0);
}

/* "101* 102(3)": pids, * for main, (rank). */
static void describe(const struct watch *w, struct strbuf *out)
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
		int r_ = watch_update(w);                                                 \
		describe(w, &got_);                                                       \
		if (strcmp(got_.buf, want) != 0)                                          \
			fail_msg("found '%s', want '%s' (%s)", got_.buf, want, (w)->how); \
		assert_int_equal(r_, (int)(w)->count);                                    \
	} while (0)

static void open_watch(struct watch *w, struct watch_options o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = watch_open(w, &o, &why);

	if (r < 0)
		fail_msg("%s (%s)", why.buf, strerror(-r));
}

static void clean_environment(void)
{
	static const char *const names[] = {"SLURM_JOB_ID",    "SLURM_JOBID", "SLURM_STEP_ID",
					    "SLURMD_NODENAME", "PBS_JOBID",   "PBS_JOB_ID",
					    "OAR_JOB_ID",      "OAR_JOBID",   "LSB_JOBID",
					    "FLUX_JOB_ID",     "JOB_ID"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static int setup(void **state)
{
	clean_environment();
	*state = scratch_make();
	put_text(*state, "proc/loadavg", "0.00 0.00 0.00 1/100 30000\n");
	return 0;
}

/* ---- trees of processes -------------------------------------------------------------------------
 */

static void descendants_are_followed(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;

	fake(root, 1, 0, .comm = "init");
	fake(root, 50, 1, .comm = "bash");
	fake(root, 100, 50);
	fake(root, 101, 100);
	fake(root, 99, 101, .start = 300); /* numbers went around */
	fake(root, 60, 50, .comm = "sibling");
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_false(w.found_any);
	assert_finds(&w, "99 100* 101");
	assert_true(w.found_any);
	assert_int_equal(watch_find(&w, 101)->ppid, 100);
	assert_null(watch_find(&w, 60));
	assert_string_equal(w.how, "process 100 and its descendants");
	/* its parent ends: it stays, as the child of another */
	gone(root, 101);
	fake(root, 99, 1, .start = 300);
	assert_finds(&w, "99 100*");
	assert_int_equal(watch_find(&w, 99)->ppid, 1);
	fake(root, 102, 99, .start = 400);
	assert_finds(&w, "99 100* 102");
	assert_false(watch_over(&w));
	/* strays do not delay the end */
	gone(root, 100);
	assert_finds(&w, "99 102");
	assert_true(watch_over(&w));
	watch_close(&w);
}

static void orphans_are_known_by_session_and_group(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;

	fake(root, 1, 0, .comm = "init");
	fake(root, 50, 1, .comm = "bash", .pgrp = 50, .session = 50);
	fake(root, 100, 50, .pgrp = 100, .session = 50);
	fake(root, 101, 100, .pgrp = 101, .session = 101);
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 101");
	/* parents came and went since: in the session of a member, which has ended */
	gone(root, 101);
	fake(root, 110, 1, .pgrp = 110, .session = 101);
	/* in the process group of a member */
	fake(root, 111, 1, .pgrp = 100, .session = 50);
	/* in the group of a member, but with a parent that is not one: the other end of a pipe */
	fake(root, 112, 50, .pgrp = 100, .session = 50);
	/* in the shell's session, as many are */
	fake(root, 113, 1, .pgrp = 113, .session = 50);
	assert_finds(&w, "100* 110 111");
	watch_close(&w);
}

static void a_number_used_again_is_another_process(void **state)
{
	const char *root = *state;
	int pids[] = {100, 4000};
	struct watch w;

	fake(root, 100, 50, .start = 10);
	fake(root, 101, 100, .start = 11);
	fake(root, 102, 100, .start = 12);
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 2});
	assert_finds(&w, "100* 101 102");
	fake(root, 101, 60, .start = 500);
	fake(root, 102, 100, .start = 501);
	assert_finds(&w, "100* 102");
	assert_int_equal(watch_find(&w, 102)->starttime, 501);
	fake(root, 100, 60, .start = 502);
	fake(root, 102, 100, .start = 501);
	assert_finds(&w, "102");
	assert_true(watch_over(&w));
	watch_close(&w);
}

static void zombies_have_ended(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;

	fake(root, 100, 50);
	fake(root, 101, 100, .state = 'Z');
	fake(root, 102, 100);
	/* its first thread ended, others run */
	fake(root, 103, 100, .state = 'Z', .threads = 4);
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 102 103");
	fake(root, 102, 100, .state = 'Z');
	assert_finds(&w, "100* 103");
	fake(root, 100, 50, .state = 'Z');
	assert_finds(&w, "103");
	assert_true(watch_over(&w));
	watch_close(&w);
}

static void forks_that_the_kernel_tells(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;

	fake(root, 100, 50);
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100*");
	/* a daemon: its parent, 201, has ended before anybody looked */
	watch_fork(&w, 100, 201);
	watch_fork(&w, 201, 202);
	watch_exit(&w, 201);
	watch_fork(&w, 60, 203);
	/* one that was short */
	watch_fork(&w, 100, 204);
	watch_exit(&w, 204);
	fake(root, 202, 1, .pgrp = 202, .session = 202);
	fake(root, 203, 1, .pgrp = 203, .session = 203);
	fake(root, 204, 1, .pgrp = 204, .session = 204, .start = 999);
	assert_finds(&w, "100* 202");
	watch_exit(&w, 202);
	gone(root, 202);
	watch_exit(&w, 77777);
	assert_finds(&w, "100*");
	watch_close(&w);
}

static void garbage_is_survived(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;
	uint64_t random = 4711;

	fake(root, 100, 50);
	fake(root, 101, 100, .comm = "a) S 1 1 (b");
	fake(root, 102, 100, .comm = ")(");
	put_text(root, "proc/103/stat", "");
	put_text(root, "proc/104/stat", "104 (cut S 100");
	put_text(root, "proc/105/stat",
		 "999 (liar) S 100 100 7 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 0\n");
	put_text(root, "proc/106/environ", "no stat");
	put_text(root, "proc/99999999999999999999/stat", "1 (x) S 100\n");
	put_text(root, "proc/12ab/stat", "12 (x) S 100\n");
	/* each other's parent */
	fake(root, 120, 121);
	fake(root, 121, 120);
	fake(root, 122, 122);
	for (int i = 0; i < 40; i++) {
		char noise[700];
		_cleanup_free_ char *name = xasprintf("proc/%d/%s", 200 + i,
						      i % 3   ? "stat"
						      : i % 2 ? "environ"
							      : "cgroup");

		for (size_t n = 0; n < sizeof(noise); n++)
			noise[n] = (char)random_next(&random);
		put(root, name, noise, sizeof(noise));
	}
	put_text(root, "proc/self/mountinfo",
		 "1 2 3\n- - - - - - - - - -\n\n36 25 0:31 / \\040 r - cgroup\n");
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 101 102");
	assert_finds(&w, "100* 101 102");
	watch_close(&w);
}

static void what_is_not_there(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int pids[] = {4711, 4712};
	struct watch w;

	struct watch_options o = {.kind = WATCH_PIDS, .root = *state, .pids = pids, .pid_count = 1};
	assert_int_equal(watch_open(&w, &o, &why), -ENOENT);
	assert_text(&why, "there is no process 4711");
	strbuf_reset(&why);
	o.pid_count = 2;
	assert_int_equal(watch_open(&w, &o, &why), -ENOENT);
	strbuf_reset(&why);
	o = (struct watch_options){.kind = WATCH_CGROUP, .root = *state, .cgroup = "a/b"};
	assert_int_equal(watch_open(&w, &o, &why), -ENOENT);
	assert_text(&why, "there is no control group 'a/b'");
	strbuf_reset(&why);
	o = (struct watch_options){.kind = WATCH_JOB, .root = *state};
	assert_int_equal(watch_open(&w, &o, &why), -ENOENT);
	assert_text(&why, "not in a job of a batch system: name one");
	strbuf_reset(&why);
	o.job = "../../etc";
	assert_int_equal(watch_open(&w, &o, &why), -EINVAL);
	strbuf_reset(&why);
	o = (struct watch_options){.kind = WATCH_USER, .root = "/nonexistent"};
	assert_int_equal(watch_open(&w, &o, &why), -ENOENT);
	assert_contains(why.buf, "/nonexistent/proc");
}

static void other_users_are_left_out(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;

	fake(root, 100, 50, .uid = OTHER_UID);
	fake(root, 101, 100);
	fake(root, 102, 100, .uid = OTHER_UID);
	struct watch_options o = {
		.kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1, .all_users = true};
	open_watch(&w, o);
	assert_finds(&w, "100* 101 102");
	watch_close(&w);
	if (!geteuid())
		return; /* root sees all */
	/* the one that was named is watched whoever's it is */
	o.all_users = false;
	open_watch(&w, o);
	assert_finds(&w, "100* 101");
	watch_close(&w);
}

static void ranks_in_their_order(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch w;

	fake(root, 100, 50);
	for (int pid = 101; pid <= 107; pid++)
		fake(root, pid, 100);
	put_of(root, 101, "environ",
	       "A=1|SLURM_PROCID=9|PMI_RANK=8|PMIX_RANK=7|OMPI_COMM_WORLD_RANK=6|");
	put_of(root, 102, "environ", "SLURM_PROCID=9|PMI_RANK=8|PMIX_RANK=7|");
	put_of(root, 103, "environ", "SLURM_PROCID=9|PMI_RANK=8|XPMIX_RANK=7|");
	put_of(root, 104, "environ", "SLURM_PROCID=0");
	put_of(root, 105, "environ", "PMI_RANK=|SLURM_PROCID=x|PMIX_RANK=-3|");
	put_of(root, 106, "environ", "|||=|PMIX_RANK=99999999999|");
	put_of(root, 107, "environ", "");
	open_watch(&w, (struct watch_options){
			       .kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 101(6) 102(7) 103(8) 104(0) 105 106 107");
	watch_close(&w);
}

/* ---- control groups
 * ------------------------------------------------------------------------------
 */

static void a_control_group_and_those_below(void **state)
{
	const char *root = *state;
	_cleanup_free_ char *whole = xasprintf("%s/sys/fs/cgroup/freezer/a/b", root);
	struct watch w;

	for (int pid = 101; pid <= 106; pid++)
		fake(root, pid, 1);
	put_text(root, "sys/fs/cgroup/freezer/cgroup.procs", "106\n");
	put_text(root, "sys/fs/cgroup/freezer/a/b/cgroup.procs", "103\n101\n");
	put_text(root, "sys/fs/cgroup/freezer/a/b/c/cgroup.procs", "102\nx\n-5\n0\n999999999999\n");
	put_text(root, "sys/fs/cgroup/cpu,cpuacct/a/b/cgroup.procs", "101\n102\n103\n");
	put_text(root, "sys/fs/cgroup/memory/other/cgroup.procs", "");
	open_watch(&w,
		   (struct watch_options){.kind = WATCH_CGROUP, .root = root, .cgroup = "/a/b"});
	assert_finds(&w, "101* 102* 103*");
	assert_string_equal(watch_group(&w, "freezer"), whole);
	assert_true(str_suffix(watch_group(&w, "cpu"), "/sys/fs/cgroup/cpu,cpuacct/a/b"));
	assert_string_equal(watch_group(&w, "cpuacct"), watch_group(&w, "cpu"));
	assert_null(watch_group(&w, "memory"));
	assert_null(watch_group(&w, ""));
	assert_true(str_suffix(w.how, "/sys/fs/cgroup/freezer/a/b"));
	/* one goes elsewhere, one comes, and a group */
	put_text(root, "sys/fs/cgroup/freezer/a/b/cgroup.procs", "101\n104\n");
	put_text(root, "sys/fs/cgroup/freezer/a/b/d/e/cgroup.procs", "105\n");
	assert_finds(&w, "101* 102* 104* 105*");
	/* the list is older than the process */
	gone(root, 102);
	assert_finds(&w, "101* 104* 105*");
	scratch_remove(xasprintf("%s/sys/fs/cgroup/freezer/a", root));
	assert_finds(&w, "");
	assert_true(watch_over(&w));
	watch_close(&w);
}

static void a_group_of_version_2_by_its_whole_path(void **state)
{
	const char *root = *state;
	struct watch w;

	fake(root, 101, 1, .comm = "bash");
	fake(root, 102, 101);
	put_text(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put_text(root, "sys/fs/cgroup/x.slice/cgroup.procs", "");
	put_text(root, "sys/fs/cgroup/x.slice/y.scope/cgroup.procs", "101\n102\n");
	open_watch(&w, (struct watch_options){.kind = WATCH_CGROUP,
					      .root = root,
					      .cgroup = "/sys/fs/cgroup/x.slice"});
	assert_finds(&w, "101* 102");
	assert_true(str_suffix(watch_group(&w, ""), "/sys/fs/cgroup/x.slice"));
	watch_close(&w);
}

static void named_processes_with_a_group_of_their_own(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct watch_options o = {.kind = WATCH_PIDS, .root = root, .pids = pids, .pid_count = 1};
	struct watch w;

	fake(root, 100, 50);
	fake(root, 101, 100);
	put_of(root, 100, "cgroup", "5:memory:/job\n4:freezer:/shared\n1:cpu:/\n0::/\n");
	put_text(root, "sys/fs/cgroup/memory/job/cgroup.procs", "100\n101\n");
	put_text(root, "sys/fs/cgroup/freezer/shared/cgroup.procs", "100\n101\n60\n");
	put_text(root, "sys/fs/cgroup/cpu/cgroup.procs", "100\n101\n60\n");
	fake(root, 60, 50);
	open_watch(&w, o);
	assert_finds(&w, "100* 101");
	assert_int_equal(w.group_count, 1);
	assert_true(str_suffix(watch_group(&w, "memory"), "/sys/fs/cgroup/memory/job"));
	/* whoever is put into it, or left there, is of the job */
	fake(root, 110, 1, .pgrp = 110, .session = 110);
	put_text(root, "sys/fs/cgroup/memory/job/cgroup.procs", "100\n101\n110\n");
	assert_finds(&w, "100* 101 110");
	watch_close(&w);
}

static void mounts_are_where_mountinfo_says(void **state)
{
	const char *root = *state;
	struct watch w;

	/* a container: the hierarchy's group /outer is what is mounted */
	put_text(root, "proc/self/mountinfo",
		 "30 25 0:27 /outer /cg/frz rw,nosuid shared:9 - cgroup cgroup rw,freezer\n"
		 "31 25 0:28 / /cg/two rw - cgroup2 cgroup2 rw,nsdelegate\n");
	fake(root, 100, 1, .comm = "slurmstepd");
	fake(root, 101, 100);
	put_of(root, 101, "cgroup", "4:freezer:/outer/slurm/uid_1/job_7/step_0\n0::/\n");
	put_text(root, "cg/frz/slurm/uid_1/job_7/cgroup.procs", "");
	put_text(root, "cg/frz/slurm/uid_1/job_7/step_0/cgroup.procs", "101\n");
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "7"});
	assert_finds(&w, "101*");
	watch_close(&w);
}

/* ---- Slurm
 * ---------------------------------------------------------------------------------------
 */

/* A job with its batch script, the step that we are, and the main one. We are 301. */
static void slurm_processes(const char *root)
{
	fake(root, 1, 0, .comm = "init");
	fake(root, 20, 1, .comm = "slurmd");
	fake(root, 200, 1, .comm = "slurmstepd");
	put_of(root, 200, "cmdline", "slurmstepd: [4711.batch]|");
	fake(root, 201, 200, .comm = "slurm_script");
	fake(root, 210, 201, .comm = "srun");
	put_of(root, 210, "cmdline", "srun|-N2|/opt/bin/test_watch|-x|");
	fake(root, 211, 210, .comm = "srun");
	put_of(root, 211, "cmdline", "srun|-N2|/opt/bin/test_watch|-x|");
	fake(root, 220, 201, .comm = "srun");
	put_of(root, 220, "cmdline", "srun|./model|");
	fake(root, 300, 1, .comm = "slurmstepd");
	put_of(root, 300, "cmdline", "slurmstepd: [4711.0]|");
	fake(root, 301, 300, .comm = "test_watch");
	put_of(root, 301, "cmdline", "/opt/bin/test_watch|-x|");
	fake(root, 302, 301, .comm = "scontrol");
	fake(root, 400, 1, .comm = "slurmstepd");
	put_of(root, 400, "cmdline", "slurmstepd: [4711.1]|");
	fake(root, 401, 400, .comm = "bash");
	put_of(root, 401, "environ", "SLURM_PROCID=0|SLURMD_NODENAME=n1|SLURM_TASK_PID=401|");
	fake(root, 402, 401, .comm = "model");
	put_of(root, 402, "environ", "SLURM_PROCID=0|SLURMD_NODENAME=n1|SLURM_TASK_PID=401|");
	fake(root, 403, 400, .comm = "model");
	put_of(root, 403, "environ", "SLURM_PROCID=1|SLURMD_NODENAME=n1|SLURM_TASK_PID=403|");
	/* left behind by a task, and adopted by the daemon */
	fake(root, 404, 400, .comm = "stray");
	put_of(root, 404, "environ", "SLURM_PROCID=1|SLURMD_NODENAME=n1|SLURM_TASK_PID=403|");
	/* the same step of another node, on the same machine */
	fake(root, 500, 1, .comm = "slurmstepd");
	put_of(root, 500, "cmdline", "slurmstepd: [4711.1]|");
	fake(root, 501, 500, .comm = "model");
	put_of(root, 501, "environ", "SLURM_PROCID=2|SLURMD_NODENAME=n2|SLURM_TASK_PID=501|");
	/* another job */
	fake(root, 600, 1, .comm = "slurmstepd");
	put_of(root, 600, "cmdline", "slurmstepd: [47110.1]|");
	fake(root, 601, 600, .comm = "model");
}

static void slurm_environment(void)
{
	setenv("SLURM_JOB_ID", "4711", 1);
	setenv("SLURM_STEP_ID", "0", 1);
	setenv("SLURMD_NODENAME", "n1", 1);
}

static void slurm_by_process_trees(void **state)
{
	const char *root = *state;
	struct watch w;

	slurm_environment();
	slurm_processes(root);
	be(root, 301);
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1)");
	assert_string_equal(w.how, "job 4711 of Slurm by the process trees of slurmstepd");
	assert_string_equal(watch_launcher(&w), "srun");
	assert_int_equal(w.group_count, 0);
	/* the main step ends; the script and its shell do not become the job instead */
	gone(root, 401);
	gone(root, 403);
	fake(root, 402, 400, .comm = "model");
	assert_finds(&w, "402(0) 404(1)");
	assert_true(watch_over(&w));
	watch_close(&w);
	/* one step of the job, by name, whoever we are */
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "4711.0"});
	assert_finds(&w, "");
	watch_close(&w);
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "4711.1"});
	/* nothing but what was left behind: then that is the job */
	assert_finds(&w, "402*(0) 404*(1)");
	assert_string_equal(w.how, "job 4711.1 of Slurm by the process trees of slurmstepd");
	watch_close(&w);
}

static void slurm_batch_script_with_mpirun(void **state)
{
	const char *root = *state;
	struct watch w;

	slurm_environment();
	slurm_processes(root);
	for (int pid = 400; pid <= 404; pid++)
		gone(root, pid);
	gone(root, 220);
	be(root, 301);
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root});
	/* the script waits for us: there, but not what the end is told by */
	assert_finds(&w, "201");
	assert_false(watch_over(&w));
	fake(root, 230, 201, .comm = "mpirun", .start = 200);
	put_of(root, 230, "cmdline", "mpirun|-np|2|./model|");
	fake(root, 231, 230, .comm = "model", .start = 201);
	put_of(root, 231, "environ", "OMPI_COMM_WORLD_RANK=1|SLURM_PROCID=0|");
	assert_finds(&w, "201 230* 231(1)");
	gone(root, 230);
	fake(root, 231, 1, .comm = "model", .start = 201);
	assert_finds(&w, "201 231(1)");
	assert_true(watch_over(&w));
	watch_close(&w);
	/* the monitor started by mpirun from the script: both are above us */
	fake(root, 240, 201, .comm = "mpirun", .start = 300);
	fake(root, 241, 240, .comm = "test_watch", .start = 301);
	fake(root, 250, 201, .comm = "model", .start = 302);
	be(root, 241);
	unsetenv("SLURM_STEP_ID");
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root});
	assert_finds(&w, "250*");
	assert_string_equal(watch_launcher(&w), "mpirun");
	watch_close(&w);
}

static void slurm_groups_of_version_1(void **state)
{
	const char *root = *state;
	const char *base = "sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711";
	struct watch w;

	slurm_environment();
	slurm_processes(root);
	be(root, 301);
	put_of(root, 301, "cgroup",
	       "4:memory:/slurm_n1/uid_5/job_4711/step_0/task_0\n"
	       "3:freezer:/slurm_n1/uid_5/job_4711/step_0\n1:name=systemd:/system.slice\n");
	put_of(root, 401, "cgroup",
	       "4:memory:/slurm_n1/uid_5/job_4711/step_1/task_0\n"
	       "3:freezer:/slurm_n1/uid_5/job_4711/step_1\n2:cpu,cpuacct:/\n0::/\n");
	const struct {
		const char *dir, *pids;
	} groups[] = {{"", ""},
		      {"/step_batch", "200\n201\n210\n211\n220\n"},
		      {"/step_0", "301\n302\n"},
		      {"/step_1", "401\n402\n403\n404\n"}};
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		_cleanup_free_ char *name = xasprintf("%s%s/cgroup.procs", base, groups[i].dir);

		put_text(root, name, groups[i].pids);
	}
	put_text(root, "sys/fs/cgroup/memory/slurm_n1/uid_5/job_4711/cgroup.procs", "");
	put_text(root, "sys/fs/cgroup/cpu,cpuacct/cgroup.procs", "");
	put_text(root, "sys/fs/cgroup/freezer/slurm_n2/uid_5/job_4711/step_1/cgroup.procs",
		 "501\n");
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1)");
	assert_string_equal(w.how, "job 4711 of Slurm by its control groups");
	assert_int_equal(w.group_count, 2);
	assert_true(str_suffix(watch_group(&w, "freezer"),
			       "/sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711"));
	assert_true(str_suffix(watch_group(&w, "memory"),
			       "/sys/fs/cgroup/memory/slurm_n1/uid_5/job_4711"));
	/* a further step, and a process that moves between the job's groups */
	put_text(root, "sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711/step_2/task_0/cgroup.procs",
		 "701\n");
	fake(root, 701, 1, .comm = "model2", .start = 700);
	put_of(root, 701, "environ", "SLURM_TASK_PID=701|");
	put_text(root, "sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711/cgroup.procs", "702\n");
	fake(root, 702, 40, .comm = "bash", .start = 701);
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1) 701* 702");
	/* a task is put into the job's group, and then into that of its step */
	put_text(root, "sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711/cgroup.procs", "");
	put_text(root, "sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711/step_2/task_0/cgroup.procs",
		 "701\n702\n");
	put_of(root, 702, "environ", "SLURM_TASK_PID=702|SLURM_PROCID=7|");
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1) 701* 702*(7)");
	watch_close(&w);
	/* from outside, by the id alone; the node is not known */
	clean_environment();
	be(root, 20);
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "4711"});
	watch_update(&w);
	assert_string_equal(w.how, "job 4711 of Slurm by its control groups");
	assert_non_null(watch_find(&w, 501));
	assert_non_null(watch_find(&w, 402));
	assert_null(watch_find(&w, 201));
	watch_close(&w);
}

static void slurm_groups_of_version_2(void **state)
{
	const char *root = *state;
	struct watch w;

	slurm_environment();
	slurm_processes(root);
	be(root, 301);
	put_text(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put_of(root, 301, "cgroup",
	       "0::/system.slice/n1_slurmstepd.scope/job_4711/step_0/user/task_0\n");
	put_of(root, 401, "cgroup",
	       "0::/system.slice/n1_slurmstepd.scope/job_4711/step_1/user/task_0\n");
	const struct {
		const char *dir, *pids;
	} groups[] = {{"system", "20\n"},
		      {"job_4711/step_0/slurm", "300\n"},
		      {"job_4711/step_0/user/task_0", "301\n302\n"},
		      {"job_4711/step_1/slurm", "400\n"},
		      {"job_4711/step_1/user/task_0", "401\n402\n"},
		      {"job_4711/step_1/user/task_1", "403\n404\n"},
		      {"job_47110/step_1/user/task_1", "601\n"}};
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		_cleanup_free_ char *name =
			xasprintf("sys/fs/cgroup/system.slice/n1_slurmstepd.scope/%s/cgroup.procs",
				  groups[i].dir);

		put_text(root, name, groups[i].pids);
	}
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1)");
	assert_int_equal(w.group_count, 1);
	assert_true(str_suffix(watch_group(&w, ""),
			       "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_4711"));
	watch_close(&w);
}

static void slurm_ssh_into_the_extern_step(void **state)
{
	const char *root = *state;
	struct watch w;

	slurm_environment();
	slurm_processes(root);
	for (int pid = 400; pid <= 404; pid++)
		gone(root, pid);
	for (int pid = 200; pid <= 201; pid++)
		gone(root, pid);
	be(root, 301);
	fake(root, 700, 1, .comm = "slurmstepd");
	put_of(root, 700, "cmdline", "slurmstepd: [4711.extern]|");
	fake(root, 701, 700, .comm = "sleep");
	put_of(root, 701, "environ", "SLURMD_NODENAME=n1|");
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "");
	assert_false(watch_over(&w));
	fake(root, 710, 700, .comm = "sshd");
	put_of(root, 710, "environ", "SLURMD_NODENAME=n1|");
	fake(root, 711, 710, .comm = "orted");
	fake(root, 712, 711, .comm = "model");
	assert_finds(&w, "711* 712");
	watch_close(&w);
}

static void the_table_of_scontrol(void **state)
{
	struct watch_finder f = {.own_step = -1};

	(void)state;
	scontrol_parse(&f, "PID      JOBID    STEPID   LOCALID GLOBALID\n"
			   "4321     4711     0        0       2\n"
			   "-1       4711     extern   0       0\n"
			   "  99     4711     batch    -       -\n"
			   "4322     4711     0        -       -\n"
			   "77777777777777 4711 0 0 0\n"
			   "5\n"
			   "6 4711\n"
			   "\n"
			   "7 4711 2");
	assert_int_equal(f.listed_count, 4);
	assert_int_equal(f.listed[0].pid, 4321);
	assert_string_equal(f.steps[f.listed[0].step].name, "0");
	assert_int_equal(f.listed[1].pid, 99);
	assert_string_equal(f.steps[f.listed[1].step].name, "batch");
	assert_int_equal(f.listed[2].step, f.listed[0].step);
	assert_int_equal(f.listed[3].pid, 7);
	assert_string_equal(f.steps[f.listed[3].step].name, "2");
	scontrol_parse(&f, "slurm_load_jobs error: Invalid job id specified\n");
	assert_int_equal(f.listed_count, 0);
	free(f.listed);
	free(f.steps);
}

static void slurm_by_environment(void **state)
{
	const char *root = *state;
	struct watch w;

	slurm_environment();
	fake(root, 1, 0, .comm = "init");
	fake(root, 301, 1, .comm = "test_watch");
	put_of(root, 301, "environ", "SLURM_JOB_ID=4711|SLURM_STEP_ID=0|");
	fake(root, 401, 30, .comm = "model");
	put_of(root, 401, "environ", "SLURM_JOB_ID=4711|SLURM_STEP_ID=1|SLURM_TASK_PID=401|");
	fake(root, 402, 401, .comm = "helper"); /* without an environment */
	fake(root, 201, 30, .comm = "bash");
	put_of(root, 201, "environ", "SLURM_JOB_ID=4711|");
	fake(root, 601, 30, .comm = "model");
	put_of(root, 601, "environ", "SLURM_JOB_ID=47111|SLURM_STEP_ID=1|");
	be(root, 301);
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "401* 402");
	assert_string_equal(w.how, "job 4711 of Slurm by the environment of processes");
	watch_close(&w);
}

/* ---- other batch systems
 * --------------------------------------------------------------------------
 */

static void oar_groups(void **state)
{
	const char *root = *state;
	struct watch w;

	setenv("OAR_JOB_ID", "815", 1);
	fake(root, 300, 20, .comm = "bash");
	fake(root, 301, 300, .comm = "oarsh");
	put_of(root, 301, "cmdline", "oarsh|node2|test_watch|");
	fake(root, 302, 300, .comm = "test_watch");
	fake(root, 310, 300, .comm = "mpirun");
	fake(root, 311, 310, .comm = "model");
	be(root, 302);
	put_of(root, 302, "cgroup", "3:cpuset:/oar/anna_815\n2:cpuacct,cpu:/oar/anna_815\n");
	put_of(root, 310, "cgroup", "3:cpuset:/oar/anna_815\n2:cpuacct,cpu:/oar/anna_815\n");
	put_text(root, "sys/fs/cgroup/cpuset/oar/anna_815/cgroup.procs",
		 "300\n301\n302\n310\n311\n");
	put_text(root, "sys/fs/cgroup/cpuset/oar/anna_8150/cgroup.procs", "20\n");
	put_text(root, "sys/fs/cgroup/cpu,cpuacct/oar/anna_815/cgroup.procs", "300\n");
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "310* 311");
	assert_string_equal(w.how, "job 815 of OAR by its control groups");
	assert_int_equal(w.group_count, 3);
	assert_true(str_suffix(watch_group(&w, "cpuset"), "/cpuset/oar/anna_815"));
	assert_true(str_suffix(watch_group(&w, "cpuacct"), "/cpu,cpuacct/oar/anna_815"));
	watch_close(&w);
}

static void oar_links_where_no_mounts_are_known(void **state)
{
	const char *root = *state;
	struct watch w;

	fake(root, 310, 20, .comm = "model");
	put_text(root, "dev/oar_cgroups_links/freezer/oar/anna_815/cgroup.procs", "310\n");
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "815"});
	assert_finds(&w, "310*");
	assert_string_equal(w.how, "job 815 of OAR by its control groups");
	watch_close(&w);
}

static void pbs_by_group_and_by_environment(void **state)
{
	const char *root = *state;
	struct watch w;

	setenv("PBS_JOBID", "42.server", 1);
	fake(root, 1, 0, .comm = "init");
	fake(root, 20, 1, .comm = "pbs_mom", .session = 20);
	fake(root, 300, 20, .comm = "bash", .session = 300);
	put_of(root, 300, "environ", "PBS_JOBID=42.server|");
	fake(root, 301, 300, .comm = "pbsdsh", .session = 300);
	put_of(root, 301, "environ", "PBS_JOBID=42.server|");
	put_of(root, 301, "cmdline", "pbsdsh|--|/usr/bin/test_watch|");
	fake(root, 310, 300, .comm = "model", .session = 300);
	put_of(root, 310, "environ", "PBS_JOBID=42.server|");
	/* lost its environment and its parent, but not its session */
	fake(root, 311, 1, .comm = "helper", .session = 300);
	fake(root, 330, 20, .comm = "test_watch", .session = 330);
	put_of(root, 330, "environ", "PBS_JOBID=42.server|");
	fake(root, 600, 20, .comm = "model", .session = 600);
	put_of(root, 600, "environ", "PBS_JOBID=421.server|");
	be(root, 330);
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "300 310* 311");
	assert_string_equal(w.how, "job 42.server of PBS by the environment of processes");
	watch_close(&w);
	/* from outside, by the number alone */
	clean_environment();
	fake(root, 77, 1, .comm = "test_watch");
	be(root, 77);
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "42"});
	watch_update(&w);
	assert_non_null(watch_find(&w, 310));
	assert_true(watch_find(&w, 300)->main || watch_find(&w, 310)->main);
	assert_null(watch_find(&w, 600));
	watch_close(&w);
	/* its groups, which version 2 has elsewhere */
	put_text(root, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
	put_text(root, "sys/fs/cgroup/pbs_jobs.service/jobs/42.server/cgroup.procs", "310\n");
	put_of(root, 310, "cgroup", "0::/pbs_jobs.service/jobs/42.server\n");
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "42.server"});
	assert_finds(&w, "310*");
	assert_string_equal(w.how, "job 42.server of PBS by its control groups");
	assert_true(str_suffix(watch_group(&w, ""), "/pbs_jobs.service/jobs/42.server"));
	watch_close(&w);
}

static void flux_by_environment(void **state)
{
	const char *root = *state;
	struct watch w;

	setenv("FLUX_JOB_ID",
	       "\xc6\x92"
	       "2Ab",
	       1);
	fake(root, 1, 0, .comm = "init");
	fake(root, 20, 1, .comm = "flux-shell");
	put_of(root, 20, "environ",
	       "FLUX_JOB_ID=\xc6\x92"
	       "2Ab|");
	fake(root, 300, 20, .comm = "test_watch");
	put_of(root, 300, "environ",
	       "FLUX_JOB_ID=\xc6\x92"
	       "2Ab|");
	fake(root, 310, 20, .comm = "model");
	put_of(root, 310, "environ",
	       "FLUX_JOB_ID=\xc6\x92"
	       "2Ab|PMI_RANK=3|");
	fake(root, 311, 310, .comm = "model");
	be(root, 300);
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "310*(3) 311");
	assert_string_equal(watch_launcher(&w), "flux");
	watch_close(&w);
}

static void a_job_that_has_not_begun(void **state)
{
	const char *root = *state;
	struct watch w;

	fake(root, 1, 0, .comm = "init");
	fake(root, 77, 1, .comm = "test_watch");
	be(root, 77);
	open_watch(&w, (struct watch_options){.kind = WATCH_JOB, .root = root, .job = "99"});
	assert_finds(&w, "");
	assert_string_equal(w.how, "job 99, which was not found yet");
	assert_false(watch_over(&w));
	fake(root, 300, 1, .comm = "slurmstepd");
	put_of(root, 300, "cmdline", "slurmstepd: [99.0]|");
	fake(root, 310, 300, .comm = "model");
	assert_finds(&w, "310*");
	assert_string_equal(w.how, "job 99 of Slurm by the process trees of slurmstepd");
	watch_close(&w);
}

/* ---- no batch system
 * -------------------------------------------------------------------------------
 */

static void the_session_then_the_user(void **state)
{
	const char *root = *state;
	struct watch w;

	fake(root, 1, 0, .comm = "init", .session = 1);
	fake(root, 10, 1, .comm = "other", .session = 10, .uid = OTHER_UID);
	fake(root, 50, 1, .comm = "bash", .session = 50);
	fake(root, 60, 50, .comm = "test_watch", .session = 50);
	fake(root, 61, 60, .comm = "ours", .session = 50);
	fake(root, 70, 50, .comm = "model", .session = 50);
	fake(root, 71, 70, .comm = "model", .session = 71);
	fake(root, 80, 1, .comm = "elsewhere", .session = 80);
	be(root, 60);
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	assert_finds(&w, "70* 71");
	assert_string_equal(w.how, "processes of this session");
	watch_close(&w);
	gone(root, 70);
	gone(root, 71);
	fake(root, 90, 80, .comm = "model", .session = 80);
	open_watch(&w, (struct watch_options){.kind = WATCH_NONE, .root = root});
	/* an orphan, as nothing else is there */
	assert_finds(&w, "80* 90");
	assert_string_equal(w.how, "processes of this user");
	watch_close(&w);
	open_watch(&w, (struct watch_options){.kind = WATCH_USER, .root = root});
	assert_finds(&w, "80* 90");
	watch_close(&w);
}

/* ---- this machine
 * ----------------------------------------------------------------------------------
 */

/* A child that does as it is told by bytes: 'f' forks a child like itself, 'd' a daemon, 'x' ends.
 */
static int child_start(int *ret_pipe, void (*body)(int fd))
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	int pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "worker"); /* else it looks like another monitor */
		close(ends[1]);
		body(ends[0]);
		_exit(0);
	}
	close(ends[0]);
	*ret_pipe = ends[1];
	return pid;
}

static void wait_here(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

static void fork_on_demand(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
}

static bool wait_until(struct watch *w, size_t count)
{
	for (int i = 0; i < 500; i++) {
		assert_true(watch_update(w) >= 0);
		if (w->count == count)
			return true;
		usleep(10000);
	}
	return false;
}

static void live_children_come_and_go(void **state)
{
	struct watch w;
	int in, pid = child_start(&in, fork_on_demand), status;

	(void)state;
	open_watch(&w, (struct watch_options){.kind = WATCH_PIDS,
					      .root = "",
					      .pids = &pid,
					      .pid_count = 1,
					      .all_users = true});
	assert_int_equal(watch_update(&w), 1);
	assert_int_equal(watch_find(&w, pid)->ppid, getpid());
	assert_true(w.finder->live);
	for (int i = 0; i < 20; i++)
		assert_int_equal(write(in, "f", 1), 1);
	assert_true(wait_until(&w, 21));
	for (size_t i = 0; i < w.count; i++)
		assert_int_equal(w.list[i].main, w.list[i].pid == pid);
	int victim = w.list[0].pid == pid ? w.list[1].pid : w.list[0].pid;
	kill(victim, SIGKILL); /* is a zombie from now on: its parent does not wait */
	assert_true(wait_until(&w, 20));
	assert_null(watch_find(&w, victim));
	assert_false(watch_over(&w));
	kill(pid, SIGKILL);
	/* not reaped yet, and over nevertheless */
	for (int i = 0; i < 500 && !watch_over(&w); i++) {
		usleep(10000);
		watch_update(&w);
	}
	assert_true(watch_over(&w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(wait_until(&w, 0));
	watch_close(&w);
	close(in);
}

static void *outlive(void *fd)
{
	wait_here(*(int *)fd);
	_exit(0);
}

static void end_first_thread(int fd)
{
	static int kept;
	pthread_t t;

	kept = fd;
	pthread_create(&t, NULL, outlive, &kept);
	pthread_exit(NULL);
}

static void live_first_thread_ends(void **state)
{
	struct watch w;
	int in, pid = child_start(&in, end_first_thread), status;

	(void)state;
	usleep(50000);
	open_watch(&w, (struct watch_options){.kind = WATCH_PIDS,
					      .root = "",
					      .pids = &pid,
					      .pid_count = 1,
					      .all_users = true});
	/* its state is that of a zombie */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(watch_update(&w), 1);
		usleep(10000);
	}
	close(in);
	assert_true(wait_until(&w, 0));
	assert_true(watch_over(&w));
	waitpid(pid, &status, 0);
	watch_close(&w);
}

static void make_daemon(int fd)
{
	char c;
	int in[2];

	while (read(fd, &c, 1) > 0) {
		if (pipe(in) == 0 && fork() == 0) {
			setsid();
			if (fork() == 0) {
				/* if the test fails it is not left behind, nor its output open */
				alarm(30);
				close(STDOUT_FILENO);
				close(STDERR_FILENO);
				close(in[1]);
				setsid();
				pause();
			}
			_exit(0);
		}
	}
}

/* Without events, and so by numbers alone, threads and strangers included. */
static void live_numbers_and_threads(void **state)
{
	struct watch w;
	int in, pid = child_start(&in, fork_on_demand), other_in;
	int other = child_start(&other_in, fork_on_demand), status;

	(void)state;
	open_watch(&w, (struct watch_options){.kind = WATCH_PIDS,
					      .root = "",
					      .pids = &pid,
					      .pid_count = 1,
					      .all_users = true});
	for (int round = 0; round < 10; round++) {
		assert_int_equal(write(in, "f", 1), 1);
		assert_int_equal(write(other_in, "f", 1), 1);
		assert_true(wait_until(&w, (size_t)round + 2));
	}
	assert_null(watch_find(&w, other));
	for (size_t i = 0; i < w.count; i++)
		assert_true(w.list[i].pid == pid || w.list[i].ppid == pid);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, &status, 0);
	waitpid(other, &status, 0);
	watch_close(&w);
	close(in);
	close(other_in);
}

static void live_daemon_with_its_fork_told(void **state)
{
	struct watch w;
	int in, pid = child_start(&in, make_daemon), status;
	int me = getpid();

	(void)state;
	/* orphans are given to us, so that the test can find the daemon */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	open_watch(&w, (struct watch_options){.kind = WATCH_PIDS,
					      .root = "",
					      .pids = &pid,
					      .pid_count = 1,
					      .all_users = true});
	assert_int_equal(watch_update(&w), 1);
	assert_int_equal(write(in, "d", 1), 1);
	/* the daemon is the child of ours that is not the one we started */
	int daemon = 0;
	for (int i = 0; i < 500 && !daemon; i++) {
		_cleanup_free_ char *path = xasprintf("/proc/self/task/%d/children", me);
		FILE *f = fopen(path, "r");
		int child;

		if (!f) {
			watch_close(&w);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			skip_because("this kernel does not list children");
		}
		while (fscanf(f, "%d", &child) == 1)
			if (child != pid)
				daemon = child;
		fclose(f);
		usleep(10000);
	}
	assert_true(daemon > 0);
	watch_fork(&w, pid, 999999);
	watch_fork(&w, 999999, daemon);
	watch_exit(&w, 999999);
	assert_true(wait_until(&w, 2));
	assert_non_null(watch_find(&w, daemon));
	assert_false(watch_find(&w, daemon)->main);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	kill(daemon, SIGKILL);
	waitpid(daemon, &status, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	watch_close(&w);
	close(in);
}

static void live_costs_little_when_nothing_happens(void **state)
{
	struct watch w;
	int in, pid = child_start(&in, fork_on_demand), status;

	(void)state;
	open_watch(&w, (struct watch_options){.kind = WATCH_PIDS,
					      .root = "",
					      .pids = &pid,
					      .pid_count = 1,
					      .all_users = true});
	watch_update(&w);
	/* looks at strangers once: a second listing finds their directories unchanged */
	w.finder->listed_ns = 1;
	watch_update(&w);
	assert_true(w.finder->fresh_count == 0);
	size_t known = w.finder->proc_count;
	assert_true(known > 2);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	watch_close(&w);
	close(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(descendants_are_followed, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(orphans_are_known_by_session_and_group, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_number_used_again_is_another_process, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(zombies_have_ended, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(forks_that_the_kernel_tells, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(garbage_is_survived, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(what_is_not_there, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(other_users_are_left_out, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(ranks_in_their_order, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(a_control_group_and_those_below, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_group_of_version_2_by_its_whole_path, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(named_processes_with_a_group_of_their_own, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(mounts_are_where_mountinfo_says, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(slurm_by_process_trees, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(slurm_batch_script_with_mpirun, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(slurm_groups_of_version_1, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(slurm_groups_of_version_2, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(slurm_ssh_into_the_extern_step, setup,
						scratch_teardown),
		cmocka_unit_test(the_table_of_scontrol),
		cmocka_unit_test_setup_teardown(slurm_by_environment, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(oar_groups, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(oar_links_where_no_mounts_are_known, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(pbs_by_group_and_by_environment, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(flux_by_environment, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(a_job_that_has_not_begun, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(the_session_then_the_user, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(live_children_come_and_go, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(live_first_thread_ends, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(live_numbers_and_threads, setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(live_daemon_with_its_fork_told, setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(live_costs_little_when_nothing_happens, setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
