/* Writes pickles: protocol 3, without a memo; see pickle.h. */
#include "compat/epmt/pickle/pickle.h"

#include <string.h>

#include "core/text/text.h"

static void put_le(struct strbuf *out, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		strbuf_addch(out, (char)(v >> (8 * i)));
}

static void write_int(struct strbuf *out, int64_t v)
{
	if (v >= 0 && v < 256) {
		strbuf_addch(out, 'K');
		put_le(out, (uint64_t)v, 1);
	} else if (v >= INT32_MIN && v <= INT32_MAX) {
		strbuf_addch(out, 'J');
		put_le(out, (uint64_t)v, 4);
	} else {
		strbuf_addstr(out, "\x8a\x08");
		put_le(out, (uint64_t)v, 8);
	}
}

/* Python text must be UTF-8; other bytes are escaped as by os.fsdecode(). */
static void write_text(struct strbuf *out, const char *s, size_t n)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < n;) {
		size_t len = utf8_sequence(s + i, n - i);

		if (len)
			strbuf_add(&text, s + i, len);
		else
			text_add_utf8(&text, 0xdc00u + (unsigned char)s[i]);
		i += len ? len : 1;
	}
	strbuf_addch(out, 'X');
	put_le(out, text.len, 4);
	strbuf_add(out, text.buf, text.len);
}

static void write_delta(struct strbuf *out, int64_t us)
{
	int64_t days = us / 86400000000, rest = us % 86400000000;

	if (rest < 0) {
		rest += 86400000000;
		days--;
	}
	strbuf_addstr(out, "cdatetime\ntimedelta\n");
	write_int(out, days);
	write_int(out, rest / 1000000);
	write_int(out, rest % 1000000);
	strbuf_addstr(out, "\x87R");
}

static void write_zone(struct strbuf *out, int64_t seconds)
{
	strbuf_addstr(out, "cdatetime\ntimezone\n");
	write_delta(out, seconds * 1000000);
	strbuf_addstr(out, "\x85R");
}

static void write_time(struct strbuf *out, const struct value_time *t)
{
	strbuf_addstr(out, "cdatetime\ndatetime\nC\x0a");
	strbuf_addch(out, (char)(t->year >> 8));
	strbuf_addch(out, (char)t->year);
	strbuf_addch(out, (char)t->month);
	strbuf_addch(out, (char)t->day);
	strbuf_addch(out, (char)t->hour);
	strbuf_addch(out, (char)t->minute);
	strbuf_addch(out, (char)t->second);
	strbuf_addch(out, (char)(t->microsecond >> 16));
	strbuf_addch(out, (char)(t->microsecond >> 8));
	strbuf_addch(out, (char)t->microsecond);
	if (t->has_zone)
		write_zone(out, t->offset_s);
	strbuf_addstr(out, t->has_zone ? "\x86R" : "\x85R");
}

static void write_items(const struct value *v, struct strbuf *out);

static void write_value(const struct value *v, struct strbuf *out)
{
	uint64_t bits;

	switch (v->kind) {
	case VALUE_NONE:
		strbuf_addch(out, 'N');
		break;
	case VALUE_BOOL:
		strbuf_addch(out, v->boolean ? '\x88' : '\x89');
		break;
	case VALUE_INT:
		write_int(out, v->integer);
		break;
	case VALUE_REAL:
		memcpy(&bits, &v->real, sizeof(bits));
		strbuf_addch(out, 'G');
		for (int i = 7; i >= 0; i--)
			strbuf_addch(out, (char)(bits >> (8 * i)));
		break;
	case VALUE_STR:
		write_text(out, v->str.data, v->str.size);
		break;
	case VALUE_BYTES:
		strbuf_addch(out, 'B');
		put_le(out, v->str.size, 4);
		strbuf_add(out, v->str.data, v->str.size);
		break;
	case VALUE_TIME:
		write_time(out, &v->time);
		break;
	case VALUE_DELTA:
		write_delta(out, v->integer);
		break;
	case VALUE_ZONE:
		write_zone(out, v->integer);
		break;
	case VALUE_LIST:
	case VALUE_TUPLE:
	case VALUE_DICT:
		write_items(v, out);
		break;
	}
}

static void write_items(const struct value *v, struct strbuf *out)
{
	static const char *const begin[] = {
		[VALUE_LIST] = "](", [VALUE_TUPLE] = "(", [VALUE_DICT] = "}("};
	static const char *const end[] = {
		[VALUE_LIST] = "e", [VALUE_TUPLE] = "t", [VALUE_DICT] = "u"};

	strbuf_addstr(out, begin[v->kind]);
	for (size_t i = 0; i < v->list.count; i++)
		write_value(v->list.items[i], out);
	strbuf_addstr(out, end[v->kind]);
}

void pickle_write(const struct value *v, struct strbuf *out)
{
	strbuf_addstr(out, "\x80\x03");
	write_value(v, out);
	strbuf_addch(out, '.');
}
