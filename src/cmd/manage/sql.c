/* plimsoll sql: runs one read-only statement on the store. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "cmd/actions.h"
#include "core/text/text.h"
#include "views/stream_table.h"

struct sql_options {
	bool json, csv, arrays;
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

static void add_value(struct strbuf *out, struct stmt *st, int i)
{
	size_t n;
	const char *s = stmt_get_text(st, i, &n);

	strbuf_add(out, s ? s : "", n);
}

static int print_rows(struct rows *q, int first, bool csv)
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
	stream_table_begin(&g, columns, count, csv, stdout);
	for (; r == 1; r = next_row(q)) {
		for (size_t i = 0; i < count; i++) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

			add_value(&text, st, (int)i);
			stream_table_text(&g, text.buf, text.len);
		}
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

/* ---- command -------------------------------------------------------------------------------- */

static int run(struct context *ctx, int argc PL_UNUSED, char **argv)
{
	const struct sql_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;

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
		r = o->arrays ? print_arrays(&q, r)
		    : o->json ? print_json(&q, r)
			      : print_rows(&q, r, o->csv);
	if (r >= 0 && q.cut && !o->arrays)
		log_warn("more than %llu rows; the rest is not printed (--limit)",
			 (unsigned long long)o->limit);
	return report_store_error(s, r);
}

static const struct option_row rows[] = {
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
		"  plimsoll sql --json \"SELECT jobid FROM job_tags WHERE key = 'exp_name'\"\n",
	OPTIONS(struct sql_options, rows),
	.defaults = &(const struct sql_options){.timeout_ns = 600 * SECONDS, .limit = UINT64_MAX},
	.run = run,
};
