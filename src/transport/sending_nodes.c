/* See sending_nodes.h. */
#include "transport/sending_nodes.h"

#include <string.h>

#include "core/crc32c.h"

static size_t slot_of(const struct sending_nodes *s, const char *name)
{
	uint64_t hash = crc32c(0, name, strlen(name));

	return (size_t)(hash * 0x9e3779b97f4a7c15ull >> 20) & (s->index_cap - 1);
}

static void put_in_index(struct sending_nodes *s, size_t place)
{
	size_t at = slot_of(s, s->list[place].name);

	while (s->index[at])
		at = (at + 1) & (s->index_cap - 1);
	s->index[at] = (uint32_t)place + 1;
}

static void rebuild(struct sending_nodes *s, size_t cap)
{
	free(s->index);
	s->index = xcalloc(cap, sizeof(*s->index));
	s->index_cap = cap;
	for (size_t i = 0; i < s->count; i++)
		put_in_index(s, i);
}

/* The last used first. */
static int by_use(const void *a, const void *b)
{
	const struct sending_node *x = a, *y = b;

	return x->used > y->used ? -1 : x->used < y->used ? 1 : 0;
}

static void forget_oldest(struct sending_nodes *s)
{
	qsort(s->list, s->count, sizeof(*s->list), by_use);
	while (s->count > SENDING_NODES_MAX - SENDING_NODES_MAX / 10)
		free(s->list[--s->count].name);
	rebuild(s, s->index_cap);
}

static struct sending_node *find(struct sending_nodes *s, const char *name)
{
	if (!s->index_cap)
		return NULL;
	for (size_t at = slot_of(s, name); s->index[at]; at = (at + 1) & (s->index_cap - 1))
		if (!strcmp(s->list[s->index[at] - 1].name, name))
			return &s->list[s->index[at] - 1];
	return NULL;
}

struct sending_node *sending_node_of(struct sending_nodes *s, const char *name)
{
	struct sending_node *one = find(s, name);

	if (!one) {
		if (s->count >= SENDING_NODES_MAX)
			forget_oldest(s);
		GROW(s->list, s->count, s->cap);
		s->list[s->count] = (struct sending_node){.name = xstrdup(name)};
		one = &s->list[s->count++];
		if (s->count * 2 > s->index_cap)
			rebuild(s, s->index_cap ? s->index_cap * 2 : 64);
		else
			put_in_index(s, s->count - 1);
	}
	one->used = ++s->uses;
	return one;
}

static int by_silence(const void *a, const void *b)
{
	const struct sending_node *x = a, *y = b;

	if (x->last_us != y->last_us)
		return x->last_us < y->last_us ? -1 : 1;
	return strcmp(x->name, y->name);
}

void sending_nodes_copy(const struct sending_nodes *s, struct sending_nodes *ret)
{
	*ret = (struct sending_nodes){.count = s->count, .cap = s->count + 1};
	ret->list = xcalloc(ret->cap, sizeof(*ret->list));
	for (size_t i = 0; i < s->count; i++) {
		ret->list[i] = s->list[i];
		ret->list[i].name = xstrdup(s->list[i].name);
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_silence);
}

void sending_nodes_release(struct sending_nodes *s)
{
	while (s->count)
		free(s->list[--s->count].name);
	free(s->list);
	free(s->index);
	*s = (struct sending_nodes){0};
}
