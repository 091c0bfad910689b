/* Traffic and errors of InfiniBand, Omni-Path and RoCE ports. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_infiniband = {
	.name = "infiniband",
	.help = "traffic and errors of InfiniBand, Omni-Path and RoCE ports",
	.probe = probe,
};
