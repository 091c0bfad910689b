/*
 * The account of a job's processes without files: a table, the list of the job, readings that are
 * made up, records of exits.
 */
#pragma once

#include "unit.h"

#include "sources/process/process.h"

#define TICK PL_TICK_US

struct world {
	struct members m;
	int existing; /* this number is still there */
	struct job_process list[64];
	size_t count;
};

static inline bool never_gone(void *user, struct member *one)
{
	(void)user;
	(void)one;
	return false;
}

static inline bool always_gone(void *user, struct member *one)
{
	(void)user;
	(void)one;
	return true;
}

static inline bool one_exists(void *user, int pid)
{
	return pid == ((struct world *)user)->existing;
}

static inline int world_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->m = (struct members){
		.since_ticks = 1000, .gone = always_gone, .exists = one_exists, .user = w};
	*state = w;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	members_release(&w->m);
	free(w);
	return 0;
}

static inline void add(struct world *w, int pid, int ppid, uint64_t start)
{
	size_t i = w->count++;

	for (; i && w->list[i - 1].pid > pid; i--)
		w->list[i] = w->list[i - 1];
	w->list[i] = (struct job_process){.pid = pid, .ppid = ppid, .starttime = start, .rank = -1};
}

static inline void drop(struct world *w, int pid)
{
	size_t left = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].pid != pid)
			w->list[left++] = w->list[i];
	w->count = left;
}

static inline void begin(struct world *w)
{
	members_sync(&w->m, w->list, w->count);
}

/* A reading of one: ticks of its own and of its children, faults alike, and bytes written. */
static inline void took(struct world *w, int pid, uint64_t own, uint64_t kids, uint64_t faults,
			uint64_t kids_faults, uint64_t bytes)
{
	struct member *one = members_find(&w->m, pid, UINT64_MAX);
	uint64_t o[USAGE_END] = {[USAGE_USER] = own * TICK,
				 [USAGE_MINFLT] = faults,
				 [USAGE_IO + 1] = bytes,
				 [USAGE_SLICES] = own};
	uint64_t k[USAGE_KIDS_END] = {[USAGE_USER] = kids * TICK, [USAGE_MINFLT] = kids_faults};

	assert_non_null(one);
	member_took(&w->m, one, o, k);
}

static inline void lost(struct world *w, int pid)
{
	struct member *one = members_find(&w->m, pid, UINT64_MAX);

	assert_non_null(one);
	one->state = MEMBER_LATE;
}

static inline uint64_t ticks(const struct world *w)
{
	return (w->m.total[USAGE_USER] + w->m.total[USAGE_SYSTEM]) / TICK;
}

#define with_world(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

static inline struct task_exit record(int pid, int tgid, int ppid, uint64_t cpu_ticks,
				      uint64_t faults)
{
	return (struct task_exit){.pid = pid,
				  .tgid = tgid,
				  .ppid = ppid,
				  .oncpu_ns = cpu_ticks * TICK * 1000,
				  .minflt = faults,
				  .write_bytes = 512,
				  .timeslices = 1};
}
