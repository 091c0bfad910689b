/* plimsoll analyze: compares new jobs with the models that are for them, or with each other. */
#include <errno.h>
#include <string.h>

#include "analysis/outliers/model.h"
#include "cmd/actions.h"
#include "context/job_selection.h"
#include "views/outliers/feature_text.h"
#include "views/outliers/job_analysis.h"
#include "views/stream_table.h"

#define EXIT_OUTLIERS 4
/* A job that a collector streams ends when nothing comes any more. */
#define ENDED_JOBS "end and (format != node or end < -90s)"
#define NEW_JOBS "not analysis." ANALYSIS_OUTLIERS " and " ENDED_JOBS

struct output {
	const struct analyze_options *o;
	struct store *store;
	struct stream_table table;
	struct json_writer j;
};

/* "madz,z", and "score > threshold" of the first one. */
static void add_methods(struct strbuf *names, struct strbuf *score, const struct value *methods)
{
	for (size_t i = 0; i < value_pairs(methods); i++) {
		const struct value *m = value_at(methods, i);

		strbuf_addf(names, "%s%s", i ? "," : "", value_key(methods, i)->str.data);
		strbuf_addstr(score, i ? ", " : "");
		value_to_text(value_get(m, "score"), score);
		strbuf_addstr(score, " > ");
		value_to_text(value_get(m, "threshold"), score);
	}
}

static void put_feature(struct stream_table *g, const char *feature, const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	double number;

	if (value_number(v, &number))
		add_feature(&text, feature, number, g->human);
	else
		value_to_text(v, &text);
	stream_table_figure(g, &text);
}

static void put_row(struct stream_table *g, const char *job, const struct value *result,
		    const struct value *outlier)
{
	_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT, names = STRBUF_INIT, score = STRBUF_INIT;
	const char *feature = value_get_str(outlier, "feature");

	add_tags_text(&tags, value_get(outlier, "tags"));
	add_methods(&names, &score, value_get(outlier, "methods"));
	stream_table_str(g, job);
	stream_table_str(g, value_get_str(result, "model"));
	stream_table_text(g, tags.buf, tags.len);
	stream_table_str(g, feature);
	put_feature(g, feature, value_get(outlier, "value"));
	put_feature(g, feature, value_get(outlier, "typical"));
	stream_table_text(g, names.buf, names.len);
	stream_table_text(g, score.buf, score.len);
	stream_table_row(g, 0);
}

static void tell(void *user, const struct analysis_job *job, const struct value *results)
{
	struct output *out = user;

	if (out->o->json) {
		json_begin_object(&out->j, NULL);
		json_str(&out->j, "jobid", job->label);
		json_i64(&out->j, "job", job->no);
		value_to_json(results, &out->j, "results");
		json_end_object(&out->j);
		return;
	}
	for (size_t i = 0; i < results->list.count; i++) {
		const struct value *result = results->list.items[i];
		const struct value *outliers = value_get(result, "outliers");

		for (size_t k = 0; k < outliers->list.count; k++)
			put_row(&out->table, job->label, result, outliers->list.items[k]);
	}
}

static void begin(struct output *out)
{
	static const struct terminal_table_column csv[] = {
		{"jobid", 0}, {"model", 0},   {"tags", 0},    {"feature", 0},
		{"value", 0}, {"typical", 0}, {"methods", 0}, {"scores", 0}};
	static const struct terminal_table_column table[] = {{"JOB", 0},
							     {"MODEL", 0},
							     {"OPERATION", 0},
							     {"FEATURE", 0},
							     {"VALUE", COLUMN_RIGHT},
							     {"TYPICAL", COLUMN_RIGHT},
							     {"FLAGGED BY", 0},
							     {"SCORE", 0}};

	if (!out->o->json) {
		stream_table_begin(&out->table, out->o->csv ? csv : table, ARRAY_SIZE(table),
				   out->o->csv, stdout);
		return;
	}
	out->j.pretty = true;
	json_begin_object(&out->j, NULL);
	json_begin_array(&out->j, "jobs");
}

static int end(struct output *out, const struct analysis *a)
{
	if (!out->o->json)
		return stream_table_end(&out->table);
	json_end_array(&out->j);
	json_u64(&out->j, "analysed", a->analysed);
	json_u64(&out->j, "outliers", a->flagged);
	json_u64(&out->j, "left", a->left);
	json_end_object(&out->j);
	return json_write(&out->j, stdout);
}

/* Without those that were analysed already. */
static int drop_done(struct store *s, struct analysis_job *jobs, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		int done = analysis_is_done(s, jobs[i].no);

		if (done < 0)
			return done;
		if (!done)
			jobs[kept++] = jobs[i];
	}
	*count = kept;
	return 0;
}

static int analyse(struct context *ctx, struct output *out, struct analysis_job *jobs, size_t count)
{
	_cleanup_analysis_ struct analysis a = ANALYSIS_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *keys = config_get(&ctx->config, SETTING_ANALYSIS_KEYS);

	a.store = out->store;
	a.keys = keys;
	a.tell = tell;
	a.user = out;
	begin(out);
	int r = analyse_jobs(&a, jobs, count, &why);
	int e = end(out, &a);
	warn_lines(a.notes.buf, NULL);
	if (r < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	if (e < 0)
		return fail_with(EXIT_FAILED, "cannot write: %s", strerror(-e));
	if (!out->o->json && !out->o->csv && ctx->verbosity >= 0)
		printf("%s%zu %s analysed, %zu %s\n", a.flagged ? "\n" : "", a.analysed,
		       plural(a.analysed, "job", "jobs"), a.flagged,
		       plural(a.flagged, "is an outlier", "are outliers"));
	return a.flagged ? EXIT_OUTLIERS : EXIT_OK;
}

int do_analyze(struct context *ctx, const struct analyze_options *o, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};
	_cleanup_store_ struct store *s = NULL;
	const char *where = argc || o->where ? o->where : o->again ? ENDED_JOBS : NEW_JOBS;

	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	int r = job_selection_find(&js, s, argv, (size_t)argc, where, &why);
	if (r < 0)
		return fail_with(job_selection_status(r), "%s", why.buf);
	size_t count = js.count;
	_cleanup_free_ struct analysis_job *jobs = xcalloc(count + 1, sizeof(*jobs));
	for (size_t i = 0; i < count; i++)
		jobs[i] = (struct analysis_job){js.v[i].no, js.v[i].label};
	r = o->again ? 0 : drop_done(s, jobs, &count);
	if (r < 0)
		return report_store_error(s, r);
	struct output out = {.o = o, .store = s, .j = JSON_WRITER_INIT};
	int status = analyse(ctx, &out, jobs, count);
	json_release(&out.j);
	return status;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct analyze_options *o = ctx->options;

	if (o->all_new && (argc || o->where || o->again))
		return usage_error("analyze", "analyze: --all-new takes no jobs, no filter and no "
					      "--again");
	return do_analyze(ctx, o, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "all-new", NULL, "all jobs that were not analysed yet (default)",
	 AT(struct analyze_options, all_new)},
	{OPT_FLAG, 0, "again", NULL,
	 "also jobs that were analysed before; without JOB: all of them",
	 AT(struct analyze_options, again)},
	{OPT_SETTING, 0, "keys", "KEYS",
	 "jobs with the same values of these tags are alike; default: exp_name exp_component",
	 .setting = SETTING_ANALYSIS_KEYS},
	ROW_WHERE(struct analyze_options),
	ROW_CSV(struct analyze_options),
	ROW_JSON(struct analyze_options),
	ROWS_STORE,
};

const struct command command_analyze = {
	.name = "analyze",
	.summary = "find outliers among jobs that were not analysed yet",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB_ID ". Without one: all new jobs."},
	.description =
		"Compares each job with the enabled models whose tags it has, by all features of the "
		"model, whole jobs or operations. A job that no model is for is compared with jobs like "
		"it: those with the same values of the tags exp_name and exp_component (--keys), at "
		"least 4 and at most 50 at once, by cpu_time, duration and num_procs. Jobs that were "
		"analysed before are part of the comparison if there is room.\n\n"
		"The result is stored with the job (the view job_analyses and `plimsoll analyses` have "
		"it), and each outlier is an alert until somebody acknowledges it with `plimsoll "
		"alerts`. A job is analysed once; one that grows or is submitted again counts as new. "
		"Jobs that cannot be compared yet stay new.\n\n"
		"The exit status is 0 if no job is an outlier, 4 if one is, 1 if the jobs could not be "
		"analysed.",
	.examples = "plimsoll analyze\n  all new jobs, for cron\n"
		    "plimsoll analyze --again --where 'tag.exp_name = linux_kernel' --json\n"
		    "  the jobs of an experiment once more\n",
	OPTIONS(struct analyze_options, rows),
	.run = run,
};
