/*
 * Entries that a target refused for what is in them; see sink_worker.h. They are kept in a log of
 * their own in the feed's directory, the oldest going first when it is full, and can be sent again
 * (`plimsoll collect --resend`).
 */
#include <errno.h>
#include <sys/stat.h>

#include "sinks/sink_worker_internal.h"

#define ASIDE_MAX ((uint64_t)64 << 20)

static int open_aside(const struct replay_feed *f, struct batchlog **ret, struct strbuf *why)
{
	_cleanup_free_ char *dir = xasprintf("%s/" ASIDE_DIR, f->options.state);
	const struct batchlog_options o = {.dir = dir, .limit = ASIDE_MAX, .drop_oldest = true};

	return batchlog_open(ret, &o, why);
}

static int copy_entry(struct replay_feed *f, uint64_t number, struct batchlog *to)
{
	struct batchlog_reader *r = batchlog_read_from(f->replay->o.log, number);
	uint64_t found = 0, as;
	const void *p;
	size_t n;
	int e = batchlog_reader_next(r, &p, &n, &found);

	if (e > 0 && found == number)
		e = batchlog_append(to, p, n, &as);
	else if (e >= 0)
		e = -ENOENT;
	batchlog_reader_close(r);
	return e < 0 ? e : batchlog_sync(to);
}

int replay_keep_aside(struct replay_feed *f, uint64_t number)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct batchlog_counts c = {0};
	struct batchlog *l = NULL;
	int r = open_aside(f, &l, &why);

	if (r == 0) {
		r = copy_entry(f, number, l);
		batchlog_counts(l, &c);
		batchlog_close(l);
	}
	if (r < 0)
		return r;
	pthread_mutex_lock(&f->lock);
	f->shared.aside = c.entries;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

uint64_t replay_kept_aside(const struct replay_feed *f)
{
	_cleanup_free_ char *dir = xasprintf("%s/" ASIDE_DIR, f->options.state);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct batchlog_counts c = {0};
	struct batchlog *l = NULL;
	struct stat st;

	if (stat(dir, &st) < 0 || open_aside(f, &l, &why) < 0)
		return 0;
	batchlog_counts(l, &c);
	batchlog_close(l);
	return c.entries;
}
