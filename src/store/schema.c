/* Numbered migrations, each applied in its own transaction; and the list of tables. */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "store/import/databases.h"
#include "store/ingest/usage_sums.h"
#include "store/job_figures.h"
#include "store/store.h"

static const char jobs_sql[] = {
#include "001_jobs.sql.h"
};
static const char samples_sql[] = {
#include "002_samples.sql.h"
};
static const char stream_sql[] = {
#include "003_stream.sql.h"
};
static const char models_sql[] = {
#include "004_models.sql.h"
};
static const char processes_sql[] = {
#include "005_processes.sql.h"
};
static const char analyses_sql[] = {
#include "006_analyses.sql.h"
};
static const char begins_sql[] = {
#include "007_begins.sql.h"
};
static const char identity_sql[] = {
#include "008_identity.sql.h"
};
static const char usage_sql[] = {
#include "009_usage.sql.h"
};
static const char phases_sql[] = {
#include "010_phases.sql.h"
};
static const char alerts_sql[] = {
#include "011_alerts.sql.h"
};
static const char job_list_sql[] = {
#include "012_job_list.sql.h"
};
static const char access_sql[] = {
#include "013_access.sql.h"
};

/* clang-format off */
const struct migration migrations[] = {
	{1, "jobs", jobs_sql},
	{2, "samples", samples_sql},
	{3, "stream", stream_sql},
	{4, "models", models_sql},
	{5, "processes", processes_sql},
	{6, "analyses", analyses_sql},
	{7, "begins", begins_sql},
	{8, "identity", identity_sql},
	{9, "usage", usage_sql},
	{10, "phases", phases_sql},
	{11, "alerts", alerts_sql},
	{12, "job_list", job_list_sql},
	{13, "access", access_sql},
	{0, NULL, NULL},
};
/* clang-format on */

/* Computes what the SQL of a migration does not. */
static int fill(struct store *s, int migration)
{
	return migration == 9 ? usage_sums_fill(s) : migration == 12 ? job_list_fill(s) : 0;
}

int schema_newest(void)
{
	int newest = 0;

	for (const struct migration *m = migrations; m->number; m++)
		newest = m->number;
	return newest;
}

/* Replaces the word in braces at p by the engine's text; returns what follows it. */
static const char *expand_word(const struct store_engine *e, const char *p, struct strbuf *out)
{
	const char *end = strchr(p, '}');
	size_t n = end ? (size_t)(end - p) : 0;

	if (end && n == 3 && !memcmp(p, "{id", n))
		strbuf_addstr(out, e->id);
	else if (end && n == 6 && !memcmp(p, "{bytes", n))
		strbuf_addstr(out, e->bytes);
	else if (end && n == 6 && !memcmp(p, "{keyed", n))
		strbuf_addstr(out, e->keyed);
	else if (end && n > 6 && !memcmp(p, "{text ", 6)) {
		strbuf_addstr(out, e->text_before);
		strbuf_add(out, p + 6, n - 6);
		strbuf_addstr(out, e->text_after);
	} else {
		strbuf_addch(out, *p);
		return p + 1;
	}
	return end + 1;
}

/* Skips a comment, and with it the lines for another engine: "--only ENGINE" to "--end". */
static const char *skip_comment(const struct store_engine *e, const char *p)
{
	size_t line = strcspn(p, "\n"), n = strlen(e->name);

	if (!str_prefix(p, "--only ") || (line == 7 + n && !strncmp(p + 7, e->name, n)))
		return p + line;
	const char *end = strstr(p, "\n--end");
	return end ? end + 1 : p + strlen(p);
}

void schema_expand(const struct store_engine *e, const char *sql, struct strbuf *out)
{
	for (const char *p = sql; *p;) {
		if (p[0] == '-' && p[1] == '-') {
			p = skip_comment(e, p);
		} else if (*p == '{') {
			p = expand_word(e, p, out);
		} else {
			strbuf_addch(out, *p++);
		}
	}
}

int schema_current(struct store *s, int *ret)
{
	int64_t number = 0;

	int r = store_number(s, "SELECT max(number) FROM schema_version", &number);
	*ret = (int)number;
	/* the messages of SQLite and PostgreSQL for an empty store */
	if (r < 0 &&
	    (strstr(store_error(s), "no such table") || strstr(store_error(s), "does not exist")))
		r = 0;
	return r;
}

int schema_refuse_foreign(struct store *s)
{
	const struct database *d = database_of(s);

	if (!d)
		return 0;
	return strbuf_fail(
		&s->error, -EPROTO,
		"'%s' is a database of %s, which plimsoll does not write to; copy its jobs into a "
		"store with `plimsoll db import`",
		s->where, d->tool);
}

/* Begins a transaction that excludes other migrations. */
static int begin_alone(struct store *s)
{
	int r = store_begin(s);

	if (r == 0 && s->engine->lock)
		r = store_exec(s, s->engine->lock);
	return r;
}

static int note_applied(struct store *s, const struct migration *m)
{
	return store_run(s,
			 "INSERT INTO schema_version (number, name, applied_us) "
			 "VALUES ($1, $2, $3)",
			 db_int(m->number), db_str(m->name), db_int(clock_realtime_us()));
}

static int apply(struct store *s, const struct migration *m)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	int have = 0;

	int r = begin_alone(s);
	if (r == 0)
		r = schema_current(s, &have);
	/* another process may have been faster */
	if (r == 0 && have < m->number) {
		schema_expand(s->engine, m->sql, &sql);
		r = store_exec(s, sql.buf);
		if (r == 0)
			r = fill(s, m->number);
		if (r == 0)
			r = note_applied(s, m);
	}
	return store_end(s, r);
}

int schema_migrate(struct store *s)
{
	int r = schema_refuse_foreign(s);

	if (r == 0)
		r = begin_alone(s);
	if (r < 0)
		return r;
	r = store_exec(s, "CREATE TABLE IF NOT EXISTS schema_version ("
			  "number BIGINT PRIMARY KEY, name TEXT NOT NULL, "
			  "applied_us BIGINT NOT NULL)");
	if (r == 0 && s->engine->prelude)
		r = store_exec(s, s->engine->prelude);
	r = store_end(s, r);
	for (const struct migration *m = migrations; r == 0 && m->number; m++)
		r = apply(s, m);
	return r;
}

const struct store_table store_tables[] = {
	{"process", .key = "id"},
	{"tree", .key = "id"},
	{"string", .key = "id"},
	{"thread", .key = "process"},
	{"event", .key = "process"},
	{"phase", .key = "id"},
	{"job_meta", .job = "job"},
	{"job_tag", .job = "job"},
	{"job_account", .job = "job"},
	{"job_annotation", .job = "job"},
	{"job_analysis", .job = "job"},
	{"job_alert", .job = "job"},
	{"job_host", .job = "job"},
	{"job_word", .job = "job"},
	{"job_sum", .job = "job"},
	{"job_warning", .job = "job"},
	{"job_proc_tag", .job = "job"},
	{"job_executable", .job = "job"},
	{"job_operation", .job = "job"},
	{"job_user_sum", .job = "job"},
	{"job_profile", .job = "job"},
	{"sample_metric", .job = "job"},
	{"sample_entity", .job = "job"},
	{"sample_series", .job = "job"},
	{"sample_tick", .job = "job"},
	{"sample_chunk", .job = "job"},
	{"sample_absence", .job = "job"},
	{"job", .job = "no"},
	{.name = "job_number"},
	{.name = "sample_stream"},
	{.name = "model"},
	{.name = "access_user"},
	{.name = "access_event"},
	{.name = NULL},
};

const char *const store_views[] = {"jobs",
				   "job_tags",
				   "job_annotations",
				   "job_hosts",
				   "job_sums",
				   "job_warnings",
				   "job_proc_tags",
				   "job_profiles",
				   "processes",
				   "threads",
				   "events",
				   "series",
				   "samples",
				   "absences",
				   "job_analyses",
				   "job_executables",
				   "job_operations",
				   "job_users",
				   "phases",
				   "alerts",
				   NULL};

int schema_drop(struct store *s)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	if (schema_refuse_foreign(s) < 0)
		return -EPROTO;
	for (const char *const *v = store_views; *v; v++)
		strbuf_addf(&sql, "DROP VIEW IF EXISTS %s;\n", *v);
	for (const struct store_table *t = store_tables; t->name; t++)
		strbuf_addf(&sql, "DROP TABLE IF EXISTS %s;\n", t->name);
	strbuf_addstr(&sql, "DROP TABLE IF EXISTS schema_version;\n");
	int r = store_begin(s);
	r = store_end(s, r < 0 ? r : store_exec(s, sql.buf));
	return r < 0 ? r : schema_migrate(s);
}
