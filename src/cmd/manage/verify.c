/* plimsoll verify: finds implausible data of stored jobs. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "core/clock.h"
#include "store/analysis/verify.h"
#include "views/stream_table.h"

#define EXIT_IMPLAUSIBLE 4
#define SINCE_US INT64_C(1546300800000000) /* 2019-01-01: no job can be older */
#define FUTURE_US 60000000                 /* how far the clock of another host may be ahead */

struct verify_options {
	const char *where;
	bool all, json, csv;
	int64_t since_us;
};

static const struct verify_options defaults = {.since_us = SINCE_US};

struct output {
	bool json;
	const char *job; /* the current one */
	struct stream_table table;
	struct json_rows rows;
	size_t jobs, bad, problems;
};

static void tell(void *user, const struct verify_check *c, int64_t count, const char *detail)
{
	struct output *o = user;

	o->problems++;
	if (o->json) {
		json_begin_object(&o->rows.j, NULL);
		json_str(&o->rows.j, "jobid", o->job);
		json_str(&o->rows.j, "check", c->name);
		json_i64(&o->rows.j, "count", count);
		json_str(&o->rows.j, "detail", detail);
		json_end_object(&o->rows.j);
		json_rows_next(&o->rows);
		return;
	}
	stream_table_str(&o->table, o->job);
	stream_table_str(&o->table, c->name);
	stream_table_count(&o->table, count);
	stream_table_str(&o->table, detail);
	stream_table_row(&o->table, 'r');
}

static int verify_all(struct output *o, struct store *s, const struct job_selection *js,
		      const struct verify_limits *l)
{
	int r = 0;

	for (size_t i = 0; i < js->count && r >= 0; i++) {
		o->job = js->v[i].label;
		r = verify_job(s, js->v[i].no, l, tell, o);
		o->jobs++;
		o->bad += r > 0;
	}
	return r;
}

static int print_all(const struct verify_options *how, struct output *o, struct store *s,
		     const struct job_selection *js)
{
	static const struct terminal_table_column table[] = {
		{"JOB", 0}, {"CHECK", 0}, {"COUNT", COLUMN_RIGHT}, {"DETAIL", 0}};
	static const struct terminal_table_column csv[] = {
		{"jobid", 0}, {"check", 0}, {"count", 0}, {"detail", 0}};
	const struct verify_limits l = {how->since_us, clock_realtime_us() + FUTURE_US};

	if (how->json)
		json_rows_begin(&o->rows, stdout);
	else
		stream_table_begin(&o->table, how->csv ? csv : table, ARRAY_SIZE(table), how->csv,
				   stdout);
	int r = verify_all(o, s, js, &l);
	int e = how->json ? json_rows_end(&o->rows) : stream_table_end(&o->table);
	if (r < 0)
		return report_store_error(s, r);
	if (e < 0)
		return fail_with(EXIT_FAILED, "cannot write: %s", strerror(-e));
	return o->bad ? EXIT_IMPLAUSIBLE : EXIT_OK;
}

static int select_all(struct store *s, struct job_selection *js)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT no, jobid, start_us FROM job ORDER BY start_us, no");
	int r;

	while ((r = stmt_step(st)) == 1) {
		GROW(js->v, js->count, js->cap);
		js->v[js->count++] = (struct selected_job){
			.no = stmt_get_int(st, 0),
			.label = stmt_get_copy(st, 1),
			.start_us = stmt_is_null(st, 2) ? 0 : stmt_get_int(st, 2)};
	}
	return r;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct verify_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};
	_cleanup_store_ struct store *s = NULL;
	struct output out = {.json = o->json};

	if (!o->all == (!argc && !o->where))
		return usage_error("verify", "verify: name jobs, or use --where FILTER or --all");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = o->all ? select_all(s, &js)
		       : job_selection_find(&js, s, argv, (size_t)argc, o->where, &why);
	if (r < 0)
		return fail_with(job_selection_status(r), "%s", why.len ? why.buf : store_error(s));
	int status = print_all(o, &out, s, &js);
	if (status == EXIT_OK && !o->json && !o->csv && ctx->verbosity >= 0)
		printf("%zu %s verified, nothing implausible\n", out.jobs,
		       plural(out.jobs, "job", "jobs"));
	else if (status == EXIT_IMPLAUSIBLE)
		log_warn("%zu of %zu %s %s implausible data", out.bad, out.jobs,
			 plural(out.jobs, "job", "jobs"), plural(out.bad, "has", "have"));
	return status;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'a', "all", NULL, "all jobs of the store", AT(struct verify_options, all)},
	{OPT_TIME, 0, "since", "TIME", "dates before this are implausible; default 2019-01-01",
	 AT(struct verify_options, since_us)},
	ROW_WHERE(struct verify_options),
	ROW_CSV(struct verify_options),
	ROW_JSON(struct verify_options),
	ROWS_STORE,
};

const struct command command_verify = {
	.name = "verify",
	.summary = "find implausible data of stored jobs",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB},
	.description =
		"Checks stored jobs for data that cannot be true: dates before 2019 or in the future, an "
		"end before the start, processes outside of the time of the job, negative numbers, "
		"sampled values that are infinite or not a number, fewer threads than processes, CPU "
		"time that is not accounted for, process ids that occur twice on a host at the same "
		"time, and jobs of the same id and cluster at the same time. Such data come from wrong "
		"clocks, errors of collecting tools and damaged files, and spoil every statistic.\n\n"
		"Prints one row per job and failed check, with the number of values and what is wrong. "
		"The exit status is 0 if all data are plausible, 4 if some are not, 1 if the jobs could "
		"not be checked. `plimsoll db check` checks the store itself.",
	.examples = "plimsoll verify 685000\n  one job\n"
		    "plimsoll verify --all --csv >implausible.csv\n  all jobs, for a spreadsheet\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
