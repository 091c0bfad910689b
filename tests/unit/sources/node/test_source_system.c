/*
 * The source "system": times of CPUs that never fall, memory, load; kernels that are old or have
 * thousands of CPUs; texts that are cut off or garbage.
 */
#include "source.h"

static const char stat_1[] = "cpu  1000 100 500 8000 200 10 20 5 300 40\n"
			     "cpu0 600 50 300 4000 100 10 10 5 300 40\n"
			     "cpu3 400 50 200 4000 100 0 10 0 0 0\n"
			     "intr 73777505 41 9 0 0\n"
			     "ctxt 38014093\n"
			     "btime 1418183276\n"
			     "processes 26442\n"
			     "procs_running 2\n"
			     "procs_blocked 1\n"
			     "softirq 5057579 250191 1481983\n";

static void put_system(const char *stat)
{
	put("proc/stat", stat);
	put("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         4000000 kB\n"
			    "MemAvailable:   10000000 kB\nBuffers:          100000 kB\n"
			    "Cached:          6000000 kB\nSwapCached:            0 kB\n"
			    "Dirty:               768 kB\nWriteback:             4 kB\n"
			    "AnonPages:        266216 kB\nMapped:            44204 kB\n"
			    "Shmem:              1308 kB\nSlab:            1807264 kB\n"
			    "SReclaimable:    1738124 kB\nPageTables:         5288 kB\n"
			    "Committed_AS:     530844 kB\nAnonHugePages:     12288 kB\n"
			    "HugePages_Total:     512\nHugePages_Free:      100\n"
			    "SwapTotal:       2000000 kB\nSwapFree:        1500000 kB\n");
	put("proc/vmstat", "nr_free_pages 1000\nnuma_hit 77\nnuma_miss 3\npswpin 11\npswpout 22\n"
			   "pgfault 123456\npgmajfault 789\noom_kill 2\ncompact_stall 1\n");
	put("proc/loadavg", "0.02 12.40 105.05 1/497 11947\n");
}

static void system_values(void **state)
{
	(void)state;
	put_system(stat_1);
	begin("system", NULL);
	assert_int_equal(R.set.row_count, 3);
	check_node("cpu_user", 1000);
	check_node("cpu_guest_nice", 40);
	/* ticks of 10 ms are microseconds by the scale */
	assert_float_equal(unit_value(ENTITY_NODE, "node", "cpu_user"), 1e7, 1);
	check_node("cpus_online", 2);
	check_node("context_switches", 38014093);
	check_node("interrupts", 73777505);
	check_node("softirqs", 5057579);
	check_node("forks", 26442);
	check_node("procs_running", 2);
	check_node("procs_blocked", 1);
	check_node("load1", 2);
	check_node("load5", 1240);
	check_node("load15", 10505);
	check_node("tasks", 497);
	check_node("mem_total", 16000000);
	assert_float_equal(unit_value(ENTITY_NODE, "node", "mem_total"), 16000000.0 * 1024, 1);
	check_node("mem_used", 6000000);
	check_node("mem_shmem", 1308);
	check_node("hugepages_total", 512);
	check_node("swap_free", 1500000);
	check_node("swap_in_pages", 11);
	check_node("swap_out_pages", 22);
	check_node("page_faults", 123456);
	check_node("major_faults", 789);
	check_node("oom_kills", 2);
	check_node("numa_misses", 3);
	check_value(ENTITY_CPU, "cpu0", "cpu_iowait", 100);
	check_value(ENTITY_CPU, "cpu3", "cpu_system", 200);
	assert_false(has_value(ENTITY_CPU, "cpu3", "mem_total"));
	/* a part of the time needs two readings */
	assert_false(has_value(ENTITY_NODE, "node", "cpu_percent"));
	assert_int_equal(R.set.absence_count, 0);

	/* 80 busy (of it 30 guest, which is inside user), 100 idle and 20 I/O wait: 40 % */
	put("proc/stat",
	    "cpu  1060 100 520 8100 220 10 20 5 330 40\n"
	    "cpu0 650 50 300 4050 100 10 10 5 330 40\ncpu3 400 50 200 4000 100 0 10 0 0 0\n");
	assert_int_equal(take(), 0);
	check_node("cpu_percent", 40000);
	check_value(ENTITY_CPU, "cpu0", "cpu_percent", 50000);
	/* no tick has passed: nothing can be said */
	assert_false(has_value(ENTITY_CPU, "cpu3", "cpu_percent"));
	assert_float_equal(sample_value(&R.set, 0, metric_number("cpu_percent")), 40, 1e-9);
}

/* Idle times that go back a little are held; those that start again go on. CPUs come and go. */
static void system_times_never_fall(void **state)
{
	(void)state;
	put_system("cpu  10 0 0 5000 300 0 0 0 0 0\ncpu0 10 0 0 5000 300 0 0 0 0 0\n");
	begin("system", NULL);
	put("proc/stat", "cpu  20 0 0 5010 295 0 0 0 0 0\ncpu0 20 0 0 5010 295 0 0 0 0 0\n");
	assert_int_equal(take(), 0);
	check_node("cpu_iowait", 300);
	check_node("cpu_percent", 50000);
	put("proc/stat", "cpu  20 0 0 5010 302 0 0 0 0 0\ncpu0 20 0 0 5010 302 0 0 0 0 0\n");
	assert_int_equal(take(), 0);
	check_node("cpu_iowait", 302);
	/* cpu0 is offline, then back with its idle time from 0 */
	put("proc/stat", "cpu  20 0 0 5010 302 0 0 0 0 0\n");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 1);
	put("proc/stat", "cpu  20 0 0 5010 302 0 0 0 0 0\ncpu0 20 0 0 100 302 0 0 0 0 0\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_CPU, "cpu0", "cpu_idle", 5010);
	put("proc/stat", "cpu  20 0 0 5010 302 0 0 0 0 0\ncpu0 45 0 0 175 302 0 0 0 0 0\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_CPU, "cpu0", "cpu_idle", 5085);
	check_value(ENTITY_CPU, "cpu0", "cpu_percent", 25000);
}

static void system_of_an_old_kernel(void **state)
{
	(void)state;
	put("proc/stat", "cpu  10 0 5 100\ncpu0 10 0 5 100\nctxt 5\n");
	put("proc/meminfo", "MemTotal: 100 kB\nMemFree: 50 kB\n");
	begin("system", NULL);
	check_node("cpu_idle", 100);
	check_node("mem_free", 50);
	assert_false(has_value(ENTITY_NODE, "node", "mem_used"));
	assert_contains(absence("mem_available"), "has no MemAvailable");
	assert_contains(absence("mem_used"), "needs MemTotal and MemAvailable");
	assert_contains(absence("cpu_steal"), "no such time");
	assert_contains(absence("page_faults"), "/proc/vmstat");
	assert_contains(absence("load1"), "/proc/loadavg");
	assert_string_equal(absence("cpu_percent"), "");
	put("proc/stat", "cpu  20 0 5 110\n");
	assert_int_equal(take(), 0);
	check_node("cpu_percent", 50000);
}

/* Thousands of CPUs, numbered with gaps, and the same work at each reading. */
static void system_of_many_cpus(void **state)
{
	struct strbuf text = STRBUF_INIT;

	(void)state;
	for (int reading = 0; reading < 2; reading++) {
		strbuf_reset(&text);
		strbuf_addf(&text, "cpu  %d 0 0 1000000 0 0 0 0 0 0\n", reading * 4000);
		for (int i = 0; i < 4096; i++)
			strbuf_addf(&text, "cpu%d %d 0 0 %d 0 0 0 0 0 0\n", i * 2, i + reading * 30,
				    1000 + reading * 10);
		put("proc/stat", text.buf);
		if (!reading) {
			put("proc/meminfo", "MemTotal: 1 kB\n");
			assert_int_equal(start("system", NULL), 0);
		}
		assert_int_equal(take(), 0);
	}
	strbuf_release(&text);
	assert_int_equal(R.set.row_count, 4097);
	assert_int_equal(R.set.entity_count, 4097);
	check_node("cpus_online", 4096);
	check_value(ENTITY_CPU, "cpu8190", "cpu_user", 4095 + 30);
	check_value(ENTITY_CPU, "cpu8190", "cpu_percent", 75000);
}

static void system_of_garbage(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"cpu",
		"cpu \n",
		"cpu  1 2\ncpu0\ncpu0 1 2 3 4\ncpu0 1 2 3 5\ncpux 1 2 3 4\ncpu99999999999999999999 1 2 3 4\n",
		"cpu  9223372036854775799 9223372036854775799 9223372036854775799 9223372036854775799 "
		"9223372036854775799 9223372036854775799 9223372036854775799 9223372036854775799\n",
		"cpu  0 0 0 0 0 0 0 0\n",
		"cpu  -1 -2 -3 -4\n",
		"cpu  1e9 x y z\nctxt \nctxt x\nintr 99999999999999999999999\n",
	};

	(void)state;
	put_system(stat_1);
	assert_int_equal(start("system", NULL), 0);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			put("proc/stat", texts[i]);
			assert_int_equal(take(), 0);
			for (size_t k = 0; k < R.set.row_count * R.set.metric_count; k++)
				if (R.set.rows[k / R.set.metric_count].present >>
					    (k % R.set.metric_count) &
				    1)
					assert_true(R.set.values[k] >= 0);
			if (has_value(ENTITY_NODE, "node", "cpu_percent"))
				assert_in_range(raw_value(ENTITY_NODE, "node", "cpu_percent"), 0,
						100000);
		}
	/* a cut line is left out, those before it are not */
	put("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         40");
	assert_int_equal(take(), 0);
	check_node("mem_total", 16000000);
	assert_false(has_value(ENTITY_NODE, "node", "mem_free"));
}

static void system_absent(void **state)
{
	(void)state;
	assert_int_equal(start("system", NULL), -ENOENT);
	assert_null(R.state);
	assert_contains(R.why.buf, "/proc/stat");
	assert_int_equal(probe("system", NULL), -ENOENT);
	put_system(stat_1);
	assert_int_equal(probe("system", NULL), 0);
	assert_string_equal(R.report.detail.buf, "2 CPUs, memory 15.3 GiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(system_values),           with_source(system_times_never_fall),
		with_source(system_of_an_old_kernel), with_source(system_of_many_cpus),
		with_source(system_of_garbage),       with_source(system_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
