/*
 * The source "nvidia" on the answers of a recorded H200 and on invented ones: every value, GPUs
 * that are lost, rates of PCI Express.
 */
#include "source_nvidia.h"

/* ---- a recorded machine ---------------------------------------------------------------------- */

/* The n-th number behind "KEY = 0" in a fixture. */
static int64_t recorded(const char *name, const char *key, int n)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *start = xasprintf("\n%s = 0 ", key);

	read_fixture(name, &text);
	const char *p = strstr(text.buf, start);
	if (!p)
		fail_msg("'%s' is not in %s", key, name);
	p += strlen(start);
	for (; n > 0; n--)
		p += strcspn(p, " ") + 1;
	return (int64_t)strtoull(p, NULL, 10);
}

static const struct {
	const char *metric, *key;
	int at;
} of_h200[] = {
	{"clock_graphics", "nvmlDeviceGetClockInfo gpu0 0", 0},
	{"clock_sm", "nvmlDeviceGetClockInfo gpu0 1", 0},
	{"clock_memory", "nvmlDeviceGetClockInfo gpu0 2", 0},
	{"clock_video", "nvmlDeviceGetClockInfo gpu0 3", 0},
	{"utilization_gpu", "nvmlDeviceGetUtilizationRates gpu0", 0},
	{"utilization_memory", "nvmlDeviceGetUtilizationRates gpu0", 1},
	{"encoder_util", "nvmlDeviceGetEncoderUtilization gpu0", 0},
	{"decoder_util", "nvmlDeviceGetDecoderUtilization gpu0", 0},
	{"memory_total", "nvmlDeviceGetMemoryInfo_v2 gpu0", 0},
	{"memory_reserved", "nvmlDeviceGetMemoryInfo_v2 gpu0", 1},
	{"memory_free", "nvmlDeviceGetMemoryInfo_v2 gpu0", 2},
	{"memory_used", "nvmlDeviceGetMemoryInfo_v2 gpu0", 3},
	{"bar1_used", "nvmlDeviceGetBAR1MemoryInfo gpu0", 2},
	{"processes", "nvmlDeviceGetComputeRunningProcesses_v3 gpu0", 0},
	{"power", "nvmlDeviceGetPowerUsage gpu0", 0},
	{"energy", "nvmlDeviceGetTotalEnergyConsumption gpu0", 0},
	{"temperature", "nvmlDeviceGetTemperature gpu0 0", 0},
	{"performance_state", "nvmlDeviceGetPerformanceState gpu0", 0},
	{"throttle_reasons", "nvmlDeviceGetCurrentClocksEventReasons gpu0", 0},
	{"violation_power", "nvmlDeviceGetViolationStatus gpu0 0", 1},
	{"violation_thermal", "nvmlDeviceGetViolationStatus gpu0 1", 1},
	{"violation_sync_boost", "nvmlDeviceGetViolationStatus gpu0 2", 1},
	{"violation_board_limit", "nvmlDeviceGetViolationStatus gpu0 3", 1},
	{"violation_low_utilization", "nvmlDeviceGetViolationStatus gpu0 4", 1},
	{"violation_reliability", "nvmlDeviceGetViolationStatus gpu0 5", 1},
	{"violation_app_clocks", "nvmlDeviceGetViolationStatus gpu0 10", 1},
	{"violation_base_clocks", "nvmlDeviceGetViolationStatus gpu0 11", 1},
	{"pcie_tx", "nvmlDeviceGetPcieThroughput gpu0 0", 0},
	{"pcie_rx", "nvmlDeviceGetPcieThroughput gpu0 1", 0},
	{"ecc_single", "nvmlDeviceGetTotalEccErrors gpu0 0 0", 0},
	{"ecc_double", "nvmlDeviceGetTotalEccErrors gpu0 1 0", 0},
	{"ecc_single_aggregate", "nvmlDeviceGetTotalEccErrors gpu0 0 1", 0},
	{"ecc_double_aggregate", "nvmlDeviceGetTotalEccErrors gpu0 1 1", 0},
	{"temperature_memory", "nvmlDeviceGetFieldValues gpu0 82 0", 2},
	{"pcie_replays", "nvmlDeviceGetFieldValues gpu0 94 0", 2},
	{"rows_remapped_single", "nvmlDeviceGetFieldValues gpu0 142 0", 2},
	{"rows_remapped_double", "nvmlDeviceGetFieldValues gpu0 143 0", 2},
	{"power_instant", "nvmlDeviceGetFieldValues gpu0 186 0", 2},
};

static void an_h200_is_read_as_recorded(void **state)
{
	struct bench *b = *state;

	for (int idle = 0; idle < 2; idle++) {
		const char *name = idle ? "h200-idle" : "h200";

		open_and_read(b, name, "\n");
		assert_int_equal(b->set.row_count, 1);
		for (size_t i = 0; i < ARRAY_SIZE(of_h200); i++)
			assert_value(b, "gpu-0", of_h200[i].metric,
				     recorded(name, of_h200[i].key, of_h200[i].at));
		/* a GPU that a gigabyte is copied on, and one that sleeps */
		if (idle)
			assert_value(b, "gpu-0", "utilization_gpu", 0);
		else
			assert_true(value(b, "gpu-0", "utilization_gpu") > 50);
		assert_true(value(b, "gpu-0", "memory_used") < (idle ? 1 << 20 : INT64_C(2) << 30));
		assert_value(b, "gpu-0", "memory_job", value(b, "gpu-0", "memory_processes"));
		assert_value(b, "gpu-0", "processes_job", idle ? 0 : 1);
		assert_value(b, "gpu-0", "throttled", 0);
	}
}

static void an_h200_says_what_it_is(void **state)
{
	static const char *const metadata[][2] = {
		{"name", "NVIDIA H200"},          {"architecture", "Hopper"},
		{"compute_capability", "9.0"},    {"power_limit", "700 W"},
		{"pcie_generation", "5"},         {"pcie_width", "16"},
		{"pcie_width_max", "16"},         {"clock_sm_max", "1980 MHz"},
		{"clock_memory_max", "3201 MHz"}, {"mig", "disabled"},
		{"memory", "150754820096"},       {"state", ""},
	};
	struct bench *b = *state;

	open_and_read(b, "h200", "\n");
	for (size_t i = 0; i < ARRAY_SIZE(metadata); i++)
		assert_string_equal(fact(b, "gpu-0", metadata[i][0]), metadata[i][1]);
	assert_int_equal(strncmp(fact(b, "gpu-0", "uuid"), "GPU-", 4), 0);
	assert_true(*fact(b, "gpu-0", "pci") && *fact(b, "gpu-0", "driver") &&
		    *fact(b, "gpu-0", "cuda") && *fact(b, "gpu-0", "vbios") &&
		    *fact(b, "gpu-0", "serial"));
}

static void what_an_h200_has_not_is_absent_with_the_reason(void **state)
{
	static const char *const lacks[] = {"fan_speed", "nvlink_crc_errors",
					    "pages_retired_single", "pages_retired_double"};
	struct bench *b = *state;

	open_and_read(b, "h200", "\n");
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++) {
		assert_value(b, "gpu-0", lacks[i], NONE);
		assert_string_equal(reason(b, lacks[i]), "Not Supported");
	}
	assert_string_equal(reason(b, "power"), "");
}

/* ---- what was invented ----------------------------------------------------------------------- */

static void every_metric_has_its_own_value(void **state)
{
	static const struct {
		const char *metric;
		int64_t want;
	} all[] = {
		{"clock_graphics", 1001},
		{"clock_sm", 1002},
		{"clock_memory", 1003},
		{"clock_video", 1004},
		{"utilization_gpu", 55},
		{"utilization_memory", 44},
		{"encoder_util", 21},
		{"decoder_util", 22},
		{"memory_used", 300},
		{"memory_free", 600},
		{"memory_total", 1000},
		{"memory_reserved", 100},
		{"bar1_used", 56},
		{"processes", 0},
		{"memory_processes", 0},
		{"processes_job", 0},
		{"memory_job", 0},
		{"power", 123456},
		{"power_instant", 186000},
		{"energy", 987654321},
		{"temperature", 61},
		{"temperature_memory", 82},
		{"fan_speed", 33},
		{"performance_state", 2},
		{"throttle_reasons", 36},
		{"throttled", 1},
		{"violation_power", 100},
		{"violation_thermal", 101},
		{"violation_sync_boost", 102},
		{"violation_board_limit", 103},
		{"violation_low_utilization", 104},
		{"violation_reliability", 105},
		{"violation_app_clocks", 110},
		{"violation_base_clocks", 111},
		{"pcie_tx", 70},
		{"pcie_rx", 80},
		{"pcie_tx_bytes", 5000000},
		{"pcie_rx_bytes", 6000000},
		{"pcie_replays", 94},
		{"nvlink_tx", 138},
		{"nvlink_rx", 139},
		{"nvlink_crc_errors", 38},
		{"nvlink_replay_errors", 52},
		{"nvlink_recovery_errors", 59},
		{"ecc_single", 11},
		{"ecc_double", 12},
		{"ecc_single_aggregate", 13},
		{"ecc_double_aggregate", 14},
		{"pages_retired_single", 29},
		{"pages_retired_double", 30},
		{"rows_remapped_single", 142},
		{"rows_remapped_double", 143},
	};
	struct bench *b = *state;

	open_and_read(b, "two", "");
	assert_int_equal(b->set.metric_count, ARRAY_SIZE(all));
	assert_int_equal(b->set.row_count, 2);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_value(b, "gpu-0", all[i].metric, all[i].want);
		assert_string_equal(b->set.metrics[i].name, all[i].metric);
	}
}

static void what_one_gpu_lacks_is_told_with_its_name(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two", "");
	assert_value(b, "gpu-1", "power", 65432);
	assert_value(b, "gpu-1", "memory_used", 100);
	assert_value(b, "gpu-1", "energy", NONE);
	assert_string_equal(reason(b, "energy"), "not on gpu-1: Not Supported");
	/* the number 32 stands for "unknown", which is no state */
	assert_value(b, "gpu-1", "performance_state", NONE);
	assert_string_equal(reason(b, "performance_state"), "");
	assert_string_equal(fact(b, "gpu-0", "architecture"), "Ampere");
	assert_string_equal(fact(b, "gpu-1", "architecture"), "");
	assert_string_equal(fact(b, "gpu-0", "power_limit"), "300 W");
	assert_string_equal(fact(b, "gpu-0", "cuda"), "12.4");
}

static void reasons_are_told_once_and_not_asked_again(void **state)
{
	struct bench *b = *state;

	setenv("FAKE_NVML_FAIL", "nvmlDeviceGetTemperature=3 nvmlDeviceGetBAR1MemoryInfo=4", 1);
	open_and_read(b, "two", "");
	size_t absences = b->set.absence_count;
	assert_string_equal(reason(b, "temperature"), "Not Supported");
	assert_string_equal(reason(b, "bar1_used"), "Insufficient Permissions");
	unsetenv("FAKE_NVML_FAIL");
	read_again(b);
	assert_value(b, "gpu-0", "temperature", NONE);
	assert_value(b, "gpu-0", "power", 123456);
	assert_int_equal(b->set.absence_count, absences);
}

static void a_passing_error_leaves_out_one_value_of_one_reading(void **state)
{
	static const int codes[] = {999, 10, 1, 16, 20, 21, 27};
	struct bench *b = *state;

	open_and_read(b, "two", "");
	size_t absences = b->set.absence_count;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		_cleanup_free_ char *fail = xasprintf("nvmlDeviceGetPowerUsage=%d", codes[i]);

		setenv("FAKE_NVML_FAIL", fail, 1);
		read_again(b);
		assert_value(b, "gpu-0", "power", NONE);
		assert_value(b, "gpu-0", "energy", 987654321);
		assert_value(b, "gpu-0", "pcie_replays", 94);
		unsetenv("FAKE_NVML_FAIL");
		read_again(b);
		assert_value(b, "gpu-0", "power", 123456);
	}
	assert_int_equal(b->set.absence_count, absences);
	assert_string_equal(fact(b, "gpu-0", "state"), "");
}

static void a_lost_gpu_leaves_the_other_whole(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two", "");
	setenv("FAKE_NVML_FAIL", "gpu1=15", 1);
	read_again(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.rows[1].present, 0);
	assert_string_equal(fact(b, "gpu-1", "state"), "GPU is lost");
	assert_value(b, "gpu-0", "power", 123456);
	assert_string_equal(fact(b, "gpu-0", "state"), "");
	unsetenv("FAKE_NVML_FAIL");
	read_again(b);
	assert_value(b, "gpu-1", "power", 65432);
	assert_string_equal(fact(b, "gpu-1", "state"), "");
}

static void a_gpu_lost_in_the_middle_keeps_what_was_read(void **state)
{
	struct bench *b = *state;

	setenv("FAKE_NVML_FAIL", "nvmlDeviceGetClockInfo=15@3", 1);
	open_and_read(b, "two", "");
	assert_value(b, "gpu-0", "utilization_gpu", 55);
	assert_value(b, "gpu-0", "clock_graphics", 1001);
	assert_value(b, "gpu-0", "clock_sm", 1002);
	assert_value(b, "gpu-0", "clock_memory", NONE);
	assert_value(b, "gpu-0", "power", NONE);
	assert_string_equal(fact(b, "gpu-0", "state"), "GPU is lost");
}

static void all_gpus_lost_is_an_error_of_the_reading(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two", "");
	setenv("FAKE_NVML_FAIL", "gpu0=15 gpu1=15", 1);
	sample_begin(&b->set);
	assert_int_equal(b->source->read(b->state, &b->set), -EIO);
	unsetenv("FAKE_NVML_FAIL");
	read_again(b);
	assert_value(b, "gpu-0", "power", 123456);
}

static void a_gpu_that_cannot_be_had_is_tried_again(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two", "nvmlDeviceGetHandleByIndex_v2 1 = 15\n");
	assert_int_equal(b->set.row_count, 2);
	assert_value(b, "gpu-1", "power", NONE);
	assert_string_equal(fact(b, "gpu-1", "state"), "GPU is lost");
	assert_string_equal(fact(b, "gpu-1", "name"), "");
	use(b, "two", "");
	read_again(b);
	assert_value(b, "gpu-1", "power", 65432);
	assert_string_equal(fact(b, "gpu-1", "name"), "Test GPU B");
	assert_string_equal(fact(b, "gpu-1", "state"), "");
}

static void a_gpu_that_is_refused_is_tried_again(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two", "nvmlDeviceGetHandleByIndex_v2 1 = 4\n");
	assert_value(b, "gpu-0", "power", 123456);
	assert_value(b, "gpu-1", "power", NONE);
	assert_string_equal(fact(b, "gpu-1", "state"), "Insufficient Permissions");
	use(b, "two", "");
	read_again(b);
	assert_value(b, "gpu-1", "power", 65432);
	assert_string_equal(fact(b, "gpu-1", "state"), "");
}

/* Values that we may not see come once we may; those that there are not are not asked for. */
static void a_value_that_is_refused_is_tried_again(void **state)
{
	struct bench *b = *state;

	b->step_ns = 25000000000;
	open_and_read(b, "two",
		      "nvmlDeviceGetPowerUsage gpu1 = 4\nnvmlDeviceGetFanSpeed gpu1 = 3\n"
		      "nvmlDeviceGetTemperature gpu1 0 = 4\n");
	assert_value(b, "gpu-1", "power", NONE);
	assert_string_equal(reason(b, "power"), "not on gpu-1: Insufficient Permissions");
	use(b, "two", "nvmlDeviceGetFanSpeed gpu1 = 0 30\nnvmlDeviceGetTemperature gpu1 0 = 4\n");
	read_again(b); /* 25 s: not yet */
	assert_value(b, "gpu-1", "power", NONE);
	read_again(b);
	read_again(b);
	assert_value(b, "gpu-1", "power", 65432);
	assert_value(b, "gpu-1", "temperature", NONE);
	assert_value(b, "gpu-1", "fan_speed", NONE);
	assert_value(b, "gpu-0", "power", 123456);
}

/* Bits that hold clocks down against the wish of the job, and those that do not. */
static void throttled_is_not_idle(void **state)
{
	static const struct {
		int mask, want;
	} cases[] = {{0, 0},  {1, 0},  {2, 0},  {256, 0}, {4, 1},           {8, 1},
		     {16, 1}, {32, 1}, {64, 1}, {128, 1}, {1 | 2 | 256, 0}, {1 | 64, 1}};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *line = xasprintf(
			"nvmlDeviceGetCurrentClocksEventReasons gpu0 = 0 %d\n", cases[i].mask);

		open_and_read(b, "two", line);
		assert_value(b, "gpu-0", "throttle_reasons", cases[i].mask);
		assert_value(b, "gpu-0", "throttled", cases[i].want);
	}
}

/* ---- PCI Express ----------------------------------------------------------------------------- */

#define STAMP "1700000000"

static void the_second_rate_is_that_of_the_counters(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two", "");
	assert_value(b, "gpu-0", "pcie_tx", 70);
	/* half a second later: 3 MB sent, nothing received; the blocking call is not needed */
	use(b, "two",
	    "nvmlDeviceGetFieldValues gpu0 197 0 = 0 0 3 8000000 " STAMP "500000\n"
	    "nvmlDeviceGetFieldValues gpu0 198 0 = 0 0 3 6000000 " STAMP "500000\n"
	    "nvmlDeviceGetPcieThroughput gpu0 0 = 0 99999\n");
	read_again(b);
	assert_value(b, "gpu-0", "pcie_tx", 6000);
	assert_value(b, "gpu-0", "pcie_rx", 0);
	assert_value(b, "gpu-0", "pcie_tx_bytes", 8000000);
	/* no time has passed: no rate can be made of it, the library is asked */
	read_again(b);
	assert_value(b, "gpu-0", "pcie_tx", 99999);
}

static void a_counter_of_32_bits_is_no_counter(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two",
		      "nvmlDeviceGetFieldValues gpu0 197 0 = 0 0 1 5000000 " STAMP "000000\n");
	assert_value(b, "gpu-0", "pcie_tx_bytes", NONE);
	assert_contains(reason(b, "pcie_tx_bytes"), "32 bits");
	assert_value(b, "gpu-0", "pcie_rx_bytes", 6000000);
	assert_value(b, "gpu-0", "pcie_tx", 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_bench(an_h200_is_read_as_recorded),
		with_bench(an_h200_says_what_it_is),
		with_bench(what_an_h200_has_not_is_absent_with_the_reason),
		with_bench(every_metric_has_its_own_value),
		with_bench(what_one_gpu_lacks_is_told_with_its_name),
		with_bench(reasons_are_told_once_and_not_asked_again),
		with_bench(a_passing_error_leaves_out_one_value_of_one_reading),
		with_bench(a_lost_gpu_leaves_the_other_whole),
		with_bench(a_gpu_lost_in_the_middle_keeps_what_was_read),
		with_bench(all_gpus_lost_is_an_error_of_the_reading),
		with_bench(a_gpu_that_cannot_be_had_is_tried_again),
		with_bench(a_gpu_that_is_refused_is_tried_again),
		with_bench(a_value_that_is_refused_is_tried_again),
		with_bench(throttled_is_not_idle),
		with_bench(the_second_rate_is_that_of_the_counters),
		with_bench(a_counter_of_32_bits_is_no_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
