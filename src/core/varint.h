/* Numbers of variable length in byte strings, and signed numbers as small unsigned ones. */
#pragma once

#include <string.h>

#include "core/strbuf.h"
#include "plimsoll/record.h"

static inline void strbuf_add_varint(struct strbuf *out, uint64_t v)
{
	unsigned char b[PL_VARINT_MAX];

	strbuf_add(out, b, (size_t)(pl_put_varint(b, v) - b));
}

/* Maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ... */
static inline uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t unzigzag(uint64_t v)
{
	uint64_t u = v >> 1 ^ (0 - (v & 1));
	int64_t ret;

	memcpy(&ret, &u, sizeof(ret));
	return ret;
}
