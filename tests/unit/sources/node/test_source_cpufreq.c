/*
 * The source "cpufreq": frequencies in two ways, and throttling that is counted once.
 */
#include "source.h"

#include "sources/node/cpufreq.h"

#define CPUS "sys/devices/system/cpu"

static void frequencies_in_cpuinfo(void **state)
{
	static const char text[] =
		"processor\t: 0\nmodel name\t: cpu MHz : 5\ncpu MHz\t\t: 2596.142\n\n"
		"processor\t: 3\ncpu MHz\t\t: 800\n"
		"processor\t: 4\ncpu MHz\t\t: 0.000\n"
		"processor\t: 99999999\ncpu MHz\t\t: 1000.5\n"
		"processor\t: x\ncpu MHz\t\t: 1000.5\n"
		"processor\t: 5\ncpu MHz\t\t: 99999999999999999.1\n"
		"cpu MHz\t\t: 1.23456";
	const char *p = text, *end = text + sizeof(text) - 1;
	int64_t cpu = -1;
	uint64_t khz;

	(void)state;
	assert_true(cpufreq_next(&p, end, &cpu, &khz));
	assert_int_equal(cpu, 0);
	assert_int_equal(khz, 2596142);
	assert_true(cpufreq_next(&p, end, &cpu, &khz));
	assert_int_equal(cpu, 3);
	assert_int_equal(khz, 800000);
	assert_true(cpufreq_next(&p, end, &cpu, &khz));
	assert_int_equal(cpu, 5);
	assert_int_equal(khz, 1234);
	assert_false(cpufreq_next(&p, end, &cpu, &khz));
}

static void put_cpu(int n, int package, int core, const char *khz, const char *throttles,
		    const char *package_throttles)
{
	char number[16];

	snprintf(number, sizeof(number), "%d\n", package);
	putf(CPUS "/cpu%d/topology/physical_package_id", number, n);
	snprintf(number, sizeof(number), "%d\n", core);
	putf(CPUS "/cpu%d/topology/core_id", number, n);
	if (khz)
		putf(CPUS "/cpu%d/cpufreq/scaling_cur_freq", khz, n);
	if (!throttles)
		return;
	putf(CPUS "/cpu%d/thermal_throttle/core_throttle_count", throttles, n);
	putf(CPUS "/cpu%d/thermal_throttle/package_throttle_count", package_throttles, n);
}

static void frequencies_and_throttling(void **state)
{
	(void)state;
	check_probe("cpufreq", NULL, -ENOENT, "no frequencies");
	put_cpu(0, 0, 0, "1000000\n", "9\n", "30\n");
	put_cpu(1, 0, 1, "2000000\n", "1\n", "30\n");
	put_cpu(2, 0, 0, "3000000\n", "7\n", "30\n"); /* shares a core with cpu0 */
	put_cpu(3, 1, 0, "4000001\n", "100\n", "6\n");
	put_cpu(4, 1, 1, NULL, NULL, NULL); /* offline */
	put(CPUS "/cpufreq/boost", "1\n");
	put(CPUS "/cpuidle/current_driver", "none\n");
	put_files(CPUS "/cpu0/cpufreq", {"scaling_driver", "intel_pstate\n"},
		  {"scaling_governor", "performance\n"}, {"cpuinfo_max_freq", "3700000\n"},
		  {"scaling_min_freq", "800000\n"});
	check_probe("cpufreq", NULL, 0, "by scaling_cur_freq");
	begin("cpufreq", NULL);
	check_value(ENTITY_CPU, "cpu0", "frequency", 1000000);
	check_value(ENTITY_CPU, "cpu3", "frequency", 4000001);
	check_value(ENTITY_CPU, "cpu2", "core_throttles", 7);
	assert_false(has_row(ENTITY_CPU, "cpu4"));
	check_value(ENTITY_PACKAGE, "package-0", "package_throttles", 30);
	check_value(ENTITY_PACKAGE, "package-1", "package_throttles", 6);
	check_values(ENTITY_NODE, "node", {"frequency", 2500000}, {"frequency_lowest", 1000000},
		     {"frequency_highest", 4000001}, {"core_throttles", 9 + 1 + 100},
		     {"package_throttles", 36});
	check_metadata(ENTITY_NODE, "node", {"driver", "intel_pstate"}, {"governor", "performance"},
		       {"max", "3700000000"}, {"min", "800000000"});
	check_fact(ENTITY_CPU, "cpu3", "package", "1");
	assert_true(sample_value(&R.set, 0, 0) == 1e9);

	put(CPUS "/cpu1/cpufreq/scaling_cur_freq", "<unknown>\n");
	put(CPUS "/cpu3/cpufreq/scaling_cur_freq", "18446744073709551615\n");
	assert_int_equal(take(), 0);
	check_none(ENTITY_CPU, "cpu1", "frequency");
	check_none(ENTITY_CPU, "cpu3", "frequency");
	check_node("frequency", 2000000);
}

static void both_ways_to_a_frequency(void **state)
{
	(void)state;
	put("proc/cpuinfo",
	    "processor : 0\ncpu MHz : 1500.000\n\nprocessor : 1\ncpu MHz : 2500.250\n");
	/* a tree without /sys */
	begin("cpufreq", NULL);
	check_value(ENTITY_CPU, "cpu1", "frequency", 2500250);
	check_node("frequency", 2000125);
	check_fact(ENTITY_NODE, "node", "by", "/proc/cpuinfo");
	assert_contains(absence("core_throttles"), "does not count");
	put_cpu(0, 0, 0, "1000\n", NULL, NULL);
	put_cpu(1, 0, 1, "2000\n", NULL, NULL);
	begin("cpufreq", "cpuinfo");
	check_value(ENTITY_CPU, "cpu0", "frequency", 1500000);
	begin("cpufreq", "files");
	check_value(ENTITY_CPU, "cpu0", "frequency", 1000);
	drop("proc/cpuinfo");
	drop("sys");
	assert_int_equal(start("cpufreq", "files"), -ENOENT);
}

/* CPUs that are plugged in or come online later. */
static void cpus_that_come_later(void **state)
{
	(void)state;
	put_cpu(0, 0, 0, "1000000\n", "9\n", "30\n");
	put_cpu(1, 0, 1, NULL, NULL, NULL); /* offline */
	begin("cpufreq", "files");
	assert_false(has_row(ENTITY_CPU, "cpu1"));
	put_cpu(1, 0, 1, "3000000\n", "4\n", "30\n");
	put_cpu(2, 0, 0, "2000000\n", "8\n", "30\n"); /* shares a core with cpu0 */
	put_cpu(3, 1, 0, "2000000\n", "100\n", "6\n");
	assert_int_equal(take_later(31), 0);
	check_value(ENTITY_CPU, "cpu2", "frequency", 2000000);
	check_value(ENTITY_CPU, "cpu1", "core_throttles", 4);
	check_values(ENTITY_NODE, "node", {"frequency", 2000000}, {"frequency_highest", 3000000},
		     {"core_throttles", 9 + 4 + 100}, {"package_throttles", 36});
	check_value(ENTITY_PACKAGE, "package-1", "package_throttles", 6);
	check_fact(ENTITY_CPU, "cpu3", "package", "1");
	/* of cpuinfo alone */
	drop("sys");
	put("proc/cpuinfo", "processor : 0\ncpu MHz : 1500.000\n");
	begin("cpufreq", NULL);
	put("proc/cpuinfo", "processor : 0\ncpu MHz : 1500.000\n\nprocessor : 1\ncpu MHz : 2500\n");
	assert_int_equal(take_later(31), 0);
	check_value(ENTITY_CPU, "cpu1", "frequency", 2500000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(cpus_that_come_later),
		with_source(frequencies_in_cpuinfo),
		with_source(frequencies_and_throttling),
		with_source(both_ways_to_a_frequency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
