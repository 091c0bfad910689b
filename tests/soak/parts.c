/*
 * A node and a collector, each in a process of its own that may be killed at any moment. They are
 * put together as `plimsoll node` and `plimsoll collect` do it, with small logs and short pauses,
 * so that much happens in little time.
 */
#include "histories.h"

#include <errno.h>
#include <sys/prctl.h>

#include "core/log.h"
#include "sinks/sink_worker.h"
#include "transport/receiver.h"
#include "transport/sender_internal.h"

#define S 1000000000ull

/* ---- processes ------------------------------------------------------------------------------- */

static void cannot(const struct history *h, const char *what, const struct strbuf *why)
{
	snprintf(h->shared->why, sizeof(h->shared->why), "%s: %s", what, why->buf);
	_exit(2);
}

/* True in the child. */
static bool begin(struct history *h, struct part *p)
{
	assert_true(p->life + 1 < LIVES_MAX);
	p->life++;
	fflush(h->told);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid)
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return true;
}

/* ---- the node -------------------------------------------------------------------------------- */

static void make_batch(unsigned node, unsigned life, unsigned number, unsigned tick, unsigned count,
		       struct strbuf *out)
{
	static const struct harness_plan plan = {.jobs = 1};
	struct batch_name name = {.boot = life, .number = number};
	const struct sample_file_head head = {.host = name.node,
					      .period_ns = S,
					      .realtime_ns = (HARNESS_BEGIN_S - 5) * 1000000000};
	struct sample_set set;

	snprintf(name.node, sizeof(name.node), "node%u", node);
	struct batcher *b = batcher_new(&head);
	sample_init(&set, harness_metrics[HARNESS_JOB], 2);
	unsigned source = batcher_source(b, harness_sources[HARNESS_JOB], 1, &set);
	for (unsigned i = 0; i < count; i++) {
		harness_reading(&plan, node, HARNESS_JOB, tick + i, &set);
		batcher_add(b, source, &set);
	}
	strbuf_reset(out);
	assert_int_equal(batcher_take(b, &name, out), 0);
	batcher_free(b);
	sample_release(&set);
}

static void book_node(struct node_book *b, unsigned life, const struct sender_counts *c)
{
	b->lives[life].damaged = c->damaged;
	b->lives[life].refused = c->refused;
	b->lives[life].lost = c->lost_at_stop;
	b->dropped = c->dropped;
}

/* Hands the next ticks over; false when there are none. */
static bool give(const struct history *h, unsigned i, struct sender *d, struct strbuf *batch)
{
	struct node_book *b = &h->shared->nodes[i];
	unsigned life = h->nodes[i].life, from = b->given;
	unsigned count = b->want - from < h->readings ? b->want - from : h->readings;

	if (!count)
		return false;
	unsigned number = (unsigned)b->lives[life].batches + 1;
	for (unsigned t = from; t < from + count; t++) {
		b->ticks[t].life = life;
		b->ticks[t].number = number;
	}
	b->lives[life].batches = number;
	b->given = from + count;
	make_batch(i, life, number, from, count, batch);
	assert_int_equal(sender_batch(d, batch->buf, batch->len), 0);
	return true;
}

static void run_node(const struct history *h, unsigned i)
{
	_cleanup_free_ char *spool = xasprintf("%s/disk/n%u/spool", h->dir, i);
	_cleanup_free_ char *uri = xasprintf("ipc://%s/ipc", h->dir),
			    *name = xasprintf("node%u", i);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, batch = STRBUF_INIT;
	struct node_book *b = &h->shared->nodes[i];
	unsigned life = h->nodes[i].life;
	struct sender_options o = {
		.uri = uri, .node = name, .spool = spool, .spool_limit = h->spool_limit};
	struct sender_counts c;
	struct sender *d = NULL;

	if (sender_start(&d, &o, &why) < 0)
		cannot(h, name, &why);
	uint64_t start = commit_log_synced_next(d->log);
	while (!b->quit) {
		bool more = give(h, i, d, &batch);

		usleep(more ? h->pace_us : 1000);
		sender_counts(d, &c);
		book_node(b, life, &c);
		b->lives[life].durable = commit_log_synced_next(d->log) - start;
	}
	uint64_t left = sender_stop(d, b->quit == QUIT_DONE ? 60 * S : S / 50, &c);
	book_node(b, life, &c);
	b->lives[life].durable = b->lives[life].batches;
	b->left = left;
	_exit(0);
}

void begin_node(struct history *h, unsigned i)
{
	h->shared->nodes[i].quit = QUIT_NOT;
	h->shared->nodes[i].left = UINT64_MAX;
	if (begin(h, &h->nodes[i]))
		run_node(h, i);
}

/* ---- sinks that refuse some
 * ----------------------------------------------------------------------
 */

struct wrapped {
	const struct history *h;
	const struct sink *feed;
	void *state;
};
static const struct history *of_this_process;

static int open_wrapped(const struct sink_options *o, void **state, uint64_t *position,
			struct strbuf *why)
{
	struct wrapped *w = xcalloc(1, sizeof(*w));

	w->h = of_this_process;
	for (unsigned k = 0; k < SINK_KINDS; k++) {
		_cleanup_free_ char *target = sink_target(w->h, k);

		if (w->h->sinks[k] && !strcmp(o->target, target))
			w->feed = sink_feed(k);
	}
	int r = w->feed->open(o, &w->state, position, why);
	log_warn("life %u: %s is opened: %d, position %llu", w->h->collector.life, w->feed->name, r,
		 (unsigned long long)*position);
	if (r < 0)
		free(w);
	else
		*state = w;
	return r;
}

static int batch_wrapped(void *state, uint64_t number, const struct batch_name *name,
			 struct sample_file *f, struct strbuf *why)
{
	struct wrapped *w = state;

	if (sink_refuses(w->h, name)) {
		strbuf_addstr(why, "refused by the history");
		return -EBADMSG;
	}
	return w->feed->batch(w->state, number, name, f, why);
}

static int commit_wrapped(void *state, uint64_t number, struct strbuf *why)
{
	struct wrapped *w = state;

	return w->feed->commit(w->state, number, why);
}

static int reopen_wrapped(void *state, struct strbuf *why)
{
	struct wrapped *w = state;

	return w->feed->reopen ? w->feed->reopen(w->state, why) : 0;
}

static void close_wrapped(void *state)
{
	struct wrapped *w = state;

	w->feed->close(w->state);
	free(w);
}

/* ---- the collector --------------------------------------------------------------------------- */

struct collector {
	const struct history *h;
	struct commit_log *log;
	struct receive *receive;
	struct sink_workers *replay;
	struct sink sinks[SINK_KINDS];
	_Atomic uint64_t least;
	uint64_t missing[SINK_KINDS]; /* in earlier lives */
};

static void on_trim(void *user, uint64_t number)
{
	struct collector *c = user;

	c->least = number;
}

static void on_say(void *user, enum log_level level, const char *feed, const char *text)
{
	(void)user;
	(void)level;
	log_warn("%s: %s", feed, text);
}

static int add_sinks(struct collector *c, struct strbuf *why)
{
	const struct history *h = c->h;
	_cleanup_free_ char *dir = xasprintf("%s/disk/c/sinks", h->dir);
	const struct sink_workers_options o = {.log = c->log,
					       .dir = dir,
					       .commit_ns = h->commit_ns,
					       .pause_ns = S / 1000,
					       .pause_max_ns = S / 20,
					       .trim = on_trim,
					       .say = on_say,
					       .user = c};
	int r = sink_workers_new(&c->replay, &o, why);

	for (unsigned k = 0; k < SINK_KINDS && r == 0; k++) {
		_cleanup_free_ char *target = sink_target(h, k);
		const struct sink_options f = {.target = target, .level = -1};

		if (!h->sinks[k])
			continue;
		c->sinks[k] = *sink_feed(k);
		c->sinks[k].open = open_wrapped;
		c->sinks[k].batch = batch_wrapped;
		c->sinks[k].commit = commit_wrapped;
		c->sinks[k].reopen = reopen_wrapped;
		c->sinks[k].close = close_wrapped;
		c->missing[k] = h->shared->collector.sinks[k].missing;
		r = sink_workers_add(c->replay, &c->sinks[k], &f, sink_names[k], why);
	}
	return r;
}

static void open_collector(struct collector *c)
{
	const struct history *h = c->h;
	_cleanup_free_ char *uri = xasprintf("ipc://%s/ipc", h->dir);
	_cleanup_free_ char *log = xasprintf("%s/disk/c/log", h->dir);
	_cleanup_free_ char *state = xasprintf("%s/disk/c/nodes", h->dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct commit_log_options lo = {.dir = log, .limit = h->log_limit, .segment = 4096};
	int r = -EBUSY;

	/* who was forked from the one before, to read a file, may have its locks for a moment; as
	 * `plimsoll collect` does it */
	for (unsigned i = 0; i < 200 && r == -EBUSY; i++, usleep(r == -EBUSY ? 10000 : 0)) {
		strbuf_reset(&why);
		r = commit_log_open(&c->log, &lo, &why);
	}
	if (r == 0)
		r = add_sinks(c, &why);
	struct receiver_options ro = {.uri = uri, .log = c->log, .state = state};
	if (r == 0)
		r = receiver_start(&c->receive, &ro, &why);
	if (r == 0)
		r = sink_workers_start(c->replay, &why);
	if (r < 0)
		cannot(h, "collector", &why);
}

/* What the collector's status says, for whoever checks it. */
static void book_collector(struct collector *c)
{
	struct collector_book *b = &c->h->shared->collector;
	bool drained = true;
	size_t i = 0;

	for (unsigned k = 0; k < SINK_KINDS; k++) {
		struct sink_workers_state s;

		if (!c->h->sinks[k])
			continue;
		sink_workers_state(c->replay, i++, &s);
		b->sinks[k].missing = c->missing[k] + s.missing;
		b->sinks[k].failures = s.failures;
		drained = drained && !s.entries_behind && s.phase == SINK_WORKERS_RUNNING;
		if (s.phase == SINK_WORKERS_FAILED) {
			_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

			strbuf_addstr(&why, s.reason);
			cannot(c->h, sink_names[k], &why);
		}
	}
	b->drained = drained;
}

static void run_collector(const struct history *h)
{
	struct collector_book *b = &h->shared->collector;
	struct collector c = {.h = h};
	unsigned reopened = b->reopen;

	_cleanup_free_ char *out = xasprintf("%s/out.%u", h->dir, h->collector.life);
	int fd = open(out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	of_this_process = h;
	open_collector(&c);
	while (!b->quit) {
		usleep(2000);
		if (reopened != b->reopen) {
			reopened = b->reopen;
			sink_workers_reopen(c.replay);
		}
		if (c.least)
			receiver_trim(c.receive, c.least);
		book_collector(&c);
	}
	receiver_stop(c.receive);
	(void)commit_log_sync(c.log);
	if (!sink_workers_stop(c.replay, 2 * S, 60 * S))
		_exit(3);
	book_collector(&c);
	sink_workers_free(c.replay);
	commit_log_close(c.log);
	_exit(0);
}

void begin_collector(struct history *h)
{
	h->shared->collector.quit = QUIT_NOT;
	h->shared->collector.drained = false;
	if (begin(h, &h->collector))
		run_collector(h);
}
