/* What the tests of the feed store share: asking the store what is there. */
#pragma once

#include "sink_harness.h"

#include "store/store.h"

extern const struct sink sink_store;

static inline struct store *read_store(const char *url)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	if (store_open(&s, url, STORE_READ, &why) < 0)
		fail_msg("%s", why.buf);
	return s;
}

static inline int64_t ask(struct store *s, const char *sql)
{
	int64_t n = -1;

	if (store_number(s, sql, &n) < 0)
		fail_msg("%s: %s", sql, store_error(s));
	return n;
}

struct readback {
	struct store *store;
	struct stmt *st;
	size_t wrong;
	const struct harness_plan *plan;
};

static inline void job_id(const struct harness_expected *x, char *ret, size_t n)
{
	time_t seconds = (time_t)(x->time_us / 1000000);
	struct tm tm;
	char date[32];

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	if (x->job)
		snprintf(ret, n, "%u", x->job);
	else
		snprintf(ret, n, "node:%s:%s", x->host, date);
}

static inline void check_value(void *user, const struct harness_expected *x)
{
	struct readback *b = user;
	char job[100], metric[100];

	job_id(x, job, sizeof(job));
	snprintf(metric, sizeof(metric), "%s.%s", x->source, x->metric);
	stmt_str(b->st, 1, job);
	stmt_str(b->st, 2, x->host);
	stmt_str(b->st, 3, metric);
	stmt_str(b->st, 4, x->entity);
	stmt_int(b->st, 5, x->time_us);
	int r = stmt_step(b->st);
	if (r != 1 || stmt_get_int(b->st, 0) != 1 || stmt_get_int(b->st, 1) != x->raw) {
		if (!b->wrong++)
			print_message("%s %s %s %s at %lld: %lld times %lld, want %lld\n", job,
				      x->host, metric, x->entity, (long long)x->time_us,
				      (long long)stmt_get_int(b->st, 0),
				      (long long)stmt_get_int(b->st, 1), (long long)x->raw);
	}
	stmt_reset(b->st);
}

/* Every value of entries 1 to upto is in the store once, and nothing else. */
static inline void check_all(const char *url, const struct harness_plan *p, unsigned upto)
{
	struct store *s = read_store(url);
	struct readback b = {.store = s, .plan = p};

	b.st = stmt_prepare(s, "SELECT count(*), CAST(min(raw) AS BIGINT) FROM samples WHERE "
			       "jobid = $1 AND host = $2 AND metric = $3 AND entity = $4 AND "
			       "time = $5");
	assert_non_null(b.st);
	size_t want = harness_expect(p, upto, check_value, &b);
	stmt_finish_ptr(&b.st);
	assert_int_equal(b.wrong, 0);
	assert_int_equal(ask(s, "SELECT count(*) FROM samples"), (int64_t)want);
	assert_int_equal(ask(s, "SELECT CAST(sum(count) AS BIGINT) FROM sample_series"),
			 (int64_t)want);
	store_close(s);
}
