/* Comma separated values (RFC 4180); an absent value is an empty cell. */
#include <unistd.h>

#include "core/text/text.h"
#include "views/rows/delimited.h"

static void add_safe(struct strbuf *out, const char *s, size_t n)
{
	text_add_csv_safe(out, s, n, false);
}

static void add_shown(struct strbuf *out, const char *s, size_t n)
{
	text_add_csv_safe(out, s, n, true);
}

static void *open_csv(FILE *f, bool threads)
{
	(void)threads;
	return delimited_open(f, ',', isatty(fileno(f)) ? add_shown : add_safe);
}

const struct row_writer row_writer_csv = {
	.name = "csv",
	.help = "comma separated, with a header",
	.open = open_csv,
	.write = delimited_write,
	.close = delimited_close,
};
