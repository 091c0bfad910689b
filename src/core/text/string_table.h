/*
 * Distinct strings, numbered in the order of their arrival: the dictionary of a column, or a cache
 * of strings that have a number elsewhere.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

struct string_table {
	struct strbuf bytes;
	uint32_t *begin; /* count + 1 places in bytes */
	uint64_t *keys;
	uint32_t *slots; /* number + 1; 0: free */
	uint32_t count, cap, slot_count;
};

#define STRING_TABLE_INIT            \
	{                            \
		.bytes = STRBUF_INIT \
	}
void string_table_release(struct string_table *t);
/* Empties it; keeps the memory. */
void string_table_reset(struct string_table *t);

/* The number of the string with this key, or -1. A table is used by keys or by strings, not both.
 */
int64_t string_table_find_key(const struct string_table *t, uint64_t key);
uint32_t string_table_add_key(struct string_table *t, uint64_t key, const char *s, size_t n);
/* The number of a string, which is added if it is new. */
uint32_t string_table_add(struct string_table *t, const char *s, size_t n);

static inline const char *string_table_get(const struct string_table *t, uint32_t i, size_t *ret_n)
{
	*ret_n = t->begin[i + 1] - t->begin[i];
	return t->bytes.buf + t->begin[i];
}
