/*
 * Values as a PostgreSQL server sends them: binary for the types of the store and of expressions
 * over them. A result with any other type, such as a date, comes as text.
 */
#include <math.h>
#include <stdlib.h>

#include "core/text/text.h"
#include "store/postgres/postgres.h"

bool pg_known(Oid type)
{
	/* clang-format off */
	static const Oid known[] = {
		PG_BOOL, PG_BYTEA, PG_CHAR, PG_NAME, PG_INT8, PG_INT2, PG_INT4, PG_TEXT, PG_OID,
		PG_FLOAT4, PG_FLOAT8, PG_UNKNOWN, PG_BPCHAR, PG_VARCHAR, PG_NUMERIC};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] == type)
			return true;
	return false;
}

/* ---- numeric -------------------------------------------------------------------------------- */

/*
 * On the wire: number of digits, weight of the first, sign, decimals to show, digits; each of 16
 * bits, and a digit has the base 10,000. sum() of BIGINT has this type, so whole numbers must stay
 * whole.
 */
#define BASE 10000
#define NEGATIVE 0x4000
#define NOT_A_NUMBER 0xc000
#define INFINITE 0xd000
#define MINUS_INFINITE 0xf000

struct numeric {
	const char *digits;
	int count, weight;
	unsigned sign;
};

static bool numeric_read(const struct pg_cell *c, struct numeric *n)
{
	if (c->len < 8)
		return false;
	n->count = pg_get16(c->data);
	n->weight = (int16_t)pg_get16(c->data + 2);
	n->sign = pg_get16(c->data + 4);
	n->digits = c->data + 8;
	return c->len >= 8 + 2 * (size_t)n->count;
}

static unsigned numeric_digit(const struct numeric *n, int i)
{
	return i < n->count ? pg_get16(n->digits + 2 * (size_t)i) : 0;
}

/* A whole number that fits. */
static bool numeric_whole(const struct numeric *n, int64_t *ret)
{
	uint64_t v = 0;

	if (n->sign != 0 && n->sign != NEGATIVE)
		return false;
	for (int i = n->weight < 0 ? 0 : n->weight + 1; i < n->count; i++)
		if (numeric_digit(n, i))
			return false;
	if (n->count && n->weight > 4) /* 10,000 to the fifth is more than 2 to the 64th */
		return false;
	for (int i = 0; n->count && i <= n->weight; i++)
		if (__builtin_mul_overflow(v, (uint64_t)BASE, &v) ||
		    __builtin_add_overflow(v, (uint64_t)numeric_digit(n, i), &v))
			return false;
	if (v > (uint64_t)INT64_MAX + (n->sign == NEGATIVE))
		return false;
	*ret = (int64_t)(n->sign == NEGATIVE ? 0 - v : v);
	return true;
}

/* strtod() rounds correctly. The text has no decimal point, which depends on the locale, and at
 * most 48 decimal digits: more do not matter. */
static double numeric_real(const struct numeric *n)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int used = n->count < 12 ? n->count : 12;

	if (n->sign == NOT_A_NUMBER)
		return (double)NAN;
	if (n->sign == INFINITE || n->sign == MINUS_INFINITE)
		return n->sign == INFINITE ? HUGE_VAL : -HUGE_VAL;
	strbuf_addch(&text, n->sign == NEGATIVE ? '-' : '+');
	for (int i = 0; i < used; i++)
		strbuf_addf(&text, "%04u", numeric_digit(n, i));
	strbuf_addf(&text, "0e%d", (n->weight + 1 - used) * 4 - 1);
	return strtod(text.buf, NULL);
}

/* The same from text: "-12", "3.0000" are whole. */
static bool text_whole(const struct pg_cell *c, int64_t *ret)
{
	size_t n = strcspn(c->data, ".");
	const char *rest = c->data + n;
	char whole[24];

	if (n >= sizeof(whole) || (*rest && rest[1 + strspn(rest + 1, "0")]))
		return false;
	memcpy(whole, c->data, n);
	whole[n] = 0;
	return parse_i64(whole, ret) == 0;
}

static bool decimal_whole(const struct pg_cell *c, int64_t *ret)
{
	struct numeric n;

	return c->binary ? numeric_read(c, &n) && numeric_whole(&n, ret) : text_whole(c, ret);
}

static double decimal_real(const struct pg_cell *c)
{
	struct numeric n;

	return numeric_read(c, &n) ? numeric_real(&n) : 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

enum store_kind pg_kind(const struct pg_cell *c)
{
	int64_t whole;

	if (!c->data)
		return STORE_NULL;
	switch (c->type) {
	case PG_BOOL:
	case PG_INT8:
	case PG_INT2:
	case PG_INT4:
	case PG_OID:
		return STORE_INT;
	case PG_FLOAT4:
	case PG_FLOAT8:
		return STORE_REAL;
	case PG_NUMERIC:
		return decimal_whole(c, &whole) ? STORE_INT : STORE_REAL;
	case PG_BYTEA:
		return STORE_BYTES;
	default:
		return STORE_TEXT;
	}
}

/* A value with a wrong length reads as 0. */
static int64_t binary_int(const struct pg_cell *c)
{
	switch (c->len) {
	case 1:
		return c->data[0] != 0;
	case 2:
		return (int16_t)pg_get16(c->data);
	case 4:
		return c->type == PG_OID ? (int64_t)pg_get32(c->data) : (int32_t)pg_get32(c->data);
	case 8:
		return (int64_t)pg_get64(c->data);
	default:
		return 0;
	}
}

static double binary_real(const struct pg_cell *c)
{
	uint64_t bits8;
	uint32_t bits4;
	double v8;
	float v4;

	if (c->len == sizeof(v8)) {
		bits8 = pg_get64(c->data);
		memcpy(&v8, &bits8, sizeof(v8));
		return v8;
	}
	if (c->len != sizeof(v4))
		return 0;
	bits4 = pg_get32(c->data);
	memcpy(&v4, &bits4, sizeof(v4));
	return (double)v4;
}

/* Converts a real to an integer as SQLite does: truncated, and clamped to the range. */
static int64_t cut(double v)
{
	if (isnan(v))
		return 0;
	if (v >= 0x1p63)
		return INT64_MAX;
	if (v < -0x1p63)
		return INT64_MIN;
	return (int64_t)v;
}

int64_t pg_int(const struct pg_cell *c)
{
	int64_t whole;

	switch (pg_kind(c)) {
	case STORE_INT:
		if (c->type == PG_NUMERIC)
			return decimal_whole(c, &whole) ? whole : 0;
		if (c->binary)
			return binary_int(c);
		return c->type == PG_BOOL ? c->data[0] == 't' : strtoll(c->data, NULL, 10);
	case STORE_REAL:
		return cut(pg_real(c));
	case STORE_TEXT:
	case STORE_BYTES:
		return strtoll(c->data, NULL, 10);
	default:
		return 0;
	}
}

double pg_real(const struct pg_cell *c)
{
	switch (pg_kind(c)) {
	case STORE_INT:
		return (double)pg_int(c);
	case STORE_REAL:
		if (!c->binary)
			return strtod(c->data, NULL);
		return c->type == PG_NUMERIC ? decimal_real(c) : binary_real(c);
	case STORE_TEXT:
	case STORE_BYTES:
		return strtod(c->data, NULL);
	default:
		return 0;
	}
}

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10) & 15;
}

/* Bytes in a text result: "\x00ff", as the session requested. */
static const char *hex_bytes(const struct pg_cell *c, struct strbuf *scratch, size_t *ret_n)
{
	for (size_t i = 2; i + 1 < c->len; i += 2)
		strbuf_addch(scratch,
			     (char)(hex_digit(c->data[i]) << 4 | hex_digit(c->data[i + 1])));
	*ret_n = scratch->len;
	return scratch->buf;
}

const char *pg_text(const struct pg_cell *c, struct strbuf *scratch, size_t *ret_n)
{
	enum store_kind kind = pg_kind(c);

	*ret_n = c->len;
	strbuf_reset(scratch);
	switch (kind) {
	case STORE_NULL:
		return NULL;
	case STORE_INT:
		strbuf_addf(scratch, "%lld", (long long)pg_int(c));
		break;
	case STORE_REAL:
		text_add_real(scratch, pg_real(c));
		break;
	case STORE_BYTES:
		return c->binary ? c->data : hex_bytes(c, scratch, ret_n);
	case STORE_TEXT:
		return c->data;
	}
	*ret_n = scratch->len;
	return scratch->buf;
}
