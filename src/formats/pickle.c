/*
 * A reader of pickles that is no virtual machine for them: see pickle.h. The stack and the memo hold
 * references to values. A value that was put into another one may not grow any more, so that no
 * structure can contain itself, and every value knows how large it is when written out, so that none
 * can be a bomb.
 */
#include "formats/pickle.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

#define STACK_MAX 65536
#define MEMO_MAX 262144

/* What a GLOBAL names: a callable that we know the meaning of. */
enum callable { CALL_NONE, CALL_DATETIME, CALL_TIMEZONE, CALL_TIMEDELTA, CALL_ENCODE };

struct item {
	struct value *value; /* NULL for a mark or a callable */
	enum callable call;
	bool mark;
};

struct reader {
	const unsigned char *begin, *p, *end;
	const unsigned char *opcode; /* of the instruction being read */
	struct item *stack;
	size_t depth, cap;
	struct item *memo;
	size_t memo_size, memo_cap, memo_next;
	size_t nodes;
	struct strbuf *why;
	int error;
};

static int fail(struct reader *r, int error, const char *fmt, ...) PL_PRINTF(3, 4);
static int fail(struct reader *r, int error, const char *fmt, ...)
{
	va_list ap;

	if (r->error)
		return r->error;
	r->error = -error;
	if (r->why) {
		strbuf_addf(r->why, "byte %zu: ", (size_t)(r->opcode - r->begin));
		va_start(ap, fmt);
		strbuf_vaddf(r->why, fmt, ap);
		va_end(ap);
	}
	return -error;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static const unsigned char *take(struct reader *r, uint64_t n)
{
	if (n > (uint64_t)(r->end - r->p)) {
		fail(r, EBADMSG, "the file ends within a value");
		return NULL;
	}
	const unsigned char *p = r->p;
	r->p += n;
	return p;
}

static uint64_t take_number(struct reader *r, size_t bytes)
{
	const unsigned char *p = take(r, bytes);
	uint64_t v = 0;

	for (size_t i = 0; p && i < bytes; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

/* The rest of the line, without the newline. */
static const char *take_line(struct reader *r, size_t *ret_n)
{
	const unsigned char *nl = memchr(r->p, '\n', (size_t)(r->end - r->p));

	if (!nl) {
		fail(r, EBADMSG, "a line without end");
		*ret_n = 0;
		return NULL;
	}
	const char *line = (const char *)r->p;
	*ret_n = (size_t)(nl - r->p);
	r->p = nl + 1;
	return line;
}

/* ---- stack and memo ----------------------------------------------------------------------- */

static void push_item(struct reader *r, struct item item)
{
	if (r->depth >= STACK_MAX) {
		value_free(item.value);
		fail(r, E2BIG, "more than %d values on the stack", STACK_MAX);
		return;
	}
	GROW(r->stack, r->depth, r->cap);
	r->stack[r->depth++] = item;
}

static void push(struct reader *r, struct value *v)
{
	if (++r->nodes > VALUE_NODES_MAX) {
		value_free(v);
		fail(r, E2BIG, "more than %d values", VALUE_NODES_MAX);
		return;
	}
	push_item(r, (struct item){.value = v});
}

/* The value on top, now the caller's; NULL when there is none. */
static struct value *pop(struct reader *r)
{
	if (!r->depth || !r->stack[r->depth - 1].value) {
		fail(r, EBADMSG, "a value is missing");
		return NULL;
	}
	return r->stack[--r->depth].value;
}

static struct value *top(struct reader *r, enum value_kind kind)
{
	struct value *v = r->depth ? r->stack[r->depth - 1].value : NULL;

	if (!v || v->kind != kind) {
		fail(r, EBADMSG, "a container is missing");
		return NULL;
	}
	return v;
}

/* Index of the item behind the topmost mark. */
static bool find_mark(struct reader *r, size_t *ret)
{
	for (size_t i = r->depth; i > 0; i--)
		if (r->stack[i - 1].mark) {
			*ret = i;
			return true;
		}
	fail(r, EBADMSG, "a mark is missing");
	return false;
}

static void memo_put(struct reader *r, uint64_t at)
{
	if (!r->depth || r->stack[r->depth - 1].mark) {
		fail(r, EBADMSG, "nothing to remember");
		return;
	}
	if (at >= MEMO_MAX) {
		fail(r, E2BIG, "more than %d remembered values", MEMO_MAX);
		return;
	}
	while (r->memo_size <= at) {
		GROW(r->memo, r->memo_size, r->memo_cap);
		r->memo[r->memo_size++] = (struct item){0};
	}
	struct item *item = &r->stack[r->depth - 1];
	if (r->memo[at].value)
		value_free(r->memo[at].value);
	r->memo[at] = *item;
	if (item->value)
		value_ref(item->value);
}

static void memo_get(struct reader *r, uint64_t at)
{
	if (at >= r->memo_size || (!r->memo[at].value && !r->memo[at].call)) {
		fail(r, EBADMSG, "value %llu was never remembered", (unsigned long long)at);
		return;
	}
	struct item item = r->memo[at];
	if (item.value)
		value_ref(item.value);
	push_item(r, item);
}

/* ---- containers --------------------------------------------------------------------------------- */

/* Books that item goes into container; false when that is more than we accept. */
static bool enclose(struct reader *r, struct value *container, struct value *item)
{
	if (container->sealed || container == item)
		return fail(r, EPERM, "a structure that contains itself") == 0;
	uint64_t weight = (uint64_t)container->weight + item->weight;
	if (weight > VALUE_NODES_MAX)
		return fail(r, E2BIG, "more than %d values when written out", VALUE_NODES_MAX) == 0;
	if (item->depth + 1 > VALUE_DEPTH_MAX)
		return fail(r, E2BIG, "nested deeper than %d", VALUE_DEPTH_MAX) == 0;
	container->weight = (uint32_t)weight;
	if (item->depth + 1 > container->depth)
		container->depth = (uint8_t)(item->depth + 1);
	item->sealed = true;
	return true;
}

static void append(struct reader *r, struct value *list, struct value *item)
{
	if (item && !r->error && enclose(r, list, item))
		value_append(list, item);
	else
		value_free(item);
}

static void set(struct reader *r, struct value *dict, struct value *key, struct value *v)
{
	bool ok = !r->error && key && v;

	if (ok && value_pairs(dict) >= VALUE_PAIRS_MAX)
		ok = fail(r, E2BIG, "more than %d keys in one dict", VALUE_PAIRS_MAX) == 0;
	if (ok && key->kind >= VALUE_LIST)
		ok = fail(r, EBADMSG, "a key that is a container") == 0;
	if (ok && enclose(r, dict, key) && enclose(r, dict, v)) {
		value_set_take(dict, key, v);
		return;
	}
	value_free(key);
	value_free(v);
}

/* All values from a place on the stack, in order, into a container; the stack ends there. */
static void gather(struct reader *r, size_t from, struct value *container)
{
	size_t end = r->depth;

	for (size_t i = from; i < end; i++)
		if (!r->stack[i].value)
			fail(r, EBADMSG, "a value is missing");
	if (container->kind == VALUE_DICT && (end - from) % 2)
		fail(r, EBADMSG, "a key without value");
	for (size_t i = from; i < end; i++) {
		struct value *v = r->stack[i].value;

		if (container->kind != VALUE_DICT) {
			append(r, container, v);
		} else if (i + 1 < end) {
			set(r, container, v, r->stack[i + 1].value);
			i++;
		} else {
			value_free(v);
		}
	}
	r->depth = from;
}

static void build(struct reader *r, enum value_kind kind, size_t from)
{
	struct value *v = value_new(kind);

	gather(r, from, v);
	push(r, v);
}

/* From the mark to the top, with the mark gone. */
static void build_from_mark(struct reader *r, enum value_kind kind)
{
	size_t from;

	if (!find_mark(r, &from))
		return;
	struct value *v = value_new(kind);
	gather(r, from, v);
	r->depth = from - 1;
	push(r, v);
}

static void extend_from_mark(struct reader *r, enum value_kind kind)
{
	size_t from;

	if (!find_mark(r, &from))
		return;
	struct value *v = from >= 2 ? r->stack[from - 2].value : NULL;
	if (!v || v->kind != kind) {
		fail(r, EBADMSG, "a container is missing");
		return;
	}
	gather(r, from, v);
	r->depth = from - 1;
}

/* ---- texts --------------------------------------------------------------------------------------- */

static void push_text(struct reader *r, enum value_kind kind, uint64_t n)
{
	const unsigned char *p = take(r, n);

	if (!p)
		return;
	struct value *v = value_strn((const char *)p, (size_t)n);
	v->kind = kind;
	push(r, v);
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
static void push_quoted(struct reader *r)
{
	static const char plain[] = "\\\\''\"\"n\nr\rt\tb\bf\fv\va\a0\0";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t n;
	const char *p = take_line(r, &n);

	if (!p)
		return;
	if (n < 2 || (p[0] != '\'' && p[0] != '"') || p[n - 1] != p[0]) {
		fail(r, EBADMSG, "a text without quotes");
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
		fail(r, EBADMSG, "an escape that is not known");
		return;
	}
	push(r, value_strn(out.buf, out.len));
}

/* UNICODE of protocol 0: Latin-1 with \uXXXX and \UXXXXXXXX. */
static void push_raw_unicode(struct reader *r)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t n;
	const char *p = take_line(r, &n);
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
		fail(r, EBADMSG, "a character that is none");
		return;
	}
	push(r, value_strn(out.buf, out.len));
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void push_decimal(struct reader *r, bool booleans)
{
	size_t n;
	const char *p = take_line(r, &n);
	char text[32];
	int64_t v;

	if (!p)
		return;
	if (booleans && n == 2 && p[0] == '0' && (p[1] == '0' || p[1] == '1')) {
		push(r, value_bool(p[1] == '1'));
		return;
	}
	if (n && p[n - 1] == 'L')
		n--;
	if (n >= sizeof(text)) {
		fail(r, EBADMSG, "a number that is too large");
		return;
	}
	memcpy(text, p, n);
	text[n] = 0;
	if (parse_i64(text, &v) < 0)
		fail(r, EBADMSG, "a number that is none");
	else
		push(r, value_int(v));
}

/* LONG1 and LONG4: little endian, two's complement. */
static void push_long(struct reader *r, uint64_t bytes)
{
	const unsigned char *p = take(r, bytes);

	if (!p)
		return;
	if (bytes > 8) {
		fail(r, EBADMSG, "a number that is too large");
		return;
	}
	uint64_t v = bytes && p[bytes - 1] & 0x80 ? ~0ull : 0;
	for (size_t i = 0; i < bytes; i++)
		v = (v & ~(0xffull << (8 * i))) | (uint64_t)p[i] << (8 * i);
	push(r, value_int((int64_t)v));
}

static void push_real(struct reader *r, double d)
{
	struct value *v = value_new(VALUE_REAL);

	v->real = d;
	push(r, v);
}

static void push_float_line(struct reader *r)
{
	size_t n;
	const char *p = take_line(r, &n);
	char text[64], *end;

	if (!p)
		return;
	if (!n || n >= sizeof(text)) {
		fail(r, EBADMSG, "a number that is none");
		return;
	}
	memcpy(text, p, n);
	text[n] = 0;
	double d = strtod(text, &end);
	if (*end)
		fail(r, EBADMSG, "a number that is none");
	else
		push_real(r, d);
}

static void push_float_binary(struct reader *r)
{
	const unsigned char *p = take(r, 8);
	uint64_t bits = 0;
	double d;

	if (!p)
		return;
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | p[i];
	memcpy(&d, &bits, sizeof(d));
	push_real(r, d);
}

/* ---- the three classes ------------------------------------------------------------------------- */

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
			push_item(r, (struct item){.call = known[i].call});
			return;
		}
	_cleanup_strbuf_ struct strbuf what = STRBUF_INIT;
	text_add_printable(&what, module, m < 64 ? m : 64);
	strbuf_addch(&what, '.');
	text_add_printable(&what, name, n < 64 ? n : 64);
	fail(r, EPERM, "asks for %s, which is not data; refused", what.buf);
}

static void push_stack_global(struct reader *r)
{
	_cleanup_value_ struct value *name = pop(r);
	_cleanup_value_ struct value *module = name ? pop(r) : NULL;

	if (!module)
		return;
	if (name->kind != VALUE_STR || module->kind != VALUE_STR)
		fail(r, EBADMSG, "a class without a name");
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
	/* the top bit of the month is Python's mark for a repeated hour */
	v->time = (struct value_time){b[0] << 8 | b[1], b[2] & 0x7f, b[3], b[4], b[5], b[6],
				      b[7] << 16 | b[8] << 8 | b[9], false, 0};
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

	if (!text || text->kind != VALUE_STR)
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

static void reduce(struct reader *r)
{
	_cleanup_value_ struct value *args = pop(r);

	if (!args)
		return;
	if (args->kind != VALUE_TUPLE || !r->depth || !r->stack[r->depth - 1].call) {
		fail(r, EPERM, "asks for a call that is not data; refused");
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
		push(r, v);
	else
		fail(r, EBADMSG, "a date, zone or text that is none");
}

/* ---- instructions -------------------------------------------------------------------------------- */

static void pop_discard(struct reader *r)
{
	if (!r->depth) {
		fail(r, EBADMSG, "a value is missing");
		return;
	}
	value_free(r->stack[--r->depth].value);
}

static void pop_to_mark(struct reader *r)
{
	size_t from;

	if (!find_mark(r, &from))
		return;
	while (r->depth >= from)
		pop_discard(r);
}

static void global_line(struct reader *r)
{
	size_t m, n;
	const char *module = take_line(r, &m);
	const char *name = module ? take_line(r, &n) : NULL;

	if (name)
		push_global(r, module, m, name, n);
}

static uint64_t decimal_index(struct reader *r)
{
	size_t n;
	const char *p = take_line(r, &n);
	uint64_t v = 0;

	for (size_t i = 0; p && i < n; i++) {
		if (p[i] < '0' || p[i] > '9' || v > MEMO_MAX)
			return UINT64_MAX;
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	return v;
}

static void append_one(struct reader *r)
{
	struct value *item = pop(r);
	struct value *list = item ? top(r, VALUE_LIST) : NULL;

	if (list)
		append(r, list, item);
	else
		value_free(item);
}

static void set_one(struct reader *r)
{
	struct value *v = pop(r);
	struct value *key = v ? pop(r) : NULL;
	struct value *dict = key ? top(r, VALUE_DICT) : NULL;

	if (dict) {
		set(r, dict, key, v);
	} else {
		value_free(key);
		value_free(v);
	}
}

static void tuple_of(struct reader *r, size_t n)
{
	if (r->depth < n)
		fail(r, EBADMSG, "a value is missing");
	else
		build(r, VALUE_TUPLE, r->depth - n);
}

static void duplicate(struct reader *r)
{
	if (!r->depth || !r->stack[r->depth - 1].value)
		fail(r, EBADMSG, "a value is missing");
	else
		push(r, value_ref(r->stack[r->depth - 1].value));
}

/* Constants and containers; false when it is another kind of instruction. */
static bool step_value(struct reader *r, unsigned char op)
{
	switch (op) {
	case 'N':
		push(r, value_new(VALUE_NONE));
		return true;
	case 0x88:
	case 0x89:
		push(r, value_bool(op == 0x88));
		return true;
	case 'I':
	case 'L':
		push_decimal(r, op == 'I');
		return true;
	case 'J':
		push(r, value_int((int32_t)(uint32_t)take_number(r, 4)));
		return true;
	case 'K':
		push(r, value_int((int64_t)take_number(r, 1)));
		return true;
	case 'M':
		push(r, value_int((int64_t)take_number(r, 2)));
		return true;
	case 0x8a:
		push_long(r, take_number(r, 1));
		return true;
	case 0x8b:
		push_long(r, take_number(r, 4));
		return true;
	case 'F':
		push_float_line(r);
		return true;
	case 'G':
		push_float_binary(r);
		return true;
	case 'S':
		push_quoted(r);
		return true;
	case 'V':
		push_raw_unicode(r);
		return true;
	case 'U':
	case 0x8c:
		push_text(r, VALUE_STR, take_number(r, 1));
		return true;
	case 'T':
	case 'X':
		push_text(r, VALUE_STR, take_number(r, 4));
		return true;
	case 0x8d:
		push_text(r, VALUE_STR, take_number(r, 8));
		return true;
	case 'C':
		push_text(r, VALUE_BYTES, take_number(r, 1));
		return true;
	case 'B':
		push_text(r, VALUE_BYTES, take_number(r, 4));
		return true;
	case 0x8e:
	case 0x96:
		push_text(r, VALUE_BYTES, take_number(r, 8));
		return true;
	case ')':
		push(r, value_new(VALUE_TUPLE));
		return true;
	case ']':
	case 0x8f: /* sets become lists */
		push(r, value_new(VALUE_LIST));
		return true;
	case '}':
		push(r, value_new(VALUE_DICT));
		return true;
	default:
		return false;
	}
}

/* What works on the stack and the memo; false when it is none of these either. */
static bool step_stack(struct reader *r, unsigned char op)
{
	switch (op) {
	case '(':
		push_item(r, (struct item){.mark = true});
		return true;
	case '0':
		pop_discard(r);
		return true;
	case '1':
		pop_to_mark(r);
		return true;
	case '2':
		duplicate(r);
		return true;
	case 'p':
		memo_put(r, decimal_index(r));
		return true;
	case 'q':
		memo_put(r, take_number(r, 1));
		return true;
	case 'r':
		memo_put(r, take_number(r, 4));
		return true;
	case 0x94:
		memo_put(r, r->memo_next++);
		return true;
	case 'g':
		memo_get(r, decimal_index(r));
		return true;
	case 'h':
		memo_get(r, take_number(r, 1));
		return true;
	case 'j':
		memo_get(r, take_number(r, 4));
		return true;
	case 'c':
		global_line(r);
		return true;
	case 0x93:
		push_stack_global(r);
		return true;
	case 'R':
		reduce(r);
		return true;
	default:
		return false;
	}
}

static bool step_build(struct reader *r, unsigned char op)
{
	switch (op) {
	case 't':
		build_from_mark(r, VALUE_TUPLE);
		return true;
	case 0x85:
	case 0x86:
	case 0x87:
		tuple_of(r, op - 0x84u);
		return true;
	case 'l':
	case 0x91: /* frozenset */
		build_from_mark(r, VALUE_LIST);
		return true;
	case 'd':
		build_from_mark(r, VALUE_DICT);
		return true;
	case 'a':
		append_one(r);
		return true;
	case 'e':
	case 0x90: /* items of a set */
		extend_from_mark(r, VALUE_LIST);
		return true;
	case 's':
		set_one(r);
		return true;
	case 'u':
		extend_from_mark(r, VALUE_DICT);
		return true;
	default:
		return false;
	}
}

/* Protocol marks; 1 at the end of the pickle. */
static int step_frame(struct reader *r, unsigned char op)
{
	switch (op) {
	case 0x80:
		if (take_number(r, 1) > 5)
			fail(r, EPERM, "a protocol newer than 5");
		return 0;
	case 0x95:
		(void)take_number(r, 8);
		return 0;
	case '.':
		return 1;
	default:
		fail(r, EPERM, "instruction 0x%02x asks for more than data; refused", op);
		return 0;
	}
}

static int run(struct reader *r)
{
	while (!r->error) {
		r->opcode = r->p;
		if (r->p >= r->end)
			return fail(r, EBADMSG, "the file ends before the pickle does");
		unsigned char op = *r->p++;
		if (step_value(r, op) || step_stack(r, op) || step_build(r, op))
			continue;
		if (step_frame(r, op) == 1)
			return r->error;
	}
	return r->error;
}

int pickle_read(const void *data, size_t n, struct value **ret, struct strbuf *why)
{
	struct reader r = {.begin = data, .p = data, .end = (const unsigned char *)data + n, .why = why};
	struct value *v = NULL;

	r.opcode = r.begin;
	int e = run(&r);
	if (e == 0)
		v = pop(&r);
	if (e == 0 && !v)
		e = r.error;
	while (r.depth)
		value_free(r.stack[--r.depth].value);
	for (size_t i = 0; i < r.memo_size; i++)
		value_free(r.memo[i].value);
	free(r.stack);
	free(r.memo);
	if (e < 0) {
		value_free(v);
		return e;
	}
	*ret = v;
	return 0;
}
