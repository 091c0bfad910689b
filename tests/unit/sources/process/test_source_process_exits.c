/*
 * The account of a job's processes with the kernel's records of exits: of those that nobody saw,
 * that are not yet waited for, that were known.
 */
#include "source_process_members.h"

static void drain(struct process_exits *e, const struct task_exit *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		process_exits_take(e, &x[i]);
	process_exits_settle(e);
}

static void records_of_children_nobody_saw(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	/* 31 and its child 32 came and went; so did 40, of somebody else, and two threads of 33 */
	const struct task_exit x[] = {record(32, 32, 31, 4, 40), record(31, 31, 10, 2, 20),
				      record(40, 40, 39, 100, 1000), record(34, 33, 10, 1, 5),
				      record(33, 33, 10, 1, 5)};

	add(w, 10, 1, 2000);
	begin(w);
	took(w, 10, 1, 0, 10, 0, 0);
	members_settle(&w->m);
	/* all of them are in the parent by now */
	begin(w);
	drain(&e, x, ARRAY_SIZE(x));
	assert_int_equal(w->m.count, 4);
	took(w, 10, 1, 8, 10, 70, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 9);
	assert_int_equal(w->m.total[USAGE_MINFLT], 80);
	/* what no parent shows is from the records: 1 of its own and one of each of four tasks */
	assert_int_equal(w->m.total[USAGE_SLICES], 5);
	assert_int_equal(w->m.started, 4);
	assert_int_equal(w->m.ended_shown, 3);
	begin(w);
	took(w, 10, 1, 8, 10, 70, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 9);
	assert_int_equal(w->m.count, 1);
	assert_int_equal(w->m.ended_shown, 3);
	process_exits_close(&e);
}

static void records_where_nobody_waits(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	const struct task_exit x[] = {record(31, 31, 10, 2, 20), record(32, 32, 10, 3, 30)};

	add(w, 10, 1, 2000);
	begin(w);
	took(w, 10, 1, 0, 10, 0, 0);
	members_settle(&w->m);
	for (int round = 0; round < 3; round++) {
		begin(w);
		if (!round)
			drain(&e, x, ARRAY_SIZE(x));
		took(w, 10, 1, 0, 10, 0, 0);
		members_settle(&w->m);
		assert_int_equal(ticks(w), 6);
		assert_int_equal(w->m.total[USAGE_MINFLT], 60);
	}
	process_exits_close(&e);
}

static void a_record_of_one_that_is_not_yet_waited_for(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	const struct task_exit x[] = {record(31, 31, 10, 2, 20)};

	/* of a kind of list that does not show the dead: it is looked up */
	w->existing = 31;
	add(w, 10, 1, 2000);
	for (int round = 0; round < 4; round++) {
		begin(w);
		if (!round)
			drain(&e, x, 1);
		took(w, 10, 1, 0, 10, 0, 0);
		if (!round)
			continue;
		members_settle(&w->m);
		assert_int_equal(ticks(w), 3);
		assert_int_equal(w->m.count, 2);
	}
	/* now it is waited for */
	w->existing = 0;
	begin(w);
	took(w, 10, 1, 2, 10, 20, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 3);
	begin(w);
	took(w, 10, 1, 2, 10, 20, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 3);
	assert_int_equal(w->m.count, 1);
	process_exits_close(&e);
}

static void a_record_of_one_that_is_listed_afterwards(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	const struct task_exit x[] = {record(31, 31, 10, 2, 20)};

	add(w, 10, 1, 2000);
	begin(w);
	drain(&e, x, 1);
	took(w, 10, 1, 0, 10, 0, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 3);
	/* dead and not waited for: it is in the list, with a start */
	add(w, 31, 10, 2100);
	begin(w);
	assert_int_equal(w->m.count, 2);
	took(w, 10, 1, 0, 10, 0, 0);
	took(w, 31, 2, 0, 20, 0, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 3);
	assert_int_equal(w->m.started, 2);
	drop(w, 31);
	begin(w);
	took(w, 10, 1, 2, 10, 20, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 3);
	process_exits_close(&e);
}

static void the_last_work_of_one_that_was_known(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	const struct task_exit x[] = {record(11, 10, 1, 3, 10), record(12, 12, 10, 6, 60),
				      record(10, 10, 1, 20, 90)};

	add(w, 10, 1, 2000);
	begin(w);
	took(w, 10, 15, 0, 80, 0, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 15);
	/* its end, with a thread and a child that nobody saw: 23 of its own, 6 of the child */
	w->count = 0;
	begin(w);
	drain(&e, x, ARRAY_SIZE(x));
	members_settle(&w->m);
	assert_int_equal(ticks(w), 29);
	begin(w);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 29);
	assert_int_equal(w->m.total[USAGE_MINFLT], 160);
	assert_int_equal(w->m.count, 0);
	process_exits_close(&e);
}

static void user_and_system_as_the_kernel_divides(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	struct task_exit x = record(10, 10, 1, 10, 1);

	add(w, 10, 1, 2000);
	begin(w);
	took(w, 10, 0, 0, 0, 0, 0);
	members_settle(&w->m);
	x.utime_us = 3000;
	x.stime_us = 1000;
	w->count = 0;
	begin(w);
	drain(&e, &x, 1);
	members_settle(&w->m);
	assert_int_equal(w->m.total[USAGE_USER], 75000);
	assert_int_equal(w->m.total[USAGE_SYSTEM], 25000);
	process_exits_close(&e);
}

static void records_without_a_process_are_passed_by(void **state)
{
	struct world *w = *state;
	struct process_exits e = {.listener = {.fd = -1}, .members = &w->m};
	const struct task_exit x[] = {record(5, 0, 10, 1, 1), record(6, 7, 8, 1, 1),
				      record(8, 8, 6, 1, 1)};

	add(w, 10, 1, 2000);
	begin(w);
	drain(&e, x, ARRAY_SIZE(x));
	assert_int_equal(w->m.count, 1);
	assert_int_equal(e.lost, 0);
	process_exits_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(records_of_children_nobody_saw),
		with_world(records_where_nobody_waits),
		with_world(a_record_of_one_that_is_not_yet_waited_for),
		with_world(a_record_of_one_that_is_listed_afterwards),
		with_world(the_last_work_of_one_that_was_known),
		with_world(user_and_system_as_the_kernel_divides),
		with_world(records_without_a_process_are_passed_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
