/*
 * The account of a job's processes: what ended ones used is neither lost nor counted twice, whoever
 * waits for them and whenever they are read. Processes here are made up.
 */
#include "source_process_members.h"

static void a_child_that_was_waited_for_is_in_its_parent(void **state)
{
	struct world *w = *state;

	add(w, 10, 1, 2000);
	add(w, 11, 10, 2001);
	begin(w);
	took(w, 10, 5, 0, 50, 0, 100);
	took(w, 11, 7, 0, 70, 0, 1000);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 12);
	assert_int_equal(w->m.total[USAGE_IO + 1], 1100);
	/* it used 3 ticks and wrote 50 bytes more before it ended */
	drop(w, 11);
	begin(w);
	took(w, 10, 6, 10, 60, 90, 1150);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 16);
	assert_int_equal(w->m.total[USAGE_MINFLT], 150);
	assert_int_equal(w->m.total[USAGE_IO + 1], 1150);
	/* nobody inherits slices: the last reading stays */
	assert_int_equal(w->m.total[USAGE_SLICES], 13);
	assert_int_equal(w->m.count, 1);
	assert_int_equal(w->m.started, 2);
	assert_int_equal(w->m.ended_shown, 1);
}

static void a_child_that_nobody_waited_for_stays(void **state)
{
	struct world *w = *state;

	add(w, 10, 1, 2000);
	add(w, 11, 10, 2001);
	begin(w);
	took(w, 10, 5, 0, 50, 0, 100);
	took(w, 11, 7, 2, 70, 30, 1000);
	members_settle(&w->m);
	drop(w, 11);
	begin(w);
	/* the parent writes more than the child ever did, which tells nothing */
	took(w, 10, 6, 0, 60, 0, 9100);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 15);
	assert_int_equal(w->m.total[USAGE_MINFLT], 160);
	assert_int_equal(w->m.total[USAGE_IO + 1], 10100);
	/* and it is not counted again */
	begin(w);
	took(w, 10, 6, 0, 60, 0, 9100);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 15);
}

static void one_with_a_parent_outside_stays(void **state)
{
	struct world *w = *state;

	add(w, 10, 1, 2000);
	add(w, 20, 1, 2000);
	begin(w);
	took(w, 10, 5, 4, 50, 0, 100);
	took(w, 20, 1, 0, 1, 0, 1);
	members_settle(&w->m);
	drop(w, 10);
	begin(w);
	took(w, 20, 1, 0, 1, 0, 1);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 10);
	assert_int_equal(w->m.total[USAGE_IO + 1], 101);
	/* the last one goes, too */
	drop(w, 20);
	begin(w);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 10);
	assert_int_equal(w->m.count, 0);
	assert_int_equal(w->m.ended_shown, 2);
}

static void the_past_of_one_that_was_there_before(void **state)
{
	struct world *w = *state;

	/* older than our watch: its own time counts, its children's not; then only what is new */
	add(w, 10, 1, 900);
	begin(w);
	took(w, 10, 5, 1000, 50, 5000, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 5);
	assert_int_equal(w->m.total[USAGE_MINFLT], 50);
	begin(w);
	took(w, 10, 5, 1480, 50, 6000, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 485);
	assert_int_equal(w->m.total[USAGE_MINFLT], 1050);
	/* younger than it, though new to us: all of it is of the job */
	add(w, 11, 10, 1000);
	begin(w);
	took(w, 10, 5, 1480, 50, 6000, 0);
	took(w, 11, 1, 20, 10, 10, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 506);
	/* and what it left behind is what the job had of it */
	drop(w, 10);
	begin(w);
	took(w, 11, 1, 20, 10, 10, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 506);
}

static void the_past_of_one_that_ends(void **state)
{
	struct world *w = *state;

	/* both were there before, and the child had children: that past is not the job's */
	for (int late = 0; late < 2; late++) {
		members_release(&w->m);
		w->count = 0;
		w->m = (struct members){
			.since_ticks = 1000, .gone = always_gone, .exists = one_exists, .user = w};
		add(w, 10, 1, 900);
		add(w, 11, 10, 950);
		begin(w);
		took(w, 10, 1, 300, 10, 3000, 0);
		took(w, 11, 2, 5000, 20, 70000, 0);
		members_settle(&w->m);
		assert_int_equal(ticks(w), 3);
		/* 4 ticks more of its children, then its parent has it all */
		if (!late)
			drop(w, 11);
		begin(w);
		took(w, 10, 1, 300 + 2 + 5004, 10, 3000 + 20 + 70040, 0);
		if (late)
			lost(w, 11);
		members_settle(&w->m);
		assert_int_equal(ticks(w), 7);
		assert_int_equal(w->m.total[USAGE_MINFLT], 70);
		drop(w, 11);
		begin(w);
		took(w, 10, 1, 300 + 2 + 5004 + 1, 10, 3000 + 20 + 70040 + 5, 0);
		members_settle(&w->m);
		assert_int_equal(ticks(w), 8);
		assert_int_equal(w->m.total[USAGE_MINFLT], 75);
	}
}

static void a_chain_that_ends_at_once(void **state)
{
	struct world *w = *state;

	add(w, 10, 1, 2000);
	add(w, 11, 10, 2001);
	add(w, 12, 11, 2002);
	begin(w);
	took(w, 10, 1, 0, 10, 0, 0);
	took(w, 11, 2, 0, 20, 0, 0);
	took(w, 12, 4, 0, 40, 0, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 7);
	drop(w, 11);
	drop(w, 12);
	begin(w);
	took(w, 10, 1, 7, 10, 70, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 8);
	assert_int_equal(w->m.count, 1);
}

static void orphans_of_a_chain_stay(void **state)
{
	struct world *w = *state;

	add(w, 10, 1, 2000);
	add(w, 11, 10, 2001);
	add(w, 12, 11, 2002);
	begin(w);
	took(w, 10, 1, 0, 10, 0, 0);
	took(w, 11, 2, 0, 20, 0, 0);
	took(w, 12, 40, 0, 400, 0, 0);
	members_settle(&w->m);
	/* 11 is waited for; 12, orphaned, is waited for by init */
	drop(w, 11);
	drop(w, 12);
	begin(w);
	took(w, 10, 1, 2, 10, 20, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 43);
	assert_int_equal(w->m.total[USAGE_MINFLT], 430);
}

static void found_gone_while_reading(void **state)
{
	struct world *w = *state;

	for (int seen = 0; seen < 2; seen++) {
		/* seen: it was in its parent's file already when its own was found gone */
		members_release(&w->m);
		w->count = 0;
		w->m = (struct members){.gone = always_gone, .exists = one_exists, .user = w};
		add(w, 10, 1, 2000);
		add(w, 11, 10, 2001);
		begin(w);
		took(w, 10, 1, 0, 10, 0, 0);
		took(w, 11, 8, 0, 80, 0, 0);
		members_settle(&w->m);
		begin(w);
		if (seen)
			took(w, 10, 1, 9, 10, 90, 0);
		else
			took(w, 10, 1, 0, 10, 0, 0);
		lost(w, 11);
		members_settle(&w->m);
		assert_int_equal(ticks(w), seen ? 10 : 9);
		assert_int_equal(w->m.ended_shown, 1);
		drop(w, 11);
		begin(w);
		took(w, 10, 1, 9, 10, 90, 0);
		members_settle(&w->m);
		assert_int_equal(ticks(w), 10);
		assert_int_equal(w->m.total[USAGE_MINFLT], 100);
		assert_int_equal(w->m.count, 1);
	}
}

static void one_that_left_the_list_is_still_counted(void **state)
{
	struct world *w = *state;

	w->m.gone = never_gone;
	add(w, 10, 1, 2000);
	add(w, 11, 10, 2001);
	begin(w);
	took(w, 10, 1, 0, 10, 0, 0);
	took(w, 11, 8, 0, 80, 0, 0);
	members_settle(&w->m);
	drop(w, 11);
	begin(w);
	assert_false(members_find(&w->m, 11, UINT64_MAX)->listed);
	took(w, 10, 1, 0, 10, 0, 0);
	took(w, 11, 9, 0, 80, 0, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 10);
	/* it ends, and its parent waited for it */
	w->m.gone = always_gone;
	begin(w);
	took(w, 10, 1, 9, 10, 80, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 10);
}

static void a_number_that_is_used_again(void **state)
{
	struct world *w = *state;

	add(w, 10, 1, 2000);
	begin(w);
	took(w, 10, 3, 0, 10, 0, 0);
	members_settle(&w->m);
	drop(w, 10);
	add(w, 10, 1, 2500);
	begin(w);
	assert_int_equal(w->m.count, 2);
	assert_int_equal(members_find(&w->m, 10, 2400)->starttime, 2000);
	took(w, 10, 1, 0, 10, 0, 0);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 4);
	assert_int_equal(w->m.count, 1);
	assert_int_equal(w->m.started, 2);
}

static void parents_are_read_first(void **state)
{
	struct world *w = *state;

	/* numbers have gone around: the child has the lower one */
	add(w, 5, 4000, 2001);
	add(w, 4000, 1, 2000);
	add(w, 7, 5, 2001);
	begin(w);
	assert_int_equal(w->m.by_age[0]->pid, 4000);
	assert_int_equal(w->m.by_age[1]->pid, 5);
	assert_int_equal(w->m.by_age[2]->pid, 7);
}

static void parents_in_a_circle(void **state)
{
	struct world *w = *state;

	/* no kernel says so, a file may */
	add(w, 10, 11, 2000);
	add(w, 11, 10, 2000);
	add(w, 12, 12, 2000);
	begin(w);
	took(w, 10, 1, 0, 1, 0, 0);
	took(w, 11, 2, 0, 1, 0, 0);
	took(w, 12, 4, 0, 1, 0, 0);
	members_settle(&w->m);
	w->count = 0;
	begin(w);
	members_settle(&w->m);
	assert_int_equal(ticks(w), 7);
	assert_int_equal(w->m.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_world(a_child_that_was_waited_for_is_in_its_parent),
		with_world(a_child_that_nobody_waited_for_stays),
		with_world(one_with_a_parent_outside_stays),
		with_world(the_past_of_one_that_was_there_before),
		with_world(the_past_of_one_that_ends),
		with_world(a_chain_that_ends_at_once),
		with_world(orphans_of_a_chain_stay),
		with_world(found_gone_while_reading),
		with_world(one_that_left_the_list_is_still_counted),
		with_world(a_number_that_is_used_again),
		with_world(parents_are_read_first),
		with_world(parents_in_a_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
