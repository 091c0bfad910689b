/*
 * The sources `jobs` and `jobproc` on trees that are written here: values of both versions, what is
 * absent and why, which files are read when, ends of jobs and of processes.
 */
#include "cgroup_jobs.h"
#include "source.h"

static struct list L;

static int setup(void **state)
{
	return source_setup(state);
}

static int teardown(void **state)
{
	stop();
	list_close(&L);
	return source_teardown(state);
}

static void open_source(const char *name)
{
	stop();
	list_open(&L);
	R.ctx.jobs = L.jobs;
	assert_int_equal(start(name, NULL), 0);
}

static void next(void)
{
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	assert_int_equal(take(), 0);
	cgroup_jobs_forget(L.jobs);
}

static int64_t of(const char *job, const char *metric)
{
	return raw_value(ENTITY_JOB, job, metric);
}

static bool has(const char *job, const char *metric)
{
	return has_value(ENTITY_JOB, job, metric);
}

static bool is_there(const char *job)
{
	return row_of(ENTITY_JOB, job) >= 0;
}

static void file(const char *hierarchy, const char *group, const char *name, const char *text)
{
	_cleanup_free_ char *path =
		xasprintf("sys/fs/cgroup%s%s/%s/%s", *hierarchy ? "/" : "", hierarchy, group, name);

	put(path, text);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

#define A "oar/alice_1"

static void put_oar(void)
{
	group_put("cpuacct", A, "10\n");
	group_put("cpu", A, "10\n");
	group_put("memory", A, "10\n");
	group_put("blkio", A, "10\n");
	group_put("pids", A, "10\n");
	file("cpuacct", A, "cpuacct.usage", "5000000\n");
	file("cpuacct", A, "cpuacct.stat", "user 3\nsystem 2\n");
	file("cpu", A, "cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 9000\n");
	file("cpu", A, "cpu.cfs_quota_us", "150000\n");
	file("cpu", A, "cpu.cfs_period_us", "100000\n");
	file("memory", A, "memory.usage_in_bytes", "4096000\n");
	file("memory", A, "memory.max_usage_in_bytes", "8192000\n");
	file("memory", A, "memory.limit_in_bytes", "9223372036854771712\n");
	file("memory", A, "memory.failcnt", "4\n");
	file("memory", A, "memory.stat",
	     "cache 1\nrss 2\ntotal_cache 111\ntotal_rss 222\ntotal_swap 333\ntotal_pgfault 444\n");
	file("memory", A, "memory.oom_control", "oom_kill_disable 0\noom_kill 2\n");
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive",
	     "8:0 Read 100\n8:0 Write 200\n8:16 Read 1\nTotal 301\n");
	file("blkio", A, "blkio.throttle.io_service_bytes", "8:0 Read 5\n");
	file("blkio", A, "blkio.throttle.io_serviced_recursive", "8:0 Read 9\n8:0 Write 8\n");
	file("pids", A, "pids.current", "12\n");
	file("pids", A, "pids.max", "max\n");
}

static void version_1(void **state)
{
	(void)state;

	put_oar();
	group_put("cpuacct", "oar/bob_2", ""); /* waits: no row */
	open_source("jobs");
	next();
	assert_int_equal(R.set.row_count, 1);
	check_fact(ENTITY_JOB, "1", "user", "alice");
	check_fact(ENTITY_JOB, "1", "manager", "oar");
	check_fact(ENTITY_JOB, "1", "path", "/oar/alice_1");
	static const struct {
		const char *metric;
		int64_t value;
	} want[] = {
		{"cpu_usage", 5000},    {"cpu_user", 30000},          {"cpu_system", 20000},
		{"cpu_periods", 7},     {"cpu_throttled_periods", 3}, {"cpu_throttled_time", 9},
		{"cpu_limit", 1500},    {"memory_current", 4096000},  {"memory_peak", 8192000},
		{"memory_file", 111},   {"memory_anon", 222},         {"swap_current", 333},
		{"page_faults", 444},   {"memory_max_events", 4},     {"oom_kills", 2},
		{"io_read_bytes", 101}, {"io_write_bytes", 200},      {"io_reads", 9},
		{"io_writes", 8},       {"pids_current", 12},
	};
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		if (of("1", want[i].metric) != want[i].value)
			fail_msg("%s is %lld", want[i].metric, (long long)of("1", want[i].metric));
	assert_false(has("1", "memory_limit"));
	assert_string_equal(absence("memory_limit"), "no job here has such a limit");
	assert_string_equal(absence("io_pressure_some"),
			    "control groups of version 1 do not provide it");
	assert_string_equal(absence("memory_slab"),
			    "the control groups of this kernel do not provide it");
}

/* A volume is taken away while the job runs: the disk below it has counted all of it. */
static void io_by_device(void **state)
{
	(void)state;
	put_oar();
	put("sys/devices/virtual/block/dm-0/slaves/sda", "");
	put_link("sys/dev/block/253:0", "../../devices/virtual/block/dm-0");
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive",
	     "8:0 Read 94000\n253:0 Read 93000\nTotal 187000\n");
	open_source("jobs");
	next();
	assert_int_equal(of("1", "io_read_bytes"), 94000);
	check_fact(ENTITY_JOB, "1", "io_left_out", "dm-0 (counted by devices below it)");
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive",
	     "8:0 Read 94100\nTotal 94100\n");
	next();
	assert_int_equal(of("1", "io_read_bytes"), 94100);
	/* the disk itself goes: what it counted stays */
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive", "8:16 Read 5\nTotal 5\n");
	next();
	assert_int_equal(of("1", "io_read_bytes"), 94105);
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive",
	     "8:0 Read 94200\n8:16 Read 6\nTotal 5\n");
	next();
	assert_int_equal(of("1", "io_read_bytes"), 94206);
}

static void io_not_counted(void **state)
{
	(void)state;
	put_oar();
	put("sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive", "Total 0\n");
	file("blkio", A, "blkio.throttle.io_service_bytes", "Total 0\n");
	file("blkio", A, "blkio.throttle.io_serviced_recursive", "Total 0\n");
	open_source("jobs");
	next();
	assert_int_equal(of("1", "pids_current"), 12);
	assert_false(has("1", "io_read_bytes"));
	assert_false(has("1", "io_writes"));
	assert_contains(absence("io_writes"), "only on disks with a limit");
	next();
	assert_false(has("1", "io_read_bytes"));
}

static void version_2(void **state)
{
	const char *g = "system.slice/slurmstepd.scope/job_5";

	(void)state;
	version2();
	group_put("", g, "1\n");
	file("", g, "cpu.stat", "usage_usec 50\nuser_usec 30\nsystem_usec 20\n");
	file("", g, "memory.current", "1000\n");
	file("", g, "memory.peak", "2000\n");
	file("", g, "memory.max", "3000\n");
	file("", g, "memory.stat", "anon 600\nfile 400\n");
	file("", g, "memory.events", "high 0\nmax 1\noom 2\noom_kill 3\n");
	file("", g, "io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n");
	file("", g, "io.pressure",
	     "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"
	     "full avg10=0.00 avg60=0.00 avg300=0.00 total=66\n");
	open_source("jobs");
	next();
	assert_int_equal(of("5", "cpu_usage"), 50);
	assert_int_equal(of("5", "memory_current"), 1000);
	assert_int_equal(of("5", "memory_limit"), 3000);
	assert_int_equal(of("5", "memory_anon"), 600);
	assert_int_equal(of("5", "oom_kills"), 3);
	assert_int_equal(of("5", "io_writes"), 4);
	assert_int_equal(of("5", "io_pressure_full"), 66);
	assert_contains(absence("pids_current"), "jobs here have no pids group");
	/* a pressure grows without any CPU: it is read though nothing else has changed */
	file("", g, "io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
	file("", g, "memory.stat", "anon 601\nfile 400\n");
	next();
	assert_int_equal(of("5", "io_pressure_some"), 99);
	assert_int_equal(of("5", "memory_anon"), 600);
}

/* OAR as it comes: no memory, no blkio. */
static void what_a_site_could_switch_on(void **state)
{
	(void)state;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	group_put("cpuacct", A, "10\n");
	file("cpuacct", A, "cpuacct.usage", "1000\n");
	put_dir("sys/fs/cgroup/memory");
	put_dir("sys/fs/cgroup/blkio");
	group_put("memory", "slurm/uid_0/job_7", "11\n");
	open_source("jobs");
	next();
	cgroup_jobs_shortcomings(L.jobs, &out);
	assert_contains(out.buf, "memory: jobs of OAR have no memory group: set $Enable_mem_cg = "
				 "\"YES\" in job_resource_manager_cgroups.pl\n");
	assert_contains(out.buf, "blkio: jobs of OAR have no blkio group: set $Enable_blkio_cg");
	assert_contains(out.buf, "cpuacct: jobs of Slurm have no cpuacct group: set "
				 "JobAcctGatherType=jobacct_gather/cgroup in slurm.conf\n");
	assert_contains(out.buf, "pids: the controller is not mounted");
	assert_null(strstr(out.buf, "memory: jobs of Slurm"));
	assert_contains(absence("io_read_bytes"), "set $Enable_blkio_cg = \"YES\"");
	assert_contains(absence("pids_current"), "the controller is not mounted");
	/* one of the two has a memory group, so the metric is not absent for want of it */
	assert_contains(absence("memory_current"), "of this kernel do not provide it");
}

/* A job that did nothing has only the files read that others may change; limits come seldom. */
static void files_are_read_when_they_may_have_changed(void **state)
{
	(void)state;
	put_oar();
	open_source("jobs");
	next();
	/* pages are written by others, and neither CPU nor memory of the job shows it */
	file("memory", A, "memory.stat", "total_rss 999\ntotal_swap 333\n");
	file("blkio", A, "blkio.throttle.io_service_bytes_recursive",
	     "8:0 Read 100\n8:0 Write 300\n");
	file("blkio", A, "blkio.throttle.io_serviced_recursive", "8:0 Read 10\n8:0 Write 8\n");
	next();
	assert_int_equal(of("1", "memory_anon"), 222);
	assert_int_equal(of("1", "cpu_limit"), 1500);
	assert_int_equal(of("1", "io_write_bytes"), 300);
	assert_int_equal(of("1", "io_reads"), 10);
	/* memory that changes is reason enough, and so is CPU time */
	file("memory", A, "memory.usage_in_bytes", "4096001\n");
	next();
	assert_int_equal(of("1", "memory_anon"), 999);
	assert_int_equal(of("1", "memsw_current"), 4096001 + 333);
	file("memory", A, "memory.stat", "total_rss 1000\n");
	file("cpuacct", A, "cpuacct.usage", "5001000\n");
	file("memory", A, "memory.limit_in_bytes", "77000\n");
	next();
	assert_int_equal(of("1", "memory_anon"), 1000);
	assert_int_equal(of("1", "cpu_usage"), 5001);
	/* somebody was killed: he is not there any more */
	file("memory", A, "memory.oom_control", "oom_kill 3\n");
	file("pids", A, "pids.current", "11\n");
	file("cpuacct", A, "cpuacct.usage", "5002000\n");
	next();
	assert_int_equal(of("1", "oom_kills"), 3);
	int rounds = 0;
	while (!has("1", "memory_limit") && rounds++ < 16)
		next();
	assert_int_equal(of("1", "memory_limit"), 77000);
	/* with a limit it can be reached */
	file("memory", A, "memory.failcnt", "5\n");
	file("cpuacct", A, "cpuacct.usage", "5003000\n");
	next();
	assert_int_equal(of("1", "memory_max_events"), 5);
}

static bool ended(const char *job)
{
	for (size_t i = 0; i < R.set.ended_count; i++)
		if (!strcmp(R.set.entities[R.set.ended[i]].name, job))
			return true;
	return false;
}

static void the_last_reading(void **state)
{
	(void)state;

	put_oar();
	open_source("jobs");
	next();
	/* its groups go; descriptors of plain files still answer, those of the kernel would not */
	file("cpuacct", A, "cpuacct.usage", "6000000\n");
	file("pids", A, "pids.current", "garbage\n");
	static const char *const all[] = {"cpuacct", "cpu", "memory", "blkio", "pids"};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		group_remove(all[i], A);
	next();
	assert_int_equal(R.set.row_count, 1);
	assert_int_equal(of("1", "cpu_usage"), 6000);
	assert_int_equal(of("1", "memory_current"), 4096000);
	/* what could not be read is as it was last */
	assert_int_equal(of("1", "pids_current"), 12);
	assert_true(ended("1"));
	for (int i = 0; i < 3; i++) {
		next();
		assert_int_equal(R.set.row_count, 0);
		assert_int_equal(R.set.ended_count, 0);
	}
	/* the same id again has counters of its own */
	put_oar();
	file("cpuacct", A, "cpuacct.usage", "1000\n");
	next();
	assert_int_equal(of("1", "cpu_usage"), 1);
	check_fact(ENTITY_JOB, "1", "user", "alice");
}

/* The list forgets a job before the source, which is slower, has seen its end. */
static void forgotten_before_its_last_reading(void **state)
{
	(void)state;

	put_oar();
	open_source("jobs");
	next();
	group_remove("cpuacct", A);
	group_put("memory", A, "");
	group_put("cpu", A, "");
	group_put("blkio", A, "");
	group_put("pids", A, "");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(take(), 0);
	assert_int_equal(of("1", "cpu_usage"), 5000);
	assert_true(ended("1"));
	next();
	assert_int_equal(R.set.row_count, 0);
	/* and one that is asked twice while it ends has one end */
	file("cpuacct", "oar/carol_3", "cpuacct.usage", "7000\n");
	group_put("cpuacct", "oar/carol_3", "5\n");
	next();
	group_remove("cpuacct", "oar/carol_3");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(take(), 0);
	assert_true(is_there("3") && ended("3"));
	assert_int_equal(take(), 0);
	assert_false(is_there("3"));
}

/* A controller's group that is made again within the job's life begins at 0, and goes on here. */
static void a_group_made_again(void **state)
{
	(void)state;

	group_put("freezer", "slurm/uid_0/job_4", "5\n");
	group_put("cpuacct", "slurm/uid_0/job_4", "5\n");
	file("cpuacct", "slurm/uid_0/job_4", "cpuacct.usage", "50000\n");
	open_source("jobs");
	next();
	assert_int_equal(of("4", "cpu_usage"), 50);
	group_remove("cpuacct", "slurm/uid_0/job_4");
	next();
	assert_int_equal(job_of(&L, "4")->state, JOB_RUNNING);
	put_dir("sys/fs/cgroup/cpuacct/slurm/uid_0/pad"); /* another inode than before */
	group_put("cpuacct", "slurm/uid_0/job_4", "5\n");
	file("cpuacct", "slurm/uid_0/job_4", "cpuacct.usage", "7000\n");
	next();
	assert_int_equal(of("4", "cpu_usage"), 57);
}

static void hostile_texts(void **state)
{
	(void)state;
	_cleanup_free_ char *big = xmalloc(3000000);

	put_oar();
	memset(big, 'x', 2999999);
	big[2999999] = 0;
	file("memory", A, "memory.stat", big);
	file("cpuacct", A, "cpuacct.usage", "99999999999999999999999\n");
	file("cpuacct", A, "cpuacct.stat", "user\nsystem -1\nuser user user\n");
	file("memory", A, "memory.usage_in_bytes", "");
	put_link("sys/fs/cgroup/memory/oar/alice_1/memory.kmem.usage_in_bytes", "/proc/self/mem");
	_cleanup_free_ char *fifo =
		xasprintf("%s/sys/fs/cgroup/memory/%s/memory.memsw.usage_in_bytes", tree, A);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	open_source("jobs");
	next();
	static const char *const none[] = {"cpu_usage",      "cpu_user",    "cpu_system",
					   "memory_current", "memory_anon", "memory_kernel",
					   "memsw_current"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (has("1", none[i]))
			fail_msg("%s is %lld", none[i], (long long)of("1", none[i]));
	assert_int_equal(of("1", "memory_peak"), 8192000);
	next();
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(version_1),
		test(io_by_device),
		test(io_not_counted),
		test(version_2),
		test(what_a_site_could_switch_on),
		test(files_are_read_when_they_may_have_changed),
		test(the_last_reading),
		test(forgotten_before_its_last_reading),
		test(a_group_made_again),
		test(hostile_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
