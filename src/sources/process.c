/* CPU, memory, I/O and waiting of each process of the job. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_process = {
	.name = "process",
	.help = "CPU, memory, I/O and waiting of each process of the job",
	.probe = probe,
};
