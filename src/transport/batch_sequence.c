/* See batch_sequence.h. */
#include "transport/batch_sequence.h"

#include <string.h>

#include "core/crc32c.h"

static size_t slot_of(const struct sequences *s, const char *node, uint64_t boot)
{
	uint64_t hash = crc32c(crc32c(0, node, strlen(node)), &boot, sizeof(boot));

	return (size_t)(hash * 0x9e3779b97f4a7c15ull >> 20) & (s->index_cap - 1);
}

static void rebuild(struct sequences *s, size_t cap)
{
	if (cap != s->index_cap) {
		free(s->index);
		s->index = xcalloc(cap, sizeof(*s->index));
		s->index_cap = cap;
	} else {
		memset(s->index, 0, cap * sizeof(*s->index));
	}
	for (size_t i = 0; i < s->count; i++) {
		size_t at = slot_of(s, s->list[i].node, s->list[i].boot);

		while (s->index[at])
			at = (at + 1) & (s->index_cap - 1);
		s->index[at] = (uint32_t)i + 1;
	}
}

struct sequence *sequence_find(struct sequences *s, const char *node, uint64_t boot)
{
	if (!s->index_cap)
		return NULL;
	for (size_t at = slot_of(s, node, boot); s->index[at]; at = (at + 1) & (s->index_cap - 1)) {
		struct sequence *q = &s->list[s->index[at] - 1];

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

/* Those of an owner together, the last used last. */
static int by_owner(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->used < y->used ? -1 : x->used > y->used ? 1 : 0;
}

/* How many stay when nobody has more than this. */
static size_t left_with(const struct sequences *s, size_t each)
{
	size_t left = 0, nth = 0;

	for (size_t i = 0; i < s->count; i++) {
		nth = i && s->list[i].owner == s->list[i - 1].owner ? nth + 1 : 0;
		left += nth < each;
	}
	return left;
}

/* The last used ones of each, so many. What is taken and not synced yet stays as well, or it would
 * be taken again. */
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

/* A tenth of them goes: of those who have most, so that all who have less keep what they have. */
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
	rebuild(s, s->index_cap);
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
	if (s->count * 2 > s->index_cap) {
		rebuild(s, s->index_cap ? s->index_cap * 2 : 64);
	} else {
		size_t at = slot_of(s, node, boot);

		while (s->index[at])
			at = (at + 1) & (s->index_cap - 1);
		s->index[at] = (uint32_t)s->count;
	}
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
	if (s->index_cap)
		memset(s->index, 0, s->index_cap * sizeof(*s->index));
}

void sequences_release(struct sequences *s)
{
	sequences_clear(s);
	free(s->list);
	free(s->index);
	*s = (struct sequences){0};
}
