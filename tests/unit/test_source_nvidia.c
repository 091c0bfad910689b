/*
 * The source "nvidia" on the answers of a recorded H200 and on invented ones, through the stand-in
 * for NVIDIA's library (tests/fixtures/nvml/fake_nvml.c), which is also told to fail.
 */
#include "unit.h"

#include <errno.h>

#include "core/sample.h"
#include "sources/source.h"

#define NONE INT64_MIN

/* A source that is open, and its readings. */
struct bench {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	struct strbuf why;
	void *state;
	char *library, *scratch;
	unsigned files;
};

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set: run this through ctest", name);
	return value;
}

static int setup(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	unsetenv("PLIMSOLL_NVML");
	unsetenv("FAKE_NVML_FAIL");
	unsetenv("FAKE_NVML_STRIDE");
	b->source = source_find("nvidia");
	b->ctx.root = "";
	b->why = (struct strbuf)STRBUF_INIT;
	b->library = xasprintf("%s/tests/libnvidia-ml-fake.so", environment("PL_BUILD"));
	b->scratch = scratch_make();
	b->ctx.option = b->library;
	*state = b;
	return 0;
}

static void close_bench(struct bench *b)
{
	if (b->state)
		b->source->close(b->state);
	b->state = NULL;
	sample_release(&b->set);
	strbuf_reset(&b->why);
}

static int teardown(void **state)
{
	struct bench *b = *state;

	close_bench(b);
	unsetenv("FAKE_NVML_FAIL");
	unsetenv("FAKE_NVML_STRIDE");
	strbuf_release(&b->why);
	free(b->library);
	scratch_remove(b->scratch);
	free(b);
	return 0;
}

static char *fixture(const char *name)
{
	return xasprintf("%s/tests/fixtures/nvml/%s.answers", environment("PL_SOURCE"), name);
}

static void read_fixture(const char *name, struct strbuf *out)
{
	_cleanup_free_ char *path = fixture(name);
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		strbuf_addstr(out, line);
}

/* Answers of a fixture, with these lines before it: the first that fits is taken. */
static void use(struct bench *b, const char *name, const char *lines)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/%u.answers", b->scratch, b->files++);

	strbuf_addstr(&text, lines);
	read_fixture(name, &text);
	write_file(path, text.buf, text.len);
	setenv("FAKE_NVML_ANSWERS", path, 1);
}

static int try_open(struct bench *b)
{
	close_bench(b);
	sample_init(&b->set, b->source->metrics, b->source->metric_count);
	return b->source->open(&b->ctx, &b->set, &b->state, &b->why);
}

static void read_again(struct bench *b)
{
	sample_begin(&b->set);
	assert_int_equal(b->source->read(b->state, &b->set), 0);
}

static void open_and_read(struct bench *b, const char *name, const char *lines)
{
	use(b, name, lines);
	if (try_open(b) != 0)
		fail_msg("not open: %s", b->why.buf);
	read_again(b);
}

static unsigned metric_of(const struct bench *b, const char *name)
{
	for (unsigned i = 0; i < b->set.metric_count; i++)
		if (!strcmp(b->set.metrics[i].name, name))
			return i;
	fail_msg("no metric '%s'", name);
	return 0;
}

/* Raw value of the row of this name; NONE when it has none. */
static int64_t value(const struct bench *b, const char *row, const char *metric)
{
	unsigned m = metric_of(b, metric);

	for (size_t i = 0; i < b->set.row_count; i++)
		if (!strcmp(b->set.entities[b->set.rows[i].entity].name, row))
			return b->set.rows[i].present >> m & 1
				       ? b->set.values[i * b->set.metric_count + m]
				       : NONE;
	fail_msg("no row '%s'", row);
	return 0;
}

#define assert_value(b, row, metric, want)                                                    \
	do {                                                                                  \
		int64_t got_ = value(b, row, metric), want_ = (int64_t)(want);                \
		if (got_ != want_)                                                            \
			fail_msg("%s of %s is %lld, want %lld", metric, row, (long long)got_, \
				 (long long)want_);                                           \
	} while (0)

static const char *reason(const struct bench *b, const char *metric)
{
	unsigned m = metric_of(b, metric);

	for (size_t i = 0; i < b->set.absence_count; i++)
		if (b->set.absences[i].metric == m)
			return b->set.absences[i].reason;
	return "";
}

/* A fact, in memory that the next call uses again; "" when there is none. */
static const char *fact(const struct bench *b, const char *row, const char *key)
{
	static char out[512];
	const char *text;
	size_t n;

	*out = 0;
	for (size_t i = 0; i < b->set.entity_count; i++)
		if (b->set.entities[i].kind == ENTITY_GPU &&
		    !strcmp(b->set.entities[i].name, row) &&
		    entity_fact(&b->set.entities[i], key, &text, &n))
			snprintf(out, sizeof(out), "%.*s", (int)n, text);
	return out;
}

static unsigned row_total(const struct bench *b, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->set.row_count; i++)
		n += !strcmp(b->set.entities[b->set.rows[i].entity].name, name);
	return n;
}

/* ---- a recorded machine ------------------------------------------------------------------------
 */

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
	static const char *const facts[][2] = {
		{"name", "NVIDIA H200"},          {"architecture", "Hopper"},
		{"compute_capability", "9.0"},    {"power_limit", "700 W"},
		{"pcie_generation", "5"},         {"pcie_width", "16"},
		{"pcie_width_max", "16"},         {"clock_sm_max", "1980 MHz"},
		{"clock_memory_max", "3201 MHz"}, {"mig", "disabled"},
		{"memory", "150754820096"},       {"state", ""},
	};
	struct bench *b = *state;

	open_and_read(b, "h200", "\n");
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		assert_string_equal(fact(b, "gpu-0", facts[i][0]), facts[i][1]);
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

/* ---- what was invented -------------------------------------------------------------------------
 */

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

/* ---- PCI Express -------------------------------------------------------------------------------
 */

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

/* ---- processes ---------------------------------------------------------------------------------
 */

/* A watch that knows this process alone. */
static void watch_self(struct bench *b, struct watch *w, struct watched *list)
{
	*list = (struct watched){.pid = (int)getpid(), .rank = -1};
	*w = (struct watch){.list = list, .count = 1};
	b->ctx.watch = w;
}

static void processes_are_told_apart_by_the_job(void **state)
{
	_cleanup_free_ char *line =
		xasprintf("nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 2 "
			  "%d 1000 4294967295 4294967295 1 500 4294967295 4294967295\n",
			  (int)getpid());
	_cleanup_free_ char *self = xasprintf("%d", (int)getpid());
	_cleanup_free_ char *both = xasprintf("%d 1", (int)getpid());
	struct bench *b = *state;
	struct watched list;
	struct watch w;

	open_and_read(b, "two", line);
	assert_value(b, "gpu-0", "processes", 2);
	assert_value(b, "gpu-0", "processes_job", 2);
	assert_value(b, "gpu-0", "memory_job", 1500);
	assert_string_equal(fact(b, "gpu-0", "pids"), both);
	watch_self(b, &w, &list);
	open_and_read(b, "two", line);
	assert_value(b, "gpu-0", "processes", 2);
	assert_value(b, "gpu-0", "memory_processes", 1500);
	assert_value(b, "gpu-0", "processes_job", 1);
	assert_value(b, "gpu-0", "memory_job", 1000);
	assert_string_equal(fact(b, "gpu-0", "pids"), self);
	/* and nothing is left of it when it ends */
	use(b, "two", "nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 0\n");
	read_again(b);
	assert_value(b, "gpu-0", "processes_job", 0);
	assert_string_equal(fact(b, "gpu-0", "pids"), "");
}

static void processes_of_another_namespace_are_not_none(void **state)
{
	struct bench *b = *state;
	struct watched list;
	struct watch w;

	watch_self(b, &w, &list);
	open_and_read(b, "two",
		      "nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 1 2147483646 7 0 0\n");
	assert_value(b, "gpu-0", "processes", 1);
	assert_value(b, "gpu-0", "processes_job", NONE);
	assert_value(b, "gpu-0", "memory_job", NONE);
	assert_contains(reason(b, "processes_job"), "namespace");
	assert_value(b, "gpu-1", "processes_job", 0);
}

static void memory_that_is_not_told_is_not_zero(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "two",
		      "nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 2 5 18446744073709551615 "
		      "0 0 6 10 0 0\n");
	assert_value(b, "gpu-0", "processes", 2);
	assert_value(b, "gpu-0", "memory_processes", NONE);
	assert_contains(reason(b, "memory_processes"), "does not tell");
	assert_value(b, "gpu-1", "memory_processes", 0);
}

static void clients_of_a_shared_server_count_once(void **state)
{
	struct bench *b = *state;

	open_and_read(
		b, "two",
		"nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 2 5 100 0 0 6 200 0 0\n"
		"nvmlDeviceGetMPSComputeRunningProcesses_v3 gpu0 = 0 2 6 200 0 0 7 400 0 0\n");
	assert_value(b, "gpu-0", "processes", 3);
	assert_value(b, "gpu-0", "memory_processes", 700);
	assert_string_equal(fact(b, "gpu-0", "pids"), "5 6 7");
}

/* Some drivers write entries of another size than their function's number says. */
static void entries_of_any_size_are_understood(void **state)
{
	static const char *const sizes[] = {"16", "24", "32"};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		setenv("FAKE_NVML_STRIDE", sizes[i], 1);
		open_and_read(b, "two",
			      "nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 3 5 100 "
			      "4294967295 4294967295 6 200 4294967295 4294967295 7 400 1 2\n");
		assert_value(b, "gpu-0", "processes", 3);
		assert_value(b, "gpu-0", "memory_processes", 700);
		assert_string_equal(fact(b, "gpu-0", "pids"), "5 6 7");
	}
}

static void a_long_list_is_read_with_more_room(void **state)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	struct bench *b = *state;

	strbuf_addstr(&line, "nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 0 300");
	for (int i = 1; i <= 300; i++)
		strbuf_addf(&line, " %d 10 0 0", i);
	strbuf_addch(&line, '\n');
	open_and_read(b, "two", line.buf);
	assert_value(b, "gpu-0", "processes", 300);
	assert_value(b, "gpu-0", "memory_processes", 3000);
	assert_true(strlen(fact(b, "gpu-0", "pids")) < 420);
}

/* ---- drivers of another age --------------------------------------------------------------------
 */

static void an_old_driver_lacks_only_what_it_lacks(void **state)
{
	struct bench *b = *state;

	free(b->library);
	b->library = xasprintf("%s/tests/libnvidia-ml-fake-old.so", environment("PL_BUILD"));
	b->ctx.option = b->library;
	open_and_read(b, "two",
		      "nvmlDeviceGetComputeRunningProcesses gpu0 = 0 2 5 100 0 0 6 200 0 0\n");
	assert_value(b, "gpu-0", "clock_sm", 1002);
	assert_value(b, "gpu-0", "power", 123456);
	assert_value(b, "gpu-0", "ecc_double", 12);
	/* the older names of two functions */
	assert_value(b, "gpu-0", "throttle_reasons", 36);
	assert_string_equal(fact(b, "gpu-0", "power_limit"), "250 W");
	/* the older forms of two structures */
	assert_value(b, "gpu-0", "memory_used", 400);
	assert_value(b, "gpu-0", "memory_reserved", NONE);
	assert_string_equal(reason(b, "memory_reserved"), "this driver counts it as used");
	assert_value(b, "gpu-0", "processes", 2);
	assert_value(b, "gpu-0", "memory_processes", 300);
	assert_value(b, "gpu-0", "energy", NONE);
	assert_string_equal(reason(b, "energy"),
			    "the NVIDIA library has no nvmlDeviceGetTotalEnergyConsumption");
	assert_contains(reason(b, "temperature_memory"), "nvmlDeviceGetFieldValues");
	/* nor has it words for errors */
	assert_string_equal(reason(b, "fan_speed"), "not on gpu-1: Not Supported");
	setenv("FAKE_NVML_FAIL", "gpu1=15", 1);
	read_again(b);
	assert_string_equal(fact(b, "gpu-1", "state"), "GPU is lost");
}

static void a_function_that_answers_not_found_is_passed_over(void **state)
{
	struct bench *b = *state;

	setenv("FAKE_NVML_FAIL",
	       "nvmlDeviceGetMemoryInfo_v2=13 nvmlDeviceGetComputeRunningProcesses_v3=13", 1);
	open_and_read(b, "two", "nvmlDeviceGetComputeRunningProcesses_v2 gpu0 = 0 1 5 100 0 0\n");
	assert_value(b, "gpu-0", "memory_used", 400);
	assert_value(b, "gpu-0", "processes", 1);
	assert_value(b, "gpu-0", "memory_processes", 100);
}

/* ---- MIG ---------------------------------------------------------------------------------------
 */

static void mig_devices_have_rows_with_their_memory(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "mig", "");
	assert_int_equal(b->set.row_count, 4);
	assert_string_equal(fact(b, "gpu-0", "mig"), "enabled");
	assert_value(b, "gpu-0", "power", 200000);
	assert_value(b, "gpu-0", "memory_used", NONE);
	assert_value(b, "gpu-0/mig-0", "memory_used", 200);
	assert_value(b, "gpu-0/mig-0", "memory_total", 1000);
	assert_value(b, "gpu-0/mig-0", "processes", 1);
	assert_value(b, "gpu-0/mig-0", "memory_job", 150);
	assert_value(b, "gpu-0/mig-0", "utilization_gpu", NONE);
	assert_string_equal(fact(b, "gpu-0/mig-0", "uuid"), "MIG-0");
	assert_string_equal(fact(b, "gpu-0/mig-0", "name"), "Test GPU MIG 1g.10gb");
	assert_string_equal(fact(b, "gpu-0/mig-0", "gpu_instance"), "7");
	assert_string_equal(fact(b, "gpu-0/mig-0", "compute_instance"), "0");
	assert_string_equal(fact(b, "gpu-0/mig-0", "pids"), "100");
	assert_value(b, "gpu-0/mig-2", "memory_used", 500);
	assert_string_equal(fact(b, "gpu-0/mig-2", "memory_with"), "");
	/* the same memory is in no second row: it would count twice in a sum */
	assert_value(b, "gpu-0/mig-3", "memory_used", NONE);
	assert_string_equal(fact(b, "gpu-0/mig-3", "memory_with"), "gpu-0/mig-2");
	assert_value(b, "gpu-0/mig-3", "processes", 0);
	/* what the whole GPU may not tell is no reason for what its parts tell */
	assert_string_equal(reason(b, "memory_used"), "");
	assert_string_equal(reason(b, "processes"), "");
}

static void mig_devices_come_and_go(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "mig", "");
	use(b, "mig",
	    "nvmlDeviceGetMigDeviceHandleByIndex gpu0 0 = 6\n"
	    "nvmlDeviceGetMigDeviceHandleByIndex gpu0 2 = 6\n");
	read_again(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.ended_count, 2);
	assert_value(b, "gpu-0/mig-3", "memory_used", 500);
	assert_string_equal(fact(b, "gpu-0/mig-3", "memory_with"), "");
	use(b, "mig", "");
	read_again(b);
	assert_int_equal(b->set.row_count, 4);
	assert_int_equal(b->set.ended_count, 0);
	assert_value(b, "gpu-0/mig-0", "memory_used", 200);
	assert_string_equal(fact(b, "gpu-0/mig-0", "uuid"), "MIG-0");
	assert_value(b, "gpu-0/mig-3", "memory_used", NONE);
}

static void a_gpu_that_is_not_divided_yet_has_its_memory(void **state)
{
	struct bench *b = *state;

	open_and_read(b, "mig",
		      "nvmlDeviceGetMaxMigDeviceCount gpu0 = 0 0\n"
		      "nvmlDeviceGetMemoryInfo_v2 gpu0 = 0 5000 50 4950 0\n");
	assert_int_equal(b->set.row_count, 1);
	assert_value(b, "gpu-0", "memory_total", 5000);
	assert_value(b, "gpu-0", "processes", NONE);
	assert_string_equal(reason(b, "processes"), "Insufficient Permissions");
}

/* ---- nothing to read ---------------------------------------------------------------------------
 */

static void expect_refusal(struct bench *b, int r, const char *part)
{
	struct source_report report = SOURCE_REPORT_INIT;

	assert_int_equal(try_open(b), r);
	assert_null(b->state);
	assert_contains(b->why.buf, part);
	assert_int_equal(b->source->probe(&b->ctx, &report), r);
	assert_string_equal(report.detail.buf, b->why.buf);
	if (r == -ENODEV)
		assert_string_equal(report.remedy, "sudo modprobe nvidia");
	else
		assert_null(report.remedy);
	strbuf_release(&report.detail);
}

static void what_keeps_the_library_from_working_is_said(void **state)
{
	struct bench *b = *state;

	use(b, "two", "nvmlDeviceGetCount_v2 = 0 0\n");
	expect_refusal(b, -ENOENT, "has no GPU for us");
	use(b, "two", "nvmlInit_v2 = 9\n");
	expect_refusal(b, -ENODEV, "driver is not loaded");
	use(b, "two", "nvmlInit_v2 = 18\n");
	expect_refusal(b, -EPROTO, "another version than the loaded driver");
	use(b, "two", "nvmlInit_v2 = 4\n");
	expect_refusal(b, -EACCES, "Insufficient Permissions");
	use(b, "two", "nvmlInit_v2 = 999\n");
	expect_refusal(b, -EIO, "Unknown Error");
}

static void no_library_is_no_gpu(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct bench *b = *state;

	b->ctx.option = "/nonexistent/libnvidia-ml.so.1";
	expect_refusal(b, -ENOENT, "no NVIDIA driver library");
	b->ctx.option = "libnvidia-ml-that-nobody-has.so.1";
	expect_refusal(b, -ENOENT, "no NVIDIA driver library");
	b->ctx.option = "libc.so.6";
	expect_refusal(b, -ENOENT, "'libc.so.6' is no NVIDIA driver library");
	text = xasprintf("%s/text.so", b->scratch);
	write_file(text, "no library\n", 11);
	b->ctx.option = text;
	expect_refusal(b, -ENOENT, "no NVIDIA driver library");
}

static void a_recorded_tree_has_none_unless_one_is_named(void **state)
{
	struct bench *b = *state;

	b->ctx.option = NULL;
	b->ctx.root = b->scratch;
	expect_refusal(b, -ENOENT, "a recorded tree");
	setenv("PLIMSOLL_NVML", b->library, 1);
	open_and_read(b, "two", "");
	assert_value(b, "gpu-0", "power", 123456);
	unsetenv("PLIMSOLL_NVML");
}

static void the_probe_names_the_gpus(void **state)
{
	struct bench *b = *state;
	struct source_report report = SOURCE_REPORT_INIT;

	use(b, "h200", "\n");
	assert_int_equal(b->source->probe(&b->ctx, &report), 0);
	assert_text(&report.detail, "1 GPU (NVIDIA H200), driver 580.159.04, CUDA 13.0");
	strbuf_reset(&report.detail);
	use(b, "two", "");
	assert_int_equal(b->source->probe(&b->ctx, &report), 0);
	assert_text(&report.detail, "2 GPUs (Test GPU A), driver 999.10, CUDA 12.4");
	strbuf_release(&report.detail);
}

/* ---- what no library should answer -------------------------------------------------------------
 */

static void hostile_answers_are_left_out(void **state)
{
	static const char *const nothing[] = {
		"clock_graphics", "ecc_single",         "ecc_double",      "memory_used",
		"memory_total",   "memory_reserved",    "temperature",     "processes",
		"processes_job",  "memory_processes",   "utilization_gpu", "utilization_memory",
		"encoder_util",   "performance_state",  "throttled",       "throttle_reasons",
		"pcie_replays",   "temperature_memory", "violation_power", "rows_remapped_single",
		"power_instant",  "pcie_tx_bytes",      "pcie_rx_bytes"};
	struct bench *b = *state;

	open_and_read(b, "hostile", "");
	assert_int_equal(b->set.row_count, 64);
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
		assert_value(b, "gpu-0", nothing[i], NONE);
	assert_value(b, "gpu-0", "clock_sm", 4294967294);
	assert_value(b, "gpu-0", "memory_free", 0);
	assert_value(b, "gpu-0", "ecc_single_aggregate", INT64_MAX);
	assert_value(b, "gpu-0", "rows_remapped_double", 4);
	assert_value(b, "gpu-63", "clock_sm", NONE);
	assert_string_equal(fact(b, "gpu-0", "driver"), "\\x1b[31m\\x0a\\xff");
	assert_string_equal(fact(b, "gpu-0", "serial"), "a\\x0ab");
	assert_string_equal(fact(b, "gpu-0", "uuid"), "");
	assert_int_equal(strlen(fact(b, "gpu-0", "name")), 96);
	assert_string_equal(fact(b, "gpu-0", "pci"), "0123456789abcdef0123456789abcdef");
	assert_string_equal(fact(b, "gpu-0", "power_limit"), "");
	assert_string_equal(fact(b, "gpu-0", "cuda"), "");
}

static void a_list_that_never_fits_is_given_up(void **state)
{
	static const char *const lines[] = {
		"nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 7 4294967295\n",
		"nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 7 0\n",
		"nvmlDeviceGetComputeRunningProcesses_v3 gpu0 = 7 500\n",
	};
	struct bench *b = *state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		open_and_read(b, "two", lines[i]);
		assert_value(b, "gpu-0", "processes", NONE);
		assert_value(b, "gpu-0", "power", 123456);
		assert_value(b, "gpu-1", "processes", 0);
	}
}

/* Digits of all answers changed at random: rows are rows, and nothing is read beyond its end. */
static void answers_at_random_do_no_harm(void **state)
{
	static const char *const names[] = {"h200", "two", "mig", "hostile"};
	uint64_t seed = 4711;
	struct bench *b = *state;

	for (int round = 0; round < 120; round++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		_cleanup_free_ char *path = xasprintf("%s/random-%d", b->scratch, round);

		read_fixture(names[round % 4], &text);
		for (int i = 0; i < 60; i++) {
			size_t at = random_next(&seed) % text.len;

			if (text.buf[at] >= '0' && text.buf[at] <= '9')
				text.buf[at] = (char)('0' + random_next(&seed) % 10);
		}
		write_file(path, text.buf, text.len);
		setenv("FAKE_NVML_ANSWERS", path, 1);
		if (try_open(b) != 0)
			continue;
		for (int i = 0; i < 3; i++) {
			sample_begin(&b->set);
			(void)b->source->read(b->state, &b->set);
			assert_true(b->set.row_count <= 64 * 17);
			assert_int_equal(row_total(b, "gpu-0"), 1);
		}
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_h200_is_read_as_recorded),
		TEST(an_h200_says_what_it_is),
		TEST(what_an_h200_has_not_is_absent_with_the_reason),
		TEST(every_metric_has_its_own_value),
		TEST(what_one_gpu_lacks_is_told_with_its_name),
		TEST(reasons_are_told_once_and_not_asked_again),
		TEST(a_passing_error_leaves_out_one_value_of_one_reading),
		TEST(a_lost_gpu_leaves_the_other_whole),
		TEST(a_gpu_lost_in_the_middle_keeps_what_was_read),
		TEST(all_gpus_lost_is_an_error_of_the_reading),
		TEST(a_gpu_that_cannot_be_had_is_tried_again),
		TEST(throttled_is_not_idle),
		TEST(the_second_rate_is_that_of_the_counters),
		TEST(a_counter_of_32_bits_is_no_counter),
		TEST(processes_are_told_apart_by_the_job),
		TEST(processes_of_another_namespace_are_not_none),
		TEST(memory_that_is_not_told_is_not_zero),
		TEST(clients_of_a_shared_server_count_once),
		TEST(entries_of_any_size_are_understood),
		TEST(a_long_list_is_read_with_more_room),
		TEST(an_old_driver_lacks_only_what_it_lacks),
		TEST(a_function_that_answers_not_found_is_passed_over),
		TEST(mig_devices_have_rows_with_their_memory),
		TEST(mig_devices_come_and_go),
		TEST(a_gpu_that_is_not_divided_yet_has_its_memory),
		TEST(what_keeps_the_library_from_working_is_said),
		TEST(no_library_is_no_gpu),
		TEST(a_recorded_tree_has_none_unless_one_is_named),
		TEST(the_probe_names_the_gpus),
		TEST(hostile_answers_are_left_out),
		TEST(a_list_that_never_fits_is_given_up),
		TEST(answers_at_random_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
