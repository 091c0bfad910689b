/* Reads, writes and time of each disk. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_disk = {
	.name = "disk",
	.help = "reads, writes and time of each disk",
	.probe = probe,
};
