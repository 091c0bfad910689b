/*
 * The process tree of a job: who started whom, as nested intervals, with what each process and all
 * below it used, and how many ran at any time. Pure functions over an array of nodes; a node has
 * 56 bytes and sorting takes 8 more: 64 are all that ingesting a process costs in memory.
 */
#ifndef PL_STORE_PROCESS_TREE_H
#define PL_STORE_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_NODE UINT32_MAX

struct node {
	uint64_t start, end; /* us; 0 when unknown */
	uint64_t cpu;        /* own, then with all below it */
	int64_t exclusive;   /* us that no child covers; -1 unknown */
	uint32_t parent;     /* index, NO_NODE for a root */
	/* the process ids until parents are found; then children, and the interval: its own place
	 * in a walk of the tree, and the last place below it */
	union {
		uint32_t pid, children;
	};
	union {
		uint32_t ppid, first;
	};
	union {
		uint32_t last;
		uint32_t
			nth_start; /* of process_tree_profile(): the node that begins as the n-th */
	};
	uint16_t host;
	uint16_t depth; /* saturating */
};
_Static_assert(sizeof(struct node) == 56, "what a process costs in memory");

/* Threads beside the first one of their process: when they began and when they ended. Only how many
 * there were at a time is asked, so that the two need not stay in pairs. */
struct process_tree_threads {
	uint64_t *starts, *ends;
	size_t count, cap;
	bool unknown; /* of some the times are not known */
};

struct process_tree {
	struct node *nodes;
	size_t count, cap;
	struct process_tree_threads threads;
};

void process_tree_release(struct process_tree *f);
/* A new node, zeroed but for parent and exclusive; valid until the next one. */
struct node *process_tree_add(struct process_tree *f);

/* A thread of the node that was added last, beside its first one; it lived while the node did. */
void process_tree_add_thread(struct process_tree *f, uint64_t start, uint64_t end);

/*
 * Finds parents: the process with the pid of the child's ppid on the same host that had begun
 * before and had not ended when the child began; of several (programs that one process executed)
 * the last to begin. Then numbers, depths, sums.
 *
 * images_dropped: there is no record of a program that executes another one, so where nobody was
 * there the next process with that pid stands for it.
 */
void process_tree_build(struct process_tree *f, bool images_dropped);

/* Running processes and threads over time, at most max steps: where there are more, neighbours are
 * put together and the larger number stands. The number of steps. Uses up the intervals. Threads
 * are 0 where the times of some are not known. */
struct process_tree_step {
	uint64_t time;
	uint32_t processes, threads;
};
size_t process_tree_profile(struct process_tree *f, struct process_tree_step *out, size_t max,
			    uint32_t *ret_peak_processes, uint32_t *ret_peak_threads);

#endif
