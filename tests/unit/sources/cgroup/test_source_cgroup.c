/*
 * Control groups of a job on trees that are written here: version 1 with a tree for each
 * controller, version 2, both beside each other; limits that are none; groups that come, go and are
 * made again.
 */
#include "source.h"

/* The job as the watch knows it: pairs of controller and directory below the root. */
static struct job_processes_group groups[16];
static char paths[16][512];
static struct job_processes watch;

static void watch_clear(void)
{
	watch = (struct job_processes){.groups = groups};
}

static void watch_add(const char *controller, const char *dir)
{
	size_t i = watch.group_count++;

	snprintf(groups[i].controller, sizeof(groups[i].controller), "%s", controller);
	snprintf(paths[i], sizeof(paths[i]), "%s/sys/fs/cgroup%s", tree, dir);
	groups[i].path = paths[i];
}

static int start_in(struct job_processes *w, const char *option)
{
	R.ctx.watch = w;
	return start("cgroup", option);
}

static void begin_in(struct job_processes *w, const char *option)
{
	assert_int_equal(start_in(w, option), 0);
	assert_int_equal(take(), 0);
}

static void put_v2(const char *group, const char *usage)
{
	struct {
		const char *file, *text;
	} files[] = {
		{"cpu.stat", usage},
		{"cpu.max", "150000 100000\n"},
		{"memory.current", "1000000\n"},
		{"memory.peak", "3000000\n"},
		{"memory.max", "8000000\n"},
		{"memory.swap.current", "5000\n"},
		{"memory.swap.max", "max\n"},
		{"memory.stat", "anon 600000\nfile 300000\nkernel 50000\nsock 7\nshmem 11\n"
				"file_mapped 12\nfile_dirty 13\nfile_writeback 14\nanon_thp 15\n"
				"slab 40000\npgfault 123\npgmajfault 4\nanonymous 9\n"},
		{"memory.events", "low 0\nhigh 5\nmax 6\noom 2\noom_kill 1\noom_group_kill 0\n"},
		{"io.stat", "8:0 rbytes=1000 wbytes=2000 rios=10 wios=20 dbytes=0 dios=0\n"
			    "259:0 rbytes=5 wbytes=6 rios=7 wios=8 dbytes=0 dios=0\n7:0 \n"},
		{"pids.current", "12\n"},
		{"pids.max", "max\n"},
		{"pids.peak", "15\n"},
		{"cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=71\n"},
		{"memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=80\n"
				    "full avg10=0.00 avg60=0.00 avg300=0.00 total=81\n"},
		{"io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=90\n"
				"full avg10=0.00 avg60=0.00 avg300=0.00 total=91\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *name = xasprintf("sys/fs/cgroup%s/%s", group, files[i].file);

		put(name, files[i].text);
	}
}

#define CPU_STAT_V2                                                                      \
	"usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnr_periods 9\nnr_throttled " \
	"4\nthrottled_usec 777\n"

static void version_2(void **state)
{
	const char *name = "/system.slice/slurmstepd.scope/job_7";

	(void)state;
	put_v2(name, CPU_STAT_V2);
	watch_clear();
	watch_add("", name);
	begin_in(&watch, NULL);
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_CGROUP, name, "cpu_usage", 5000);
	check_value(ENTITY_CGROUP, name, "cpu_user", 3000);
	check_value(ENTITY_CGROUP, name, "cpu_system", 2000);
	check_value(ENTITY_CGROUP, name, "cpu_periods", 9);
	check_value(ENTITY_CGROUP, name, "cpu_throttled_periods", 4);
	check_value(ENTITY_CGROUP, name, "cpu_throttled_time", 777);
	check_value(ENTITY_CGROUP, name, "cpu_limit", 1500);
	check_value(ENTITY_CGROUP, name, "memory_current", 1000000);
	check_value(ENTITY_CGROUP, name, "memory_peak", 3000000);
	check_value(ENTITY_CGROUP, name, "memory_limit", 8000000);
	check_value(ENTITY_CGROUP, name, "swap_current", 5000);
	check_value(ENTITY_CGROUP, name, "memsw_current", 1005000);
	check_value(ENTITY_CGROUP, name, "memory_anon", 600000);
	check_value(ENTITY_CGROUP, name, "memory_file", 300000);
	check_value(ENTITY_CGROUP, name, "memory_shmem", 11);
	check_value(ENTITY_CGROUP, name, "memory_mapped", 12);
	check_value(ENTITY_CGROUP, name, "memory_dirty", 13);
	check_value(ENTITY_CGROUP, name, "memory_writeback", 14);
	check_value(ENTITY_CGROUP, name, "memory_anon_hugepages", 15);
	check_value(ENTITY_CGROUP, name, "memory_kernel", 50000);
	check_value(ENTITY_CGROUP, name, "memory_slab", 40000);
	check_value(ENTITY_CGROUP, name, "page_faults", 123);
	check_value(ENTITY_CGROUP, name, "major_faults", 4);
	check_value(ENTITY_CGROUP, name, "memory_high_events", 5);
	check_value(ENTITY_CGROUP, name, "memory_max_events", 6);
	check_value(ENTITY_CGROUP, name, "oom_events", 2);
	check_value(ENTITY_CGROUP, name, "oom_kills", 1);
	check_value(ENTITY_CGROUP, name, "io_read_bytes", 1005);
	check_value(ENTITY_CGROUP, name, "io_write_bytes", 2006);
	check_value(ENTITY_CGROUP, name, "io_reads", 17);
	check_value(ENTITY_CGROUP, name, "io_writes", 28);
	check_value(ENTITY_CGROUP, name, "pids_current", 12);
	check_value(ENTITY_CGROUP, name, "pids_peak", 15);
	check_value(ENTITY_CGROUP, name, "cpu_pressure_some", 70);
	check_value(ENTITY_CGROUP, name, "memory_pressure_full", 81);
	check_value(ENTITY_CGROUP, name, "io_pressure_some", 90);
	/* no limit is no value */
	assert_false(has_value(ENTITY_CGROUP, name, "pids_limit"));
	assert_false(has_value(ENTITY_CGROUP, name, "swap_limit"));
	assert_false(has_value(ENTITY_CGROUP, name, "memsw_limit"));
	assert_contains(absence("pids_limit"), "no such limit");
	assert_contains(absence("memsw_limit"), "no such limit");
	assert_contains(absence("memsw_peak"), "does not provide it");
	assert_string_equal(absence("memory_limit"), "");
}

static void put_v1(const char *group)
{
	struct {
		const char *file, *text;
	} files[] = {
		{"cpuacct%s/cpuacct.usage", "5000123\n"},
		{"cpuacct%s/cpuacct.stat", "user 3\nsystem 2\n"},
		{"cpu%s/cpu.stat", "nr_periods 9\nnr_throttled 4\nthrottled_time 777888\n"},
		{"cpu%s/cpu.cfs_quota_us", "50000\n"},
		{"cpu%s/cpu.cfs_period_us", "100000\n"},
		{"memory%s/memory.usage_in_bytes", "1000000\n"},
		{"memory%s/memory.max_usage_in_bytes", "3000000\n"},
		{"memory%s/memory.limit_in_bytes", "9223372036854771712\n"},
		{"memory%s/memory.failcnt", "6\n"},
		{"memory%s/memory.memsw.usage_in_bytes", "1005000\n"},
		{"memory%s/memory.memsw.max_usage_in_bytes", "3005000\n"},
		{"memory%s/memory.memsw.limit_in_bytes", "4000000\n"},
		{"memory%s/memory.kmem.usage_in_bytes", "50000\n"},
		{"memory%s/memory.stat", "cache 1\nrss 2\ntotal_cache 300000\ntotal_rss 600000\n"
					 "total_rss_huge 15\ntotal_shmem 11\ntotal_mapped_file 12\n"
					 "total_dirty 13\ntotal_writeback 14\ntotal_pgfault 123\n"
					 "total_pgmajfault 4\ntotal_swap 5000\n"},
		{"memory%s/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"},
		{"blkio%s/blkio.throttle.io_service_bytes", "8:0 Read 1\n8:0 Write 2\nTotal 3\n"},
		{"blkio%s/blkio.throttle.io_service_bytes_recursive",
		 "8:0 Read 1000\n8:0 Write 2000\n8:0 Sync 7\n8:0 Total 3000\n259:0 Read 5\n259:0 Write 6\n"
		 "Total 3011\n"},
		{"blkio%s/blkio.throttle.io_serviced", "8:0 Read 10\n8:0 Write 20\nTotal 30\n"},
		{"pids%s/pids.current", "12\n"},
		{"pids%s/pids.max", "500\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *rest = strchr(files[i].file, '%') + 2;
		_cleanup_free_ char *name =
			xasprintf("sys/fs/cgroup/%.*s%s%s", (int)(rest - 2 - files[i].file),
				  files[i].file, group, rest);

		put(name, files[i].text);
	}
}

static void version_1(void **state)
{
	static const char *const controllers[] = {"freezer", "memory", "cpu",
						  "cpuacct", "blkio",  "pids"};
	const char *name = "/slurm/uid_1000/job_7";

	(void)state;
	put_v1(name);
	watch_clear();
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		_cleanup_free_ char *dir = xasprintf("/%s%s", controllers[i], name);

		watch_add(controllers[i], dir);
	}
	begin_in(&watch, NULL);
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_CGROUP, name, "cpu_usage", 5000);
	check_value(ENTITY_CGROUP, name, "cpu_user", 30000);
	check_value(ENTITY_CGROUP, name, "cpu_system", 20000);
	check_value(ENTITY_CGROUP, name, "cpu_throttled_periods", 4);
	check_value(ENTITY_CGROUP, name, "cpu_throttled_time", 777);
	check_value(ENTITY_CGROUP, name, "cpu_limit", 500);
	check_value(ENTITY_CGROUP, name, "memory_current", 1000000);
	check_value(ENTITY_CGROUP, name, "memory_peak", 3000000);
	assert_false(has_value(ENTITY_CGROUP, name, "memory_limit"));
	assert_contains(absence("memory_limit"), "no such limit");
	check_value(ENTITY_CGROUP, name, "swap_current", 5000);
	check_value(ENTITY_CGROUP, name, "memsw_current", 1005000);
	check_value(ENTITY_CGROUP, name, "memsw_peak", 3005000);
	check_value(ENTITY_CGROUP, name, "memsw_limit", 4000000);
	assert_string_equal(absence("memsw_limit"), "");
	check_value(ENTITY_CGROUP, name, "memory_anon", 600000);
	check_value(ENTITY_CGROUP, name, "memory_file", 300000);
	check_value(ENTITY_CGROUP, name, "memory_kernel", 50000);
	check_value(ENTITY_CGROUP, name, "memory_max_events", 6);
	check_value(ENTITY_CGROUP, name, "oom_kills", 1);
	check_value(ENTITY_CGROUP, name, "page_faults", 123);
	/* with those below, where the kernel has that */
	check_value(ENTITY_CGROUP, name, "io_read_bytes", 1005);
	check_value(ENTITY_CGROUP, name, "io_write_bytes", 2006);
	check_value(ENTITY_CGROUP, name, "io_reads", 10);
	check_value(ENTITY_CGROUP, name, "io_writes", 20);
	check_value(ENTITY_CGROUP, name, "pids_current", 12);
	check_value(ENTITY_CGROUP, name, "pids_limit", 500);
	assert_contains(absence("cpu_pressure_some"), "does not provide it");
	assert_contains(absence("memory_slab"), "does not provide it");
	/* a limit may be taken away while it runs */
	put("sys/fs/cgroup/cpu/slurm/uid_1000/job_7/cpu.cfs_quota_us", "-1\n");
	assert_int_equal(take(), 0);
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_limit"));
}

/* Controllers at different depths are one row; two jobs are two; version 2 beside version 1 adds
 * what that does not have. */
static void rows_of_a_job(void **state)
{
	(void)state;
	put_v1("/slurm/job_7");
	put_v1("/slurm/job_7/step_0/task_0");
	put_v2("/unified/slurm/job_7", "usage_usec 99\n");
	watch_clear();
	watch_add("cpuacct", "/cpuacct/slurm/job_7/step_0/task_0");
	watch_add("memory", "/memory/slurm/job_7");
	watch_add("", "/unified/slurm/job_7");
	begin_in(&watch, NULL);
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_CGROUP, "/slurm/job_7", "cpu_usage", 5000);
	check_value(ENTITY_CGROUP, "/slurm/job_7", "memory_current", 1000000);
	check_value(ENTITY_CGROUP, "/slurm/job_7", "pids_peak", 15);
	check_value(ENTITY_CGROUP, "/slurm/job_7", "io_pressure_full", 91);

	/* another job's groups come, in any order */
	put_v1("/slurm/job_8");
	put("sys/fs/cgroup/cpuacct/slurm/job_8/cpuacct.usage", "8000000\n");
	watch_add("memory", "/memory/slurm/job_8");
	watch_add("cpuacct", "/cpuacct/slurm/job_8");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 2);
	assert_int_equal(R.set.ended_count, 0);
	check_value(ENTITY_CGROUP, "/slurm/job_7", "cpu_usage", 5000);
	check_value(ENTITY_CGROUP, "/slurm/job_8", "cpu_usage", 8000);
	check_value(ENTITY_CGROUP, "/slurm/job_8", "memory_current", 1000000);

	/* and the first one's go */
	watch_clear();
	watch_add("cpuacct", "/cpuacct/slurm/job_8");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 1);
	assert_int_equal(R.set.ended_count, 1);
	check_value(ENTITY_CGROUP, "/slurm/job_8", "cpu_usage", 8000);
	/* none is left: that is no error */
	watch_clear();
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 0);
}

/* A group that is removed and made again goes on from where it was. */
static void made_again(void **state)
{
	const char *name = "/job";
	_cleanup_free_ char *dir = xasprintf("%s/sys/fs/cgroup/job", tree);
	_cleanup_free_ char *away = xasprintf("%s/away", tree);

	(void)state;
	put_v2(name, "usage_usec 3000000000\n");
	watch_clear();
	watch_add("", name);
	begin_in(&watch, NULL);
	check_value(ENTITY_CGROUP, name, "cpu_usage", 3000000000);
	/* from the upper half of 32 bits to the lower: these counters do not wrap */
	put_v2(name, "usage_usec 1000\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_CGROUP, name, "cpu_usage", 3000000000);
	put_v2(name, "usage_usec 1500\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_CGROUP, name, "cpu_usage", 3000000500);
	stop();

	/* a group that is not there yet, then is, is read from then on */
	assert_int_equal(rename(dir, away), 0);
	assert_int_equal(start_in(&watch, NULL), 0);
	assert_int_equal(take(), -ENOENT);
	assert_int_equal(rename(away, dir), 0);
	assert_int_equal(take(), 0);
	check_value(ENTITY_CGROUP, name, "cpu_usage", 1500);
}

static void named_by_the_option(void **state)
{
	(void)state;
	put_v1("/mine");
	begin_in(NULL, "/mine");
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_CGROUP, "/mine", "cpu_usage", 5000);
	check_value(ENTITY_CGROUP, "/mine", "pids_limit", 500);
	stop();
	assert_int_equal(start_in(NULL, "other"), -ENOENT);
	assert_contains(R.why.buf, "no control group 'other'");
	stop();

	/* the mount itself is version 2 */
	put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put_v2("/only", CPU_STAT_V2);
	begin_in(NULL, "only");
	check_value(ENTITY_CGROUP, "/only", "cpu_usage", 5000);
}

static void without_a_group(void **state)
{
	(void)state;
	assert_int_equal(start_in(NULL, NULL), -ENOENT);
	assert_contains(R.why.buf, "no job is watched");
	watch_clear();
	assert_int_equal(start_in(&watch, NULL), -ENOENT);
	assert_contains(R.why.buf, "has no control group of its own");
	assert_null(R.state);
	assert_int_equal(probe("cgroup", NULL), -ENOENT);
	watch_add("memory", "/memory/a");
	assert_int_equal(probe("cgroup", NULL), 0);
	assert_contains(R.report.detail.buf, "/sys/fs/cgroup/memory/a");
	assert_true(R.source->needs_job);
}

static void garbage(void **state)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{"cpu.stat",
		 "\nusage_usec\nusage_usec x\nuser_usec -4\nsystem_usec 99999999999999999999\n"
		 "nr_periods 5\nnr_throttled 7"},
		{"cpu.max", "\n"},
		{"memory.current", "12"},
		{"memory.max", "none\n"},
		{"memory.peak", ""},
		{"memory.swap.max", "99999999999999999999999\n"},
		{"io.stat", "8:0 rbytes= wbytes=x rios=9223372036854775799 wios=1\n"
			    "8:1 rios=9223372036854775799\n\n \n=\n"},
		{"pids.max", "-1\n"},
		{"cpu.pressure", "some\nfull total=\nsome total=5x\n"},
	};
	const char *name = "/g";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *path = xasprintf("sys/fs/cgroup/g/%s", files[i].file);

		put(path, files[i].text);
	}
	watch_clear();
	watch_add("", "/g");
	/* a directory that is not below the usual mount goes by its whole path */
	groups[watch.group_count++] =
		(struct job_processes_group){.controller = "memory", .path = paths[15]};
	snprintf(paths[15], sizeof(paths[15]), "/nowhere/memory/g");
	begin_in(&watch, NULL);
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_CGROUP, name, "cpu_periods", 5);
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_usage"));
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_user"));
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_system"));
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_throttled_periods"));
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_limit"));
	assert_false(has_value(ENTITY_CGROUP, name, "memory_current"));
	assert_false(has_value(ENTITY_CGROUP, name, "memory_limit"));
	assert_false(has_value(ENTITY_CGROUP, name, "memory_peak"));
	assert_false(has_value(ENTITY_CGROUP, name, "swap_limit"));
	assert_false(has_value(ENTITY_CGROUP, name, "pids_limit"));
	assert_false(has_value(ENTITY_CGROUP, name, "cpu_pressure_some"));
	check_value(ENTITY_CGROUP, name, "io_read_bytes", 0);
	check_value(ENTITY_CGROUP, name, "io_reads", INT64_MAX);
	check_value(ENTITY_CGROUP, name, "io_writes", 1);
	assert_contains(absence("memory_limit"), "does not provide it");
	assert_contains(absence("pids_limit"), "no such limit");
}

/* A disk, a logical volume on it, a loop device on that, RAID, multipath that passes on requests.
 */
static void put_block_devices(void)
{
	put_dir("sys/devices/pci0/block/sda/slaves");
	put("sys/devices/virtual/block/dm-0/slaves/sda", "");
	put_dir("sys/devices/virtual/block/loop0/slaves");
	put("sys/devices/virtual/block/md127/slaves/sda", "");
	put("sys/devices/virtual/block/dm-1/slaves/sda", "");
	put_dir("sys/devices/virtual/block/dm-1/mq/0");
	put_link("sys/dev/block/8:0", "../../devices/pci0/block/sda");
	put_link("sys/dev/block/253:0", "../../devices/virtual/block/dm-0");
	put_link("sys/dev/block/253:1", "../../devices/virtual/block/dm-1");
	put_link("sys/dev/block/7:0", "../../devices/virtual/block/loop0");
	put_link("sys/dev/block/9:127", "../../devices/virtual/block/md127");
}

static void check_io(const char *group, int64_t reads, int64_t writes, int64_t read_bytes,
		     int64_t write_bytes)
{
	check_values(ENTITY_CGROUP, group, {"io_reads", reads}, {"io_writes", writes},
		     {"io_read_bytes", read_bytes}, {"io_write_bytes", write_bytes});
}

/* What a device does that is made of others is done again by those below it. */
static void io_of_stacked_devices(void **state)
{
	const char *v2 = "/job", *v1 = "/blkio/job";

	(void)state;
	put_block_devices();
	put("sys/fs/cgroup/job/io.stat",
	    "8:0 rbytes=1000 wbytes=2000 rios=10 wios=20 dbytes=0 dios=0\n"
	    "253:0 rbytes=1000 wbytes=2000 rios=11 wios=21 dbytes=0 dios=0\n"
	    "253:1 rbytes=5 wbytes=6 rios=7 wios=8 dbytes=0 dios=0\n"
	    "7:0 rbytes=300 wbytes=400 rios=3 wios=4\n9:127 rbytes=100 wbytes=0 rios=1 wios=0\n");
	watch_clear();
	watch_add("", v2);
	begin_in(&watch, NULL);
	check_io(v2, 17, 28, 1005, 2006);
	check_fact(ENTITY_CGROUP, v2, "io_left_out",
		   "dm-0 (counted by devices below it), loop0 (counted on the disk of its file), "
		   "md127 (counted by devices below it)");
	stop();
	put("sys/fs/cgroup/blkio/job/blkio.throttle.io_service_bytes_recursive",
	    "8:0 Read 1000\n8:0 Write 2000\n253:0 Read 1000\n253:0 Write 2000\n"
	    "7:0 Read 300\n7:0 Write 400\nTotal 6700\n");
	put("sys/fs/cgroup/blkio/job/blkio.throttle.io_serviced_recursive",
	    "8:0 Read 10\n8:0 Write 20\n253:0 Read 11\n253:0 Write 21\nTotal 62\n");
	watch_clear();
	watch_add("blkio", v1);
	begin_in(&watch, NULL);
	check_io(v2, 10, 20, 1000, 2000);
	check_fact(ENTITY_CGROUP, v2, "io_left_out",
		   "dm-0 (counted by devices below it), loop0 (counted on the disk of its file)");
}

/* A device that goes takes nothing with it, and gives nothing twice. */
static void io_of_devices_that_go(void **state)
{
	const char *name = "/job";
#define SDA(n) "8:0 rbytes=" #n " wbytes=0 rios=1 wios=0\n"
#define SDB(n) "8:16 rbytes=" #n " wbytes=0 rios=1 wios=0\n"

	(void)state;
	put("sys/fs/cgroup/job/io.stat", SDA(94000) SDB(6000));
	watch_clear();
	watch_add("", name);
	begin_in(&watch, NULL);
	check_io(name, 2, 0, 100000, 0);
	put("sys/fs/cgroup/job/io.stat", SDA(94500));
	assert_int_equal(take(), 0);
	check_io(name, 2, 0, 100500, 0);
	/* back under its number, from 0 */
	put("sys/fs/cgroup/job/io.stat", SDA(94500) SDB(70));
	assert_int_equal(take(), 0);
	check_io(name, 2, 0, 100570, 0);
	/* nothing is left, which is no fall either */
	put("sys/fs/cgroup/job/io.stat", "");
	assert_int_equal(take(), 0);
	check_io(name, 2, 0, 100570, 0);
}

/* Version 1 of Linux 6.10 and later: no disk is counted unless a limit is set on it. */
static void io_that_is_not_counted(void **state)
{
	(void)state;
	put("sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
	put("sys/fs/cgroup/blkio/job/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
	put("sys/fs/cgroup/blkio/job/blkio.throttle.io_service_bytes", "Total 0\n");
	put("sys/fs/cgroup/blkio/job/blkio.throttle.io_serviced_recursive", "Total 0\n");
	put("sys/fs/cgroup/pids/job/pids.current", "3\n");
	watch_clear();
	watch_add("blkio", "/blkio/job");
	watch_add("pids", "/pids/job");
	begin_in(&watch, NULL);
	check_value(ENTITY_CGROUP, "/job", "pids_current", 3);
	check_none(ENTITY_CGROUP, "/job", "io_read_bytes");
	check_none(ENTITY_CGROUP, "/job", "io_writes");
	assert_contains(absence("io_read_bytes"), "only on disks with a limit");
	assert_contains(absence("io_writes"), "only on disks with a limit");
	stop();
	check_probe("cgroup", NULL, 0, "only on disks with a limit");
	/* where the kernel counts, a group without lines did nothing */
	put("sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive",
	    "8:0 Read 5\n8:0 Write 0\nTotal 5\n");
	begin_in(&watch, NULL);
	check_io("/job", 0, 0, 0, 0);
}

static void put_disk(const char *name, const char *number, const char *size)
{
	_cleanup_free_ char *dir = xasprintf("sys/devices/pci0/block/%s", name);
	_cleanup_free_ char *dev = xasprintf("%s/dev", dir), *sectors = xasprintf("%s/size", dir);
	_cleanup_free_ char *link = xasprintf("sys/dev/block/%s", number);
	_cleanup_free_ char *block = xasprintf("sys/block/%s", name);
	_cleanup_free_ char *to = xasprintf("../../%s", dir + strlen("sys/"));
	_cleanup_free_ char *up = xasprintf("../%s", dir + strlen("sys/"));
	_cleanup_free_ char *line = xasprintf("%s\n", number);

	put(dev, line);
	put(sectors, size);
	put_link(link, to);
	put_link(block, up);
}

/* Version 1 of Linux 6.10 with a limit on one of three disks: the others are not counted. */
static void io_of_disks_without_a_limit(void **state)
{
	const char *root = "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive";
	const char *job = "sys/fs/cgroup/blkio/job/blkio.throttle.io_service_bytes_recursive";
	const char *left = "sdb (this kernel counts it only after a limit was set)";

	(void)state;
	put_disk("sda", "8:0", "2048\n");
	put_disk("sdb", "8:16", "2048\n");
	put_disk("sdc", "8:32", "0\n"); /* a drive with nothing in it */
	put_disk("loop0", "7:0", "2048\n");
	put("sys/fs/cgroup/blkio/release_agent", "\n");
	put(root, "8:0 Read 500\n8:0 Write 0\nTotal 500\n");
	put(job, "8:0 Read 100\n8:0 Write 20\nTotal 120\n");
	put("sys/fs/cgroup/blkio/job/blkio.throttle.io_serviced_recursive",
	    "8:0 Read 1\n8:0 Write 2\nTotal 3\n");
	watch_clear();
	watch_add("blkio", "/blkio/job");
	begin_in(&watch, NULL);
	check_probe(
		"cgroup", NULL, 0,
		"; I/O leaves out loop0 (counted on the disk of its file), sdb (this kernel counts "
		"it only after a limit was set)");
	check_io("/job", 1, 2, 100, 20);
	check_fact(ENTITY_CGROUP, "/job", "io_left_out", left);
	/* a limit is set: from now on it counts, and what was before is not known */
	put(root, "8:0 Read 500\n8:0 Write 0\n8:16 Read 7\n8:16 Write 0\nTotal 507\n");
	put(job, "8:0 Read 100\n8:0 Write 20\n8:16 Read 7\n8:16 Write 0\nTotal 127\n");
	for (int i = 0; i < 300; i++)
		assert_int_equal(take(), 0);
	check_io("/job", 1, 2, 107, 20);
	check_fact(ENTITY_CGROUP, "/job", "io_left_out", left);
	stop();
	/* who begins now has all of it */
	begin_in(&watch, NULL);
	check_io("/job", 1, 2, 107, 20);
	check_fact(ENTITY_CGROUP, "/job", "io_left_out", NULL);
	stop();
	check_probe("cgroup", NULL, 0, "; I/O leaves out loop0 (counted on the disk of its file)");
	assert_null(strstr(R.report.detail.buf, "sdb"));
	/* the root of a container has lines of what was used in it only */
	put(root, "8:0 Read 500\n8:0 Write 0\nTotal 500\n");
	drop("sys/fs/cgroup/blkio/release_agent");
	begin_in(&watch, NULL);
	check_fact(ENTITY_CGROUP, "/job", "io_left_out", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(version_2),
		with_source(version_1),
		with_source(io_of_stacked_devices),
		with_source(io_of_devices_that_go),
		with_source(io_that_is_not_counted),
		with_source(io_of_disks_without_a_limit),
		with_source(rows_of_a_job),
		with_source(made_again),
		with_source(named_by_the_option),
		with_source(without_a_group),
		with_source(garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
