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

int pg_fail(struct store *s, int error, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_reset(&s->error);
	strbuf_add(&s->error, text.buf, text.len);
	return -error;
}

/* The first line, without blanks at its end, fit to be shown. */
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
	/* the server may speak another language, and who makes tables looks for these words */
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
	return pg_fail(s, EINVAL, "PostgreSQL: COPY from and to the client is not for statements");
}

/* ---- opening -------------------------------------------------------------------------------- */

static void ignore_notice(void *user, const char *message)
{
	(void)user;
	(void)message;
}

/*
 * libpq's sentences about a URL that it cannot read quote from it, and so from a password: they are
 * cut before the quotation. An @ in the host is most likely the rest of a password as well.
 */
static int check_url(struct store *s, const char *url)
{
	char *error = NULL;
	int r = 0;

	if (!str_prefix(url, "postgresql://") && !str_prefix(url, "postgres://"))
		return pg_fail(s, EINVAL,
			       "'%s' is no store: postgresql://[user@]host[:port]/database is",
			       s->where);
	PQconninfoOption *options = PQconninfoParse(url, &error);
	if (!options) {
		int n = error ? (int)strcspn(error, "\"\n") : 0;

		while (n && strchr(": ", error[n - 1]))
			n--;
		r = pg_fail(s, EINVAL, "cannot read the URL of the store: %.*s", n,
			    error ? error : "");
	}
	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		if (!strcmp(o->keyword, "host") && o->val && strchr(o->val, '@'))
			r = pg_fail(s, EINVAL,
				    "cannot read the URL of the store: an @ in the password is "
				    "written %%40");
	PQconninfoFree(options);
	PQfreemem(error);
	return r;
}

/* What stands before the URL may be changed by it, what stands after it may not. */
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

/* libpq keeps the code of a refusal to itself; these two can be told. */
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
		return pg_fail(s, EINVAL, "%s: the encoding of this database is %s, not UTF8",
			       s->where, encoding);
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
	PQfinish(pg->conn); /* the server rolls an open transaction back */
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
	/* a transaction that has failed is "committed" without an error */
	if (r == 0 && !strcmp(PQcmdStatus(result), "ROLLBACK"))
		r = pg_fail(s, EIO,
			    "PostgreSQL: an error before rolled the whole transaction back");
	return r;
}

static void pg_rollback(struct store *s)
{
	(void)pg_exec(s, "ROLLBACK");
	pg_bulk_forget(pg_of(s));
}

/* ---- looking after it ----------------------------------------------------------------------- */

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

/* One count; what cannot be counted is a problem and not a failure, except of the connection. */
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
	static const struct {
		const char *table, *job;
	} rows[] = {
		{"job_tag", "t.job"},          {"job_annotation", "t.job"},
		{"job_host", "t.job"},         {"job_sum", "t.job"},
		{"job_warning", "t.job"},      {"job_proc_tag", "t.job"},
		{"job_profile", "t.job"},      {"string", "t.id >> 32"},
		{"process", "t.id >> 32"},     {"tree", "t.id >> 32"},
		{"thread", "t.process >> 32"}, {"event", "t.process >> 32"},
		{"sample_metric", "t.job"},    {"sample_entity", "t.job"},
		{"sample_series", "t.job"},    {"sample_tick", "t.job"},
		{"sample_chunk", "t.job"},     {"sample_absence", "t.job"},
	};
	int r = check_tables(s, out);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *where = xasprintf(
			"WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.no = %s)", rows[i].job);
		int64_t n = 0;

		r = count_rows(s, rows[i].table, where, &n, out);
		if (n)
			strbuf_addf(out, "%s: %lld %s of jobs that are not there\n", rows[i].table,
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

static int pg_backup(struct store *s, const char *to)
{
	(void)to;
	return pg_fail(s, ENOTSUP, "use pg_dump for a PostgreSQL store");
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
 * Bytes as text where they are UTF-8 without NUL, which the server has no text for; all others with
 * \ooo for every odd byte. The form in hexadecimal digits is compared with what UTF-8 allows, since
 * to try, and to catch the error, would keep the server from working in parallel. The lock is for
 * two programs that do this at the same moment, which the server does not allow.
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

/* Whoever logged in as one of these can take on any role again, and read the server's files. */
static int refuse_superuser(struct store *s)
{
	static const char mighty[] =
		"SELECT count(*) FROM pg_roles r WHERE (r.rolname = session_user AND r.rolsuper) OR "
		"(r.rolname IN ('pg_read_server_files', 'pg_write_server_files', "
		"'pg_execute_server_program') AND pg_has_role(session_user, r.oid, 'MEMBER'))";
	int64_t n = 0;
	int r = store_number(s, mighty, &n);

	if (r < 0 || !n)
		return r;
	strbuf_reset(&s->error);
	strbuf_addstr(
		&s->error,
		"the store is opened as a superuser of the server, whose files a statement could "
		"read then: name another user in --db (CREATE ROLE reader LOGIN; GRANT SELECT ON "
		"ALL TABLES IN SCHEMA public TO reader), or trust the statement with "
		"PLIMSOLL_SQL_SUPERUSER=yes");
	return -EPERM;
}

/*
 * Nothing that it does stays: the transaction reads only, and is rolled back when the connection is
 * closed (large objects are written in spite of READ ONLY before PostgreSQL 16). The server keeps
 * its own files and settings from users. A superuser, where one is wanted, becomes one; but a
 * statement can undo that. Time is ours to limit.
 */
static int pg_guard(struct store *s, uint64_t timeout_ns, bool superuser)
{
	static const char plain_role[] =
		"DO $$ BEGIN IF current_setting('server_version_num')::int >= 140000 AND "
		"(SELECT rolsuper FROM pg_roles WHERE rolname = current_user) "
		"THEN SET LOCAL ROLE pg_read_all_data; END IF; END $$";
	char sql[64];

	int r = superuser ? 0 : refuse_superuser(s);
	if (r < 0)
		return r;
	snprintf(sql, sizeof(sql), "SET statement_timeout = %llu",
		 (unsigned long long)((timeout_ns + 999999) / 1000000));
	r = pg_exec(s, sql);
	if (r == 0)
		r = pg_exec(s, "BEGIN READ ONLY");
	return r < 0 ? r : pg_exec(s, plain_role);
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
	.prepare = pg_prepare,
	.finish = pg_finish,
	.bind_int = pg_bind_int,
	.bind_real = pg_bind_real,
	.bind_text = pg_bind_text,
	.bind_bytes = pg_bind_bytes,
	.bind_null = pg_bind_null,
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
	.bulk_int = pg_bulk_int,
	.bulk_real = pg_bulk_real,
	.bulk_text = pg_bulk_text,
	.bulk_bytes = pg_bulk_bytes,
	.bulk_null = pg_bulk_null,
	.bulk_row = pg_bulk_row,
	.bulk_flush = pg_bulk_flush,
	.bulk_close = pg_bulk_close,
	.size = pg_size,
	.check = pg_check,
	.vacuum = pg_vacuum,
	.backup = pg_backup,
	.version = pg_version,
};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "postgres",
	.library = "libpq",
	.functions = &engine,
};
