/*
 * Whole numbers as the store keeps them: base + step * n + the n-th number of a JSON array, null
 * where there is none. SQL can read that without looking at other rows, and what grows steadily
 * stays short. Times are first + step * n + the n-th number of some digits, which SQL can pick.
 */
#ifndef PL_STORE_DELTA_CODING_H
#define PL_STORE_DELTA_CODING_H

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

/* The first and the last number must be there, and no two further apart than 2^63 - 1. The array is
 * added to *out. */
void delta_coding_encode(const struct delta_coding *l, int64_t *ret_base, int64_t *ret_step,
			 struct strbuf *out);
/* -EBADMSG when text is no such array. */
int delta_coding_decode(struct delta_coding *l, int64_t base, int64_t step, const char *text,
			size_t size);

/* All numbers there, within 2^53 of 0. The digits are added to *out. */
void delta_coding_encode_times(const struct delta_coding *l, int64_t *ret_first, int64_t *ret_step,
			       size_t *ret_width, struct strbuf *out);
int delta_coding_decode_times(struct delta_coding *l, int64_t first, int64_t step, size_t width,
			      const char *text, size_t size);

#endif
