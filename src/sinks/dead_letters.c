/*
 * Entries that a target refused because of their content; see sink_worker.h. They are kept in a log
 * in the sink's directory, which drops the oldest when it is full, and can be sent again (`plimsoll
 * collect --resend`).
 */
#include <errno.h>
#include <sys/stat.h>

#include "sinks/sink_worker_internal.h"

#define ASIDE_MAX ((uint64_t)64 << 20)

static int open_aside(const struct sink_worker *w, struct commit_log **ret, struct strbuf *why)
{
	_cleanup_free_ char *dir = xasprintf("%s/" ASIDE_DIR, w->options.state);
	const struct commit_log_options o = {.dir = dir, .limit = ASIDE_MAX, .drop_oldest = true};

	return commit_log_open(ret, &o, why);
}

static int copy_entry(struct sink_worker *w, uint64_t number, struct commit_log *to)
{
	struct commit_log_reader *r = commit_log_read_from(w->workers->o.log, number);
	uint64_t found = 0, as;
	const void *p;
	size_t n;
	int e = commit_log_reader_next(r, &p, &n, &found);

	if (e > 0 && found == number)
		e = commit_log_append(to, p, n, &as);
	else if (e >= 0)
		e = -ENOENT;
	commit_log_reader_close(r);
	return e < 0 ? e : commit_log_sync(to);
}

int sink_workers_keep_aside(struct sink_worker *w, uint64_t number)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log_counts c = {0};
	struct commit_log *l = NULL;
	int r = open_aside(w, &l, &why);

	if (r == 0) {
		r = copy_entry(w, number, l);
		commit_log_counts(l, &c);
		commit_log_close(l);
	}
	if (r < 0)
		return r;
	pthread_mutex_lock(&w->lock);
	w->shared.aside = c.entries;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

uint64_t sink_workers_kept_aside(const struct sink_worker *w)
{
	_cleanup_free_ char *dir = xasprintf("%s/" ASIDE_DIR, w->options.state);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log_counts c = {0};
	struct commit_log *l = NULL;
	struct stat st;

	if (stat(dir, &st) < 0 || open_aside(w, &l, &why) < 0)
		return 0;
	commit_log_counts(l, &c);
	commit_log_close(l);
	return c.entries;
}
