/* Energy of CPU packages, cores, memory. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_rapl = {
	.name = "rapl",
	.help = "energy of CPU packages, cores, memory",
	.probe = probe,
};
