/*
 * Processes by number, on top of hash_map.h. An entry is a structure of the caller's that begins
 * with `int pid`; it stays where it is until it is removed. A number may be used again by another
 * process: who minds keeps the start time in the entry and compares it.
 */
#pragma once

#include <stdbool.h>

#include "core/hash_map.h"

struct process_table {
	size_t entry_size;
	struct hash_map map;
};

void *process_table_find(const struct process_table *t, int pid);
/* Finds the entry, or adds one that is zero but for its pid. */
void *process_table_put(struct process_table *t, int pid);
/* Removes an entry and frees it. */
void process_table_remove(struct process_table *t, int pid);
/* Removes each entry for which drop() is true. */
void process_table_remove_if(struct process_table *t, bool (*drop)(void *user, void *entry),
			     void *user);
void process_table_release(struct process_table *t);

/* Walks over all entries in no order: *at starts as 0, NULL is the end. Nothing may be added or
 * removed on the way. */
static inline void *process_table_next(const struct process_table *t, size_t *at)
{
	while (*at < t->map.size && !t->map.slots[*at].hash)
		++*at;
	return *at < t->map.size ? (void *)t->map.slots[(*at)++].value : NULL;
}

#define PROCESS_TABLE_EACH(t, entry) \
	for (size_t at_ = 0; ((entry) = process_table_next((t), &at_));)
