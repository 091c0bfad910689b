/*
 * Delay accounting: whether the kernel keeps the time that tasks spend blocked on storage. The
 * times themselves are read with everything else of a task; while the switch is off they read 0 and
 * mean nothing.
 */
#include <errno.h>
#include <fcntl.h>

#include "core/files/fs.h"
#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/sys/kernel/task_delayacct", ctx->root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	int r = fs_read(AT_FDCWD, path, 64, &text);
	if (r == 0 && text.buf[0] == '1') {
		strbuf_addstr(&report->detail, "delays are accounted");
		return 0;
	}
	if (r < 0) {
		strbuf_addstr(&report->detail, "this kernel has no switch for delay accounting");
		return r;
	}
	strbuf_addstr(&report->detail, "time blocked on storage is not accounted, so it is absent");
	report->remedy = "sudo sysctl kernel.task_delayacct=1";
	return -ENODATA;
}

const struct source source_delays = {
	.name = "task_delayacct",
	.help = "time that tasks are blocked on storage",
	.probe = probe,
};
