/*
 * Counters that the kernel has only per thread: schedstat and context switches of a process are
 * those of its first thread. Here they are read for each thread and added up, including the last
 * values of ended threads, so that the sum only grows. What a thread used after its last reading,
 * or between two readings, is unknown.
 */
#pragma once

#include <stdint.h>

#include "sources/process/procdir.h"

#define THREAD_COUNTERS_VALUES 3

struct thread_counters {
	struct thread_counters_thread *list;
	size_t count, cap;
	size_t old, hint;                       /* while listing: threads of the last reading */
	uint64_t ended[THREAD_COUNTERS_VALUES]; /* of threads that are gone */
	uint64_t total[THREAD_COUNTERS_VALUES];
};

/* A file of a thread. */
struct thread_counters_file {
	const char *name; /* below task/TID */
	bool keep;        /* descriptors stay open, using at most half of the limit */
	bool (*parse)(const char *text, size_t n, uint64_t ret[THREAD_COUNTERS_VALUES]);
};

/* At most this many threads are read per reading, at about a microsecond each; the processes of a
 * job with more threads take turns. */
#define THREAD_COUNTERS_BUDGET 512
struct threadpace {
	unsigned pass;
	size_t total, last_total; /* threads of this reading so far, and of the last one */
};
void threadpace_begin(struct threadpace *p);
/* Is it the turn of this process, which has this many threads? */
bool threadpace_due(struct threadpace *p, int pid, uint64_t threads);

/* Reads all threads of a process and updates t->total. Negative errno: nothing was read. */
int thread_counters_read(struct thread_counters *t, struct procdir *d, int pid,
			 const struct thread_counters_file *f);
void thread_counters_release(struct thread_counters *t, struct procdir *d);
