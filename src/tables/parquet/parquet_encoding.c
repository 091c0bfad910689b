/* Encodings of Parquet; see parquet_encoding.h. */
#include "tables/parquet/parquet_encoding.h"

#include <string.h>

#define BLOCK 128u /* values of a delta block */
#define PARTS 4u   /* miniblocks of it */
#define PART (BLOCK / PARTS)

/* Packs n values of width bits, low bits first; n * width is a multiple of 8. */
static uint8_t *pack_u64(uint8_t *p, const uint64_t *v, size_t n, unsigned width)
{
	unsigned __int128 bits = 0;
	unsigned have = 0;

	if (!width)
		return p;
	for (size_t i = 0; i < n; i++) {
		bits |= (unsigned __int128)v[i] << have;
		have += width;
		if (have >= 64) {
			uint64_t word = (uint64_t)bits;

			memcpy(p, &word, 8);
			p += 8;
			bits >>= 64;
			have -= 64;
		}
	}
	for (; have; have -= 8, bits >>= 8)
		*p++ = (uint8_t)bits;
	return p;
}

/* The same for narrow values, padded with 0 to groups of eight. */
static uint8_t *pack_u32(uint8_t *p, const uint32_t *v, size_t n, unsigned width)
{
	uint64_t bits = 0;
	unsigned have = 0;
	size_t whole = (n + 7) / 8 * 8;

	for (size_t i = 0; i < whole; i++) {
		bits |= (uint64_t)(i < n ? v[i] : 0) << have;
		have += width;
		if (have >= 32) {
			uint32_t word = (uint32_t)bits;

			memcpy(p, &word, 4);
			p += 4;
			bits >>= 32;
			have -= 32;
		}
	}
	for (; have; have -= 8, bits >>= 8)
		*p++ = (uint8_t)bits;
	return p;
}

static uint8_t *put_run(uint8_t *p, uint32_t value, size_t n, unsigned width)
{
	p = pl_put_varint(p, (uint64_t)n << 1);
	for (unsigned i = 0; i < width; i += 8)
		*p++ = (uint8_t)(value >> i);
	return p;
}

static uint8_t *put_groups(uint8_t *p, const uint32_t *v, size_t n, unsigned width)
{
	if (!n)
		return p;
	p = pl_put_varint(p, ((uint64_t)(n + 7) / 8 << 1) | 1);
	return pack_u32(p, v, n, width);
}

void pq_hybrid(struct strbuf *out, const uint32_t *values, size_t n, unsigned width)
{
	/* a run has at least eight values and takes at most 14 bytes */
	strbuf_grow(out, n * (width + 7) / 8 + n / 8 * 15 + 64);
	uint8_t *const begin = (uint8_t *)out->buf + out->len, *p = begin;
	size_t start = 0, i = 0;

	while (i < n) {
		size_t end = i + 1;

		while (end < n && values[end] == values[i])
			end++;
		/* values before the run are filled up to groups of eight from the run */
		size_t fill = (start - i) & 7;
		if (end - i >= fill + 8) {
			p = put_groups(p, values + start, i + fill - start, width);
			p = put_run(p, values[i], end - i - fill, width);
			start = end;
		}
		i = end;
	}
	p = put_groups(p, values + start, n - start, width);
	out->len += (size_t)(p - begin);
	out->buf[out->len] = 0;
}

void pq_levels(struct strbuf *out, const uint8_t *absent, size_t rows)
{
	size_t at = out->len;
	uint32_t size = 0;

	strbuf_add(out, &size, sizeof(size));
	if (absent) {
		uint32_t *levels = xreallocarray(NULL, rows, sizeof(*levels));

		for (size_t i = 0; i < rows; i++)
			levels[i] = !absent[i];
		pq_hybrid(out, levels, rows, 1);
		free(levels);
	} else {
		strbuf_add_varint(out, (uint64_t)rows << 1);
		strbuf_addch(out, 1);
	}
	size = (uint32_t)(out->len - at - sizeof(size));
	memcpy(out->buf + at, &size, sizeof(size));
}

/* One block of at most 128 differences; a part is padded with 0. */
static uint8_t *put_block(uint8_t *p, uint64_t *d, size_t n)
{
	int64_t least = (int64_t)d[0];
	uint8_t *widths;

	for (size_t i = 1; i < n; i++)
		if ((int64_t)d[i] < least)
			least = (int64_t)d[i];
	p = pl_put_varint(p, zigzag(least));
	widths = p;
	p += PARTS;
	for (size_t i = 0; i < n; i++)
		d[i] -= (uint64_t)least;
	for (size_t i = n; i < BLOCK; i++)
		d[i] = 0;
	for (unsigned k = 0; k < PARTS; k++) {
		uint64_t all = 0;

		for (size_t i = 0; i < PART; i++)
			all |= d[k * PART + i];
		widths[k] = (uint8_t)table_bits(all);
		if (k * PART < n)
			p = pack_u64(p, d + k * PART, PART, widths[k]);
	}
	return p;
}

/* Differences wrap, as the format requires. */
void pq_delta(struct strbuf *out, const int64_t *values, size_t n)
{
	uint64_t d[BLOCK] = {0};

	strbuf_grow(out, 40 + (n / BLOCK + 1) * (BLOCK * 8 + 10 + PARTS));
	uint8_t *const begin = (uint8_t *)out->buf + out->len, *p = begin;
	p = pl_put_varint(p, BLOCK);
	p = pl_put_varint(p, PARTS);
	p = pl_put_varint(p, n);
	p = pl_put_varint(p, n ? zigzag(values[0]) : 0);
	for (size_t at = 1; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;

		for (size_t i = 0; i < some; i++)
			d[i] = (uint64_t)values[at + i] - (uint64_t)values[at + i - 1];
		p = put_block(p, d, some);
	}
	out->len += (size_t)(p - begin);
	out->buf[out->len] = 0;
}

/* ---- Thrift ---- */

static void field_head(struct thrift *t, int field, int type)
{
	int step = field - t->last[t->depth];

	t->last[t->depth] = field;
	if (step > 0 && step < 16) {
		strbuf_addch(t->out, (char)(step << 4 | type));
		return;
	}
	strbuf_addch(t->out, (char)type);
	strbuf_add_varint(t->out, zigzag(field));
}

void thrift_i32(struct thrift *t, int field, int32_t v)
{
	field_head(t, field, THRIFT_I32);
	strbuf_add_varint(t->out, zigzag(v));
}

void thrift_i64(struct thrift *t, int field, int64_t v)
{
	field_head(t, field, THRIFT_I64);
	strbuf_add_varint(t->out, zigzag(v));
}

void thrift_bool(struct thrift *t, int field, bool v)
{
	field_head(t, field, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_binary(struct thrift *t, int field, const void *p, size_t n)
{
	if (field)
		field_head(t, field, THRIFT_BINARY);
	strbuf_add_varint(t->out, n);
	strbuf_add(t->out, p, n);
}

void thrift_item(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

void thrift_begin(struct thrift *t, int field)
{
	field_head(t, field, THRIFT_STRUCT);
	thrift_item(t);
}

void thrift_list(struct thrift *t, int field, int type, size_t count)
{
	field_head(t, field, THRIFT_LIST);
	if (count < 15) {
		strbuf_addch(t->out, (char)(count << 4 | (size_t)type));
		return;
	}
	strbuf_addch(t->out, (char)(0xf0 | type));
	strbuf_add_varint(t->out, count);
}

void thrift_end(struct thrift *t)
{
	strbuf_addch(t->out, 0);
	t->depth--;
}
