/* perfmon's JSON files as tables: names, order and types of columns, every value, what is short. */
#include "unit.h"

#include <errno.h>

#include "compat/perfmon/perfmon_tables.h"
#include "core/files/fs.h"

static const char cpu[] =
	"{\"host_names\": [\"n1\", \"n2\"], \"sampling_frequency\": 30,"
	"\"n1\": {\"time_stamps\": [100, 130, 160], \"cpu_percent\": [null, 1.5, 100],"
	" \"num_threads\": [1, 2, 3], \"memory_bw\": [1048576, 2097152, 524288],"
	" \"memory_info\": {\"rss\": [4096, 8192, 12288], \"vms\": [1, 2]},"
	" \"ib_io_counters\": {\"port_rcv_data\": [4, 8, 12]},"
	" \"rapl_powercap\": {\"dram-1\": [7, 8, 9], \"package-0\": [1000000, 2000000, 3000000],"
	"  \"psys\": [1, 1, 1]},"
	" \"strange\": [1, \"x\", NaN, 4, 5], \"child_proc_md\": [\"12 x\"], \"parent_proc_md\": {\"pid\": [1]}},"
	"\"n2\": {\"num_threads\": [5], \"cpu_percent\": [2], \"memory_bw\": [0],"
	" \"memory_info\": {\"rss\": [1], \"vms\": [1]}, \"time_stamps\": [101]}}";
static const char perf[] =
	"{\"host_names\": [\"n1\"], \"n1\": {\"time_stamps\": [100],"
	" \"hardware_events\": {\"cycles\": [10], \"branch-misses\": [null]},"
	" \"L2\": {\"derv_bandwidth\": [1.5]}, \"L3\": {\"derv_bandwidth\": [2.5], \"other\": [1]},"
	" \"L3cache\": {\"other\": [2]}}}";
static const char gpu[] = "{\"host_names\": [\"gpu-0.n1\"], \"gpu-0.n1\": {\"time_stamps\": [100],"
			  " \"power_usage\": [50000], \"clock_info\": {\"sm\": [1200]}}}";

static const char cpu_csv[] =
	"Host,Timestamps,CPU usage [%],Memory RSS [bytes],Memory VMS [bytes],Number of threads,"
	"Memory (read) bandwidth [MiB/s],IB recv data [bytes],RAPL package 0 [uJ],"
	"RAPL dram 1 [uJ],RAPL psys [uJ],strange\n"
	"n1,100,,4096,1.0,1,1.0,4.0,1000000.0,7.0,1.0,1.0\n"
	"n1,130,1.5,8192,2.0,2,2.0,8.0,2000000.0,8.0,1.0,\n"
	"n1,160,100.0,12288,,3,0.5,12.0,3000000.0,9.0,1.0,\n"
	"n2,101,2.0,1,1.0,5,0.0,,,,,\n";

static void make_metrics(const char *dir, const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/metrics", dir),
			    *file = xasprintf("%s/metrics/%s", dir, name);

	(void)mkdir(path, 0700);
	write_file(file, text, strlen(text));
}

static int export(const char *dir, const char *job, struct strbuf *why)
{
	static const char *const names[] = {"csv", "pickle", "hdf5", "parquet", "feather", "orc"};
	const struct table_format *formats[ARRAY_SIZE(names)];
	_cleanup_free_ char *path = xasprintf("%s/metrics", dir);
	_cleanup_close_ int metrics_dir = open_dir(path);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		formats[i] = table_format_by_name(names[i]);
	return perfmon_tables_write(&(struct perfmon_tables){.metrics = metrics_dir,
							     .dir = dir,
							     .job = job,
							     .formats = formats,
							     .format_count = ARRAY_SIZE(formats)},
				    why);
}

static void expect(const char *dir, const char *name, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	assert_int_equal(fs_read(AT_FDCWD, path, 1 << 20, &got), 0);
	assert_string_equal(got.buf, want);
}

static void values(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *check = NULL;

	make_metrics(*state, "cpu_metrics.json", cpu);
	make_metrics(*state, "perf_metrics.json", perf);
	make_metrics(*state, "nv_gpu_metrics.json", gpu);
	assert_int_equal(export(*state, "7.server", &why), 18);
	assert_string_equal(why.buf, "");
	expect(*state, "cpu_metrics.csv", cpu_csv);
	expect(*state, "perf_metrics.csv",
	       "Host,Timestamps,L2 derv_bandwidth,L3 derv_bandwidth,branch-misses,cycles,other,"
	       "L3cache other\nn1,100,1.5,2.5,,10,1,2\n");
	expect(*state, "nv_gpu_metrics.csv",
	       "Host,Timestamps,GPU SM clock [MHz],GPU power [mW]\ngpu-0.n1,100,1200,50000\n");
	/* a second job in the same place: files are its own, the HDF5 file has both */
	assert_int_equal(export(*state, "8", &why), 18);
	for (int job = 0; job < 2; job++) {
		free(check);
		check = xasprintf(
			"/usr/bin/python3 -W ignore '%s/tests/cli/export_check.py' perfmon "
			"'%s' %s >/dev/null",
			getenv("PL_SOURCE"), (char *)*state, job ? "8" : "7.server");
		assert_int_equal(system(check), 0);
	}
}

static void what_is_wrong(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *old = xasprintf("%s/cpu_metrics.csv", (char *)*state);

	/* nothing, hosts without anything, and damage: what is there stays */
	make_metrics(*state, "perf_metrics.json", "{\"host_names\": []}");
	assert_int_equal(export(*state, "7", &why), 0);
	assert_string_equal(why.buf, "");
	write_file(old, "old", 3);
	make_metrics(*state, "cpu_metrics.json", "{\"n1\": {\"time_stamps\": [1, 2");
	make_metrics(*state, "nv_gpu_metrics.json", gpu);
	assert_int_equal(export(*state, "7", &why), -EBADMSG);
	assert_contains(why.buf, "cpu_metrics.json");
	expect(*state, "cpu_metrics.csv", "old");
	expect(*state, "nv_gpu_metrics.csv",
	       "Host,Timestamps,GPU SM clock [MHz],GPU power [mW]\ngpu-0.n1,100,1200,50000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(values, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(what_is_wrong, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
