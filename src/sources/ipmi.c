/* Power of the whole node as its management controller measures it. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_ipmi = {
	.name = "ipmi",
	.help = "power of the whole node as its management controller measures it",
	.probe = probe,
};
