/*
 * Sink store: writes to the tables that `submit` fills, on SQLite or PostgreSQL. The position in
 * the log is in the store itself, committed together with the data, under the id of the log.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "sinks/sink.h"
#include "store/stream/stream.h"

#define OLD_ID_FILE "log"
#define HELD_MAX ((size_t)96 << 20)

struct target {
	char *url, *id;
	struct stream *stream; /* NULL: to be opened again */
	uint64_t position;     /* first entry that is not in the store */
};

/* Earlier versions used another id for the log: take over what is in the store under it. */
static int take_over(struct target *t, const char *dir, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fs_read(fd, OLD_ID_FILE, 64, &text) < 0 || text.len != 32)
		return 0;
	int r = t->position ? 0 : stream_take_over(t->stream, text.buf, &t->position, why);
	if (r == 0)
		(void)unlinkat(fd, OLD_ID_FILE, 0);
	return r;
}

static void close_store(void *state)
{
	struct target *t = state;

	stream_close(t->stream);
	free(t->url);
	free(t->id);
	free(t);
}

static int open_store(const struct sink_options *o, void **state, uint64_t *position,
		      struct strbuf *why)
{
	struct target *t = xcalloc(1, sizeof(*t));

	t->url = xstrdup(o->target);
	t->id = xasprintf("%016llx", (unsigned long long)o->log);
	int r = stream_open(&t->stream, t->url, t->id, &t->position, why);
	if (r == 0)
		r = take_over(t, o->state, why);
	*position = t->position;
	return sink_opened(t, r, close_store, state);
}

/* After a failure only the store knows whether the last commit arrived. */
static int connect_again(struct target *t, struct strbuf *why)
{
	return t->stream || stream_open(&t->stream, t->url, t->id, &t->position, why) == 0
		       ? 0
		       : -EAGAIN;
}

static int failed(struct target *t, int r)
{
	if (r == -EAGAIN || r == -ESTALE) {
		stream_close(t->stream);
		t->stream = NULL;
	}
	return r;
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name PL_UNUSED,
		     struct sample_file *f, struct strbuf *why)
{
	struct target *t = state;
	int r = connect_again(t, why);

	if (r < 0)
		return r;
	if (number < t->position)
		return 0;
	r = stream_add(t->stream, f, sink_job_of);
	if (r < 0) {
		/* only looking up a job in the store can fail */
		stream_why(t->stream, why);
		return failed(t, r);
	}
	return stream_held(t->stream) > HELD_MAX;
}

static int commit(void *state, uint64_t number, struct strbuf *why)
{
	struct target *t = state;

	if (!t->stream)
		return -EAGAIN;
	if (number < t->position)
		return 0;
	int r = stream_commit(t->stream, number + 1, why);
	if (r == 0)
		t->position = number + 1;
	return failed(t, r);
}

static int number_again(void *state, uint64_t next, struct strbuf *why)
{
	struct target *t = state;
	int r = connect_again(t, why);

	if (r == 0)
		r = stream_commit(t->stream, next, why);
	if (r == 0)
		t->position = next;
	return failed(t, r);
}

const struct sink sink_store = {
	.name = "store",
	.target = "URL",
	.help = "the job store, SQLite or PostgreSQL, together with submitted jobs",
	.open = open_store,
	.batch = add_batch,
	.commit = commit,
	.number_again = number_again,
	.close = close_store,
	.commit_entries = 65536,
	.commit_ns = 5000000000,
};
