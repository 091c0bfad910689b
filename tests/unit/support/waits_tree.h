/* Threads that wait, on a tree below the scratch directory, for tests of the source `waits`. */
#pragma once

#include "source.h"

#define STACK "0x7ffc12345678 0x7f0012345678"
#define NAME "40.5000"

static struct job_process list[4];
static struct job_processes watch = {.list = list};

/* A process with threads 40, 41, ... in this state. */
static inline void put_process(int pid, char state, int threads)
{
	_cleanup_free_ char *text = xasprintf(
		"%d (prog) %c 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 5000 1000 10 0 0 0 0 0 0 0 0 0 "
		"0 0 0 17 0 0 0 0 0 0\n",
		pid, state, threads);

	putf("proc/%d/stat", text, pid);
	putf("proc/%d/comm", "prog\n", pid);
	for (int i = 0; i < threads; i++)
		putf("proc/%d/task/%d/stat", text, pid, pid + i);
	list[watch.count++] = (struct job_process){.pid = pid, .starttime = 5000, .rank = -1};
	R.ctx.watch = &watch;
}

static inline void put_call(int pid, int tid, long number, uint64_t a, uint64_t b, uint64_t c)
{
	_cleanup_free_ char *text =
		xasprintf("%ld 0x%llx 0x%llx 0x%llx 0x0 0x0 0x0 " STACK "\n", number,
			  (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);

	putf("proc/%d/task/%d/syscall", text, pid, tid);
}

/* Ten seconds in the state that was written. */
static inline void ten_seconds(void)
{
	begin("waits", NULL);
	assert_int_equal(take_later(10), 0);
}

/* All of the time has this reason, and the metadata says so. */
static inline void check_wait(const char *reason, const char *text)
{
	_cleanup_free_ char *want = xasprintf("%s 10.0 %s", reason, text);
	int64_t observed = raw_value(ENTITY_PROCESS, NAME, "observed");

	assert_in_range(observed, 10000000, 10200000);
	if (raw_value(ENTITY_PROCESS, NAME, reason) != observed)
		fail_msg("not %s: %s", reason, fact_of(ENTITY_PROCESS, NAME, "waits"));
	check_fact(ENTITY_PROCESS, NAME, "waits", want);
	check_value(ENTITY_JOB, "job", reason, observed);
}

static inline int setup(void **state)
{
	watch.count = 0;
	return source_setup(state);
}
#define with_job(f) cmocka_unit_test_setup_teardown(f, setup, source_teardown)
