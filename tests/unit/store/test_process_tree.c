/* The process tree of a job: parents, intervals, sums, exclusive times, concurrency. */
#include "unit/support/unit.h"

#include "store/process_tree.h"

static uint32_t add(struct process_tree *f, uint32_t pid, uint32_t ppid, uint64_t start,
		    uint64_t end, uint64_t cpu)
{
	struct node *n = process_tree_add(f);

	n->pid = pid;
	n->ppid = ppid;
	n->start = start;
	n->end = end;
	n->cpu = cpu;
	return (uint32_t)f->count - 1;
}

#define NODE(f, i) (&(f).nodes[i])

static void a_node_is_small(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct node), 56);
}

static void a_family(void **state)
{
	struct process_tree f = {0};

	(void)state;
	/* in no order: grandchild, root, child, second child */
	uint32_t grandchild = add(&f, 30, 20, 300, 400, 4);
	uint32_t root = add(&f, 10, 1, 100, 1000, 1);
	uint32_t child = add(&f, 20, 10, 200, 500, 2);
	uint32_t second = add(&f, 40, 10, 450, 700, 8);
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, root)->parent, NO_NODE);
	assert_int_equal(NODE(f, child)->parent, root);
	assert_int_equal(NODE(f, grandchild)->parent, child);
	assert_int_equal(NODE(f, second)->parent, root);
	assert_int_equal(NODE(f, root)->cpu, 15);
	assert_int_equal(NODE(f, child)->cpu, 6);
	assert_int_equal(NODE(f, root)->first, 1);
	assert_int_equal(NODE(f, root)->last, 4);
	assert_int_equal(NODE(f, child)->first, 2);
	assert_int_equal(NODE(f, child)->last, 3);
	assert_int_equal(NODE(f, second)->first, 4);
	assert_int_equal(NODE(f, second)->last, 4);
	assert_int_equal(NODE(f, root)->children, 2);
	assert_int_equal(NODE(f, grandchild)->depth, 2);
	/* 900 long; children cover 200 to 700 with an overlap */
	assert_int_equal(NODE(f, root)->exclusive, 400);
	assert_int_equal(NODE(f, child)->exclusive, 200);
	assert_int_equal(NODE(f, second)->exclusive, 250);
	process_tree_release(&f);
}

static void a_pid_that_was_used_again(void **state)
{
	struct process_tree f = {0};

	(void)state;
	uint32_t first = add(&f, 10, 1, 100, 200, 0);
	uint32_t again = add(&f, 10, 1, 300, 400, 0);
	uint32_t of_first = add(&f, 50, 10, 150, 160, 0);
	uint32_t of_again = add(&f, 51, 10, 350, 360, 0);
	uint32_t between = add(&f, 52, 10, 250, 260, 0);
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, of_first)->parent, first);
	assert_int_equal(NODE(f, of_again)->parent, again);
	/* its parent was gone when it executed its program */
	assert_int_equal(NODE(f, between)->parent, first);
	process_tree_release(&f);
}

static void a_copy_in_the_tick_of_its_parent(void **state)
{
	struct process_tree f = {0};

	(void)state;
	uint32_t parent = add(&f, 10, 1, 15000, 60000, 0);
	uint32_t copy = add(&f, 20, 10, 10000, 50000, 0);
	uint32_t older = add(&f, 30, 10, 4000, 50000, 0); /* of one that had the pid before */
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, copy)->parent, parent);
	assert_int_equal(NODE(f, older)->parent, NO_NODE);
	process_tree_release(&f);
}

static void programs_that_one_process_executed(void **state)
{
	struct process_tree f = {0};

	(void)state;
	uint32_t shell = add(&f, 10, 1, 100, 200, 0);
	uint32_t model = add(&f, 10, 1, 200, 900, 0);
	uint32_t early = add(&f, 20, 10, 150, 180, 0);
	uint32_t late = add(&f, 21, 10, 200, 300, 0);
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, early)->parent, shell);
	assert_int_equal(NODE(f, late)->parent, model);
	process_tree_release(&f);
}

/* papiex has no record of the shell that executed the model. */
static void images_that_were_dropped(void **state)
{
	struct process_tree f = {0};

	(void)state;
	uint32_t model = add(&f, 10, 1, 200, 900, 0);
	uint32_t early = add(&f, 20, 10, 150, 180, 0);
	process_tree_build(&f, true);
	assert_int_equal(NODE(f, early)->parent, model);
	NODE(f, early)->parent = NO_NODE;
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, early)->parent, NO_NODE);
	process_tree_release(&f);
}

static void the_same_pid_on_two_hosts(void **state)
{
	struct process_tree f = {0};

	(void)state;
	uint32_t here = add(&f, 10, 1, 100, 900, 0);
	uint32_t there = add(&f, 10, 1, 100, 900, 0);
	uint32_t child = add(&f, 20, 10, 200, 300, 0);
	NODE(f, there)->host = NODE(f, child)->host = 1;
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, child)->parent, there);
	assert_int_equal(NODE(f, here)->children, 0);
	process_tree_release(&f);
}

static void circles_are_cut(void **state)
{
	struct process_tree f = {0};

	(void)state;
	add(&f, 10, 20, 100, 900, 1);
	add(&f, 20, 10, 100, 900, 2);
	add(&f, 30, 30, 100, 900, 4);
	process_tree_build(&f, true);
	/* every node is in the numbering once */
	unsigned seen = 0;
	for (size_t i = 0; i < f.count; i++)
		seen |= 1u << NODE(f, i)->first;
	assert_int_equal(seen, 0xe);
	process_tree_release(&f);
}

static void a_chain_of_a_hundred_thousand(void **state)
{
	struct process_tree f = {0};

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		add(&f, i + 2, i + 1, i + 1, 1000000, 1);
	process_tree_build(&f, false);
	assert_int_equal(NODE(f, 0)->cpu, 100000);
	assert_int_equal(NODE(f, 0)->last, 100000);
	assert_int_equal(NODE(f, 99999)->first, 100000);
	assert_int_equal(NODE(f, 99999)->depth, UINT16_MAX);
	process_tree_release(&f);
}

static void how_many_ran_when(void **state)
{
	struct process_tree_step steps[16];
	struct process_tree f = {0};
	uint32_t processes, threads;

	(void)state;
	add(&f, 1, 0, 100, 500, 0);
	add(&f, 2, 1, 200, 300, 0);
	add(&f, 3, 1, 250, 400, 0);
	/* two of its threads one after the other, one that the clocks put outside of it, and one of
	 * no length */
	process_tree_add_thread(&f, 260, 280);
	process_tree_add_thread(&f, 280, 290);
	process_tree_add_thread(&f, 240, 410);
	process_tree_add_thread(&f, 350, 350);
	add(&f, 4, 1, 0, 0, 0); /* times unknown */
	process_tree_add_thread(&f, 0, 0);
	size_t n = process_tree_profile(&f, steps, ARRAY_SIZE(steps), &processes, &threads);
	static const struct process_tree_step want[] = {{100, 1, 1}, {200, 2, 2}, {250, 3, 4},
							{260, 3, 5}, {290, 3, 4}, {300, 2, 3},
							{400, 1, 1}, {500, 0, 0}};
	assert_int_equal(n, ARRAY_SIZE(want));
	assert_memory_equal(steps, want, sizeof(want));
	assert_int_equal(processes, 3);
	assert_int_equal(threads, 5);
	process_tree_release(&f);
}

/* A thread whose times nobody knows makes the number of threads unknown, of processes not. */
static void threads_of_unknown_times(void **state)
{
	struct process_tree_step steps[16];
	struct process_tree f = {0};
	uint32_t processes, threads;

	(void)state;
	add(&f, 1, 0, 100, 500, 0);
	process_tree_add_thread(&f, 200, 300);
	process_tree_add_thread(&f, 200, 0);
	assert_int_equal(process_tree_profile(&f, steps, ARRAY_SIZE(steps), &processes, &threads),
			 2);
	assert_int_equal(processes, 1);
	assert_int_equal(threads, 0);
	assert_int_equal(steps[0].threads, 0);
	process_tree_release(&f);
}

/* More steps than there is room for: the larger number of each slice stands, for that slice. */
static void many_steps_keep_their_peaks(void **state)
{
	struct process_tree_step steps[40];
	struct process_tree f = {0};
	uint32_t processes, threads, highest = 0, high = 0;

	(void)state;
	/* one at a time, and in the middle a second one for as long as ten others */
	for (uint32_t i = 0; i < 1000; i++)
		add(&f, i + 1, 0, 1000 + i * 10, 1000 + i * 10 + (i == 500 ? 100 : 5), 0);
	size_t n = process_tree_profile(&f, steps, ARRAY_SIZE(steps), &processes, &threads);
	assert_true(n >= 4 && n <= 40);
	for (size_t i = 0; i < n; i++) {
		high += steps[i].processes == 2;
		if (steps[i].processes > highest)
			highest = steps[i].processes;
		assert_true(i == 0 || steps[i].time > steps[i - 1].time);
	}
	assert_int_equal(highest, 2);
	assert_int_equal(processes, 2);
	assert_int_equal(high, 1);
	assert_int_equal(steps[n - 1].processes, 0);
	process_tree_release(&f);
}

static void nothing_at_all(void **state)
{
	struct process_tree_step steps[4];
	struct process_tree f = {0};
	uint32_t processes, threads;

	(void)state;
	process_tree_build(&f, false);
	assert_int_equal(process_tree_profile(&f, steps, 4, &processes, &threads), 0);
	assert_int_equal(processes, 0);
	process_tree_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_small),
		cmocka_unit_test(a_family),
		cmocka_unit_test(a_pid_that_was_used_again),
		cmocka_unit_test(a_copy_in_the_tick_of_its_parent),
		cmocka_unit_test(programs_that_one_process_executed),
		cmocka_unit_test(images_that_were_dropped),
		cmocka_unit_test(the_same_pid_on_two_hosts),
		cmocka_unit_test(circles_are_cut),
		cmocka_unit_test(a_chain_of_a_hundred_thousand),
		cmocka_unit_test(how_many_ran_when),
		cmocka_unit_test(threads_of_unknown_times),
		cmocka_unit_test(many_steps_keep_their_peaks),
		cmocka_unit_test(nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
