/*
 * Encoding of integers in the store: value n is base + step * n + element n of a JSON array, which
 * is null if there is no value. SQL can read it without other rows, and steadily growing values
 * stay short. Time n is first + step * n + number n in a text of fixed width, which SQL can cut
 * out.
 */
#pragma once

#include "core/strbuf.h"

#define DELTA_CODING_MAX 128

struct delta_coding {
	size_t n;
	int64_t v[DELTA_CODING_MAX];
	uint64_t present[DELTA_CODING_MAX / 64];
};

static inline bool delta_coding_has(const struct delta_coding *l, size_t i)
{
	return l->present[i / 64] >> (i % 64) & 1;
}

static inline void delta_coding_put(struct delta_coding *l, size_t i, int64_t v)
{
	l->v[i] = v;
	l->present[i / 64] |= (uint64_t)1 << (i % 64);
}

/* The first and last value must be present, and no two further apart than 2^63 - 1. Adds the array
 * to *out. */
void delta_coding_encode(const struct delta_coding *l, int64_t *ret_base, int64_t *ret_step,
			 struct strbuf *out);
/* -EBADMSG: the text is not such an array. */
int delta_coding_decode(struct delta_coding *l, int64_t base, int64_t step, const char *text,
			size_t size);

/* All values must be present and within 2^53 of 0. Adds the digits to *out. */
void delta_coding_encode_times(const struct delta_coding *l, int64_t *ret_first, int64_t *ret_step,
			       size_t *ret_width, struct strbuf *out);
int delta_coding_decode_times(struct delta_coding *l, int64_t first, int64_t step, size_t width,
			      const char *text, size_t size);
