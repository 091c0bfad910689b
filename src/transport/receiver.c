/*
 * The receiver; see receiver.h. One thread takes messages until there are none, a group is full, or
 * its oldest message has waited long enough; then it syncs once for all, then it answers. A batch
 * is accepted only after the one before it, so the last number of each (node, boot) is all there is
 * to know, and duplicates are recognised by it.
 */
#include "transport/receiver.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/crc32c_bulk.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "core/system/thread.h"
#include "core/text/text.h"
#include "transport/batch.h"
#include "transport/keyring.h"
#include "transport/protocol.h"
#include "transport/receiver_state.h"

#define MS 1000000ull
#define SYNC_DEFAULT (5 * MS)
#define GROUP_MAX 1024
#define PLACES (2 * GROUP_MAX)
#define GROUP_BYTES ((size_t)8 << 20)
#define HIGH_WATER 16 /* batches that we hold for a peer */
#define HANDLE_MAX 256
#define LOGGED_MAX 256
#define CHECKPOINT_ENTRIES 4096
#define CHECKPOINT_NS (2000 * MS)
#define REFUSED_EVERY (1000 * MS)

/* A batch that was accepted and is not yet in the log. */
struct taken {
	char handle[HANDLE_MAX];
	size_t handle_size;
	struct batch_name name;
	uint64_t pass;
	char *data; /* NULL: it is in the log already, and waits for those before it */
	size_t size;
	uint64_t gap; /* missing numbers before it: its node has dropped them */
};

struct receive {
	struct link *link;
	struct commit_log *log;
	const char *const *names;
	size_t name_count;
	int dir, wake;
	uint64_t sync_ns;
	struct strbuf endpoint;
	pthread_t thread;
	pthread_mutex_t trimming; /* one checkpoint at a time */

	pthread_mutex_t lock;
	/* below: under lock */
	bool stop;
	struct sequences known;
	struct sending_nodes senders;
	struct receiver_counts c;
	uint64_t durable_next; /* known covers the log below this number */

	/* under trimming */
	uint64_t checkpoint; /* number that the last one covers */
	uint64_t checkpoint_ns;

	/* the thread's own */
	struct taken *group;
	size_t group_count, group_bytes;
	uint64_t group_since;
	bool full;                /* the log could not be written */
	uint64_t full_logged_ns;  /* when that was logged; 0: not since the log works */
	char *logged[LOGGED_MAX]; /* peers of invalid messages */
	size_t logged_count;
	uint64_t refused_at;
};

/* Logs the first invalid message of a peer. */
static void log_once(struct receive *r, const char *what)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT, peer = STRBUF_INIT;

	link_peer(r->link, &peer);
	text_add_printable(&line, peer.buf, peer.len);
	for (size_t i = 0; i < r->logged_count; i++)
		if (!strcmp(r->logged[i], line.buf))
			return;
	if (r->logged_count == LOGGED_MAX)
		return;
	log_warn("dropped an invalid batch from %s: %s; further ones are not logged", line.buf,
		 what);
	r->logged[r->logged_count++] = strbuf_take(&line);
}

/* ---- groups ---- */

static bool same_sequence(const struct taken *a, const struct taken *b)
{
	return a->name.boot == b->name.boot && a->handle_size == b->handle_size &&
	       !memcmp(a->handle, b->handle, a->handle_size) && !strcmp(a->name.node, b->name.node);
}

static size_t home_of(const struct taken *t)
{
	uint32_t sum = crc32c_bulk(0, t->name.node, strlen(t->name.node));

	return crc32c_bulk(sum, &t->name.boot, sizeof(t->name.boot)) & (PLACES - 1);
}

/* An acknowledgement covers all batches before it: only the last of each sequence gets one. */
static void acknowledge(struct receive *r, size_t count)
{
	uint16_t places[PLACES] = {0}; /* hash table of index plus one; 0: free */
	bool last[GROUP_MAX] = {false};

	for (size_t i = count; i--;) {
		size_t at = home_of(&r->group[i]);

		while (places[at] && !same_sequence(&r->group[i], &r->group[places[at] - 1]))
			at = (at + 1) & (PLACES - 1);
		last[i] = !places[at];
		if (last[i])
			places[at] = (uint16_t)(i + 1);
	}
	for (size_t i = 0; i < count; i++) {
		const struct taken *t = &r->group[i];
		struct link_part handle = {t->handle, t->handle_size};

		if (last[i])
			receive_send_ack(r->link, &handle, t->name.node, t->name.boot,
					 t->name.number);
	}
}

static void count_sender(struct receive *r, const struct taken *t, int64_t now_us)
{
	struct sending_node *s = sending_node_of(&r->senders, t->name.node);

	s->last_us = now_us;
	s->batches++;
	s->dropped += t->gap;
}

/* These are in the log and synced. */
static void keep(struct receive *r, size_t count)
{
	int64_t now = clock_realtime_us();

	for (size_t i = 0; i < count; i++) {
		const struct taken *t = &r->group[i];
		struct sequence *q = sequence_of(&r->known, t->name.node, t->name.boot);

		if (q->durable < t->name.number)
			q->durable = t->name.number;
		if (t->data)
			count_sender(r, t, now);
		r->c.batches += t->data != NULL;
		r->c.bytes += t->size;
	}
	acknowledge(r, count);
}

/* Those from here on are not: forgets that they were accepted. */
static void give_up(struct receive *r, size_t from, const char *reason)
{
	for (size_t i = from; i < r->group_count; i++) {
		const struct taken *t = &r->group[i];
		struct sequence *q = sequence_of(&r->known, t->name.node, t->name.boot);

		q->last = q->durable;
		r->c.no_room += t->data != NULL;
		receive_send_nack(r->link, &(struct link_part){t->handle, t->handle_size}, &t->name,
				  t->pass, NACK_NO_ROOM, reason);
	}
}

/* A small batch may fit where a larger one did not, so this is logged at most once a minute. */
static void note_full(struct receive *r, int error)
{
	uint64_t now = clock_boottime_ns();
	bool lately = r->full_logged_ns && now - r->full_logged_ns < 60000000000ull;

	if (!r->full && error < 0 && !lately) {
		log_error("cannot write the log: %s; nodes keep their batches", strerror(-error));
		r->full_logged_ns = now;
	} else if (error == 0 && r->full_logged_ns && !lately) {
		log_warn("the log can be written again");
		r->full_logged_ns = 0;
	}
	r->full = error < 0;
}

/* Appends the group to the log; *ret_kept: how many of it, from the first, were written. */
static int append_group(struct receive *r, size_t *ret_kept)
{
	_cleanup_free_ struct commit_log_part *parts = xcalloc(r->group_count, sizeof(*parts));
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < r->group_count; i++)
		if (r->group[i].data)
			parts[count++] =
				(struct commit_log_part){r->group[i].data, r->group[i].size};
	int error = commit_log_append_all(r->log, parts, count, &kept);
	for (*ret_kept = 0; *ret_kept < r->group_count; ++*ret_kept)
		if (r->group[*ret_kept].data && !kept--)
			break;
	return error;
}

static void commit(struct receive *r)
{
	size_t kept;

	if (!r->group_count)
		return;
	int error = append_group(r, &kept);
	pthread_mutex_lock(&r->lock);
	r->c.syncs++;
	keep(r, kept);
	if (kept < r->group_count)
		give_up(r, kept, strerror(-error));
	r->durable_next = commit_log_synced_next(r->log);
	pthread_mutex_unlock(&r->lock);
	note_full(r, error);
	while (r->group_count)
		free(r->group[--r->group_count].data);
	r->group_bytes = 0;
}

/* ---- messages ---- */

/* The pattern of nodes that the peer of the last message may send for; NULL: its key was revoked.
 */
static const char *allowed_for(const struct receive *r)
{
	int key = link_peer_key(r->link);

	if (!r->names || key < 0)
		return "*";
	return (size_t)key < r->name_count ? r->names[key] : NULL;
}

/* Adds to the group; it is answered when it is in the log. batch NULL: it is there already. */
static void add_taken(struct receive *r, const struct link_part *handle, uint64_t pass,
		      const struct batch_name *name, const struct link_part *batch,
		      struct sequence *q)
{
	struct taken *t = &r->group[r->group_count];

	memcpy(t->handle, handle->data, handle->size);
	t->handle_size = handle->size;
	t->name = *name;
	t->pass = pass;
	t->gap = q->last && name->number > q->last + 1 ? name->number - q->last - 1 : 0;
	t->size = batch ? batch->size : 0;
	t->data = batch ? memcpy(xmalloc(batch->size), batch->data, batch->size) : NULL;
	r->group_bytes += t->size;
	if (!r->group_count++)
		r->group_since = clock_boottime_ns();
	q->last = name->number;
}

static void refuse(struct receive *r, const struct link_part *handle, const struct batch_name *name,
		   uint64_t pass, enum nack_reason code, const char *why)
{
	r->c.bad++;
	log_once(r, why);
	receive_send_nack(r->link, handle, name, pass, code, why);
}

static void take_batch(struct receive *r, const struct link_part *handle,
		       const struct link_part *words, const struct link_part *batch)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t pass = pl_get_u64(words->data), before = pl_get_u64((const char *)words->data + 8);
	struct batch_name name;

	if (batch_peek(batch->data, batch->size, &name, &why) < 0) {
		r->c.bad++;
		log_once(r, why.buf);
		return;
	}
	const char *pattern = allowed_for(r);
	if (!pattern) {
		/* its node keeps its batches, in case that was a mistake */
		r->c.withdrawn++;
		strbuf_addf(&why, "its key was revoked (node '%s')", name.node);
		log_once(r, why.buf);
		receive_send_nack(r->link, handle, &name, pass, NACK_WITHDRAWN,
				  "the key was revoked");
		return;
	}
	if (!keyring_names_match(pattern, name.node)) {
		strbuf_addf(&why, "its key is not allowed for node '%s'", name.node);
		refuse(r, handle, &name, pass, NACK_NOT_ALLOWED, why.buf);
		return;
	}
	struct sequence *q = sequence_of(&r->known, name.node, name.boot);
	if (!q->owner)
		q->owner = link_peer_number(r->link);
	if (name.number <= q->last) {
		r->c.duplicates++;
		/* those in the group are acknowledged with it */
		if (name.number <= q->durable)
			receive_send_ack(r->link, handle, name.node, name.boot, q->durable);
		return;
	}
	if (before <= q->last && sequence_is_beyond(q, name.number)) {
		r->c.duplicates++;
		add_taken(r, handle, pass, &name, NULL, q);
		return;
	}
	if (before > q->last) {
		r->c.early++;
		receive_send_nack(r->link, handle, &name, pass, NACK_EARLY,
				  "batches before it are missing");
		return;
	}
	int e = receiver_check_batch(batch->data, batch->size, pattern, &why);
	if (e == -EBADMSG) {
		q->last = name.number;
		sending_node_of(&r->senders, name.node)->refused++;
		refuse(r, handle, &name, pass, NACK_REFUSED, why.buf);
	} else {
		add_taken(r, handle, pass, &name, batch, q);
	}
}

static void take_message(struct receive *r, const struct link_part *parts, size_t count)
{
	static const struct link_part version = {PL_VERSION, sizeof(PL_VERSION) - 1};
	const struct link_part *handle = &parts[0];

	if (count >= 5 && handle->size <= HANDLE_MAX && link_part_is(&parts[1], PROTOCOL_NAME) &&
	    link_part_is(&parts[2], KIND_BATCH) && parts[3].size == 16) {
		take_batch(r, handle, &parts[3], &parts[4]);
	} else if (count >= 5 && link_part_is(&parts[1], PROTOCOL_NAME) &&
		   link_part_is(&parts[2], KIND_HELLO)) {
		receive_answer(r->link, handle, KIND_HELLO,
			       (struct link_part[]){{"collector", strlen("collector")}, version},
			       2);
	} else {
		r->c.bad++;
		log_once(r, "not a message of this protocol");
	}
}

/* ---- the thread ---- */

static void say_refused(struct receive *r, uint64_t now)
{
	if (now < r->refused_at)
		return;
	r->refused_at = now + REFUSED_EVERY;
	pthread_mutex_lock(&r->lock);
	link_log_refused(r->link, &r->c.refused, &r->c.closed);
	pthread_mutex_unlock(&r->lock);
}

/* Takes messages while there are any and the group has room. */
static void take_messages(struct receive *r)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;

	while (r->group_count < GROUP_MAX && r->group_bytes < GROUP_BYTES &&
	       !(r->group_count && clock_boottime_ns() - r->group_since >= r->sync_ns) &&
	       link_receive(r->link, parts, &count) > 0) {
		pthread_mutex_lock(&r->lock);
		take_message(r, parts, count);
		pthread_mutex_unlock(&r->lock);
	}
}

static bool is_due(const struct receive *r, uint64_t now)
{
	return r->group_count && (r->group_count == GROUP_MAX || r->group_bytes >= GROUP_BYTES ||
				  now - r->group_since >= r->sync_ns);
}

/* Others append to the log as well: everything in it by now is known. */
static void cover_others(struct receive *r)
{
	pthread_mutex_lock(&r->lock);
	r->durable_next = commit_log_synced_next(r->log);
	pthread_mutex_unlock(&r->lock);
}

static void *work(void *user)
{
	struct receive *r = user;
	uint64_t value;

	for (;;) {
		take_messages(r);
		uint64_t now = clock_boottime_ns();
		if (is_due(r, now)) {
			commit(r);
			continue; /* there may be more, and the descriptor is edge-triggered */
		}
		say_refused(r, now);
		cover_others(r);
		uint64_t wait = r->group_count ? r->group_since + r->sync_ns - now : REFUSED_EVERY;
		struct timespec pause = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
		struct pollfd fds[] = {
			{.fd = r->wake, .events = POLLIN},
			{.fd = link_descriptor(r->link), .events = POLLIN},
		};
		(void)ppoll(fds, ARRAY_SIZE(fds), &pause, NULL);
		if (fds[0].revents && read(r->wake, &value, sizeof(value)) > 0)
			break;
	}
	commit(r);
	return NULL;
}

/* ---- the checkpoint ---- */

/* Under trimming. */
static int make_checkpoint(struct receive *r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	pthread_mutex_lock(&r->lock);
	uint64_t upto = r->durable_next;
	receiver_state_text(&r->known, commit_log_id(r->log), upto, &text);
	pthread_mutex_unlock(&r->lock);
	r->checkpoint_ns = clock_boottime_ns();
	int e = receiver_state_save(r->dir, &text);
	if (e == 0)
		r->checkpoint = upto;
	return e;
}

void receiver_trim(struct receive *r, uint64_t number)
{
	pthread_mutex_lock(&r->trimming);
	bool due = number >= r->checkpoint + CHECKPOINT_ENTRIES ||
		   clock_boottime_ns() - r->checkpoint_ns >= CHECKPOINT_NS;
	/* entries stay until a checkpoint covers them. On a full disk only waiting helps, and
	 * earlier trims make room for the checkpoint */
	if (number > r->checkpoint && due)
		(void)make_checkpoint(r);
	commit_log_trim(r->log, number < r->checkpoint ? number : r->checkpoint);
	pthread_mutex_unlock(&r->trimming);
}

/* ---- for callers ---- */

static void free_receive(struct receive *r)
{
	link_close(r->link);
	for (size_t i = 0; i < r->logged_count; i++)
		free(r->logged[i]);
	if (r->dir >= 0)
		close(r->dir);
	if (r->wake >= 0)
		close(r->wake);
	pthread_mutex_destroy(&r->lock);
	pthread_mutex_destroy(&r->trimming);
	sequences_release(&r->known);
	sending_nodes_release(&r->senders);
	strbuf_release(&r->endpoint);
	free(r->group);
	free(r);
}

static int start(struct receive *r, const struct receiver_options *o, struct strbuf *why)
{
	struct link_options link = {
		.kind = LINK_ROUTER,
		.uri = o->uri,
		.bind = true,
		.keys = o->keys,
		.peers = o->peers,
		.peer_count = o->peer_count,
		.message_max = BATCH_SIZE_MAX + 1024,
		.connections_max = o->connections_max,
		.high_water = HIGH_WATER,
		/* a collector that forwards has many nodes: all answers of a group may be for it */
		.answers_high_water = 2 * GROUP_MAX,
		.linger_ms = 500,
	};
	int e = batch_ready(why);

	if (e == 0)
		e = r->dir = fs_open_named(o->state, true, why);
	if (e >= 0)
		e = receiver_state_load(&r->known, r->log, r->dir, &r->checkpoint, why);
	/* nodes that do not come back must be visible as well */
	for (size_t i = 0; e >= 0 && i < r->known.count; i++)
		(void)sending_node_of(&r->senders, r->known.list[i].node);
	if (e >= 0)
		e = link_open(&r->link, &link, why);
	if (e < 0)
		return e;
	link_endpoint(r->link, &r->endpoint);
	r->durable_next = commit_log_next_number(r->log);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e = r->wake < 0 ? -errno : thread_start(&r->thread, 0, work, r);
	if (e < 0)
		strbuf_addf(why, "cannot start the receiver: %s", strerror(-e));
	return e;
}

int receiver_start(struct receive **ret, const struct receiver_options *o, struct strbuf *why)
{
	struct receive *r = xcalloc(1, sizeof(*r));

	r->endpoint = (struct strbuf)STRBUF_INIT;
	r->log = o->log;
	r->names = o->names;
	r->name_count = o->keys ? o->keys->allowed_count : 0;
	r->dir = r->wake = -1;
	r->sync_ns = o->sync_ns ? o->sync_ns : SYNC_DEFAULT;
	r->group = xcalloc(GROUP_MAX, sizeof(*r->group));
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->trimming, NULL);
	int e = start(r, o, why);
	if (e < 0) {
		free_receive(r);
		return e;
	}
	*ret = r;
	return 0;
}

void receiver_stop(struct receive *r)
{
	uint64_t one = 1;

	if (!r)
		return;
	if (write(r->wake, &one, sizeof(one)) < 0)
		log_warn("cannot wake the receiver: %s", strerror(errno));
	pthread_join(r->thread, NULL);
	pthread_mutex_lock(&r->trimming);
	if (make_checkpoint(r) < 0)
		log_warn("cannot write the checkpoint; the next start reads more of the log");
	pthread_mutex_unlock(&r->trimming);
	free_receive(r);
}

int receiver_allow(struct receive *r, const struct link_keys *keys, struct strbuf *why)
{
	int e = link_allow(r->link, keys, why);

	if (e < 0)
		return e;
	pthread_mutex_lock(&r->lock);
	r->names = keys->names;
	r->name_count = keys->allowed_count;
	pthread_mutex_unlock(&r->lock);
	return 0;
}

void receiver_endpoint(struct receive *r, struct strbuf *out)
{
	strbuf_add(out, r->endpoint.buf, r->endpoint.len);
}

void receiver_counts(struct receive *r, struct receiver_counts *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->c;
	ret->nodes = r->senders.count;
	pthread_mutex_unlock(&r->lock);
}

void receive_senders(struct receive *r, struct sending_nodes *ret)
{
	pthread_mutex_lock(&r->lock);
	sending_nodes_copy(&r->senders, ret);
	pthread_mutex_unlock(&r->lock);
}
