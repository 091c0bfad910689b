/* Time that tasks waited for CPU, memory or I/O. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_pressure = {
	.name = "pressure",
	.help = "time that tasks waited for CPU, memory or I/O",
	.probe = probe,
};
