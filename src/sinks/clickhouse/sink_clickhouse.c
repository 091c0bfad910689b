/*
 * Sink clickhouse: a table for each source, written over HTTP in blocks of columns. Rows are
 * buffered until the server has them. Rows sent twice, after a lost reply or a kill, are read once:
 * their key is entity and time.
 *
 * The address may have ?database=NAME, ?cluster=NAME, and with a cluster several servers, separated
 * by commas: tables are created on each, and rows go to one that answers, which distributes them.
 */
#include "sinks/clickhouse/sink_clickhouse.h"

#include <errno.h>
#include <string.h>

#define HELD_MAX ((size_t)32 << 20)

/* ---- opening -------------------------------------------------------------------------------- */

static void close_clickhouse(void *state)
{
	struct clickhouse *c = state;

	for (size_t i = 0; i < c->server_count; i++)
		sink_server_close(&c->servers[i]);
	for (size_t i = 0; i < c->table_count; i++)
		clickhouse_table_release(&c->tables[i]);
	free(c->tables);
	quota_release(&c->names);
	sink_refusals_release(&c->refusals);
	free(c->prefix);
	free(c->database);
	free(c->cluster);
	free(c);
}

/* Names that are put into statements and paths unquoted. */
static bool is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n && n <= 100 && !s[n];
}

static int take_names(struct clickhouse *c, const struct sink_options *o, char *url,
		      struct strbuf *why)
{
	char *database = sink_take_option(url, "database");

	c->database = database ? database : xstrdup("default");
	c->cluster = sink_take_option(url, "cluster");
	c->prefix = xstrdup(o->prefix ? o->prefix : "plimsoll_");
	const char *const names[] = {c->database, c->prefix, c->cluster ? c->cluster : "none"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!is_name(names[i]))
			return strbuf_fail(
				why, -EINVAL,
				"invalid name '%s': only letters, digits and _ are allowed",
				names[i]);
	return 0;
}

/* Opens each server, with the options after the "?" of the last. */
static int open_servers(struct clickhouse *c, const struct sink_options *o, char *urls,
			struct strbuf *why)
{
	_cleanup_free_ char *options = strchr(urls, '?') ? xstrdup(strchr(urls, '?')) : NULL;
	int r = 0;

	urls[strcspn(urls, "?")] = 0;
	for (char *p = urls, *next; r == 0 && p; p = next) {
		size_t n = strcspn(p, ",");

		next = p[n] ? p + n + 1 : NULL;
		p[n] = 0;
		_cleanup_free_ char *url = xasprintf("%s%s", p, options ? options : "");
		if (c->server_count == CLICKHOUSE_SERVERS)
			return strbuf_fail(why, -EINVAL, "at most %d servers are possible",
					   CLICKHOUSE_SERVERS);
		r = sink_server_open(&c->servers[c->server_count++], o, url, why);
	}
	if (r == 0 && c->server_count > 1 && !c->cluster)
		return strbuf_fail(
			why, -EINVAL,
			"several servers need the name of their cluster: add ?cluster=NAME");
	return r;
}

static int open_clickhouse(const struct sink_options *o, void **state, uint64_t *position,
			   struct strbuf *why)
{
	_cleanup_free_ char *urls = xstrdup(o->target);
	struct clickhouse *c = xcalloc(1, sizeof(*c));

	c->refusals = sink_refusals("clickhouse", o);
	int r = take_names(c, o, urls, why);

	if (r == 0)
		r = open_servers(c, o, urls, why);
	if (r == 0)
		r = sink_server_expect(&c->servers[0], "/ping", "Ok.", "ClickHouse", why);
	*position = 0;
	return sink_opened(c, r, close_clickhouse, state);
}

/* ---- the sink ------------------------------------------------------------------------------- */

static int add_batch(void *state, uint64_t number, const struct batch_name *name PL_UNUSED,
		     struct sample_file *f, struct strbuf *why)
{
	struct clickhouse *c = state;

	if (number > c->have) {
		clickhouse_add(c, f, number);
		c->have = number;
	}
	return sink_entry_end(&c->refusals, number, c->held, HELD_MAX, why);
}

static int commit(void *state, uint64_t number PL_UNUSED, struct strbuf *why)
{
	struct clickhouse *c = state;
	bool wait = false;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < c->table_count; i++) {
		struct clickhouse_table *t = &c->tables[i];
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		if (!t->rows)
			continue;
		r = t->ready ? 0 : clickhouse_make_table(c, t, &reason);
		if (r == 0)
			r = clickhouse_send(c, t, &reason);
		if (!wait)
			strbuf_add(why, reason.buf, reason.len);
		wait = wait || r;
	}
	if (!wait && sink_tell_names(&c->refusals, why) < 0)
		wait = true;
	return wait ? -EAGAIN : 0;
}

const struct sink sink_clickhouse = {
	.name = "clickhouse",
	.target = "URL",
	.help = "ClickHouse, one table per source, on one server or a cluster",
	.open = open_clickhouse,
	.batch = add_batch,
	.commit = commit,
	.close = close_clickhouse,
	.commit_entries = 65536,
	.commit_ns = 5000000000,
};
