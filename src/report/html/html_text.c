/* Text in pages; see html_text.h. */
#include "report/html/html_text.h"

#include <string.h>

#include "core/text/text.h"

/* Marks that change the direction of text, or are invisible. */
static unsigned hidden(const char *s, size_t n)
{
	unsigned c = 0;

	if (n == 2)
		c = ((unsigned)s[0] & 0x1f) << 6 | ((unsigned)s[1] & 0x3f);
	else if (n == 3)
		c = ((unsigned)s[0] & 0x0f) << 12 | ((unsigned)s[1] & 0x3f) << 6 |
		    ((unsigned)s[2] & 0x3f);
	if (c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	    (c >= 0x80 && c < 0xa0))
		return c;
	return 0;
}

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\n':
		return "\\n";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

void html_text(struct strbuf *out, const char *s, size_t n)
{
	size_t from = 0, at = 0;

	while (at < n) {
		unsigned char c = (unsigned char)s[at];
		size_t length = c < 0x80 ? 1 : utf8_sequence(s + at, n - at);
		const char *e = entity(s[at]);
		unsigned mark = length > 1 ? hidden(s + at, length) : 0;

		if (!e && length && c >= 0x20 && c != 0x7f && !mark) {
			at += length;
			continue;
		}
		strbuf_add(out, s + from, at - from);
		if (e)
			strbuf_addstr(out, e);
		else if (mark)
			strbuf_addf(out, "\\u%04x", mark);
		else
			strbuf_addf(out, "\\x%02x", c);
		at += length ? length : 1;
		from = at;
	}
	strbuf_add(out, s + from, n - from);
}

void html_str(struct strbuf *out, const char *s)
{
	if (s)
		html_text(out, s, strlen(s));
}

void html_between(struct strbuf *out, const char *before, const char *s, size_t max,
		  const char *after)
{
	strbuf_addstr(out, before);
	if (s)
		html_cut(out, s, strlen(s), max);
	strbuf_addstr(out, after);
}

void html_cut(struct strbuf *out, const char *s, size_t n, size_t max)
{
	size_t shown = n;

	if (n > max) { /* not in the middle of a character */
		shown = max;
		while (shown && ((unsigned char)s[shown] & 0xc0) == 0x80 && max - shown < 4)
			shown--;
	}
	html_text(out, s, shown);
	if (shown < n)
		strbuf_addf(out, "\u2026 (%zu more %s)", n - shown,
			    plural(n - shown, "byte", "bytes"));
}

void html_sentence(struct strbuf *out, const char *s)
{
	bool code = false;

	if (s && *s >= 'a' && *s <= 'z')
		strbuf_addch(out, (char)(*s++ - 'a' + 'A'));

	while (s && *s) {
		size_t n = strcspn(s, "`");

		html_text(out, s, n);
		s += n;
		if (*s != '`')
			break;
		s++;
		if (!code && !strchr(s, '`')) /* a single one is text */
			strbuf_addch(out, '`');
		else
			strbuf_addstr(out, (code = !code) ? "<code>" : "</code>");
	}
}

void html_json(struct strbuf *out, const char *json, size_t n)
{
	while (n) {
		const char *p = memchr(json, '<', n);
		size_t run = p ? (size_t)(p - json) : n;

		strbuf_add(out, json, run);
		if (!p)
			return;
		strbuf_addstr(out, "\\u003c");
		json += run + 1;
		n -= run + 1;
	}
}
