/* Traffic, packets and errors of each network interface. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_network = {
	.name = "network",
	.help = "traffic, packets and errors of each network interface",
	.probe = probe,
};
