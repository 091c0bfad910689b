/*
 * How far the batches of each (node, boot) have come: a table with a bound. When it is full, who
 * has most of it loses those that he used longest ago: one peer cannot make the sequences of
 * another go, whose batches would then be taken twice.
 */
#ifndef PL_TRANSPORT_BATCH_SEQUENCE_H
#define PL_TRANSPORT_BATCH_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/util.h"

#define SEQUENCES_MAX 200000

struct sequence {
	char *node;
	uint64_t boot;
	uint64_t owner;   /* the peer that it came from last, see link_peer_number() */
	uint64_t last;    /* number of the last one taken */
	uint64_t durable; /* the same of those that are synced */
	uint64_t used;    /* when it was last asked for, by count */
	uint64_t *beyond; /* numbers above last that are there: what is between was lost */
	size_t beyond_count, beyond_cap;
};

struct sequences {
	struct sequence *list;
	size_t count, cap;
	uint32_t *index; /* places plus one; 0: free */
	size_t index_cap;
	uint64_t uses;
};

/* Made when it is new. The pointer is good until the next call. */
struct sequence *sequence_of(struct sequences *s, const char *node, uint64_t boot);
/* NULL when there is none. */
struct sequence *sequence_find(struct sequences *s, const char *node, uint64_t boot);
/* A number that is there behind some that may not be. */
void sequence_add_beyond(struct sequence *q, uint64_t number);
bool sequence_is_beyond(const struct sequence *q, uint64_t number);
void sequences_clear(struct sequences *s);
void sequences_release(struct sequences *s);

#endif
