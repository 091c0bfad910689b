/* Comma separated values (RFC 4180); an absent value is an empty cell. */
#include "core/text.h"
#include "sinks/separated.h"

static void *open_csv(FILE *f, bool threads)
{
	(void)threads;
	return separated_open(f, ',', text_add_csv);
}

const struct sink sink_csv = {
	.name = "csv",
	.help = "comma separated, with a header",
	.open = open_csv,
	.write = separated_write,
	.close = separated_close,
};
