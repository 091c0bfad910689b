/* What tests of the sink clickhouse share: the plan of what nodes send, and what the server then
 * has. */
#pragma once

#include "fake_server.h"
#include "sink_harness.h"

#include <errno.h>

#include "core/clock.h"
#include "core/log.h"
#include "sinks/clickhouse/sink_clickhouse.h"

extern const struct sink sink_clickhouse;

static const struct harness_plan plan = {
	.nodes = 2, .entries = 8, .readings = 5, .jobs = 3, .processes = 2};

/* A statement; the answer as text. */
static inline char *ask(const char *url, const char *sql)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct http_functions *f = http_module(&why);
	const struct http_options o = {.url = url};
	const struct http_request r = {.method = "POST",
				       .path = "/",
				       .type = "text/plain",
				       .body = sql,
				       .size = strlen(sql)};
	struct http_reply reply = HTTP_REPLY_INIT;
	struct http *h = NULL;

	if (!f || f->open(&h, &o, &why) < 0 || f->send(h, &r, &reply, &why) < 0 ||
	    reply.status != 200)
		fail_msg("%s: %s %s", sql, why.buf, reply.body.buf);
	f->close(h);
	return strbuf_take(&reply.body);
}

struct found {
	json_t *rows; /* by host, source, kind, entity and time */
	size_t count;
};

static const char *text_of(const json_t *d, const char *key)
{
	const char *s = json_string_value(json_object_get(d, key));

	return s ? s : "";
}

static inline void read_table(const char *url, const char *source, struct found *ret)
{
	_cleanup_free_ char *sql =
		xasprintf("SELECT * FROM plimsoll_%s FORMAT JSONEachRow", source);
	char *text = ask(url, sql);

	for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
		json_t *row = json_loadb(line, strcspn(line, "\n"), 0, NULL);
		_cleanup_free_ char *key =
			xasprintf("%s %s %s %s", text_of(row, "host"), source,
				  text_of(row, "entity"), text_of(row, "time_us"));

		assert_non_null(row);
		if (json_object_get(ret->rows, key))
			fail_msg("twice: %s", key);
		json_object_set_new(ret->rows, key, row);
		ret->count++;
	}
	free(text);
}

static inline void check_value(void *user, const struct harness_expected *x)
{
	struct found *found = user;
	_cleanup_free_ char *key =
		xasprintf("%s %s %s %lld", x->host, x->source, x->entity, (long long)x->time_us);
	const json_t *row = json_object_get(found->rows, key);
	const json_t *v = json_object_get(row, x->metric);
	double got = json_is_string(v) ? strtod(json_string_value(v), NULL) : json_number_value(v);
	char job[32] = "";

	if (!v || json_is_null(v) || got != x->value)
		fail_msg("%s: %s is %g, not %g", key, x->metric, got, x->value);
	if (x->job)
		snprintf(job, sizeof(job), "%u", x->job);
	assert_string_equal(text_of(row, "job"), job);
}

static inline void check_all(const char *url, const struct harness_plan *p)
{
	struct found found = {.rows = json_object()};
	size_t nulls = 0, i;
	const char *key;
	json_t *row;

	for (i = 0; i < HARNESS_SOURCES; i++)
		read_table(url, harness_sources[i], &found);
	size_t values = harness_expect(p, p->entries, check_value, &found);
	assert_int_equal(found.count,
			 p->entries * p->readings * (1 + p->jobs + p->jobs * p->processes));
	/* what a reading leaves out is nothing, not 0 */
	json_object_foreach(found.rows, key, row) {
		for (i = 0; i < HARNESS_SOURCES * 2; i++) {
			const json_t *v = json_object_get(row, harness_metrics[i / 2][i % 2].name);

			nulls += v && json_is_null(v);
		}
	}
	assert_int_equal(values + nulls, 2 * found.count);
	json_decref(found.rows);
}

static inline void drop_tables(const char *urls)
{
	static const char *const suffixes[] = {"", "_all", "_rows"};
	_cleanup_free_ char *list = xstrdup(urls);

	for (char *p = list, *next; p; p = next) {
		next = strchr(p, ',');
		if (next)
			*next++ = 0;
		p[strcspn(p, "?")] = 0;
		for (size_t i = 0; i < 3 * ARRAY_SIZE(suffixes); i++) {
			_cleanup_free_ char *sql =
				xasprintf("DROP TABLE IF EXISTS plimsoll_%s%s",
					  harness_sources[i / 3], suffixes[i % 3]);

			free(ask(p, sql));
		}
	}
}
