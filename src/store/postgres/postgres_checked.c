/*
 * Statements of users who may not read the whole store. The server has no means to keep a session
 * to some relations that it could not be talked out of, so the statement becomes a temporary view,
 * which only a single SELECT can be, and what the server made of it is looked at before it runs: it
 * may name the temporary views of the viewer, and functions that compute. What reads tables by
 * name, settings, sizes and statistics is none of these. What runs is the view, and not the text.
 *
 * The temporary views get a barrier, or a condition of the statement could be evaluated on the rows
 * of others, and fail with a message that has their values.
 */
#include <errno.h>

#include "store/postgres/postgres.h"

#define STATEMENT "pg_temp.plimsoll_statement"
#define BUILT_IN "16384" /* numbers of what comes with the server are smaller */

/* Names of relations, functions, operators and types in the tree of a view. Strings in it have a
 * backslash in front of blanks, so that they cannot look like one. */
#define PARTS                                                                                     \
	"WITH m AS (SELECT m[1] AS field, CAST(m[2] AS oid) AS id FROM pg_catalog.pg_rewrite w, " \
	"pg_catalog.regexp_matches(CAST(w.ev_action AS text), ':([a-zA-Z_]+) ([0-9]+)', 'g') m "  \
	"WHERE w.ev_class = CAST('" STATEMENT "' AS regclass)) "

#define FUNCTIONS                                                                               \
	"'now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp', 'to_char', " \
	"'to_date', 'to_number', 'to_timestamp', 'date_trunc', 'date_part', 'extract', 'age', " \
	"'timezone', 'concat', 'concat_ws', 'format', 'to_json', 'to_jsonb', 'row_to_json', "   \
	"'array_to_json', 'json_build_object', 'json_build_array', 'jsonb_build_object', "      \
	"'jsonb_build_array', 'array_to_string', 'generate_series', 'random', "                 \
	"'timestamptz_pl_interval', 'timestamptz_mi_interval'"

/* What a statement may not have: fields that this misses are looked for by check_ourselves(). */
static const char refused[] = PARTS
	"SELECT CAST(c.relname AS text) FROM m LEFT JOIN pg_catalog.pg_class c ON c.oid = m.id "
	"WHERE m.field = 'relid' AND m.id <> 0 AND (c.oid IS NULL OR NOT "
	"(pg_catalog.left(CAST(c.relname AS text), 7) <> 'access_' AND "
	"((c.relnamespace = pg_catalog.pg_my_temp_schema() AND c.relkind = 'v') OR ($1 = 1 AND "
	"c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = "
	"pg_catalog.current_schema()) AND c.relkind IN ('r', 'v'))))) "
	"UNION ALL SELECT pg_catalog.concat(p.proname, '()') FROM m "
	"LEFT JOIN pg_catalog.pg_proc p ON p.oid = m.id "
	"WHERE m.field IN ('funcid', 'aggfnoid', 'winfnoid') AND (p.oid IS NULL OR "
	"p.oid >= " BUILT_IN " OR NOT (p.prokind IN ('a', 'w') OR p.proname IN (" FUNCTIONS ") OR "
	"((p.provolatile = 'i' OR p.oid IN (SELECT castfunc FROM pg_catalog.pg_cast)) AND NOT EXISTS "
	"(SELECT 1 FROM pg_catalog.unnest(CAST(p.proargtypes AS oid[])) a JOIN pg_catalog.pg_type t "
	"ON t.oid = a WHERE t.typname ~ '^_?(oid|reg|internal|refcursor|pg_)')))) "
	"UNION ALL SELECT pg_catalog.concat('operator ', o.oprname) FROM m "
	"LEFT JOIN pg_catalog.pg_operator o ON o.oid = m.id "
	"WHERE m.field = 'opno' AND (o.oid IS NULL OR o.oid >= " BUILT_IN ") "
	"UNION ALL SELECT pg_catalog.concat('type ', t.typname) FROM m "
	"JOIN pg_catalog.pg_type t ON t.oid = m.id WHERE m.field ~* 'type(id)?$' AND "
	"(t.typname ~ '^_?(reg|refcursor|pg_)' OR (t.oid >= " BUILT_IN " AND t.typtype <> 'c'))";

/* ---- looking at a statement -------------------------------------------------------------------
 */

/* By the protocol that takes one command only. */
static int make_view(struct store *s, const char *sql)
{
	_cleanup_free_ char *text =
		xasprintf("CREATE TEMP VIEW %s AS %s", STATEMENT + strlen("pg_temp."), sql);
	_cleanup_result_ PGresult *made =
		PQexecParams(pg_of(s)->conn, text, 0, NULL, NULL, NULL, NULL, 0);

	return PQresultStatus(made) == PGRES_COMMAND_OK ? 0 : pg_failed(s, made);
}

/* 1: there is something that is refused, its name in *ret. */
static int find_refused(struct store *s, char **ret)
{
	struct stmt *st = pg_prepare(s, refused);
	int r;

	if (!st)
		return -EIO;
	stmt_bind(st, db_int(!s->narrow));
	r = pg_step(st);
	if (r == 1)
		*ret = stmt_get_copy(st, 0);
	pg_finish(st);
	return r;
}

/* A server that writes its trees in another way must not be one where everything is allowed. */
static int check_ourselves(struct store *s)
{
	static const char harmful[] =
		"SELECT pg_catalog.set_config('plimsoll.x', 'x', true) AS a, CAST(c.oid AS regclass) "
		"AS b, pg_catalog.count(*) OVER () AS c, c.oid = 1 AS d, (SELECT pg_catalog.max(1)) "
		"AS e FROM pg_catalog.pg_class c";
	static const char found[] = PARTS
		"SELECT pg_catalog.count(DISTINCT m.field) FROM m WHERE "
		"(m.field = 'relid' AND m.id = CAST('pg_catalog.pg_class' AS regclass)) OR "
		"(m.field = 'funcid' AND m.id = CAST('pg_catalog.set_config' AS regproc)) OR "
		"(m.field = 'aggfnoid' AND m.id > 0) OR (m.field = 'winfnoid' AND m.id > 0) OR "
		"(m.field = 'opno' AND m.id > 0) OR (m.field = 'resulttype' AND m.id = "
		"CAST('pg_catalog.regclass' AS regtype))";
	_cleanup_free_ char *name = NULL;
	int64_t fields = 0;
	int r = make_view(s, harmful);

	if (r == 0)
		r = find_refused(s, &name);
	if (r == 1) {
		struct stmt *st = pg_prepare(s, found);

		r = st && pg_step(st) == 1 ? 0 : -EIO;
		fields = r == 0 ? pg_get_int(st, 0) : 0;
		pg_finish(st);
	}
	if (r == 0)
		r = pg_exec(s, "DROP VIEW " STATEMENT);
	if (r < 0 || fields == 6)
		return r;
	return store_fail(s, ENOTSUP,
			  "only administrators may run statements on a server of this version");
}

static int check(struct store *s, const char *sql)
{
	_cleanup_free_ char *name = NULL;
	int r = make_view(s, sql);

	if (r == 0)
		r = find_refused(s, &name);
	if (r <= 0)
		return r;
	return store_fail(
		s, EPERM,
		"PostgreSQL: the statement uses %s; it may use the views without a schema "
		"in front, and functions that compute",
		name ? name : "what is not known");
}

struct stmt *pg_prepare_checked(struct store *s, const char *sql)
{
	int r = pg_exec(s, "ROLLBACK");

	if (r == 0)
		r = pg_exec(s, "BEGIN READ WRITE");
	if (r == 0)
		r = pg_exec(s, "DROP VIEW IF EXISTS " STATEMENT);
	if (r == 0)
		r = check_ourselves(s);
	if (r == 0)
		r = check(s, sql);
	if (r == 0)
		r = pg_exec(s, "COMMIT; BEGIN READ ONLY");
	return r == 0 ? pg_prepare(s, "SELECT * FROM " STATEMENT) : NULL;
}

/* ---- the barrier ------------------------------------------------------------------------------
 */

int pg_raise_barriers(struct store *s)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	struct stmt *st = pg_prepare(
		s, "SELECT pg_catalog.quote_ident(CAST(relname AS text)) FROM pg_catalog.pg_class "
		   "WHERE relnamespace = pg_catalog.pg_my_temp_schema() AND relkind = 'v'");
	int r = st ? 0 : -EIO;

	strbuf_addstr(&sql, "BEGIN READ WRITE;");
	while (st && (r = pg_step(st)) == 1)
		strbuf_addf(&sql, "ALTER VIEW pg_temp.%s SET (security_barrier = true);",
			    stmt_get_str(st, 0));
	pg_finish(st);
	strbuf_addstr(&sql, "COMMIT");
	return r < 0 ? r : pg_exec(s, sql.buf);
}
