/* The source `waits` on recorded trees: locks and conditions of threads, and threads that come and
 * go. */
#include "waits_tree.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "sources/waits/waits.h"

/* ---- futex ----------------------------------------------------------------------------------- */

/* A futex at a place with these words of memory from 0x2000 on. */
static void a_futex_at(uint64_t place, unsigned op, uint32_t value, const uint32_t word[5])
{
	_cleanup_free_ char *memory = xcalloc(1, 0x2100);

	memcpy(memory + 0x2000, word, 5 * sizeof(*word));
	put_process(40, 'S', 2);
	put_call(40, 40, SYS_clock_nanosleep, 0, 0, 0);
	put_call(40, 41, SYS_futex, place, op, value);
	put_bytes("proc/40/mem", memory, 0x2100);
	ten_seconds();
	int64_t observed = raw_value(ENTITY_PROCESS, NAME, "observed");
	check_value(ENTITY_PROCESS, NAME, "timer", observed / 2);
}

static void a_futex(unsigned op, uint32_t value, const uint32_t word[5])
{
	a_futex_at(0x2000, op, value, word);
}

static void check_futex(const char *reason, const char *partner)
{
	_cleanup_free_ char *want = xasprintf("%s 10.0 futex %s", reason, partner);

	assert_contains(fact_of(ENTITY_PROCESS, NAME, "waits"), want);
	check_value(ENTITY_PROCESS, NAME, reason, raw_value(ENTITY_PROCESS, NAME, "observed") / 2);
}

static void a_mutex_with_its_holder(void **state)
{
	(void)state;
	a_futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, (uint32_t[]){2, 0, 40, 1, 0});
	check_futex("lock", "0x2000 held by 40");
}

static void a_mutex_of_nobody_is_no_mutex_with_a_holder(void **state)
{
	(void)state;
	a_futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, (uint32_t[]){2, 0, 4711, 1, 0});
	check_futex("lock", "0x2000");
	assert_null(strstr(fact_of(ENTITY_PROCESS, NAME, "waits"), "held"));
}

static void priority_inheritance_names_the_holder(void **state)
{
	(void)state;
	a_futex(FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0,
		(uint32_t[]){FUTEX_WAITERS | 40, 0, 0, 0, 0});
	check_futex("lock", "0x2000 held by 40");
}

static void a_barrier_in_its_second_round(void **state)
{
	(void)state;
	/* {round, count, shared, out}: looks like a lock that is held */
	a_futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, (uint32_t[]){2, 20, 0, 2, 0});
	check_futex("condition", "0x2000");
}

static void a_condition(void **state)
{
	(void)state;
	a_futex(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, (uint32_t[]){0, 0, 40, 1, 0});
	check_futex("condition", "0x2000");
}

/* The groups of waiting threads of one condition take turns with two words. */
static void the_second_word_of_a_condition_is_the_same_place(void **state)
{
	(void)state;
	a_futex_at(0x2004, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, (uint32_t[]){0, 0, 40, 1, 0});
	check_futex("condition", "0x2000");
}

static void the_end_of_a_thread(void **state)
{
	(void)state;
	a_futex(FUTEX_WAIT_BITSET, 40, (uint32_t[]){40, 0, 0, 0, 0});
	check_futex("condition", "end of thread 40");
}

static void shared_memory(void **state)
{
	(void)state;
	a_futex(FUTEX_WAIT_BITSET, 0, (uint32_t[]){0, 0, 0, 0, 0});
	check_futex("process", "shared memory 0x2000");
}

static void a_semaphore_of_processes(void **state)
{
	(void)state;
	a_futex(FUTEX_WAIT_BITSET, 0, (uint32_t[]){0, 3, 128, 0, 0});
	check_futex("process", "semaphore 0x2000");
}

/* ---- coming and going ------------------------------------------------------------------------ */

static void threads_and_processes_vanish(void **state)
{
	(void)state;
	put_process(40, 'S', 3);
	for (int tid = 40; tid < 43; tid++)
		put_call(40, tid, SYS_clock_nanosleep, 0, 0, 0);
	put_process(50, 'S', 1);
	put_call(50, 50, SYS_wait4, 0, 0, 0);
	ten_seconds();
	check_value(ENTITY_PROCESS, NAME, "threads", 3);
	int64_t before = raw_value(ENTITY_PROCESS, "50.5000", "child");
	drop("proc/40/task/42");
	drop("proc/50");
	assert_int_equal(take_later(20), 0);
	/* still listed: what it had stays, and of the time since half is counted when it is gone */
	check_value(ENTITY_PROCESS, "50.5000", "child", before);
	watch.count = 1;
	assert_int_equal(take_later(30), 0);
	check_value(ENTITY_PROCESS, "50.5000", "threads", 0);
	check_fact(ENTITY_PROCESS, "50.5000", "waits", "child 20.0 wait4");
	before = raw_value(ENTITY_PROCESS, "50.5000", "child");
	int64_t of_40 = raw_value(ENTITY_PROCESS, NAME, "timer");
	/* two threads for 30 s, and one for 10 and half of the 10 until its end was seen, or of the
	 * 20 where a look ended early because the machine was slow */
	assert_in_range(of_40, 75000000, 81000000);
	check_value(ENTITY_JOB, "job", "child", before);
	assert_int_equal(take_later(31), 0);
	assert_false(has_row(ENTITY_PROCESS, "50.5000"));
	check_value(ENTITY_JOB, "job", "child", before);
	assert_in_range(raw_value(ENTITY_JOB, "job", "timer"), of_40, of_40 + 8000000);
}

/* A thread that waits often and shortly: its call is rarely told, its state is. */
static void calls_that_are_not_told(void **state)
{
	(void)state;
	put_process(40, 'S', 2);
	put_call(40, 40, SYS_wait4, 0, 0, 0);
	put_process(41, 'D', 1);
	watch.count = 1;
	put("proc/40/task/41/syscall", "running\n");
	begin("waits", NULL);
	/* asleep, and never seen in a call: unknown why, so it counts as running */
	assert_int_equal(take_later(10), 0);
	assert_in_range(raw_value(ENTITY_PROCESS, NAME, "running"), 10000000, 10200000);
	/* it had been seen in a call */
	put_call(40, 41, SYS_clock_nanosleep, 0, 0, 0);
	assert_int_equal(take_later(20), 0);
	put("proc/40/task/41/syscall", "running\n");
	assert_int_equal(take_later(30), 0);
	assert_in_range(raw_value(ENTITY_PROCESS, NAME, "timer"), 20000000, 20200000);
	/* blocked: that is storage, whatever it did before */
	put("proc/40/task/41/stat",
	    "41 (prog) D 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 5000 1000 10 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n");
	assert_int_equal(take_later(40), 0);
	assert_in_range(raw_value(ENTITY_PROCESS, NAME, "storage"), 10000000, 10200000);
	/* and it runs */
	put("proc/40/task/41/stat",
	    "41 (prog) R 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 5000 1000 10 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n");
	assert_int_equal(take_later(50), 0);
	assert_in_range(raw_value(ENTITY_PROCESS, NAME, "running"), 20000000, 20200000);
}

/* More threads than a look may take: each has its turn, and the shares are right. */
static void many_threads_take_turns(void **state)
{
	enum { COUNT = 600, LOOKS = 60 };

	(void)state;
	put_process(1000, 'S', COUNT);
	for (int i = 0; i < COUNT; i++)
		put_call(1000, 1000 + i, i % 3 ? SYS_wait4 : SYS_clock_nanosleep, 0, 0, 0);
	begin("waits", NULL);
	for (uint64_t i = 1; i <= LOOKS; i++)
		assert_int_equal(take_later(i), 0);
	double observed = (double)raw_value(ENTITY_JOB, "job", "observed");
	double all = (double)COUNT * (LOOKS + 1) * 1e6;
	assert_true(observed < all && observed > all / 4);
	double timer = (double)raw_value(ENTITY_JOB, "job", "timer") / observed;
	assert_true(timer > 0.31 && timer < 0.36);
	assert_true(raw_value(ENTITY_JOB, "job", "timer") + raw_value(ENTITY_JOB, "job", "child") ==
		    raw_value(ENTITY_JOB, "job", "observed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_job(a_mutex_with_its_holder),
		with_job(a_mutex_of_nobody_is_no_mutex_with_a_holder),
		with_job(priority_inheritance_names_the_holder),
		with_job(a_barrier_in_its_second_round),
		with_job(a_condition),
		with_job(the_second_word_of_a_condition_is_the_same_place),
		with_job(the_end_of_a_thread),
		with_job(shared_memory),
		with_job(a_semaphore_of_processes),
		with_job(threads_and_processes_vanish),
		with_job(calls_that_are_not_told),
		with_job(many_threads_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
