/* Lines with labels; see sheet.h. */
#include "views/sheet.h"

#include <string.h>

#include "core/text/text.h"

void sheet_paint(const struct sheet *s, const char *code, const char *text)
{
	if (s->color && *text)
		strbuf_addf(s->out, "\x1b[%sm%s\x1b[0m", code, text);
	else
		strbuf_addstr(s->out, text);
}

void sheet_label(const struct sheet *s, const char *name)
{
	size_t n = text_width(name, strlen(name)) + 2;

	strbuf_addstr(s->out, "  ");
	sheet_paint(s, "2", name);
	for (; n < s->label; n++)
		strbuf_addch(s->out, ' ');
}

void sheet_line(const struct sheet *s, const char *name, const char *text)
{
	_cleanup_strbuf_ struct strbuf safe = STRBUF_INIT;

	if (!text || !*text)
		return;
	sheet_label(s, name);
	text_add_printable(&safe, text, strlen(text));
	text_add_wrapped(s->out, safe.buf, s->label, s->width);
	strbuf_addch(s->out, '\n');
}
