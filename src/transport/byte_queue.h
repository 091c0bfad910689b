/* A bounded queue of byte strings from one thread to another. */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "core/util.h"

struct byte_queue_item {
	struct byte_queue_item *next;
	size_t n;
	char data[];
};

struct byte_queue {
	pthread_mutex_t lock;
	struct byte_queue_item *first, **end;
	size_t count, bytes, limit;
};

void byte_queue_init(struct byte_queue *q, size_t limit);
void byte_queue_release(struct byte_queue *q);
/* Appends a copy; false: that would exceed the limit (an empty queue takes any). */
bool byte_queue_put(struct byte_queue *q, const void *p, size_t n);
/* The item with this many before it; NULL: none. For the consuming thread only. */
struct byte_queue_item *byte_queue_peek(struct byte_queue *q, size_t skip);
/* Removes the first; the caller frees it. */
struct byte_queue_item *byte_queue_take(struct byte_queue *q);
void byte_queue_size(struct byte_queue *q, size_t *ret_count, size_t *ret_bytes);
