/* See byte_queue.h. */
#include "transport/byte_queue.h"

#include <string.h>

void parcels_init(struct parcels *q, size_t limit)
{
	*q = (struct parcels){.end = &q->first, .limit = limit};
	pthread_mutex_init(&q->lock, NULL);
}

void parcels_release(struct parcels *q)
{
	while (q->first)
		free(parcels_take(q));
	pthread_mutex_destroy(&q->lock);
}

bool parcels_put(struct parcels *q, const void *p, size_t n)
{
	struct parcel *one = xmalloc(sizeof(*one) + n);

	one->next = NULL;
	one->n = n;
	memcpy(one->data, p, n);
	pthread_mutex_lock(&q->lock);
	bool fits = !q->first || q->bytes + n <= q->limit;
	if (fits) {
		*q->end = one;
		q->end = &one->next;
		q->count++;
		q->bytes += n;
	}
	pthread_mutex_unlock(&q->lock);
	if (!fits)
		free(one);
	return fits;
}

struct parcel *parcels_peek(struct parcels *q, size_t skip)
{
	pthread_mutex_lock(&q->lock);
	struct parcel *p = q->first;
	while (p && skip--)
		p = p->next;
	pthread_mutex_unlock(&q->lock);
	return p;
}

struct parcel *parcels_take(struct parcels *q)
{
	pthread_mutex_lock(&q->lock);
	struct parcel *p = q->first;
	if (p) {
		q->first = p->next;
		if (!q->first)
			q->end = &q->first;
		q->count--;
		q->bytes -= p->n;
	}
	pthread_mutex_unlock(&q->lock);
	return p;
}

void parcels_size(struct parcels *q, size_t *ret_count, size_t *ret_bytes)
{
	pthread_mutex_lock(&q->lock);
	*ret_count = q->count;
	*ret_bytes = q->bytes;
	pthread_mutex_unlock(&q->lock);
}
