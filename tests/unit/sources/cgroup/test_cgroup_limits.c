/*
 * The memory limit of the group that a process is in, and the kills for it, on trees that are
 * written here: version 1, version 2, both beside each other, groups inside groups, none at all.
 */
#include "tree.h"

#include "sources/cgroup/cgroup.h"

#define V1_MOUNTS                                                           \
	"30 20 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"                 \
	"31 30 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" \
	"32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define V2_MOUNT(dir) "33 30 0:29 / " dir " rw - cgroup2 cgroup2 rw\n"
#define NO_LIMIT_V1 "9223372036854771712\n" /* what the kernel says where there is none */

static struct cgroup_limits seen(void)
{
	struct cgroup_limits m;

	cgroup_limits_read(tree, &m);
	return m;
}

static void group_v2(const char *group, const char *max, const char *events)
{
	putf("sys/fs/cgroup%s/memory.max", max, group);
	if (events)
		putf("sys/fs/cgroup%s/memory.events", events, group);
}

static void group_v1(const char *group, const char *limit, const char *control)
{
	putf("sys/fs/cgroup/memory%s/memory.limit_in_bytes", limit, group);
	if (control)
		putf("sys/fs/cgroup/memory%s/memory.oom_control", control, group);
}

/* The smallest limit on the way up holds; a kill is counted in every group above the victim, once.
 */
static void version_2(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup"));
	put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
	group_v2("/slurm/job_7/step_0", "max\n", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 2\n");
	group_v2("/slurm/job_7", "8000000\n", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 5\n");
	group_v2("/slurm", "90000000\n", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 50\n");
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 8000000);
	assert_true(m.kills_counted);
	assert_int_equal(m.oom_kills, 2);
	group_v2("/slurm/job_7/step_0", "7000000\n", "oom 2\noom_kill 3\noom_group_kill 9\n");
	m = seen();
	assert_int_equal(m.memory, 7000000);
	assert_int_equal(m.oom_kills, 3);
	/* siblings say nothing about us */
	group_v2("/slurm/job_8", "1000\n", "oom_kill 77\n");
	assert_int_equal(seen().memory, 7000000);
	assert_int_equal(seen().oom_kills, 3);
}

/* A kill is counted in the victim's own group only: those above may be where our processes were. */
static void version_1(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V1_MOUNTS);
	put("proc/self/cgroup", "5:memory:/batch/7/0\n3:cpu,cpuacct:/elsewhere\n");
	group_v1("/batch/7/0", NO_LIMIT_V1, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	group_v1("/batch/7", "6000000\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	group_v1("", NO_LIMIT_V1, NULL);
	group_v1("/elsewhere", "1000\n", "oom_kill 40\n");
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 6000000);
	assert_true(m.kills_counted);
	assert_int_equal(m.oom_kills, 3);
}

/* Kernels before 4.13 count no kills: that is not known, and the limit is. */
static void version_1_old(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V1_MOUNTS);
	put("proc/self/cgroup", "5:memory:/batch\n");
	group_v1("/batch", "6000000\n", "oom_kill_disable 0\nunder_oom 0\n");
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 6000000);
	assert_false(m.kills_counted);
}

/* Both beside each other: memory belongs to version 1, the other tree has no files about it. */
static void both(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V1_MOUNTS V2_MOUNT("/sys/fs/cgroup/unified"));
	put("proc/self/cgroup", "5:memory:/a\n0::/a\n");
	group_v1("/a", "5000000\n", "oom_kill 1\n");
	put("sys/fs/cgroup/unified/a/cgroup.procs", "1\n");
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 5000000);
	assert_int_equal(m.oom_kills, 1);
}

/* In a container the group above the mount is not to be seen; its own files are at the top. */
static void in_a_namespace(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup"));
	put("proc/self/cgroup", "0::/../../other\n");
	group_v2("", "3000000\n", "oom_kill 4\n");
	put("sys/fs/memory.max", "1000\n");
	put("sys/memory.max", "1000\n");
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 3000000);
	assert_int_equal(m.oom_kills, 4);
}

/* Nothing there, or nothing that makes sense: no limit, and no count of kills. */
static void none(void **state)
{
	static const char *const garbage[] = {
		"", "\n", "max\n", "-5\n", "1e9\n", "x", "99999999999999999999999999\n"};

	(void)state;
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 0);
	assert_false(m.kills_counted);
	put("proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup"));
	put("proc/self/cgroup", "0::/a\n");
	assert_int_equal(seen().memory, 0);
	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		group_v2("/a", garbage[i], "oom_kill x\n");
		assert_int_equal(seen().memory, 0);
		assert_false(seen().kills_counted);
	}
	put("proc/self/cgroup", "nonsense\n:::\n0::\n0::a\n");
	assert_int_equal(seen().memory, 0);
}

static void quota_v2(const char *group, const char *max, const char *stat)
{
	putf("sys/fs/cgroup%s/cpu.max", max, group);
	putf("sys/fs/cgroup%s/cpu.stat", stat, group);
}

/* The smallest quota on the way up holds; time stopped adds up over the groups that have one. */
static void quota(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup"));
	put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
	quota_v2("/slurm/job_7/step_0", "max 100000\n", "usage_usec 5\nthrottled_usec 700\n");
	assert_true(seen().quota == 0);
	assert_false(seen().throttling_counted);
	quota_v2("/slurm/job_7", "150000 100000\n", "nr_throttled 3\nthrottled_usec 40\n");
	quota_v2("/slurm", "400000 100000\n", "nr_throttled 1\nthrottled_usec 2\n");
	struct cgroup_limits m = seen();
	assert_true(m.quota == 1.5);
	assert_true(m.throttling_counted);
	assert_int_equal(m.throttled_us, 42);
	quota_v2("/slurm/job_7", "150000 100000\n", "nr_throttled 9\nthrottled_usec 140\n");
	struct cgroup_limits later = seen();
	cgroup_limits_since(&m, &later);
	assert_int_equal(later.throttled_us, 100);
	assert_false(later.kills_counted);
	/* a counter that went back is not known */
	m.throttled_us = 1000;
	later = seen();
	cgroup_limits_since(&m, &later);
	assert_false(later.throttling_counted);
}

static void quota_version_1(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V1_MOUNTS);
	put("proc/self/cgroup", "5:memory:/batch\n3:cpu,cpuacct:/batch/7\n");
	group_v1("/batch", "6000000\n", NULL);
	put("sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.cfs_quota_us", "50000\n");
	put("sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.cfs_period_us", "100000\n");
	put("sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.stat", "nr_throttled 2\nthrottled_time 9000\n");
	put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	struct cgroup_limits m = seen();
	assert_int_equal(m.memory, 6000000);
	assert_true(m.quota == 0.5);
	assert_int_equal(m.throttled_us, 9);
}

/* Pages that were read again count in the group with the limit, which has all groups below. */
static void pages_read_again(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup"));
	put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
	group_v2("/slurm/job_7/step_0", "max\n", NULL);
	put("sys/fs/cgroup/slurm/job_7/step_0/memory.stat", "workingset_refault_file 3\n");
	group_v2("/slurm/job_7", "8000000\n", NULL);
	put("sys/fs/cgroup/slurm/job_7/memory.stat",
	    "file 8\nworkingset_refault_anon 7\nworkingset_refault_file 500\n");
	group_v2("/slurm", "90000000\n", NULL);
	put("sys/fs/cgroup/slurm/memory.stat", "workingset_refault_file 90000\n");
	struct cgroup_limits before = seen();
	assert_true(before.refaults_counted);
	assert_int_equal(before.refaults, 500);
	put("sys/fs/cgroup/slurm/job_7/memory.stat", "workingset_refault_file 800\n");
	struct cgroup_limits now = seen();
	cgroup_limits_since(&before, &now);
	assert_int_equal(now.refaults, 300);
	/* without a limit nothing had to make room for it */
	group_v2("/slurm/job_7", "max\n", NULL);
	group_v2("/slurm", "max\n", NULL);
	assert_false(seen().refaults_counted);
}

static void pages_read_again_version_1(void **state)
{
	(void)state;
	put("proc/self/mountinfo", V1_MOUNTS);
	put("proc/self/cgroup", "5:memory:/batch/7/0\n");
	group_v1("/batch/7/0", NO_LIMIT_V1, NULL);
	group_v1("/batch/7", "6000000\n", NULL);
	put("sys/fs/cgroup/memory/batch/7/memory.stat",
	    "workingset_refault_file 1\ntotal_workingset_refault_file 42\n");
	assert_int_equal(seen().refaults, 42);
	/* older kernels do not count */
	put("sys/fs/cgroup/memory/batch/7/memory.stat", "cache 1\ntotal_cache 42\n");
	assert_false(seen().refaults_counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(version_2),
		with_tree(version_1),
		with_tree(version_1_old),
		with_tree(both),
		with_tree(in_a_namespace),
		with_tree(none),
		with_tree(quota),
		with_tree(quota_version_1),
		with_tree(pages_read_again),
		with_tree(pages_read_again_version_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
