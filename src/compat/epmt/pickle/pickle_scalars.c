/*
 * Scalars of pickles, and the three classes that are data: datetime, timezone and timedelta; see
 * pickle.h. Anything else that a pickle names is refused here.
 */
#include <errno.h>
#include <string.h>

#include "compat/epmt/pickle/pickle_reader.h"
#include "core/text/text.h"

/* ---- texts ---------------------------------------------------------------------------------- */

/* Python represents bytes that are not valid UTF-8 as the characters U+DC80 to U+DCFF; this makes
 * bytes of them again. */
static struct value *text_of(const char *s, size_t n)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		const unsigned char *p = (const unsigned char *)s + i;

		if (n - i >= 3 && p[0] == 0xed && (p[1] == 0xb2 || p[1] == 0xb3) &&
		    (p[2] & 0xc0) == 0x80) {
			strbuf_addch(&out, (char)((p[1] & 3) << 6 | (p[2] & 0x3f)));
			i += 2;
		} else {
			strbuf_addch(&out, s[i]);
		}
	}
	return value_strn(out.buf, out.len);
}

void pickle_push_text(struct reader *r, uint64_t n, int kind)
{
	const unsigned char *p = pickle_take(r, n);

	if (!p)
		return;
	struct value *v = kind == VALUE_STR ? text_of((const char *)p, (size_t)n)
					    : value_strn((const char *)p, (size_t)n);
	v->kind = (enum value_kind)kind;
	pickle_push(r, v);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static unsigned hex(const char *p, size_t n, bool *ok)
{
	unsigned v = 0;

	for (size_t i = 0; i < n; i++) {
		int d = hex_digit(p[i]);

		*ok &= d >= 0;
		v = v << 4 | (unsigned)(d & 15);
	}
	return v;
}

/* STRING of protocol 0: a quoted literal with the escapes of Python's repr(). */
void pickle_push_quoted(struct reader *r)
{
	static const char plain[] = "\\\\''\"\"n\nr\rt\tb\bf\fv\va\a0\0";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t n;
	const char *p = pickle_line(r, &n);

	if (!p)
		return;
	if (n < 2 || (p[0] != '\'' && p[0] != '"') || p[n - 1] != p[0]) {
		pickle_fail(r, EBADMSG, "a string without quotes");
		return;
	}
	bool ok = true;
	for (size_t i = 1; i < n - 1 && ok; i++) {
		if (p[i] != '\\') {
			strbuf_addch(&out, p[i]);
			continue;
		}
		i++;
		if (p[i] == 'x' && i + 2 < n - 1) {
			strbuf_addch(&out, (char)hex(p + i + 1, 2, &ok));
			i += 2;
			continue;
		}
		const char *e = memchr(plain, p[i], sizeof(plain) - 1);
		/* escapes come in pairs: letter, meaning */
		ok = i < n - 1 && e && (e - plain) % 2 == 0;
		if (ok)
			strbuf_addch(&out, e[1]);
	}
	if (!ok) {
		pickle_fail(r, EBADMSG, "unknown escape sequence");
		return;
	}
	pickle_push(r, value_strn(out.buf, out.len));
}

/* UNICODE of protocol 0: Latin-1 with \uXXXX and \UXXXXXXXX. */
void pickle_push_raw_unicode(struct reader *r)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t n;
	const char *p = pickle_line(r, &n);
	bool ok = true;

	if (!p)
		return;
	for (size_t i = 0; i < n && ok; i++) {
		size_t digits = p[i] == '\\' && i + 1 < n ? (p[i + 1] == 'u' ? 4u : 8u) : 0u;

		if (digits && (p[i + 1] == 'u' || p[i + 1] == 'U') && i + 1 + digits < n) {
			unsigned c = hex(p + i + 2, digits, &ok);

			ok &= c < 0x110000;
			if (ok)
				text_add_utf8(&out, c);
			i += 1 + digits;
		} else {
			text_add_utf8(&out, (unsigned char)p[i]);
		}
	}
	if (!ok) {
		pickle_fail(r, EBADMSG, "invalid character");
		return;
	}
	pickle_push(r, value_strn(out.buf, out.len));
}

/* ---- numbers -------------------------------------------------------------------------------- */

void pickle_push_decimal(struct reader *r, uint64_t none PL_UNUSED, int booleans)
{
	size_t n;
	const char *p = pickle_line(r, &n);
	char text[32];
	int64_t v;

	if (!p)
		return;
	if (booleans && n == 2 && p[0] == '0' && (p[1] == '0' || p[1] == '1')) {
		pickle_push(r, value_bool(p[1] == '1'));
		return;
	}
	if (n && p[n - 1] == 'L')
		n--;
	if (n >= sizeof(text)) {
		pickle_fail(r, EBADMSG, "a number is too large");
		return;
	}
	memcpy(text, p, n);
	text[n] = 0;
	if (parse_i64(text, &v) < 0)
		pickle_fail(r, EBADMSG, "invalid number");
	else
		pickle_push(r, value_int(v));
}

/* LONG1 and LONG4: little endian, two's complement. */
void pickle_push_long(struct reader *r, uint64_t bytes, int arg PL_UNUSED)
{
	const unsigned char *p = pickle_take(r, bytes);

	if (!p)
		return;
	if (bytes > 8) {
		pickle_fail(r, EBADMSG, "a number is too large");
		return;
	}
	uint64_t v = bytes && p[bytes - 1] & 0x80 ? ~0ull : 0;
	for (size_t i = 0; i < bytes; i++)
		v = (v & ~(0xffull << (8 * i))) | (uint64_t)p[i] << (8 * i);
	pickle_push(r, value_int((int64_t)v));
}

static void push_real(struct reader *r, double d)
{
	struct value *v = value_new(VALUE_REAL);

	v->real = d;
	pickle_push(r, v);
}

void pickle_push_float_line(struct reader *r)
{
	size_t n;
	const char *p = pickle_line(r, &n);
	char text[64], *end;

	if (!p)
		return;
	if (!n || n >= sizeof(text)) {
		pickle_fail(r, EBADMSG, "invalid number");
		return;
	}
	memcpy(text, p, n);
	text[n] = 0;
	double d = strtod(text, &end);
	if (*end)
		pickle_fail(r, EBADMSG, "invalid number");
	else
		push_real(r, d);
}

void pickle_push_float_binary(struct reader *r)
{
	const unsigned char *p = pickle_take(r, 8);
	uint64_t bits = 0;
	double d;

	if (!p)
		return;
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | p[i];
	memcpy(&d, &bits, sizeof(d));
	push_real(r, d);
}

/* ---- the three classes ---------------------------------------------------------------------- */

static void push_global(struct reader *r, const char *module, size_t m, const char *name, size_t n)
{
	static const struct {
		const char *module, *name;
		enum callable call;
	} known[] = {
		{"datetime", "datetime", CALL_DATETIME},
		{"datetime", "timezone", CALL_TIMEZONE},
		{"datetime", "timedelta", CALL_TIMEDELTA},
		/* how Python 3 writes bytes into protocols 0 to 2: encode(text, "latin1") */
		{"_codecs", "encode", CALL_ENCODE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].module) == m && !memcmp(known[i].module, module, m) &&
		    strlen(known[i].name) == n && !memcmp(known[i].name, name, n)) {
			pickle_push_item(r, (struct item){.call = known[i].call});
			return;
		}
	_cleanup_strbuf_ struct strbuf what = STRBUF_INIT;
	text_add_printable(&what, module, m < 64 ? m : 64);
	strbuf_addch(&what, '.');
	text_add_printable(&what, name, n < 64 ? n : 64);
	pickle_fail(r, EPERM, "asks for %s, which is not data; refused", what.buf);
}

void pickle_stack_global(struct reader *r)
{
	_cleanup_value_ struct value *name = pickle_pop(r);
	_cleanup_value_ struct value *module = name ? pickle_pop(r) : NULL;

	if (!module)
		return;
	if (name->kind != VALUE_STR || module->kind != VALUE_STR)
		pickle_fail(r, EBADMSG, "a class without a name");
	else
		push_global(r, module->str.data, module->str.size, name->str.data, name->str.size);
}

static int64_t int_argument(const struct value *args, size_t i)
{
	return i < args->list.count && args->list.items[i]->kind == VALUE_INT
		       ? args->list.items[i]->integer
		       : 0;
}

static struct value *make_datetime(const struct value *args)
{
	const struct value *state = args->list.count ? args->list.items[0] : NULL;

	if (!state || (state->kind != VALUE_BYTES && state->kind != VALUE_STR) ||
	    state->str.size != 10)
		return NULL;
	const unsigned char *b = (const unsigned char *)state->str.data;
	struct value *v = value_new(VALUE_TIME);
	/* Python sets the top bit of the month in a repeated hour */
	v->time = (struct value_time){b[0] << 8 | b[1],
				      b[2] & 0x7f,
				      b[3],
				      b[4],
				      b[5],
				      b[6],
				      b[7] << 16 | b[8] << 8 | b[9],
				      false,
				      0};
	if (args->list.count > 1 && args->list.items[1]->kind == VALUE_ZONE) {
		v->time.has_zone = true;
		v->time.offset_s = (int)args->list.items[1]->integer;
	}
	const struct value_time *t = &v->time;
	if (t->year < 1 || t->year > 9999 || t->month < 1 || t->month > 12 || t->day < 1 ||
	    t->day > 31 || t->hour > 23 || t->minute > 59 || t->second > 59 ||
	    t->microsecond > 999999) {
		value_free(v);
		return NULL;
	}
	return v;
}

static struct value *make_timedelta(const struct value *args)
{
	int64_t days = int_argument(args, 0), seconds = int_argument(args, 1);
	struct value *v;

	if (days > 999999 || days < -999999 || seconds > 86400 || seconds < -86400)
		return NULL;
	v = value_new(VALUE_DELTA);
	v->integer = (days * 86400 + seconds) * 1000000 + int_argument(args, 2) % 1000000;
	return v;
}

static struct value *make_timezone(const struct value *args)
{
	const struct value *delta = args->list.count ? args->list.items[0] : NULL;
	struct value *v;

	if (!delta || delta->kind != VALUE_DELTA || delta->integer > 86400000000 ||
	    delta->integer < -86400000000)
		return NULL;
	v = value_new(VALUE_ZONE);
	v->integer = delta->integer / 1000000;
	return v;
}

/* Text whose characters are all below 256, as bytes. */
static struct value *make_latin1(const struct value *args)
{
	const struct value *text = args->list.count ? args->list.items[0] : NULL;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	const struct value *codec = args->list.count > 1 ? args->list.items[1] : NULL;
	if (!text || text->kind != VALUE_STR || !codec || codec->kind != VALUE_STR ||
	    strcmp(codec->str.data, "latin1") != 0)
		return NULL;
	for (size_t i = 0; i < text->str.size; i++) {
		unsigned char c = (unsigned char)text->str.data[i];

		if (c >= 0x80) {
			if (c > 0xc3 || i + 1 >= text->str.size)
				return NULL;
			c = (unsigned char)(c << 6 | ((unsigned char)text->str.data[++i] & 0x3f));
		}
		strbuf_addch(&out, (char)c);
	}
	struct value *v = value_strn(out.buf, out.len);
	v->kind = VALUE_BYTES;
	return v;
}

void pickle_reduce(struct reader *r)
{
	_cleanup_value_ struct value *args = pickle_pop(r);

	if (!args)
		return;
	if (args->kind != VALUE_TUPLE || !r->depth || !r->stack[r->depth - 1].call) {
		pickle_fail(r, EPERM, "asks for a call that is not data; refused");
		return;
	}
	struct value *v = NULL;
	switch (r->stack[--r->depth].call) {
	case CALL_DATETIME:
		v = make_datetime(args);
		break;
	case CALL_TIMEZONE:
		v = make_timezone(args);
		break;
	case CALL_TIMEDELTA:
		v = make_timedelta(args);
		break;
	case CALL_ENCODE:
		v = make_latin1(args);
		break;
	case CALL_NONE:
		break;
	}
	if (v)
		pickle_push(r, v);
	else
		pickle_fail(r, EBADMSG, "invalid date, time zone or string");
}

void pickle_global_line(struct reader *r)
{
	size_t m, n;
	const char *module = pickle_line(r, &m);
	const char *name = module ? pickle_line(r, &n) : NULL;

	if (name)
		push_global(r, module, m, name, n);
}
