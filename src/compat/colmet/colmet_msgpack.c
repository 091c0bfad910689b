/* MessagePack as far as colmet's Rust version goes; and the message to its configuration port, a
 * map of texts: "metrics" or, of the older tools, "perfhw_metrics", and "sample_period". */
#include "compat/colmet/colmet_msgpack.h"

#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet_internal.h"
#include "core/text/text.h"

/* ---- values --------------------------------------------------------------------------------- */

/* A number of so many bytes, the highest first. */
static bool big_endian(struct msgpack *m, unsigned bytes, uint64_t *ret)
{
	uint64_t v = 0;

	if ((size_t)(m->end - m->p) < bytes)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | *m->p++;
	*ret = v;
	return true;
}

static bool take_int(struct msgpack *m, unsigned code, struct msgpack_value *ret)
{
	unsigned bytes = 1u << (code & 3);
	uint64_t v;

	ret->type = MSGPACK_INT;
	if (!big_endian(m, bytes, &v))
		return false;
	if (code < 0xd0) {
		ret->i = (int64_t)v;
		return v <= INT64_MAX;
	}
	/* the sign of a short one is that of its highest bit */
	static const uint64_t signs[] = {0x80, 0x8000, 0x80000000, 0x8000000000000000};
	uint64_t sign = signs[code & 3];
	ret->i = (int64_t)((v ^ sign) - sign);
	return true;
}

static bool take_real(struct msgpack *m, unsigned code, struct msgpack_value *ret)
{
	uint64_t v;

	ret->type = MSGPACK_REAL;
	if (!big_endian(m, code == 0xca ? 4 : 8, &v))
		return false;
	if (code == 0xca) {
		uint32_t bits = (uint32_t)v;
		float f;

		memcpy(&f, &bits, sizeof(f));
		ret->real = (double)f;
	} else {
		memcpy(&ret->real, &v, sizeof(ret->real));
	}
	return true;
}

static bool take_text(struct msgpack *m, size_t size, struct msgpack_value *ret)
{
	ret->type = MSGPACK_TEXT;
	ret->text = (const char *)m->p;
	ret->n = size;
	if ((size_t)(m->end - m->p) < size)
		return false;
	m->p += size;
	return true;
}

/* An element takes a byte at least, a pair of them two. */
static bool take_count(const struct msgpack *m, uint64_t count, bool map, struct msgpack_value *ret)
{
	ret->type = map ? MSGPACK_MAP : MSGPACK_ARRAY;
	ret->n = (size_t)count;
	return count <= (size_t)(m->end - m->p) / (map ? 2 : 1);
}

bool msgpack_next(struct msgpack *m, struct msgpack_value *ret)
{
	uint64_t v;

	*ret = (struct msgpack_value){0};
	if (m->p >= m->end)
		return false;
	unsigned code = *m->p++;
	if (code <= 0x7f || code >= 0xe0) {
		ret->type = MSGPACK_INT;
		ret->i = code <= 0x7f ? (int64_t)code : (int64_t)code - 256;
		return true;
	}
	if (code <= 0x9f)
		return take_count(m, code & 15, code < 0x90, ret);
	if (code <= 0xbf)
		return take_text(m, code & 31, ret);
	switch (code) {
	case 0xc4: /* bytes: what older writers send for texts */
	case 0xc5:
	case 0xc6:
		return big_endian(m, 1u << (code - 0xc4), &v) && take_text(m, (size_t)v, ret);
	case 0xd9:
	case 0xda:
	case 0xdb:
		return big_endian(m, 1u << (code - 0xd9), &v) && take_text(m, (size_t)v, ret);
	case 0xca:
	case 0xcb:
		return take_real(m, code, ret);
	case 0xdc:
	case 0xdd:
	case 0xde:
	case 0xdf:
		return big_endian(m, code & 1 ? 4 : 2, &v) && take_count(m, v, code >= 0xde, ret);
	default:
		return code >= 0xcc && code <= 0xd3 && take_int(m, code, ret);
	}
}

bool msgpack_int(struct msgpack *m, int64_t *ret)
{
	struct msgpack_value v;

	if (!msgpack_next(m, &v) || v.type != MSGPACK_INT)
		return false;
	*ret = v.i;
	return true;
}

bool msgpack_text(struct msgpack *m, const char **ret, size_t *ret_size)
{
	struct msgpack_value v;

	if (!msgpack_next(m, &v) || v.type != MSGPACK_TEXT)
		return false;
	*ret = v.text;
	*ret_size = v.n;
	return true;
}

static bool take_head(struct msgpack *m, enum msgpack_type type, size_t *ret)
{
	struct msgpack_value v;

	if (!msgpack_next(m, &v) || v.type != type)
		return false;
	*ret = v.n;
	return true;
}

bool msgpack_array(struct msgpack *m, size_t *ret)
{
	return take_head(m, MSGPACK_ARRAY, ret);
}

bool msgpack_map(struct msgpack *m, size_t *ret)
{
	return take_head(m, MSGPACK_MAP, ret);
}

static void add_big_endian(struct strbuf *out, uint64_t v, unsigned bytes)
{
	for (unsigned i = bytes; i-- > 0;)
		strbuf_addch(out, (char)(unsigned char)(v >> 8 * i));
}

void msgpack_add_map(struct strbuf *out, size_t pairs)
{
	if (pairs < 16) {
		strbuf_addch(out, (char)(unsigned char)(0x80 | pairs));
		return;
	}
	strbuf_addch(out, (char)(unsigned char)0xdf);
	add_big_endian(out, pairs, 4);
}

void msgpack_add_array(struct strbuf *out, size_t elements)
{
	if (elements < 16) {
		strbuf_addch(out, (char)(unsigned char)(0x90 | elements));
		return;
	}
	strbuf_addch(out, (char)(unsigned char)(elements < 65536 ? 0xdc : 0xdd));
	add_big_endian(out, elements, elements < 65536 ? 2 : 4);
}

void msgpack_add_int(struct strbuf *out, int64_t value)
{
	unsigned bytes = 0;
	uint64_t size = value < 0 ? ~(uint64_t)value << 1 : (uint64_t)value;

	if (value >= -32 && value < 128) {
		strbuf_addch(out, (char)value);
		return;
	}
	while (bytes < 3 && size >> (8u << bytes))
		bytes++;
	strbuf_addch(out, (char)(unsigned char)((value < 0 ? 0xd0 : 0xcc) + bytes));
	add_big_endian(out, (uint64_t)value, 1u << bytes);
}

void msgpack_add_text(struct strbuf *out, const char *text)
{
	size_t n = strlen(text);

	if (n < 32) {
		strbuf_addch(out, (char)(unsigned char)(0xa0 | n));
	} else {
		unsigned bytes = n < 256 ? 0 : n < 65536 ? 1 : 2;

		strbuf_addch(out, (char)(unsigned char)(0xd9 + bytes));
		add_big_endian(out, n, 1u << bytes);
	}
	strbuf_add(out, text, n);
}

/* ---- configuration -------------------------------------------------------------------------- */

/* Longer than a day is no period, nor is less than a millisecond. */
#define PERIOD_MAX 86400.0
#define PERIOD_MIN 0.001

/* "1.5" and the like: digits with a point among them, nothing else. */
static bool parse_period(const char *text, size_t n, double *ret)
{
	double v = 0, unit = 1;
	bool point = false;
	size_t digits = 0;

	if (n > 20)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9')
			return false;
		digits++;
		v = v * 10 + (text[i] - '0');
		unit *= point ? 10 : 1;
	}
	*ret = v / unit;
	return digits > 0;
}

static bool take_period(const struct msgpack_value *v, struct colmet_configuration *ret)
{
	if (v->type == MSGPACK_INT)
		ret->period_s = (double)v->i;
	else if (v->type == MSGPACK_REAL)
		ret->period_s = v->real;
	else if (v->type != MSGPACK_TEXT || !parse_period(v->text, v->n, &ret->period_s))
		return false;
	/* false for NaN */
	return ret->period_s >= PERIOD_MIN && ret->period_s <= PERIOD_MAX;
}

static bool take_metrics(const struct msgpack_value *v, struct colmet_configuration *ret)
{
	if (v->type != MSGPACK_TEXT || v->n >= sizeof(ret->metrics))
		return false;
	for (size_t i = 0; i < v->n; i++)
		if (v->text[i] < ' ' || v->text[i] > '~')
			return false;
	memcpy(ret->metrics, v->text, v->n);
	ret->metrics[v->n] = 0;
	return true;
}

static bool is_key(const char *key, size_t n, const char *name)
{
	return n == strlen(name) && !memcmp(key, name, n);
}

int colmet_read_configuration(const void *p, size_t n, struct colmet_configuration *ret,
			      struct strbuf *why)
{
	struct msgpack m = {p, (const unsigned char *)p + n};
	bool has_metrics = false, has_period = false;
	size_t pairs;

	*ret = (struct colmet_configuration){0};
	if (!msgpack_map(&m, &pairs)) {
		strbuf_addstr(why, "the configuration is not a map");
		return -EBADMSG;
	}
	for (; pairs; pairs--) {
		struct msgpack_value v;
		const char *key;
		size_t size;
		bool good = false, *seen = NULL;

		if (!msgpack_text(&m, &key, &size) || !msgpack_next(&m, &v)) {
			strbuf_addstr(why,
				      "the configuration is truncated, or a key is not a string");
			return -EBADMSG;
		}
		if (is_key(key, size, "metrics") || is_key(key, size, "perfhw_metrics")) {
			good = take_metrics(&v, ret);
			seen = &has_metrics;
		} else if (is_key(key, size, "sample_period")) {
			good = take_period(&v, ret);
			seen = &has_period;
		}
		if (!good || *seen) {
			strbuf_addstr(why, !seen  ? "unknown key in the configuration: '"
					   : good ? "the configuration has two values for '"
						  : "the configuration has no valid value for '");
			text_add_printable(why, key, size < 64 ? size : 64);
			strbuf_addch(why, '\'');
			return -EBADMSG;
		}
		*seen = true;
	}
	if (m.p != m.end) {
		strbuf_addstr(why, "the configuration is followed by other bytes");
		return -EBADMSG;
	}
	return 0;
}

void colmet_write_configuration(const struct colmet_configuration *c, struct strbuf *out)
{
	char period[32];

	msgpack_add_map(out, (size_t)(*c->metrics != 0) + (c->period_s > 0));
	if (*c->metrics) {
		msgpack_add_text(out, "metrics");
		msgpack_add_text(out, c->metrics);
	}
	if (c->period_s > 0) {
		snprintf(period, sizeof(period), "%.9g", c->period_s);
		msgpack_add_text(out, "sample_period");
		msgpack_add_text(out, period);
	}
}
