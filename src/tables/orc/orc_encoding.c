/*
 * Encodings of ORC; see orc_encoding.h. Of RLE version 2 we write short repeats, deltas (constant,
 * or all in one direction) and direct values. Patched bases are not worth it, since streams are
 * compressed afterwards. Widths above eight bits are whole bytes for the same reason: compression
 * finds repeated bytes, not bits.
 */
#include "tables/orc/orc_encoding.h"

#define REPEAT_MIN 3u
#define REPEAT_SHORT 10u /* most values of a short repeat */
#define STEP_MIN 8u      /* values with a constant step that end a run of others */
#define BYTES_RUN 130u
#define BYTES_LITERAL 128u

/* ---- whole numbers ---- */

/* 1, 2, 4 bits or whole bytes. */
static unsigned even_width(unsigned bits)
{
	if (bits <= 2)
		return bits ? bits : 1;
	return bits <= 4 ? 4 : (bits + 7) / 8 * 8;
}

/* The five-bit code of a width: width - 1 up to 24, then for 26, 28, 30, 32, 40 ... */
static unsigned width_code(unsigned width)
{
	return width <= 24 ? width - 1 : width <= 32 ? 23 + (width - 24) / 2 : 23 + width / 8;
}

/* High bits first. */
static void put_packed(struct strbuf *out, const uint64_t *v, size_t n, unsigned width)
{
	strbuf_grow(out, (n * width + 7) / 8);
	uint8_t *p = (uint8_t *)out->buf + out->len;

	if (width >= 8) {
		for (size_t i = 0; i < n; i++)
			for (unsigned left = width; left; left -= 8)
				*p++ = (uint8_t)(v[i] >> (left - 8));
	} else {
		unsigned each = 8 / width;

		for (size_t i = 0; i < n; i += each) {
			unsigned byte = 0;

			for (unsigned k = 0; k < each; k++)
				byte = byte << width | (i + k < n ? (unsigned)v[i + k] : 0);
			*p++ = (uint8_t)byte;
		}
	}
	out->len = (size_t)((char *)p - out->buf);
	out->buf[out->len] = 0;
}

static void put_head(struct strbuf *out, unsigned kind, unsigned code, size_t n)
{
	strbuf_addch(out, (char)(kind << 6 | code << 1 | (unsigned)((n - 1) >> 8)));
	strbuf_addch(out, (char)(n - 1));
}

static void put_value(struct strbuf *out, int64_t v, bool is_signed)
{
	strbuf_add_varint(out, is_signed ? zigzag(v) : (uint64_t)v);
}

static void put_repeat(struct strbuf *out, int64_t value, size_t n, bool is_signed)
{
	uint64_t v = is_signed ? zigzag(value) : (uint64_t)value;
	unsigned bytes = v ? (table_bits(v) + 7) / 8 : 1;

	strbuf_addch(out, (char)((bytes - 1) << 3 | (n - REPEAT_MIN)));
	for (unsigned left = bytes; left; left--)
		strbuf_addch(out, (char)(v >> (8 * (left - 1))));
}

/* Values with a constant step, which may be 0. */
static void put_steps(struct strbuf *out, int64_t first, int64_t step, size_t n, bool is_signed)
{
	put_head(out, 3, 0, n);
	put_value(out, first, is_signed);
	strbuf_add_varint(out, zigzag(step));
}

/*
 * The absolute differences of values that all go in one direction, which the first one tells.
 * False: they turn, or a difference needs more than 63 bits.
 */
static bool one_way(const int64_t *v, size_t n, uint64_t *d, uint64_t *all)
{
	int64_t step;
	bool down;

	if (n < 3 || __builtin_sub_overflow(v[1], v[0], &step))
		return false;
	down = step < 0;
	*all = 0;
	for (size_t i = 2; i < n; i++) {
		if (__builtin_sub_overflow(v[i], v[i - 1], &step) || (down ? step > 0 : step < 0) ||
		    step == INT64_MIN)
			return false;
		d[i - 2] = (uint64_t)(down ? -step : step);
		*all |= d[i - 2];
	}
	return true;
}

static void put_others(struct strbuf *out, const int64_t *v, size_t n, bool is_signed)
{
	uint64_t u[ORC_RUN], d[ORC_RUN], all = 0, steps;

	for (size_t i = 0; i < n; i++) {
		u[i] = is_signed ? zigzag(v[i]) : (uint64_t)v[i];
		all |= u[i];
	}
	unsigned width = even_width(table_bits(all));
	if (width > 8 && one_way(v, n, d, &steps)) {
		unsigned narrow = even_width(table_bits(steps));

		/* the code of one bit means a constant delta here */
		narrow = narrow == 1 ? 2 : narrow;
		if (narrow < width) {
			put_head(out, 3, width_code(narrow), n);
			put_value(out, v[0], is_signed);
			strbuf_add_varint(out, zigzag(v[1] - v[0]));
			put_packed(out, d, n - 2, narrow);
			return;
		}
	}
	put_head(out, 1, width_code(width), n);
	put_packed(out, u, n, width);
}

/* How many values from here have the same step. */
static size_t steps_from(const int64_t *v, size_t n, int64_t *ret)
{
	int64_t first, step;
	size_t i = 2;

	if (n < 2 || __builtin_sub_overflow(v[1], v[0], &first))
		return 1;
	for (; i < n && i < ORC_RUN; i++)
		if (__builtin_sub_overflow(v[i], v[i - 1], &step) || step != first)
			break;
	*ret = first;
	return i;
}

void orc_ints(struct strbuf *out, const int64_t *values, size_t n, bool is_signed)
{
	size_t i = 0, start = 0;

	while (i < n) {
		int64_t step = 0;
		size_t run = steps_from(values + i, n - i, &step);
		bool equal = run >= REPEAT_MIN && step == 0;

		if (run < STEP_MIN && !(equal && start == i)) {
			/* joins others, up to a full run */
			i += run > 2 && step == 0 ? run : 1;
			if (i - start >= ORC_RUN) {
				put_others(out, values + start, ORC_RUN, is_signed);
				start += ORC_RUN;
			}
			continue;
		}
		if (i > start)
			put_others(out, values + start, i - start, is_signed);
		if (equal && run <= REPEAT_SHORT)
			put_repeat(out, values[i], run, is_signed);
		else
			put_steps(out, values[i], step, run, is_signed);
		i += run;
		start = i;
	}
	if (n > start)
		put_others(out, values + start, n - start, is_signed);
}

int64_t orc_nanos(uint32_t ns)
{
	unsigned zeros = 0;

	if (!ns)
		return 0;
	if (ns % 100)
		return (int64_t)ns << 3;
	for (; ns % 10 == 0 && zeros < 8; zeros++)
		ns /= 10;
	return (int64_t)ns << 3 | (zeros - 1);
}

/* ---- bytes ---- */

void orc_bytes(struct strbuf *out, const uint8_t *v, size_t n)
{
	size_t start = 0, i = 0;

	while (i < n) {
		size_t run = 1;

		while (i + run < n && run < BYTES_RUN && v[i + run] == v[i])
			run++;
		bool repeat = run >= 3;
		size_t end = repeat ? i : i + run;

		/* writes waiting literals: all before a repeat, otherwise when there are enough */
		while (end - start >= BYTES_LITERAL || (repeat && end > start)) {
			size_t some = end - start < BYTES_LITERAL ? end - start : BYTES_LITERAL;

			strbuf_addch(out, (char)(0x100 - some));
			strbuf_add(out, v + start, some);
			start += some;
		}
		if (repeat) {
			strbuf_addch(out, (char)(run - 3));
			strbuf_addch(out, (char)v[i]);
			start = i + run;
		}
		i += run;
	}
	if (n > start) {
		strbuf_addch(out, (char)(0x100 - (n - start)));
		strbuf_add(out, v + start, n - start);
	}
}

/* ---- protobuf ---- */

void proto_u64(struct strbuf *out, unsigned field, uint64_t v)
{
	strbuf_add_varint(out, (uint64_t)field << 3);
	strbuf_add_varint(out, v);
}

void proto_s64(struct strbuf *out, unsigned field, int64_t v)
{
	proto_u64(out, field, zigzag(v));
}

void proto_double(struct strbuf *out, unsigned field, double v)
{
	strbuf_add_varint(out, (uint64_t)field << 3 | 1);
	strbuf_add(out, &v, sizeof(v));
}

void proto_bytes(struct strbuf *out, unsigned field, const void *p, size_t n)
{
	strbuf_add_varint(out, (uint64_t)field << 3 | 2);
	strbuf_add_varint(out, n);
	strbuf_add(out, p, n);
}

void proto_part(struct strbuf *out, unsigned field, const struct strbuf *part)
{
	proto_bytes(out, field, part->buf, part->len);
}
