/* Shares of memory, descriptors and context switches of each process. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_process_memory = {
	.name = "process_memory",
	.help = "shares of memory, descriptors and context switches of each process",
	.probe = probe,
};
