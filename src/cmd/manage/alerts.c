/* plimsoll alerts: outliers that the daemon or `analyze` found, until somebody acknowledges them.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "store/analysis/job_analyses.h"
#include "store/query.h"
#include "views/stream_table.h"

struct alerts_options {
	const char *where, *model, *by, *note;
	bool all, acknowledge, json, csv;
};

/* ---- listing -------------------------------------------------------------------------------- */

enum { JOB, JOBID, JOBNAME, USER, MODEL, FOUND, OUTLIERS, FEATURES, JSON, DONE, DONE_BY, NOTE };
#define SELECT                                                                               \
	"SELECT a.job, j.jobid, j.jobname, j.username, a.model, a.found_us, a.outliers, "    \
	"a.features, a.json, a.acknowledged_us, a.acknowledged_by, a.note FROM job_alert a " \
	"JOIN job j ON j.no = a.job WHERE ($1 = 1 OR a.acknowledged_us IS NULL) ORDER BY "   \
	"a.found_us DESC, a.job, a.model"

struct output {
	const struct alerts_options *o;
	struct store *store;
	struct stream_table table;
	struct json_rows rows;
	size_t count;
};

static const char *text_or_null(struct stmt *st, int column)
{
	return stmt_is_null(st, column) ? NULL : stmt_get_str(st, column);
}

static void put_json(struct output *out, struct stmt *st, const char *label)
{
	struct json_writer *j = &out->rows.j;
	const char *model = stmt_get_str(st, MODEL);
	size_t n;

	json_begin_object(j, NULL);
	json_i64(j, "job", stmt_get_int(st, JOB));
	json_str(j, "jobid", label);
	json_str(j, "jobname", text_or_null(st, JOBNAME));
	json_str(j, "user", text_or_null(st, USER));
	json_str(j, "model", *model ? model : NULL);
	json_time(j, "found", stmt_get_int(st, FOUND));
	json_i64(j, "count", stmt_get_int(st, OUTLIERS));
	json_str(j, "features", stmt_get_str(st, FEATURES));
	const char *detail = stmt_get_text(st, JSON, &n);
	json_raw(j, "outliers", detail, n);
	json_time(j, "acknowledged", stmt_get_optional(st, DONE));
	json_str(j, "acknowledged_by", text_or_null(st, DONE_BY));
	json_str(j, "note", text_or_null(st, NOTE));
	json_end_object(j);
	json_rows_next(&out->rows);
}

static void put_row(struct output *out, struct stmt *st, const char *label)
{
	struct stream_table *g = &out->table;

	stream_table_time(g, stmt_get_int(st, FOUND));
	stream_table_str(g, label);
	stream_table_str(g, text_or_null(st, JOBNAME));
	stream_table_str(g, text_or_null(st, USER));
	stream_table_str(g, stmt_get_str(st, MODEL));
	stream_table_str(g, stmt_get_str(st, FEATURES));
	stream_table_number(g, stmt_get_int(st, OUTLIERS));
	if (out->o->all || out->o->csv) {
		if (stmt_is_null(st, DONE))
			stream_table_str(g, NULL);
		else
			stream_table_time(g, stmt_get_int(st, DONE));
		stream_table_str(g, text_or_null(st, DONE_BY));
		stream_table_str(g, text_or_null(st, NOTE));
	}
	stream_table_row(g, stmt_is_null(st, DONE) ? 'y' : 0);
}

static bool is_wanted(const struct output *out, const struct job_selection *js, struct stmt *st)
{
	if (out->o->model && strcmp(out->o->model, stmt_get_str(st, MODEL)) != 0)
		return false;
	for (size_t i = 0; js && i < js->count; i++)
		if (js->v[i].no == stmt_get_int(st, JOB))
			return true;
	return !js;
}

static int print_rows(struct output *out, const struct job_selection *js)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(out->store, SELECT, db_int(out->o->all ? 1 : 0));
	int r;

	while ((r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;

		if (!is_wanted(out, js, st))
			continue;
		r = job_label(out->store, stmt_get_int(st, JOB), stmt_get_str(st, JOBID), &label);
		if (r < 0)
			return r;
		out->count++;
		if (out->o->json)
			put_json(out, st, label.buf);
		else
			put_row(out, st, label.buf);
	}
	return r;
}

/* js NULL: of all jobs. */
static int list(struct context *ctx, struct store *s, const struct job_selection *js)
{
	static const struct terminal_table_column csv[] = {
		{"found", 0},    {"jobid", 0},    {"jobname", 0},      {"user", 0}, {"model", 0},
		{"features", 0}, {"outliers", 0}, {"acknowledged", 0}, {"by", 0},   {"note", 0}};
	static const struct terminal_table_column table[] = {
		{"FOUND", 0}, {"JOB", 0},          {"NAME", COLUMN_CUT},     {"USER", 0},
		{"MODEL", 0}, {"FEATURES", 0},     {"VALUES", COLUMN_RIGHT}, {"ACKNOWLEDGED", 0},
		{"BY", 0},    {"NOTE", COLUMN_CUT}};
	const struct alerts_options *o = ctx->options;
	struct output out = {.o = o, .store = s};

	if (o->json)
		json_rows_begin(&out.rows, stdout);
	else
		stream_table_begin(&out.table, o->csv ? csv : table,
				   o->all || o->csv ? ARRAY_SIZE(table) : 7, o->csv, stdout);
	int r = print_rows(&out, js);
	int e = o->json ? json_rows_end(&out.rows) : stream_table_end(&out.table);
	if (r < 0)
		return report_store_error(s, r);
	if (e < 0)
		return fail_with(EXIT_FAILED, "cannot write: %s", strerror(-e));
	if (!out.count && !o->json && !o->csv && ctx->verbosity >= 0)
		puts(o->all ? "there are no alerts" : "there are no open alerts");
	return EXIT_OK;
}

/* ---- acknowledging -------------------------------------------------------------------------- */

static char *user_name(void)
{
	const struct passwd *p = getpwuid(geteuid());

	return p ? xstrdup(p->pw_name) : xasprintf("%u", (unsigned)geteuid());
}

static int acknowledge(struct context *ctx, struct store *s, const struct job_selection *js)
{
	const struct alerts_options *o = ctx->options;
	_cleanup_free_ char *who = o->by ? xstrdup(o->by) : user_name();
	int64_t all = 0;

	for (size_t i = 0; i < js->count; i++) {
		int64_t n = alerts_acknowledge(s, js->v[i].no, o->model, who, o->note);

		if (n < 0)
			return report_store_error(s, (int)n);
		if (!n)
			log_info("job %s has no open alert", js->v[i].label);
		all += n;
	}
	if (o->json)
		printf("{\"acknowledged\":%lld}\n", (long long)all);
	else if (ctx->verbosity >= 0)
		printf("%lld %s acknowledged\n", (long long)all, plural(all, "alert", "alerts"));
	return EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct alerts_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};
	_cleanup_store_ struct store *s = NULL;

	if (o->acknowledge && !argc && !o->where)
		return usage_error("alerts",
				   "alerts: name the jobs whose alerts to acknowledge, or "
				   "select them with --where");
	if (!o->acknowledge && (o->by || o->note))
		return usage_error("alerts", "alerts: --by and --note go with --acknowledge");
	if (open_store(ctx, o->acknowledge ? STORE_WRITE : STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = job_selection_find(&js, s, argv, (size_t)argc, o->where, &why);
	if (r < 0)
		return fail_with(job_selection_status(r), "%s", why.buf);
	return o->acknowledge ? acknowledge(ctx, s, &js)
			      : list(ctx, s, argc || o->where ? &js : NULL);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'a', "all", NULL, "also alerts that were acknowledged",
	 AT(struct alerts_options, all)},
	{OPT_FLAG, 0, "acknowledge", NULL, "acknowledge the open alerts of these jobs",
	 AT(struct alerts_options, acknowledge)},
	{OPT_TEXT, 0, "by", "NAME", "who acknowledges them; default: the user",
	 AT(struct alerts_options, by)},
	{OPT_TEXT, 0, "note", "TEXT", "what to remember of them", AT(struct alerts_options, note)},
	{OPT_TEXT, 0, "model", "NAME", "only alerts by this model; '' for those without a model",
	 AT(struct alerts_options, model)},
	ROW_WHERE(struct alerts_options),
	ROW_CSV(struct alerts_options),
	ROW_JSON(struct alerts_options),
	ROWS_STORE,
};

const struct command command_alerts = {
	.name = "alerts",
	.summary = "list outliers that nobody has acknowledged",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB_ID ". Without one: all jobs."},
	.description =
		"Lists the outliers that `plimsoll daemon` and `plimsoll analyze` found, the latest "
		"first: one alert per job and model, with the features that are unusual. --json has the "
		"values, scores and thresholds.\n\n"
		"--acknowledge marks the alerts of jobs as seen, with the time, a name and a note. They "
		"are listed with --all from then on. A job that is analysed again keeps its "
		"acknowledgement unless other features are unusual.",
	.examples = "plimsoll alerts\n  what is there to look at?\n"
		    "plimsoll alerts --acknowledge --note 'disk was full' 685000\n"
		    "  one of them is explained\n",
	OPTIONS(struct alerts_options, rows),
	.run = run,
};
