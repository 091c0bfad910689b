/*
 * A feed that a test steers: it keeps the numbers it was given and those that were committed, and
 * fails when it is told to. And a log with entries of known readings.
 */
#pragma once

#include "sink_harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/clock.h"
#include "sinks/sink_worker.h"

#define TOLD_MAX 4096

/* By its target: "a", "b", ... one each. */
struct told {
	pthread_mutex_t lock;
	uint64_t held[TOLD_MAX], kept[TOLD_MAX]; /* since the commit, and committed */
	size_t held_count, kept_count;
	atomic_int opens, reopens, closes, commits;
	/* what it is told to do */
	atomic_int open_fails, batch_fails, commit_fails; /* so many times, with -EAGAIN */
	atomic_int commit_stale;                          /* so many times, with -ESTALE */
	atomic_int open_error;                            /* for good */
	atomic_int reach_error;   /* of batches and commits, while it is set */
	atomic_ullong bad;        /* entry that it cannot take, in batch */
	atomic_ullong bad_commit; /* and in commit */
	atomic_ullong bad_part;   /* of which it takes a part only, in commit */
	struct sink_options o;    /* as it was opened */
	atomic_bool own_position; /* it knows what it has */
	atomic_bool stuck;        /* hangs in batch */
};
static struct told told[4];

static inline bool count_down(atomic_int *n)
{
	int v = atomic_load(n);

	while (v > 0)
		if (atomic_compare_exchange_weak(n, &v, v - 1))
			return true;
	return v < 0;
}

static inline int fake_open(const struct sink_options *o, void **state, uint64_t *position,
			    struct strbuf *why)
{
	struct told *t = &told[o->target[0] - 'a'];

	if (count_down(&t->open_fails)) {
		strbuf_addstr(why, "not there");
		return -EAGAIN;
	}
	if (atomic_load(&t->open_error)) {
		strbuf_addstr(why, "wrong target");
		return atomic_load(&t->open_error);
	}
	pthread_mutex_lock(&t->lock);
	t->held_count = 0;
	*position =
		atomic_load(&t->own_position) && t->kept_count ? t->kept[t->kept_count - 1] + 1 : 0;
	pthread_mutex_unlock(&t->lock);
	t->o = *o;
	atomic_fetch_add(&t->opens, 1);
	*state = t;
	return 0;
}

static inline int fake_batch(void *state, uint64_t number, const struct batch_name *name,
			     struct sample_file *f, struct strbuf *why)
{
	struct told *t = state;
	size_t readings = 0;
	int event;

	while (atomic_load(&t->stuck))
		usleep(1000);
	if (atomic_load(&t->reach_error) && number % 3 == 0) {
		strbuf_addstr(why, "cannot be reached");
		return atomic_load(&t->reach_error);
	}
	if (number == atomic_load(&t->bad)) {
		strbuf_addstr(why, "does not fit");
		return -EBADMSG;
	}
	if (count_down(&t->batch_fails)) {
		pthread_mutex_lock(&t->lock);
		t->held_count = 0;
		pthread_mutex_unlock(&t->lock);
		strbuf_addstr(why, "busy");
		return -EAGAIN;
	}
	while ((event = sample_file_next(f)) > 0)
		readings += event == SAMPLE_READING;
	assert_true(readings > 0 && name->boot == HARNESS_BOOT);
	pthread_mutex_lock(&t->lock);
	assert_true(t->held_count < TOLD_MAX);
	t->held[t->held_count++] = number;
	pthread_mutex_unlock(&t->lock);
	return 0;
}

static inline int fake_commit(void *state, uint64_t number, struct strbuf *why)
{
	struct told *t = state;
	bool bad = false, part = false;
	int r = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < t->held_count; i++) {
		bad = bad || t->held[i] == atomic_load(&t->bad_commit);
		part = part || t->held[i] == atomic_load(&t->bad_part);
	}
	if (atomic_load(&t->reach_error)) {
		strbuf_addstr(why, "cannot be reached");
		r = atomic_load(&t->reach_error);
	} else if (count_down(&t->commit_stale)) {
		r = -ESTALE;
	} else if (count_down(&t->commit_fails)) {
		strbuf_addstr(why, "commit failed");
		r = -EAGAIN;
	} else if (bad) {
		strbuf_addstr(why, "refused");
		r = -EBADMSG;
	} else if (part && t->o.refused(t->o.refused_user, atomic_load(&t->bad_part), "odd") < 0) {
		strbuf_addstr(why, "cannot be kept aside");
		r = -EAGAIN;
	} else {
		assert_true(t->held_count && t->held[t->held_count - 1] == number);
		for (size_t i = 0; i < t->held_count; i++)
			t->kept[t->kept_count++] = t->held[i];
		atomic_fetch_add(&t->commits, 1);
	}
	t->held_count = 0;
	pthread_mutex_unlock(&t->lock);
	return r;
}

static inline int fake_reopen(void *state, struct strbuf *why)
{
	struct told *t = state;

	(void)why;
	atomic_fetch_add(&t->reopens, 1);
	return 0;
}

static inline void fake_close(void *state)
{
	struct told *t = state;

	atomic_fetch_add(&t->closes, 1);
}

static const struct sink fake = {.name = "fake",
				 .target = "LETTER",
				 .help = "for tests",
				 .open = fake_open,
				 .batch = fake_batch,
				 .commit = fake_commit,
				 .reopen = fake_reopen,
				 .close = fake_close};

static inline void told_reset(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		memset(&told[i], 0, sizeof(told[i]));
		pthread_mutex_init(&told[i].lock, NULL);
	}
}

static inline size_t told_kept(size_t i)
{
	pthread_mutex_lock(&told[i].lock);
	size_t n = told[i].kept_count;
	pthread_mutex_unlock(&told[i].lock);
	return n;
}

/* ---- a log ----------------------------------------------------------------------------------- */

static inline struct commit_log *log_at_dir(const char *dir)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/log", dir);
	const struct commit_log_options o = {.dir = path, .segment = 4096};
	struct commit_log *l = NULL;

	if (commit_log_open(&l, &o, &why) < 0)
		fail_msg("%s", why.buf);
	return l;
}

static inline void log_batch(struct commit_log *l, unsigned number)
{
	static const struct harness_plan plan = {
		.nodes = 1, .entries = 1, .readings = 2, .jobs = 1};
	const struct sample_file_head head = {.host = (char *)"node1",
					      .boot = (char *)"1-2",
					      .period_ns = 1000000000,
					      .boottime_ns = 5000000000,
					      .realtime_ns = HARNESS_BEGIN_S * 1000000000};
	const struct batch_name name = {"node1", HARNESS_BOOT, number};
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct batcher *b = batcher_new(&head);
	struct sample_set set;
	uint64_t got = 0;

	sample_init(&set, harness_metrics[HARNESS_JOB], 2);
	unsigned source = batcher_source(b, "group", 1, &set);
	for (unsigned i = 0; i < 2; i++) {
		harness_reading(&plan, 0, HARNESS_JOB, number * 2 + i, &set);
		batcher_add(b, source, &set);
	}
	assert_int_equal(batcher_take(b, &name, &bytes), 0);
	assert_int_equal(commit_log_append(l, bytes.buf, bytes.len, &got), 0);
	assert_int_equal(got, number);
	batcher_free(b);
	sample_release(&set);
}

static inline void log_batches(struct commit_log *l, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		log_batch(l, i);
	assert_int_equal(commit_log_sync(l), 0);
}

/* Waits for a condition, by looking; generous. */
#define wait_until(condition)                                                  \
	do {                                                                   \
		for (int left = 60000; !(condition); left--) {                 \
			if (!left)                                             \
				fail_msg("waited in vain for %s", #condition); \
			usleep(1000);                                          \
		}                                                              \
	} while (0)
