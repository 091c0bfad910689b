/*
 * The distinct values of a column, numbered in order of first use: texts (bytes that are not UTF-8
 * become U+FFFD) or whole numbers of 8 bytes. It has its own hash table rather than
 * core/hash_map.h: four bytes per slot instead of 16 keep it in the cache, and this is where table
 * writers spend their time.
 */
#pragma once

#include "tables/table.h"

struct column_dictionary {
	uint32_t count;
	/* texts */
	struct strbuf bytes;
	uint32_t *begin; /* count + 1 offsets into bytes */
	/* numbers */
	uint64_t *numbers;
	/* hash table: 0 or index + 1 */
	uint32_t *slots, mask, room;
	uint64_t seed;
};

#define COLUMN_DICTIONARY_NONE UINT32_MAX

void column_dictionary_init(struct column_dictionary *d);
void column_dictionary_release(struct column_dictionary *d);
/* Makes it empty; keeps some memory. */
void column_dictionary_reset(struct column_dictionary *d);

/* The index of a text, which is added if it is new. */
uint32_t column_dictionary_text(struct column_dictionary *d, const char *s, size_t n);
/* The indexes of all texts of a batch, into to[t->count]. */
void column_dictionary_texts(struct column_dictionary *d, const struct table_texts *t,
			     uint32_t *to);
/* The index of a number, which is added if it is new; COLUMN_DICTIONARY_NONE: there are max
 * already.
 */
uint32_t column_dictionary_number(struct column_dictionary *d, uint64_t value, uint32_t max);

static inline const char *column_dictionary_at(const struct column_dictionary *d, uint32_t i,
					       size_t *n)
{
	*n = d->begin[i + 1] - d->begin[i];
	return d->bytes.buf + d->begin[i];
}

/* The least and the greatest text by their bytes; false: it is empty. */
bool column_dictionary_range(const struct column_dictionary *d, uint32_t *least,
			     uint32_t *greatest);
/* Compares two texts by their bytes, like memcmp(). */
int table_text_order(const char *a, size_t a_size, const char *b, size_t b_size);

/* Appends bytes as valid UTF-8. */
void table_add_utf8(struct strbuf *out, const char *s, size_t n);
