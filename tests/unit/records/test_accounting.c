/*
 * The books on records made up here: every order of events that a real machine produces too rarely
 * to wait for. Each test writes a record file frame by frame and looks at what it adds up to.
 */
#include "accounting.h"

static void test_plain(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	END(&f, 100, 10, 20, 3, 5000, 0);
	REAP(&f, 100, RUN, 21, 3, 6000);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.images, 1);
	assert_int_equal(s.exited, 1);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.itemised_us, 6000);
	assert_int_equal(s.tail_us, 1000);
	accounting_release(&b);
}

/* The same pid three times over: start times, or the end and the reap in between, tell them apart.
 */
static void test_pid_reuse(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	END(&f, 100, 10, 20, 0, 1000, 0);
	START(&f, 100, RUN, 30, 31); /* nobody reaped the first */
	END(&f, 100, 30, 40, 1, 2000, 0);
	REAP(&f, 100, RUN, 41, 1, 2000);
	START(&f, 100, RUN, 0, 51); /* without /proc there is no start time */
	END(&f, 100, 0, 60, 2, 3000, 0);
	REAP(&f, 100, RUN, 61, 2, 3000);
	START(&f, 100, RUN, 0, 71);
	END(&f, 100, 0, 80, 2, 4000, 0);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 4);
	assert_int_equal(s.images, 4);
	assert_int_equal(s.missing, 0);
	assert_int_equal(s.itemised_us, 10000);
	accounting_release(&b);
}

/* A forked copy in the tick at 10 ms. */
#define COPY(f, pid, ms, code)                                                                   \
	frame(f, PL_END, PL_F_FORK, pid, ms, METRIC_IMAGE_PID, U(90), METRIC_PPID, U(90),        \
	      METRIC_STARTTIME, U(10) * 1000, METRIC_EXITCODE, U(code), METRIC_USERTIME, U(100), \
	      METRIC_SYSTEMTIME, U(0), 0)

/* A pid that is used again and again in one tick of the clock: whoever was waited for is over. */
static void test_pid_reuse_in_a_tick(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 90, RUN, 10, 10);
	for (unsigned i = 0; i < 3; i++) {
		COPY(&f, 100, 11 + i, i);
		REAP(&f, 100, 90, 11 + i, i, 100);
	}
	for (unsigned i = 0; i < 3; i++) { /* killed: they do not tell their end */
		START(&f, 100, 90, 10, 15 + i);
		REAP_SIGNAL(&f, 100, 90, 15 + i, 9, 1000);
	}
	END(&f, 90, 10, 20, 0, 500, 3300);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 7);
	assert_int_equal(s.images, 7);
	assert_int_equal(s.copies, 3);
	assert_int_equal(s.by_preload, 7);
	assert_int_equal(s.failed, 2);
	assert_int_equal(s.signalled, 3);
	assert_int_equal(s.itemised_us, 300 + 3000 + 500);
	accounting_release(&b);
}

/* The same where nobody but the kernel knows of them. */
static void test_kernel_in_a_tick(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	for (unsigned i = 0; i < 4; i++)
		KEXIT(&f, 100, RUN, 10 + 2 * i, 11 + 2 * i, i, 1);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 4);
	assert_int_equal(s.failed, 3);
	accounting_release(&b);
}

/* The only child of system() that was known got the end of one that was not, and speaks later. */
static void test_wrong_guess(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, 101, 100, 20, 31);
	frame(&f, PL_REAP, 0, 0, 60, METRIC_BEGIN, 25 * MS, METRIC_PPID, U(100), METRIC_EXITSIGNAL,
	      U(9), 0);
	END(&f, 101, 20, 80, 5, 700, 0);
	frame(&f, PL_REAP, 0, 0, 81, METRIC_BEGIN, 25 * MS, METRIC_PPID, U(100), METRIC_EXITCODE,
	      U(5), 0);
	END(&f, 100, 10, 90, 0, 500, 700);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 2);
	assert_int_equal(s.signalled, 0);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.missing, 0);
	accounting_release(&b);
}

/* A static program that got the pid of a process whose end was announced and never reaped. */
static void test_reap_of_another(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, 50, 10, 11);
	END(&f, 100, 10, 20, 0, 1000, 0);
	REAP(&f, 100, 60, 90, 7, 4000); /* another parent, another status */
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 2);
	assert_int_equal(s.by_reaper, 1);
	assert_int_equal(s.itemised_us, 5000);
	accounting_release(&b);
}

/* Killed by SIGPIPE while libc flushes, after END: the parent's word counts, it is one process. */
static void test_killed_after_end(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, 50, 10, 11);
	END(&f, 100, 10, 20, 0, 1000, 0);
	REAP_SIGNAL(&f, 100, 50, 21, 13, 1100);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.signalled, 1);
	assert_int_equal(image_ended(&b, &b.images[0]), ENDED_SIGNAL);
	accounting_release(&b);
}

static void test_exec_chain(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;
	struct row row;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	EXEC(&f, 100, 10, 20, 1000);
	START(&f, 100, RUN, 10, 21);
	EXEC(&f, 100, 10, 30, 3000);
	START(&f, 100, RUN, 10, 31);
	END(&f, 100, 10, 40, 0, 7000, 0);
	REAP(&f, 100, RUN, 41, 0, 7500);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.images, 3);
	assert_int_equal(s.itemised_us, 7500);
	row_init(&row);
	uint64_t want[] = {1000, 2000, 4500};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(image_row(&b, &b.images[i], &row), 0);
		assert_int_equal(row_get(&row, METRIC_USERTIME, 0), want[i]);
		assert_int_equal(row_get(&row, METRIC_GENERATION, 99), i);
		assert_int_equal(image_ended(&b, &b.images[i]), i < 2 ? ENDED_EXEC : ENDED_EXIT);
	}
	row_release(&row);
	accounting_release(&b);
}

/* An exec that fails is void: the image goes on and writes its end. */
static void test_failed_exec(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	EXEC(&f, 100, 10, 20, 1000);
	EXEC(&f, 100, 10, 21, 1100);
	END(&f, 100, 10, 30, 127, 2000, 0);
	load(&b, &f, 1, &s);
	assert_int_equal(s.images, 1);
	assert_int_equal(image_ended(&b, &b.images[0]), ENDED_EXIT);
	assert_int_equal(s.itemised_us, 2000);
	accounting_release(&b);
}

/* A dynamic program that executes a static one: the second image is implied by the process's end.
 */
static void test_exec_into_the_dark(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;
	struct row row;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	EXEC(&f, 100, 10, 20, 1000);
	REAP(&f, 100, RUN, 41, 6, 7500);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.images, 2);
	row_init(&row);
	assert_int_equal(image_row(&b, &b.images[1], &row), 0);
	assert_int_equal(row_get(&row, METRIC_USERTIME, 0), 6500);
	assert_int_equal(row_get(&row, METRIC_EXITCODE, 99), 6);
	assert_int_equal(image_source(&b, &b.images[1]), BY_REAPER);
	row_release(&row);
	accounting_release(&b);
}

/* A forked copy inherits its program's name; a copy that executes leaves only its program. */
static void test_copies(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;
	struct row row;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	frame(&f, PL_END, PL_F_FORK, 101, 15, METRIC_IMAGE_PID, U(100), METRIC_PPID, U(100),
	      METRIC_STARTTIME, U(12) * 1000, METRIC_EXITCODE, U(7), METRIC_USERTIME, U(50),
	      METRIC_SYSTEMTIME, U(0), 0);
	REAP(&f, 101, 100, 16, 7, 60);
	/* a thread of a copy, which then executes a program: one image */
	frame(&f, PL_THREAD, 0, 102, 17, METRIC_IMAGE_PID, U(100), METRIC_TID, U(103), 0);
	START(&f, 102, 100, 13, 18);
	END(&f, 102, 13, 19, 0, 70, 0);
	END(&f, 100, 10, 30, 0, 500, 60);
	REAP(&f, 100, RUN, 31, 0, 700);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.images, 3);
	assert_int_equal(s.programs, 2);
	assert_int_equal(s.copies, 1);
	assert_int_equal(s.itemised_us, 60 + 70 + 640);
	row_init(&row);
	for (size_t i = 0; i < b.image_count; i++) {
		assert_int_equal(image_row(&b, &b.images[i], &row), 0);
		assert_string_equal(row.text[METRIC_PATH].buf, "/bin/x");
		assert_int_equal(b.images[i].copy, row.v[METRIC_PID] == 101);
	}
	row_release(&row);
	accounting_release(&b);
}

/* A killed shell: its own CPU is the reaper's figure less the children that it had reaped itself.
 */
static void test_killed_parent(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	REAP(&f, 101, 100, 20, 0, 3000);
	REAP(&f, 102, 100, 21, 1, 4000);
	REAP_SIGNAL(&f, 100, RUN, 30, 9, 8000);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 3);
	assert_int_equal(s.itemised_us, 8000);
	assert_int_equal(s.signalled, 1);
	assert_int_equal(s.missing, 0);
	accounting_release(&b);
}

/* What the kernel reports joins what is known; what only it knows is a process too. */
static void test_kernel(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	END(&f, 100, 10, 20, 3, 5000, 0);
	REAP(&f, 100, RUN, 21, 3, 6000);
	START(&f, 100, RUN, 30,
	      31); /* the pid again, before the kernel's word on the first came in */
	KEXIT(&f, 100, RUN, 10, 20, 3, 1);
	KEXIT(&f, 200, 100, 12, 14, 0, 0); /* a copy nobody waited for */
	KEXIT(&f, 201, 100, 12, 15, 5, 1); /* a static program nobody waited for */
	KEXIT(&f, 100, RUN, 30, 40, 4, 1); /* killed before it wrote its end */
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 4);
	assert_int_equal(s.images, 4);
	assert_int_equal(s.programs, 3);
	assert_int_equal(s.copies, 1);
	assert_int_equal(s.by_cnproc, 2);
	assert_int_equal(s.missing, 0);
	assert_int_equal(s.exited, 4);
	assert_int_equal(s.failed, 3);
	accounting_release(&b);
}

/* Two supervisors heard of the same exit. */
static void test_heard_twice(void **state)
{
	struct file f[2];
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f[0]);
	file_open(&f[1]);
	KEXIT(&f[0], 100, RUN, 10, 40, 0, 1);
	START(&f[1], 100, RUN, 10, 11);
	END(&f[1], 100, 10, 39, 0, 100, 0);
	KEXIT(&f[1], 100, RUN, 10, 40, 0, 1);
	load(&b, f, 2, &s);
	assert_int_equal(s.processes, 1);
	accounting_release(&b);
}

/* A START without an end and nobody who saw one: missing, not forgotten. */
static void test_missing(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	START(&f, 101, 100, 12, 13);
	END(&f, 101, 12, 14, 0, 10, 0);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 2);
	assert_int_equal(s.missing, 1);
	assert_int_equal(s.no_end, 1);
	assert_int_equal(image_ended(&b, &b.images[0]), ENDED_UNKNOWN);
	accounting_release(&b);
}

/* An END whose START was torn is an image all the same. */
static void test_end_alone(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	END(&f, 100, 10, 20, 3, 5000, 0);
	REAP(&f, 100, RUN, 21, 3, 6000);
	load(&b, &f, 1, &s);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.by_preload, 1);
	assert_int_equal(s.itemised_us, 6000);
	accounting_release(&b);
}

static void test_clock_step(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;
	struct row row;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	END(&f, 100, 10, 1011, 0, 5000, 0);
	record_writer_begin(&f.w);
	record_writer_u64(&f.w, METRIC_BOOTTIME, 1100 * MS);
	record_writer_u64(&f.w, METRIC_REALTIME, 1000000000000000 + 3600000000);
	record_writer_add(&f.w, PL_CLOCK, PL_F_LOSSY);
	load(&b, &f, 1, &s);
	assert_true(s.lossy);
	assert_in_range((uint64_t)b.hosts[0].clock_step_us, 3598000000u, 3600000000u);
	row_init(&row);
	assert_int_equal(image_row(&b, &b.images[0], &row), 0);
	/* an hour's step of the wall clock does not change how long it took */
	assert_int_equal(row.v[METRIC_END] - row.v[METRIC_START], 1000000);
	row_release(&row);
	accounting_release(&b);
}

/* Own I/O of collection is taken off between the images of a chain. */
static void test_own_io(void **state)
{
	struct file f;
	struct accounting b;
	struct accounting_sums s;
	struct row row;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	frame(&f, PL_EXEC, 0, 100, 20, METRIC_STARTTIME, U(10) * 1000, METRIC_RCHAR, U(1000),
	      METRIC_WCHAR, U(500), METRIC_SYSCR, U(10), METRIC_SYSCW, U(5), METRIC_OWN_RCHAR,
	      U(300), METRIC_OWN_WCHAR, U(200), METRIC_OWN_SYSCR, U(4), METRIC_OWN_SYSCW, U(2), 0);
	START(&f, 100, RUN, 10, 21);
	/* the account then: 1000 + 300 read, 500 + 200 + the EXEC frame written */
	frame(&f, PL_END, 0, 100, 30, METRIC_STARTTIME, U(10) * 1000, METRIC_EXITCODE, U(0),
	      METRIC_RCHAR, U(1300 + 77), METRIC_WCHAR, U(700 + 1000), METRIC_SYSCR, U(14 + 3),
	      METRIC_SYSCW, U(7 + 1 + 2), 0);
	load(&b, &f, 1, &s);
	row_init(&row);
	assert_int_equal(image_row(&b, &b.images[0], &row), 0);
	assert_int_equal(row.v[METRIC_RCHAR], 1000);
	assert_int_equal(image_row(&b, &b.images[1], &row), 0);
	assert_int_equal(row.v[METRIC_RCHAR], 77);
	assert_int_equal(row.v[METRIC_SYSCR], 3);
	assert_int_equal(row.v[METRIC_SYSCW], 2);
	assert_true(row.v[METRIC_WCHAR] > 800 && row.v[METRIC_WCHAR] < 1000);
	row_release(&row);
	accounting_release(&b);
}

/* The cost of one process here is what keeps the supervisor of a large job small. */
static void test_budget(void **state)
{
	(void)state;
	assert_true(sizeof(struct process) + sizeof(struct image) <= 264);
}

/* THREAD records of process 100: tid, when, alive, and when the thread began (0: not said). */
#define THREAD(f, tid, ms, alive, begin_ms)                                        \
	frame(f, PL_THREAD, (alive) ? PL_F_ALIVE : 0, 100, ms, METRIC_TID, U(tid), \
	      (begin_ms) ? METRIC_STARTTIME : METRIC_MINFLT, U(begin_ms) * 1000, 0)

/* A thread that ends while the process does is looked at and speaks for itself. */
static void test_threads_once(void **state)
{
	static const struct {
		uint32_t tid;
		bool alive;
	} want[] = {{100, true},  {101, false}, {102, false},
		    {103, false}, {103, true},  {104, true}};
	struct file f;
	struct accounting b;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	THREAD(&f, 101, 30, false, 20); /* its end, then a look */
	THREAD(&f, 101, 31, true, 20);
	THREAD(&f, 102, 40, true, 20); /* a look, then its end; nobody says when it began */
	THREAD(&f, 102, 41, false, 0);
	THREAD(&f, 103, 50, false, 20); /* a tid that was used again */
	THREAD(&f, 103, 900, true, 600);
	THREAD(&f, 104, 60, true, 20); /* looked at twice: before an exec that failed, at the end */
	THREAD(&f, 104, 901, true, 20);
	THREAD(&f, 100, 902, true, 10);
	END(&f, 100, 10, 903, 0, 5000, 0);
	load(&b, &f, 1, &s);
	accounting_sort_threads(&b);
	assert_int_equal(b.thread_count, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		size_t found = 0;

		for (size_t k = 0; k < b.thread_count; k++)
			found += b.threads[k].tid == want[i].tid &&
				 b.threads[k].alive == want[i].alive;
		assert_int_equal(found, 1);
	}
	accounting_release(&b);
}

/* Joined records are taken over for the same files, once, and not when a file has grown. */
static void test_reuse(void **state)
{
	struct file f;
	struct accounting b, again, grown;
	struct accounting_sums s;

	(void)state;
	file_open(&f);
	START(&f, 100, RUN, 10, 11);
	END(&f, 100, 10, 20, 0, 500, 0);
	load(&b, &f, 1, &s);
	int copy = dup(f.fd), longer = dup(f.fd);
	accounting_init(&again);
	assert_int_equal(accounting_add(&again, copy, "job/f", "here.12345678"), 0);
	again.keep_threads = true;
	assert_int_equal(write(longer, "x", 1), 1);
	accounting_init(&grown);
	assert_int_equal(accounting_add(&grown, longer, "f", "here.12345678"), 0);
	assert_false(accounting_reuse(&grown, &b));
	assert_true(accounting_reuse(&again, &b));
	assert_int_equal(again.process_count, 1);
	assert_string_equal(again.files[0].name, "job/f");
	assert_int_equal(b.file_count, 0);
	/* there is nothing left to take */
	assert_false(accounting_reuse(&grown, &b));
	accounting_release(&b);
	accounting_release(&again);
	accounting_release(&grown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_threads_once),
		cmocka_unit_test(test_pid_reuse),
		cmocka_unit_test(test_pid_reuse_in_a_tick),
		cmocka_unit_test(test_kernel_in_a_tick),
		cmocka_unit_test(test_wrong_guess),
		cmocka_unit_test(test_reap_of_another),
		cmocka_unit_test(test_killed_after_end),
		cmocka_unit_test(test_exec_chain),
		cmocka_unit_test(test_failed_exec),
		cmocka_unit_test(test_exec_into_the_dark),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_killed_parent),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_heard_twice),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_end_alone),
		cmocka_unit_test(test_clock_step),
		cmocka_unit_test(test_own_io),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
