/*
 * Jobs found by their control groups, on trees that are written here: the names of all managers in
 * both versions, patterns, roots that are missing, come and go, the life of a job, hostile names,
 * many jobs.
 */
#include "cgroup_jobs.h"

#include <limits.h>
#include <poll.h>

static struct list L;

static int teardown(void **state)
{
	list_close(&L);
	return scratch_teardown(state);
}

/* ---- managers -------------------------------------------------------------------------------- */

static void oar_of_version_1(void **state)
{
	(void)state;
	static const char *const names[] = {"cpu", "cpuacct", "cpuset", "freezer", "devices"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		group_put(names[i], "oar/alice_1234", "11\n12\n");
		group_put(names[i], "oar/bob_smith_7", "");
		group_put(names[i], "oar/notajob", "99\n");
	}
	put_dir("sys/fs/cgroup/memory");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 2);
	assert_job(&L, "1234", "oar", "alice", "/oar/alice_1234", JOB_RUNNING);
	assert_job(&L, "7", "oar", "bob_smith", "/oar/bob_smith_7", JOB_WAITING);
	const struct job *job = job_of(&L, "1234");
	assert_false(job->version2);
	assert_true(job->begin_ns > 0);
	assert_int_equal(job_of(&L, "7")->begin_ns, 0);
	static const bool has[CGROUP_JOBS_CONTROLLERS] = {[CGROUP_JOBS_CPUACCT] = true,
							  [CGROUP_JOBS_CPU] = true,
							  [CGROUP_JOBS_MEMBERS] = true};
	for (unsigned c = 0; c < CGROUP_JOBS_CONTROLLERS; c++) {
		struct stat st;

		assert_int_equal(job->dirs[c] >= 0, has[c]);
		assert_int_equal(job->inodes[c] > 0, has[c]);
		if (has[c]) {
			assert_int_equal(fstat(job->dirs[c], &st), 0);
			assert_int_equal(st.st_ino, job->inodes[c]);
		}
	}
}

static void slurm_of_version_1(void **state)
{
	(void)state;

	group_put("freezer", "slurm/uid_1000/job_5/step_0", "21\n");
	group_put("freezer", "slurm/uid_1000/job_5", "");
	group_put("memory", "slurm/uid_1000/job_5/step_0/task_0", "21\n");
	group_put("memory", "slurm/uid_1000/job_5", "");
	group_put("cpuacct", "slurm_n1/uid_0/job_6/step_batch", "31\n");
	group_put("cpuacct", "slurm_n1/uid_0/job_6", "");
	group_put("cpuacct", "slurm_n1/uid_0/other", "77\n");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 2);
	assert_job(&L, "5", "slurm", "1000", "/slurm/uid_1000/job_5", JOB_RUNNING);
	assert_job(&L, "6", "slurm", "0", "/slurm_n1/uid_0/job_6", JOB_RUNNING);
	assert_true(job_of(&L, "5")->dirs[CGROUP_JOBS_MEMORY] >= 0);
	assert_int_equal(job_of(&L, "5")->dirs[CGROUP_JOBS_CPUACCT], -1);
	assert_true(job_of(&L, "6")->dirs[CGROUP_JOBS_CPUACCT] >= 0);
}

static void version_2(void **state)
{
	(void)state;

	version2();
	group_put("", "system.slice/slurmstepd.scope/job_5/step_0/user/task_0", "21\n");
	group_put("", "system.slice/slurmstepd.scope/job_5/step_0/user", "");
	group_put("", "system.slice/slurmstepd.scope/job_5/step_0", "");
	group_put("", "system.slice/slurmstepd.scope/job_5", "");
	put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/cpu.stat", "usage_usec 1\n");
	put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_5/memory.stat", "anon 1\n");
	group_put("", "system.slice/slurmstepd.scope/system", "22\n");
	group_put("", "system.slice/n2_slurmstepd.scope/job_6", "23\n");
	group_put("", "oar.carol_12.slice", "24\n");
	group_put("", "pbs_jobs.service/jobs/77.pbs", "25\n");
	group_put("", "system.slice/cron.service", "26\n");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 4);
	assert_job(&L, "5", "slurm", NULL, "/system.slice/slurmstepd.scope/job_5", JOB_RUNNING);
	assert_job(&L, "6", "slurm", NULL, "/system.slice/n2_slurmstepd.scope/job_6", JOB_RUNNING);
	assert_job(&L, "12", "oar", "carol", "/oar.carol_12.slice", JOB_RUNNING);
	assert_job(&L, "77.pbs", "pbs", NULL, "/pbs_jobs.service/jobs/77.pbs", JOB_RUNNING);
	const struct job *job = job_of(&L, "5");
	assert_true(job->version2);
	assert_true(job->dirs[CGROUP_JOBS_CPUACCT] >= 0);
	assert_int_equal(job->dirs[CGROUP_JOBS_MEMORY], job->dirs[CGROUP_JOBS_CPUACCT]);
	assert_int_equal(job->dirs[CGROUP_JOBS_PERF], job->dirs[CGROUP_JOBS_CPUACCT]);
	assert_int_equal(job->dirs[CGROUP_JOBS_BLKIO], -1);
	assert_int_equal(job->dirs[CGROUP_JOBS_PIDS], -1);
}

static void pbs_of_version_1(void **state)
{
	(void)state;

	group_put("cpuset", "pbs_jobs.service/jobid/1234[5].server", "1\n");
	group_put("memory", "pbs_jobs.service/jobid/1234[5].server", "1\n");
	group_put("cpuset", "pbspro.slice/pbspro-55.login\\x2d1.slice", "2\n");
	group_put("cpuset", "torque/8.head", "3\n");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 3);
	assert_job(&L, "1234[5].server", "pbs", NULL, "/pbs_jobs.service/jobid/1234[5].server",
		   JOB_RUNNING);
	assert_job(&L, "55.login-1", "pbs", NULL, "/pbspro.slice/pbspro-55.login\\x2d1.slice",
		   JOB_RUNNING);
	assert_job(&L, "8", "pbs", NULL, "/torque/8.head", JOB_RUNNING);
	assert_string_equal(job_of(&L, "8")->id, "8.head");
}

static void containers_on_request(void **state)
{
	(void)state;
	struct cgroup_jobs_options o = {.root = tree, .containers = true};

	version2();
	group_put("",
		  "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a_1b.slice/"
		  "cri-containerd-77.scope",
		  "5\n");
	group_put("", "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a_1b.slice",
		  "");
	group_put("", "kubepods.slice/kubepods-podff.slice", "6\n");
	group_put("", "system.slice/docker-abc123.scope", "7\n");
	group_put("", "machine.slice/libpod-def.scope", "8\n");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_int_equal(cgroup_jobs_update(L.jobs), 8);
	assert_int_equal(cgroup_jobs_count(L.jobs), 4);
	assert_string_equal(job_of(&L, "0a-1b")->manager, "kubernetes");
	assert_string_equal(job_of(&L, "ff")->manager, "kubernetes");
	assert_string_equal(job_of(&L, "abc123")->manager, "docker");
	assert_string_equal(job_of(&L, "def")->manager, "podman");
	assert_int_equal(job_of(&L, "0a-1b")->state, JOB_RUNNING);
}

/* ---- patterns and roots ---------------------------------------------------------------------- */

static void patterns_of_the_user(void **state)
{
	(void)state;
	static const char *const patterns[] = {"system\\.slice/([a-z]+)\\.service$",
					       "^batch/q[0-9]+/j([0-9]+)$"};
	struct cgroup_jobs_options o = {.root = tree, .patterns = patterns, .pattern_count = 2};

	version2();
	group_put("", "system.slice/cron.service", "1\n");
	group_put("", "system.slice/ssh.socket", "2\n");
	group_put("", "batch/q1/j55", "3\n");
	group_put("", "batch/q1/k56", "4\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 2);
	assert_job(&L, "cron", "systemd", NULL, "/system.slice/cron.service", JOB_RUNNING);
	assert_job(&L, "55", "", NULL, "/batch/q1/j55", JOB_RUNNING);
}

/* Besides what is found; and what a manager has a name for keeps it. */
static void groups_of_the_user(void **state)
{
	static const char *const groups[] = {"/sys/fs/cgroup/lab/odd-name",
					     "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_78/",
					     "/sys/fs/cgroup/lab/later"};
	struct cgroup_jobs_options o = {.root = tree, .groups = groups, .group_count = 3};

	(void)state;
	version2();
	group_put("", "lab/odd-name", "1\n");
	group_put("", "lab/other", "2\n");
	group_put("", "system.slice/slurmstepd.scope/job_77", "3\n");
	group_put("", "system.slice/slurmstepd.scope/job_78", "4\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 3);
	assert_job(&L, "odd-name", "", NULL, "/lab/odd-name", JOB_RUNNING);
	assert_job(&L, "77", "slurm", NULL, "/system.slice/slurmstepd.scope/job_77", JOB_RUNNING);
	assert_job(&L, "78", "slurm", NULL, "/system.slice/slurmstepd.scope/job_78", JOB_RUNNING);
	group_put("", "lab/later", "5\n");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 4);
	assert_job(&L, "later", "", NULL, "/lab/later", JOB_RUNNING);
}

static void bad_patterns_are_refused(void **state)
{
	static const struct {
		const char *pattern, *says;
	} bad[] = {
		{"_([0-9]+$", "invalid extended regular expression"},
		{"_[0-9]+$", "has no parentheses around the job id"},
		{"(a", "invalid extended regular expression"},
		{"", "has no parentheses"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct cgroup_jobs_options o = {
			.root = *state, .patterns = &bad[i].pattern, .pattern_count = 1};

		assert_int_equal(list_open_with(&L, &o), -EINVAL);
		assert_contains(L.why.buf, bad[i].says);
		assert_contains(L.why.buf, bad[i].pattern);
		assert_null(L.jobs);
	}
	const char *relative = "dev/cpuset";
	struct cgroup_jobs_options o = {.root = *state, .roots = &relative, .root_count = 1};
	assert_int_equal(list_open_with(&L, &o), -EINVAL);
	assert_contains(L.why.buf, "'dev/cpuset' is not an absolute path of a directory");
}

static void patterns_of_python(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"_(\\d+)$", "_([0-9]+)$"},
		{"[\\d_]+-(?P<id>\\w+)\\.slice", "[0-9_]+-([A-Za-z0-9_]+)\\.slice"},
		{"^([^/]*)\\\\$", "^([^/]*)\\\\$"},
		{"[]\\d](a)", "[]0-9](a)"},
		{"(?:a)(\\d)", NULL},
		{"_(\\d+?)$", NULL},
		{"\\bjob(\\d)", NULL},
		{"[\\D](a)", NULL},
		{"(a)\\", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
		int r = cgroup_jobs_pattern_translate(cases[i].from, &out, &why);

		if (cases[i].to) {
			assert_int_equal(r, 0);
			assert_string_equal(out.buf, cases[i].to);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_contains(why.buf, cases[i].from);
		}
	}
}

static void a_root_is_waited_for(void **state)
{
	const char *cpuset = "/dev/oar_cgroups_links/cpuset/oar";
	struct cgroup_jobs_options o = {.root = tree, .roots = &cpuset, .root_count = 1};

	(void)state;
	put_dir("sys/fs/cgroup/cpuset");
	put_dir("sys/fs/cgroup/cpuacct");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	/* the links, the group of OAR and a job, as OAR makes them when the first job comes */
	put_link("dev/oar_cgroups_links/cpuset", "../../sys/fs/cgroup/cpuset");
	group_put("cpuset", "oar/alice_12", "5\n");
	group_put("cpuacct", "oar/alice_12", "5\n");
	for (int i = 0; i < 100 && !cgroup_jobs_count(L.jobs); i++) {
		struct pollfd p = {.fd = cgroup_jobs_descriptor(L.jobs), .events = POLLIN};

		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_true(cgroup_jobs_update(L.jobs) >= 0);
	}
	assert_job(&L, "12", "oar", "alice", "/oar/alice_12", JOB_RUNNING);
	assert_true(job_of(&L, "12")->dirs[CGROUP_JOBS_CPUACCT] >= 0);
	/* and goes again */
	group_remove("cpuset", "oar");
	group_remove("cpuacct", "oar");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(job_of(&L, "12")->state, JOB_ENDED);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	group_put("cpuset", "oar/alice_13", "6\n");
	for (int i = 0; i < 100 && !cgroup_jobs_count(L.jobs); i++) {
		usleep(100000);
		assert_true(cgroup_jobs_update(L.jobs) >= 0);
	}
	assert_job(&L, "13", "oar", "alice", "/oar/alice_13", JOB_RUNNING);
}

/* A root above the trees of managers: what leads to their jobs is none itself, and nothing is job
 * 0. */
static void root_above_a_manager(void **state)
{
	(void)state;
	const char *site = "/sys/fs/cgroup/cpuacct/site";
	struct cgroup_jobs_options o = {.root = tree, .roots = &site, .root_count = 1};

	group_put("cpuacct", "site/slurm/uid_0/job_9001/step_0", "21\n");
	group_put("cpuacct", "site/slurm/uid_0/job_9001", "");
	group_put("cpuacct", "site/oar/root_9002", "22\n");
	group_put("cpuacct", "site/user_0/bob_7", "23\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 3);
	assert_job(&L, "9001", "slurm", "0", "/site/slurm/uid_0/job_9001", JOB_RUNNING);
	assert_job(&L, "9002", "oar", "root", "/site/oar/root_9002", JOB_RUNNING);
	assert_job(&L, "7", "", "bob", "/site/user_0/bob_7", JOB_RUNNING);
}

/* Several roots, in places that no mount tells of; colmet's pattern on names. */
static void roots_anywhere(void **state)
{
	(void)state;
	const char *roots[] = {"/dev/cpuset/mine", "/srv/plain", "/dev/cpuset/mine/", "/nowhere"};
	struct cgroup_jobs_options o = {
		.root = tree, .roots = roots, .root_count = ARRAY_SIZE(roots)};

	put("dev/cpuset/mine/alice_1/cgroup.procs", "1\n");
	put("dev/memory/mine/alice_1/cgroup.procs", "1\n");
	put("dev/null/mine/alice_2/cgroup.procs", "1\n");
	put("srv/plain/job_3/cgroup.procs", "2\n");
	put("srv/plain/job_three/cgroup.procs", "3\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_int_equal(cgroup_jobs_update(L.jobs), 4);
	assert_int_equal(cgroup_jobs_count(L.jobs), 2);
	assert_job(&L, "1", "", "alice", "/mine/alice_1", JOB_RUNNING);
	assert_job(&L, "3", "", "job", "/job_3", JOB_RUNNING);
	assert_true(job_of(&L, "1")->dirs[CGROUP_JOBS_MEMORY] >= 0);
	assert_int_equal(job_of(&L, "1")->dirs[CGROUP_JOBS_CPUACCT], -1);
}

static void only_those_named(void **state)
{
	(void)state;
	static const char *const only[] = {"12", "77"};
	struct cgroup_jobs_options o = {.root = tree, .only = only, .only_count = 2};

	group_put("cpuset", "oar/alice_12", "1\n");
	group_put("cpuset", "oar/alice_123", "1\n");
	group_put("cpuset", "oar/alice_112", "1\n");
	group_put("cpuset", "pbs_jobs.service/jobid/77.server", "1\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 2);
	assert_string_equal(job_of(&L, "12")->user, "alice");
	assert_string_equal(job_of(&L, "77")->id, "77.server");
}

static void mounts_by_mountinfo(void **state)
{
	(void)state;

	put("proc/self/mountinfo",
	    "30 25 0:26 / /dev/oar_cgroups rw - cgroup none rw,cpuset,cpu,cpuacct,freezer\n"
	    "31 25 0:27 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	put("dev/oar_cgroups/oar/alice_5/cgroup.procs", "1\n");
	put("sys/fs/cgroup/memory/oar/alice_5/cgroup.procs", "1\n");
	put("proc/1/cgroup", "3:memory:/docker/x/oar/alice_5\n");
	put("proc/2/cgroup", "4:cpuset,cpu,cpuacct,freezer:/oar/alice_5/deep/er\n");
	put("proc/3/cgroup", "4:cpuset,cpu,cpuacct,freezer:/oar/alice_50\n");
	put("proc/4/cgroup", "7:devices:/oar/alice_5\ngarbage\n:::\n\n");
	list_open(&L);
	const struct job *job = job_of(&L, "5");
	assert_int_equal(job->dirs[CGROUP_JOBS_CPU], job->dirs[CGROUP_JOBS_MEMBERS]);
	assert_int_equal(job->dirs[CGROUP_JOBS_CPU], job->dirs[CGROUP_JOBS_CPUACCT]);
	assert_true(job->dirs[CGROUP_JOBS_MEMORY] >= 0);
	assert_ptr_equal(cgroup_jobs_of_process(L.jobs, 1), job);
	assert_ptr_equal(cgroup_jobs_of_process(L.jobs, 2), job);
	assert_null(cgroup_jobs_of_process(L.jobs, 3));
	assert_null(cgroup_jobs_of_process(L.jobs, 4));
	assert_null(cgroup_jobs_of_process(L.jobs, 5));
}

#define test(f) cmocka_unit_test_setup_teardown(f, tree_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(oar_of_version_1),
		test(slurm_of_version_1),
		test(version_2),
		test(pbs_of_version_1),
		test(containers_on_request),
		test(patterns_of_the_user),
		test(groups_of_the_user),
		test(bad_patterns_are_refused),
		test(patterns_of_python),
		test(a_root_is_waited_for),
		test(root_above_a_manager),
		test(roots_anywhere),
		test(only_those_named),
		test(mounts_by_mountinfo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
