/*
 * The one hash map: from 64-bit hashes to numbers or pointers. The caller keeps the entries and
 * compares their keys, so that one map serves texts, numbers and composed keys:
 *
 *     struct hash_slot *s;
 *     for (s = hash_map_first(&m, h); s; s = hash_map_next(&m, s))
 *             if (!strcmp(entries[s->value].name, name))
 *                     return &entries[s->value];
 *     hash_map_add(&m, h, count++);
 *
 * Adding and removing make slots invalid. Hashes never leave the process: they may change.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hash_slot {
	uint64_t hash; /* 0: free */
	uintptr_t value;
};

struct hash_map {
	struct hash_slot *slots; /* size is a power of two, at most two thirds are used */
	size_t size, count;
};

void hash_map_release(struct hash_map *m);
/* Removes all entries and keeps the memory. */
void hash_map_clear(struct hash_map *m);

/* The first slot with this hash, then the next one with the same hash; NULL: no more. */
struct hash_slot *hash_map_first(const struct hash_map *m, uint64_t hash);
struct hash_slot *hash_map_next(const struct hash_map *m, struct hash_slot *slot);

/* Adds an entry; does not look for an equal one. */
void hash_map_add(struct hash_map *m, uint64_t hash, uintptr_t value);
void hash_map_remove(struct hash_map *m, struct hash_slot *slot);

/* Walks over all entries in no order: s starts as NULL, the end is NULL. */
struct hash_slot *hash_map_each(const struct hash_map *m, struct hash_slot *s);

uint64_t hash_bytes(const void *bytes, size_t size);
/* Continues a hash with more bytes, for keys of several parts. */
uint64_t hash_more(uint64_t hash, const void *bytes, size_t size);

static inline uint64_t hash_text(const char *s)
{
	return hash_bytes(s, strlen(s));
}

static inline uint64_t hash_number(uint64_t n)
{
	n = (n ^ n >> 32) * 0x9e3779b97f4a7c15u;
	return n ^ n >> 32;
}
