/* A hash map with open addressing and linear probing; see hash_map.h. */
#include "core/hash_map.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/util.h"

#define SIZE_MIN 16

void hash_map_release(struct hash_map *m)
{
	free(m->slots);
	*m = (struct hash_map){0};
}

void hash_map_clear(struct hash_map *m)
{
	if (m->count)
		memset(m->slots, 0, m->size * sizeof(*m->slots));
	m->count = 0;
}

/* 0 marks a free slot, so no entry may have it. */
static uint64_t stored(uint64_t hash)
{
	return hash ? hash : 1;
}

static struct hash_slot *find_from(const struct hash_map *m, size_t at, uint64_t hash)
{
	for (at &= m->size - 1; m->slots[at].hash; at = (at + 1) & (m->size - 1))
		if (m->slots[at].hash == hash)
			return &m->slots[at];
	return NULL;
}

struct hash_slot *hash_map_first(const struct hash_map *m, uint64_t hash)
{
	return m->count ? find_from(m, (size_t)stored(hash), stored(hash)) : NULL;
}

struct hash_slot *hash_map_next(const struct hash_map *m, struct hash_slot *slot)
{
	return find_from(m, (size_t)(slot - m->slots) + 1, slot->hash);
}

static void put(struct hash_map *m, struct hash_slot entry)
{
	size_t at = (size_t)entry.hash & (m->size - 1);

	while (m->slots[at].hash)
		at = (at + 1) & (m->size - 1);
	m->slots[at] = entry;
}

static void grow(struct hash_map *m)
{
	struct hash_map larger = {.size = m->size ? m->size * 2 : SIZE_MIN, .count = m->count};

	larger.slots = xcalloc(larger.size, sizeof(*larger.slots));
	for (struct hash_slot *s = hash_map_each(m, NULL); s; s = hash_map_each(m, s))
		put(&larger, *s);
	free(m->slots);
	*m = larger;
}

void hash_map_add(struct hash_map *m, uint64_t hash, uintptr_t value)
{
	if (m->count >= m->size / 3 * 2)
		grow(m);
	put(m, (struct hash_slot){stored(hash), value});
	m->count++;
}

/* Entries behind the gap move up, unless that would put them before their own place. */
void hash_map_remove(struct hash_map *m, struct hash_slot *slot)
{
	size_t mask = m->size - 1, gap = (size_t)(slot - m->slots);

	for (size_t at = (gap + 1) & mask; m->slots[at].hash; at = (at + 1) & mask) {
		size_t home = (size_t)m->slots[at].hash & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		m->slots[gap] = m->slots[at];
		gap = at;
	}
	m->slots[gap] = (struct hash_slot){0};
	m->count--;
}

struct hash_slot *hash_map_each(const struct hash_map *m, struct hash_slot *s)
{
	size_t at = s ? (size_t)(s - m->slots) + 1 : 0;

	while (at < m->size && !m->slots[at].hash)
		at++;
	return at < m->size ? &m->slots[at] : NULL;
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	return XXH3_64bits(bytes, size);
}

uint64_t hash_more(uint64_t hash, const void *bytes, size_t size)
{
	return XXH3_64bits_withSeed(bytes, size, hash);
}
