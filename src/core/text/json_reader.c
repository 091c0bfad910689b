/* JSON token by token; see json_reader.h. */
#include "core/text/json_reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/text/text.h"

#define BUFFER 65536
#define NUMBER_MAX 400

/* What may come next. */
enum { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA, WANT_NOTHING };

void json_reader_init(struct json_reader *j, int fd)
{
	*j = (struct json_reader){.fd = fd,
				  .text = STRBUF_INIT,
				  .line = 1,
				  .state = WANT_VALUE,
				  .buf = xmalloc(BUFFER)};
}

void json_reader_release(struct json_reader *j)
{
	strbuf_release(&j->text);
	free(j->buf);
	j->buf = NULL;
}

static int bad(const struct json_reader *j, struct strbuf *why, const char *what)
{
	strbuf_addf(why, "line %u: %s", j->line, what);
	return -EBADMSG;
}

/* The next byte without taking it; -1 at the end, less when the file cannot be read. */
static int peek(struct json_reader *j)
{
	if (j->begin == j->end) {
		ssize_t n;

		do
			n = read(j->fd, j->buf, BUFFER);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return n < 0 ? -1000 - errno : -1;
		j->begin = 0;
		j->end = (size_t)n;
	}
	return (unsigned char)j->buf[j->begin];
}

static void take(struct json_reader *j)
{
	if (j->buf[j->begin++] == '\n')
		j->line++;
}

static int peek_behind_blanks(struct json_reader *j)
{
	int c = peek(j);

	while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
		take(j);
		c = peek(j);
	}
	return c;
}

static void add(struct json_reader *j, const char *s, size_t n)
{
	if (j->text.len + n <= JSON_READER_TEXT_MAX)
		strbuf_add(&j->text, s, n);
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Four hexadecimal digits; -1 when they are none. */
static int take_hex(struct json_reader *j)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(j);
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return -1;
		take(j);
		v = v * 16 + digit;
	}
	return v;
}

/* Behind "\u". Two surrogates are one character; one alone, and NUL, are none that we keep. */
static bool take_unicode(struct json_reader *j)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	int high = take_hex(j), low;

	if (high < 0)
		return false;
	if (high >= 0xd800 && high < 0xdc00 && peek(j) == '\\') {
		take(j);
		if (peek(j) != 'u')
			return false;
		take(j);
		low = take_hex(j);
		if (low < 0)
			return false;
		if (low >= 0xdc00 && low < 0xe000)
			high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
		else
			high = 0xfffd;
	}
	if (!high || (high >= 0xd800 && high < 0xe000))
		high = 0xfffd;
	text_add_utf8(&out, (unsigned)high);
	add(j, out.buf, out.len);
	return true;
}

static bool take_escape(struct json_reader *j)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(j);

	if (c < 0)
		return false;
	take(j);
	if (c == 'u')
		return take_unicode(j);
	const char *p = c ? strchr(from, c) : NULL;
	if (!p)
		return false;
	add(j, &to[p - from], 1);
	return true;
}

static int take_string(struct json_reader *j, struct strbuf *why)
{
	int c;

	take(j);
	strbuf_reset(&j->text);
	while ((c = peek(j)) != '"') {
		if (c < 0)
			return c < -1 ? c + 1000 : bad(j, why, "a text has no end");
		if (c < 0x20)
			return bad(j, why, "a control character in a text");
		take(j);
		if (c == '\\') {
			if (!take_escape(j))
				return bad(j, why, "an escape that is none");
			continue;
		}
		char byte = (char)c;
		add(j, &byte, 1);
	}
	take(j);
	return 0;
}

/* ---- numbers and words ---------------------------------------------------------------------- */

/* "-0", "1", "1.5e-3", and nothing else. */
static bool is_number(const char *p)
{
	p += *p == '-';
	if (*p == '0')
		p++;
	else if (*p >= '1' && *p <= '9')
		p += strspn(p, "0123456789");
	else
		return false;
	if (*p == '.') {
		size_t n = strspn(p + 1, "0123456789");

		if (!n)
			return false;
		p += n + 1;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		size_t n = strspn(p, "0123456789");

		if (!n)
			return false;
		p += n;
	}
	return !*p;
}

/* A number, or a word without quotes. */
static int take_word(struct json_reader *j, struct strbuf *why)
{
	int c;

	strbuf_reset(&j->text);
	while ((c = peek(j)) >= 0 && strchr("+-.0123456789", c ? c : 'x') != NULL)
		if (j->text.len > NUMBER_MAX)
			return bad(j, why, "a number with too many digits");
		else {
			strbuf_addch(&j->text, (char)c);
			take(j);
			if ((c = peek(j)) == 'e' || c == 'E') {
				strbuf_addch(&j->text, (char)c);
				take(j);
			}
		}
	while ((c = peek(j)) >= 0 && j->text.len < 16 &&
	       ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
		strbuf_addch(&j->text, (char)c);
		take(j);
	}
	const char *w = j->text.buf;
	j->whole = false;
	if (!strcmp(w, "null"))
		return JSON_NONE;
	if (!strcmp(w, "true") || !strcmp(w, "false"))
		return JSON_BOOL;
	if (!strcmp(w, "NaN") || !strcmp(w, "Infinity") || !strcmp(w, "-Infinity")) {
		j->real = NAN;
		return JSON_NUMBER;
	}
	if (!is_number(w))
		return bad(j, why, c < -1 ? strerror(-1000 - c) : "no value where one is wanted");
	j->whole = parse_i64(w, &j->integer) == 0;
	j->real = j->whole ? (double)j->integer : strtod(w, NULL);
	return JSON_NUMBER;
}

/* ---- structure ------------------------------------------------------------------------------ */

static void after_value(struct json_reader *j)
{
	j->state = j->depth ? WANT_COMMA : WANT_NOTHING;
}

static int open_level(struct json_reader *j, bool object, struct strbuf *why)
{
	if (j->depth == JSON_READER_DEPTH_MAX)
		return bad(j, why, "nested too deeply");
	take(j);
	j->object[++j->depth] = object;
	j->state = object ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
	return object ? JSON_OBJECT : JSON_ARRAY;
}

static int close_level(struct json_reader *j)
{
	bool object = j->object[j->depth];

	take(j);
	j->depth--;
	after_value(j);
	return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static int take_key(struct json_reader *j, struct strbuf *why)
{
	int r = take_string(j, why);

	if (r < 0)
		return r;
	if (peek_behind_blanks(j) != ':')
		return bad(j, why, "no colon behind a key");
	take(j);
	j->state = WANT_VALUE;
	return JSON_KEY;
}

static int take_value(struct json_reader *j, int c, struct strbuf *why)
{
	if (c == '{' || c == '[')
		return open_level(j, c == '{', why);
	int r = c == '"' ? take_string(j, why) : take_word(j, why);
	if (r < 0)
		return r;
	after_value(j);
	return c == '"' ? JSON_STRING : r;
}

int json_reader_next(struct json_reader *j, struct strbuf *why)
{
	int c = peek_behind_blanks(j);

	if (c < -1) {
		strbuf_addstr(why, strerror(-1000 - c));
		return c + 1000;
	}
	if (j->state == WANT_NOTHING)
		return c == -1 ? JSON_DONE : bad(j, why, "something behind the end");
	if (c == -1)
		return bad(j, why, "the file ends too early");
	if (j->state == WANT_COMMA && c == ',') {
		take(j);
		j->state = j->object[j->depth] ? WANT_KEY : WANT_VALUE;
		c = peek_behind_blanks(j);
	} else if (j->state == WANT_COMMA || j->state == WANT_KEY_OR_END ||
		   j->state == WANT_VALUE_OR_END) {
		if (c == (j->object[j->depth] ? '}' : ']'))
			return close_level(j);
		if (j->state == WANT_COMMA)
			return bad(j, why, "no comma between two values");
	}
	if (j->state == WANT_KEY || j->state == WANT_KEY_OR_END)
		return c == '"' ? take_key(j, why) : bad(j, why, "no key where one is wanted");
	return take_value(j, c, why);
}

int json_reader_skip(struct json_reader *j, enum json_token token, struct strbuf *why)
{
	int depth = j->depth;

	if (token != JSON_OBJECT && token != JSON_ARRAY)
		return 0;
	while (j->depth >= depth) {
		int r = json_reader_next(j, why);

		if (r < 0)
			return r;
	}
	return 0;
}
