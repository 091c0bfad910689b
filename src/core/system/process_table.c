/* Processes by number; see process_table.h. */
#include "core/system/process_table.h"

#include <stdlib.h>

#include "core/util.h"

#define SIZE_KEPT 256

/* Numbers in a row go to places far from each other, so that runs stay short. */
static uint64_t hash_pid(int pid)
{
	return (uint32_t)pid * 2654435761u;
}

static struct hash_slot *find_slot(const struct process_table *t, int pid)
{
	struct hash_slot *s = hash_map_first(&t->map, hash_pid(pid));

	while (s && *(const int *)s->value != pid)
		s = hash_map_next(&t->map, s);
	return s;
}

void *process_table_find(const struct process_table *t, int pid)
{
	const struct hash_slot *s = find_slot(t, pid);

	return s ? (void *)s->value : NULL;
}

void *process_table_put(struct process_table *t, int pid)
{
	int *entry = process_table_find(t, pid);

	if (entry)
		return entry;
	entry = xcalloc(1, t->entry_size);
	*entry = pid;
	hash_map_add(&t->map, hash_pid(pid), (uintptr_t)entry);
	return entry;
}

/* Gives memory back when a storm of processes is over. */
static void trim(struct process_table *t)
{
	struct hash_map small = {0};

	if (t->map.size <= SIZE_KEPT || t->map.count * 16 >= t->map.size)
		return;
	for (struct hash_slot *s = NULL; (s = hash_map_each(&t->map, s));)
		hash_map_add(&small, s->hash, s->value);
	hash_map_release(&t->map);
	t->map = small;
}

static void remove_slot(struct process_table *t, struct hash_slot *s)
{
	free((void *)s->value);
	hash_map_remove(&t->map, s);
}

void process_table_remove(struct process_table *t, int pid)
{
	struct hash_slot *s = find_slot(t, pid);

	if (s)
		remove_slot(t, s);
	trim(t);
}

void process_table_remove_if(struct process_table *t, bool (*drop)(void *user, void *entry),
			     void *user)
{
	/* removing moves a later entry to this place, or one from the front that was asked */
	for (size_t i = 0; i < t->map.size;) {
		struct hash_slot *s = &t->map.slots[i];

		if (s->hash && drop(user, (void *)s->value))
			remove_slot(t, s);
		else
			i++;
	}
	trim(t);
}

static bool drop_all(void *user, void *entry)
{
	(void)user;
	(void)entry;
	return true;
}

void process_table_release(struct process_table *t)
{
	process_table_remove_if(t, drop_all, NULL);
	hash_map_release(&t->map);
}
