/* What threads.c and thread_rows.c share: threads as they come and go, and their records. */
#ifndef PL_PRELOAD_THREADS_H
#define PL_PRELOAD_THREADS_H

#include "preload/guest.h"

/* What the stand-in needs to know, from the creating thread until the new one has read it. */
struct launch {
	int busy; /* 0 free, 1 in use, 2 a page of its own */
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *arg;
	uint64_t begin_ns;
};

/*
 * Records of threads without details, which come in masses, are gathered and written together:
 * opening the file for each would cost more than all the rest. Whoever finds the queue taken, or
 * its process about to end, writes his own. At most this many are lost when the process is killed;
 * every other record is written at once.
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

/* A thread that said that it ends is there for a moment still, and the last one of a process runs
 * the exit handlers then. So many are remembered, with what they are in the sums with. */
#define GONE 64
struct gone {
	int tid;
	struct thread_sums sums;
};

/* Of many that end at once hundreds may be there still: those that are recorded, each at the place
 * of its tid, with the low half of the tick in which it ended. Only what is used becomes memory. */
#define LEAVING 16384
struct leaving {
	int tid;
	uint32_t tick;
};

/* Made with the first thread. Launches are taken without a lock, which a forked copy might inherit
 * held; more threads than this between creation and first step use a page each. */
#define LAUNCHES 128
struct workplace {
	struct queue queue;
	struct gone gone[GONE];
	unsigned next_gone;
	struct launch launches[LAUNCHES];
	_Alignas(4096) struct leaving leaving[LEAVING];
};
extern struct workplace *workplace;

/* Of the process in pid; a forked copy starts anew. */
struct thread_counts {
	int pid;
	unsigned created;
	struct threads ended;
};
extern struct thread_counts counts;

/* Is the process about to end, or to execute a program? */
bool threads_closed(int pid);
/* The calling thread ends: records it, and adds it to those that did. */
void record_ended_thread(const struct held *h, int pid, uint64_t begin_ns);
/* Records those that are alive. What they used is added to what the ended ones did: in to, and not
 * for good, since the process may go on. */
void record_live_threads(const struct held *h, int pid, const struct pending *pending,
			 struct threads *to);

#endif
