/* NFS client calls and traffic of each mount. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_nfs = {
	.name = "nfs",
	.help = "NFS client calls and traffic of each mount",
	.probe = probe,
};
