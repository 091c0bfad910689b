/*
 * Finding the processes of a job by their descent, their sessions and their control groups, on
 * trees that the test writes.
 */
#include "job_processes_tree.h"

/* ---- trees of processes ---------------------------------------------------------------------- */

static void descendants_are_followed(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes w;

	fake(root, 1, 0, .comm = "init");
	fake(root, 50, 1, .comm = "bash");
	fake(root, 100, 50);
	fake(root, 101, 100);
	fake(root, 99, 101, .start = 300); /* numbers went around */
	fake(root, 60, 50, .comm = "sibling");
	open_watch(&w,
		   (struct job_processes_options){
			   .kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_false(w.found_any);
	assert_finds(&w, "99 100* 101");
	assert_true(w.found_any);
	assert_int_equal(job_processes_find(&w, 101)->ppid, 100);
	assert_null(job_processes_find(&w, 60));
	assert_string_equal(w.how, "process 100 and its descendants");
	/* its parent ends: it stays, as the child of another */
	gone(root, 101);
	fake(root, 99, 1, .start = 300);
	assert_finds(&w, "99 100*");
	assert_int_equal(job_processes_find(&w, 99)->ppid, 1);
	fake(root, 102, 99, .start = 400);
	assert_finds(&w, "99 100* 102");
	assert_false(job_processes_over(&w));
	/* strays do not delay the end */
	gone(root, 100);
	assert_finds(&w, "99 102");
	assert_true(job_processes_over(&w));
	job_processes_close(&w);
}

static void orphans_are_known_by_session_and_group(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes w;

	fake(root, 1, 0, .comm = "init");
	fake(root, 50, 1, .comm = "bash", .pgrp = 50, .session = 50);
	fake(root, 100, 50, .pgrp = 100, .session = 50);
	fake(root, 101, 100, .pgrp = 101, .session = 101);
	open_watch(&w,
		   (struct job_processes_options){
			   .kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 1});
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
	job_processes_close(&w);
}

static void a_number_used_again_is_another_process(void **state)
{
	const char *root = *state;
	int pids[] = {100, 4000};
	struct job_processes w;

	fake(root, 100, 50, .start = 10);
	fake(root, 101, 100, .start = 11);
	fake(root, 102, 100, .start = 12);
	open_watch(&w,
		   (struct job_processes_options){
			   .kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 2});
	assert_finds(&w, "100* 101 102");
	fake(root, 101, 60, .start = 500);
	fake(root, 102, 100, .start = 501);
	assert_finds(&w, "100* 102");
	assert_int_equal(job_processes_find(&w, 102)->starttime, 501);
	fake(root, 100, 60, .start = 502);
	fake(root, 102, 100, .start = 501);
	assert_finds(&w, "102");
	assert_true(job_processes_over(&w));
	job_processes_close(&w);
}

static void zombies_have_ended(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes w;

	fake(root, 100, 50);
	fake(root, 101, 100, .state = 'Z');
	fake(root, 102, 100);
	/* its first thread ended, others run */
	fake(root, 103, 100, .state = 'Z', .threads = 4);
	open_watch(&w,
		   (struct job_processes_options){
			   .kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 102 103");
	fake(root, 102, 100, .state = 'Z');
	assert_finds(&w, "100* 103");
	fake(root, 100, 50, .state = 'Z');
	assert_finds(&w, "103");
	assert_true(job_processes_over(&w));
	job_processes_close(&w);
}

static void garbage_is_survived(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes w;
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
	open_watch(&w,
		   (struct job_processes_options){
			   .kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 101 102");
	assert_finds(&w, "100* 101 102");
	job_processes_close(&w);
}

static void what_is_not_there(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int pids[] = {4711, 4712};
	struct job_processes w;

	struct job_processes_options o = {
		.kind = JOB_PROCESSES_PIDS, .root = *state, .pids = pids, .pid_count = 1};
	assert_int_equal(job_processes_open(&w, &o, &why), -ENOENT);
	assert_text(&why, "there is no process 4711");
	strbuf_reset(&why);
	o.pid_count = 2;
	assert_int_equal(job_processes_open(&w, &o, &why), -ENOENT);
	strbuf_reset(&why);
	o = (struct job_processes_options){
		.kind = JOB_PROCESSES_CGROUP, .root = *state, .cgroup = "a/b"};
	assert_int_equal(job_processes_open(&w, &o, &why), -ENOENT);
	assert_text(&why, "there is no control group 'a/b'");
	strbuf_reset(&why);
	o = (struct job_processes_options){.kind = JOB_PROCESSES_JOB, .root = *state};
	assert_int_equal(job_processes_open(&w, &o, &why), -ENOENT);
	assert_text(&why, "not inside a batch job: name a job");
	strbuf_reset(&why);
	o.job = "../../etc";
	assert_int_equal(job_processes_open(&w, &o, &why), -EINVAL);
	strbuf_reset(&why);
	o = (struct job_processes_options){.kind = JOB_PROCESSES_USER, .root = "/nonexistent"};
	assert_int_equal(job_processes_open(&w, &o, &why), -ENOENT);
	assert_contains(why.buf, "/nonexistent/proc");
}

static void other_users_are_left_out(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes w;

	fake(root, 100, 50, .uid = OTHER_UID);
	fake(root, 101, 100);
	fake(root, 102, 100, .uid = OTHER_UID);
	struct job_processes_options o = {.kind = JOB_PROCESSES_PIDS,
					  .root = root,
					  .pids = pids,
					  .pid_count = 1,
					  .all_users = true};
	open_watch(&w, o);
	assert_finds(&w, "100* 101 102");
	job_processes_close(&w);
	if (!geteuid())
		return; /* root sees all */
	/* the one that was named is watched whoever's it is */
	o.all_users = false;
	open_watch(&w, o);
	assert_finds(&w, "100* 101");
	job_processes_close(&w);
}

static void ranks_in_their_order(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes w;

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
	open_watch(&w,
		   (struct job_processes_options){
			   .kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 1});
	assert_finds(&w, "100* 101(6) 102(7) 103(8) 104(0) 105 106 107");
	job_processes_close(&w);
}

/* ---- control groups -------------------------------------------------------------------------- */

static void a_control_group_and_those_below(void **state)
{
	const char *root = *state;
	_cleanup_free_ char *whole = xasprintf("%s/sys/fs/cgroup/freezer/a/b", root);
	struct job_processes w;

	for (int pid = 101; pid <= 106; pid++)
		fake(root, pid, 1);
	put_text(root, "sys/fs/cgroup/freezer/cgroup.procs", "106\n");
	put_text(root, "sys/fs/cgroup/freezer/a/b/cgroup.procs", "103\n101\n");
	put_text(root, "sys/fs/cgroup/freezer/a/b/c/cgroup.procs", "102\nx\n-5\n0\n999999999999\n");
	put_text(root, "sys/fs/cgroup/cpu,cpuacct/a/b/cgroup.procs", "101\n102\n103\n");
	put_text(root, "sys/fs/cgroup/memory/other/cgroup.procs", "");
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_CGROUP, .root = root, .cgroup = "/a/b"});
	assert_finds(&w, "101* 102* 103*");
	assert_string_equal(job_processes_group(&w, "freezer"), whole);
	assert_true(str_suffix(job_processes_group(&w, "cpu"), "/sys/fs/cgroup/cpu,cpuacct/a/b"));
	assert_string_equal(job_processes_group(&w, "cpuacct"), job_processes_group(&w, "cpu"));
	assert_null(job_processes_group(&w, "memory"));
	assert_null(job_processes_group(&w, ""));
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
	assert_true(job_processes_over(&w));
	job_processes_close(&w);
}

static void a_group_of_version_2_by_its_whole_path(void **state)
{
	const char *root = *state;
	struct job_processes w;

	fake(root, 101, 1, .comm = "bash");
	fake(root, 102, 101);
	put_text(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put_text(root, "sys/fs/cgroup/x.slice/cgroup.procs", "");
	put_text(root, "sys/fs/cgroup/x.slice/y.scope/cgroup.procs", "101\n102\n");
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_CGROUP,
						      .root = root,
						      .cgroup = "/sys/fs/cgroup/x.slice"});
	assert_finds(&w, "101* 102");
	assert_true(str_suffix(job_processes_group(&w, ""), "/sys/fs/cgroup/x.slice"));
	job_processes_close(&w);
}

static void named_processes_with_a_group_of_their_own(void **state)
{
	const char *root = *state;
	int pids[] = {100};
	struct job_processes_options o = {
		.kind = JOB_PROCESSES_PIDS, .root = root, .pids = pids, .pid_count = 1};
	struct job_processes w;

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
	assert_true(str_suffix(job_processes_group(&w, "memory"), "/sys/fs/cgroup/memory/job"));
	/* whoever is put into it, or left there, is of the job */
	fake(root, 110, 1, .pgrp = 110, .session = 110);
	put_text(root, "sys/fs/cgroup/memory/job/cgroup.procs", "100\n101\n110\n");
	assert_finds(&w, "100* 101 110");
	job_processes_close(&w);
}

static void mounts_are_where_mountinfo_says(void **state)
{
	const char *root = *state;
	struct job_processes w;

	/* a container: the hierarchy's group /outer is what is mounted */
	put_text(root, "proc/self/mountinfo",
		 "30 25 0:27 /outer /cg/frz rw,nosuid shared:9 - cgroup cgroup rw,freezer\n"
		 "31 25 0:28 / /cg/two rw - cgroup2 cgroup2 rw,nsdelegate\n");
	fake(root, 100, 1, .comm = "slurmstepd");
	fake(root, 101, 100);
	put_of(root, 101, "cgroup", "4:freezer:/outer/slurm/uid_1/job_7/step_0\n0::/\n");
	put_text(root, "cg/frz/slurm/uid_1/job_7/cgroup.procs", "");
	put_text(root, "cg/frz/slurm/uid_1/job_7/step_0/cgroup.procs", "101\n");
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "7"});
	assert_finds(&w, "101*");
	job_processes_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(descendants_are_followed),
		with_tree(orphans_are_known_by_session_and_group),
		with_tree(a_number_used_again_is_another_process),
		with_tree(zombies_have_ended),
		with_tree(garbage_is_survived),
		with_tree(what_is_not_there),
		with_tree(other_users_are_left_out),
		with_tree(ranks_in_their_order),
		with_tree(a_control_group_and_those_below),
		with_tree(a_group_of_version_2_by_its_whole_path),
		with_tree(named_processes_with_a_group_of_their_own),
		with_tree(mounts_are_where_mountinfo_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
