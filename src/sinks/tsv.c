/* Tab separated values: tabs, newlines, carriage returns and backslashes are escaped. */
#include <string.h>

#include "sinks/separated.h"

static void add_escaped(struct strbuf *out, const char *s, size_t n)
{
	static const char from[] = "\t\n\r\\", to[] = "tnr\\";

	for (size_t i = 0; i < n; i++) {
		const char *e = s[i] ? strchr(from, s[i]) : NULL;

		if (e)
			strbuf_addf(out, "\\%c", to[e - from]);
		else
			strbuf_addch(out, s[i]);
	}
}

static void *open_tsv(FILE *f, bool threads)
{
	(void)threads;
	return separated_open(f, '\t', add_escaped);
}

const struct sink sink_tsv = {
	.name = "tsv",
	.help = "tab separated, with a header",
	.open = open_tsv,
	.write = separated_write,
	.close = separated_close,
};
