/* plimsoll sql: runs one read-only statement on the store. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "cmd/actions.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "tables/atomic_output.h"
#include "views/stream_table.h"

struct sql_options {
	bool json, csv, arrays;
	const char *output;
	uint64_t timeout_ns, limit;
};

/* What is printed, and how many rows may follow. */
struct rows {
	struct stmt *st;
	uint64_t left;
	bool cut; /* there are more */
};

static int next_row(struct rows *r)
{
	int got = stmt_step(r->st);

	if (got == 1 && !r->left) {
		r->cut = true;
		return 0;
	}
	r->left -= got == 1;
	return got;
}

/* ---- what is allowed ------------------------------------------------------------------------ */

static const char *skip_comment(const char *p)
{
	if (p[0] == '-' && p[1] == '-')
		return p + strcspn(p, "\n");
	if (p[0] == '/' && p[1] == '*') {
		const char *end = strstr(p + 2, "*/");

		return end ? end + 2 : p + strlen(p);
	}
	return NULL;
}

/* Does the statement read? The engine refuses writes anyway, but this gives a better message and
 * keeps settings of the engine out of reach. */
static bool reads(const char *sql)
{
	static const char *const words[] = {"SELECT", "WITH", "EXPLAIN", "VALUES"};
	const char *next;

	for (;; sql = next) {
		next = sql + strspn(sql, " \t\r\n(");
		const char *behind = skip_comment(next);
		if (!behind)
			break;
		next = behind;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (!strncasecmp(next, words[i], n) && !isalnum((unsigned char)next[n]) &&
		    next[n] != '_')
			return true;
	}
	return false;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void put_value(struct stream_table *g, struct stmt *st, int i)
{
	const struct store_engine *e = st->store->engine;
	enum store_kind kind = e->kind(st, i);
	size_t n;

	if (g->typed && kind == STORE_INT) {
		stream_table_number(g, stmt_get_int(st, i));
	} else if (g->typed && kind == STORE_REAL) {
		stream_table_real(g, e->get_real(st, i));
	} else {
		const char *s = stmt_get_text(st, i, &n);

		stream_table_text(g, s, s ? n : 0);
	}
}

static int print_rows(struct rows *q, int first, bool csv, FILE *f)
{
	struct stmt *st = q->st;
	const struct store_engine *e = st->store->engine;
	size_t count = (size_t)e->columns(st);
	_cleanup_free_ struct terminal_table_column *columns = xcalloc(count, sizeof(*columns));
	struct stream_table g;
	int r = first;

	for (size_t i = 0; i < count; i++) {
		enum store_kind kind = r == 1 ? e->kind(st, (int)i) : STORE_NULL;

		columns[i].name = e->column_name(st, (int)i);
		columns[i].flags = kind == STORE_INT || kind == STORE_REAL ? COLUMN_RIGHT : 0;
	}
	stream_table_begin(&g, columns, count, csv, f);
	for (; r == 1; r = next_row(q)) {
		for (size_t i = 0; i < count; i++)
			put_value(&g, st, (int)i);
		stream_table_row(&g, 0);
	}
	int written = stream_table_end(&g);
	return r < 0 ? r : written;
}

/* name NULL: an element of an array. */
static void json_value(struct json_writer *j, struct stmt *st, int i, const char *name)
{
	const struct store_engine *e = st->store->engine;
	size_t n;

	switch (e->kind(st, i)) {
	case STORE_NULL:
		json_none(j, name);
		break;
	case STORE_INT:
		json_i64(j, name, stmt_get_int(st, i));
		break;
	case STORE_REAL:
		json_f64(j, name, e->get_real(st, i));
		break;
	case STORE_TEXT:
	case STORE_BYTES: {
		const char *s = stmt_get_text(st, i, &n);

		json_text(j, name, s, n);
		break;
	}
	}
}

static int print_json(struct rows *q, int first)
{
	struct stmt *st = q->st;
	int count = st->store->engine->columns(st), r;
	struct json_rows out;

	json_rows_begin(&out, stdout);
	for (r = first; r == 1; r = next_row(q)) {
		json_begin_object(&out.j, NULL);
		for (int i = 0; i < count; i++)
			json_value(&out.j, st, i, st->store->engine->column_name(st, i));
		json_end_object(&out.j);
		json_rows_next(&out);
	}
	int written = json_rows_end(&out);
	return r < 0 ? r : written;
}

/* One object, so that names may repeat and a result without rows has its columns. */
static int print_arrays(struct rows *q, int first)
{
	struct stmt *st = q->st;
	const struct store_engine *e = st->store->engine;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	int count = e->columns(st), r;

	json_begin_object(&j, NULL);
	json_begin_array(&j, "columns");
	for (int i = 0; i < count; i++)
		json_str(&j, NULL, e->column_name(st, i));
	json_end_array(&j);
	json_begin_array(&j, "rows");
	for (r = first; r == 1; r = next_row(q)) {
		json_begin_array(&j, NULL);
		for (int i = 0; i < count; i++)
			json_value(&j, st, i, NULL);
		json_end_array(&j);
		if (j.out.len > 65536) {
			fwrite(j.out.buf, 1, j.out.len, stdout);
			strbuf_reset(&j.out);
		}
	}
	json_end_array(&j);
	json_bool(&j, "truncated", q->cut);
	json_end_object(&j);
	return r < 0 ? r : json_write(&j, stdout);
}

/* ---- files ---------------------------------------------------------------------------------- */

/* NULL after reporting an error. */
static const struct table_format *format_of(const struct sql_options *o)
{
	const struct table_format *f = table_format_by_suffix(o->output);

	if (f && typed_rows_can(f))
		return f;
	usage_error("sql",
		    f ? "sql: rows cannot be added to the database '%s'; give another suffix, "
			"such as .parquet, .feather or .csv"
		      : "sql: the suffix of '%s' selects no format; give .parquet, .feather, .csv "
			"or another one that `plimsoll export --list` shows",
		    o->output);
	return NULL;
}

static int finish_file(FILE *f)
{
	int r = fflush(f) == 0 && !ferror(f) ? fs_sync(fileno(f)) : -EIO;

	if (fclose(f) != 0 && r == 0)
		r = -errno;
	return r;
}

/* The file appears when it is complete. */
static int write_rows(struct rows *q, int first, const char *path,
		      const struct table_format *format)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct atomic_output place;

	if (atomic_output_begin(&place, format, path, &why) < 0) {
		log_error("%s", why.buf);
		return -ECANCELED;
	}
	FILE *f = fopen(place.path, "we");
	/* CSV is that of --csv */
	stream_table_format = strcmp(format->name, "csv") != 0 ? format : NULL;
	int r = f ? print_rows(q, first, true, f) : -errno;
	int closed = f ? finish_file(f) : 0;
	if (r >= 0 && closed < 0)
		r = closed;
	if (r >= 0 && atomic_output_commit(&place, &why) < 0) {
		log_error("%s", why.buf);
		r = -ECANCELED;
	}
	atomic_output_cancel(&place);
	return r;
}

/* ---- command -------------------------------------------------------------------------------- */

static int print(struct rows *q, int first, const struct sql_options *o,
		 const struct table_format *format)
{
	if (format)
		return write_rows(q, first, o->output, format);
	return o->arrays ? print_arrays(q, first)
	       : o->json ? print_json(q, first)
			 : print_rows(q, first, o->csv, stdout);
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv)
{
	const struct sql_options *o = ctx->options;
	const struct table_format *format = o->output ? format_of(o) : NULL;
	_cleanup_store_ struct store *s = NULL;

	if (o->output && !format)
		return EXIT_USAGE;
	if (!reads(argv[0]))
		return usage_error(
			"sql", "sql: a statement must start with SELECT, WITH, VALUES or EXPLAIN");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	bool superuser = !strcmp(config_get(&ctx->config, SETTING_SQL_SUPERUSER), "yes");
	int r = s->engine->guard(s, o->timeout_ns, superuser);
	_cleanup_stmt_ struct stmt *st = r < 0 ? NULL : stmt_prepare(s, argv[0]);
	struct rows q = {.st = st, .left = o->limit};
	r = st ? next_row(&q) : -EIO;
	if (r >= 0)
		r = print(&q, r, o, format);
	if (r >= 0 && q.cut && !o->arrays)
		log_warn("more than %llu rows; the rest is not printed (--limit)",
			 (unsigned long long)o->limit);
	return r == -ECANCELED ? EXIT_FAILED : report_store_error(s, r);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'o', "output", "FILE",
	 "write the rows to this file, with types; its suffix selects the format: .parquet, "
	 ".feather (Arrow), .orc, .csv, .json, .jsonl or .pkl",
	 AT(struct sql_options, output)},
	ROW_CSV(struct sql_options),
	{OPT_DURATION, 0, "timeout", "TIME",
	 "interrupt the statement after this time; default 10m; 0s: never",
	 AT(struct sql_options, timeout_ns)},
	{OPT_COUNT, 'n', "limit", "N", "at most N rows; default: all",
	 AT(struct sql_options, limit)},
	ROW_JSON(struct sql_options),
	{OPT_FLAG, 0, "arrays", NULL,
	 "print one JSON object: columns, rows as arrays, and whether --limit cut them off",
	 AT(struct sql_options, arrays)},
	ROWS_STORE,
};

const struct command command_sql = {
	.name = "sql",
	.summary = "query the store with SQL",
	.operands = {"STATEMENT", 1, 1, .hint = "quote the statement"},
	.description =
		"Runs one statement that reads, and prints its rows. The store is opened read-only: "
		"nothing can be changed, and files, settings and extensions of the engine cannot be "
		"accessed. A superuser of a PostgreSQL server could access them anyway; so a statement "
		"on such a connection is refused unless the setting sql_superuser is yes.\n\n"
		"The views are jobs, job_tags, job_annotations, job_hosts, job_sums, job_warnings, "
		"job_proc_tags, job_executables, job_operations, job_users, job_profiles, job_analyses, alerts, "
		"processes, threads, events, series, samples "
		"and absences. Their columns have the names and units of plimsoll-metrics(7); times are "
		"microseconds since 1970. The underlying tables may change between versions.\n\n"
		"In JSON, text that is not valid UTF-8 contains U+FFFD, and a second key with the "
		"suffix _b64 has the exact bytes. In CSV, text that a spreadsheet would take for a "
		"formula (it starts with =, +, -, @, a tab or a carriage return, and is not a number) "
		"gets a leading apostrophe. JSON, and `plimsoll export` (CSV with --raw), preserve "
		"every byte.",
	.examples =
		"  plimsoll sql 'SELECT exename, count(*), sum(cpu_time) FROM processes GROUP BY exename'\n"
		"  plimsoll sql -o users.parquet 'SELECT user, cpu_time FROM jobs'\n"
		"  plimsoll sql --json \"SELECT jobid FROM job_tags WHERE key = 'exp_name'\"\n",
	OPTIONS(struct sql_options, rows),
	.defaults = &(const struct sql_options){.timeout_ns = 600 * SECONDS, .limit = UINT64_MAX},
	.run = run,
};
