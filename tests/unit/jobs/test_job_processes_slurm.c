/*
 * Finding the processes of a job of Slurm: by process trees, control groups of both versions, and
 * the environment.
 */
#include "job_processes_tree.h"

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
	struct job_processes w;

	slurm_environment();
	slurm_processes(root);
	be(root, 301);
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1)");
	assert_string_equal(w.how, "job 4711 of Slurm by the process trees of slurmstepd");
	assert_string_equal(job_processes_launcher(&w), "srun");
	assert_int_equal(w.group_count, 0);
	/* the main step ends; the script and its shell do not become the job instead */
	gone(root, 401);
	gone(root, 403);
	fake(root, 402, 400, .comm = "model");
	assert_finds(&w, "402(0) 404(1)");
	assert_true(job_processes_over(&w));
	job_processes_close(&w);
	/* one step of the job, by name, whoever we are */
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "4711.0"});
	assert_finds(&w, "");
	job_processes_close(&w);
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "4711.1"});
	/* nothing but what was left behind: then that is the job */
	assert_finds(&w, "402*(0) 404*(1)");
	assert_string_equal(w.how, "job 4711.1 of Slurm by the process trees of slurmstepd");
	job_processes_close(&w);
}

static void slurm_batch_script_with_mpirun(void **state)
{
	const char *root = *state;
	struct job_processes w;

	slurm_environment();
	slurm_processes(root);
	for (int pid = 400; pid <= 404; pid++)
		gone(root, pid);
	gone(root, 220);
	be(root, 301);
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_JOB, .root = root});
	/* the script waits for us: there, but not what the end is told by */
	assert_finds(&w, "201");
	assert_false(job_processes_over(&w));
	fake(root, 230, 201, .comm = "mpirun", .start = 200);
	put_of(root, 230, "cmdline", "mpirun|-np|2|./model|");
	fake(root, 231, 230, .comm = "model", .start = 201);
	put_of(root, 231, "environ", "OMPI_COMM_WORLD_RANK=1|SLURM_PROCID=0|");
	assert_finds(&w, "201 230* 231(1)");
	gone(root, 230);
	fake(root, 231, 1, .comm = "model", .start = 201);
	assert_finds(&w, "201 231(1)");
	assert_true(job_processes_over(&w));
	job_processes_close(&w);
	/* the monitor started by mpirun from the script: both are above us */
	fake(root, 240, 201, .comm = "mpirun", .start = 300);
	fake(root, 241, 240, .comm = "test_watch", .start = 301);
	fake(root, 250, 201, .comm = "model", .start = 302);
	be(root, 241);
	unsetenv("SLURM_STEP_ID");
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_JOB, .root = root});
	assert_finds(&w, "250*");
	assert_string_equal(job_processes_launcher(&w), "mpirun");
	job_processes_close(&w);
}

static void slurm_groups_of_version_1(void **state)
{
	const char *root = *state;
	const char *base = "sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711";
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1)");
	assert_string_equal(w.how, "job 4711 of Slurm by its control groups");
	assert_int_equal(w.group_count, 2);
	assert_true(str_suffix(job_processes_group(&w, "freezer"),
			       "/sys/fs/cgroup/freezer/slurm_n1/uid_5/job_4711"));
	assert_true(str_suffix(job_processes_group(&w, "memory"),
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
	job_processes_close(&w);
	/* from outside, by the id alone; the node is not known */
	clean_environment();
	be(root, 20);
	open_watch(&w, (struct job_processes_options){
			       .kind = JOB_PROCESSES_JOB, .root = root, .job = "4711"});
	job_processes_update(&w);
	assert_string_equal(w.how, "job 4711 of Slurm by its control groups");
	assert_non_null(job_processes_find(&w, 501));
	assert_non_null(job_processes_find(&w, 402));
	assert_null(job_processes_find(&w, 201));
	job_processes_close(&w);
}

static void slurm_groups_of_version_2(void **state)
{
	const char *root = *state;
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "401*(0) 402(0) 403*(1) 404(1)");
	assert_int_equal(w.group_count, 1);
	assert_true(str_suffix(job_processes_group(&w, ""),
			       "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_4711"));
	job_processes_close(&w);
}

static void slurm_ssh_into_the_extern_step(void **state)
{
	const char *root = *state;
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "");
	assert_false(job_processes_over(&w));
	fake(root, 710, 700, .comm = "sshd");
	put_of(root, 710, "environ", "SLURMD_NODENAME=n1|");
	fake(root, 711, 710, .comm = "orted");
	fake(root, 712, 711, .comm = "model");
	assert_finds(&w, "711* 712");
	job_processes_close(&w);
}

static void the_table_of_scontrol(void **state)
{
	struct job_processes_finder f = {.own_step = -1};

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
	struct job_processes w;

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
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_NONE, .root = root});
	assert_finds(&w, "401* 402");
	assert_string_equal(w.how, "job 4711 of Slurm by the environment of processes");
	job_processes_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(slurm_by_process_trees),
		with_tree(slurm_batch_script_with_mpirun),
		with_tree(slurm_groups_of_version_1),
		with_tree(slurm_groups_of_version_2),
		with_tree(slurm_ssh_into_the_extern_step),
		cmocka_unit_test(the_table_of_scontrol),
		with_tree(slurm_by_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
