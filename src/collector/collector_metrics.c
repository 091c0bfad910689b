/*
 * What a collector counts of itself: the tables that the status file and the sink prometheus share,
 * and the metrics of the latter, which docs/delivery.md lists.
 */
#include <stddef.h>

#include "collector/collector.h"
#include "core/clock.h"
#include "sinks/own_metrics.h"
#include "sinks/sink_worker.h"
#include "transport/receiver.h"

#define RECEIVED(field) #field, offsetof(struct receiver_counts, field)
const struct collect_count collect_received[] = {
	{RECEIVED(batches), {"batches", "batches received from nodes", true}},
	{RECEIVED(bytes), {"bytes", "size of these batches", true}},
	{RECEIVED(duplicates), {"duplicates", "batches received more than once", true}},
	{RECEIVED(early), {NULL, NULL, true}},
	{RECEIVED(bad), {"bad", "invalid messages and batches", true}},
	{RECEIVED(refused),
	 {"refused_connections", "connections refused because of their key or address", true}},
	{RECEIVED(closed),
	 {"closed_connections", "connections closed because of their data, or of too many", true}},
	{RECEIVED(withdrawn), {"withdrawn", "batches of nodes whose key was revoked", true}},
	{RECEIVED(no_room),
	 {"no_room", "batches that did not fit into the log; the nodes send them again", true}},
	{RECEIVED(nodes), {"nodes", "nodes known by name", false}},
	{NULL, 0, {NULL, NULL, false}},
};

#define OF_SINK(field) offsetof(struct sink_workers_state, field)
const struct collect_count collect_of_sink[] = {
	{"position", OF_SINK(position), {NULL, NULL, false}},
	{"entries_behind",
	 OF_SINK(entries_behind),
	 {"sink_entries_behind", "entries of the log that the sink does not have yet", false}},
	{"committed",
	 OF_SINK(committed),
	 {"sink_stored", "entries that the sink has stored", true}},
	{"skipped",
	 OF_SINK(skipped),
	 {"sink_left_out", "entries that the sink refused because of their content", true}},
	{"kept_aside",
	 OF_SINK(aside),
	 {"sink_kept_aside", "entries that wait for plimsoll collect --resend", false}},
	{"missing",
	 OF_SINK(missing),
	 {"sink_missing", "entries that were gone from the log", true}},
	{"failures",
	 OF_SINK(failures),
	 {"sink_failures", "attempts that failed and were repeated", true}},
	{NULL, 0, {NULL, NULL, false}},
};

static void add_one(struct strbuf *out, bool openmetrics, const struct own_family *f, double value)
{
	own_metrics_head(out, openmetrics, f);
	own_metrics_value(out, f, NULL, value);
}

static void add_received(const struct collect_view *v, bool openmetrics, struct strbuf *out)
{
	struct receiver_counts n;

	if (!v->receive)
		return;
	receiver_counts(v->receive, &n);
	for (const struct collect_count *c = collect_received; c->key; c++)
		if (c->family.name)
			add_one(out, openmetrics, &c->family, (double)collect_count_of(c, &n));
}

static void add_log(const struct collect_view *v, bool openmetrics, struct strbuf *out)
{
	static const struct own_family bytes = {"log_bytes", "size of the log", false},
				       limit = {"log_limit_bytes",
						"limit set by --log-limit; 0: none", false},
				       entries = {"log_entries", "entries that sinks still need",
						  false},
				       damaged = {"log_damaged", "damaged places of the log", true};
	uint64_t first = commit_log_first(v->log), next = commit_log_next_number(v->log);
	struct commit_log_counts n;

	commit_log_counts(v->log, &n);
	add_one(out, openmetrics, &bytes, (double)n.bytes);
	add_one(out, openmetrics, &limit, (double)v->o->log_limit);
	add_one(out, openmetrics, &entries, next > first ? (double)(next - first) : 0);
	add_one(out, openmetrics, &damaged, (double)n.damaged);
}

double collect_seconds_behind(const struct sink_workers_state *s)
{
	int64_t ns = s->behind_since_ns ? (int64_t)clock_boottime_ns() - s->behind_since_ns : 0;

	return ns > 0 ? (double)ns / 1e9 : 0;
}

/* One family for all sinks. */
static void add_family(const struct collect_view *v, bool openmetrics, struct strbuf *out,
		       const struct own_family *f,
		       double (*value)(const struct sink_workers_state *s),
		       const struct collect_count *c)
{
	own_metrics_head(out, openmetrics, f);
	for (size_t i = 0; i < sink_workers_count(v->replay); i++) {
		struct sink_workers_state s;

		sink_workers_state(v->replay, i, &s);
		own_metrics_value(out, f, s.shown, c ? (double)collect_count_of(c, &s) : value(&s));
	}
}

static double is_running(const struct sink_workers_state *s)
{
	return s->phase == SINK_WORKERS_RUNNING;
}

static void add_sinks(const struct collect_view *v, bool openmetrics, struct strbuf *out)
{
	static const struct own_family running = {
		"sink_running", "1: the sink takes data; 0: it is opening, pausing or has failed",
		false};
	static const struct own_family seconds = {"sink_behind_seconds",
						  "how long the sink has been behind", false};

	add_family(v, openmetrics, out, &running, is_running, NULL);
	add_family(v, openmetrics, out, &seconds, collect_seconds_behind, NULL);
	for (const struct collect_count *c = collect_of_sink; c->key; c++)
		if (c->family.name)
			add_family(v, openmetrics, out, &c->family, NULL, c);
}

void collect_update_metrics(const struct collect_view *v)
{
	_cleanup_strbuf_ struct strbuf older = STRBUF_INIT, newer = STRBUF_INIT;

	for (int i = 0; i < 2; i++) {
		struct strbuf *out = i ? &newer : &older;

		add_received(v, i, out);
		add_log(v, i, out);
		add_sinks(v, i, out);
	}
	own_metrics_set(v->own, &older, &newer);
}
