/*
 * The port for colmet's nodes: messages of any dialect become batches in the collector's log. A bad
 * message is counted, logged once for each peer, and dropped; nothing else happens. All batches
 * that are made here have one name, of this collector and this start, and numbers without gaps, as
 * those of a node.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "collector/collector.h"
#include "compat/colmet/colmet.h"
#include "core/clock.h"
#include "transport/link.h"
#include "transport/log/commit_log.h"

#define AT_ONCE 256                /* messages between two syncs */
#define HOLD_MAX ((size_t)8 << 20) /* bytes between two syncs */
#define PEERS_LOGGED 1024
#define MESSAGE_MAX ((size_t)16 << 20)

/* Batches that are not yet known to be durable. */
struct held {
	char *data;
	size_t size;
};

struct collector_port {
	struct link *link;
	struct commit_log *log;
	struct batch_name name;
	struct held *held;
	size_t held_count, held_cap, held_bytes;
	char *logged[PEERS_LOGGED];
	size_t logged_count;
	bool said_full;
	struct collector_port_counts counts;
};

static void take_host(void *user, struct batcher *b, const char *host)
{
	struct collector_port *d = user;
	struct strbuf bytes = STRBUF_INIT;

	(void)host;
	d->name.number++;
	if (batcher_take(b, &d->name, &bytes) < 0) {
		d->name.number--;
		strbuf_release(&bytes);
		return;
	}
	GROW(d->held, d->held_count, d->held_cap);
	d->held_bytes += bytes.len;
	d->held[d->held_count].size = bytes.len;
	d->held[d->held_count++].data = strbuf_take(&bytes);
	d->counts.batches++;
}

/* One line for each peer. */
static void log_bad(struct collector_port *d, const struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf peer = STRBUF_INIT;

	d->counts.bad++;
	link_peer(d->link, &peer);
	for (size_t i = 0; i < d->logged_count; i++)
		if (!strcmp(d->logged[i], peer.buf))
			return;
	if (d->logged_count == PEERS_LOGGED)
		return;
	d->logged[d->logged_count++] = xstrdup(peer.buf);
	log_warn("dropped an invalid message from %s: %s; further ones are not logged", peer.buf,
		 why->buf);
}

static void take_message(struct collector_port *d, const struct link_part *parts, size_t count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	enum colmet_dialect dialect;

	d->counts.messages++;
	d->counts.bytes += parts[0].size;
	/* colmet's collector takes an empty message for nothing */
	if (count == 1 && !parts[0].size)
		return;
	int r = count == 1 ? colmet_read(parts[0].data, parts[0].size, &dialect, take_host, d, &why)
			   : -EBADMSG;
	if (r < 0) {
		if (!why.len)
			strbuf_addf(&why, "the message has %zu parts", count);
		log_bad(d, &why);
		return;
	}
	d->counts.records += (uint64_t)r;
}

/* What is held goes into the log; false: not all of it, for now. */
static bool write_held(struct collector_port *d)
{
	_cleanup_free_ struct commit_log_part *parts = xcalloc(d->held_count, sizeof(*parts));
	size_t kept;

	for (size_t i = 0; i < d->held_count; i++)
		parts[i] = (struct commit_log_part){d->held[i].data, d->held[i].size};
	int r = commit_log_append_all(d->log, parts, d->held_count, &kept);
	for (size_t i = 0; i < kept; i++) {
		d->held_bytes -= d->held[i].size;
		free(d->held[i].data);
	}
	d->held_count -= kept;
	memmove(d->held, d->held + kept, d->held_count * sizeof(*d->held));
	if (r < 0 && !d->said_full)
		log_warn("cannot write to the log: %s; nodes keep their messages", strerror(-r));
	if (r == 0 && d->said_full)
		log_warn("writing to the log works again");
	d->said_full = r < 0;
	return r == 0;
}

static bool port_work(struct collector_port *d)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count = 0;
	unsigned n = 0;
	int r = 0;

	link_log_refused(d->link, &d->counts.refused, &d->counts.closed);
	if (d->held_count && !write_held(d))
		return false;
	while (n < AT_ONCE && d->held_bytes < HOLD_MAX &&
	       (r = link_receive(d->link, parts, &count)) > 0) {
		n++;
		take_message(d, parts, count);
	}
	if (d->held_count && !write_held(d))
		return false;
	return r > 0;
}

static bool port_is_held_up(const struct collector_port *d)
{
	return d->held_count;
}

static int port_descriptor(struct collector_port *d)
{
	return link_descriptor(d->link);
}

static void port_counts(const struct collector_port *d, struct collector_port_counts *ret)
{
	*ret = d->counts;
}

static void port_endpoint(struct collector_port *d, struct strbuf *out)
{
	link_endpoint(d->link, out);
}

static int port_open(struct collector_port **ret, const char *uri, const struct collect_options *o,
		     struct commit_log *log, struct strbuf *why)
{
	const struct link_options lo = {.kind = LINK_PULL,
					.uri = uri,
					.bind = true,
					.peers = o->peers,
					.peer_count = o->peer_count,
					.message_max = MESSAGE_MAX,
					.connections_max = o->connections,
					.high_water = o->high_water};
	struct collector_port *d = xcalloc(1, sizeof(*d));
	char host[128] = "collector";

	(void)gethostname(host, sizeof(host) - 1);
	d->log = log;
	d->name.boot = (uint64_t)clock_realtime_us();
	snprintf(d->name.node, sizeof(d->name.node), "colmet.%s", host);
	int r = link_open(&d->link, &lo, why);
	if (r < 0) {
		free(d);
		return r;
	}
	*ret = d;
	return 0;
}

static void port_close(struct collector_port *d)
{
	link_close(d->link);
	for (size_t i = 0; i < d->held_count; i++)
		free(d->held[i].data);
	free(d->held);
	for (size_t i = 0; i < d->logged_count; i++)
		free(d->logged[i]);
	free(d);
}

const struct collector_protocol collector_protocol_colmet = {
	.name = "colmet",
	.address = SETTING_COLLECT_BIND_COLMET,
	.open = port_open,
	.close = port_close,
	.descriptor = port_descriptor,
	.work = port_work,
	.is_held_up = port_is_held_up,
	.counts = port_counts,
	.endpoint = port_endpoint,
};
