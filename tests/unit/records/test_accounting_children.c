/*
 * The books of children that nobody was seen to wait for, on records made up here: what their
 * parents' reaper was told is theirs, too, and must be counted once.
 */
#include "accounting.h"

/* The kernel's report of an end, with the CPU time that it knew of; where nobody told of the fork,
 * the begin is that of a clock tick. */
#define TASKSTATS(f, pid, ppid, begin_ms, ms, cpu)                                       \
	frame(f, PL_KEXIT, PL_F_TASKSTATS, pid, ms, METRIC_PPID, U(ppid), METRIC_BEGIN,  \
	      U(begin_ms) * MS, METRIC_EXITCODE, U(0), METRIC_TIME_ONCPU, U(cpu) * 1000, \
	      METRIC_NUMTIDS, U(1), 0)

/* A program that could not be entered starts a shell, the shell a program, both in one tick. Who is
 * heard of first makes no difference, nor who has the larger pid: pids begin anew. */
static void check_one_tick(uint64_t shell, uint64_t program, bool program_first)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	file_open(&f);
	TASKSTATS(&f, 90, 100, 10, 12, 100); /* keeps the order from being that of the file */
	if (program_first)
		TASKSTATS(&f, program, shell, 20, 40, 5000);
	TASKSTATS(&f, shell, 100, 20, 41, 300);
	if (!program_first)
		TASKSTATS(&f, program, shell, 20, 40, 5000);
	TASKSTATS(&f, 100, RUN, 5, 50, 1000);
	REAP(&f, 100, RUN, 51, 0, 6500);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 4);
	assert_int_equal(s.itemised_us, 100 + 5000 + 300 + 1000);
	/* what the kernel's reports lack of the last moments, and nothing of what they have */
	assert_int_equal(s.unseen_tail_us, 6500 - s.itemised_us);
	accounting_release(&b);
}

static void test_one_tick(void **state)
{
	(void)state;
	check_one_tick(101, 102, true);
	check_one_tick(101, 102, false);
	check_one_tick(32767, 301, true);
	check_one_tick(32767, 301, false);
}

/* A program that closes the door on us tells of the children before that, and of none after. */
static void test_behind_a_filter(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	TASKSTATS(&f, 101, 100, 12, 15, 700);
	frame(&f, PL_END, PL_F_LAST, 100, 20, METRIC_STARTTIME, U(10) * 1000, METRIC_USERTIME,
	      U(1000), METRIC_SYSTEMTIME, U(0), METRIC_CUTIME, U(700), METRIC_CSTIME, U(0),
	      METRIC_NUMTIDS, U(1), 0);
	TASKSTATS(&f, 102, 100, 25, 30, 2000);
	REAP(&f, 100, RUN, 41, 0, 6000);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.silent, 1);
	assert_int_equal(s.itemised_us, 6000);
	accounting_release(&b);
}

/* The end of a child of system(): a REAP without a pid. */
static void reap_unnamed(struct file *f, uint64_t parent, uint64_t since_ms, uint64_t ms)
{
	record_writer_begin(&f->w);
	record_writer_u64(&f->w, METRIC_BEGIN, since_ms * MS);
	record_writer_u64(&f->w, METRIC_PPID, parent);
	record_writer_u64(&f->w, METRIC_PROCDEV, DEVICE);
	record_writer_u64(&f->w, METRIC_BOOTTIME, ms * MS);
	record_writer_u64(&f->w, METRIC_EXITCODE, 0);
	record_writer_u64(&f->w, METRIC_USERTIME, 900);
	record_writer_u64(&f->w, METRIC_SYSTEMTIME, 0);
	record_writer_add(&f->w, PL_REAP, PL_F_RUSAGE);
}

/* A shell of system() and a program that another thread waits for by its pid, both at an end. Who
 * of them came first, or speaks again, makes no difference. */
static void check_beside(uint64_t shell, uint64_t program, bool late)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, shell < program ? shell : program, 100, 20, 22);
	START(&f, shell < program ? program : shell, 100, 20, 23);
	if (!late)
		END(&f, program, 20, 30, 0, 500, 0);
	END(&f, shell, 20, 31, 0, 700, 0);
	reap_unnamed(&f, 100, 21, 40);
	if (late)
		END(&f, program, 20, 45, 0, 500, 0);
	REAP(&f, program, 100, 50, 0, 600);
	END(&f, 100, 10, 60, 0, 1000, 1500);
	REAP(&f, 100, RUN, 61, 0, 2600);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.exited, 3);
	assert_int_equal(s.itemised_us, 900 + 600 + 1100);
	accounting_release(&b);
}

static void test_beside_system(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		check_beside(101, 102, late);
		check_beside(102, 101, late);
	}
}

/* The only one that fits is waited for by its pid: the shell could not be entered. */
static void test_only_one_fits(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, 101, 100, 20, 22);
	END(&f, 101, 20, 30, 0, 500, 0);
	reap_unnamed(&f, 100, 21, 40);
	REAP(&f, 101, 100, 50, 0, 600);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 2);
	assert_int_equal(s.itemised_us, 600);
	accounting_release(&b);
}

/* A shell of system(), and its pid again for a program that could not be entered. */
static void test_pid_used_again(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, 101, 100, 20, 22);
	END(&f, 101, 20, 30, 0, 700, 0);
	reap_unnamed(&f, 100, 21, 40);
	REAP(&f, 101, 100, 5000, 3, 60);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.itemised_us, 900 + 60);
	accounting_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_tick),       cmocka_unit_test(test_behind_a_filter),
		cmocka_unit_test(test_beside_system),  cmocka_unit_test(test_only_one_fits),
		cmocka_unit_test(test_pid_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
