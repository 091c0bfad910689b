/* Tab separated values: tabs, newlines, carriage returns and backslashes are escaped, and what a
 * spreadsheet would compute has ' in front. */
#include <string.h>
#include <unistd.h>

#include "core/text/text.h"
#include "views/rows/delimited.h"

static void add_escaped(struct strbuf *out, const char *s, size_t n)
{
	static const char from[] = "\t\n\r\\", to[] = "tnr\\";

	if (text_is_formula(s, n))
		strbuf_addch(out, '\'');
	for (size_t i = 0; i < n; i++) {
		const char *e = s[i] ? strchr(from, s[i]) : NULL;

		if (e)
			strbuf_addf(out, "\\%c", to[e - from]);
		else
			strbuf_addch(out, s[i]);
	}
}

/* The same for a terminal: it gets no control characters. */
static void add_shown(struct strbuf *out, const char *s, size_t n)
{
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

	add_escaped(&plain, s, n);
	text_add_printable(out, plain.buf, plain.len);
}

static void *open_tsv(FILE *f, bool threads)
{
	(void)threads;
	return delimited_open(f, '\t', isatty(fileno(f)) ? add_shown : add_escaped);
}

const struct row_writer row_writer_tsv = {
	.name = "tsv",
	.help = "tab separated, with a header",
	.open = open_tsv,
	.write = delimited_write,
	.close = delimited_close,
};
