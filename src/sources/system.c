/* CPU load of the node and of each CPU, memory, swap. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_system = {
	.name = "system",
	.help = "CPU load of the node and of each CPU, memory, swap",
	.probe = probe,
};
