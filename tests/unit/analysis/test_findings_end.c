/* Findings about how a job ended, and about memory, network and GPUs. */
#include "findings.h"

#include <fcntl.h>

#include "core/files/fs.h"

static struct finding_figures busy(void)
{
	return job_with(CORE_USER, 390);
}

static void failures_come_first(void **state)
{
	struct finding_figures f = job_with(CORE_LOCK, 400);

	(void)state;
	f.exitcode = 3;
	f.failed = 2;
	f.failed_name = "model";
	VERDICT(FAILED);
	assert_int_equal(verdict_of(&f)->weight, FINDING_SEVERE);
	has(verdict_of(&f)->details, "odel ended with status 3, as the job did");
	assert_string_equal(verdict_of(&f)->command, "plimsoll procs 4711 --failed");
	(void)SAYS(LOCK);
	f.failed_name = "timeout";
	f.exitcode = 124;
	VERDICT(FAILED);
	has(verdict_of(&f)->details, "124: the time that it was given was over");
	has(verdict_of(&f)->advice, "`plimsoll where 4711`");
	f.exitcode = 128 + 9;
	VERDICT(KILLED);
	f.exitcode = 128 + 11;
	VERDICT(CRASHED);
	NONE(FAILED);
	f.exitcode = 128 + 15;
	f.cut_off = "SIGTERM came from outside, at the time limit of the batch job";
	f.at_time_limit = true;
	f.time_limit = 100;
	VERDICT(TIME_LIMIT);
	NONE(KILLED);
	never(&f, "--time=");
}

/* Also where the script ends with 0. */
static void a_child_that_crashed_is_named(void **state)
{
	struct finding_figures f = busy();

	(void)state;
	f.signalled = f.crashed = 1;
	f.crash_signal = 11;
	f.crash_name = "solver";
	VERDICT(CRASHED);
	has(verdict_of(&f)->title, "solver crashed: Segmentation fault (SIGSEGV)");
	has(verdict_of(&f)->details, "the job still ended with status 0");
	NONE(KILLED);
	f.crash_step = "2";
	has(verdict_of(&f)->title, "solver crashed in step 2: Segmentation fault (SIGSEGV)");
	assert_string_equal(verdict_of(&f)->evidence[0].where, "solver, step 2");
	/* processes that a script ends are a note */
	f.crashed = 0;
	f.signalled = 2;
	f.signals = "2 by SIGTERM";
	f.signal = 15;
	f.signal_name = "watcher";
	f.signal_step = "1";
	has(SAYS(KILLED)->title, "watcher was ended by SIGTERM in step 1, and 1 process more");
	assert_int_equal(SAYS(KILLED)->weight, FINDING_NOTE);
	VERDICT(COMPUTE);
}

static void out_of_memory(void **state)
{
	struct finding_figures f = busy();

	(void)state;
	f.exitcode = 137;
	f.killed = f.signalled = 1;
	f.killed_name = "model";
	f.oom_kills = 1;
	f.memory_used = 1.9 * GIB;
	f.memory_limit = 2 * GIB;
	VERDICT(OOM);
	has(verdict_of(&f)->details, "(model, SIGKILL); 1.9 GiB in use of 2 GiB");
	has(verdict_of(&f)->advice, "--mem=3072M");
	NONE(KILLED);
	NONE(MEMORY_LIMIT);
	never(&f, "--time");
	/* not counted: most likely, with memory nearly full */
	f.oom_kills = NAN;
	VERDICT(OOM);
	has(verdict_of(&f)->title, "most likely");
	f.memory_used = 1 * GIB;
	VERDICT(KILLED);
}

static void what_did_not_complete_is_told_no_request(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct finding_figures f = job_with(CORE_USER, 100);

		f.threads_peak = 1;
		f.cpu_peak = 1;
		f.memory_used = f.memory_most = 1 * GIB;
		f.memory_limit = 64 * GIB;
		has(SAYS(SERIAL)->advice, "-c 1");
		if (i == 0)
			f.exitcode = 1;
		else if (i == 1)
			f.running = true;
		else if (i == 2)
			f.cut_off = "SIGTERM came from outside";
		else if (i == 3)
			f.crashed = 1;
		else
			f.unseen = 1;
		never(&f, "-c 1");
		never(&f, "--mem=");
		never(&f, "--time=");
	}
}

static void memory(void **state)
{
	struct finding_figures f = busy();

	(void)state;
	f.memory_used = 9.5 * GIB;
	f.memory_limit = 10 * GIB;
	VERDICT(MEMORY_LIMIT);
	has(verdict_of(&f)->advice, "--mem=13G");
	f.memory_used = 5 * GIB;
	NONE(MEMORY_LIMIT);
	f.swap_used = 1 * GIB;
	VERDICT(MEMORY_LIMIT);
	/* grows to the end; fills up and stays; too little */
	f = busy();
	f.memory_first = 100 * MIB;
	f.memory_last = 1000 * MIB;
	f.memory_rising = 0.95;
	VERDICT(MEMORY_GROWTH);
	f.memory_rising = 0.3;
	NONE(MEMORY_GROWTH);
	f.memory_rising = 1;
	f.memory_first = 980 * MIB;
	NONE(MEMORY_GROWTH);
}

static void hardware(void **state)
{
	struct finding_figures f = busy();

	(void)state;
	f.cycles = 1e12;
	f.instructions = 0.3e12;
	f.misses = 1e10;
	VERDICT(MEMORY_BANDWIDTH);
	f.instructions = 2e12;
	VERDICT(COMPUTE);
	f.network_rate = 110e6;
	f.network_speed = 125e6;
	VERDICT(NETWORK_BANDWIDTH);
	f = busy();
	f.gpus = 2;
	f.gpus_idle = 1;
	f.gpu_busy = 0.4;
	/* a GPU of the machine that it did not ask for */
	VERDICT(COMPUTE);
	f.gpus_asked = 2;
	VERDICT(GPU_IDLE);
	has(verdict_of(&f)->title, "1 of 2 GPUs were idle");
	has(verdict_of(&f)->advice, "--gpus=1");
	f.exitcode = 1;
	never(&f, "--gpus=");
	f = busy();
	f.gpus = 1;
	f.gpus_idle = 0;
	f.gpu_busy = 0.95;
	f.gpus_asked = 1;
	VERDICT(GPU_BOUND);
}

static void gpus_that_work_are_waited_for(void **state)
{
	struct finding_figures f = job_with(CORE_USER, 100);

	(void)state;
	/* one core feeds a GPU that works most of the time: more cores would wait for it */
	f.gpus = 1;
	f.gpus_idle = 0;
	f.gpu_processes = 1;
	f.gpu_busy = 0.7;
	VERDICT(GPU_BOUND);
	assert_float_equal(verdict_of(&f)->saving, 70, 0.1);
	has(verdict_of(&f)->details, "1 GPU was busy 70 % of the time");
	assert_float_equal(SAYS(SERIAL)->saving, 0.3 * 75, 0.1);
	/* less than half of the time: it waits for the core */
	f.gpu_busy = 0.42;
	VERDICT(SERIAL);
	assert_float_equal(verdict_of(&f)->saving, 75, 0.1);
	NONE(GPU_BOUND);
	/* a GPU of somebody else */
	f.gpu_processes = 0;
	f.gpu_busy = 0.7;
	VERDICT(SERIAL);
	NONE(GPU_BOUND);
	/* it waited for one that nobody measured */
	f = job_with(CORE_DEVICE, 90);
	f.gpus = 0;
	f.partner[WAIT_DEVICE] = "ioctl /dev/kfd";
	VERDICT(GPU_BOUND);
	has(verdict_of(&f)->details, "mostly in ioctl /dev/kfd");
	assert_float_equal(verdict_of(&f)->saving, 90, 0.1);
	/* some of its own had nothing to do */
	f = job_with(CORE_USER, 390);
	f.gpus = 4;
	f.gpus_idle = 2;
	f.gpu_processes = 2;
	f.gpu_busy = 0.6;
	has(SAYS(GPU_IDLE)->title, "2 of 4 GPUs were idle");
	NONE(GPU_BOUND);
	/* all of them, although the program opened one: more data would not help */
	f.gpus = f.gpus_idle = f.gpu_processes = 1;
	f.gpu_busy = 0.001;
	f.granted = false;
	has(SAYS(GPU_IDLE)->advice, "check that its work is sent there");
}

static void not_accounted_for(void **state)
{
	struct finding_figures f = busy();

	(void)state;
	f.accounting_total = 100;
	f.accounting_itemised = 80;
	has(SAYS(UNMEASURED)->title, "20 % of CPU time is unaccounted");
	VERDICT(COMPUTE);
	/* a process whose end nobody saw */
	f = job_with(CORE_USER, 0);
	f.time = (struct core_time){0};
	f.unseen = 1;
	f.cpu = NAN;
	VERDICT(UNMEASURED);
	has(verdict_of(&f)->details, "of 1 process are unknown");
}

static void every_id_has_a_name(void **state)
{
	(void)state;
	assert_int_equal(FINDING_COUNT, 32);
	for (size_t i = 0; i < FINDING_COUNT; i++) {
		assert_true(*finding_ids[i].name && *finding_ids[i].meaning);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(finding_ids[i].name, finding_ids[k].name);
	}
}

/* The tables of the documents are those of the program. */
static void documented(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, where = STRBUF_INIT;
	_cleanup_close_ int dir = open(getenv("PL_SOURCE"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fs_read(dir, "docs/reports.md", 1 << 20, &text), 0);
	assert_int_equal(fs_read(dir, "docs/where.md", 1 << 20, &where), 0);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const struct finding_limit *l = &finding_limits[i];
		_cleanup_free_ char *row =
			xasprintf("\n| `%s` | %.10g | %s |\n", l->name, l->value, l->reason);

		has(text.buf, row);
	}
	for (size_t i = 0; i < FINDING_COUNT; i++) {
		static const char *const groups[] = {"failure", "cause", "general", "resource"};
		_cleanup_free_ char *row =
			xasprintf("\n| `%s` | %s | %s |\n", finding_ids[i].name,
				  groups[finding_ids[i].group], finding_ids[i].meaning);

		has(text.buf, row);
	}
	for (size_t i = 0; i < CORE_PARTS; i++) {
		_cleanup_free_ char *row =
			xasprintf("\n| `%s` | %s | ", core_parts[i].name, core_parts[i].words);

		has(where.buf, row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_come_first),
		cmocka_unit_test(a_child_that_crashed_is_named),
		cmocka_unit_test(out_of_memory),
		cmocka_unit_test(what_did_not_complete_is_told_no_request),
		cmocka_unit_test(memory),
		cmocka_unit_test(hardware),
		cmocka_unit_test(gpus_that_work_are_waited_for),
		cmocka_unit_test(not_accounted_for),
		cmocka_unit_test(every_id_has_a_name),
		cmocka_unit_test(documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
