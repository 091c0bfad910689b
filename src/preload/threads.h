/* Shared by threads.c (begin and end of threads) and thread_rows.c (their records). */
#pragma once

#include "preload/guest.h"

/* Data for the start routine, until the new thread has read it. */
struct launch {
	int busy; /* 0: free, 1: in use, 2: a separate page */
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *arg;
	uint64_t begin_ns;
};

/*
 * Records of threads without details, which may be many, are queued and written together: opening
 * the file for each would cost more than all the rest. A thread that finds the queue in use, or its
 * process ending, writes its own record. Only the queue is lost when the process is killed.
 */
#define QUEUE_BYTES 2048
#define QUEUE_NS 100000000u
struct queue {
	int taken;
	int pid;
	size_t size;
	uint64_t since_ns;
	unsigned char data[QUEUE_BYTES];
};

/* A thread lives on for a moment after its end record, and the last one of a process runs the exit
 * handlers. Remembers this many, with their values in the sums. */
#define GONE 64
struct gone {
	int tid;
	struct thread_sums sums;
};

/* If many threads end at once, hundreds may still exist: those that are recorded, by tid, with the
 * low half of the tick of their end. Only used pages take memory. */
#define LEAVING 16384
struct leaving {
	int tid;
	uint32_t tick;
};

/* Created with the first thread. Launches are claimed without a lock, which a forked copy might
 * inherit; if all are in use, a thread uses a separate page. */
#define LAUNCHES 128
struct workplace {
	struct queue queue;
	struct gone gone[GONE];
	unsigned next_gone;
	struct launch launches[LAUNCHES];
	_Alignas(4096) struct leaving leaving[LEAVING];
};
extern struct workplace *workplace;

/* Of process pid; a forked copy starts from zero. */
struct thread_counts {
	int pid;
	unsigned created;
	struct threads ended;
};
extern struct thread_counts counts;

/* Is the process about to end, or to execute a program? */
bool threads_closed(int pid);
/* Records the end of the calling thread and adds it to the sums. */
void record_ended_thread(const struct held *h, int pid, uint64_t begin_ns);
/* Records the live threads and adds them to the sums in *to only, since the process may go on. */
void record_live_threads(const struct held *h, int pid, const struct pending *pending,
			 struct threads *to);
