/* The sender; see sender.h: its thread, and the functions for callers. sender_send.c has the
 * messages.
 */
#include "transport/sender.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system/thread.h"
#include "transport/sender_internal.h"

#define SPOOL_DEFAULT ((uint64_t)256 << 20)
#define SPOOL_SEGMENT ((uint64_t)4 << 20)
#define WINDOW_DEFAULT 32
#define WINDOW_MAX 1024
#define QUEUE_BYTES ((size_t)16 << 20)
#define RESEND_MAX (60000 * MS)
#define SILENT_NS (15000 * MS)      /* without an answer the collector counts as away */
#define AWAY_REPORT_NS (10000 * MS) /* and is reported this much later */

/* ---- the thread ---- */

/* Reports problems with keys; true: keys do not match. */
static bool check_keys(struct sender *d, enum link_state state, uint64_t now)
{
	struct delivery_problems *t = &d->problems;
	const char *wait = d->own_log ? "batches wait in the spool" : "batches wait in the log";

	if (state == LINK_KEY_REFUSED)
		delivery_problem_is(
			t, PROBLEM_KEY, now,
			"the collector at '%s' does not know our key: run `plimsoll keys allow` "
			"there; %s",
			d->uri, wait);
	else if (state == LINK_KEY_UNFIT)
		delivery_problem_is(
			t, PROBLEM_KEY, now,
			"the collector at '%s' ends the key exchange: --server-key is not its key, "
			"or it runs without keys; %s",
			d->uri, wait);
	else if (state == LINK_KEYS_MISSING)
		delivery_problem_is(
			t, PROBLEM_KEY, now,
			"one side has keys and the other has none: set --keys and --server-key "
			"here, and --keys and --allow at the collector at '%s'; %s",
			d->uri, wait);
	else if (state == LINK_THERE)
		delivery_problem_over(t, PROBLEM_KEY);
	return t->text[PROBLEM_KEY][0];
}

static void check_connection(struct sender *d, uint64_t now)
{
	uint64_t connections;
	enum link_state state = link_state(d->link, &connections);
	bool silent = d->count && now - d->heard_ns > SILENT_NS;

	if (connections != d->connections) {
		d->connections = connections;
		d->resend_ns = RESEND_FIRST;
		sender_begin_pass(d);
		sender_send_hello(d);
	}
	d->c.key_refused = check_keys(d, state, now);
	d->there = state == LINK_THERE;
	if (d->there && !silent)
		d->c.away_since_ns = 0;
	else if (!d->c.away_since_ns)
		d->c.away_since_ns = silent ? d->heard_ns : now;
	if (!d->c.away_since_ns)
		delivery_problem_over(&d->problems, PROBLEM_AWAY);
	else if (!d->c.key_refused && now - d->c.away_since_ns > AWAY_REPORT_NS)
		delivery_problem_is(&d->problems, PROBLEM_AWAY, now,
				    "the collector at '%s' does not answer; batches wait in the %s",
				    d->uri, d->own_log ? "spool" : "log");
	/* the answer may be lost: send again, with twice the time-out */
	if (d->count && now - d->heard_ns > d->resend_ns) {
		if (d->resend_ns < RESEND_MAX)
			d->resend_ns *= 2;
		sender_begin_pass(d);
	}
}

/* Reports the first loss, and keeps the number up to date. */
static void check_losses(struct sender *d, uint64_t dropped, uint64_t now)
{
	if (dropped)
		delivery_problem_is(
			&d->problems, PROBLEM_DROPPED, now,
			"%llu %s dropped since the start because the spool '%s' is full, "
			"the oldest first",
			(unsigned long long)dropped, plural(dropped, "batch was", "batches were"),
			d->spool);
	if (d->c.damaged)
		delivery_problem_is(&d->problems, PROBLEM_DAMAGED, now,
				    "the spool '%s' has %llu damaged %s: their samples are lost",
				    d->spool, (unsigned long long)d->c.damaged,
				    plural(d->c.damaged, "batch", "batches"));
}

/* Updates what callers see. True: it is time to end. */
static bool publish(struct sender *d, uint64_t now)
{
	struct commit_log_counts l;
	size_t waiting, bytes;

	commit_log_counts(d->log, &l);
	byte_queue_size(&d->queue, &waiting, &bytes);
	pthread_mutex_lock(&d->lock);
	uint64_t lost = d->lost_at_stop, overflowed = d->overflowed + lost;
	pthread_mutex_unlock(&d->lock);
	uint64_t dropped = overflowed + (d->own_log ? l.dropped_entries - d->rescued : 0);
	check_losses(d, dropped - d->dropped_before - lost, now);
	pthread_mutex_lock(&d->lock);
	d->shown = d->c;
	memcpy(d->shown.problem, d->problems.text, sizeof(d->shown.problem));
	d->shown.given = d->given;
	d->shown.dropped = dropped;
	d->shown.lost_at_stop = d->lost_at_stop;
	d->shown.spooled = d->own_log ? l.entries + waiting : 0;
	d->shown.spooled_bytes = d->own_log ? l.bytes + bytes : 0;
	d->position = d->settled;
	bool done = d->settled >= commit_log_next_number(d->log) && !waiting;
	bool end = d->stop && (done || now >= d->stop_until);
	d->ending = d->stop;
	pthread_mutex_unlock(&d->lock);
	return end;
}

static int pause_ms(const struct sender *d, uint64_t now)
{
	if (d->pause_until > now)
		return (int)((d->pause_until - now) / MS) + 1;
	if (!d->own_log)
		return 20;
	return d->count || d->c.disk_error || !d->there || d->ending ? 100 : 1000;
}

/* At the end: writes what is still in memory to the spool. What the disk does not take is lost and
 * counted. */
static void keep_rest(struct sender *d)
{
	uint64_t now = clock_boottime_ns();
	size_t waiting, bytes;

	sender_begin_pass(d);
	d->disk_retry_at = 0;
	sender_spool(d, now);
	byte_queue_size(&d->queue, &waiting, &bytes);
	pthread_mutex_lock(&d->lock);
	d->lost_at_stop = waiting;
	pthread_mutex_unlock(&d->lock);
	while (waiting--)
		free(byte_queue_take(&d->queue));
	(void)publish(d, now);
}

static void *work(void *user)
{
	struct sender *d = user;

	for (;;) {
		uint64_t now = clock_boottime_ns(), value;
		bool more = true;

		if (d->own_log)
			sender_spool(d, now);
		check_connection(d, now);
		while (more) {
			more = sender_take_answer(d, now);
			/* a new connection begins its own pass */
			if (d->there && now >= d->pause_until)
				more |= sender_send_one(d, now);
		}
		if (publish(d, now))
			break;
		struct pollfd fds[] = {
			{.fd = d->wake, .events = POLLIN},
			{.fd = link_descriptor(d->link), .events = POLLIN},
		};
		(void)poll(fds, ARRAY_SIZE(fds), pause_ms(d, now));
		if (fds[0].revents && read(d->wake, &value, sizeof(value)) < 0)
			continue;
	}
	if (d->own_log)
		keep_rest(d);
	return NULL;
}

/* ---- for callers ---- */

static void free_sender(struct sender *d)
{
	commit_log_reader_close(d->reader);
	if (d->own_log)
		commit_log_close(d->log);
	byte_queue_release(&d->queue);
	if (d->wake >= 0)
		close(d->wake);
	pthread_mutex_destroy(&d->lock);
	sequences_release(&d->chain);
	free(d->ring);
	free(d->node);
	free(d->uri);
	free(d->spool);
	free(d);
}

static int open_parts(struct sender *d, const struct sender_options *o, struct strbuf *why)
{
	struct commit_log_options spool = {
		.dir = o->spool,
		.limit = o->spool_limit ? o->spool_limit : SPOOL_DEFAULT,
		.segment = SPOOL_SEGMENT,
		.drop_oldest = true,
	};
	struct link_options link = {
		.kind = LINK_DEALER,
		.uri = o->uri,
		.keys = o->keys,
		.message_max = 65536, /* answers are short */
		.high_water = WINDOW_MAX + 16,
		.only_connected = true,
	};
	int r = 0;

	if (o->log)
		d->log = o->log;
	else
		r = commit_log_open(&d->log, &spool, why);
	if (r < 0)
		return r;
	d->own_log = !o->log;
	d->settled = commit_log_first(d->log);
	if (o->log && o->from > d->settled)
		d->settled = o->from;
	d->sent_to = d->looked_to = d->settled;
	if (d->own_log) {
		struct commit_log_counts l;

		commit_log_counts(d->log, &l);
		d->dropped_before = l.dropped_entries;
	}
	d->reader = commit_log_read_from(d->log, d->settled);
	return link_open(&d->link, &link, why);
}

int sender_start(struct sender **ret, const struct sender_options *o, struct strbuf *why)
{
	struct sender *d = xcalloc(1, sizeof(*d));

	byte_queue_init(&d->queue, QUEUE_BYTES);
	d->node = xstrdup(o->node ? o->node : "");
	d->uri = xstrdup(o->uri);
	d->spool = xstrdup(o->spool ? o->spool : "");
	d->problems = (struct delivery_problems){.say = o->say, .user = o->user};
	d->window = o->window ? o->window : WINDOW_DEFAULT;
	if (d->window > WINDOW_MAX)
		d->window = WINDOW_MAX;
	d->ring = xcalloc(d->window, sizeof(*d->ring));
	d->resend_ns = RESEND_FIRST;
	pthread_mutex_init(&d->lock, NULL);
	d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = d->wake < 0 ? -errno : open_parts(d, o, why);
	if (r == 0) {
		d->c.away_since_ns = clock_boottime_ns();
		(void)publish(d, 0);
		r = thread_start(&d->thread, 0, work, d);
	}
	if (r < 0) {
		if (!why->len)
			strbuf_addf(why, "cannot start the sender: %s", strerror(-r));
		link_close(d->link);
		free_sender(d);
		return r;
	}
	*ret = d;
	return 0;
}

static void wake(struct sender *d)
{
	uint64_t one = 1;

	if (write(d->wake, &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

int sender_batch(struct sender *d, const void *p, size_t n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct batch_name name;
	int r = batch_peek(p, n, &name, &why);

	if (r < 0)
		return r;
	bool fits = byte_queue_put(&d->queue, p, n);
	pthread_mutex_lock(&d->lock);
	d->given++;
	d->overflowed += !fits;
	pthread_mutex_unlock(&d->lock);
	wake(d);
	return fits ? 0 : -ENOBUFS;
}

void sender_counts(struct sender *d, struct sender_counts *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->shown;
	ret->given = d->given;
	pthread_mutex_unlock(&d->lock);
}

uint64_t sender_position(struct sender *d)
{
	pthread_mutex_lock(&d->lock);
	uint64_t ret = d->position;
	pthread_mutex_unlock(&d->lock);
	return ret;
}

uint64_t sender_stop(struct sender *d, uint64_t timeout_ns, struct sender_counts *ret)
{
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	d->stop_until = clock_boottime_ns() + timeout_ns;
	pthread_mutex_unlock(&d->lock);
	wake(d);
	pthread_join(d->thread, NULL);
	uint64_t first = commit_log_first(d->log), next = commit_log_next_number(d->log);
	uint64_t left = next - (first > d->settled ? first : d->settled);
	if (ret)
		sender_counts(d, ret);
	link_close(d->link);
	free_sender(d);
	return left;
}
