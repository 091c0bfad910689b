/* Byte strings on their way from one thread to another, in order and bounded. */
#ifndef PL_TRANSPORT_BYTE_QUEUE_H
#define PL_TRANSPORT_BYTE_QUEUE_H

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
/* Copies it behind the others; false when that would be more than the limit (but one always fits).
 */
bool byte_queue_put(struct byte_queue *q, const void *p, size_t n);
/* The one with this many before it; NULL when there is none. For the thread that takes alone. */
struct byte_queue_item *byte_queue_peek(struct byte_queue *q, size_t skip);
/* The first, which is the caller's from now on. */
struct byte_queue_item *byte_queue_take(struct byte_queue *q);
void byte_queue_size(struct byte_queue *q, size_t *ret_count, size_t *ret_bytes);

#endif
