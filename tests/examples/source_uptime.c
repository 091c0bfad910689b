/*
 * A worked example of a source: how long the machine has been up. To make it real: move it to
 * src/sources/node/uptime.c, add SOURCE(uptime) to sources.def, and give it a recorded tree and a
 * test.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files/fs.h"
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

/* What it samples: the sampler, the files, the store and the views need no more than this. */
enum { UP, IDLE };
static const struct sample_metric columns[] = {
	[UP] = {"up", UNIT_MICROSECONDS, KIND_COUNTER, AGG_MAX, 10000, "time since boot"},
	[IDLE] = {"idle", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "idle time of all CPUs"},
};

static int open_uptime(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/uptime", ctx->root);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)set;
	if (fd < 0) {
		int e = errno;

		strbuf_addf(why, "cannot read '%s': %s", path, strerror(e));
		return -e;
	}
	*state = xmalloc(sizeof(int));
	*(int *)*state = fd;
	return 0;
}

/* Numbers are whole: hundredths of a second here, which the scale of 10,000 makes microseconds. */
static int read_uptime(void *state, struct sample_set *set)
{
	char buf[128];
	ssize_t n = pread(*(int *)state, buf, sizeof(buf) - 1, 0);
	double up, idle;

	if (n < 0)
		return -errno;
	buf[n] = 0;
	char *end;
	up = strtod(buf, &end);
	if (end == buf)
		return -EBADMSG;
	idle = strtod(end, NULL);
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	sample_put(set, UP, (int64_t)(up * 100));
	sample_put(set, IDLE, (int64_t)(idle * 100));
	return 0;
}

static void close_uptime(void *state)
{
	close(*(int *)state);
	free(state);
}

extern const struct source source_uptime;
const struct source source_uptime = {
	.name = "uptime",
	.help = "time since the machine booted",
	.probe = probe,
	.metrics = columns,
	.metric_count = ARRAY_SIZE(columns),
	.every = 1,
	.open = open_uptime,
	.read = read_uptime,
	.close = close_uptime,
};
