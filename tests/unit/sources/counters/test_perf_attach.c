/*
 * The source `counters` on a pretend Skylake: which processes of a job get descriptors of their own
 * and which are counted by another's, so that each is counted once.
 */
#include "counters_fake.h"

static void those_that_were_there_get_descriptors_and_later_ones_not(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "110 120 ");
	machine_process(m, 110, 100, 100, 51, "111");
	machine_process(m, 111, 110, 100, 52, "");
	/* made between the list of the job and now: not in the list, but a child already */
	machine_process(m, 120, 100, 100, 53, "121");
	machine_process(m, 121, 120, 100, 54, "");
	watch_add(&m->watch, 100, 1, 50);
	watch_add(&m->watch, 110, 100, 51);
	watch_add(&m->watch, 111, 110, 52);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_true(is_attached(100) && is_attached(110) && is_attached(111));
	assert_true(is_attached(120) && is_attached(121));
	assert_int_equal(fake.opened, 30);
	/* made later by one that is covered, and by what that one made */
	machine_process(m, 130, 111, 100, UINT32_MAX, "131");
	machine_process(m, 131, 130, 100, UINT32_MAX, "");
	watch_add(&m->watch, 120, 100, 53);
	watch_add(&m->watch, 121, 120, 54);
	watch_add(&m->watch, 131, 130, UINT32_MAX);
	watch_add(&m->watch, 130, 111, UINT32_MAX);
	machine_read(m, 2);
	assert_int_equal(fake.opened, 30);
	/* grandchildren of one that is gone */
	watch_remove(&m->watch, 130);
	machine_process(m, 132, 131, 100, UINT32_MAX, "");
	watch_add(&m->watch, 132, 131, UINT32_MAX);
	machine_read(m, 3);
	assert_int_equal(fake.opened, 30);
}

static void orphans_are_covered_and_those_of_a_launcher_are_not(void **state)
{
	struct machine *m = *state;
	const uint64_t later = UINT32_MAX;

	machine_process(m, 20, 1, 20, 10, ""); /* a launcher, not of the job */
	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 6);
	/* of the same session, with a reaper as parent */
	machine_process(m, 200, 20, 100, later, "");
	watch_add(&m->watch, 200, 20, later);
	/* of a session whose leader is gone: a daemon */
	machine_process(m, 201, 20, 199, later, "");
	watch_add(&m->watch, 201, 20, later);
	/* taken by init */
	machine_process(m, 202, 1, 202, later, "");
	watch_add(&m->watch, 202, 1, later);
	/* its child */
	machine_process(m, 203, 202, 202, later, "");
	watch_add(&m->watch, 203, 202, later);
	machine_read(m, 2);
	assert_int_equal(fake.opened, 6);
	/* started by the launcher with a session of its own, and by another in that one's */
	machine_process(m, 210, 20, 210, later, "");
	watch_add(&m->watch, 210, 20, later);
	machine_process(m, 21, 1, 21, 10, "");
	machine_process(m, 211, 21, 21, later, "");
	watch_add(&m->watch, 211, 21, later);
	/* older than everything we attached to, found late */
	machine_process(m, 212, 20, 20, 5, "");
	watch_add(&m->watch, 212, 20, 5);
	machine_read(m, 3);
	assert_true(is_attached(210) && is_attached(211) && is_attached(212));
	assert_int_equal(fake.opened, 24);
}

/*
 * As slurmstepd has it: the leader of its session ended when it became a daemon, tasks are in that
 * session, and each leads a process group of its own. What a task leaves behind is slurmstepd's.
 */
static void tasks_of_a_launcher_whose_session_has_lost_its_leader(void **state)
{
	struct machine *m = *state;
	const uint64_t later = UINT32_MAX;

	machine_process(m, 20, 1, 20, 10, "");
	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 6);
	machine_process_of(m, 566, 1, 564, 564, later, "");
	machine_process_of(m, 583, 566, 583, 564, later, "");
	watch_add(&m->watch, 583, 566, later);
	machine_read(m, 2);
	assert_true(is_attached(583));
	/* another task, when somebody of the session is covered already */
	machine_process_of(m, 584, 566, 584, 564, later, "");
	watch_add(&m->watch, 584, 566, later);
	machine_read(m, 3);
	assert_true(is_attached(584));
	assert_int_equal(fake.opened, 18);
	/* a child of the first, whose parent has ended */
	machine_process_of(m, 590, 566, 583, 564, later, "");
	watch_add(&m->watch, 590, 566, later);
	machine_read(m, 4);
	assert_int_equal(fake.opened, 18);
	assert_fact(m, "attached_late", "2 processes after 0.00 s of CPU");
}

/* All tasks of a step are in the process group of the first; their environment tells which they
 * are, and which is a child of one of them that lost its parent. */
static void tasks_of_one_process_group(void **state)
{
	struct machine *m = *state;
	const uint64_t later = UINT32_MAX;

	machine_process(m, 20, 1, 20, 10, "");
	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	machine_process_of(m, 566, 1, 564, 564, later, "");
	for (int pid = 583; pid < 586; pid++) {
		machine_process_of(m, pid, 566, 583, 564, later, "");
		watch_add_main(&m->watch, pid, 566, later);
	}
	machine_read(m, 2);
	assert_true(is_attached(583) && is_attached(584) && is_attached(585));
	/* one more at a later look */
	machine_process_of(m, 587, 566, 583, 564, later, "");
	watch_add_main(&m->watch, 587, 566, later);
	machine_read(m, 3);
	assert_true(is_attached(587));
	machine_process_of(m, 590, 566, 583, 564, later, "");
	watch_add(&m->watch, 590, 566, later);
	machine_read(m, 4);
	assert_false(is_attached(590));
	assert_int_equal(fake.opened, 30);
}

/* What a process found late had used by then, and what its children had that it has waited for. */
static void the_cpu_time_before_it_is_told(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	machine_process_of(m, 566, 1, 564, 564, UINT32_MAX, "");
	machine_process_of(m, 583, 566, 583, 564, UINT32_MAX, "");
	machine_write(m, "proc/583/stat",
		      "583 (x) S 566 583 564 0 -1 0 0 0 0 0 150 50 300 100 20 0 1 0 %u 0 0 0\n",
		      UINT32_MAX);
	watch_add_main(&m->watch, 583, 566, UINT32_MAX);
	machine_read(m, 2);
	assert_true(is_attached(583));
	assert_fact(m, "attached_late", "1 process after 6.00 s of CPU");
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct machine *m = *state;

	machine_process(m, 20, 1, 20, 10, "");
	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	fake_set(100, CYCLES, 1000, 10, 10);
	machine_read(m, 2);
	watch_remove(&m->watch, 100);
	machine_process(m, 100, 20, 20, UINT32_MAX, "");
	watch_add(&m->watch, 100, 20, UINT32_MAX);
	machine_read(m, 3);
	/* the old one's descriptors are still there, and those of the new one */
	assert_int_equal(fake.opened, 12);
	check_value(m, "cycles", 1000);
}

static void without_lists_of_children_the_time_decides(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	_cleanup_free_ char *children = xasprintf("%s/proc/100/task/100/children", m->root);
	assert_int_equal(unlink(children), 0);
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	/* one that began long before, and was not in the list then; one that began later */
	machine_process(m, 110, 100, 100, 51, "");
	machine_process(m, 111, 100, 100, UINT32_MAX, "");
	watch_add(&m->watch, 110, 100, 51);
	watch_add(&m->watch, 111, 100, UINT32_MAX);
	machine_read(m, 2);
	assert_true(is_attached(110));
	assert_false(is_attached(111));
}

static void those_we_may_not_count_are_told(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	machine_process(m, 200, 1, 200, 50, "210");
	machine_process(m, 210, 200, 200, 51, "");
	watch_add(&m->watch, 100, 1, 50);
	watch_add(&m->watch, 200, 1, 50);
	watch_add(&m->watch, 210, 200, 51);
	fake.deny_pid = 200;
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_true(is_attached(100) && is_attached(210));
	assert_false(is_attached(200));
	assert_fact(m, "not_counted", "1 process: Permission denied");
	/* what it makes later is not covered by anybody */
	machine_process(m, 211, 200, 200, UINT32_MAX, "");
	watch_add(&m->watch, 211, 200, UINT32_MAX);
	machine_read(m, 2);
	assert_true(is_attached(211));
	/* one that is gone before it could be opened is no loss */
	watch_add(&m->watch, 300, 1, 60);
	machine_read(m, 3);
	assert_fact(m, "not_counted", "1 process: Permission denied");
}

static void a_job_that_we_may_not_count_has_no_values(void **state)
{
	struct machine *m = *state;

	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(m->set.row_count, 0);
	assert_int_equal(m->set.absence_count, 0);
	machine_process(m, 200, 1, 200, 50, "");
	watch_add(&m->watch, 200, 1, 50);
	fake.deny_pid = 200;
	machine_read(m, 2);
	assert_int_equal(m->set.row_count, 0);
	assert_int_equal(m->set.absence_count, 1);
	assert_int_equal(m->set.absences[0].metric, SAMPLE_METRICS_MAX);
	assert_string_equal(m->set.absences[0].reason,
			    "the processes of the job: Permission denied");
	/* one that we may */
	machine_process(m, 300, 1, 300, 50, "");
	watch_add(&m->watch, 300, 1, 50);
	machine_read(m, 3);
	check_value(m, "cycles", 0);
}

static void too_few_descriptors_are_told(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	machine_process(m, 200, 1, 200, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	watch_add(&m->watch, 200, 1, 50);
	machine_open(m, "hardware_events");
	fake.fd_limit = 6;
	machine_read(m, 1);
	assert_true(is_attached(100));
	assert_fact(m, "not_counted", "1 process: Too many open files, raise `ulimit -n`");
}

static void descriptors_that_nobody_needs_are_given_back(void **state)
{
	struct machine *m = *state;

	machine_process(m, 20, 1, 20, 10, "");
	machine_process(m, 100, 20, 100, 50, "");
	machine_process(m, 200, 20, 200, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	watch_add(&m->watch, 200, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	machine_process(m, 110, 100, 100, UINT32_MAX, "");
	watch_add(&m->watch, 110, 100, UINT32_MAX);
	machine_read(m, 2);
	/* the first ends; its child is counted by its descriptors, which stay */
	watch_remove(&m->watch, 100);
	fake_set(100, CYCLES, 1000, 10, 10);
	for (unsigned i = 3; i < 9; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 12);
	check_value(m, "cycles", 1000);
	/* its child ends too, and what it did comes back with its end */
	watch_remove(&m->watch, 110);
	fake_set(100, CYCLES, 1500, 20, 20);
	for (unsigned i = 9; i < 14; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 6);
	assert_false(is_attached(100));
	check_value(m, "cycles", 1500);
	/* a new one takes the place */
	machine_process(m, 300, 20, 300, UINT32_MAX, "");
	watch_add(&m->watch, 300, 20, UINT32_MAX);
	machine_read(m, 14);
	fake_set(300, CYCLES, 7, 1, 1);
	machine_read(m, 15);
	check_value(m, "cycles", 1507);
}

static void while_there_are_orphans_nothing_is_given_back(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	watch_remove(&m->watch, 100);
	machine_process(m, 200, 1, 100, UINT32_MAX, "");
	watch_add(&m->watch, 200, 1, UINT32_MAX);
	for (unsigned i = 2; i < 9; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 6);
	watch_remove(&m->watch, 200);
	for (unsigned i = 9; i < 14; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(those_that_were_there_get_descriptors_and_later_ones_not),
		FAKE_TEST(orphans_are_covered_and_those_of_a_launcher_are_not),
		FAKE_TEST(tasks_of_a_launcher_whose_session_has_lost_its_leader),
		FAKE_TEST(tasks_of_one_process_group),
		FAKE_TEST(the_cpu_time_before_it_is_told),
		FAKE_TEST(a_pid_that_is_used_again_is_another_process),
		FAKE_TEST(without_lists_of_children_the_time_decides),
		FAKE_TEST(those_we_may_not_count_are_told),
		FAKE_TEST(a_job_that_we_may_not_count_has_no_values),
		FAKE_TEST(too_few_descriptors_are_told),
		FAKE_TEST(descriptors_that_nobody_needs_are_given_back),
		FAKE_TEST(while_there_are_orphans_nothing_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
