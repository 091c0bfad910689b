/*
 * Tables on the servers. NAME_rows has the rows, in a ReplacingMergeTree: a row that comes again
 * replaces the old one when parts are merged. NAME is a view that reads each row once at any time.
 * With a cluster, NAME_all stands for the rows of all servers, distributed by host. Every server is
 * checked, and missing tables and columns are created: new metrics are new columns.
 */
#include <errno.h>
#include <string.h>

#include "sinks/clickhouse/sink_clickhouse.h"

static int run(struct clickhouse *c, struct sink_server *s, const struct strbuf *sql,
	       struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("/?database=%s", c->database);
	const struct http_request post = {.method = "POST",
					  .path = path,
					  .type = "text/plain",
					  .body = sql->buf,
					  .size = sql->len};
	int r = sink_server_send(s, &post, why);

	if (r == 0 && s->reply.status != 200) {
		http_add_reason(why, &s->reply);
		r = strbuf_fail(why, -EAGAIN, " (to: %.60s)", sql->buf);
	}
	return r;
}

void clickhouse_add_table(const struct clickhouse *c, const struct clickhouse_table *t,
			  const char *suffix, struct strbuf *out)
{
	strbuf_addf(out, "`%s`.`%s%s`", c->database, t->name, suffix);
}

static const char *type_of(const struct clickhouse_column *column)
{
	return column->real ? "Nullable(Float64)" : "Nullable(Int64)";
}

/* A statement that begins with "VERB `database`.`name<suffix>` ON CLUSTER ...". */
static void begin_statement(const struct clickhouse *c, const struct clickhouse_table *t,
			    const char *verb, const char *suffix, struct strbuf *sql)
{
	strbuf_addf(sql, "%s ", verb);
	clickhouse_add_table(c, t, suffix, sql);
	/* a single named server tells the others of the cluster itself */
	if (c->cluster && c->server_count == 1)
		strbuf_addf(sql, " ON CLUSTER `%s`", c->cluster);
}

static int create_rows(struct clickhouse *c, struct sink_server *s,
		       const struct clickhouse_table *t, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	begin_statement(c, t, "CREATE TABLE IF NOT EXISTS", "_rows", &sql);
	for (size_t i = 0; i < FIXED_END; i++)
		strbuf_addf(&sql, "%s`%s` %s", i ? ", " : " (", clickhouse_fixed_columns[i].name,
			    clickhouse_fixed_columns[i].type);
	for (size_t i = 0; i < t->column_count; i++)
		strbuf_addf(&sql, ", `%s` %s", t->columns[i].name, type_of(&t->columns[i]));
	strbuf_addstr(&sql, ") ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMM(time) ORDER BY "
			    "(job, host, kind, entity, time_us)");
	return run(c, s, &sql, why);
}

static int create_all(struct clickhouse *c, struct sink_server *s, const struct clickhouse_table *t,
		      struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	begin_statement(c, t, "CREATE TABLE IF NOT EXISTS", "_all", &sql);
	strbuf_addstr(&sql, " AS ");
	clickhouse_add_table(c, t, "_rows", &sql);
	strbuf_addf(&sql, " ENGINE = Distributed(`%s`, `%s`, `%s_rows`, cityHash64(host))",
		    c->cluster, c->database, t->name);
	return run(c, s, &sql, why);
}

static int create_view(struct clickhouse *c, struct sink_server *s,
		       const struct clickhouse_table *t, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	begin_statement(c, t, "CREATE VIEW IF NOT EXISTS", "", &sql);
	strbuf_addstr(&sql, " AS SELECT * FROM ");
	clickhouse_add_table(c, t, c->cluster ? "_all" : "_rows", &sql);
	strbuf_addstr(&sql, " FINAL");
	return run(c, s, &sql, why);
}

static int drop_view(struct clickhouse *c, struct sink_server *s, const struct clickhouse_table *t,
		     struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	/* older servers drop a view only as a table */
	begin_statement(c, t, "DROP TABLE IF EXISTS", "", &sql);
	return run(c, s, &sql, why);
}

/* Which of our columns a table has; takes over their types. */
static int look(struct clickhouse *c, struct sink_server *s, struct clickhouse_table *t,
		const char *suffix, bool *there, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	memset(there, 0, t->column_count * sizeof(*there));
	strbuf_addf(&sql,
		    "SELECT name, type FROM system.columns WHERE database = '%s' AND table = "
		    "'%s%s' FORMAT TabSeparated",
		    c->database, t->name, suffix);
	int r = run(c, s, &sql, why);
	if (r < 0)
		return r;
	for (char *line = s->reply.body.buf; *line;) {
		size_t n = strcspn(line, "\n");
		char *next = line[n] ? line + n + 1 : line + n;

		line[n] = 0;
		char *type = strchr(line, '\t');
		if (type)
			*type++ = 0;
		for (size_t i = 0; type && i < t->column_count; i++)
			if (!strcmp(line, t->columns[i].name)) {
				there[i] = true;
				clickhouse_retype(&t->columns[i], t->rows,
						  strstr(type, "Float") != NULL);
			}
		line = next;
	}
	return 0;
}

/* Adds missing columns to a table; 1: there were some. */
static int add_columns(struct clickhouse *c, struct sink_server *s, struct clickhouse_table *t,
		       const char *suffix, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	_cleanup_free_ bool *there = xcalloc(t->column_count + 1, sizeof(*there));
	bool some = false;
	int r = look(c, s, t, suffix, there, why);

	if (r < 0)
		return r;
	begin_statement(c, t, "ALTER TABLE", suffix, &sql);
	for (size_t i = 0; i < t->column_count; i++)
		if (!there[i]) {
			strbuf_addf(&sql, "%s ADD COLUMN `%s` %s", some ? "," : "",
				    t->columns[i].name, type_of(&t->columns[i]));
			some = true;
		}
	r = some ? run(c, s, &sql, why) : 0;
	return r < 0 ? r : some;
}

static bool has_all(const bool *there, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!there[i])
			return false;
	return true;
}

static int make_on(struct clickhouse *c, struct sink_server *s, struct clickhouse_table *t,
		   struct strbuf *why)
{
	_cleanup_free_ bool *there = xcalloc(t->column_count + 1, sizeof(*there));
	int r = create_rows(c, s, t, why);

	if (r == 0)
		r = add_columns(c, s, t, "_rows", why);
	if (r >= 0 && c->cluster) {
		r = create_all(c, s, t, why);
		if (r == 0)
			r = add_columns(c, s, t, "_all", why);
	}
	if (r >= 0)
		r = create_view(c, s, t, why);
	if (r == 0)
		r = look(c, s, t, "", there, why);
	/* a view has the columns of the time when it was created */
	if (r == 0 && !has_all(there, t->column_count)) {
		r = drop_view(c, s, t, why);
		if (r == 0)
			r = create_view(c, s, t, why);
	}
	return r < 0 ? r : 0;
}

int clickhouse_make_table(struct clickhouse *c, struct clickhouse_table *t, struct strbuf *why)
{
	for (size_t i = 0; i < c->server_count; i++) {
		int r = make_on(c, &c->servers[i], t, why);

		if (r < 0)
			return r;
	}
	t->ready = true;
	return 0;
}
