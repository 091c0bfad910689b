/* See sending_nodes.h. */
#include "transport/sending_nodes.h"

#include <string.h>

/* Last used first. */
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
	hash_map_clear(&s->index);
	for (size_t i = 0; i < s->count; i++)
		hash_map_add(&s->index, hash_text(s->list[i].name), i);
}

static struct sending_node *find(struct sending_nodes *s, const char *name)
{
	for (struct hash_slot *h = hash_map_first(&s->index, hash_text(name)); h;
	     h = hash_map_next(&s->index, h))
		if (!strcmp(s->list[h->value].name, name))
			return &s->list[h->value];
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
		hash_map_add(&s->index, hash_text(name), s->count - 1);
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
	hash_map_release(&s->index);
	*s = (struct sending_nodes){0};
}
