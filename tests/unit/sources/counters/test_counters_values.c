/*
 * The source `counters` on a pretend Skylake: what becomes of the counts of its events, and what is
 * said where there are none.
 */
#include "counters_fake.h"

/* ---- counting ------------------------------------------------------------------------------- */

#define DP(what) "FP_ARITH_INST_RETIRED:" what "_DOUBLE"

static void a_pretend_skylake_counts(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "FLOPS_DP,IPC");
	assert_int_equal(metric_of(&m->set, "sp_512"), -1);
	machine_read(m, 10);
	check_value(m, "dp_512", 0);
	assert_absent(m, "FLOPS_DP.flops");
	for (int tid = 100; tid <= 101; tid++) {
		fake_set(tid, DP("SCALAR"), 10, 1000, 1000);
		fake_set(tid, DP("128B_PACKED"), 100, 1000, 1000);
		fake_set(tid, DP("256B_PACKED"), 1000, 1000, 1000);
		fake_set(tid, DP("512B_PACKED"), 10000, 1000, 1000);
		fake_set(tid, "PERF_COUNT_HW_CPU_CYCLES", 200, 1000, 1000);
		fake_set(tid, "PERF_COUNT_HW_INSTRUCTIONS", 500, 1000, 1000);
	}
	machine_read(m, 12);
	check_value(m, "dp_scalar", 20);
	check_value(m, "dp_512", 20000);
	check_value(m, "cycles", 400);
	check_value(m, "FLOPS_DP.flops", 84210);
	check_value(m, "FLOPS_DP.vector_ratio", 22200.0 / 22220);
	check_value(m, "IPC.ipc", 2.5);
	check_value(m, "IPC.instruction_rate", 500);
	check_value(m, "running_percent", 100);
	/* over the next interval nothing happens: rates are 0, ratios have no value */
	machine_read(m, 15);
	check_value(m, "dp_512", 20000);
	check_value(m, "FLOPS_DP.flops", 0);
	assert_absent(m, "IPC.ipc");
	assert_absent(m, "running_percent");
	assert_fact(m, "microarchitecture", "skylake_avx512");
	assert_fact(m, "counted_by", "process");
	assert_fact(m, "mode", "");
	const struct sample_metric *flops = &m->set.metrics[metric_of(&m->set, "FLOPS_DP.flops")];
	assert_int_equal(flops->unit, UNIT_PER_SECOND);
	assert_int_equal(flops->kind, KIND_MEAN);
	assert_int_equal(flops->agg, AGG_SUM);
	assert_int_equal(m->set.metrics[metric_of(&m->set, "IPC.ipc")].agg, AGG_NONE);
	assert_int_equal(m->set.metrics[metric_of(&m->set, "cycles")].kind, KIND_COUNTER);
	assert_int_equal(m->set.metrics[metric_of(&m->set, "cycles")].unit, UNIT_CYCLES);
}

static void events_of_a_group_go_on_the_cpu_together(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "hardware_events,software_events,MISS");
	machine_read(m, 1);
	/* six and four events on two threads; MISS has none that is new */
	assert_int_equal(fake.opened, 20);
	const struct fake_fd *cycles = fake_find(100, -1, "PERF_COUNT_HW_CPU_CYCLES");
	assert_int_equal(cycles->group, -1);
	assert_true(cycles->attr.inherit);
	assert_false(cycles->attr.disabled);
	assert_int_equal(fake_find(100, -1, "PERF_COUNT_HW_BRANCH_MISSES")->group,
			 FAKE_BASE + (int)(cycles - fake.fds));
	unsigned leaders = 0;
	for (size_t i = 0; i < FAKE_FDS; i++) {
		const struct fake_fd *f = &fake.fds[i];

		if (!f->open)
			continue;
		leaders += f->group < 0;
		if (f->group >= 0) {
			const struct fake_fd *l = &fake.fds[f->group - FAKE_BASE];

			assert_int_equal(l->group, -1);
			assert_int_equal(l->pid, f->pid);
			assert_int_equal(l->attr.type, f->attr.type);
		}
	}
	assert_int_equal(leaders, 4);
}

static void a_group_that_does_not_fit_becomes_two(void **state)
{
	struct machine *m = *state;

	one_process(m);
	fake.group_max = 4;
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 12);
	const struct fake_fd *cycles = fake_find(100, -1, "PERF_COUNT_HW_CPU_CYCLES");
	const struct fake_fd *branches = fake_find(100, -1, "PERF_COUNT_HW_BRANCH_INSTRUCTIONS");
	const struct fake_fd *misses = fake_find(100, -1, "PERF_COUNT_HW_BRANCH_MISSES");
	assert_int_equal(fake_find(100, -1, "PERF_COUNT_HW_CACHE_REFERENCES")->group,
			 FAKE_BASE + (int)(cycles - fake.fds));
	assert_int_equal(branches->group, -1);
	assert_int_equal(misses->group, -1);
}

static void a_group_that_is_never_on_the_cpu_is_split(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open)
			fake.fds[i].enabled = 200000000;
	machine_read(m, 2);
	check_value(m, "cycles", 0);
	check_value(m, "running_percent", 0);
	assert_int_equal(fake.opened, 12);
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open) {
			assert_int_equal(fake.fds[i].group, -1);
			assert_int_equal(fake.fds[i].enabled, 0);
		}
	fake_set(101, "PERF_COUNT_HW_CPU_CYCLES", 300, 1000, 500);
	machine_read(m, 3);
	check_value(m, "cycles", 600);
	/* once is enough */
	assert_non_null(fake_find(101, -1, "PERF_COUNT_HW_CPU_CYCLES"));
	assert_int_equal(fake_find(101, -1, "PERF_COUNT_HW_CPU_CYCLES")->value, 300);
}

static void what_took_turns_is_scaled(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "IPC,L2cache");
	machine_read(m, 1);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 1000, 1000, 1000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 1000, 1000, 1000);
	fake_set(100, "L2_RQSTS:REFERENCES", 50, 1000, 250);
	fake_set(100, "L2_RQSTS:MISS", 10, 1000, 250);
	machine_read(m, 2);
	check_value(m, "l2_requests", 200);
	check_value(m, "L2cache.miss_ratio", 0.2);
	check_value(m, "L2cache.request_rate", 0.2);
	check_value(m, "running_percent", 25);
	/* not on the CPU at all: nothing is known, and the total does not move */
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 2000, 2000, 2000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 2000, 2000, 2000);
	fake_set(100, "L2_RQSTS:REFERENCES", 50, 2000, 250);
	fake_set(100, "L2_RQSTS:MISS", 10, 2000, 250);
	machine_read(m, 3);
	check_value(m, "l2_requests", 200);
	assert_absent(m, "L2cache.miss_ratio");
	check_value(m, "IPC.ipc", 1);
	check_value(m, "running_percent", 0);
	/* back again: 100 in 500 of the 2000 ns since are 400, over both intervals */
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 3000, 3000, 3000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 3000, 3000, 3000);
	fake_set(100, "L2_RQSTS:REFERENCES", 150, 3000, 750);
	fake_set(100, "L2_RQSTS:MISS", 35, 3000, 750);
	machine_read(m, 4);
	check_value(m, "l2_requests", 600);
	check_value(m, "L2cache.miss_ratio", 0.25);
	check_value(m, "L2cache.request_rate", 0.2);
	check_value(m, "running_percent", 50);
}

static void a_little_that_was_never_on_the_cpu_does_not_matter(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "IPC");
	machine_read(m, 1);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 1000, 10000, 10000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 2000, 10000, 10000);
	fake_set(101, "PERF_COUNT_HW_CPU_CYCLES", 0, 10, 0);
	fake_set(101, "PERF_COUNT_HW_INSTRUCTIONS", 0, 10, 0);
	machine_read(m, 2);
	check_value(m, "IPC.ipc", 2);
	machine_read(m, 3);
	check_value(m, "IPC.instruction_rate", 0);
}

/* Right after it was given to a process an event waits for its turn: that is no share yet. */
static void a_share_of_the_first_moment_is_none(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "IPC");
	machine_read(m, 1);
	assert_absent(m, "running_percent");
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 0, 50000, 0);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 0, 50000, 0);
	machine_read(m, 2);
	assert_absent(m, "running_percent");
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 9, 150000, 100000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 9, 150000, 100000);
	machine_read(m, 3);
	check_value(m, "running_percent", 100);
}

static void counters_wrap_and_begin_anew(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", UINT64_MAX / 4, 10, 10);
	machine_read(m, 2);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", UINT64_MAX / 2, 20, 20);
	machine_read(m, 3);
	/* as far as a value goes, and no further */
	check_value(m, "cycles", 9223372036854775807.0);
	assert_true(value(m, "cycles") > 0);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 1000, 100, 100);
	machine_read(m, 4);
	check_value(m, "instructions", 1000);
	/* smaller than before: it was begun anew, and goes on from there */
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 5, 10, 10);
	machine_read(m, 5);
	check_value(m, "instructions", 1000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 8, 20, 20);
	machine_read(m, 6);
	check_value(m, "instructions", 1003);
	/* less with more time: nonsense, and no count */
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 1, 30, 30);
	machine_read(m, 7);
	check_value(m, "instructions", 1003);
}

static void a_counter_that_vanishes_keeps_what_it_counted(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "IPC");
	machine_read(m, 1);
	for (int tid = 100; tid <= 101; tid++) {
		fake_set(tid, "PERF_COUNT_HW_CPU_CYCLES", 100, 1000, 1000);
		fake_set(tid, "PERF_COUNT_HW_INSTRUCTIONS", 200, 1000, 1000);
	}
	machine_read(m, 2);
	fake_find(101, -1, "PERF_COUNT_HW_INSTRUCTIONS")->broken = true;
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 250, 2000, 2000);
	machine_read(m, 3);
	check_value(m, "instructions", 450);
	assert_int_equal(fake.opened, 3);
	machine_read(m, 4);
	check_value(m, "instructions", 450);
}

/* ---- what is absent ------------------------------------------------------------------------- */

static void what_does_not_work_is_absent_with_its_reason(void **state)
{
	struct machine *m = *state;

	one_process(m);
	fake.missing = "L2_TRANS:L2_WB";
	fake.unknown = "MEM_LOAD_RETIRED:L3_HIT";
	fake.deny_kernel = true;
	machine_open(m, "L3,L3cache,software_events");
	machine_read(m, 1);
	assert_contains(absence(m, "l2_evictions"), "this machine cannot count L2_TRANS:L2_WB");
	assert_string_equal(absence(m, "L3.bandwidth"), "needs l2_evictions, which is not counted");
	assert_string_equal(absence(m, "L3.load_bandwidth"), "");
	assert_string_equal(absence(m, "l3_load_hits"),
			    "MEM_LOAD_RETIRED:L3_HIT: never heard of it");
	assert_string_equal(absence(m, "L3cache.miss_rate"), "");
	assert_contains(absence(m, "L3cache.miss_ratio"), "needs l3_load_hits");
	/* these happen in the kernel: in user mode they would be 0 */
	assert_contains(absence(m, "context_switches"), "kernel.perf_event_paranoid");
	assert_contains(absence(m, "cpu_migrations"), "as root permits it");
	assert_string_equal(absence(m, "page_faults"), "");
	assert_fact(m, "mode", "user");
	assert_absent(m, "l2_evictions");
	assert_absent(m, "context_switches");
	fake_set(100, "L2_LINES_IN:ALL", 1000, 10, 10);
	assert_true(fake_find(100, -1, "L2_LINES_IN:ALL")->attr.exclude_kernel);
	machine_read(m, 3);
	check_value(m, "L3.load_bandwidth", 32000);
	assert_absent(m, "L3.bandwidth");
}

static void nothing_at_all_is_an_error(void **state)
{
	struct machine *m = *state;
	struct source_context none = {.root = ""};

	one_process(m);
	fake.fd_limit = 1;
	fake.opened = 1;
	m->ctx.option = "IPC";
	assert_int_equal(counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why), -ENOENT);
	assert_contains(m->why.buf, "too few descriptors");
	assert_null(m->state);
	fake.opened = 0;
	strbuf_reset(&m->why);
	assert_int_equal(counters_open(&m->ops, &none, &m->set, &m->state, &m->why), -EINVAL);
	assert_contains(m->why.buf, "there is no job");
	/* the kernel's own counters mean nothing on a recorded tree */
	strbuf_reset(&m->why);
	assert_int_equal(counters_open(&counters_kernel, &m->ctx, &m->set, &m->state, &m->why),
			 -ENOTSUP);
	assert_contains(m->why.buf, "a running machine only");
}

static void groups_are_named(void **state)
{
	struct machine *m = *state;

	one_process(m);
	m->ctx.option = "L5,L6,user";
	assert_int_equal(counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why), -EINVAL);
	assert_contains(
		m->why.buf,
		"there is no group 'L5' for skylake_avx512; available are hardware_events, software_events");
	/* "user" alone: the usual groups, without the kernel's part */
	strbuf_reset(&m->why);
	machine_open(m, "user");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 20);
	assert_true(fake_find(100, -1, "PERF_COUNT_HW_CPU_CYCLES")->attr.exclude_kernel);
	assert_fact(m, "mode", "user");
	check_value(m, "context_switches", 0);
}

/* One that is unknown does not take the others away. */
static void unknown_groups_are_left_out_and_said(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "IPC,L5,L6");
	machine_read(m, 1);
	assert_true(metric_of(&m->set, "IPC.ipc") >= 0);
	_cleanup_free_ char *left_out = fact(m, "left_out");
	assert_string_equal(left_out, "L5, L6: skylake_avx512 has no such group or event");
}

static void an_event_stands_for_its_group(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "task_clock");
	machine_read(m, 1);
	assert_true(metric_of(&m->set, "task_clock") >= 0);
	assert_true(metric_of(&m->set, "instructions") < 0);
}

static void more_than_there_is_room_for_is_left_out_and_said(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "all");
	machine_read(m, 1);
	assert_true(m->set.metric_count <= SAMPLE_METRICS_MAX);
	assert_true(m->set.metric_count > 50);
	_cleanup_free_ char *left_out = fact(m, "left_out");
	assert_contains(left_out, ": a source has at most 64 metrics");
	assert_int_equal(metric_of(&m->set, "FLOPS_DP.flops") < 0,
			 strstr(left_out, "FLOPS_DP") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(a_pretend_skylake_counts),
		FAKE_TEST(events_of_a_group_go_on_the_cpu_together),
		FAKE_TEST(a_group_that_does_not_fit_becomes_two),
		FAKE_TEST(a_group_that_is_never_on_the_cpu_is_split),
		FAKE_TEST(what_took_turns_is_scaled),
		FAKE_TEST(a_little_that_was_never_on_the_cpu_does_not_matter),
		FAKE_TEST(a_share_of_the_first_moment_is_none),
		FAKE_TEST(counters_wrap_and_begin_anew),
		FAKE_TEST(a_counter_that_vanishes_keeps_what_it_counted),
		FAKE_TEST(what_does_not_work_is_absent_with_its_reason),
		FAKE_TEST(nothing_at_all_is_an_error),
		FAKE_TEST(groups_are_named),
		FAKE_TEST(unknown_groups_are_left_out_and_said),
		FAKE_TEST(an_event_stands_for_its_group),
		FAKE_TEST(more_than_there_is_room_for_is_left_out_and_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
