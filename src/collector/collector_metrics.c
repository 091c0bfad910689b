/* What a collector counts of itself, as metrics for the sink prometheus; docs/delivery.md lists
 * them. */
#include <stddef.h>

#include "collector/collector.h"
#include "core/clock.h"
#include "sinks/own_metrics.h"
#include "sinks/sink_worker.h"
#include "transport/receiver.h"

/* ---- of nodes, of the log ---------------------------------------------------------------------
 */

static const struct {
	struct own_family family;
	size_t at; /* in struct receiver_counts */
} native[] = {
#define COUNT(field, name, help)                                            \
	{                                                                   \
		{name, help, true}, offsetof(struct receiver_counts, field) \
	}
	COUNT(batches, "batches", "batches of nodes that were taken"),
	COUNT(bytes, "bytes", "their size"),
	COUNT(duplicates, "duplicates", "batches that were there already"),
	COUNT(bad, "bad", "messages and batches that are not valid"),
	COUNT(refused, "refused_connections", "connections refused for their key or address"),
	COUNT(closed, "closed_connections",
	      "connections closed for what they sent, or their number"),
	COUNT(withdrawn, "withdrawn", "batches of nodes whose key was revoked"),
	COUNT(no_room, "no_room", "batches that the log had no room for; they come again"),
#undef COUNT
	{{"nodes", "nodes that are known, by name", false},
	 offsetof(struct receiver_counts, nodes)},
};

static void add_native(const struct collect_view *v, bool openmetrics, struct strbuf *out)
{
	struct receiver_counts n;

	if (!v->receive)
		return;
	receiver_counts(v->receive, &n);
	for (size_t i = 0; i < ARRAY_SIZE(native); i++) {
		const uint64_t *value = (const void *)((const char *)&n + native[i].at);

		own_metrics_head(out, openmetrics, &native[i].family);
		own_metrics_value(out, &native[i].family, NULL, (double)*value);
	}
}

static void add_one(struct strbuf *out, bool openmetrics, const struct own_family *f, double value)
{
	own_metrics_head(out, openmetrics, f);
	own_metrics_value(out, f, NULL, value);
}

static void add_log(const struct collect_view *v, bool openmetrics, struct strbuf *out)
{
	static const struct own_family bytes = {"log_bytes", "size of the log", false},
				       limit = {"log_limit_bytes", "--log-limit; 0: none", false},
				       entries = {"log_entries", "entries that sinks still need",
						  false},
				       damaged = {"log_damaged",
						  "places of the log that were damaged", true};
	uint64_t first = commit_log_first(v->log), next = commit_log_next_number(v->log);
	struct commit_log_counts n;

	commit_log_counts(v->log, &n);
	add_one(out, openmetrics, &bytes, (double)n.bytes);
	add_one(out, openmetrics, &limit, (double)v->o->log_limit);
	add_one(out, openmetrics, &entries, next > first ? (double)(next - first) : 0);
	add_one(out, openmetrics, &damaged, (double)n.damaged);
}

/* ---- of sinks ---------------------------------------------------------------------------------
 */

enum { RUNNING, BEHIND, SECONDS, STORED, LEFT_OUT, ASIDE, MISSING, FAILURES, SINK_FAMILIES };

static const struct own_family families[SINK_FAMILIES] = {
	[RUNNING] = {"sink_running",
		     "1: the sink takes data; 0: it is opening, pausing or has failed", false},
	[BEHIND] = {"sink_entries_behind", "entries of the log that it does not have yet", false},
	[SECONDS] = {"sink_behind_seconds", "how long it has been behind", false},
	[STORED] = {"sink_stored", "entries that it has taken", true},
	[LEFT_OUT] = {"sink_left_out", "entries that it refused for what is in them", true},
	[ASIDE] = {"sink_kept_aside", "entries that wait for plimsoll collect --resend", false},
	[MISSING] = {"sink_missing", "entries that were gone from the log", true},
	[FAILURES] = {"sink_failures", "tries that failed, and were made again", true},
};

static double value_of(const struct sink_workers_state *s, size_t family)
{
	double behind = s->behind_since_ns
				? (double)((int64_t)clock_boottime_ns() - s->behind_since_ns) / 1e9
				: 0;
	const double values[SINK_FAMILIES] = {
		[RUNNING] = s->phase == SINK_WORKERS_RUNNING,
		[BEHIND] = (double)s->entries_behind,
		[SECONDS] = behind > 0 ? behind : 0,
		[STORED] = (double)s->committed,
		[LEFT_OUT] = (double)s->skipped,
		[ASIDE] = (double)s->aside,
		[MISSING] = (double)s->missing,
		[FAILURES] = (double)s->failures,
	};

	return values[family];
}

static void add_sinks(const struct collect_view *v, bool openmetrics, struct strbuf *out)
{
	for (size_t f = 0; f < SINK_FAMILIES; f++) {
		own_metrics_head(out, openmetrics, &families[f]);
		for (size_t i = 0; i < sink_workers_count(v->replay); i++) {
			struct sink_workers_state s;

			sink_workers_state(v->replay, i, &s);
			own_metrics_value(out, &families[f], s.shown, value_of(&s, f));
		}
	}
}

void collect_tell_metrics(const struct collect_view *v)
{
	_cleanup_strbuf_ struct strbuf older = STRBUF_INIT, newer = STRBUF_INIT;

	for (int i = 0; i < 2; i++) {
		struct strbuf *out = i ? &newer : &older;

		add_native(v, i, out);
		add_log(v, i, out);
		add_sinks(v, i, out);
	}
	own_metrics_set(v->own, &older, &newer);
}
