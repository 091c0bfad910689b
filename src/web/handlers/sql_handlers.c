/*
 * The SQL console: statements run in a command, whose engine refuses everything but reading and
 * whose time, memory and rows are limited; and the views that there are.
 */
#include <errno.h>
#include <string.h>

#include "core/metrics/metric.h"
#include "store/sql.h"
#include "web/http/body.h"
#include "web/handlers/handlers.h"
#include "web/answers/run_command.h"

#define STATEMENT_MAX ((size_t)100000) /* below what the kernel takes as one argument */
#define ROWS_DEFAULT 1000
#define ROWS_MAX 100000

static int64_t limit_of(const struct value *body)
{
	const struct value *v = value_get(body, "limit");
	int64_t n = v && v->kind == VALUE_INT && v->integer > 0 ? v->integer : ROWS_DEFAULT;

	return n < ROWS_MAX ? n : ROWS_MAX;
}

void web_sql(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	_cleanup_value_ struct value *body = web_body(q, a);
	bool ok = body != NULL;
	const char *sql = ok ? web_body_text(body, "sql", a, &ok) : NULL;

	if (!ok)
		return;
	if (!sql || strlen(sql) > STATEMENT_MAX) {
		web_fail(a, 400, NULL, "the body must have a text \"sql\" of up to %zu bytes",
			 STATEMENT_MAX);
		return;
	}
	_cleanup_free_ char *command = xasprintf("sql %s --timeout=%ds --limit=%lld --",
						 q->type->rows ? "--csv" : "--arrays",
						 COMMAND_TIME_S - 2, (long long)limit_of(body));
	command_line_of(&l, q, command, NULL);
	command_line_add(&l, sql);
	int r = web_spawn(q, &l, -1, &e);
	if (r == 0 && e.status == 1) /* the statement is wrong, or took too long */
		e.status = 2;
	if (command_failed(a, r, &e))
		return;
	web_take_output(a, &e);
	a->not_kept = true;
	a->type = q->type->header;
}

/* ---- the schema -------------------------------------------------------------------------------
 */

static const struct {
	const char *name, *help;
} views[] = {
	{"jobs", "one row per job"},
	{"job_tags", "tags of jobs"},
	{"job_annotations", "annotations of jobs"},
	{"job_hosts", "hosts of jobs"},
	{"job_sums", "sums and maxima over the processes of a job"},
	{"job_executables", "sums over the processes of a program"},
	{"job_operations", "sums over the processes of an operation"},
	{"job_users", "users of jobs"},
	{"job_profiles", "how many processes ran when"},
	{"job_proc_tags", "tags of processes that a job has"},
	{"job_warnings", "warnings of imports"},
	{"job_analyses", "results of analyses"},
	{"alerts", "outliers that were found"},
	{"processes", "one row per image of a process"},
	{"threads", "one row per thread"},
	{"phases", "phases of jobs"},
	{"events", "hardware events of processes"},
	{"series", "series of samples"},
	{"samples", "samples over time"},
	{"absences", "why something was not sampled"},
};

static void add_columns(struct json_writer *j, struct stmt *st)
{
	const struct store_engine *e = st->store->engine;
	int count = e->columns(st);

	json_begin_array(j, "columns");
	for (int i = 0; i < count; i++) {
		const char *name = e->column_name(st, i);
		const struct metric *m = metric_by_name(name);

		json_begin_object(j, NULL);
		json_str(j, "name", name);
		if (m) {
			json_str(j, "unit", metric_unit_name(m->unit));
			json_str(j, "help", m->help);
		}
		json_end_object(j);
	}
	json_end_array(j);
}

void web_schema(const struct web_request *q PL_UNUSED, struct store *s, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "engine", s->engine->name);
	json_begin_array(&j, "views");
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		_cleanup_free_ char *sql = xasprintf("SELECT * FROM %s LIMIT 0", views[i].name);
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, sql);

		if (stmt_step(st) < 0) {
			web_fail_store(a, s, -EIO);
			return;
		}
		json_begin_object(&j, NULL);
		json_str(&j, "name", views[i].name);
		json_str(&j, "help", views[i].help);
		add_columns(&j, st);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	web_take_json(a, &j);
}
