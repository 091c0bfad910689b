/*
 * Module "postgres": a store on a PostgreSQL server, by libpq. This file has the connection,
 * errors, transactions and the care of the tables; postgres_stmt.c has statements, postgres_copy.c
 * the bulk writers, postgres_value.c what values look like on the wire.
 */
#include <errno.h>

#include "core/module.h"
#include "core/text/text.h"
#include "store/postgres/postgres.h"

/* ---- errors --------------------------------------------------------------------------------- */

/* Adds the first line without trailing blanks, made printable. */
static void add_line(struct strbuf *out, const char *text)
{
	size_t n = strcspn(text, "\r\n");

	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	text_add_printable(out, text, n);
}

static int errno_of(const char *sqlstate)
{
	static const struct {
		const char *state;
		int error;
	} known[] = {
		{"08", EPIPE},     {"57P01", EPIPE},  {"57P02", EPIPE},  {"23505", EEXIST},
		{"40001", EAGAIN}, {"40P01", EAGAIN}, {"25006", EROFS},  {"53100", ENOSPC},
		{"42501", EACCES}, {"42P01", ENOENT}, {"53200", ENOMEM}, {"21", EBADMSG},
		{"22", EBADMSG},   {"23", EBADMSG},
	};

	for (size_t i = 0; sqlstate && i < ARRAY_SIZE(known); i++)
		if (str_prefix(sqlstate, known[i].state))
			return known[i].error;
	return EIO;
}

int pg_failed(struct store *s, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	bool broken = PQstatus(pg_of(s)->conn) != CONNECTION_OK;
	int error = broken ? EPIPE : errno_of(state);

	if (!text || !*text)
		text = PQresultErrorMessage(result);
	if (!*text)
		text = PQerrorMessage(pg_of(s)->conn);
	strbuf_reset(&s->error);
	strbuf_addstr(&s->error, "PostgreSQL: ");
	if (error == EPIPE)
		strbuf_addf(&s->error, "the connection to %s is lost: ", s->where);
	add_line(&s->error, text);
	/* schema_current() looks for these words, but the server may use another language */
	if (error == ENOENT && !strstr(s->error.buf, "does not exist"))
		strbuf_addstr(&s->error, " (a table does not exist)");
	return -error;
}

int pg_refuse_copy(struct store *s, const PGresult *result)
{
	PGconn *conn = pg_of(s)->conn;
	char *data;

	if (PQresultStatus(result) == PGRES_COPY_OUT) {
		while (PQgetCopyData(conn, &data, 0) > 0)
			PQfreemem(data);
	} else {
		(void)PQputCopyEnd(conn, "refused");
	}
	return store_fail(s, EINVAL, "PostgreSQL: statements cannot COPY from or to the client");
}

/* ---- opening -------------------------------------------------------------------------------- */

static void ignore_notice(void *user PL_UNUSED, const char *message PL_UNUSED)
{
}

/*
 * libpq's messages about an invalid URL quote it, maybe with its password: they are cut before the
 * quotation. An @ in the host is most likely the rest of a password, too.
 */
static int check_url(struct store *s, const char *url)
{
	char *error = NULL;
	int r = 0;

	if (!str_prefix(url, "postgresql://") && !str_prefix(url, "postgres://"))
		return store_fail(
			s, EINVAL,
			"'%s' is not a store; use postgresql://[user@]host[:port]/database",
			s->where);
	PQconninfoOption *options = PQconninfoParse(url, &error);
	if (!options) {
		int n = error ? (int)strcspn(error, "\"\n") : 0;

		while (n && strchr(": ", error[n - 1]))
			n--;
		r = store_fail(s, EINVAL, "cannot read the URL of the store: %.*s", n,
			       error ? error : "");
	}
	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		if (!strcmp(o->keyword, "host") && o->val && strchr(o->val, '@'))
			r = store_fail(
				s, EINVAL,
				"cannot read the URL of the store: write an @ in the password as "
				"%%40");
	PQconninfoFree(options);
	PQfreemem(error);
	return r;
}

/* The URL may override the keywords before it, but not those after it. */
static PGconn *connect_to(const char *url)
{
	static const char *const keys[] = {"connect_timeout",  "fallback_application_name",
					   "keepalives_idle",  "keepalives_interval",
					   "keepalives_count", "dbname",
					   "client_encoding",  NULL};
	const char *values[] = {"10", "plimsoll", "30", "10", "6", url, "UTF8", NULL};
	const char *timeout = getenv("PGCONNECT_TIMEOUT");
	size_t from = timeout && *timeout ? 1 : 0;

	return PQconnectdbParams(keys + from, values + from, 1);
}

/* libpq does not give the error code; these two can be distinguished. */
static int refused(struct store *s, PGconn *conn)
{
	int error = PQconnectionNeedsPassword(conn) || PQconnectionUsedPassword(conn)
			    ? EACCES
			    : ECONNREFUSED;
	const char *text = PQerrorMessage(conn);

	strbuf_reset(&s->error);
	strbuf_addf(&s->error, "cannot connect to %s: ", s->where);
	add_line(&s->error, *text ? text : "no memory");
	return -error;
}

static int configure(struct store *s, enum store_access access)
{
	const char *encoding = PQparameterStatus(pg_of(s)->conn, "server_encoding");

	if (encoding && strcmp(encoding, "UTF8") != 0 && strcmp(encoding, "SQL_ASCII") != 0)
		return store_fail(s, EINVAL,
				  "%s: the database has the encoding %s; it must be UTF8", s->where,
				  encoding);
	int r = pg_exec(s,
			"SET bytea_output = hex; SET datestyle = ISO; "
			"SET standard_conforming_strings = on; SET client_min_messages = warning");
	if (r == 0 && (access == STORE_READ || access == STORE_FOREIGN))
		r = pg_exec(s, "SET default_transaction_read_only = on");
	return r;
}

static void pg_close(struct store *s)
{
	struct pg *pg = pg_of(s);

	if (!pg)
		return;
	PQfinish(pg->conn); /* the server rolls back an open transaction */
	strbuf_release(&pg->dead);
	free(pg);
	s->state = NULL;
}

static int pg_open(struct store *s, const char *where, enum store_access access)
{
	int r = check_url(s, where);

	if (r < 0)
		return r;
	struct pg *pg = xcalloc(1, sizeof(*pg));
	pg->dead = (struct strbuf)STRBUF_INIT;
	pg->conn = connect_to(where);
	s->state = pg;
	if (PQstatus(pg->conn) != CONNECTION_OK)
		r = refused(s, pg->conn);
	if (r == 0) {
		PQsetNoticeProcessor(pg->conn, ignore_notice, NULL);
		r = configure(s, access);
	}
	if (r < 0)
		pg_close(s);
	return r;
}

/* ---- transactions --------------------------------------------------------------------------- */

static int finish_exec(struct store *s, const PGresult *result)
{
	PGconn *conn = pg_of(s)->conn;
	int r = 0;

	switch (PQresultStatus(result)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_EMPTY_QUERY:
		return 0;
	case PGRES_COPY_IN:
	case PGRES_COPY_OUT:
	case PGRES_COPY_BOTH:
		r = pg_refuse_copy(s, result);
		for (PGresult *rest; (rest = PQgetResult(conn)); PQclear(rest))
			if (PQresultStatus(rest) == PGRES_COPY_IN ||
			    PQresultStatus(rest) == PGRES_COPY_OUT)
				(void)pg_refuse_copy(s, rest);
		return r;
	default:
		return pg_failed(s, result);
	}
}

int pg_exec(struct store *s, const char *sql)
{
	pg_settle(pg_of(s));
	_cleanup_result_ PGresult *result = PQexec(pg_of(s)->conn, sql);
	return finish_exec(s, result);
}

static int pg_begin(struct store *s)
{
	return pg_exec(s, "BEGIN");
}

static int pg_commit(struct store *s)
{
	pg_settle(pg_of(s));
	_cleanup_result_ PGresult *result = PQexec(pg_of(s)->conn, "COMMIT");
	int r = finish_exec(s, result);
	/* COMMIT of a failed transaction succeeds as ROLLBACK */
	if (r == 0 && !strcmp(PQcmdStatus(result), "ROLLBACK"))
		r = store_fail(
			s, EIO,
			"PostgreSQL: the transaction was rolled back after an earlier error");
	return r;
}

static void pg_rollback(struct store *s)
{
	(void)pg_exec(s, "ROLLBACK");
	pg_bulk_forget(pg_of(s));
}

/* ---- maintenance ----------------------------------------------------------------------- */

#define OUR_TABLES                                                                              \
	" FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " \
	"WHERE c.relkind = 'r' AND n.nspname = current_schema() AND c.relname ~ "               \
	"'^(job|job_[a-z_]+|sample_[a-z]+|string|process|tree|thread|event|schema_version)$'"

static int pg_size(struct store *s, int64_t *ret)
{
	return store_number(
		s,
		"SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint)" OUR_TABLES,
		ret);
}

/* Counts rows. An error is reported as a problem, unless the connection failed. */
static int count_rows(struct store *s, const char *table, const char *where, int64_t *ret,
		      struct strbuf *out)
{
	_cleanup_free_ char *sql = xasprintf("SELECT count(*) FROM %s t %s", table, where);
	int r = store_number(s, sql, ret);

	if (r == 0)
		return 0;
	if (PQstatus(pg_of(s)->conn) != CONNECTION_OK)
		return -EPIPE;
	strbuf_addf(out, "%s: %s\n", table, store_error(s));
	return 0;
}

/* Reads every table once. */
static int check_tables(struct store *s, struct strbuf *out)
{
	_cleanup_stmt_ struct stmt *st = pg_prepare(s, "SELECT c.relname" OUR_TABLES " ORDER BY 1");
	int64_t rows = 0;
	int r = 0;

	if (!st)
		return -EIO;
	while (r >= 0 && (r = pg_step(st)) == 1)
		r = count_rows(s, stmt_get_str(st, 0), "", &rows, out);
	return r;
}

static int pg_check(struct store *s, struct strbuf *out)
{
	int r = check_tables(s, out);

	for (const struct store_table *t = store_tables; r >= 0 && t->name; t++) {
		_cleanup_free_ char *where =
			xasprintf("WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.no = t.%s%s)",
				  t->job ? t->job : t->key, t->job ? "" : " >> 32");
		int64_t n = 0;

		if (!t->job && !t->key)
			continue;
		r = count_rows(s, t->name, where, &n, out);
		if (n)
			strbuf_addf(out, "%s: %lld %s of jobs that do not exist\n", t->name,
				    (long long)n, plural(n, "row", "rows"));
	}
	return r;
}

static int pg_vacuum(struct store *s)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	_cleanup_stmt_ struct stmt *st = pg_prepare(s, "SELECT c.relname" OUR_TABLES);
	int r = st ? 0 : -EIO;

	while (st && (r = pg_step(st)) == 1)
		strbuf_addf(&sql, "%s%s", sql.len ? ", " : "VACUUM (ANALYZE) ",
			    stmt_get_str(st, 0));
	return r < 0 || !sql.len ? r : pg_exec(s, sql.buf);
}

static int pg_backup(struct store *s, const char *to PL_UNUSED)
{
	return store_fail(s, ENOTSUP, "use pg_dump to back up a PostgreSQL store");
}

static void pg_version(struct store *s, struct strbuf *out)
{
	const char *server =
		s && pg_of(s) ? PQparameterStatus(pg_of(s)->conn, "server_version") : NULL;
	int lib = PQlibVersion();

	if (server) {
		strbuf_addstr(out, "PostgreSQL ");
		add_line(out, server);
		strbuf_addstr(out, ", ");
	}
	strbuf_addf(out, "libpq %d.%d", lib / 10000, lib % 10000);
}

/*
 * Converts bytes to text if they are UTF-8 without NUL; otherwise with \ooo for other bytes. It
 * matches hexadecimal digits, because catching an error would prevent parallel queries. The lock is
 * for two programs that create the function at the same moment, which the server does not allow.
 */
#define NEXT "[89ab]."
static const char prelude[] =
	"SELECT pg_advisory_xact_lock(7236278);\n"
	"CREATE OR REPLACE FUNCTION plimsoll_text(b bytea) RETURNS text LANGUAGE plpgsql "
	"IMMUTABLE STRICT PARALLEL SAFE AS $plimsoll$\n"
	"DECLARE t text := encode(b, 'escape');\n"
	"BEGIN\n"
	"  IF strpos(t, chr(92)) = 0 THEN RETURN t; END IF;\n"
	"  IF encode(b, 'hex') ~ ('^([1-7].|0[1-9a-f]|(c[2-9a-f]|d.)" NEXT "|e0[ab]." NEXT
	"|e[1-9a-cef]" NEXT NEXT "|ed[89]." NEXT "|f0[9ab]." NEXT NEXT "|f[1-3]" NEXT NEXT NEXT
	"|f48." NEXT NEXT ")*$')\n"
	"  THEN RETURN convert_from(b, 'UTF8'); END IF;\n"
	"  RETURN t;\n"
	"END $plimsoll$";

/* A session of one of these users can set any role, and read the server's files. who: who may
 * trust a statement anyway. */
static int refuse_superuser(struct store *s, const char *who)
{
	static const char mighty[] =
		"SELECT count(*) FROM pg_roles r WHERE (r.rolname = session_user AND r.rolsuper) OR "
		"(r.rolname IN ('pg_read_server_files', 'pg_write_server_files', "
		"'pg_execute_server_program') AND pg_has_role(session_user, r.oid, 'MEMBER'))";
	int64_t n = 0;
	int r = store_number(s, mighty, &n);

	if (r < 0 || !n)
		return r;
	return store_fail(
		s, EPERM,
		"the store is opened as a superuser of the server, so that a statement could read "
		"the server's files; use another user in --db (CREATE ROLE reader LOGIN; GRANT "
		"SELECT ON ALL TABLES IN SCHEMA public TO reader)%s",
		who);
}

/*
 * The transaction is read only, and rolled back when the connection is closed (before PostgreSQL 16
 * READ ONLY allows writing large objects). The server protects its files and settings from ordinary
 * users. A superuser, if allowed, gets an ordinary role, but a statement can undo that.
 */
static int pg_guard(struct store *s, uint64_t timeout_ns, bool superuser)
{
	static const char plain_role[] =
		"DO $$ BEGIN IF current_setting('server_version_num')::int >= 140000 AND "
		"(SELECT rolsuper FROM pg_roles WHERE rolname = current_user) "
		"THEN SET LOCAL ROLE pg_read_all_data; END IF; END $$";
	char sql[64];

	bool checked = s->viewer && !s->all_jobs;
	int r = 0;

	if (checked)
		r = refuse_superuser(s, "");
	else if (!superuser)
		r = refuse_superuser(
			s, ", or set PLIMSOLL_SQL_SUPERUSER=yes if you trust the statement");
	if (r == 0 && checked)
		r = pg_raise_barriers(s);
	if (r < 0)
		return r;
	snprintf(sql, sizeof(sql), "SET statement_timeout = %llu",
		 (unsigned long long)((timeout_ns + 999999) / 1000000));
	r = pg_exec(s, sql);
	pg_of(s)->checked = checked;
	if (r == 0 && !checked)
		r = pg_exec(s, "BEGIN READ ONLY");
	return r < 0 || checked ? r : pg_exec(s, plain_role);
}

static struct stmt *prepare(struct store *s, const char *sql)
{
	return pg_of(s)->checked ? pg_prepare_checked(s, sql) : pg_prepare(s, sql);
}

static const struct store_engine engine = {
	.name = "PostgreSQL",
	.id = "BIGINT PRIMARY KEY",
	.bytes = "BYTEA",
	.keyed = "",
	.text_before = "plimsoll_text(",
	.text_after = ")",
	.prelude = prelude,
	.concurrent = true,
	.lock = "SELECT pg_advisory_xact_lock(7236278)",
	.open = pg_open,
	.close = pg_close,
	.exec = pg_exec,
	.guard = pg_guard,
	.begin = pg_begin,
	.commit = pg_commit,
	.rollback = pg_rollback,
	.prepare = prepare,
	.finish = pg_finish,
	.bind = pg_bind,
	.step = pg_step,
	.reset = pg_reset,
	.columns = pg_columns,
	.column_name = pg_column_name,
	.kind = pg_column_kind,
	.get_int = pg_get_int,
	.get_real = pg_get_real,
	.get_text = pg_get_text,
	.changes = pg_changes,
	.bulk_open = pg_bulk_open,
	.bulk_value = pg_bulk_value,
	.bulk_row = pg_bulk_row,
	.bulk_flush = pg_bulk_flush,
	.bulk_close = pg_bulk_close,
	.size = pg_size,
	.check = pg_check,
	.vacuum = pg_vacuum,
	.backup = pg_backup,
	.version = pg_version,
};

PL_MODULE("postgres", "libpq", &engine);
