/*
 * The nodes that a collector has heard of, by name, for whoever looks after them: when each last
 * sent, how much, and what is missing. A table with a bound: when it is full, those go that were
 * silent for longest. What was acknowledged does not go by it (see batch_sequence.h).
 */
#ifndef PL_TRANSPORT_SENDING_NODES_H
#define PL_TRANSPORT_SENDING_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "core/util.h"

#define SENDING_NODES_MAX 20000

struct sending_node {
	char *name;
	int64_t last_us;  /* wall clock of its last batch since the start; 0: none since then */
	uint64_t batches; /* taken since the start, of all its runs */
	uint64_t dropped; /* numbers that were left out: the node had dropped them before */
	uint64_t refused; /* batches that were not taken, for what is in them */
	uint64_t used;    /* when it was last asked for, by count */
};

struct sending_nodes {
	struct sending_node *list;
	size_t count, cap;
	uint32_t *index; /* places plus one; 0: free */
	size_t index_cap;
	uint64_t uses;
};

/* Made when it is new. The pointer is good until the next call. */
struct sending_node *sending_node_of(struct sending_nodes *s, const char *name);
/* A copy, those that were silent for longest first; freed by sending_nodes_release(). */
void sending_nodes_copy(const struct sending_nodes *s, struct sending_nodes *ret);
void sending_nodes_release(struct sending_nodes *s);

#endif
