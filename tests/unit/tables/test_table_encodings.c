/*
 * The encodings of columnar files, by value: what the specifications of Parquet, ORC, Thrift,
 * protobuf and flatbuffers have for examples, and readers written here from those specifications,
 * which get back what was written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "tables/arrow/flatbuffer.h"
#include "tables/column_dictionary.h"
#include "tables/orc/orc_encoding.h"
#include "tables/parquet/parquet_encoding.h"

static void assert_bytes(const struct strbuf *got, const char *want, size_t n)
{
	assert_int_equal(got->len, n);
	assert_memory_equal(got->buf, want, n);
}
#define BYTES(sb, literal) assert_bytes(sb, literal, sizeof(literal) - 1)

/* ---- readers -------------------------------------------------------------------------------- */

struct reader {
	const uint8_t *p, *end;
};

static uint8_t next(struct reader *r)
{
	assert_true(r->p < r->end);
	return *r->p++;
}

static uint64_t read_varint(struct reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = next(r);

		v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return v;
	}
}

/* Bit by bit, low first (Parquet) or high first (ORC). */
static uint64_t read_bits(const uint8_t *p, size_t at, unsigned width, bool low_first)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++) {
		size_t bit = at * width + i;

		if (low_first)
			v |= (uint64_t)(p[bit / 8] >> (bit % 8) & 1) << i;
		else
			v = v << 1 | (p[bit / 8] >> (7 - bit % 8) & 1);
	}
	return v;
}

static void read_hybrid(struct reader *r, unsigned width, uint32_t *to, size_t n)
{
	size_t have = 0;

	while (have < n) {
		uint64_t head = read_varint(r);

		if (head & 1) {
			size_t values = (head >> 1) * 8;

			for (size_t i = 0; i < values && have < n; i++)
				to[have++] = (uint32_t)read_bits(r->p, i, width, true);
			r->p += values * width / 8;
		} else {
			uint32_t value = 0;

			for (unsigned i = 0; i < width; i += 8)
				value |= (uint32_t)next(r) << i;
			for (size_t i = 0; i < head >> 1; i++) {
				assert_true(have < n);
				to[have++] = value;
			}
		}
	}
	assert_ptr_equal(r->p, r->end);
}

static void read_delta(struct reader *r, int64_t *to, size_t n)
{
	assert_int_equal(read_varint(r), 128);
	assert_int_equal(read_varint(r), 4);
	assert_int_equal(read_varint(r), n);
	int64_t last = unzigzag(read_varint(r));
	size_t have = 0;

	if (n)
		to[have++] = last;
	while (have < n) {
		int64_t least = unzigzag(read_varint(r));
		const uint8_t *widths = r->p;

		r->p += 4;
		for (unsigned k = 0; k < 4 && have < n; k++) {
			for (unsigned i = 0; i < 32 && have < n; i++) {
				uint64_t d = read_bits(r->p, i, widths[k], true);

				last = (int64_t)((uint64_t)last + (uint64_t)least + d);
				to[have++] = last;
			}
			r->p += 32 * widths[k] / 8;
		}
	}
	assert_ptr_equal(r->p, r->end);
}

static unsigned orc_width(unsigned code)
{
	static const uint8_t wide[] = {26, 28, 30, 32, 40, 48, 56, 64};

	return code < 24 ? code + 1 : wide[code - 24];
}

static int64_t orc_value(uint64_t v, bool is_signed)
{
	return is_signed ? unzigzag(v) : (int64_t)v;
}

static unsigned kinds[4]; /* runs of each that were read */

static size_t read_orc_run(struct reader *r, bool is_signed, int64_t *to)
{
	unsigned head = next(r), kind = head >> 6;
	size_t n;

	kinds[kind]++;
	if (kind == 0) {
		uint64_t v = 0;

		for (unsigned i = 0; i <= (head >> 3 & 7); i++)
			v = v << 8 | next(r);
		n = (head & 7) + 3;
		for (size_t i = 0; i < n; i++)
			to[i] = orc_value(v, is_signed);
		return n;
	}
	n = ((head & 1) << 8 | next(r)) + 1u;
	unsigned code = head >> 1 & 31;
	if (kind == 1) {
		for (size_t i = 0; i < n; i++)
			to[i] = orc_value(read_bits(r->p, i, orc_width(code), false), is_signed);
		r->p += (n * orc_width(code) + 7) / 8;
		return n;
	}
	assert_int_equal(kind, 3); /* patched bases are not written */
	to[0] = orc_value(read_varint(r), is_signed);
	int64_t step = unzigzag(read_varint(r));
	to[1] = to[0] + step;
	for (size_t i = 2; i < n; i++) {
		int64_t d = code ? (int64_t)read_bits(r->p, i - 2, orc_width(code), false) : 0;

		to[i] = to[i - 1] + (!code ? step : step < 0 ? -d : d);
	}
	if (code)
		r->p += ((n - 2) * orc_width(code) + 7) / 8;
	return n;
}

/* ---- there and back ------------------------------------------------------------------------- */

static const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1, INT64_MAX - 1};

static uint64_t mix(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* Values of many shapes: in order, constant, in stretches, of any width, extreme. */
static int64_t shaped(unsigned shape, size_t i)
{
	uint64_t x = mix(i * 31 + shape);

	switch (shape) {
	case 0:
		return (int64_t)i * 7 - 3;
	case 1:
		return -12345678901;
	case 2:
		return (int64_t)(i / 9 % 5) - 2;
	case 3:
		return extremes[x % ARRAY_SIZE(extremes)];
	case 4: /* up, by steps that differ */
		return (int64_t)i * 1000000 + (int64_t)(x % 1000);
	case 5: /* down */
		return -(int64_t)i * 1000000 - (int64_t)(x % 1000);
	case 6: /* runs of all lengths among others */
		return i / 64 % 2 ? (int64_t)(i % 64 < i / 128 % 64 ? 5 : x % 100) : (int64_t)i;
	default: /* widths from 1 to 64 bits */
		return (int64_t)(x >> (64 - (shape - 6)));
	}
}
#define SHAPES 71u

static void every_shape(void (*check)(const int64_t *, size_t))
{
	static const size_t counts[] = {0, 1, 2, 3, 10, 31, 33, 128, 129, 130, 512, 513, 5000};
	int64_t *v = xcalloc(5000, sizeof(*v));

	for (unsigned shape = 0; shape < SHAPES; shape++) {
		for (size_t i = 0; i < 5000; i++)
			v[i] = shaped(shape, i);
		for (size_t k = 0; k < ARRAY_SIZE(counts); k++)
			check(v, counts[k]);
	}
	free(v);
}

static void check_delta(const int64_t *v, size_t n)
{
	struct strbuf out = STRBUF_INIT;
	int64_t *back = xcalloc(n + 1, sizeof(*back));

	pq_delta(&out, v, n);
	struct reader r = {(const uint8_t *)out.buf, (const uint8_t *)out.buf + out.len};
	read_delta(&r, back, n);
	assert_memory_equal(back, v, n * sizeof(*v));
	free(back);
	strbuf_release(&out);
}

static void check_hybrid(const int64_t *v, size_t n)
{
	uint32_t *u = xcalloc(n + 1, sizeof(*u)), *back = xcalloc(n + 8, sizeof(*back));

	for (unsigned width = 1; width <= 20; width += 3) {
		struct strbuf out = STRBUF_INIT;

		for (size_t i = 0; i < n; i++)
			u[i] = (uint32_t)v[i] & ((1u << width) - 1);
		pq_hybrid(&out, u, n, width);
		struct reader r = {(const uint8_t *)out.buf, (const uint8_t *)out.buf + out.len};
		read_hybrid(&r, width, back, n);
		assert_memory_equal(back, u, n * sizeof(*u));
		strbuf_release(&out);
	}
	free(u);
	free(back);
}

static void check_orc(const int64_t *v, size_t n)
{
	int64_t *u = xcalloc(n + 1, sizeof(*u)), *back = xcalloc(n + ORC_RUN, sizeof(*back));

	for (int is_signed = 0; is_signed < 2; is_signed++) {
		struct strbuf out = STRBUF_INIT;
		size_t have = 0;

		for (size_t i = 0; i < n; i++)
			u[i] = is_signed ? v[i] : v[i] & INT64_MAX;
		orc_ints(&out, u, n, is_signed);
		struct reader r = {(const uint8_t *)out.buf, (const uint8_t *)out.buf + out.len};
		while (have < n)
			have += read_orc_run(&r, is_signed, back + have);
		assert_int_equal(have, n);
		assert_ptr_equal(r.p, r.end);
		assert_memory_equal(back, u, n * sizeof(*u));
		strbuf_release(&out);
	}
	free(u);
	free(back);
}

static void delta_there_and_back(void **state)
{
	(void)state;
	every_shape(check_delta);
}

static void hybrid_there_and_back(void **state)
{
	(void)state;
	every_shape(check_hybrid);
}

static void orc_there_and_back(void **state)
{
	(void)state;
	memset(kinds, 0, sizeof(kinds));
	every_shape(check_orc);
	assert_true(kinds[0] && kinds[1] && kinds[3]);
}

/* ---- by value ------------------------------------------------------------------------------- */

static void varints(void **state)
{
	struct strbuf out = STRBUF_INIT;

	(void)state;
	strbuf_add_varint(&out, 0);
	strbuf_add_varint(&out, 127);
	strbuf_add_varint(&out, 300);
	strbuf_add_varint(&out, UINT64_MAX);
	BYTES(&out, "\x00\x7f\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	assert_int_equal(zigzag(0), 0);
	assert_int_equal(zigzag(-1), 1);
	assert_int_equal(zigzag(1), 2);
	assert_int_equal(zigzag(INT64_MIN), UINT64_MAX);
	assert_int_equal(zigzag(INT64_MAX), UINT64_MAX - 1);
	assert_int_equal(table_bits(0), 0);
	assert_int_equal(table_bits(8), 4);
	strbuf_release(&out);
}

/* The examples of Parquet's Encodings.md. */
static void parquet_by_value(void **state)
{
	static const uint32_t packed[] = {0, 1, 2, 3, 4, 5, 6, 7};
	static const int64_t steps[] = {1, 2, 3, 4, 5}, others[] = {7, 5, 3, 1, 2, 3, 4, 5};
	static const uint8_t absent[] = {0, 0, 1, 0, 0, 0, 0, 0, 0};
	uint32_t same[100];
	struct strbuf out = STRBUF_INIT;

	(void)state;
	pq_hybrid(&out, packed, 8, 3);
	BYTES(&out, "\x03\x88\xc6\xfa");
	strbuf_reset(&out);
	for (size_t i = 0; i < 100; i++)
		same[i] = 4;
	pq_hybrid(&out, same, 100, 3);
	BYTES(&out, "\xc8\x01\x04");
	strbuf_reset(&out);
	pq_delta(&out, steps, 5);
	BYTES(&out, "\x80\x01\x04\x05\x02\x02\x00\x00\x00\x00");
	strbuf_reset(&out);
	/* differences -2, -2, -2, 1, 1, 1, 1; over the least, -2: 0, 0, 0, 3, 3, 3, 3 in two bits
	 */
	pq_delta(&out, others, 8);
	BYTES(&out, "\x80\x01\x04\x08\x0e\x03\x02\x00\x00\x00\xc0\x3f\x00\x00\x00\x00\x00\x00");
	strbuf_reset(&out);
	pq_levels(&out, NULL, 9);
	BYTES(&out, "\x02\x00\x00\x00\x12\x01");
	strbuf_reset(&out);
	pq_levels(&out, absent, 9);
	BYTES(&out, "\x03\x00\x00\x00\x05\xfb\x01");
	strbuf_release(&out);
}

static void thrift_by_value(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct thrift t = {.out = &out};

	(void)state;
	thrift_i32(&t, 1, -1);
	thrift_i64(&t, 3, 300);
	thrift_bool(&t, 4, true);
	thrift_binary(&t, 20, "ab", 2); /* more than 15 further: the number itself */
	thrift_begin(&t, 21);
	thrift_bool(&t, 1, false);
	thrift_end(&t);
	thrift_list(&t, 22, THRIFT_I32, 2);
	thrift_list(&t, 23, THRIFT_STRUCT, 200);
	thrift_end(&t);
	BYTES(&out, "\x15\x01\x26\xd8\x04\x11\x08\x28\x02"
		    "ab\x1c\x12\x00\x19\x25\x19\xfc\xc8\x01\x00");
	strbuf_release(&out);
}

/* The examples of ORC's specification, but for widths, which are whole bytes here. */
static void orc_by_value(void **state)
{
	static const int64_t repeat[] = {10000, 10000, 10000, 10000, 10000};
	static const int64_t direct[] = {23713, 43806, 57005, 48879};
	static const int64_t primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
	static const int64_t falling[] = {70000, 69990, 69900, 69000};
	static const uint8_t bytes[] = {0x44, 0x45};
	uint8_t zeros[100] = {0};
	int64_t hundred[100];
	struct strbuf out = STRBUF_INIT;

	(void)state;
	orc_ints(&out, repeat, 5, false);
	BYTES(&out, "\x0a\x27\x10");
	strbuf_reset(&out);
	orc_ints(&out, direct, 4, false);
	BYTES(&out, "\x5e\x03\x5c\xa1\xab\x1e\xde\xad\xbe\xef");
	strbuf_reset(&out);
	orc_ints(&out, primes, 10, false); /* as small directly */
	BYTES(&out, "\x4e\x09\x02\x03\x05\x07\x0b\x0d\x11\x13\x17\x1d");
	strbuf_reset(&out);
	orc_ints(&out, falling, 4, true); /* -10, then 90 and 900 in 16 bits, down */
	BYTES(&out, "\xde\x03\xe0\xc5\x08\x13\x00\x5a\x03\x84");
	strbuf_reset(&out);
	for (size_t i = 0; i < 100; i++)
		hundred[i] = 100 - (int64_t)i;
	orc_ints(&out, hundred, 100, true);
	BYTES(&out, "\xc0\x63\xc8\x01\x01");
	strbuf_reset(&out);
	orc_bytes(&out, zeros, 100);
	orc_bytes(&out, bytes, 2);
	BYTES(&out, "\x61\x00\xfe\x44\x45");
	strbuf_reset(&out);
	assert_int_equal(orc_nanos(0), 0);
	assert_int_equal(orc_nanos(1000), 0x0a);   /* the specification's */
	assert_int_equal(orc_nanos(100000), 0x0c); /* the specification's */
	assert_int_equal(orc_nanos(10), 10 << 3);  /* one zero is not worth it */
	assert_int_equal(orc_nanos(100000000), 1 << 3 | 7);
	assert_int_equal(orc_nanos(999999999), 999999999ll << 3);
	strbuf_release(&out);
}

static void orc_bytes_there_and_back(void **state)
{
	uint8_t v[3000], back[3200];

	(void)state;
	for (unsigned shape = 1; shape < 40; shape++) {
		struct strbuf out = STRBUF_INIT;
		size_t have = 0;

		for (size_t i = 0; i < sizeof(v); i++)
			v[i] = (uint8_t)(mix(i / shape) % (shape % 3 ? 200 : 2));
		orc_bytes(&out, v, sizeof(v));
		struct reader r = {(const uint8_t *)out.buf, (const uint8_t *)out.buf + out.len};
		while (r.p < r.end) {
			unsigned head = next(&r);
			size_t n = head < 128 ? head + 3 : 256 - head;

			assert_true(have + n <= sizeof(v));
			for (size_t i = 0; i < n; i++)
				back[have++] = head < 128 ? *r.p : next(&r);
			r.p += head < 128;
		}
		assert_int_equal(have, sizeof(v));
		assert_memory_equal(back, v, sizeof(v));
		strbuf_release(&out);
	}
}

static void protobuf_by_value(void **state)
{
	struct strbuf out = STRBUF_INIT, part = STRBUF_INIT;

	(void)state;
	proto_u64(&out, 1, 150); /* protobuf's own example */
	proto_s64(&out, 2, -2);
	proto_double(&out, 3, 1.0);
	proto_u64(&part, 1, 150);
	proto_part(&out, 3, &part);
	proto_bytes(&out, 8000, "ORC", 3);
	BYTES(&out, "\x08\x96\x01\x10\x03\x19\x00\x00\x00\x00\x00\x00\xf0\x3f"
		    "\x1a\x03\x08\x96\x01\x82\xf4\x03\x03ORC");
	strbuf_release(&out);
	strbuf_release(&part);
}

/* ---- flatbuffers ---------------------------------------------------------------------------- */

static uint64_t flat_read(const struct strbuf *sb, size_t at, unsigned size)
{
	uint64_t v = 0;

	assert_true(at + size <= sb->len);
	assert_int_equal(at % size, 0); /* where such a value must lie */
	memcpy(&v, sb->buf + at, size);
	return v;
}

/* Where a field of a table is, 0: nowhere. */
static size_t flat_find(const struct strbuf *sb, size_t table, unsigned number)
{
	size_t list = table - (size_t)(int32_t)flat_read(sb, table, 4);
	size_t size = flat_read(sb, list, 2);
	size_t place = 4 + 2 * (size_t)number < size ? flat_read(sb, list + 4 + 2 * number, 2) : 0;

	assert_true(place < flat_read(sb, list + 2, 2) || !place);
	return place ? table + place : 0;
}

static size_t flat_follow(const struct strbuf *sb, size_t ref)
{
	return ref + flat_read(sb, ref, 4);
}

static void flatbuffers(void **state)
{
	struct strbuf out = STRBUF_INIT;
	size_t text, list, inner;
	const struct flatbuffer_field fields[] = {{0, 8, 0x1122334455667788, NULL},
						  {1, 1, 0x7f, NULL},
						  {2, 2, 0xabcd, NULL},
						  {5, 4, 0, &text},
						  {6, 4, 0, &list}};
	const struct flatbuffer_field small[] = {{1, 1, 9, NULL}};

	(void)state;
	flatbuffer_table(&out, flatbuffer_root(&out), fields, ARRAY_SIZE(fields));
	flatbuffer_text(&out, text, "abc");
	inner = flatbuffer_references(&out, list, 2);
	flatbuffer_table(&out, inner, small, 1);
	flatbuffer_table(&out, inner + 4, NULL, 0);

	size_t root = flat_follow(&out, 0);
	assert_int_equal(flat_read(&out, flat_find(&out, root, 0), 8), 0x1122334455667788);
	assert_int_equal(flat_read(&out, flat_find(&out, root, 1), 1), 0x7f);
	assert_int_equal(flat_read(&out, flat_find(&out, root, 2), 2), 0xabcd);
	assert_int_equal(flat_find(&out, root, 3), 0);
	assert_int_equal(flat_find(&out, root, 7), 0);
	size_t s = flat_follow(&out, flat_find(&out, root, 5));
	assert_int_equal(flat_read(&out, s, 4), 3);
	assert_string_equal(out.buf + s + 4, "abc");
	size_t v = flat_follow(&out, flat_find(&out, root, 6));
	assert_int_equal(flat_read(&out, v, 4), 2);
	size_t first = flat_follow(&out, v + 4);
	assert_int_equal(flat_read(&out, flat_find(&out, first, 1), 1), 9);
	assert_int_equal(flat_find(&out, first, 0), 0);
	assert_int_equal(flat_find(&out, flat_follow(&out, v + 8), 0), 0);
	strbuf_release(&out);
}

/* ---- dictionaries --------------------------------------------------------------------------- */

static void dictionaries(void **state)
{
	struct column_dictionary d;
	size_t n;

	(void)state;
	column_dictionary_init(&d);
	assert_int_equal(column_dictionary_text(&d, "", 0), 0);
	assert_int_equal(column_dictionary_text(&d, "a\0b", 3), 1);
	assert_int_equal(column_dictionary_text(&d, "a", 1), 2);
	assert_int_equal(column_dictionary_text(&d, "\xff", 1), 3);
	assert_int_equal(column_dictionary_text(&d, "\xfe", 1), 3); /* both are one U+FFFD */
	assert_int_equal(column_dictionary_text(&d, "a\0b", 3), 1);
	assert_memory_equal(column_dictionary_at(&d, 3, &n), "\xef\xbf\xbd", 3);
	assert_int_equal(n, 3);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 70000; i++) {
			char text[16];

			snprintf(text, sizeof(text), "%u", i);
			assert_int_equal(column_dictionary_text(&d, text, strlen(text)), i + 4);
		}
	}
	column_dictionary_reset(&d);
	assert_int_equal(d.count, 0);
	assert_int_equal(column_dictionary_text(&d, "7", 1), 0);
	column_dictionary_release(&d);

	column_dictionary_init(&d);
	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(column_dictionary_number(&d, mix(i), 5000), i);
	assert_int_equal(column_dictionary_number(&d, mix(5000), 5000), COLUMN_DICTIONARY_NONE);
	assert_int_equal(column_dictionary_number(&d, mix(4999), 5000), 4999);
	column_dictionary_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints),
		cmocka_unit_test(parquet_by_value),
		cmocka_unit_test(delta_there_and_back),
		cmocka_unit_test(hybrid_there_and_back),
		cmocka_unit_test(thrift_by_value),
		cmocka_unit_test(orc_by_value),
		cmocka_unit_test(orc_there_and_back),
		cmocka_unit_test(orc_bytes_there_and_back),
		cmocka_unit_test(protobuf_by_value),
		cmocka_unit_test(flatbuffers),
		cmocka_unit_test(dictionaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
