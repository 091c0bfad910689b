/*
 * Delivery; see deliver.h. The thread reads the spool from the oldest entry that was not
 * acknowledged on, and sends as many as the window holds. Whenever something may have been lost (a
 * new connection, a NACK, no answer for too long) it begins again there: a new pass. Each batch
 * names the one before it, so that the collector never takes one too early, and the first of a pass
 * says that there is none: that stays true for ever, however late the message comes.
 *
 * Batches that the disk does not take stay in memory, and are sent from there behind all that is in
 * the spool: a full disk alone loses nothing.
 */
#include "pipeline/deliver.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "formats/batch.h"
#include "pipeline/parcels.h"
#include "pipeline/protocol.h"
#include "pipeline/sequences.h"

#define SPOOL_DEFAULT ((uint64_t)256 << 20)
#define SPOOL_SEGMENT ((uint64_t)4 << 20)
#define WINDOW_DEFAULT 32
#define WINDOW_MAX 1024
#define WINDOW_BYTES ((size_t)16 << 20)
#define QUEUE_BYTES ((size_t)16 << 20)
#define MS 1000000ull
#define RESEND_FIRST (3000 * MS)
#define RESEND_MAX (60000 * MS)
#define DISK_RETRY (1000 * MS)
#define NO_ROOM_PAUSE (500 * MS)
#define SILENT_NS (15000 * MS) /* without an answer for so long, the collector is away */

/* A batch that was sent and not yet acknowledged. */
struct outstanding {
	uint64_t log_number; /* 0: from memory */
	struct batch_name name;
	size_t size;
	bool settled;
};

struct deliver {
	struct batchlog *log;
	bool own_log;
	struct link *link;
	char *node;
	pthread_t thread;
	int wake;
	unsigned window;

	struct parcels queue; /* waits for the disk */
	pthread_mutex_t lock;
	/* under lock: what callers and thread share */
	bool stop;
	uint64_t stop_until;
	uint64_t given, overflowed;
	struct deliver_counts shown;
	uint64_t position;

	/* the thread's own */
	struct deliver_counts c;
	struct batchlog_reader *reader;
	struct sequences chain; /* of this pass: the last one sent of each */
	struct outstanding *ring;
	size_t head, count, bytes;
	size_t from_memory; /* of those outstanding */
	uint64_t settled;   /* number of the first log entry that was not acknowledged */
	uint64_t sent_to;   /* log number behind the highest that was ever sent */
	uint64_t pass;
	const void *held; /* was read, and could not be sent yet */
	size_t held_size;
	uint64_t held_number;
	bool there, ending;
	uint64_t connections;
	uint64_t heard_ns;    /* of the last answer, or of the first message since */
	uint64_t resend_ns;   /* how long to wait for one */
	uint64_t pause_until; /* nothing is sent before */
	uint64_t disk_retry_at;
};

/* ---- passes ------------------------------------------------------------------------------------
 */

static struct outstanding *ring_at(struct deliver *d, size_t i)
{
	return &d->ring[(d->head + i) % d->window];
}

static void begin_pass(struct deliver *d)
{
	d->pass++;
	d->count = d->bytes = d->from_memory = 0;
	d->held = NULL;
	sequences_clear(&d->chain);
	batchlog_reader_close(d->reader);
	d->reader = batchlog_read_from(d->log, d->settled);
}

/* Takes what was acknowledged out of the window, the spool and memory, in order. */
static void settle(struct deliver *d)
{
	uint64_t before = d->settled;

	while (d->count && ring_at(d, 0)->settled) {
		struct outstanding *o = ring_at(d, 0);

		d->bytes -= o->size;
		if (o->log_number) {
			d->settled = o->log_number + 1;
		} else {
			free(parcels_take(&d->queue));
			d->from_memory--;
		}
		d->head = (d->head + 1) % d->window;
		d->count--;
	}
	if (d->settled != before && d->own_log)
		batchlog_trim(d->log, d->settled);
}

/* ---- the spool ---------------------------------------------------------------------------------
 */

static void free_parcels(struct parcel *list)
{
	while (list) {
		struct parcel *p = list;

		list = p->next;
		free(p);
	}
}

/* Moves what waits into the spool. While some of it is on its way from memory, it stays there. */
static void spool_queue(struct deliver *d, uint64_t now)
{
	struct parcel *done = NULL, *p; /* appended, the last one first */
	uint64_t number;
	int r = 0;

	if (d->from_memory || now < d->disk_retry_at)
		return;
	while ((p = parcels_peek(&d->queue, 0))) {
		r = batchlog_append(d->log, p->data, p->n, &number);
		if (r < 0)
			break;
		(void)parcels_take(&d->queue);
		p->next = done;
		done = p;
	}
	int sync = done ? batchlog_sync(d->log) : 0;
	if (sync < 0)
		r = sync; /* and none of them is in the spool */
	while (sync < 0 && done) {
		p = done;
		done = p->next;
		parcels_return(&d->queue, p);
	}
	free_parcels(done);
	if (r < 0) {
		d->c.failed++;
		d->disk_retry_at = now + DISK_RETRY;
	}
	d->c.disk_error = r;
}

/* ---- sending -----------------------------------------------------------------------------------
 */

static int send_batch(struct deliver *d, uint64_t before, const void *p, size_t n)
{
	unsigned char words[16];
	const struct link_part parts[] = {
		{PROTOCOL_NAME, strlen(PROTOCOL_NAME)},
		{KIND_BATCH, strlen(KIND_BATCH)},
		{words, sizeof(words)},
		{p, n},
	};

	put_word(words, d->pass);
	put_word(words + 8, before);
	return link_send(d->link, parts, ARRAY_SIZE(parts));
}

/* The next entry of the spool, or of memory once there is no more. */
static bool hold_next(struct deliver *d)
{
	const void *p;
	uint64_t number;
	size_t n;

	if (d->held)
		return true;
	if (!d->from_memory && batchlog_reader_next(d->reader, &p, &n, &number) > 0) {
		d->held = p;
		d->held_size = n;
		d->held_number = number;
		return true;
	}
	if (!d->own_log)
		return false;
	if (!d->count)
		d->settled = batchlog_next_number(d->log); /* whatever was damaged or dropped */
	struct parcel *one = d->c.disk_error ? parcels_peek(&d->queue, d->from_memory) : NULL;
	if (one) {
		d->held = one->data;
		d->held_size = one->n;
		d->held_number = 0;
	}
	return one != NULL;
}

/* False when it would block, or there is nothing to send. */
static bool send_one(struct deliver *d, uint64_t now)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct outstanding o = {0};

	if (d->count >= d->window || (d->count && d->bytes > WINDOW_BYTES) || !hold_next(d))
		return false;
	o.log_number = d->held_number;
	o.size = d->held_size;
	if (batch_peek(d->held, d->held_size, &o.name, &why) < 0) {
		d->c.refused++; /* in somebody's else log: it would be refused over there */
		o.settled = true;
	} else {
		struct sequence *s = sequence_of(&d->chain, o.name.node, o.name.boot);

		if (send_batch(d, s->last, d->held, d->held_size) < 0)
			return false;
		s->last = o.name.number;
		if (!o.log_number || o.log_number >= d->sent_to)
			d->c.sent++;
		else
			d->c.resent++;
		if (o.log_number >= d->sent_to)
			d->sent_to = o.log_number + 1;
	}
	if (!d->count)
		d->heard_ns = now;
	d->from_memory += !o.log_number;
	d->bytes += o.size;
	*ring_at(d, d->count++) = o;
	d->held = NULL;
	settle(d);
	return true;
}

static void send_hello(struct deliver *d)
{
	const struct link_part parts[] = {
		{PROTOCOL_NAME, strlen(PROTOCOL_NAME)},
		{KIND_HELLO, strlen(KIND_HELLO)},
		{d->node, strlen(d->node)},
		{PL_VERSION, strlen(PL_VERSION)},
	};

	(void)link_send(d->link, parts, ARRAY_SIZE(parts));
}

/* ---- answers -----------------------------------------------------------------------------------
 */

static bool is_of(const struct outstanding *o, uint64_t boot, const struct link_part *node)
{
	return o->name.boot == boot && strlen(o->name.node) == node->size &&
	       !memcmp(o->name.node, node->data, node->size);
}

static void take_ack(struct deliver *d, const struct link_part *words, const struct link_part *node)
{
	uint64_t boot, number;

	if (words->size != 16)
		return;
	boot = get_word(words->data);
	number = get_word((const char *)words->data + 8);
	for (size_t i = 0; i < d->count; i++) {
		struct outstanding *o = ring_at(d, i);

		if (o->settled || o->name.number > number || !is_of(o, boot, node))
			continue;
		o->settled = true;
		d->c.acknowledged++;
		d->resend_ns = RESEND_FIRST;
	}
	settle(d);
}

static void take_nack(struct deliver *d, const struct link_part *words,
		      const struct link_part *node, const struct link_part *text, uint64_t now)
{
	const char *w = words->data;

	if (words->size != 32)
		return;
	uint64_t boot = get_word(w), number = get_word(w + 8), reason = get_word(w + 24);
	if (reason != NACK_REFUSED) {
		if (get_word(w + 16) != d->pass)
			return; /* of an earlier pass: this one began for it */
		if (reason == NACK_NO_ROOM)
			d->pause_until = now + NO_ROOM_PAUSE;
		begin_pass(d);
		return;
	}
	for (size_t i = 0; i < d->count; i++) {
		struct outstanding *o = ring_at(d, i);

		if (o->settled || o->name.number != number || !is_of(o, boot, node))
			continue;
		o->settled = true;
		d->c.refused++;
		snprintf(d->c.reason, sizeof(d->c.reason), "%.*s",
			 (int)(text->size < 100 ? text->size : 100), (const char *)text->data);
	}
	settle(d);
}

/* Whether there was one. What makes no sense is passed over: the time-out covers it. */
static bool take_answer(struct deliver *d, uint64_t now)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;

	if (link_receive(d->link, parts, &count) <= 0)
		return false;
	if (count < 2 || !link_part_is(&parts[0], PROTOCOL_NAME))
		return true;
	d->heard_ns = now;
	if (count >= 4 && link_part_is(&parts[1], KIND_ACK))
		take_ack(d, &parts[2], &parts[3]);
	else if (count >= 5 && link_part_is(&parts[1], KIND_NACK))
		take_nack(d, &parts[2], &parts[3], &parts[4], now);
	return true;
}

/* ---- the thread --------------------------------------------------------------------------------
 */

static void check_connection(struct deliver *d, uint64_t now)
{
	uint64_t connections;
	enum link_state state = link_state(d->link, &connections);
	bool silent = d->count && now - d->heard_ns > SILENT_NS;

	if (connections != d->connections) {
		d->connections = connections;
		d->resend_ns = RESEND_FIRST;
		begin_pass(d);
		send_hello(d);
	}
	d->c.key_refused = state == LINK_KEY_REFUSED;
	d->there = state == LINK_THERE;
	if (d->there && !silent)
		d->c.away_since_ns = 0;
	else if (!d->c.away_since_ns)
		d->c.away_since_ns = silent ? d->heard_ns : now;
	/* no answer: perhaps it was lost; twice as patient each time */
	if (d->count && now - d->heard_ns > d->resend_ns) {
		if (d->resend_ns < RESEND_MAX)
			d->resend_ns *= 2;
		begin_pass(d);
	}
}

/* What callers see. True when it is time to end. */
static bool publish(struct deliver *d, uint64_t now)
{
	struct batchlog_counts l;
	size_t waiting, bytes;

	batchlog_counts(d->log, &l);
	parcels_size(&d->queue, &waiting, &bytes);
	pthread_mutex_lock(&d->lock);
	d->shown = d->c;
	d->shown.given = d->given;
	d->shown.dropped = d->overflowed + (d->own_log ? l.dropped_entries : 0);
	d->shown.spooled = d->own_log ? l.entries + waiting : 0;
	d->shown.spooled_bytes = d->own_log ? l.bytes + bytes : 0;
	d->position = d->settled;
	bool done = d->settled >= batchlog_next_number(d->log) && !waiting;
	bool end = d->stop && (done || now >= d->stop_until);
	d->ending = d->stop;
	pthread_mutex_unlock(&d->lock);
	return end;
}

static int pause_ms(const struct deliver *d, uint64_t now)
{
	if (d->pause_until > now)
		return (int)((d->pause_until - now) / MS) + 1;
	if (!d->own_log)
		return 20;
	return d->count || d->c.disk_error || !d->there || d->ending ? 100 : 1000;
}

static void *work(void *user)
{
	struct deliver *d = user;

	for (;;) {
		uint64_t now = clock_boottime_ns(), value;
		bool more = true;

		if (d->own_log)
			spool_queue(d, now);
		check_connection(d, now);
		while (more) {
			more = take_answer(d, now);
			/* a connection that we have not heard of yet begins a pass of its own */
			if (d->there && now >= d->pause_until)
				more |= send_one(d, now);
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
	return NULL;
}

/* ---- for callers -------------------------------------------------------------------------------
 */

static void free_deliver(struct deliver *d)
{
	batchlog_reader_close(d->reader);
	if (d->own_log)
		batchlog_close(d->log);
	parcels_release(&d->queue);
	if (d->wake >= 0)
		close(d->wake);
	pthread_mutex_destroy(&d->lock);
	sequences_release(&d->chain);
	free(d->ring);
	free(d->node);
	free(d);
}

static int open_parts(struct deliver *d, const struct deliver_options *o, struct strbuf *why)
{
	struct batchlog_options spool = {
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
		r = batchlog_open(&d->log, &spool, why);
	if (r < 0)
		return r;
	d->own_log = !o->log;
	d->settled = batchlog_first(d->log);
	if (o->log && o->from > d->settled)
		d->settled = o->from;
	d->sent_to = d->settled;
	d->reader = batchlog_read_from(d->log, d->settled);
	return link_open(&d->link, &link, why);
}

static int start_thread(struct deliver *d)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&d->thread, NULL, work, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int deliver_start(struct deliver **ret, const struct deliver_options *o, struct strbuf *why)
{
	struct deliver *d = xcalloc(1, sizeof(*d));

	parcels_init(&d->queue, QUEUE_BYTES);
	d->node = xstrdup(o->node ? o->node : "");
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
		r = start_thread(d);
	}
	if (r < 0) {
		if (!why->len)
			strbuf_addf(why, "cannot begin delivery: %s", strerror(-r));
		link_close(d->link);
		free_deliver(d);
		return r;
	}
	*ret = d;
	return 0;
}

static void wake(struct deliver *d)
{
	uint64_t one = 1;

	if (write(d->wake, &one, sizeof(one)) < 0)
		return; /* it is awake for sure */
}

int deliver_batch(struct deliver *d, const void *p, size_t n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct batch_name name;
	int r = batch_peek(p, n, &name, &why);

	if (r < 0)
		return r;
	bool fits = parcels_put(&d->queue, p, n);
	pthread_mutex_lock(&d->lock);
	d->given++;
	d->overflowed += !fits;
	pthread_mutex_unlock(&d->lock);
	wake(d);
	return fits ? 0 : -ENOBUFS;
}

void deliver_counts(struct deliver *d, struct deliver_counts *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->shown;
	ret->given = d->given;
	pthread_mutex_unlock(&d->lock);
}

uint64_t deliver_position(struct deliver *d)
{
	pthread_mutex_lock(&d->lock);
	uint64_t ret = d->position;
	pthread_mutex_unlock(&d->lock);
	return ret;
}

uint64_t deliver_stop(struct deliver *d, uint64_t timeout_ns)
{
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	d->stop_until = clock_boottime_ns() + timeout_ns;
	pthread_mutex_unlock(&d->lock);
	wake(d);
	pthread_join(d->thread, NULL);
	uint64_t first = batchlog_first(d->log), next = batchlog_next_number(d->log);
	uint64_t left = next - (first > d->settled ? first : d->settled);
	link_close(d->link);
	free_deliver(d);
	return left;
}
