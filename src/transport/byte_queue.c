/* See byte_queue.h. */
#include "transport/byte_queue.h"

#include <string.h>

void byte_queue_init(struct byte_queue *q, size_t limit)
{
	*q = (struct byte_queue){.end = &q->first, .limit = limit};
	pthread_mutex_init(&q->lock, NULL);
}

void byte_queue_release(struct byte_queue *q)
{
	while (q->first)
		free(byte_queue_take(q));
	pthread_mutex_destroy(&q->lock);
}

bool byte_queue_put(struct byte_queue *q, const void *p, size_t n)
{
	struct byte_queue_item *one = xmalloc(sizeof(*one) + n);

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

struct byte_queue_item *byte_queue_peek(struct byte_queue *q, size_t skip)
{
	pthread_mutex_lock(&q->lock);
	struct byte_queue_item *p = q->first;
	while (p && skip--)
		p = p->next;
	pthread_mutex_unlock(&q->lock);
	return p;
}

struct byte_queue_item *byte_queue_take(struct byte_queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct byte_queue_item *p = q->first;
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

void byte_queue_size(struct byte_queue *q, size_t *ret_count, size_t *ret_bytes)
{
	pthread_mutex_lock(&q->lock);
	*ret_count = q->count;
	*ret_bytes = q->bytes;
	pthread_mutex_unlock(&q->lock);
}
