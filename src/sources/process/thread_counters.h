/*
 * Counters that the kernel keeps a thread and does not add up: schedstat and the context switches
 * of a process are those of its first thread alone. Here they are read for each thread and added,
 * with what ended threads had when last read, so that the sum only grows. What a thread used that
 * came and went between two readings, or after its last one, nobody knows.
 */
#ifndef PL_SOURCES_PROCESS_THREAD_COUNTERS_H
#define PL_SOURCES_PROCESS_THREAD_COUNTERS_H

#include <stdint.h>

#include "sources/process/procdir.h"

#define THREAD_COUNTERS_VALUES 3

struct thread_counters {
	struct thread_counters_thread *list;
	size_t count, cap;
	size_t old, hint;                       /* while listing: those of the reading before */
	uint64_t ended[THREAD_COUNTERS_VALUES]; /* of threads that are gone */
	uint64_t total[THREAD_COUNTERS_VALUES];
};

/* What is read of a thread. */
struct thread_counters_file {
	const char *name; /* below task/TID */
	bool keep;        /* descriptors stay open, in at most half of those there are */
	bool (*parse)(const char *text, size_t n, uint64_t ret[THREAD_COUNTERS_VALUES]);
};

/*
 * So many threads are read at each reading at most, at about a microsecond each; where a job has
 * more, its processes take turns.
 */
#define THREAD_COUNTERS_BUDGET 512
struct threadpace {
	unsigned pass;
	size_t total, last_total; /* threads of this reading so far, and of the one before */
};
void threadpace_begin(struct threadpace *p);
/* Is it the turn of this process, which has so many threads? */
bool threadpace_due(struct threadpace *p, int pid, uint64_t threads);

/* Reads all threads of a process; t->total is new. Negative errno: nothing was read. */
int thread_counters_read(struct thread_counters *t, struct procdir *d, int pid,
			 const struct thread_counters_file *f);
void thread_counters_release(struct thread_counters *t, struct procdir *d);

#endif
