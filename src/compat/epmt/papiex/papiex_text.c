/* Texts in papiex's files; see papiex_text.h. */
#include "compat/epmt/papiex/papiex_text.h"

#include <string.h>

/* What a letter behind a backslash stands for, 0 when papiex does not write it. */
static char unescaped(char letter)
{
	static const char letters[] = "abfnrtv\\,", stand_for[] = "\a\b\f\n\r\t\v\\,";
	const char *at = letter ? strchr(letters, letter) : NULL;

	return at ? stand_for[at - letters] : 0;
}

/* A comma is looked for once, not again after each backslash: a text of 10 MB may consist of them.
 */
const char *papiex_take_text(struct strbuf *out, const char *p, const char *end, char separator)
{
	const char *stop = NULL;

	for (;;) {
		if (!stop || p > stop) {
			stop = memchr(p, separator, (size_t)(end - p));
			stop = stop ? stop : end;
		}
		const char *slash = separator == ',' ? memchr(p, '\\', (size_t)(stop - p)) : NULL;
		if (!slash || slash + 1 == end) {
			strbuf_add(out, p, (size_t)(stop - p));
			return stop;
		}
		char c = unescaped(slash[1]);
		/* what papiex does not write stays as it is */
		strbuf_add(out, p, (size_t)(slash - p) + (c ? 0 : 2));
		if (c)
			strbuf_addch(out, c);
		p = slash + 2;
	}
}

const char *papiex_take_quoted(struct strbuf *out, const char *p, const char *end, char separator)
{
	for (p++; p < end; p++) {
		if (*p != '"') {
			strbuf_addch(out, *p);
		} else if (p + 1 < end && p[1] == '"') {
			strbuf_addch(out, '"');
			p++;
		} else {
			p++;
			return p == end || *p == separator ? p : NULL;
		}
	}
	return NULL;
}
