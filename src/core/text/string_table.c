/* Distinct strings; see string_table.h. Not a hash_map, which takes up to twice the time here:
 * table writers add a string per cell. */
#include "core/text/string_table.h"

#include <string.h>

#define SLOTS_MIN 64u

void string_table_release(struct string_table *t)
{
	strbuf_release(&t->bytes);
	free(t->begin);
	free(t->keys);
	free(t->slots);
	*t = (struct string_table)STRING_TABLE_INIT;
}

void string_table_reset(struct string_table *t)
{
	strbuf_reset(&t->bytes);
	if (t->count)
		memset(t->slots, 0, t->slot_count * sizeof(*t->slots));
	t->count = 0;
}

/* Spreads keys that follow each other. */
static uint32_t place(const struct string_table *t, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (t->slot_count - 1);
}

/* Eight bytes at a time; only speed depends on it, since strings are compared. */
static uint64_t hash(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u ^ n;

	for (; n >= 8; s += 8, n -= 8) {
		uint64_t v;

		memcpy(&v, s, 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	for (; n; s++, n--)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h ^ h >> 29;
}

static void rehash(struct string_table *t)
{
	t->slot_count = t->slot_count ? t->slot_count * 2 : SLOTS_MIN;
	free(t->slots);
	t->slots = xcalloc(t->slot_count, sizeof(*t->slots));
	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t at = place(t, t->keys[i]);

		while (t->slots[at])
			at = (at + 1) & (t->slot_count - 1);
		t->slots[at] = i + 1;
	}
}

static bool same_text(const struct string_table *t, uint32_t i, const char *s, size_t n)
{
	size_t size;
	const char *text = string_table_get(t, i, &size);

	return size == n && !memcmp(text, s, n);
}

/* s NULL: the key alone decides. */
static int64_t find(const struct string_table *t, uint64_t key, const char *s, size_t n)
{
	if (!t->count)
		return -1;
	for (uint32_t at = place(t, key); t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
		uint32_t i = t->slots[at] - 1;

		if (t->keys[i] == key && (!s || same_text(t, i, s, n)))
			return i;
	}
	return -1;
}

int64_t string_table_find_key(const struct string_table *t, uint64_t key)
{
	return find(t, key, NULL, 0);
}

uint32_t string_table_add_key(struct string_table *t, uint64_t key, const char *s, size_t n)
{
	if (t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : SLOTS_MIN / 2;
		t->begin = xreallocarray(t->begin, (size_t)t->cap + 1, sizeof(*t->begin));
		t->keys = xreallocarray(t->keys, t->cap, sizeof(*t->keys));
	}
	if (t->count * 2 >= t->slot_count)
		rehash(t);
	uint32_t i = t->count++, at = place(t, key);
	while (t->slots[at])
		at = (at + 1) & (t->slot_count - 1);
	t->slots[at] = i + 1;
	t->keys[i] = key;
	t->begin[i] = (uint32_t)t->bytes.len;
	strbuf_add(&t->bytes, s, n);
	t->begin[i + 1] = (uint32_t)t->bytes.len;
	return i;
}

uint32_t string_table_add(struct string_table *t, const char *s, size_t n)
{
	uint64_t key = hash(s, n);
	int64_t found = find(t, key, s, n);

	return found >= 0 ? (uint32_t)found : string_table_add_key(t, key, s, n);
}
