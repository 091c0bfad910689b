/* JSON token by token; see json_reader.h. */
#include "core/text/json_reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/text/text.h"

#define BUFFER 65536
#define NUMBER_MAX 65536 /* digits; more are no number that anybody wrote */

/* What may come next. */
enum { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA, WANT_NOTHING };

void json_reader_init(struct json_reader *j, int fd)
{
	json_reader_init_text(j, NULL, 0);
	j->fd = fd;
	j->buf = j->own_buf = xmalloc(BUFFER);
}

void json_reader_init_text(struct json_reader *j, const char *text, size_t n)
{
	*j = (struct json_reader){.fd = -1,
				  .text = STRBUF_INIT,
				  .line = 1,
				  .column = 1,
				  .state = WANT_VALUE,
				  .buf = text,
				  .end = n};
}

static bool exact(const struct json_reader *j)
{
	return j->fd < 0;
}

void json_reader_release(struct json_reader *j)
{
	strbuf_release(&j->text);
	free(j->own_buf);
	j->own_buf = NULL;
}

static int bad(const struct json_reader *j, struct strbuf *why, const char *what)
{
	return strbuf_fail(why, -EBADMSG, "line %u, column %u: %s", j->line, j->column, what);
}

/* The next byte without taking it; -1 at the end, -1000 - errno when the file cannot be read. */
static int peek(struct json_reader *j)
{
	if (j->begin == j->end) {
		ssize_t n;

		if (exact(j))
			return -1;
		do
			n = read(j->fd, j->own_buf, BUFFER);
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
	char c = j->buf[j->begin++];

	if (c == '\n') {
		j->line++;
		j->column = 1;
	} else if ((c & 0xc0) != 0x80) { /* bytes inside a character do not count */
		j->column++;
	}
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
	size_t left = exact(j) ? n : JSON_READER_TEXT_MAX - j->text.len;

	strbuf_add(&j->text, s, n < left ? n : left);
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Four hexadecimal digits, or -1. */
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

/* After "\u". Two surrogates make one character; one alone is an error or, like NUL, replaced. */
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
	}
	bool alone = high >= 0xd800 && high < 0xe000;
	if (alone && exact(j))
		return false;
	if (alone || (!high && !exact(j)))
		high = 0xfffd;
	if (high)
		text_add_utf8(&out, (unsigned)high);
	else
		strbuf_addch(&out, 0);
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

/* Takes what needs no second look, as far as it is in the buffer. */
static void take_plain(struct json_reader *j)
{
	size_t from = j->begin;

	while (j->begin < j->end && (unsigned char)j->buf[j->begin] >= 0x20 &&
	       j->buf[j->begin] != '"' && j->buf[j->begin] != '\\')
		take(j);
	add(j, j->buf + from, j->begin - from);
}

static int take_string(struct json_reader *j, struct strbuf *why)
{
	int c;

	take(j);
	strbuf_reset(&j->text);
	while ((c = peek(j)) != '"') {
		if (c < 0)
			return c < -1 ? c + 1000 : bad(j, why, "unterminated string");
		if (c < 0x20)
			return bad(j, why, "control character in a string");
		if (c != '\\') {
			take_plain(j);
			continue;
		}
		take(j);
		if (!take_escape(j))
			return bad(j, why, "invalid escape sequence");
	}
	if (exact(j) && !utf8_valid(j->text.buf, j->text.len))
		return bad(j, why, "invalid UTF-8 in a string");
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
			return bad(j, why, "number with too many digits");
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
	if (!exact(j) && (!strcmp(w, "NaN") || !strcmp(w, "Infinity") || !strcmp(w, "-Infinity"))) {
		j->real = NAN;
		return JSON_NUMBER;
	}
	if (!is_number(w))
		return bad(j, why, c < -1 ? strerror(-1000 - c) : "expected a value");
	j->whole = parse_i64(w, &j->integer) == 0;
	j->real = j->whole ? (double)j->integer : strtod(w, NULL);
	if (exact(j) && !j->whole && (!w[strcspn(w, ".eE")] || isinf(j->real)))
		return bad(j, why, "number out of range");
	return JSON_NUMBER;
}

/* ---- structure ------------------------------------------------------------------------------ */

static void after_value(struct json_reader *j)
{
	j->state = j->depth ? WANT_COMMA : WANT_NOTHING;
}

static int open_level(struct json_reader *j, bool object, struct strbuf *why)
{
	if (j->depth == JSON_READER_DEPTH_MAX) {
		(void)bad(j, why, "nested too deeply");
		return -E2BIG;
	}
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
	if (exact(j) && memchr(j->text.buf, 0, j->text.len))
		return bad(j, why, "NUL character in a key");
	if (peek_behind_blanks(j) != ':')
		return bad(j, why, "expected ':' after a key");
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
		return c == -1 ? JSON_DONE : bad(j, why, "unexpected text after the document");
	if (c == -1)
		return bad(j, why, "unexpected end of the document");
	if (j->state == WANT_COMMA && c == ',') {
		take(j);
		j->state = j->object[j->depth] ? WANT_KEY : WANT_VALUE;
		c = peek_behind_blanks(j);
	} else if (j->state == WANT_COMMA || j->state == WANT_KEY_OR_END ||
		   j->state == WANT_VALUE_OR_END) {
		if (c == (j->object[j->depth] ? '}' : ']'))
			return close_level(j);
		if (j->state == WANT_COMMA)
			return bad(j, why, "expected ',' or the end of the object or array");
	}
	if (j->state == WANT_KEY || j->state == WANT_KEY_OR_END)
		return c == '"' ? take_key(j, why) : bad(j, why, "expected a key");
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
