/* See batch_sequence.h. */
#include "transport/batch_sequence.h"

#include <string.h>

static uint64_t hash_of(const char *node, uint64_t boot)
{
	return hash_more(hash_number(boot), node, strlen(node));
}

struct sequence *sequence_find(struct sequences *s, const char *node, uint64_t boot)
{
	uint64_t hash = hash_of(node, boot);

	for (struct hash_slot *h = hash_map_first(&s->index, hash); h;
	     h = hash_map_next(&s->index, h)) {
		struct sequence *q = &s->list[h->value];

		if (q->boot == boot && !strcmp(q->node, node)) {
			q->used = ++s->uses;
			return q;
		}
	}
	return NULL;
}

static void free_sequence(struct sequence *q)
{
	free(q->node);
	free(q->beyond);
}

/* Groups sequences by owner, the last used last. */
static int by_owner(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->used < y->used ? -1 : x->used > y->used ? 1 : 0;
}

/* How many stay if each owner keeps at most this many. */
static size_t left_with(const struct sequences *s, size_t each)
{
	size_t left = 0, nth = 0;

	for (size_t i = 0; i < s->count; i++) {
		nth = i && s->list[i].owner == s->list[i - 1].owner ? nth + 1 : 0;
		left += nth < each;
	}
	return left;
}

/* Keeps the last used ones of each owner. What was received and is not synced yet stays as well, or
 * it would be stored twice. */
static void keep_of_each(struct sequences *s, size_t each)
{
	size_t to = s->count, nth = 0;
	uint64_t owner = 0;

	for (size_t i = s->count; i--;) {
		struct sequence q = s->list[i];

		nth = i + 1 < s->count && q.owner == owner ? nth + 1 : 0;
		owner = q.owner;
		if (nth < each || q.last > q.durable)
			s->list[--to] = q;
		else
			free_sequence(&q);
	}
	s->count -= to;
	memmove(s->list, s->list + to, s->count * sizeof(*s->list));
}

/* Drops a tenth of them, from the owners with the most: all others keep what they have. */
static void forget_oldest(struct sequences *s)
{
	size_t low = 0, high = s->count;

	qsort(s->list, s->count, sizeof(*s->list), by_owner);
	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (left_with(s, middle) <= SEQUENCES_MAX - SEQUENCES_MAX / 10)
			low = middle;
		else
			high = middle - 1;
	}
	keep_of_each(s, low);
	hash_map_clear(&s->index);
	for (size_t i = 0; i < s->count; i++)
		hash_map_add(&s->index, hash_of(s->list[i].node, s->list[i].boot), i);
}

struct sequence *sequence_of(struct sequences *s, const char *node, uint64_t boot)
{
	struct sequence *q = sequence_find(s, node, boot);

	if (q)
		return q;
	if (s->count >= SEQUENCES_MAX)
		forget_oldest(s);
	GROW(s->list, s->count, s->cap);
	s->list[s->count++] =
		(struct sequence){.node = xstrdup(node), .boot = boot, .used = ++s->uses};
	hash_map_add(&s->index, hash_of(node, boot), s->count - 1);
	return &s->list[s->count - 1];
}

void sequence_add_beyond(struct sequence *q, uint64_t number)
{
	if (sequence_is_beyond(q, number))
		return;
	GROW(q->beyond, q->beyond_count, q->beyond_cap);
	q->beyond[q->beyond_count++] = number;
}

bool sequence_is_beyond(const struct sequence *q, uint64_t number)
{
	for (size_t i = 0; i < q->beyond_count; i++)
		if (q->beyond[i] == number)
			return true;
	return false;
}

void sequences_clear(struct sequences *s)
{
	while (s->count)
		free_sequence(&s->list[--s->count]);
	hash_map_clear(&s->index);
}

void sequences_release(struct sequences *s)
{
	sequences_clear(s);
	free(s->list);
	hash_map_release(&s->index);
	*s = (struct sequences){0};
}
