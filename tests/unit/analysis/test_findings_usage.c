/* What bounded a job by what it used, CPU, storage, network and memory: every rule at both sides of
 * its limits, and what it then says. */
#include "findings.h"

/* ---- CPU ------------------------------------------------------------------------------------ */

static void computing(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.cpu = JUST_BELOW(LIMIT(CPU_BOUND)) * 4 * 100;
	is(SAYS(CPU, NOTE)->title, "computing took most of the time, nothing stands out");
	f.cpu = LIMIT(CPU_BOUND) * 4 * 100;
	f.top_name = "fregrid";
	f.top_share = 0.816;
	is(SAYS(CPU, NOTE)->title, "the job was CPU-bound");
	is(SAYS(CPU, NOTE)->evidence,
	   "2.8 of 4 cores were busy on average; fregrid used 82 % of it.");
	has(SAYS(CPU, NOTE)->advice, "Make fregrid faster");
	/* threads that exist ask for nothing */
	f.threads_peak = 16;
	has(SAYS(CPU, NOTE)->advice, "Make fregrid faster");
	/* those that are ready to run do, and no more than there are */
	f.cpu_wait = JUST_BELOW(LIMIT(DEMAND)) * 400 - f.cpu;
	has(SAYS(CPU, NOTE)->advice, "Make fregrid faster");
	f.cpu_wait = 800 - f.cpu;
	is(SAYS(CPU, NOTE)->advice,
	   "8 of its threads were ready to run on 4 cores: ask for 8 cores (-c 8), or start fewer "
	   "threads (OMP_NUM_THREADS=4).");
	f.threads_peak = 6;
	has(SAYS(CPU, NOTE)->advice, "ask for 6 cores (-c 6)");
	f.ranks = 2;
	has(SAYS(CPU, NOTE)->advice, "ask for 6 cores (-c 3 for each of 2 ranks)");
	has(SAYS(CPU, NOTE)->advice, "OMP_NUM_THREADS=2)");
	f.granted = false;
	has(SAYS(CPU, NOTE)->advice, "a machine with more cores");
}

/* Ten threads that hold one lock in turn: neither threads nor cores are missing. */
static void lock_waiters(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.cpu = 100;
	f.cpu_wait = 3;
	f.threads_peak = 11;
	f.cpu_peak = 1;
	has(SAYS(IDLE, WARNING)->advice, "Of up to 11 threads 1.0 were ready to run on average");
	has(SAYS(IDLE, WARNING)->advice, "more threads or cores do not help");
	f.granted = false;
	has(SAYS(IDLE, NOTE)->advice, "more threads or cores do not help");
	f.threads_peak = 3;
	has(SAYS(IDLE, NOTE)->advice, "side by side, where memory allows");
	f.cpu = 10;
	f.cpu_wait = 1;
	has(SAYS(IDLE, NOTE)->advice, "It mostly waited: `plimsoll tree JOB`");
}

/* Threads that are ready and have no core say that the cores had work, of whomever. */
static void busy_with_others(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.cores = 2;
	f.granted = false;
	f.cpu = 0.3 * f.duration;
	f.cpu_wait = 3.62 * f.duration;
	SAYS(WAITING, WARNING);
	NONE(IDLE, NOTE);
	/* the same by the pressure of its group, where the time is not known */
	f.cpu_wait = NAN;
	f.cpu_pressure = 0.9;
	SAYS(WAITING, WARNING);
	NONE(IDLE, NOTE);
	/* and by its limit */
	f.cpu_pressure = NAN;
	f.throttled = f.duration / 2;
	SAYS(WAITING, WARNING);
	NONE(IDLE, NOTE);
	f.throttled = NAN;
	SAYS(IDLE, NOTE);
	NONE(WAITING, WARNING);
}

static void idle_cores(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.cpu = LIMIT(IDLE) * 4 * 100;
	NONE(IDLE, WARNING);
	f.cpu = JUST_BELOW(LIMIT(IDLE)) * 4 * 100;
	is(SAYS(IDLE, WARNING)->title, "2.0 of 4 cores were idle");
	f.cpu = 150;
	is(SAYS(IDLE, WARNING)->title, "2.5 of 4 cores were idle");
	is(SAYS(IDLE, WARNING)->evidence, "1.5 of 4 cores were busy on average (38 %).");
	/* a mean says nothing of the busiest moment */
	has(SAYS(IDLE, WARNING)->advice, "at its busiest is unknown");
	f.threads_peak = 2;
	is(SAYS(IDLE, WARNING)->advice, "Ask for 2 cores (-c 2) instead of 4.");
	f.threads_peak = 8;
	has(SAYS(IDLE, WARNING)->advice, "find out what they wait for before asking for fewer");
	f.cpu_peak = 2.9;
	has(SAYS(IDLE, WARNING)->advice, "Ask for 3 cores (-c 3)");
	/* two ranks: -c is for each, and the busier one decides */
	f.ranks = 2;
	has(SAYS(IDLE, WARNING)->advice, "before asking for fewer");
	f.cores = 8;
	has(SAYS(IDLE, WARNING)->advice, "Ask for 4 cores (-c 2 for each of 2 ranks) instead of 8");
	f.rank_most = 280;
	has(SAYS(IDLE, WARNING)->advice, "Ask for 6 cores (-c 3 for each of 2 ranks) instead of 8");
	f.cores = 4;
	f.ranks = f.rank_most = NAN;
	f.cpu_peak = 4;
	has(SAYS(IDLE, WARNING)->advice, "used all of them at times");
	/* what failed, or goes on, has not shown what it needs */
	f.cpu_peak = 2;
	f.exitcode = 1;
	has(SAYS(IDLE, WARNING)->advice, "what a complete run needs is unknown");
	f.exitcode = 0;
	f.running = true;
	has(SAYS(IDLE, WARNING)->advice, "what a complete run needs is unknown");
	f.running = false;
	/* one core cannot be given back */
	f.cores = 1;
	f.cpu = 10;
	NONE(IDLE, WARNING);
	is(SAYS(IDLE, NOTE)->title, "it mostly waited, for an unknown reason");
	has(SAYS(IDLE, NOTE)->advice, "`plimsoll tree JOB` shows which processes took time without "
				      "using a CPU");
	has(SAYS(IDLE, NOTE)->advice, "`plimsoll run --sample 1s`");
	f.sampled = true;
	has(SAYS(IDLE, NOTE)->advice,
	    "`plimsoll series JOB -m process.cpu_percent --total` shows when");
	/* one of two is known */
	f.cpu_wait = 2;
	is(SAYS(IDLE, NOTE)->title, "it mostly waited, but not for a core");
	has(SAYS(IDLE, NOTE)->evidence, "; tasks waited 2 s for a core.");
	f.io_wait = 1;
	is(SAYS(IDLE, NOTE)->title, "it mostly waited, but not for CPU or storage");
	has(SAYS(IDLE, NOTE)->evidence, "; tasks waited 2 s for a core, 1 s for storage.");
	f.cpu_wait = f.io_wait = 0;
	is(SAYS(IDLE, NOTE)->title, "it mostly waited, but not for CPU or storage");
}

static void idle_machine(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.granted = false;
	f.cpu = f.duration = LIMIT(IDLE_TIME);
	has(SAYS(IDLE, NOTE)->title, "3 of 4 cores");
	f.cpu = f.duration = JUST_BELOW(LIMIT(IDLE_TIME));
	NONE(IDLE, NOTE);
}

static void kernel_time(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.cpu = 400;
	f.cpu_system = JUST_BELOW(LIMIT(SYSTEM)) * 400;
	is(SAYS(CPU, NOTE)->title, "the job was CPU-bound");
	f.cpu = 250;
	f.cpu_system = LIMIT(SYSTEM) * 250;
	/* "nothing" is never said above something */
	is(SAYS(CPU, NOTE)->title, "computing took most of the time");
	is(SAYS(CPU, NOTE)->advice, "`plimsoll tree JOB` shows where the time went.");
	/* the second of its kind */
	struct findings all = {0};
	findings_find(&all, &f);
	assert_int_equal(all.count, 2);
	is(all.list[1].title, "the kernel used much of the CPU time");
	is(all.list[1].evidence, "30 % of 4 min 10 s of CPU was system time.");
	findings_release(&all);
}

static void waiting(void **state)
{
	struct finding_figures f = sound();
	double share = LIMIT(CPU_WAIT);

	(void)state;
	f.cpu_wait = JUST_BELOW(share / (1 - share)) * f.cpu;
	NONE(WAITING, WARNING);
	f.cpu_wait = JUST_ABOVE(share / (1 - share)) * f.cpu;
	is(SAYS(WAITING, WARNING)->title, "it waited for a free core");
	has(SAYS(WAITING, WARNING)->evidence, "(20 % waiting)");
	has(SAYS(WAITING, WARNING)->advice, "--exclusive");
	has(SAYS(WAITING, WARNING)->advice, "bound to the same few");
	f.threads_peak = 12;
	has(SAYS(WAITING, WARNING)->advice, "--exclusive");
	/* its own threads filled the cores */
	f.cpu = 390;
	f.cpu_wait = 410;
	has(SAYS(WAITING, WARNING)->advice, "ask for 8 cores (-c 8)");
	f.threads_peak = NAN;
	/* what counts is the part of its time, in short jobs and in long ones */
	f.cpu = 1.2;
	f.cpu_wait = JUST_BELOW(LIMIT(WAITED)) * f.duration;
	NONE(WAITING, WARNING);
	f.cpu_wait = LIMIT(WAITED) * f.duration;
	SAYS(WAITING, WARNING);
	f.duration = 2.1;
	f.cpu = 0.582;
	f.cpu_wait = 0.549;
	is(SAYS(WAITING, WARNING)->evidence, "Tasks were ready to run for 549 ms without a core, "
					     "and ran for 582 ms (49 % waiting).");
	f.duration = JUST_BELOW(LIMIT(MOMENT));
	NONE(WAITING, WARNING);
	f.duration = 100;
	/* who waited has run: CPU that nobody counted yet is no share */
	f.cpu = 0;
	f.cpu_wait = 8.65;
	NONE(WAITING, WARNING);
	f.cpu = 1.2;
	/* pressure counts where tasks' own times are not known */
	f.cpu_pressure = 0.9;
	f.cpu_wait = 0;
	NONE(WAITING, WARNING);
	f.cpu_wait = NAN;
	f.cpu_pressure = LIMIT(CPU_PRESSURE);
	has(SAYS(WAITING, WARNING)->evidence, "20 % of the time");
	f.cpu_pressure = JUST_BELOW(LIMIT(CPU_PRESSURE));
	NONE(WAITING, WARNING);
}

static void throttled(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.throttled = JUST_BELOW(LIMIT(THROTTLED)) * f.duration;
	NONE(WAITING, WARNING);
	f.throttled = LIMIT(THROTTLED) * f.duration;
	f.threads_peak = 8;
	is(SAYS(WAITING, WARNING)->title, "its CPU limit throttled it");
	is(SAYS(WAITING, WARNING)->evidence, "Tasks were stopped for 5 s, 5 % of the time.");
	is(SAYS(WAITING, WARNING)->advice, "Ask for more cores, or start fewer threads.");
	f.cpu_wait = 0;
	has(SAYS(WAITING, WARNING)->advice, ": 2.2 were ready to run on average.");
	f.throttled = f.duration = 0;
	NONE(WAITING, WARNING);
}

/* ---- storage, network, memory --------------------------------------------------------------- */

static void storage(void **state)
{
	struct finding_figures f = sound();
	double share = LIMIT(IO_WAIT);

	(void)state;
	f.io_wait = JUST_BELOW(share / (1 - share)) * f.cpu;
	NONE(IO, WARNING);
	f.io_wait = JUST_ABOVE(share / (1 - share)) * f.cpu;
	f.stored_read = 2 * GIB;
	f.stored_written = GIB;
	is(SAYS(IO, WARNING)->title, "the job was I/O-bound");
	has(SAYS(IO, WARNING)->evidence, "2 GiB read, 1 GiB written.");
	has(SAYS(IO, WARNING)->advice, "Copy the input");
	f.stored_written = 3 * GIB;
	has(SAYS(IO, WARNING)->advice, "$TMPDIR");
	f.cpu = 0.1;
	f.io_wait = JUST_BELOW(LIMIT(WAITED)) * f.duration;
	NONE(IO, WARNING);
	f.io_wait = LIMIT(WAITED) * f.duration;
	SAYS(IO, WARNING);
	f.cpu = 200;
	f.io_wait = NAN;
	f.io_pressure = JUST_BELOW(LIMIT(IO_PRESSURE));
	NONE(IO, WARNING);
	f.io_pressure = LIMIT(IO_PRESSURE);
	has(SAYS(IO, WARNING)->evidence, "waited for storage 20 % of the time");
}

static void storage_by_amount(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.cores = 1;
	f.cpu = JUST_BELOW(LIMIT(COMPUTED)) * f.duration;
	f.stored_read = LIMIT(IO_RATE) * f.duration;
	is(SAYS(IO, WARNING)->title, "it mostly waited, most likely for storage");
	has(SAYS(IO, WARNING)->evidence, "1000 MiB went to and from storage (10 MiB/s)");
	f.stored_read *= 0.999;
	NONE(IO, WARNING);
	f.stored_read *= 2;
	f.cpu = LIMIT(COMPUTED) * f.duration;
	NONE(IO, WARNING);
	/* where waiting was measured there is no guess */
	f.cpu = 1;
	f.io_wait = 0;
	NONE(IO, WARNING);
}

static void small_calls(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.reads = LIMIT(CALL_RATE) * f.duration;
	f.read_bytes = LIMIT(CALL_SIZE) * f.reads;
	NONE(IO, NOTE);
	f.read_bytes -= 1;
	is(SAYS(IO, NOTE)->title, "it read in very small chunks");
	is(SAYS(IO, NOTE)->evidence, "10000 system calls per second moved 4096 bytes each.");
	f.reads -= 1;
	NONE(IO, NOTE);
	f.writes = 2 * LIMIT(CALL_RATE) * f.duration;
	f.write_bytes = 10 * f.writes;
	is(SAYS(IO, NOTE)->title, "it wrote in very small chunks");
}

static void network(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.network_speed = 1e9;
	f.network_rate = JUST_BELOW(LIMIT(NETWORK)) * 1e9;
	NONE(NETWORK, WARNING);
	f.network_rate = LIMIT(NETWORK) * 1e9;
	has(SAYS(NETWORK, WARNING)->evidence, "60 % of what the link can do");
}

static void memory(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.memory_limit = 16 * GIB;
	f.memory_used = JUST_BELOW(LIMIT(MEMORY_NEAR)) * 16 * GIB;
	NONE(MEMORY, WARNING);
	f.memory_used = LIMIT(MEMORY_NEAR) * 16 * GIB;
	is(SAYS(MEMORY, WARNING)->title, "its memory was nearly full");
	is(SAYS(MEMORY, WARNING)->evidence, "14.4 GiB in use of 16 GiB (90 %).");
	is(SAYS(MEMORY, WARNING)->advice, "Ask for --mem=20G.");
	f.memory_used = 8 * GIB;
	f.swap_used = JUST_BELOW(LIMIT(SWAP)) * 8 * GIB;
	NONE(MEMORY, WARNING);
	f.swap_used = LIMIT(SWAP) * 8 * GIB;
	is(SAYS(MEMORY, WARNING)->title, "part of its memory was swapped out");
	f.swap_used = 0;
	f.memory_pressure = JUST_BELOW(LIMIT(MEMORY_PRESSURE));
	NONE(MEMORY, WARNING);
	f.memory_pressure = LIMIT(MEMORY_PRESSURE);
	is(SAYS(MEMORY, WARNING)->title, "it waited for memory");
	f.memory_pressure = NAN;
	f.major_faults = JUST_BELOW(LIMIT(FAULTS)) * f.duration;
	NONE(MEMORY, WARNING);
	f.major_faults = LIMIT(FAULTS) * f.duration;
	has(SAYS(MEMORY, WARNING)->evidence, "100 page faults per second");
	has(SAYS(MEMORY, WARNING)->advice, "Files that it maps");
	/* without a known limit there is no number to ask for */
	f.swap_used = 8 * GIB;
	f.memory_limit = NAN;
	is(SAYS(MEMORY, WARNING)->advice, "Give it more memory, or make it use less.");
}

static void spare_memory(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.memory_limit = LIMIT(MEMORY_SMALL);
	f.memory_used = LIMIT(MEMORY_SPARE) * f.memory_limit;
	NONE(MEMORY, NOTE);
	f.memory_used *= 0.999;
	is(SAYS(MEMORY, NOTE)->title, "most of its memory was not used");
	is(SAYS(MEMORY, NOTE)->advice,
	   "Ask for --mem=1280M: it starts sooner, and others can run beside it.");
	f.memory_limit *= 0.999;
	f.memory_used *= 0.999;
	NONE(MEMORY, NOTE);
	f.memory_limit = 64 * GIB;
	f.memory_used = 8 * GIB;
	has(SAYS(MEMORY, NOTE)->advice, "--mem=10G");
	/* all processes at one time may have had more than the largest */
	f.memory_most = 12 * GIB;
	has(SAYS(MEMORY, NOTE)->advice, "--mem=15G");
	f.memory_most = 32 * GIB;
	NONE(MEMORY, NOTE);
	f.memory_most = NAN;
	f.memory_used = 10.0 * 1024 * 1024;
	has(SAYS(MEMORY, NOTE)->advice, "--mem=320M");
	/* what failed or was killed has not shown what it needs */
	f.exitcode = 143;
	NONE(MEMORY, NOTE);
	f.exitcode = 0;
	f.running = true;
	NONE(MEMORY, NOTE);
	f.running = false;
	/* what nobody asked for cannot be asked for less */
	f.granted = false;
	NONE(MEMORY, NOTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(computing),        cmocka_unit_test(lock_waiters),
		cmocka_unit_test(busy_with_others), cmocka_unit_test(idle_cores),
		cmocka_unit_test(idle_machine),     cmocka_unit_test(kernel_time),
		cmocka_unit_test(waiting),          cmocka_unit_test(throttled),
		cmocka_unit_test(storage),          cmocka_unit_test(storage_by_amount),
		cmocka_unit_test(small_calls),      cmocka_unit_test(network),
		cmocka_unit_test(memory),           cmocka_unit_test(spare_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
