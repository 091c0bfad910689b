/*
 * The books on processes that several speak of: pid namespaces, a run inside a run, parents that
 * could not be entered.
 */
#include "accounting.h"

/* Pid 2 in a pid namespace of its own. */
#define INSIDE(f, device, start_ms, end_ms)                                                      \
	frame(f, PL_START, 0, 2, start_ms, METRIC_PPID, U(1), METRIC_STARTTIME,                  \
	      U(start_ms) * 1000, METRIC_PROCDEV, U(device), 0);                                 \
	frame(f, PL_END, 0, 2, end_ms, METRIC_STARTTIME, U(start_ms) * 1000, METRIC_EXITCODE,    \
	      U(6), METRIC_USERTIME, U(900), METRIC_SYSTEMTIME, U(0), METRIC_PROCDEV, U(device), \
	      0)

/* Inside they are 2, outside 500 and 502, reported by both. */
static void test_namespace(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	INSIDE(&f, 77, 20, 40);
	INSIDE(&f, 78, 30, 40); /* begins a tick later, which the first must not be taken for */
	frame(&f, PL_REAP, PL_F_RUSAGE, 2, 90, METRIC_PPID, U(1), METRIC_EXITCODE, U(6),
	      METRIC_USERTIME, U(900), METRIC_SYSTEMTIME, U(0), METRIC_PROCDEV, U(77), 0);
	KEXIT(&f, 502, 400, 30, 41, 6, 1);
	KEXIT(&f, 500, 400, 20, 42, 6, 1);
	/* another one that ended the same way, without kernel record */
	REAP(&f, 501, 400, 43, 6, 50);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.by_preload, 2);
	assert_int_equal(s.by_reaper, 1);
	accounting_release(&b);
}

/* What threads used on their way out is in their process's own figure, and not in the kernel's. */
static void test_namespace_threads(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	INSIDE(&f, 77, 20, 40);
	frame(&f, PL_KEXIT, PL_F_CNPROC | PL_F_TASKSTATS, 500, 41, METRIC_PPID, U(400),
	      METRIC_BEGIN, U(20) * 1000000, METRIC_EXITCODE, U(6), METRIC_EXECS, U(1),
	      METRIC_NUMTIDS, U(2), METRIC_TIME_ONCPU, U(650) * 1000, 0);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	accounting_release(&b);
}

/* The same, where /proc inside is the one outside: it shows the outer pid. */
static void test_namespace_outer_proc(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	frame(&f, PL_START, 0, 1, 21, METRIC_PPID, U(0), METRIC_NSPID, U(500), METRIC_STARTTIME,
	      U(20) * 1000, 0);
	REAP(&f, 500, 400, 31, 0, 1000);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.itemised_us, 1000);
	assert_int_equal(s.missing, 0);
	accounting_release(&b);
}

/* Numbered namespaces under one /proc: what they say of themselves, and of their children, is told
 * apart by the number, and their own word joins them with what the kernel and the parent know. */
static void test_namespace_numbered(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	record_writer_begin(&f.w);
	record_writer_u64(&f.w, METRIC_BOOTTIME, 2);
	record_writer_u64(&f.w, METRIC_PROCDEV, DEVICE);
	record_writer_u64(&f.w, METRIC_PIDNS, 4000);
	record_writer_add(&f.w, PL_HOST, 0);
	for (uint64_t ns = 5001; ns <= 5002; ns++) {
		uint64_t outer = ns == 5001 ? 500 : 600;

		frame(&f, PL_START, 0, 1, 21, METRIC_PPID, U(0), METRIC_NSPID, outer, METRIC_PIDNS,
		      ns, METRIC_STARTTIME, U(20) * 1000, 0);
		/* its static child */
		frame(&f, PL_REAP, PL_F_RUSAGE, 2, 40, METRIC_PPID, U(1), METRIC_PIDNS, ns,
		      METRIC_EXITCODE, U(3), METRIC_USERTIME, U(700), METRIC_SYSTEMTIME, U(0), 0);
		KEXIT(&f, outer + 1, outer, 30, 39, 3, 1);
		frame(&f, PL_END, 0, 1, 50, METRIC_PIDNS, ns, METRIC_STARTTIME, U(20) * 1000,
		      METRIC_EXITCODE, U(0), METRIC_USERTIME, U(900), METRIC_SYSTEMTIME, U(0),
		      METRIC_CUTIME, U(700), METRIC_CSTIME, U(0), METRIC_NUMTIDS, U(1), 0);
		KEXIT(&f, outer, 400, 20, 51, 0, 1);
		REAP(&f, outer, 400, 52, 0, 1650);
	}
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 4);
	assert_int_equal(s.by_preload, 2);
	assert_int_equal(s.missing, 0);
	assert_int_equal(s.itemised_us, 2 * 1650);
	accounting_release(&b);
}

/* A run inside a run: both hear of an exit, and each puts the kernel's times into its own. */
static void test_two_listeners(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	frame(&f, PL_REAP, PL_F_RUSAGE, 100, 41, METRIC_PPID, U(RUN), METRIC_EXITCODE, U(0),
	      METRIC_USERTIME, U(900), METRIC_SYSTEMTIME, U(0), METRIC_STARTTIME, U(10) * 1000, 0);
	KEXIT(&f, 100, RUN, 15, 40, 0, 1);
	frame(&f, PL_KEXIT, PL_F_CNPROC, 100, 40, METRIC_PPID, U(RUN), METRIC_BEGIN, 15 * MS + 321,
	      METRIC_EXITCODE, U(0), METRIC_EXECS, U(1), METRIC_NUMTIDS, U(1), 0);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.itemised_us, 900);
	accounting_release(&b);
}

/* A forked copy waits for a child and then executes a static program: the child is not its own. */
static void test_copy_that_waits(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, 102, 101, 20, 21);
	END(&f, 102, 20, 30, 0, 5000, 0);
	REAP(&f, 102, 101, 31, 0, 5100);
	REAP(&f, 101, 100, 41, 0, 6000);
	END(&f, 100, 10, 50, 0, 1000, 6000);
	REAP(&f, 100, RUN, 51, 0, 7100);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.itemised_us, 7100);
	assert_int_equal(b.unwaited_us, 0);
	accounting_release(&b);
}

/* Children of a parent that spoke: waited for past the library, or by nobody. */
static void test_unseen_waits(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	for (int waited = 0; waited < 2; waited++) {
		file_open(&f);
		START(&f, 100, RUN, 10, 11);
		START(&f, 101, 100, 20, 21);
		END(&f, 101, 20, 30, 0, 5000, 0);
		END(&f, 100, 10, 50, 0, 1000, waited ? 5200 + 30000 : 0);
		REAP(&f, 100, RUN, 51, 0, 1100 + (waited ? 5200 + 30000 : 0));
		load(&b, &f, 1, &s);
		assert_int_equal(s.itemised_us, 6100);
		assert_int_equal(b.unwaited_us, waited ? 0 : 5000);
		/* and the 30 ms of one that nobody named */
		assert_int_equal(b.unclaimed_us, waited ? 30200 : 0);
		accounting_release(&b);
	}
}

/* A look at a process tells the tick that it began in. */
#define PEEK(f, pid, ppid, start_ms, ms) \
	frame(f, PL_PEEK, 0, pid, ms, METRIC_PPID, U(ppid), METRIC_STARTTIME, U(start_ms) * 1000, 0)

/* Forks of a static program, one below the other, all begun in one tick: what the last of their
 * children used is taken off the one that was waited for, whoever was looked at first. */
static void test_generations_in_one_tick(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	for (int upwards = 0; upwards < 2; upwards++) {
		file_open(&f);
		PEEK(&f, 100, RUN, 10, 12);
		for (unsigned i = 1; i <= 4; i++) {
			unsigned pid = 100 + (upwards ? 5 - i : i);

			PEEK(&f, pid, pid - 1, 10, 15);
		}
		START(&f, 105, 104, 10, 21);
		END(&f, 105, 10, 60, 0, 40000, 0);
		for (unsigned pid = 105; pid > 100; pid--)
			KEXIT(&f, pid, pid - 1, 14, 61, 0, pid == 105);
		REAP(&f, 100, RUN, 62, 0, 50000);
		load(&b, &f, 1, &s);
		assert_int_equal(s.processes, 6);
		assert_int_equal(s.itemised_us, 50000);
		assert_int_equal(b.unwaited_us, 0);
		accounting_release(&b);
	}
}

/* Nobody looked at the parent, whose begin is exact; its child's tick is before that. */
static void test_child_in_an_earlier_tick(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	PEEK(&f, 100, RUN, 10, 12);
	PEEK(&f, 102, 101, 20, 30);
	START(&f, 102, 101, 20, 31);
	END(&f, 102, 20, 80, 0, 40000, 0);
	KEXIT(&f, 102, 101, 26, 81, 0, 1);
	KEXIT(&f, 101, 100, 25, 82, 0, 0);
	REAP(&f, 100, RUN, 83, 0, 50000);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.itemised_us, 50000);
	assert_int_equal(b.processes[2].reaped_user_us, 40000);
	accounting_release(&b);
}

/* A forked copy whose thread ended is killed. Only its thread spoke, which does not say when the
 * copy began; its parent waited for it before the supervisor came to write down that it had looked
 * at it. The pid is used again after that. */
static void test_look_that_is_told_late(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	frame(&f, PL_THREAD, 0, 200, 40, METRIC_TID, U(201), METRIC_IMAGE_PID, U(100),
	      METRIC_STARTTIME, U(20000), METRIC_BEGIN, 27 * MS, 0);
	REAP_SIGNAL(&f, 200, 100, 60, 9, 2000);
	PEEK(&f, 200, 100, 20, 50);
	frame(&f, PL_KEXIT, PL_F_CNPROC, 200, 59, METRIC_PPID, U(100), METRIC_BEGIN, 26 * MS,
	      METRIC_EXITSIGNAL, U(9), METRIC_EXECS, U(0), METRIC_NUMTIDS, U(2), 0);
	PEEK(&f, 200, 100, 70, 80);
	KEXIT(&f, 200, 100, 75, 90, 3, 0);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.signalled, 1);
	assert_int_equal(s.failed, 1);
	assert_int_equal(b.processes[1].ppid, 100);
	assert_int_equal(b.processes[1].threads_kernel, 2);
	assert_int_equal(b.processes[1].reap_cpu_us, 2000);
	accounting_release(&b);
}

static uint64_t parent_of(struct accounting *b, uint64_t pid)
{
	uint64_t ppid = 0;
	struct row row;

	row_init(&row);
	for (size_t i = 0; i < b->image_count; i++)
		if (image_row(b, &b->images[i], &row) == 0 && row_get(&row, METRIC_PID, 0) == pid)
			ppid = row_get(&row, METRIC_PPID, 0);
	row_release(&row);
	return ppid;
}

/* Whoever adopts a process did not start it: by its first program, by the kernel's word of its
 * fork, by a look of those who have that, and by a copy that remembers. */
static void test_parents_that_go_first(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, 200, 100, 20, 21);
	EXEC(&f, 200, 20, 25, 100);
	START(&f, 200, RUN, 20, 26);
	START(&f, 300, RUN, 20, 21);
	KEXIT(&f, 300, 100, 20, 30, 0, 1);
	START(&f, 400, RUN, 20, 21);
	frame(&f, PL_PEEK, PL_F_CNPROC, 400, 30, METRIC_PPID, U(100), METRIC_STARTTIME, U(20000),
	      0);
	frame(&f, PL_END, PL_F_FORK, 500, 30, METRIC_IMAGE_PID, U(100), METRIC_PPID, U(RUN),
	      METRIC_FORKER, U(100), METRIC_STARTTIME, U(20000), METRIC_EXITCODE, U(0), 0);
	REAP(&f, 600, RUN, 30, 0, 100);
	KEXIT(&f, 600, 100, 20, 31, 0, 1);
	load(&b, &f, 1, &s);
	for (uint64_t pid = 200; pid <= 600; pid += 100)
		assert_int_equal(parent_of(&b, pid), 100);
	assert_int_equal(parent_of(&b, 100), RUN);
	accounting_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_namespace_threads),
		cmocka_unit_test(test_namespace_outer_proc),
		cmocka_unit_test(test_namespace_numbered),
		cmocka_unit_test(test_two_listeners),
		cmocka_unit_test(test_copy_that_waits),
		cmocka_unit_test(test_unseen_waits),
		cmocka_unit_test(test_generations_in_one_tick),
		cmocka_unit_test(test_child_in_an_earlier_tick),
		cmocka_unit_test(test_parents_that_go_first),
		cmocka_unit_test(test_look_that_is_told_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
