/*
 * The source `process`: what each value is made of, processes that end, numbers that are used
 * again.
 */
#include "source_process.h"

#include "sources/process/process.h"

/* ---- values ---------------------------------------------------------------------------------- */

static void every_value_of_a_process(void **state)
{
	struct bench *b = *state;
	char cmdline[] = "prog\0two words\0\x1b[1m\0\0";

	put_process(b, &first);
	_cleanup_free_ char *path = xasprintf("%s/proc/40/cmdline", b->root);
	write_file(path, cmdline, sizeof(cmdline) - 1);
	_cleanup_free_ char *exe = xasprintf("%s/proc/40/exe", b->root);
	assert_int_equal(symlink("/usr/bin/prog", exe), 0);
	set_list(b, 1, &first);
	b->list[0].rank = 3;
	open_source(b, "process");
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	int row = row_of(b, ENTITY_PROCESS, "40.5000");
	assert_true(row >= 0);
	check_value(b, row, "usertime", 120 * TICK);
	check_value(b, row, "systemtime", 30 * TICK);
	check_value(b, row, "time_oncpu", 1500000000);
	check_value(b, row, "time_waiting", 2000);
	check_value(b, row, "timeslices", 30);
	check_value(b, row, "minflt", 500);
	check_value(b, row, "majflt", 3);
	check_value(b, row, "rss", 25000.0 * (double)sysconf(_SC_PAGESIZE));
	check_value(b, row, "vms", 123456789);
	check_value(b, row, "num_threads", 1);
	check_value(b, row, "processor", 5);
	check_value(b, row, "delayacct_blkio_time", 7 * TICK);
	check_value(b, row, "rchar", 11);
	check_value(b, row, "wchar", 12);
	check_value(b, row, "syscr", 13);
	check_value(b, row, "syscw", 14);
	check_value(b, row, "read_bytes", 15);
	check_value(b, row, "write_bytes", 16);
	check_value(b, row, "cancelled_write_bytes", 17);
	double percent;
	assert_true(value_of(b, row, "memory_percent", &percent));
	assert_true(percent > 9.99 && percent < 10.01);
	/* there is no reading before, and these are of the job */
	check_absent(b, row, "cpu_percent");
	check_absent(b, row, "processes");
	check_fact(b, row, "comm", "prog");
	check_fact(b, row, "exe", "/usr/bin/prog");
	check_fact(b, row, "cmdline", "prog two words \\x1b[1m");
	check_fact(b, row, "pid", "40");
	check_fact(b, row, "ppid", "1");
	check_fact(b, row, "rank", "3");
	check_fact(b, row, "start", "5000");
	check_job(b, "processes", 1);
	check_job(b, "threads", 1);
	check_job(b, "started", 1);
	check_job(b, "ended", 0);
	check_job(b, "usertime", 120 * TICK);
	check_job(b, "wchar", 12);
	check_job(b, "delayacct_blkio_time", 7 * TICK);
	check_absent(b, row_of(b, ENTITY_JOB, "job"), "cpu_percent");
	check_absent(b, row_of(b, ENTITY_JOB, "job"), "exits_lost");
	assert_contains(reason_of(b, "exits_lost"), "recorded tree");
}

static void names_with_blanks_and_parentheses(void **state)
{
	static const char *const names[] = {"two words", ") S 9 (", "((", "a\\nb", "", "x)"};
	struct bench *b = *state;
	struct shown p[6];

	for (int i = 0; i < 6; i++) {
		p[i] = first;
		p[i].pid = 40 + i;
		p[i].comm = names[i];
		p[i].utime = 10 + (uint64_t)i;
		put_process(b, &p[i]);
	}
	set_list(b, 6, p);
	open_source(b, "process");
	take_reading(b);
	assert_int_equal(b->set.row_count, 7);
	for (int i = 0; i < 6; i++) {
		_cleanup_free_ char *name = xasprintf("%d.5000", 40 + i);
		int row = row_of(b, ENTITY_PROCESS, name);

		check_value(b, row, "usertime", (10 + i) * TICK);
		if (*names[i])
			check_fact(b, row, "comm", names[i]);
	}
	check_job(b, "usertime", (10 + 11 + 12 + 13 + 14 + 15) * TICK);
}

static void a_difference_is_a_percentage(void **state)
{
	struct bench *b = *state;
	struct shown p = first;
	double percent, job;

	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	uint64_t begin = b->set.time_ns;
	usleep(20000);
	p.oncpu += 5000000;
	put_process(b, &p);
	take_reading(b);
	int row = row_of(b, ENTITY_PROCESS, "40.5000");
	assert_true(value_of(b, row, "cpu_percent", &percent));
	/* 5 ms of at least 20 */
	double over = (double)(b->set.time_ns - begin) / 1e6;
	assert_true(percent > 0 && percent <= 25);
	assert_true(percent > 100 * 5 / (over + 20) - 0.01);
	assert_true(value_of(b, row_of(b, ENTITY_JOB, "job"), "cpu_percent", &job));
	assert_true(job > percent * 0.5 && job < percent * 2);
	/* nothing done since */
	take_reading(b);
	check_value(b, row_of(b, ENTITY_PROCESS, "40.5000"), "cpu_percent", 0);
	check_job(b, "cpu_percent", 0);
}

static void an_exec_keeps_the_row_and_changes_its_name(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	uint32_t entity = b->set.rows[0].entity;
	b->set.entities[entity].fresh = false;
	take_reading(b);
	assert_false(b->set.entities[entity].fresh);
	p.comm = "other";
	put_process(b, &p);
	put_of(b, 40, "cmdline", "other -x");
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.rows[0].entity, entity);
	assert_true(b->set.entities[entity].fresh);
	check_fact(b, 0, "comm", "other");
	check_fact(b, 0, "cmdline", "other -x");
	/* who adopts an orphan did not start it */
	p.ppid = 7;
	put_process(b, &p);
	take_reading(b);
	check_fact(b, 0, "ppid", "1");
}

static void without_delay_accounting(void **state)
{
	struct bench *b = *state;

	put("proc/sys/kernel/task_delayacct", "0\n");
	put_process(b, &first);
	set_list(b, 1, &first);
	open_source(b, "process");
	take_reading(b);
	check_absent(b, 0, "delayacct_blkio_time");
	assert_contains(reason_of(b, "delayacct_blkio_time"), "task_delayacct");
}

static void threads_are_added_up(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	p.threads = 3;
	put_process(b, &p);
	put_of(b, 40, "task/40/schedstat", "1500000000 2000 30\n");
	put_of(b, 40, "task/41/schedstat", "2000 20 2\n");
	put_of(b, 40, "task/42/schedstat", "4000 40 4\n");
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	check_value(b, 0, "time_oncpu", 1500006000);
	check_value(b, 0, "time_waiting", 2060);
	check_value(b, 0, "timeslices", 36);
	check_value(b, 0, "num_threads", 3);
	/* storage delay is that of the first thread alone */
	check_absent(b, 0, "delayacct_blkio_time");
	check_job(b, "threads", 3);
	/* one ends, one is new under the number of another: nothing is lost */
	_cleanup_free_ char *task = xasprintf("%s/proc/40/task/42/schedstat", b->root);
	_cleanup_free_ char *dir = xasprintf("%s/proc/40/task/42", b->root);
	assert_int_equal(unlink(task), 0);
	assert_int_equal(rmdir(dir), 0);
	put_of(b, 40, "task/40/schedstat", "1500000100 2001 31\n");
	put_of(b, 40, "task/41/schedstat", "5 1 1\n");
	take_reading(b);
	check_value(b, 0, "time_oncpu", 1500000100.0 + 2000 + 5 + 4000);
	check_value(b, 0, "time_waiting", 2001 + 20 + 1 + 40);
	check_value(b, 0, "timeslices", 31 + 2 + 1 + 4);
	/* back to one: the sum stays */
	p.threads = 1;
	put_process(b, &p);
	take_reading(b);
	check_value(b, 0, "time_waiting", 2001 + 20 + 1 + 40);
}

static void many_threads_take_turns(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {first, first};
	int with[2] = {0, 0};
	double v;

	for (int i = 0; i < 2; i++) {
		p[i].pid = 40 + i;
		p[i].threads = 600;
		put_process(b, &p[i]);
		put_of(b, p[i].pid, "task/40/schedstat", "1000 10 1\n");
	}
	set_list(b, 2, p);
	open_source(b, "process");
	take_reading(b);
	for (int round = 0; round < 12; round++) {
		take_reading(b);
		for (int i = 0; i < 2; i++)
			with[i] += value_of(b, i, "time_waiting", &v);
		/* what the process has in all is there each time */
		check_value(b, 0, "usertime", 120 * TICK);
	}
	for (int i = 0; i < 2; i++)
		if (with[i] < 3 || with[i] > 6)
			fail_msg("read %d of 12 times", with[i]);
}

/* ---- those that end -------------------------------------------------------------------------- */

static void one_that_ends_between_readings(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {first, first};

	p[0].start = YOUNG;
	p[0].cutime = p[0].cminflt = 0;
	p[1].pid = 41;
	p[1].ppid = 40;
	p[1].start = YOUNG + 1;
	p[1].cutime = p[1].cminflt = 0;
	put_process(b, &p[0]);
	put_process(b, &p[1]);
	set_list(b, 2, p);
	open_source(b, "process");
	take_reading(b);
	check_job(b, "usertime", 240 * TICK);
	check_job(b, "processes", 2);
	/* its parent waited for it: 50 ticks more than when it was last seen */
	p[0].cutime = 170;
	p[0].cstime = 30;
	p[0].cminflt = 600;
	p[0].wchar = 30;
	put_process(b, &p[0]);
	remove_process(b, 41);
	set_list(b, 1, p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.ended_count, 1);
	check_job(b, "usertime", 290 * TICK);
	check_job(b, "systemtime", 60 * TICK);
	check_job(b, "minflt", 1100);
	check_job(b, "wchar", 30);
	check_job(b, "processes", 1);
	check_job(b, "ended", 1);
	check_job(b, "started", 2);
	/* the parent ends, too; nobody in the job waits for it */
	remove_process(b, 40);
	set_list(b, 0, NULL);
	for (int round = 0; round < 3; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 1);
		check_job(b, "usertime", 290 * TICK);
		check_job(b, "minflt", 1100);
		check_job(b, "wchar", 30);
		check_job(b, "timeslices", 60);
		check_job(b, "processes", 0);
		check_job(b, "rss", 0);
		check_job(b, "ended", 2);
	}
}

/* Ticks are steps of 10 ms; user and system time are of the exact total, and neither grows by more
 * than that. */
static void ticks_are_steps(void **state)
{
	static const struct {
		unsigned utime, stime, oncpu_ms;
	} readings[] = {{0, 0, 4},  {0, 0, 8},  {1, 0, 12}, {1, 0, 17},   {2, 0, 24},  {2, 1, 33},
			{2, 1, 38}, {3, 1, 44}, {3, 2, 58}, {12, 8, 205}, {12, 8, 209}};
	struct bench *b = *state;
	struct shown p = first;
	double last_user = 0, last_system = 0;

	p.cutime = p.cstime = 0;
	p.start = YOUNG;
	set_list(b, 1, &p);
	open_source(b, "process");
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		double user, system, of_one;

		p.utime = readings[i].utime;
		p.stime = readings[i].stime;
		p.oncpu = readings[i].oncpu_ms * 1000000ull;
		/* a CPU has no more time than passes */
		usleep(1000 * (1 + readings[i].oncpu_ms - (i ? readings[i - 1].oncpu_ms : 0)));
		put_process(b, &p);
		take_reading(b);
		int row = row_of(b, ENTITY_JOB, "job");
		assert_true(value_of(b, row, "usertime", &user));
		assert_true(value_of(b, row, "systemtime", &system));
		assert_int_equal(user + system, readings[i].oncpu_ms * 1000);
		assert_true(user >= last_user && system >= last_system);
		assert_true(value_of(b, 0, "usertime", &of_one));
		assert_true(of_one == user);
		last_user = user;
		last_system = system;
	}
	assert_int_equal(last_user, 125400); /* 12 of 20 ticks */
	/* it ends: what ticks did not show is not lost */
	remove_process(b, p.pid);
	set_list(b, 0, NULL);
	take_reading(b);
	check_job(b, "usertime", last_user);
	check_job(b, "systemtime", last_system);
}

static void the_past_before_we_came(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	/* 1000 ticks of children from before are not the job's */
	check_job(b, "usertime", 120 * TICK);
	check_job(b, "minflt", 500);
	p.cutime += 480;
	p.cminflt += 60;
	put_process(b, &p);
	take_reading(b);
	check_job(b, "usertime", 600 * TICK);
	check_job(b, "minflt", 560);
	/* the process itself has its own time alone */
	check_value(b, 0, "usertime", 120 * TICK);
}

static void a_number_that_is_used_again(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	p.start = YOUNG;
	p.cutime = 0;
	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	/* the list is behind: the files are of another process already */
	p.start = YOUNG + 500;
	p.utime = 7;
	put_process(b, &p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 1);
	check_job(b, "usertime", 120 * TICK);
	set_list(b, 1, &p);
	take_reading(b);
	assert_int_equal(row_of(b, ENTITY_PROCESS, "40.900000000000"), -1);
	int row = row_of(b, ENTITY_PROCESS, "40.900000000500");
	check_value(b, row, "usertime", 7 * TICK);
	check_job(b, "usertime", 127 * TICK);
	check_job(b, "started", 2);
	check_job(b, "ended", 1);
}

/* The kernel books the time of a task that runs by the tick: never more than a CPU has, nothing is
 * lost, and what cannot be a tick is shown as it is. */
static void no_more_than_the_cpus_have(void **state)
{
	const uint64_t ms = 1000000;
	uint64_t late = 7;
	int64_t percent;

	(void)state;
	assert_true(process_percent(250 * ms, 500 * ms, 1, &late, &percent));
	assert_int_equal(percent, 5000);
	assert_int_equal(late, 0);
	assert_true(process_percent(504 * ms, 500 * ms, 1, &late, &percent));
	assert_int_equal(percent, 10000);
	assert_int_equal(late, 4 * ms);
	assert_true(process_percent(1030 * ms, 500 * ms, 2, &late, &percent));
	assert_int_equal(percent, 20000);
	assert_int_equal(late, 30 * ms);
	assert_true(process_percent(800 * ms, 500 * ms, 1, &late, &percent));
	assert_int_equal(percent, 16000);
	assert_int_equal(late, 0);
}

/* One that is exiting gives its memory back: what is left of it at that moment is no level. */
static void memory_of_one_that_is_exiting(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {{.pid = 40, .start = YOUNG, .rss = 1000},
			     {.pid = 41, .start = YOUNG, .rss = 500}};
	const double page = (double)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < 2; i++)
		put_process(b, &p[i]);
	set_list(b, 2, p);
	open_source(b, "process");
	take_reading(b);
	check_job(b, "rss", 1500 * page);
	p[0].rss = 70;
	p[0].utime = 3;
	p[0].flags = 0x400004;
	put_process(b, &p[0]);
	take_reading(b);
	int row = row_of(b, ENTITY_PROCESS, "40.900000000000");
	check_value(b, row, "usertime", 3 * TICK);
	check_absent(b, row, "rss");
	check_absent(b, row, "vms");
	check_job(b, "rss", 500 * page);
	/* the last one: the job has a level no more, and its times still */
	p[1].flags = 0x400004;
	p[1].rss = 0;
	p[1].utime = 4;
	put_process(b, &p[1]);
	take_reading(b);
	row = row_of(b, ENTITY_JOB, "job");
	assert_true(row >= 0);
	check_absent(b, row, "rss");
	check_job(b, "usertime", 7 * TICK);
	check_job(b, "processes", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_bench(memory_of_one_that_is_exiting),
		cmocka_unit_test(no_more_than_the_cpus_have),
		with_bench(every_value_of_a_process),
		with_bench(names_with_blanks_and_parentheses),
		with_bench(a_difference_is_a_percentage),
		with_bench(an_exec_keeps_the_row_and_changes_its_name),
		with_bench(without_delay_accounting),
		with_bench(threads_are_added_up),
		with_bench(many_threads_take_turns),
		with_bench(one_that_ends_between_readings),
		with_bench(ticks_are_steps),
		with_bench(the_past_before_we_came),
		with_bench(a_number_that_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
