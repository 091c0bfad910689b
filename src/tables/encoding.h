/* Shared by the columnar formats: variable-length numbers, and the present values of a column. */
#pragma once

#include "core/varint.h"
#include "tables/table.h"

/* Bits that a number needs, 0 for 0. */
static inline unsigned table_bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* The present numbers of a column without gaps: *ret is the column itself or room. Returns their
 * number. Reals come as their bits. */
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
