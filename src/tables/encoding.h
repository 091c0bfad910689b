/* What the columnar formats share in small: numbers of any length, and the values that are there.
 */
#ifndef PL_TABLES_ENCODING_H
#define PL_TABLES_ENCODING_H

#include "tables/table.h"
#include "plimsoll/record.h" /* varints */

static inline void table_varint(struct strbuf *out, uint64_t v)
{
	unsigned char b[PL_VARINT_MAX];

	strbuf_add(out, b, (size_t)(pl_put_varint(b, v) - b));
}

/* 0, -1, 1, -2 ... as 0, 1, 2, 3 ... */
static inline uint64_t table_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

/* Bits that a number takes, 0 for 0. */
static inline unsigned table_bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* The numbers of a column that are there, one behind the other: where they lie in *ret, which is
 * the column itself or the room given, and how many. Reals come as their bits. */
static inline size_t table_present(const struct table_values *v, size_t rows, int64_t *room,
				   const int64_t **ret)
{
	size_t n = 0;

	*ret = v->ints;
	if (!v->absent_count)
		return rows;
	for (size_t i = 0; i < rows; i++) {
		room[n] = v->ints[i];
		n += !v->absent[i];
	}
	*ret = room;
	return n;
}

#endif
