/*
 * The process tree of a job as nested intervals, the CPU time of each process with all its
 * descendants, and the number of processes over time. Pure functions over an array of nodes. A node
 * has 56 bytes and sorting takes 8 more: that is all the memory for a stored image.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_NODE UINT32_MAX

struct node {
	uint64_t start, end; /* us; 0 when unknown */
	uint64_t cpu;        /* own, then with all descendants */
	int64_t exclusive;   /* us that no child covers; -1: unknown */
	uint32_t parent;     /* index, NO_NODE for a root */
	/* pids until parents are found; then the number of children, and the interval: its position
	 * in a walk of the tree, and that of its last descendant */
	union {
		uint32_t pid, children;
	};
	union {
		uint32_t ppid, first;
	};
	union {
		uint32_t last;
		uint32_t nth_start; /* of process_tree_profile(): the n-th node by start */
	};
	uint16_t host;
	uint16_t depth; /* saturating */
};
_Static_assert(sizeof(struct node) == 56, "what a process costs in memory");

/* Starts and ends of all threads but the first of their process. Only their number over time is
 * needed, so the two need not stay in pairs. */
struct process_tree_threads {
	uint64_t *starts, *ends;
	size_t count, cap;
	bool unknown; /* the times of some are unknown */
};

struct process_tree {
	struct node *nodes;
	size_t count, cap;
	struct process_tree_threads threads;
};

void process_tree_release(struct process_tree *f);
/* A new node, zeroed except parent and exclusive; valid until the next one. */
struct node *process_tree_add(struct process_tree *f);

/* Adds a thread, not the first one, of the last node; its times are clamped to those of the node.
 */
void process_tree_add_thread(struct process_tree *f, uint64_t start, uint64_t end);

/* Before process_tree_build(): the nodes by host, pid and start, for process_tree_find(). Freed by
 * the caller. */
uint32_t *process_tree_by_pid(const struct process_tree *f);
/* The image that a process was at a time (us); NO_NODE: none is known. */
uint32_t process_tree_find(const struct process_tree *f, const uint32_t *by_pid, uint16_t host,
			   uint32_t pid, uint64_t time);
/* The last image of the process of this one. */
uint32_t process_tree_last_image(const struct process_tree *f, const uint32_t *by_pid,
				 uint32_t image);

/*
 * Finds parents: the process with the child's ppid on the same host that was running when the child
 * started; of several images of a process the last to start. Then computes numbers, depths and
 * sums.
 *
 * images_dropped: programs that execute another one have no record, so the next image with that pid
 * stands for them.
 */
void process_tree_build(struct process_tree *f, bool images_dropped);

/* Running processes and threads over time, in at most max steps: with more changes, neighbours are
 * merged and the larger number is kept. Returns the number of steps. Destroys the intervals.
 * Threads are 0 if the times of some are unknown. */
struct process_tree_step {
	uint64_t time;
	uint32_t processes, threads;
};
size_t process_tree_profile(struct process_tree *f, struct process_tree_step *out, size_t max,
			    uint32_t *ret_peak_processes, uint32_t *ret_peak_threads);
