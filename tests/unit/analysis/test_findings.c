/* Findings about time: which part of core time becomes which verdict, and their order. */
#include "findings.h"

static void parts_become_verdicts(void **state)
{
	static const struct {
		enum core_part part;
		enum finding_id id;
		double seconds;
	} cases[] = {
		{CORE_USER, FINDING_COMPUTE, 390},         {CORE_USER, FINDING_SERIAL, 100},
		{CORE_FAULTS, FINDING_PAGE_FAULTS, 80},    {CORE_METADATA, FINDING_METADATA, 80},
		{CORE_KERNEL, FINDING_METADATA, 80},       {CORE_SMALL_CALLS, FINDING_SMALL_IO, 80},
		{CORE_NEIGHBOUR, FINDING_NEIGHBOUR, 80},   {CORE_AFFINITY, FINDING_AFFINITY, 80},
		{CORE_STORAGE, FINDING_STORAGE_WRITE, 80}, {CORE_NETWORK, FINDING_WAIT_NETWORK, 80},
		{CORE_PROCESS, FINDING_WAIT_PROCESS, 80},  {CORE_LOCK, FINDING_LOCK, 80},
		{CORE_TIMER, FINDING_TIMER, 80},           {CORE_POLL, FINDING_UNMEASURED, 80},
		{CORE_RESIDUE, FINDING_UNMEASURED, 80},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct finding_figures f = job_with(cases[i].part, cases[i].seconds);
		const struct finding *v = verdict_of(&f);

		assert_string_equal(finding_ids[v->id].name, finding_ids[cases[i].id].name);
		assert_true(v->saving >= 25);
		if (v->command)
			has(v->command, cases[i].id == FINDING_UNMEASURED ? "plimsoll" : "4711");
	}
}

/* Shares and savings do not depend on how long it ran. */
static void the_same_for_9_and_12_seconds(void **state)
{
	static const enum core_part parts[] = {CORE_USER, CORE_LOCK, CORE_TIMER, CORE_FAULTS};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (double share = 0.05; share < 1; share += 0.05) {
			enum finding_id ids[2];

			for (size_t k = 0; k < 2; k++) {
				double seconds = k ? 12 : 9;
				struct finding_figures f = job_with(parts[i], 0);

				f.duration = seconds;
				f.time = (struct core_time){0};
				f.time.part[parts[i]] = share * 4 * seconds;
				f.time.part[CORE_SERIAL] += (1 - share) * 4 * seconds;
				f.cpu = f.time.part[CORE_USER] + f.time.part[CORE_FAULTS];
				ids[k] = verdict_of(&f)->id;
			}
			assert_int_equal(ids[0], ids[1]);
		}
}

static void a_specific_cause_comes_before_a_general_one(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 60);

	(void)state;
	f.time.part[CORE_SERIAL] -= 40;
	f.time.part[CORE_TIMER] = 40;
	VERDICT(TIMER);
	(void)SAYS(SERIAL);
	/* a small one comes behind it */
	f.time.part[CORE_USER] = 85;
	f.time.part[CORE_TIMER] = 15;
	VERDICT(SERIAL);
	(void)SAYS(TIMER);
	/* and below a tenth it is not told */
	f.time.part[CORE_USER] = 95;
	f.time.part[CORE_TIMER] = 5;
	NONE(TIMER);
}

static void nothing_stands_out_only_alone(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 390);

	(void)state;
	has(verdict_of(&f)->title, "nothing else stands out");
	assert_int_equal(all_of(&f)->count, 1);
	f.signalled = 2;
	assert_true(all_of(&f)->count > 1);
	for (size_t i = 0; i < all_of(&f)->count; i++)
		assert_null(strstr(all_of(&f)->list[i].title, "stands out"));
}

static void oversubscribed_by_its_own_threads(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 400);

	(void)state;
	f.time.excess_own = 400;
	f.cpu_wait = 400;
	VERDICT(OVERSUBSCRIBED);
	has(verdict_of(&f)->advice, "Ask for 8 cores (-c 8)");
	assert_float_equal(verdict_of(&f)->saving, 50, 1e-9);
	/* for each rank its part */
	f.tasks = 2;
	has(verdict_of(&f)->advice, "-c 4 for each of 2 ranks");
	/* others had the cores */
	f.time.excess_own = 0;
	f.time.excess_others = 400;
	NONE(OVERSUBSCRIBED);
	/* a failed job is not told a number */
	f.time.excess_own = 400;
	f.exitcode = 1;
	never(&f, "-c ");
}

static void a_quota(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 50);

	(void)state;
	f.cores = f.quota = 0.5;
	f.time.part[CORE_SERIAL] = 0;
	f.throttled = 50;
	f.cpu_wait = 50;
	f.time.excess_quota = 50;
	VERDICT(CPU_QUOTA);
	assert_float_equal(verdict_of(&f)->saving, 50, 1e-9);
	has(verdict_of(&f)->details, "by a quota of 0.50 cores");
	f.throttled = 1;
	NONE(CPU_QUOTA);
	/* of half a core others took a third: that is a third of the time */
	f.throttled = 0;
	f.cores = 0.5;
	f.time = (struct core_time){0};
	f.time.part[CORE_USER] = f.cpu = 33;
	f.time.part[CORE_NEIGHBOUR] = f.cpu_wait = 17;
	VERDICT(NEIGHBOUR);
	assert_float_equal(verdict_of(&f)->saving, 34, 1e-9);
}

static void imbalance_and_serial_phases(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 250);

	(void)state;
	f.time.part[CORE_SERIAL] = 50;
	f.time.part[CORE_IMBALANCE] = 100;
	f.peers = 4;
	f.peer_mean = 62;
	f.peer_most = 98;
	f.peer_name = "solver";
	VERDICT(IMBALANCE);
	has(verdict_of(&f)->details, "(solver) used 98 s of CPU, 62 s is the mean");
	/* they differ because one got the lock more often */
	f.time.part[CORE_LOCK] = 140;
	f.time.part[CORE_SERIAL] = f.time.part[CORE_IMBALANCE] = 5;
	VERDICT(LOCK);
	NONE(IMBALANCE);
	f.time.part[CORE_LOCK] = 0;
	f.time.part[CORE_SERIAL] = 50;
	f.time.part[CORE_IMBALANCE] = 100;
	/* the same of threads that share the work of one process */
	f.peers = NAN;
	f.sharing = 3;
	f.sharing_mean = 60;
	f.sharing_most = 98;
	VERDICT(IMBALANCE);
	has(verdict_of(&f)->title, "between threads");
	f.sharing = NAN;
	/* one thread has all of it, others of the process have other work */
	f.workers = 12;
	f.worker_mean = 8;
	f.worker_most = 98;
	NONE(IMBALANCE);
	f.workers = NAN;
	f.peers = 4;
	/* the same work for each, and a part of the time alone */
	f.peer_most = 63;
	f.time.part[CORE_SERIAL] = 150;
	f.time.part[CORE_IMBALANCE] = 0;
	f.parallel = 50;
	f.alone = 50;
	VERDICT(SERIAL_PHASE);
	assert_float_equal(verdict_of(&f)->saving, 37.5, 1e-9);
	never(&f, "-c ");
}

/* Threads that took turns in one futex, beside others who were busy; and threads that did not. */
static void taking_turns_and_a_neighbour(void **state)
{
	(void)state;
	struct finding_figures f = job_with(CORE_NEIGHBOUR, 200);
	f.cpu = 100;
	f.time.part[CORE_USER] = 100;
	f.time.part[CORE_SERIAL] -= 100;
	f.workers = 4;
	f.worker_mean = 25;
	f.worker_most = 26;
	f.same_futex = 290;
	assert_int_equal(verdict_of(&f)->id, FINDING_LOCK);
	assert_string_equal(verdict_of(&f)->title, "threads took turns: one at a time worked");
	f.same_futex = 140; /* half of what three who wait would have */
	assert_int_equal(verdict_of(&f)->id, FINDING_NEIGHBOUR);
	f.same_futex = 290;
	f.cpu_wait = 200; /* they were ready for a core: others waited there */
	assert_int_equal(verdict_of(&f)->id, FINDING_NEIGHBOUR);
	f.cpu_wait = 0;
	f.worker_most = 80; /* one has the work, and the others wait for it */
	assert_int_equal(verdict_of(&f)->id, FINDING_NEIGHBOUR);
}

/* Python's multiprocessing.Lock: four processes, of which one gets it more often. */
static void processes_that_take_turns(void **state)
{
	(void)state;
	struct finding_figures f = job_with(CORE_USER, 100);
	f.takers = f.peers = 4;
	f.semaphore = 290;
	f.taker_pipes = 0;
	f.taker_cpu = 95;
	f.peer_mean = 25;
	f.peer_most = 70;
	f.time.part[CORE_IMBALANCE] = 150;
	f.time.part[CORE_SERIAL] = 150;
	VERDICT(LOCK);
	has(verdict_of(&f)->title, "processes took turns");
	NONE(IMBALANCE);
	never(&f, "more threads");
	/* its holder waits for a core most of the time */
	f.time.part[CORE_USER] = f.cpu = 40;
	f.time.part[CORE_NEIGHBOUR] = f.cpu_wait = 60;
	VERDICT(LOCK);
	f.time.part[CORE_USER] = f.cpu = 100;
	f.time.part[CORE_NEIGHBOUR] = f.cpu_wait = 0;
	/* another one computes: they wait for room in its queue */
	f.taker_cpu = 10;
	NONE(LOCK);
	f.taker_cpu = 95;
	/* who waits in a pipe meanwhile has the lock of an empty queue */
	f.taker_pipes = 90;
	NONE(LOCK);
	f.taker_pipes = 0;
	f.semaphore = 140; /* half of what three who wait would have */
	NONE(LOCK);
}

/* Of threads that nobody looked at, a part of the time is enough to doubt that they computed. */
static void computing_or_not_known(void **state)
{
	(void)state;
	struct finding_figures f = job_with(CORE_USER, 350);
	f.looked = f.sampled = false;
	f.time.part[CORE_SERIAL] = 0;
	f.time.part[CORE_RESIDUE] = 50;
	assert_int_equal(verdict_of(&f)->id, FINDING_COMPUTE);
	f.time.part[CORE_USER] = 320;
	f.time.part[CORE_RESIDUE] = 80;
	assert_int_equal(verdict_of(&f)->id, FINDING_UNMEASURED);
	f.looked = true;
	assert_int_equal(verdict_of(&f)->id, FINDING_COMPUTE);
}

static void programs_in_turn(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 98);

	(void)state;
	f.time.part[CORE_SERIAL] -= 100;
	f.time.part[CORE_CHILD] = 100;
	VERDICT(SERIAL);
	f.chain = 5;
	f.chain_time = 99;
	VERDICT(WAIT_CHILD);
	f.brief = 3000;
	f.processes = 3100;
	f.brief_time = 90;
	f.brief_name = "sed";
	VERDICT(SHORT_PROCESSES);
	has(verdict_of(&f)->details, "most of them 'sed'");
}

/* A producer waits for its consumer: what that does takes the time. */
static void room_in_a_pipe(void **state)
{
	struct finding_figures f = job_with(CORE_PROCESS, 90);

	(void)state;
	f.cpu = f.time.part[CORE_USER] = 70;
	f.time.part[CORE_SMALL_CALLS] = 20;
	f.time.part[CORE_SERIAL] -= 90;
	f.partner[WAIT_PROCESS] = "read pipe from 12.34 (seq)";
	(void)SAYS(WAIT_PROCESS);
	f.partner[WAIT_PROCESS] = "write pipe to 12.34 (sh)";
	NONE(WAIT_PROCESS);
	/* a call of one byte costs the program as much as the kernel */
	f.reads = f.read_bytes = 60e6;
	VERDICT(SMALL_IO);
	/* nobody works: it waits for the other */
	f.cpu = 1;
	(void)SAYS(WAIT_PROCESS);
}

static void storage(void **state)
{
	struct finding_figures f = job_with(CORE_STORAGE, 90);

	(void)state;
	f.stored_read = f.read_bytes = 10 * GIB;
	f.stored_written = 0;
	VERDICT(STORAGE_READ);
	f.partner[WAIT_STORAGE] = "read /data/input";
	has(verdict_of(&f)->details, "mostly in read /data/input");
	/* read, but not by calls */
	f.major_faults = 100000;
	f.read_bytes = 1000;
	VERDICT(MAJOR_FAULTS);
	/* what it read had been in memory before: below its limit there was no room for it */
	f = job_with(CORE_STORAGE, 90);
	f.stored_read = f.read_bytes = 10 * GIB;
	f.stored_written = 0;
	f.memory_limit = 1 * GIB;
	f.refaulted = 6 * GIB;
	VERDICT(MEMORY_LIMIT);
	has(verdict_of(&f)->details, "6 GiB of it had been in memory before");
	NONE(STORAGE_READ);
	never(&f, "--mem=");
	f.refaulted = 1 * GIB;
	VERDICT(STORAGE_READ);
	f = job_with(CORE_RESIDUE, 90);
	f.looked = false;
	f.stored_read = 10 * GIB;
	f.memory_limit = 1 * GIB;
	f.refaulted = 9 * GIB;
	VERDICT(MEMORY_LIMIT);
	NONE(UNMEASURED);
	/* nobody looked: much data moved in the time that is not known */
	f = job_with(CORE_RESIDUE, 90);
	f.looked = false;
	f.stored_written = 10 * GIB;
	VERDICT(STORAGE_WRITE);
	has(verdict_of(&f)->title, "most likely");
	NONE(UNMEASURED);
	f.stored_written = 1000;
	VERDICT(UNMEASURED);
	has(verdict_of(&f)->advice, "--sample");
	/* threads that wake each other are no metadata */
	f = job_with(CORE_KERNEL, 90);
	f.switches = 1e6;
	NONE(METADATA);
	/* nor those that yield to each other */
	f.switches = 1000;
	f.preempted = 1e6;
	NONE(METADATA);
	f.preempted = 1000;
	VERDICT(METADATA);
	/* nor is copying */
	f = job_with(CORE_KERNEL, 90);
	f.write_bytes = f.stored_written = 300 * GIB;
	VERDICT(STORAGE_WRITE);
}

/* Cores are asked for by what ran and was ready, and not by threads that exist. */
static void harmful_advice_is_impossible(void **state)
{
	struct finding_figures f = job_with(CORE_LOCK, 300);

	(void)state;
	f.threads_peak = 1000;
	f.cpu = 100;
	f.time.part[CORE_USER] = 100;
	f.time.part[CORE_SERIAL] = 0;
	VERDICT(LOCK);
	never(&f, "-c ");
	never(&f, "more threads or processes");
	/* one thread of eight cores: one core; with a peak of three, three */
	f = job_with(CORE_USER, 100);
	f.threads_peak = 1;
	has(verdict_of(&f)->advice, "ask for 1 core (-c 1) instead of 4");
	f.threads_peak = 12;
	f.cpu_peak = 2.9;
	has(verdict_of(&f)->advice, "ask for 3 cores (-c 3) instead of 4");
	/* the peak is not known: nothing */
	f.cpu_peak = NAN;
	f.threads_peak = NAN;
	f.cpu_wait = NAN;
	has(verdict_of(&f)->advice, "is unknown");
	never(&f, "-c ");
}

static void without_samples_bound_threads_fill_whole_cores(void **state)
{
	static const double busy[] = {90, 101, 115, 203};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {
		struct finding_figures f = job_with(CORE_AFFINITY, 80);

		f.looked = f.sampled = false;
		f.cpu = f.time.part[CORE_USER] = busy[i];
		if (i == 2)
			NONE(AFFINITY);
		else
			(void)SAYS(AFFINITY);
	}
}

static void of_a_moment_nothing_is_said(void **state)
{
	struct finding_figures f = job_with(CORE_TIMER, 0.2);

	(void)state;
	f.duration = 0.2;
	VERDICT(UNMEASURED);
	has(verdict_of(&f)->title, "too short");
	f.duration = NAN;
	VERDICT(UNMEASURED);
	f.unseen = 3;
	has(verdict_of(&f)->advice, "`plimsoll run`");
	f.running = true;
	has(verdict_of(&f)->details, "It runs");
	assert_null(strstr(verdict_of(&f)->advice, "plimsoll"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_become_verdicts),
		cmocka_unit_test(the_same_for_9_and_12_seconds),
		cmocka_unit_test(a_specific_cause_comes_before_a_general_one),
		cmocka_unit_test(nothing_stands_out_only_alone),
		cmocka_unit_test(oversubscribed_by_its_own_threads),
		cmocka_unit_test(a_quota),
		cmocka_unit_test(imbalance_and_serial_phases),
		cmocka_unit_test(taking_turns_and_a_neighbour),
		cmocka_unit_test(processes_that_take_turns),
		cmocka_unit_test(computing_or_not_known),
		cmocka_unit_test(programs_in_turn),
		cmocka_unit_test(room_in_a_pipe),
		cmocka_unit_test(storage),
		cmocka_unit_test(harmful_advice_is_impossible),
		cmocka_unit_test(without_samples_bound_threads_fill_whole_cores),
		cmocka_unit_test(of_a_moment_nothing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
