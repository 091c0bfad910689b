/*
 * A worked example of a source: how long the machine has been up. To make it real: move it to
 * src/sources/uptime.c, add SOURCE(uptime) to sources.def and the file to CMakeLists.txt, and give
 * it a recorded tree and a test.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "core/fs.h"
#include "sources/source.h"

/* Takes the root of the tree from the context: tests run it on a recorded machine. */
static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/uptime", ctx->root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	int r = fs_read(AT_FDCWD, path, 128, &text);
	if (r < 0) {
		strbuf_addf(&report->detail, "cannot read '%s'", path);
		return r;
	}
	strbuf_addf(&report->detail, "the machine has been up for %.0f s", strtod(text.buf, NULL));
	return 0;
}

extern const struct source source_uptime;
const struct source source_uptime = {
	.name = "uptime",
	.help = "time since the machine booted",
	.probe = probe,
};
