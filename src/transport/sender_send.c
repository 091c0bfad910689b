/*
 * The messages of the sender; see sender.h. Batches are read from the spool, starting with the
 * oldest that is not acknowledged, as many as the window holds. When something may have been lost
 * (a new connection, a NACK, a time-out) a new pass starts there again. Each batch names the one
 * before it, so that the collector never accepts one too early. The first batch of a pass says that
 * there is none before it, which stays true however late the message arrives.
 *
 * Batches that the disk does not take stay in memory, and are sent from there after those in the
 * spool: a full disk alone loses nothing.
 */
#include <string.h>

#include "core/text/text.h"
#include "transport/protocol.h"
#include "transport/sender_internal.h"

#define WINDOW_BYTES ((size_t)16 << 20)
#define SPOOL_AT_ONCE 64
#define DISK_RETRY (1000 * MS)
#define NO_ROOM_PAUSE (500 * MS)
#define NOT_ALLOWED_PAUSE (1000 * MS)
#define NOT_ALLOWED_MAX (30000 * MS)

/* ---- passes ---- */

static struct outstanding *ring_at(struct sender *d, size_t i)
{
	return &d->ring[(d->head + i) % d->window];
}

void sender_begin_pass(struct sender *d)
{
	d->pass++;
	d->count = d->bytes = d->from_memory = 0;
	d->held = NULL;
	sequences_clear(&d->chain);
	commit_log_reader_close(d->reader);
	d->reader = commit_log_read_from(d->log, d->settled);
}

/* Removes acknowledged batches from the window, the spool and memory, in order. */
static void settle(struct sender *d)
{
	uint64_t before = d->settled;

	while (d->count && ring_at(d, 0)->settled) {
		struct outstanding *o = ring_at(d, 0);

		d->bytes -= o->size;
		if (o->log_number) {
			d->settled = o->log_number + 1;
		} else {
			free(byte_queue_take(&d->queue));
			d->from_memory--;
		}
		d->head = (d->head + 1) % d->window;
		d->count--;
	}
	if (d->settled != before && d->own_log)
		commit_log_trim(d->log, d->settled);
}

/* ---- the spool ---- */

static void note_disk(struct sender *d, int error, uint64_t now)
{
	d->c.disk_error = error;
	if (error == 0 && d->read_error == 0) {
		delivery_problem_over(&d->problems, PROBLEM_DISK);
		return;
	}
	d->c.failed += error < 0;
	d->disk_retry_at = error < 0 ? now + DISK_RETRY : 0;
	if (error < 0)
		delivery_problem_is(
			&d->problems, PROBLEM_DISK, now,
			"cannot write to the spool '%s': %s; batches wait in memory, and are lost if "
			"the node daemon ends before",
			d->spool, strerror(-error));
	else
		delivery_problem_is(&d->problems, PROBLEM_DISK, now,
				    "cannot read the spool '%s': %s; its batches are kept",
				    d->spool, strerror(-d->read_error));
}

/* While batches from memory are being sent, the rest stays in memory. */
void sender_spool(struct sender *d, uint64_t now)
{
	struct commit_log_part parts[SPOOL_AT_ONCE];
	size_t count = 1, kept;
	int r = 0;

	if (d->from_memory || now < d->disk_retry_at)
		return;
	while (r == 0 && count) {
		const struct byte_queue_item *p = byte_queue_peek(&d->queue, 0);

		for (count = 0; p && count < SPOOL_AT_ONCE; p = byte_queue_peek(&d->queue, count))
			parts[count++] = (struct commit_log_part){p->data, p->n};
		r = count ? commit_log_append_all(d->log, parts, count, &kept) : 0;
		while (count && kept--)
			free(byte_queue_take(&d->queue));
	}
	note_disk(d, r, now);
}

/* ---- sending ---- */

static int send_batch(struct sender *d, uint64_t before, const void *p, size_t n)
{
	unsigned char words[16];
	const struct link_part parts[] = {
		{PROTOCOL_NAME, strlen(PROTOCOL_NAME)},
		{KIND_BATCH, strlen(KIND_BATCH)},
		{words, sizeof(words)},
		{p, n},
	};

	pl_put_u64(words, d->pass);
	pl_put_u64(words + 8, before);
	return link_send(d->link, parts, ARRAY_SIZE(parts));
}

/* Counts entries of the spool that were skipped before this number and not dropped: they are
 * damaged. Each counts once. */
static void look_to(struct sender *d, uint64_t number, uint64_t next)
{
	uint64_t expected = commit_log_first(d->log);

	if (expected < d->looked_to)
		expected = d->looked_to;
	if (d->own_log && number > expected)
		d->c.damaged += number - expected;
	if (next > d->looked_to)
		d->looked_to = next;
}

/* Reads the next entry of the spool, or of memory if there is no more. */
static bool hold_next(struct sender *d, uint64_t now)
{
	const void *p;
	uint64_t number;
	size_t n;

	if (d->held)
		return true;
	int got = d->from_memory ? 0 : commit_log_reader_next(d->reader, &p, &n, &number);
	if (got > 0) {
		look_to(d, number, number + 1);
		d->held = p;
		d->held_size = n;
		d->held_number = number;
	}
	if (d->own_log && (got < 0 || (got > 0 && d->read_error < 0))) {
		d->read_error = got < 0 ? got : 0;
		note_disk(d, d->c.disk_error, now);
	}
	if (got || !d->own_log)
		return got > 0; /* after an error it is read again later */
	if (!d->count) {
		number = commit_log_synced_next(d->log);
		look_to(d, number, number);
		d->settled = number; /* past what was damaged or dropped */
	}
	struct byte_queue_item *one =
		d->c.disk_error ? byte_queue_peek(&d->queue, d->from_memory) : NULL;
	if (one) {
		d->held = one->data;
		d->held_size = one->n;
		d->held_number = 0;
	}
	return one != NULL;
}

bool sender_send_one(struct sender *d, uint64_t now)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct outstanding o = {0};

	if (d->count >= d->window || (d->count && d->bytes > WINDOW_BYTES) || !hold_next(d, now))
		return false;
	o.log_number = d->held_number;
	o.size = d->held_size;
	if (batch_peek(d->held, d->held_size, &o.name, &why) < 0) {
		d->c.refused++; /* from a collector's log: the next one would refuse it */
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

void sender_send_hello(struct sender *d)
{
	const struct link_part parts[] = {
		{PROTOCOL_NAME, strlen(PROTOCOL_NAME)},
		{KIND_HELLO, strlen(KIND_HELLO)},
		{d->node, strlen(d->node)},
		{PL_VERSION, strlen(PL_VERSION)},
	};

	(void)link_send(d->link, parts, ARRAY_SIZE(parts));
}

/* ---- answers ---- */

static bool is_of(const struct outstanding *o, uint64_t boot, const struct link_part *node)
{
	return o->name.boot == boot && strlen(o->name.node) == node->size &&
	       !memcmp(o->name.node, node->data, node->size);
}

static void take_ack(struct sender *d, const struct link_part *words, const struct link_part *node)
{
	uint64_t boot, number;

	if (words->size != 16)
		return;
	boot = pl_get_u64(words->data);
	number = pl_get_u64((const char *)words->data + 8);
	uint64_t first = d->own_log ? commit_log_first(d->log) : 0;
	for (size_t i = 0; i < d->count; i++) {
		struct outstanding *o = ring_at(d, i);

		if (o->settled || o->name.number > number || !is_of(o, boot, node))
			continue;
		o->settled = true;
		d->c.acknowledged++;
		/* the spool dropped it while it was being sent */
		d->rescued += o->log_number && o->log_number < first;
		d->resend_ns = RESEND_FIRST;
		d->not_allowed_ns = 0;
		d->c.refusing = false;
		delivery_problem_over(&d->problems, PROBLEM_NAME);
		delivery_problem_over(&d->problems, PROBLEM_ROOM);
	}
	settle(d);
}

/* The collector will never store it. */
static void give_up(struct sender *d, uint64_t boot, uint64_t number, const struct link_part *node,
		    uint64_t now)
{
	for (size_t i = 0; i < d->count; i++) {
		struct outstanding *o = ring_at(d, i);

		if (o->settled || o->name.number != number || !is_of(o, boot, node))
			continue;
		o->settled = true;
		d->c.refused++;
		delivery_problem_is(
			&d->problems, PROBLEM_REFUSED, now,
			"the collector at '%s' refused %llu invalid %s, the last one from '%s': %s",
			d->uri, (unsigned long long)d->c.refused,
			plural(d->c.refused, "batch", "batches"), o->name.node, d->c.reason);
	}
	settle(d);
}

/* The collector accepts nothing for now: keeps everything and tries again later. */
static void hold_back(struct sender *d, enum nack_reason reason, uint64_t now)
{
	const char *place = d->own_log ? "spool" : "log";

	d->c.refusing = true;
	if (reason != NACK_NOT_ALLOWED && reason != NACK_WITHDRAWN) {
		d->pause_until = now + NO_ROOM_PAUSE;
		delivery_problem_is(&d->problems, PROBLEM_ROOM, now,
				    "the collector at '%s' has no room: %s; batches wait in the %s",
				    d->uri, d->c.reason, place);
		return;
	}
	d->not_allowed_ns = d->not_allowed_ns ? 2 * d->not_allowed_ns : (uint64_t)NOT_ALLOWED_PAUSE;
	if (d->not_allowed_ns > NOT_ALLOWED_MAX)
		d->not_allowed_ns = NOT_ALLOWED_MAX;
	d->pause_until = now + d->not_allowed_ns;
	delivery_problem_is(
		&d->problems, PROBLEM_NAME, now,
		"the collector at '%s' refuses batches of '%s' with our key: %s; run `plimsoll keys "
		"allow` there; batches wait in the %s",
		d->uri, d->node, d->c.reason, place);
}

static void take_nack(struct sender *d, const struct link_part *words, const struct link_part *node,
		      const struct link_part *text, uint64_t now)
{
	const char *w = words->data;

	if (words->size != 32)
		return;
	uint64_t boot = pl_get_u64(w), number = pl_get_u64(w + 8), reason = pl_get_u64(w + 24);
	if (reason != NACK_EARLY) {
		_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

		text_add_printable(&plain, text->data, text->size < 100 ? text->size : 100);
		snprintf(d->c.reason, sizeof(d->c.reason), "%s", plain.buf);
	}
	/* batches forwarded for others must not block the rest */
	bool ours = d->own_log && strlen(d->node) == node->size &&
		    !memcmp(d->node, node->data, node->size);
	if (reason == NACK_REFUSED || (reason == NACK_NOT_ALLOWED && !ours)) {
		give_up(d, boot, number, node, now);
		return;
	}
	if (pl_get_u64(w + 16) != d->pass)
		return; /* of an earlier pass, which has ended */
	if (reason != NACK_EARLY)
		hold_back(d, reason, now);
	sender_begin_pass(d);
}

/* Invalid answers are ignored: the time-out covers them. */
bool sender_take_answer(struct sender *d, uint64_t now)
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
