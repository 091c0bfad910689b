/* What bounded a job by how it ended and by its parts: every rule at both sides of its limits, and
 * what it then says. There is always a finding. */
#include "findings.h"

#include <fcntl.h>

#include "core/files/fs.h"

/* ---- how it ended --------------------------------------------------------------------------- */

static void out_of_memory(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.oom_kills = 0;
	NONE(OOM, SEVERE);
	f.oom_kills = 1;
	f.exitcode = 137;
	f.memory_limit = 8 * GIB;
	f.memory_used = 7.5 * GIB;
	is(SAYS(OOM, SEVERE)->title, "it ran out of memory");
	is(SAYS(OOM, SEVERE)->evidence,
	   "The kernel killed 1 process because memory was short; 7.5 GiB in use of 8 GiB.");
	is(SAYS(OOM, SEVERE)->advice, "Ask for --mem=12G, or spread the job over more hosts.");
	/* told once, not as a signal and a failure and full memory too */
	NONE(KILLED, SEVERE);
	NONE(FAILED, SEVERE);
	NONE(MEMORY, WARNING);
	f.granted = false;
	is(SAYS(OOM, SEVERE)->advice,
	   "Give it more than 8 GiB (the limit of its cgroup), or make it use less.");
	f.memory_limit = NAN;
	has(SAYS(OOM, SEVERE)->advice, "Ask for more memory than it had");
	f.memory_limit = 8 * GIB;
	/* without the kernel's word: SIGKILL with memory nearly full */
	f.oom_kills = NAN;
	f.killed = f.signalled = 1;
	is(SAYS(OOM, SEVERE)->title, "it most likely ran out of memory");
	f.memory_used = JUST_BELOW(LIMIT(MEMORY_NEAR)) * f.memory_limit;
	NONE(OOM, SEVERE);
	SAYS(KILLED, SEVERE);
}

static void killed(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.exitcode = 128;
	NONE(KILLED, SEVERE);
	SAYS(FAILED, SEVERE);
	f.exitcode = 143;
	is(SAYS(KILLED, SEVERE)->title, "ended by signal 15 (Terminated)");
	has(SAYS(KILLED, SEVERE)->advice, "ask for more time than it took");
	assert_null(strstr(SAYS(KILLED, SEVERE)->advice, "--time"));
	f.exitcode = 137;
	has(SAYS(KILLED, SEVERE)->advice, "Who killed it is unknown");
	assert_null(strstr(SAYS(KILLED, SEVERE)->advice, "--time"));
	f.exitcode = 143;
	NONE(FAILED, SEVERE);
	f.exitcode = 139;
	has(SAYS(KILLED, SEVERE)->advice, "core file");
	f.exitcode = 193;
	NONE(KILLED, SEVERE);
	f = sound();
	f.signalled = 3;
	f.signals = "1 by SIGKILL, 2 by SIGTERM";
	is(SAYS(KILLED, NOTE)->evidence,
	   "3 of 10 processes: 1 by SIGKILL, 2 by SIGTERM; the job itself was not ended by one.");
	f.signalled = 0;
	NONE(KILLED, NOTE);
}

static void failed(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.exitcode = 2;
	f.failed = 1;
	f.failed_name = "ls";
	is(SAYS(FAILED, SEVERE)->title, "it failed with exit status 2");
	is(SAYS(FAILED, SEVERE)->evidence,
	   "1 of 10 processes ended with a status other than 0, ls with 2 as the job.");
	f.failed = 0;
	f.failed_name = NULL;
	is(SAYS(FAILED, SEVERE)->advice,
	   "Look at its output: all known processes ended with status 0.");
	/* sampled: nothing is known of ends */
	f.failed = f.processes = NAN;
	is(SAYS(FAILED, SEVERE)->evidence, "The exit status of the job is 2.");
	is(SAYS(FAILED, SEVERE)->advice, "Look at its output; `plimsoll run` also records how "
					 "each process ended.");
	f = sound();
	f.failed_name = "ls";
	NONE(FAILED, SEVERE);
	NONE(FAILED, NOTE);
	f.failed = LIMIT(FAILED_COUNT);
	f.processes = f.failed / LIMIT(FAILED_SHARE);
	has(SAYS(FAILED, NOTE)->title, "10 processes failed");
	f.processes++;
	NONE(FAILED, NOTE);
	f.processes = f.failed = LIMIT(FAILED_COUNT) - 1;
	NONE(FAILED, NOTE);
	/* a job whose end is not known has not failed */
	f = sound();
	f.exitcode = NAN;
	NONE(FAILED, SEVERE);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void unequal(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.ranks = 4;
	f.rank_mean = 10;
	f.rank_most = JUST_BELOW(LIMIT(RANKS)) * 10;
	f.rank_name = "3";
	NONE(IMBALANCE, WARNING);
	f.rank_most = LIMIT(RANKS) * 10;
	is(SAYS(IMBALANCE, WARNING)->title, "load imbalance between ranks");
	is(SAYS(IMBALANCE, WARNING)->evidence,
	   "Rank 3 used 12.5 s of CPU, 10 s is the mean of 4: the others waited up to 20 % of the "
	   "time.");
	f.ranks = 1;
	NONE(IMBALANCE, WARNING);
	f.ranks = 4;
	f.rank_mean = JUST_BELOW(LIMIT(UNEVEN_CPU));
	NONE(IMBALANCE, WARNING);
	f.hosts = 2;
	f.host_name = "n1";
	f.host_mean = LIMIT(UNEVEN_CPU);
	f.host_most = LIMIT(HOSTS) * LIMIT(UNEVEN_CPU);
	is(SAYS(IMBALANCE, WARNING)->title, "load imbalance between hosts");
	has(SAYS(IMBALANCE, WARNING)->evidence, "Host n1 used 1.25 s");
	f.host_most = JUST_BELOW(f.host_most);
	NONE(IMBALANCE, WARNING);
}

static void short_processes(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.processes = LIMIT(BRIEF_COUNT);
	f.brief = LIMIT(BRIEF_SHARE) * f.processes;
	f.brief_cpu = 22;
	f.brief_name = "sed";
	is(SAYS(SHORT, WARNING)->title, "800 very short processes");
	is(SAYS(SHORT, WARNING)->evidence,
	   "80 % of 1,000 processes lived less than 0.1 s and used 10 % of the CPU time; 10.0 were "
	   "started per second.");
	has(SAYS(SHORT, WARNING)->advice, "Most of them run 'sed'");
	/* it does not say what took the time: that is told, too */
	SAYS(CPU, NOTE);
	f.brief--;
	NONE(SHORT, WARNING);
	f.brief = f.processes = LIMIT(BRIEF_COUNT) - 1;
	NONE(SHORT, WARNING);
	f.brief = f.processes = LIMIT(BRIEF_COUNT);
	f.duration = f.processes / LIMIT(BRIEF_RATE);
	SAYS(SHORT, WARNING);
	f.duration *= 1.001;
	NONE(SHORT, WARNING);
}

static void gpus(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.gpus = 0;
	f.gpus_idle = 0;
	NONE(GPU, WARNING);
	f.gpus = 4;
	f.gpu_busy = LIMIT(GPU_LOW);
	NONE(GPU, NOTE);
	f.gpu_busy = JUST_BELOW(LIMIT(GPU_LOW));
	is(SAYS(GPU, NOTE)->title, "the GPUs waited most of the time");
	f.gpus_idle = 3;
	is(SAYS(GPU, WARNING)->title, "3 of 4 GPUs were idle");
	is(SAYS(GPU, WARNING)->advice, "Ask for --gpus=1, or let the program use all of them.");
	f.gpus = f.gpus_idle = 1;
	is(SAYS(GPU, WARNING)->title, "1 of 1 GPU was idle");
	has(SAYS(GPU, WARNING)->advice, "Ask for no GPU");
	f.exitcode = 1;
	has(SAYS(GPU, WARNING)->advice, "what a complete run needs is unknown");
	f.exitcode = 0;
	f.granted = false;
	has(SAYS(GPU, WARNING)->advice, "the idle ones may ");
}

static void accounting(void **state)
{
	struct finding_figures f = sound();

	(void)state;
	f.accounting_total = LIMIT(ACCOUNTING_CPU);
	f.accounting_itemised = f.accounting_total * (1 - JUST_BELOW(LIMIT(ACCOUNTING)));
	NONE(ACCOUNTING, NOTE);
	f.accounting_itemised = f.accounting_total * (1 - JUST_ABOVE(LIMIT(ACCOUNTING)));
	is(SAYS(ACCOUNTING, NOTE)->title, "5 % of CPU time is unaccounted");
	f.accounting_total *= 0.999;
	NONE(ACCOUNTING, NOTE);
	/* itemised twice is not missing */
	f.accounting_total = 10;
	f.accounting_itemised = 20;
	NONE(ACCOUNTING, NOTE);
}

/* ---- always one ------------------------------------------------------------------------------ */

static void nothing_known(void **state)
{
	struct finding_figures f;

	(void)state;
	finding_figures_init(&f);
	is(SAYS(ACCOUNTING, NOTE)->title, "too little is known for a verdict");
	is(SAYS(ACCOUNTING, NOTE)->evidence, "No CPU time was recorded or sampled.");
	f.cpu = 1;
	is(SAYS(ACCOUNTING, NOTE)->evidence, "Its duration is unknown.");
	f = sound();
	f.duration = JUST_BELOW(LIMIT(MOMENT));
	f.granted = false;
	f.cpu = 0.5;
	is(SAYS(ACCOUNTING, NOTE)->title, "too short for a verdict");
	f.duration = LIMIT(MOMENT);
	NONE(ACCOUNTING, NOTE);
}

/* No combination of absurd figures may lead to a text that is none. */
static void absurd(void **state)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, -1, 0, 9.3e18};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			struct finding_figures f = sound();
			struct findings all = {0};

			f.duration = values[i];
			f.cpu = f.cpu_wait = f.io_wait = values[k];
			f.memory_used = f.memory_limit = f.swap_used = values[k];
			f.processes = f.brief = f.failed = values[i];
			f.gpus = f.gpus_idle = f.exitcode = values[k];
			f.ranks = f.rank_mean = f.rank_most = values[i];
			f.threads_peak = f.cores = values[k];
			findings_find(&all, &f);
			assert_true(all.count >= 1);
			for (size_t n = 0; n < all.count; n++)
				assert_true(strlen(all.list[n].title) < 400);
			findings_release(&all);
		}
}

static void names_and_reasons(void **state)
{
	(void)state;
	for (int k = FINDING_CPU; k <= FINDING_ACCOUNTING; k++)
		assert_true(*finding_kind_name((enum finding_kind)k));
	is(finding_weight_name(FINDING_SEVERE), "severe");
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		assert_non_null(finding_limits[i].name);
		assert_true(strlen(finding_limits[i].reason) > 10);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(finding_limits[i].name, finding_limits[k].name);
	}
}

/* The manual has every limit with its value and reason. */
static void documented(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_close_ int dir = open(getenv("PL_SOURCE"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fs_read(dir, "docs/reports.md", 1 << 20, &text), 0);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const struct finding_limit *l = &finding_limits[i];
		_cleanup_free_ char *row =
			xasprintf("\n| `%s` | %.10g | %s |\n", l->name, l->value, l->reason);

		has(text.buf, row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_memory),   cmocka_unit_test(killed),
		cmocka_unit_test(failed),          cmocka_unit_test(unequal),
		cmocka_unit_test(short_processes), cmocka_unit_test(gpus),
		cmocka_unit_test(accounting),      cmocka_unit_test(nothing_known),
		cmocka_unit_test(absurd),          cmocka_unit_test(names_and_reasons),
		cmocka_unit_test(documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
