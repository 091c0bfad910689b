/* See sequences.h. */
#include "pipeline/sequences.h"

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

static void free_last(struct sequences *s)
{
	free(s->list[--s->count].node);
	free(s->list[s->count].beyond);
}

static int by_use(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return x->used < y->used ? 1 : x->used > y->used ? -1 : 0;
}

/* A tenth of them, those that nobody asked for longest. */
static void forget_oldest(struct sequences *s)
{
	qsort(s->list, s->count, sizeof(*s->list), by_use);
	while (s->count > SEQUENCES_MAX - SEQUENCES_MAX / 10)
		free_last(s);
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
		free_last(s);
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
