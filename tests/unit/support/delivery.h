/* Deliveries on loopback: batches with a content that follows from their name, collectors with logs
 * in a directory, and what is in those logs afterwards. */
#pragma once

#include "link.h"

#include "transport/batch.h"
#include "transport/log/commit_log.h"
#include "transport/receiver.h"
#include "transport/sender.h"

static const struct sample_metric one_metric[] = {
	{"value", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "a value"},
};

/* A batch whose single value is its number, of readings of a host. */
static inline void make_batch_of(const char *host, const char *node, uint64_t boot, uint64_t number,
				 struct strbuf *out)
{
	struct sample_file_head head = {.host = (char *)host, .period_ns = 1000000000};
	struct batch_name name = {.boot = boot, .number = number};
	struct batcher *b = batcher_new(&head);
	struct sample_set set;

	snprintf(name.node, sizeof(name.node), "%s", node);
	sample_init(&set, one_metric, 1);
	unsigned source = batcher_source(b, "test", 1, &set);
	sample_begin(&set);
	set.time_ns = number;
	sample_row(&set, sample_entity(&set, ENTITY_JOB, "1"));
	sample_put(&set, 0, (int64_t)number);
	batcher_add(b, source, &set);
	strbuf_reset(out);
	if (batcher_take(b, &name, out) < 0)
		abort();
	batcher_free(b);
	sample_release(&set);
}

static inline void make_batch(const char *node, uint64_t boot, uint64_t number, struct strbuf *out)
{
	make_batch_of(node, node, boot, number, out);
}

/* ---- collectors ------------------------------------------------------------------------------ */

struct collector {
	struct commit_log *log;
	struct receive *receive;
	char *uri;
};

static inline int collector_open(struct collector *c, const char *dir, struct receiver_options o,
				 struct commit_log_options lo, struct strbuf *why)
{
	_cleanup_free_ char *logs = xasprintf("%s/log", dir), *state = xasprintf("%s/state", dir);
	struct strbuf uri = STRBUF_INIT;

	*c = (struct collector){0};
	lo.dir = logs;
	int r = commit_log_open(&c->log, &lo, why);
	if (r < 0)
		return r;
	o.log = c->log;
	o.state = state;
	if (!o.uri)
		o.uri = "tcp://127.0.0.1:*";
	r = receiver_start(&c->receive, &o, why);
	if (r < 0) {
		commit_log_close(c->log);
		return r;
	}
	receiver_endpoint(c->receive, &uri);
	c->uri = strbuf_take(&uri);
	return 0;
}

static inline void collector_start(struct collector *c, const char *dir, const char *uri)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (collector_open(c, dir, (struct receiver_options){.uri = uri},
			   (struct commit_log_options){0}, &why) < 0)
		fail_msg("%s", why.buf);
}

static inline void collector_stop(struct collector *c)
{
	receiver_stop(c->receive);
	commit_log_close(c->log);
	free(c->uri);
	*c = (struct collector){0};
}

static inline struct receiver_counts received(struct collector *c)
{
	struct receiver_counts n;

	receiver_counts(c->receive, &n);
	return n;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static inline struct sender *node_start(const char *spool, struct sender_options o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sender *d = NULL;

	o.spool = spool;
	if (!o.node)
		o.node = "n1";
	if (sender_start(&d, &o, &why) < 0)
		fail_msg("%s", why.buf);
	return d;
}

static inline void give(struct sender *d, const char *node, uint64_t boot, uint64_t from,
			uint64_t count)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;

	for (uint64_t i = from; i < from + count; i++) {
		make_batch(node, boot, i, &batch);
		assert_int_equal(sender_batch(d, batch.buf, batch.len), 0);
	}
}

static inline struct sender_counts delivered(struct sender *d)
{
	struct sender_counts n;

	sender_counts(d, &n);
	return n;
}

/* ---- what is in a log
 * ----------------------------------------------------------------------------
 */

/* Counts the batches of a (node, boot), which must be from..to, each once, in order and sound. */
static inline uint64_t check_log(struct commit_log *l, const char *node, uint64_t boot,
				 uint64_t from)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	uint64_t next = from, number;
	struct batch_name name;
	const void *p;
	size_t n;
	int got;

	while ((got = commit_log_reader_next(r, &p, &n, &number)) > 0) {
		struct sample_file f;

		assert_int_equal(batch_peek(p, n, &name, &why), 0);
		if (strcmp(name.node, node) != 0 || name.boot != boot)
			continue;
		if (name.number != next)
			fail_msg("%llu of %s %llu where %llu should be",
				 (unsigned long long)name.number, node, (unsigned long long)boot,
				 (unsigned long long)next);
		assert_int_equal(batch_open(&f, p, n, &why), 0);
		while (sample_file_next(&f) > 0)
			;
		assert_int_equal(f.reading.values[0], (int64_t)next);
		sample_file_close(&f);
		next++;
	}
	assert_int_equal(got, 0);
	commit_log_reader_close(r);
	return next - from;
}

#define wait_until(condition)                                             \
	do {                                                              \
		uint64_t until_ms = now_ms() + 60000;                     \
		while (!(condition)) {                                    \
			if (now_ms() > until_ms)                          \
				fail_msg("still not so: %s", #condition); \
			usleep(5000);                                     \
		}                                                         \
	} while (0)
