/* The division of core time: each part alone, sums that hold, and what does not outweigh what. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "analysis/core_time/core_time.h"

static void near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.12g, expected %.12g", got, want);
}

/* Four cores for 10 s, of which nothing was used. */
static struct core_evidence idle(void)
{
	struct core_evidence e;

	core_evidence_init(&e);
	e.seconds = 10;
	e.cores = e.places = 4;
	e.user = e.system = 0;
	return e;
}

static struct core_time divide(const struct core_evidence *e)
{
	struct core_time t;

	core_time_divide(e, &t);
	for (size_t i = 0; i < CORE_PARTS; i++)
		assert_true(t.part[i] >= 0);
	near(core_time_total(&t), e->cores * e->seconds, 1e-9);
	return t;
}

#define PART(t, id, want) near((t).part[CORE_##id], want, 1e-9)

static void nothing_ran(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	struct core_time t = divide(&e);
	PART(t, SERIAL, 40);
	e.edge = true;
	t = divide(&e);
	PART(t, TAIL, 40);
	e.edge = false;
	e.uneven = true;
	t = divide(&e);
	PART(t, IMBALANCE, 40);
}

static void unknown_cpu_time_is_residue(void **state)
{
	struct core_evidence e;

	(void)state;
	core_evidence_init(&e);
	e.seconds = 10;
	e.cores = 4;
	struct core_time t = divide(&e);
	PART(t, RESIDUE, 40);
}

static void computing(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	e.user = 30;
	struct core_time t = divide(&e);
	PART(t, USER, 30);
	PART(t, SERIAL, 10);
	/* clocks that were read a little later */
	e.user = 39;
	e.system = 3;
	t = divide(&e);
	PART(t, USER, 39 * 40 / 42.0);
	PART(t, KERNEL, 3 * 40 / 42.0);
	PART(t, SERIAL, 0);
}

/* What costs most of the kernel's time has it; what explains nothing is other. */
static void kernel_work(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	e.system = 10;
	struct core_time t = divide(&e);
	PART(t, KERNEL, 10);
	e.metadata = true;
	t = divide(&e);
	PART(t, METADATA, 10);
	e.minor_faults = 10 / COST_FAULT;
	t = divide(&e);
	PART(t, FAULTS, 10);
	e.minor_faults = NAN;
	e.writes = 10 / COST_CALL;
	e.write_bytes = e.writes;
	t = divide(&e);
	PART(t, SMALL_CALLS, 10);
	/* calls of a megabyte are no small ones */
	e.write_bytes = e.writes * 1048576;
	t = divide(&e);
	PART(t, SMALL_CALLS, 0);
	e.writes = NAN;
	e.starts = 10 / COST_START;
	t = divide(&e);
	PART(t, FORK, 10);
	e.starts = NAN;
	e.network_bytes = 10 / COST_SOCKET_BYTE;
	t = divide(&e);
	PART(t, SOCKETS, 10);
	/* a tenth of it explains a tenth */
	e.network_bytes /= 10;
	t = divide(&e);
	PART(t, SOCKETS, 1);
	PART(t, METADATA, 9);
}

static void ready_without_a_core(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	e.user = 10;
	e.runnable = 8;
	e.others = 20;
	struct core_time t = divide(&e);
	PART(t, NEIGHBOUR, 8);
	PART(t, SERIAL, 22);
	/* nobody used the other cores */
	e.others = 0;
	e.host_idle = 30;
	t = divide(&e);
	PART(t, AFFINITY, 8);
	e.throttled = 5;
	t = divide(&e);
	PART(t, QUOTA, 5);
	PART(t, AFFINITY, 3);
	/* who has the cores is not known: others, for the job itself has fewer threads */
	e.others = e.host_idle = e.throttled = NAN;
	t = divide(&e);
	PART(t, NEIGHBOUR, 8);
}

static void more_threads_than_cores(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	e.user = 40;
	e.runnable = 60;
	e.others = 0.5;
	struct core_time t = divide(&e);
	PART(t, USER, 40);
	near(t.excess_own, 60, 1e-9);
	near(t.excess_others, 0, 1e-9);
	/* a quota: two threads on four places want more than one core, but not more than places */
	e.cores = 1;
	e.user = 10;
	e.runnable = 10;
	t = divide(&e);
	near(t.excess_own, 0, 1e-9);
	near(t.excess_others, 10, 1e-9);
	e.throttled = 10;
	t = divide(&e);
	near(t.excess_quota, 10, 1e-9);
	near(t.excess_others, 0, 1e-9);
}

static void each_wait_alone(void **state)
{
	static const struct {
		enum wait_reason reason;
		enum core_part part;
	} cases[] = {{WAIT_STORAGE, CORE_STORAGE}, {WAIT_NETWORK, CORE_NETWORK},
		     {WAIT_PROCESS, CORE_PROCESS}, {WAIT_LOCK, CORE_LOCK},
		     {WAIT_TIMER, CORE_TIMER},     {WAIT_CHILD, CORE_CHILD},
		     {WAIT_DEVICE, CORE_DEVICE},   {WAIT_POLL, CORE_POLL},
		     {WAIT_OTHER, CORE_POLL},      {WAIT_UNKNOWN, CORE_RESIDUE},
		     {WAIT_CONDITION, CORE_SERIAL}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct core_evidence e = idle();

		e.wait[cases[i].reason] = 10;
		struct core_time t = divide(&e);
		near(t.part[cases[i].part], cases[i].part == CORE_SERIAL ? 40 : 10, 1e-9);
	}
	/* the exact time of the kernel is a lower bound */
	struct core_evidence e = idle();
	e.blocked = 7;
	struct core_time t = divide(&e);
	PART(t, STORAGE, 7);
	e.wait[WAIT_STORAGE] = 9;
	t = divide(&e);
	PART(t, STORAGE, 9);
}

static void a_thousand_sleepers_weigh_one_core(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	e.cores = e.places = 2;
	e.user = 10;
	e.wait[WAIT_TIMER] = 10000;
	struct core_time t = divide(&e);
	PART(t, USER, 10);
	PART(t, TIMER, 10);
	/* parents and idle pools come after what holds the work up */
	e.wait[WAIT_TIMER] = NAN;
	e.wait[WAIT_CHILD] = e.wait[WAIT_CONDITION] = 10000;
	e.wait[WAIT_STORAGE] = 10;
	t = divide(&e);
	PART(t, STORAGE, 10);
	PART(t, CHILD, 0);
}

static void hostile_numbers_stay_within(void **state)
{
	struct core_evidence e = idle();

	(void)state;
	e.user = INFINITY;
	e.system = -5;
	e.runnable = 1e300;
	e.others = NAN;
	e.minor_faults = -1;
	e.wait[WAIT_LOCK] = 1e300;
	struct core_time t = divide(&e);
	PART(t, USER, 0);
	e.cores = e.seconds = -1;
	core_time_divide(&e, &t);
	near(core_time_total(&t), 0, 1e-9);
}

/* Unknown, nothing, small, or far too large. */
static double any(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	switch (*seed % 8) {
	case 0:
		return NAN;
	case 1:
		return 0;
	case 2:
		return (double)(*seed >> 8 & 0xffff) * 1e6;
	default:
		return (double)(*seed >> 8 & 0xffff) / 2000;
	}
}

static void whatever_the_evidence_the_parts_are_what_was_granted(void **state)
{
	uint64_t seed = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct core_evidence e = idle();
		double *all[] = {&e.user,   &e.system,       &e.runnable, &e.throttled,
				 &e.others, &e.host_idle,    &e.blocked,  &e.minor_faults,
				 &e.reads,  &e.writes,       &e.starts,   &e.read_bytes,
				 &e.places, &e.network_bytes};

		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			*all[k] = any(&seed);
		for (size_t k = 0; k < WAIT_REASONS; k++)
			e.wait[k] = any(&seed);
		e.cores = (double)(seed % 16) / 4 + 0.25;
		e.edge = seed >> 10 & 1;
		e.uneven = seed >> 11 & 1;
		struct core_time t = divide(&e);
		assert_true(t.excess_own >= 0 && t.excess_others >= 0 && t.excess_quota >= 0);
	}
}

static void background_holds_nothing_up(void **state)
{
	(void)state;
	/* it only slept; it computed all the time beside a thread that sleeps; half and half */
	near(core_time_held_up(0, 10, 10), 10, 1e-9);
	near(core_time_held_up(10, 10, 10), 0, 1e-9);
	near(core_time_held_up(5, 5, 10), 5, 1e-9);
	near(core_time_held_up(0, 40, 10), 40, 1e-9);
	near(core_time_held_up(NAN, NAN, NAN), 0, 1e-9);
}

static void parts_have_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < CORE_PARTS; i++) {
		assert_true(*core_parts[i].name && *core_parts[i].words);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(core_parts[i].name, core_parts[k].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_ran),
		cmocka_unit_test(unknown_cpu_time_is_residue),
		cmocka_unit_test(computing),
		cmocka_unit_test(kernel_work),
		cmocka_unit_test(ready_without_a_core),
		cmocka_unit_test(more_threads_than_cores),
		cmocka_unit_test(each_wait_alone),
		cmocka_unit_test(a_thousand_sleepers_weigh_one_core),
		cmocka_unit_test(hostile_numbers_stay_within),
		cmocka_unit_test(whatever_the_evidence_the_parts_are_what_was_granted),
		cmocka_unit_test(background_holds_nothing_up),
		cmocka_unit_test(parts_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
