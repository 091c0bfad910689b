/*
 * The distinct values of a column, numbered in the order they came: texts, made UTF-8 on the way
 * (what is not becomes U+FFFD), or whole numbers of 8 bytes.
 */
#ifndef PL_TABLES_COLUMN_DICTIONARY_H
#define PL_TABLES_COLUMN_DICTIONARY_H

#include "tables/table.h"

struct column_dictionary {
	uint32_t count;
	/* texts */
	struct strbuf bytes;
	uint32_t *begin; /* count + 1 places in bytes */
	/* numbers */
	uint64_t *numbers;
	/* hash table: 0 or number + 1 */
	uint32_t *slots, mask, room;
	uint64_t seed;
};

#define COLUMN_DICTIONARY_NONE UINT32_MAX

void column_dictionary_init(struct column_dictionary *d);
void column_dictionary_release(struct column_dictionary *d);
/* Empty again; keeps memory within reason. */
void column_dictionary_reset(struct column_dictionary *d);

/* The number of a text, a new one where it is not known. */
uint32_t column_dictionary_text(struct column_dictionary *d, const char *s, size_t n);
/* Those of all texts of a batch, into to[t->count]. */
void column_dictionary_texts(struct column_dictionary *d, const struct table_texts *t,
			     uint32_t *to);
/* The number of a value of 8 bytes, COLUMN_DICTIONARY_NONE where it would be more than max. */
uint32_t column_dictionary_number(struct column_dictionary *d, uint64_t value, uint32_t max);

static inline const char *column_dictionary_at(const struct column_dictionary *d, uint32_t i,
					       size_t *n)
{
	*n = d->begin[i + 1] - d->begin[i];
	return d->bytes.buf + d->begin[i];
}

/* The least and the greatest text, by their bytes; false: there is none. */
bool column_dictionary_range(const struct column_dictionary *d, uint32_t *least,
			     uint32_t *greatest);
/* Less than 0, 0, or more: the order of two texts by their bytes. */
int table_text_order(const char *a, size_t a_size, const char *b, size_t b_size);

/* Bytes of UTF-8 from bytes, behind *out. */
void table_add_utf8(struct strbuf *out, const char *s, size_t n);

#endif
