/* The table of processes against a plain array, with removal one by one and all at once. */
#include "unit.h"

#include "core/system/process_table.h"

#define PIDS 5000

struct entry {
	int pid;
	uint64_t start;
};

static void finds_adds_and_removes(void **state)
{
	struct process_table t = {.entry_size = sizeof(struct entry)};
	bool there[PIDS] = {false};
	uint32_t seed = 7;

	(void)state;
	assert_null(process_table_find(&t, 1));
	process_table_remove(&t, 1);
	for (int round = 0; round < 40 * PIDS; round++) {
		seed = seed * 1664525u + 1013904223u;
		int pid = (int)(seed >> 8) % PIDS;

		if (there[pid]) {
			process_table_remove(&t, pid);
		} else {
			struct entry *e = process_table_put(&t, pid);

			assert_int_equal(e->pid, pid);
			assert_int_equal(e->start, 0);
			e->start = (uint64_t)pid * 3;
			assert_ptr_equal(process_table_put(&t, pid), e);
		}
		there[pid] = !there[pid];
	}
	for (int pid = 0; pid < PIDS; pid++) {
		const struct entry *e = process_table_find(&t, pid);

		assert_int_equal(e != NULL, there[pid]);
		if (e)
			assert_int_equal(e->start, (uint64_t)pid * 3);
	}
	process_table_release(&t);
	assert_null(process_table_find(&t, 2));
}

static bool is_odd(void *user, void *entry)
{
	++*(size_t *)user;
	return ((const struct entry *)entry)->pid % 2;
}

static void removes_many_and_shrinks(void **state)
{
	struct process_table t = {.entry_size = sizeof(struct entry)};
	const struct entry *e;
	size_t asked = 0, seen = 0;

	(void)state;
	for (int pid = 1; pid <= PIDS; pid++)
		process_table_put(&t, pid);
	process_table_remove_if(&t, is_odd, &asked);
	assert_true(asked >= PIDS);
	PROCESS_TABLE_EACH(&t, e) {
		assert_int_equal(e->pid % 2, 0);
		seen++;
	}
	assert_int_equal(seen, PIDS / 2);
	size_t size = t.map.size;
	for (int pid = 2; pid < PIDS; pid += 2)
		process_table_remove(&t, pid);
	assert_true(t.map.size < size);
	assert_non_null(process_table_find(&t, PIDS));
	process_table_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_adds_and_removes),
		cmocka_unit_test(removes_many_and_shrinks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
