/*
 * The source "nvidia" on libraries that are old, not there, keep from working or answer what none
 * should.
 */
#include "source_nvidia.h"

/* ---- drivers of another age ------------------------------------------------------------------ */

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

/* ---- nothing to read ------------------------------------------------------------------------- */

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
	expect_refusal(b, -ENOENT, "no GPU is accessible");
	use(b, "two", "nvmlInit_v2 = 9\n");
	expect_refusal(b, -ENODEV, "driver is not loaded");
	use(b, "two", "nvmlInit_v2 = 18\n");
	expect_refusal(b, -EPROTO, "version differs from that of the loaded driver");
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
	expect_refusal(b, -ENOENT, "'libc.so.6' is not an NVIDIA driver library");
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

static void the_probe_says_what_is_left_out(void **state)
{
	struct bench *b = *state;
	struct source_report report = SOURCE_REPORT_INIT;

	use(b, "two", "nvmlDeviceGetHandleByIndex_v2 1 = 4\n");
	assert_int_equal(b->source->probe(&b->ctx, &report), 0);
	assert_text(&report.detail, "2 GPUs (Test GPU A), driver 999.10, CUDA 12.4; gpu-1 is left "
				    "out until it is accessible: Insufficient Permissions");
	strbuf_reset(&report.detail);
	use(b, "mig", "");
	assert_int_equal(b->source->probe(&b->ctx, &report), 0);
	assert_contains(report.detail.buf, "; gpu-0 is divided: memory and processes are in the "
					   "rows of its 3 MIG devices");
	strbuf_reset(&report.detail);
	use(b, "mig", "nvmlDeviceGetMaxMigDeviceCount gpu0 = 0 0\n");
	assert_int_equal(b->source->probe(&b->ctx, &report), 0);
	assert_contains(report.detail.buf,
			"; gpu-0 is divided, and none of its MIG devices is accessible");
	strbuf_release(&report.detail);
}

/* ---- what no library should answer ----------------------------------------------------------- */

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
	const struct CMUnitTest tests[] = {
		with_bench(an_old_driver_lacks_only_what_it_lacks),
		with_bench(a_function_that_answers_not_found_is_passed_over),
		with_bench(what_keeps_the_library_from_working_is_said),
		with_bench(no_library_is_no_gpu),
		with_bench(a_recorded_tree_has_none_unless_one_is_named),
		with_bench(the_probe_names_the_gpus),
		with_bench(the_probe_says_what_is_left_out),
		with_bench(hostile_answers_are_left_out),
		with_bench(a_list_that_never_fits_is_given_up),
		with_bench(answers_at_random_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
