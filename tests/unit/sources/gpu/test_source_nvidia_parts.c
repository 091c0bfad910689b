/*
 * The source "nvidia" on what shares a GPU: processes of the job and of others, and parts by MIG.
 */
#include "source_nvidia.h"

#include "core/clock.h"

/* ---- processes ------------------------------------------------------------------------------- */

/* A watch that knows this process alone. */
static void watch_self(struct bench *b, struct job_processes *w, struct job_process *list)
{
	*list = (struct job_process){.pid = (int)getpid(), .rank = -1};
	*w = (struct job_processes){.list = list, .count = 1};
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
	struct job_process list;
	struct job_processes w;

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
	struct job_process list;
	struct job_processes w;

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
	assert_contains(reason(b, "memory_processes"), "does not report");
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

/* ---- MIG ------------------------------------------------------------------------------------- */

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

/* What is dear has a clock of its own: a full round first, then every five seconds, in parts where
 * it would hold up a reading; what is cheap is there at every reading. */
static void dear_values_have_a_slower_clock(void **state)
{
	struct bench *b = *state;
	unsigned energies = 0, violations = 0, rates = 0, together = 0;

	b->step_ns = 500000000;
	open_and_read(b, "h200", "");
	assert_true(value(b, "gpu-0", "energy") > 0);
	assert_true(value(b, "gpu-0", "violation_power") >= 0);
	assert_true(value(b, "gpu-0", "pcie_tx") >= 0);
	/* 100 ms of 500 are for it: not all of this */
	setenv("FAKE_NVML_DELAY",
	       "nvmlDeviceGetViolationStatus=30 nvmlDeviceGetTotalEnergyConsumption=60", 1);
	for (unsigned i = 1; i <= 25; i++) {
		read_again(b);
		assert_true(value(b, "gpu-0", "utilization_gpu") >= 0);
		assert_true(value(b, "gpu-0", "power") > 0);
		assert_true(value(b, "gpu-0", "memory_used") > 0);
		assert_true(value(b, "gpu-0", "temperature") > 0);
		bool energy = value(b, "gpu-0", "energy") != NONE;
		bool violation = value(b, "gpu-0", "violation_base_clocks") != NONE;

		if (i < 9)
			assert_false(energy || violation);
		energies += energy;
		violations += violation;
		together += energy && violation;
		rates += value(b, "gpu-0", "pcie_tx") != NONE;
	}
	assert_int_equal(energies, 2);
	assert_int_equal(violations, 2);
	assert_int_equal(together, 0);
	assert_int_equal(rates, 2);
	unsetenv("FAKE_NVML_DELAY");
	/* a sampler over its budget asks seldomer, and for all at the end but for a rate of then */
	b->ctx.stretch = 4;
	for (unsigned i = 0; i < 30; i++) {
		read_again(b);
		assert_true(value(b, "gpu-0", "power") > 0);
		assert_true(value(b, "gpu-0", "energy") == NONE);
	}
	b->ctx.whole = true;
	read_again(b);
	assert_true(value(b, "gpu-0", "energy") > 0);
	assert_true(value(b, "gpu-0", "violation_base_clocks") >= 0);
	assert_true(value(b, "gpu-0", "pcie_tx") == NONE);
}

/* Its growth is shown as power: a reading has the time at which the energy was asked for, whatever
 * is slow before and after. */
static void the_time_of_a_reading_is_that_of_the_energy(void **state)
{
	struct bench *b = *state;
	const uint64_t ms = 1000000;

	b->step_ns = 0;
	use(b, "h200", "");
	assert_int_equal(try_open(b), 0);
	setenv("FAKE_NVML_DELAY",
	       "nvmlDeviceGetUtilizationRates=50 nvmlDeviceGetViolationStatus=50 "
	       "nvmlDeviceGetPcieThroughput=50",
	       1);
	uint64_t begin = clock_boottime_ns();
	read_again(b);
	uint64_t end = clock_boottime_ns();
	assert_true(b->set.timed);
	assert_true(b->set.time_ns >= begin + 50 * ms);
	/* eight violations, or two directions: they come after it */
	assert_true(b->set.time_ns <= end - 100 * ms);
	assert_true(b->set.time_ns - begin < (end - begin) / 2);
	/* without it, in the middle */
	read_again(b);
	assert_false(b->set.timed);
	unsetenv("FAKE_NVML_DELAY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_bench(the_time_of_a_reading_is_that_of_the_energy),
		with_bench(processes_are_told_apart_by_the_job),
		with_bench(processes_of_another_namespace_are_not_none),
		with_bench(memory_that_is_not_told_is_not_zero),
		with_bench(clients_of_a_shared_server_count_once),
		with_bench(entries_of_any_size_are_understood),
		with_bench(a_long_list_is_read_with_more_room),
		with_bench(mig_devices_have_rows_with_their_memory),
		with_bench(mig_devices_come_and_go),
		with_bench(a_gpu_that_is_not_divided_yet_has_its_memory),
		with_bench(dear_values_have_a_slower_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
