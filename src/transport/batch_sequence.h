/*
 * The last batch number received of each (node, boot), in a bounded table. When it is full, the
 * peers with the most sequences lose those they used longest ago: no peer can push out the
 * sequences of another, whose batches would then be stored twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/hash_map.h"
#include "core/util.h"

#define SEQUENCES_MAX 200000

struct sequence {
	char *node;
	uint64_t boot;
	uint64_t owner;   /* the peer that it came from last, see link_peer_number() */
	uint64_t last;    /* number of the last batch received */
	uint64_t durable; /* number of the last batch synced */
	uint64_t used;    /* value of uses when it was last looked up */
	uint64_t *beyond; /* numbers above last that are in the log; those between were lost */
	size_t beyond_count, beyond_cap;
};

struct sequences {
	struct sequence *list;
	size_t count, cap;
	struct hash_map index; /* places in list */
	uint64_t uses;
};

/* Adds it if it is new. The pointer is valid until the next call. */
struct sequence *sequence_of(struct sequences *s, const char *node, uint64_t boot);
/* NULL: unknown. */
struct sequence *sequence_find(struct sequences *s, const char *node, uint64_t boot);
/* Adds a number that is in the log although some before it may be missing. */
void sequence_add_beyond(struct sequence *q, uint64_t number);
bool sequence_is_beyond(const struct sequence *q, uint64_t number);
void sequences_clear(struct sequences *s);
void sequences_release(struct sequences *s);
