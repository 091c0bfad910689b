/* Delivers batches of a node to the collector; see node_internal.h. */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "node/node_internal.h"
#include "transport/link.h"

#define AWAY_NS 1000000000ull

/* Data leaves the host only encrypted, unless --insecure is given. */
int node_check_keys(const struct node_settings *s)
{
	if (!s->connect)
		return 0;
	if (s->keys && !s->server_key) {
		log_error("--keys needs the collector's public key: --server-key KEY");
		return -EINVAL;
	}
	if (!s->keys && !s->insecure && !link_is_local(s->connect)) {
		log_error(
			"'%s' is on another host: use --keys FILE and --server-key KEY (`plimsoll "
			"keys` creates them), or --insecure",
			s->connect);
		return -EINVAL;
	}
	return 0;
}

static int take_batch(void *user, const struct batch_name *name, const void *p, size_t n)
{
	struct node *node = user;

	(void)name;
	return sender_batch(node->deliver, p, n);
}

/* The spool is by default in the runtime directory, which is in memory. */
static char *spool_dir(struct node *n, struct strbuf *why)
{
	if (n->settings.spool)
		return xstrdup(n->settings.spool);
	return node_runtime_path(&n->ctx->config, "spool.", n->settings.name, true, why);
}

static void say(void *user, bool over, const char *text)
{
	(void)user;
	if (over)
		log_info("recovered from: %s", text);
	else
		log_warn("%s", text);
}

static int start_delivery(struct node *n, struct strbuf *why)
{
	const struct node_settings *s = &n->settings;
	_cleanup_free_ char *spool = spool_dir(n, why);
	struct link_keys keys;
	int r = spool ? 0 : -ENOENT;

	if (r == 0 && s->keys)
		r = keyring_own(&n->keys, s->keys, why);
	if (r == 0 && s->keys)
		r = keyring_server(&n->keys, s->server_key, why);
	if (r < 0)
		return r;
	keyring_use(&n->keys, &keys);
	const struct sender_options o = {.uri = s->connect,
					 .keys = s->keys ? &keys : NULL,
					 .node = s->name,
					 .spool = spool,
					 .spool_limit = s->spool_limit,
					 .say = say};
	return sender_start(&n->deliver, &o, why);
}

int node_open_batches(struct node *n, struct sample_output *list, size_t *count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct node_batches_options o = {.node = n->settings.name,
					       .boot = (uint64_t)clock_realtime_us(),
					       .every_ns = n->settings.batch_ns,
					       .take = take_batch,
					       .user = n};

	if (!n->settings.connect)
		return 0;
	int r = batch_ready(&why);
	if (r == 0)
		r = start_delivery(n, &why);
	if (r < 0) {
		log_error("cannot deliver to '%s': %s", n->settings.connect,
			  why.len ? why.buf : strerror(-r));
		return r;
	}
	sample_output_batches(&list[(*count)++], &o, &n->head, &n->batches);
	return 0;
}

int node_close_outputs(struct node *n, uint64_t wait_ns)
{
	struct sender_counts c;

	if (!n->deliver)
		return 0;
	/* a collector that has been away for a while will hardly come back now */
	sender_counts(n->deliver, &c);
	if (c.away_since_ns && clock_boottime_ns() - c.away_since_ns > AWAY_NS)
		wait_ns = AWAY_NS;
	uint64_t left = sender_stop(n->deliver, wait_ns, &c);
	n->deliver = NULL;
	log_info("of %llu %s, and those of earlier runs: %llu acknowledged, %llu in the spool, "
		 "%llu dropped, %llu refused, %llu damaged",
		 (unsigned long long)c.given, plural(c.given, "batch", "batches"),
		 (unsigned long long)c.acknowledged, (unsigned long long)left,
		 (unsigned long long)c.dropped, (unsigned long long)c.refused,
		 (unsigned long long)c.damaged);
	if (c.lost_at_stop)
		log_error("%llu %s lost: neither the collector nor the spool could take %s: %s",
			  (unsigned long long)c.lost_at_stop,
			  plural(c.lost_at_stop, "batch was", "batches were"),
			  plural(c.lost_at_stop, "it", "them"), strerror(-c.disk_error));
	if (left)
		log_warn("%llu %s not acknowledged and %s in the spool for the next start",
			 (unsigned long long)left, plural(left, "batch is", "batches are"),
			 plural(left, "waits", "wait"));
	/* with --once the sample must be delivered, too */
	if (left && n->o->once)
		return -EAGAIN;
	return c.lost_at_stop ? -ENOSPC : 0;
}

bool node_delivery(const struct node *n, struct sampler_delivery *ret)
{
	struct sender_counts d;

	if (!n->deliver)
		return false;
	sender_counts(n->deliver, &d);
	*ret = (struct sampler_delivery){.waiting = d.spooled,
					 .dropped = d.dropped,
					 .refused = d.refused,
					 .damaged = d.damaged};
	for (size_t i = 0; i < PROBLEM_COUNT; i++)
		ret->problems += d.problem[i][0] != 0;
	return true;
}

static void set_count(struct value *dict, const char *key, uint64_t v)
{
	value_set(dict, key, value_int((int64_t)v));
}

static void add_protocol(struct value *dict, const char *name, const struct node_protocol_counts *n)
{
	const struct {
		const char *name;
		uint64_t count;
	} counts[] = {{"messages", n->messages},
		      {"records", n->records},
		      {"waiting", n->waiting},
		      {"dropped", n->dropped}};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		_cleanup_free_ char *key = xasprintf("%s_%s", name, counts[i].name);

		set_count(dict, key, counts[i].count);
	}
}

void node_counts(const struct node *n, struct value *v)
{
	struct value *c = value_new(VALUE_DICT), *problems = value_new(VALUE_LIST);

	node_add_root_problems(n, problems);
	set_count(c, "jobs_ended", n->jobs_ended);
	set_count(c, "ticks", n->readings);
	set_count(c, "readings", n->readings); /* the older name */
	if (n->deliver) {
		struct sender_counts d;

		sender_counts(n->deliver, &d);
		set_count(c, "batches", n->batches.batches);
		set_count(c, "batch_bytes", n->batches.bytes);
		set_count(c, "acknowledged", d.acknowledged);
		set_count(c, "spooled", d.spooled);
		set_count(c, "spooled_bytes", d.spooled_bytes);
		set_count(c, "dropped", d.dropped);
		set_count(c, "refused", d.refused);
		set_count(c, "damaged", d.damaged);
		value_set(c, "collector",
			  value_str(d.key_refused     ? "refuses our key"
				    : d.away_since_ns ? "away"
				    : d.refusing      ? "refuses"
						      : "there"));
		for (size_t i = 0; i < PROBLEM_COUNT; i++)
			if (d.problem[i][0])
				value_append(problems, value_str(d.problem[i]));
	}
	for (size_t i = 0; node_protocols[i]; i++)
		if (n->protocols[i].open)
			add_protocol(c, node_protocols[i]->name, &n->protocols[i].counts);
	value_set(v, "problems", problems);
	value_set(v, "counts", c);
}
