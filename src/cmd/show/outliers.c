/* plimsoll outliers: jobs, operations, processes or threads that are unlike the others. */
#include <errno.h>
#include <string.h>

#include "analysis/outliers/model.h"
#include "cmd/actions.h"
#include "cmd/outlier_options.h"
#include "views/outliers/outlier_print.h"

struct outliers_options {
	struct outlier_options common;
	const char *where, *model;
	int level, form;
	double pca;
};

static bool take_pca(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct outliers_options *o = ctx->options;
	char *end = NULL;

	o->pca = value ? strtod(value, &end) : 0.85;
	return !value || (*value && !*end && o->pca > 0 && o->pca <= 1000 &&
			  (o->pca < 1 || o->pca == (double)(int)o->pca));
}

static int search(struct store *s, const struct outlier_request *q, enum outlier_form form)
{
	_cleanup_outliers_ struct outlier_result res = OUTLIER_RESULT_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	int r = outlier_search(q, s, &res, &why);
	if (r < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	warn_lines(res.notes.buf, NULL);
	return report_store_error(s, outlier_print(q, &res, s, form, stdout));
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct outliers_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *ops = NULL;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_model_ struct model model = {0};
	_cleanup_request_jobs_ struct request_jobs jobs = {0};
	struct outlier_request q = {.level = (enum outlier_level)o->level, .pca = o->pca};

	if (!outlier_options_take(&o->common, &q, &ops, "outliers"))
		return EXIT_USAGE;
	if (ops)
		q.level = LEVEL_OPERATIONS;
	if (q.pca > 0 && q.detectors)
		return usage_error("outliers", "outliers: detectors cannot be combined with --pca");
	/* components of three features would say little */
	q.all_features |= q.pca > 0 && !q.features;
	if (!argc && !o->where)
		return usage_error(
			"outliers",
			"outliers: name the jobs to compare, or select them with --where");
	if (open_store(ctx, STORE_READ, &s) < 0 ||
	    request_jobs_find(&jobs, s, argv, argc, o->where, &q) < 0)
		return EXIT_FAILED;
	if (o->model && model_load(&model, s, o->model, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	q.model = o->model ? &model : NULL;
	if (q.model && !q.methods_given && !(q.pca > 0))
		q.detectors = model_only_detectors(q.model->json);
	return search(s, &q, (enum outlier_form)o->form);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct outliers_options),
	ROW_FEATURES(struct outliers_options),
	ROW_METHODS(struct outliers_options),
	ROW_THRESHOLDS(struct outliers_options),
	{OPT_TEXT, 0, "model", "NAME", "compare with this reference model instead of each other",
	 AT(struct outliers_options, model)},
	{OPT_CALL, 0, "pca", "[N]",
	 "compare by N principal components of the features, or by as many as explain this share of "
	 "the variance (0.85)",
	 .call = take_pca, .takes = "a number of components, or a share below 1"},
	{OPT_FIXED, 0, "ops", NULL, "compare operations: processes of a job by their tags",
	 AT(struct outliers_options, level), .number = LEVEL_OPERATIONS},
	ROW_OP(struct outliers_options),
	{OPT_FIXED, 0, "procs", NULL, "compare the processes of the jobs",
	 AT(struct outliers_options, level), .number = LEVEL_PROCESSES},
	{OPT_FIXED, 0, "threads", NULL, "compare the threads of the jobs",
	 AT(struct outliers_options, level), .number = LEVEL_THREADS},
	{OPT_FIXED, 0, "csv", NULL, "print the counts as CSV", AT(struct outliers_options, form),
	 .number = OUTLIER_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct outliers_options, form),
	 .number = OUTLIER_JSON},
	ROWS_STORE,
};

const struct command command_outliers = {
	.name = "outliers",
	.summary = "find jobs, operations, processes or threads that are unlike the others",
	.operands = {"JOB", 0, ANY_NUMBER,
		     HELP_JOB_ID ". An id or a name that several jobs share means all of them."},
	.description =
		"Compares jobs by their metrics and counts how many methods say that a value is an "
		"outlier. Without a model, the jobs are compared with each other, which takes at least "
		"4 of them. With a model, each job is compared with the jobs that the model was made "
		"from.\n\n"
		"The methods are iqr (below the lower or above the upper quartile by more than 1.5 "
		"times their distance), madz (modified z score, by the median absolute deviation; "
		"threshold 3.5) and z (z score, by the standard deviation; threshold 3). All of them "
		"are used unless --methods names some.\n\n"
		"Features are cpu_time, duration and num_procs, of processes cpu_time and duration, of "
		"threads usertime, systemtime and rssmax, unless --features names others. With a model, they are "
		"the active features of the model.\n\n"
		"Detectors look at all features together. They compare with a model that was made with "
		"them: abod, cof, hbos, knn, mcd, ocsvm and pca are those of PyOD, iforest is an isolation forest.\n\n"
		"--pca compares by principal components of the standardized features, of all features "
		"unless --features names some. pca_weighted adds up the methods that flag a job, weighted "
		"by the variance of the components; the features follow by their weight in the first two "
		"components.\n\n"
		"A table has one line per job or operation, and how many methods flag it by each "
		"feature; the flagged values follow, with the typical one, which is the median. With "
		"more than 8 features, the table has only those that flag something. Of processes and "
		"threads only the flagged ones are printed. Operations are sorted by how far they are "
		"above the thresholds.",
	.examples = "  plimsoll outliers 685000 685003 685016 692500\n"
		    "  plimsoll outliers --features all kernel_build\n"
		    "  plimsoll outliers --ops --methods madz --thresholds madz=2.5 kernel_build\n"
		    "  plimsoll outliers --pca 685000 685003 685016 692500\n"
		    "  plimsoll outliers --procs --json 685000 | jq '.outliers[].exename'\n",
	OPTIONS(struct outliers_options, rows),
	.run = run,
};
