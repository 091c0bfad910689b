/*
 * The nodes that have sent to a collector, by name, for administrators: when each last sent, how
 * much, and what is missing. The table is bounded: when it is full, the nodes that were silent
 * longest are dropped. Acknowledgements do not depend on it (see batch_sequence.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/hash_map.h"
#include "core/util.h"

#define SENDING_NODES_MAX 20000

struct sending_node {
	char *name;
	int64_t last_us;  /* wall clock of its last batch since the start; 0: none yet */
	uint64_t batches; /* received since the start, of all its runs */
	uint64_t dropped; /* missing numbers: the node dropped these batches */
	uint64_t refused; /* batches refused because of their content */
	uint64_t used;    /* value of uses when it was last looked up */
};

struct sending_nodes {
	struct sending_node *list;
	size_t count, cap;
	struct hash_map index; /* places in list */
	uint64_t uses;
};

/* Adds it if it is new. The pointer is valid until the next call. */
struct sending_node *sending_node_of(struct sending_nodes *s, const char *name);
/* A copy, sorted by silence, longest first; freed by sending_nodes_release(). */
void sending_nodes_copy(const struct sending_nodes *s, struct sending_nodes *ret);
void sending_nodes_release(struct sending_nodes *s);
