/* Escaping, quoting and formatting of text that came from outside. */
#include "core/text/text.h"

#include <stdio.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <time.h>

bool text_is_utf8(void)
{
	static bool asked;

	if (!asked)
		setlocale(LC_CTYPE, "");
	asked = true;
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

size_t utf8_sequence(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	if (!n)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	size_t len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

/* The number of leading ASCII bytes that need no escaping anywhere: no control characters, quotes
 * or backslashes. */
static size_t plain_run(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (unsigned char)(s[i] - 0x20) < 0x5f && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

bool utf8_valid(const char *s, size_t n)
{
	while (n) {
		size_t run = plain_run(s, n);

		s += run;
		n -= run;
		if (!n)
			break;
		size_t len = utf8_sequence(s, n);

		if (!len)
			return false;
		s += len;
		n -= len;
	}
	return true;
}

void text_add_utf8(struct strbuf *out, unsigned c)
{
	if (c < 0x80) {
		strbuf_addch(out, (char)c);
	} else if (c < 0x800) {
		strbuf_addch(out, (char)(0xc0 | c >> 6));
		strbuf_addch(out, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		strbuf_addch(out, (char)(0xe0 | c >> 12));
		strbuf_addch(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_addch(out, (char)(0x80 | (c & 0x3f)));
	} else {
		strbuf_addch(out, (char)(0xf0 | (c >> 18 & 7)));
		strbuf_addch(out, (char)(0x80 | (c >> 12 & 0x3f)));
		strbuf_addch(out, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_addch(out, (char)(0x80 | (c & 0x3f)));
	}
}

size_t text_width(const char *s, size_t n)
{
	size_t width = 0;

	for (; n; s++, n--)
		width += ((unsigned char)*s & 0xc0) != 0x80;
	return width;
}

/* C0 and C1 control characters and DEL. */
static bool is_control(const char *s, size_t len)
{
	unsigned char c = (unsigned char)s[0];

	return c < 0x20 || c == 0x7f || (len == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0);
}

void text_add_printable(struct strbuf *out, const char *s, size_t n)
{
	while (n) {
		size_t run = plain_run(s, n);

		strbuf_add(out, s, run);
		s += run;
		n -= run;
		if (!n)
			break;
		size_t len = utf8_sequence(s, n);
		if (len && !is_control(s, len)) {
			strbuf_add(out, s, len);
		} else {
			len = len ? len : 1;
			for (size_t i = 0; i < len; i++)
				strbuf_addf(out, "\\x%02x", (unsigned char)s[i]);
		}
		s += len;
		n -= len;
	}
}

void text_add_wrapped(struct strbuf *out, const char *text, size_t indent, size_t width)
{
	size_t column = indent;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \n"), number = strspn(p, "0123456789.,");

		if (n && n == number && p[n] == ' ') /* stays with its unit */
			n += 1 + strcspn(p + n + 1, " \n");
		size_t w = text_width(p, n);
		if (column > indent && column + 1 + w > width) {
			strbuf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent) {
			strbuf_addch(out, ' ');
			column++;
		}
		strbuf_add(out, p, n);
		column += w;
		p += n;
		p += strspn(p, " \n");
	}
}

void text_add_json(struct strbuf *out, const char *s, size_t n)
{
	static const char escapes[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	while (n) {
		size_t run = plain_run(s, n);

		strbuf_add(out, s, run);
		s += run;
		n -= run;
		if (!n)
			break;
		size_t len = utf8_sequence(s, n);
		const char *e = NULL;
		for (const char *p = escapes; *p; p += 2)
			if (*p == *s)
				e = p;
		if (!len)
			strbuf_addstr(out, "\xef\xbf\xbd");
		else if (e)
			strbuf_addf(out, "\\%c", e[1]);
		else if (len == 1)
			strbuf_addf(out, "\\u%04x", (unsigned char)*s);
		else
			strbuf_add(out, s, len);
		len = len ? len : 1;
		s += len;
		n -= len;
	}
}

void text_add_base64(struct strbuf *out, const void *data, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;

	for (; n; p += 3, n = n > 3 ? n - 3 : 0) {
		unsigned v = (unsigned)p[0] << 16 | (n > 1 ? (unsigned)p[1] << 8 : 0) |
			     (n > 2 ? p[2] : 0);
		char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
				n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '='};

		strbuf_add(out, four, 4);
	}
}

static bool harmless(const char *s)
{
	if (!*s)
		return false;
	return !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_-./:,+@%=")] &&
	       *s != '=';
}

/* In single quotes. quote: what stands for one of those; escaped: what gets a backslash. */
static void add_quoted(struct strbuf *out, const char *s, const char *quote, const char *escaped)
{
	strbuf_addch(out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			strbuf_addstr(out, quote);
		else if (strchr(escaped, *s))
			strbuf_addf(out, "\\%c", *s);
		else
			strbuf_addch(out, *s);
	}
	strbuf_addch(out, '\'');
}

void text_add_shell(struct strbuf *out, const char *s)
{
	if (harmless(s))
		strbuf_addstr(out, s);
	else
		add_quoted(out, s, "'\\''", "");
}

void text_add_csh(struct strbuf *out, const char *s)
{
	add_quoted(out, s, "'\\''", "!\n");
}

void text_add_fish(struct strbuf *out, const char *s)
{
	add_quoted(out, s, "\\'", "\\");
}

void text_add_u64(struct strbuf *out, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	strbuf_add(out, digits + n, sizeof(digits) - n);
}

void text_add_i64(struct strbuf *out, int64_t v)
{
	if (v < 0)
		strbuf_addch(out, '-');
	text_add_u64(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void text_add_csv(struct strbuf *out, const char *s, size_t n)
{
	bool quote = false;

	for (size_t i = 0; i < n && !quote; i++)
		quote = s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r';
	if (!quote) {
		strbuf_add(out, s, n);
		return;
	}
	strbuf_addch(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			strbuf_addch(out, '"');
		strbuf_addch(out, s[i]);
	}
	strbuf_addch(out, '"');
}

bool text_is_formula(const char *s, size_t n)
{
	bool digits = false;

	if (!n || !strchr("=+-@\t\r", s[0]) || !s[0])
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!s[i] || !strchr("0123456789.eE+-", s[i]))
			return true;
		digits |= s[i] >= '0' && s[i] <= '9';
	}
	/* only characters of numbers: a number, or a sum */
	const char *sign = s + 1;
	while (sign < s + n && (!strchr("+-", *sign) || strchr("eE", sign[-1])))
		sign++;
	return !digits || sign < s + n;
}

void text_add_csv_safe(struct strbuf *out, const char *s, size_t n, bool terminal)
{
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

	if (text_is_formula(s, n))
		strbuf_addch(&plain, '\'');
	if (terminal)
		text_add_printable(&plain, s, n);
	else
		strbuf_add(&plain, s, n);
	text_add_csv(out, plain.buf, plain.len);
}

void text_add_duration(struct strbuf *out, double seconds)
{
	if (seconds < 0) {
		strbuf_addch(out, '-');
		seconds = -seconds;
	}
	if (seconds == 0)
		strbuf_addstr(out, "0 s");
	else if (seconds < 0.0009995)
		strbuf_addf(out, "%.3g us", seconds * 1e6);
	else if (seconds < 0.9995)
		strbuf_addf(out, "%.3g ms", seconds * 1e3);
	else if (seconds < 99.95)
		strbuf_addf(out, "%.3g s", seconds);
	else if (seconds < 3600)
		strbuf_addf(out, "%d min %02d s", (int)(seconds / 60), (int)seconds % 60);
	else if (seconds < 86400)
		strbuf_addf(out, "%d h %02d min", (int)(seconds / 3600), (int)(seconds / 60) % 60);
	else
		strbuf_addf(out, "%lld d %02d h", (long long)(seconds / 86400),
			    (int)((long long)(seconds / 3600) % 24));
}

void text_add_bytes(struct strbuf *out, double bytes)
{
	unit_add_value(out, bytes, "bytes");
}

void text_add_real(struct strbuf *out, double v)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	strbuf_addstr(out, text);
	if (!text[strcspn(text, ".enf")])
		strbuf_addstr(out, ".0");
}
