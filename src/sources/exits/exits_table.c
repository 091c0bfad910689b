/* Processes by their number, for exits.c: an open table without tombstones. */
#include "sources/exits/exits_internal.h"

#define FIRST_SIZE 256

static size_t home(const struct known_table *t, int pid)
{
	return ((uint32_t)pid * 2654435761u) & (t->size - 1);
}

struct known *known_find(const struct known_table *t, int pid)
{
	if (!t->size || pid <= 0)
		return NULL;
	for (size_t at = home(t, pid); t->list[at].pid; at = (at + 1) & (t->size - 1))
		if (t->list[at].pid == pid)
			return &t->list[at];
	return NULL;
}

static struct known *place(struct known_table *t, int pid)
{
	size_t at = home(t, pid);

	while (t->list[at].pid)
		at = (at + 1) & (t->size - 1);
	return &t->list[at];
}

static void resize(struct known_table *t, size_t size)
{
	struct known_table old = *t;

	t->size = size;
	t->list = xcalloc(size, sizeof(*t->list));
	for (size_t i = 0; i < old.size; i++)
		if (old.list[i].pid)
			*place(t, old.list[i].pid) = old.list[i];
	free(old.list);
}

struct known *known_put(struct known_table *t, int pid, bool *ret_new)
{
	struct known *k = known_find(t, pid);

	*ret_new = !k;
	if (k)
		return k;
	if (t->used * 2 >= t->size)
		resize(t, t->size ? t->size * 2 : FIRST_SIZE);
	k = place(t, pid);
	*k = (struct known){.pid = pid, .slot = SLOT_NONE};
	t->used++;
	return k;
}

void known_erase(struct known_table *t, struct known *k)
{
	size_t hole = (size_t)(k - t->list), mask = t->size - 1;

	t->used--;
	for (size_t at = (hole + 1) & mask; t->list[at].pid; at = (at + 1) & mask) {
		size_t want = home(t, t->list[at].pid);

		if (((at - want) & mask) >= ((at - hole) & mask)) {
			t->list[hole] = t->list[at];
			hole = at;
		}
	}
	t->list[hole].pid = 0;
}

void known_trim(struct known_table *t)
{
	if (t->size > FIRST_SIZE && t->used * 16 < t->size)
		resize(t, t->size / 4 < FIRST_SIZE ? FIRST_SIZE : t->size / 4);
}

void known_release(struct known_table *t)
{
	free(t->list);
	*t = (struct known_table){0};
}
