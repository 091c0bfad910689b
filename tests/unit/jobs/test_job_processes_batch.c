/*
 * Finding the processes of a job of OAR, PBS and Flux, and where there is no batch system.
 */
#include "job_processes_tree.h"

/* ---- other batch systems --------------------------------------------------------------------- */

static void oar_groups(void **state)
{
	const char *root = *state;
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "310* 311");
	assert_string_equal(w.how, "job 815 of OAR by its control groups");
	assert_int_equal(w.group_count, 3);
	assert_true(str_suffix(job_processes_group(&w, "cpuset"), "/cpuset/oar/anna_815"));
	assert_true(str_suffix(job_processes_group(&w, "cpuacct"), "/cpu,cpuacct/oar/anna_815"));
	job_processes_close(&w);
}

static void oar_links_where_no_mounts_are_known(void **state)
{
	const char *root = *state;
	struct job_processes w;

	fake(root, 310, 20, .comm = "model");
	put_text(root, "dev/oar_cgroups_links/freezer/oar/anna_815/cgroup.procs", "310\n");
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "815"});
	assert_finds(&w, "310*");
	assert_string_equal(w.how, "job 815 of OAR by its control groups");
	job_processes_close(&w);
}

static void pbs_by_group_and_by_environment(void **state)
{
	const char *root = *state;
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "300 310* 311");
	assert_string_equal(w.how, "job 42.server of PBS by the environment of processes");
	job_processes_close(&w);
	/* from outside, by the number alone */
	clean_environment();
	fake(root, 77, 1, .comm = "test_watch");
	be(root, 77);
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "42"});
	job_processes_update(&w);
	assert_non_null(job_processes_find(&w, 310));
	assert_true(job_processes_find(&w, 300)->main || job_processes_find(&w, 310)->main);
	assert_null(job_processes_find(&w, 600));
	job_processes_close(&w);
	/* its groups, which version 2 has elsewhere */
	put_text(root, "sys/fs/cgroup/cgroup.controllers", "cpu\n");
	put_text(root, "sys/fs/cgroup/pbs_jobs.service/jobs/42.server/cgroup.procs", "310\n");
	put_of(root, 310, "cgroup", "0::/pbs_jobs.service/jobs/42.server\n");
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "42.server"});
	assert_finds(&w, "310*");
	assert_string_equal(w.how, "job 42.server of PBS by its control groups");
	assert_true(str_suffix(job_processes_group(&w, ""), "/pbs_jobs.service/jobs/42.server"));
	job_processes_close(&w);
}

static void flux_by_environment(void **state)
{
	const char *root = *state;
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "310*(3) 311");
	assert_string_equal(job_processes_launcher(&w), "flux");
	job_processes_close(&w);
}

static void a_job_that_has_not_begun(void **state)
{
	const char *root = *state;
	struct job_processes w;

	fake(root, 1, 0, .comm = "init");
	fake(root, 77, 1, .comm = "test_watch");
	be(root, 77);
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "99"});
	assert_finds(&w, "");
	assert_string_equal(w.how, "job 99 has no processes on this host, or does not exist");
	assert_false(job_processes_over(&w));
	fake(root, 300, 1, .comm = "slurmstepd");
	put_of(root, 300, "cmdline", "slurmstepd: [99.0]|");
	fake(root, 310, 300, .comm = "model");
	assert_finds(&w, "310*");
	assert_string_equal(w.how, "job 99 of Slurm by the process trees of slurmstepd");
	job_processes_close(&w);
}

/* ---- no batch system ------------------------------------------------------------------------- */

static void the_session_then_the_user(void **state)
{
	const char *root = *state;
	struct job_processes w;

	fake(root, 1, 0, .comm = "init", .session = 1);
	fake(root, 10, 1, .comm = "other", .session = 10, .uid = OTHER_UID);
	fake(root, 50, 1, .comm = "bash", .session = 50);
	fake(root, 60, 50, .comm = "test_watch", .session = 50);
	fake(root, 61, 60, .comm = "ours", .session = 50);
	fake(root, 70, 50, .comm = "model", .session = 50);
	fake(root, 71, 70, .comm = "model", .session = 71);
	fake(root, 80, 1, .comm = "elsewhere", .session = 80);
	be(root, 60);
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "70* 71");
	assert_string_equal(w.how, "processes of this session");
	job_processes_close(&w);
	gone(root, 70);
	gone(root, 71);
	fake(root, 90, 80, .comm = "model", .session = 80);
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	/* an orphan, as nothing else is there */
	assert_finds(&w, "80* 90");
	assert_string_equal(w.how, "processes of this user");
	job_processes_close(&w);
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_USER, .root = root});
	assert_finds(&w, "80* 90");
	job_processes_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(oar_groups),
		with_tree(oar_links_where_no_mounts_are_known),
		with_tree(pbs_by_group_and_by_environment),
		with_tree(flux_by_environment),
		with_tree(a_job_that_has_not_begun),
		with_tree(the_session_then_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
