/* Byte strings on their way from one thread to another, in order and bounded. */
#ifndef PL_TRANSPORT_BYTE_QUEUE_H
#define PL_TRANSPORT_BYTE_QUEUE_H

#include <pthread.h>
#include <stddef.h>

#include "core/util.h"

struct parcel {
	struct parcel *next;
	size_t n;
	char data[];
};

struct parcels {
	pthread_mutex_t lock;
	struct parcel *first, **end;
	size_t count, bytes, limit;
};

void parcels_init(struct parcels *q, size_t limit);
void parcels_release(struct parcels *q);
/* Copies it behind the others; false when that would be more than the limit (but one always fits).
 */
bool parcels_put(struct parcels *q, const void *p, size_t n);
/* The one with this many before it; NULL when there is none. For the thread that takes alone. */
struct parcel *parcels_peek(struct parcels *q, size_t skip);
/* The first, which is the caller's from now on. */
struct parcel *parcels_take(struct parcels *q);
void parcels_size(struct parcels *q, size_t *ret_count, size_t *ret_bytes);

#endif
