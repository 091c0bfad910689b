/* plimsoll features: the metrics of jobs, processes or threads, and how their values spread. */
#include <errno.h>
#include <string.h>

#include "analysis/distribution/distribution.h"
#include "cmd/actions.h"
#include "cmd/outlier_options.h"
#include "views/outliers/feature_view.h"

struct features_options {
	struct outlier_options common;
	const char *where;
	int level;
	enum proc_form form;
};

static int run(struct context *ctx, int argc, char **argv)
{
	struct features_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *ops = NULL;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_request_jobs_ struct request_jobs jobs = {0};
	struct outlier_request q = {.level = (enum outlier_level)o->level, .gaps = true};

	if (!outlier_options_take(&o->common, &q, &ops, "features"))
		return EXIT_USAGE;
	q.all_features |= !q.features;
	if (!argc && !o->where)
		return usage_error("features",
				   "features: name the jobs, or select them with --where");
	if (open_store(ctx, STORE_READ, &s) < 0 ||
	    request_jobs_find(&jobs, s, argv, argc, o->where, &q) < 0)
		return EXIT_FAILED;
	if (!q.job_count)
		return fail_with(EXIT_FAILED, "no job is selected");
	int r = features_print(&q, s, o->form, stdout, &why);
	if (why.len)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	if (r == 0 && q.level == LEVEL_JOBS && q.job_count < DIST_MIN_VALUES &&
	    o->form == PROC_TABLE)
		log_warn("a distribution needs at least %d jobs, and %s %zu", DIST_MIN_VALUES,
			 plural(q.job_count, "there is", "there are"), q.job_count);
	return report_store_error(s, r);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct features_options),
	ROW(OPT_LIST, 'f', "features", "NAME,...", "only these metrics",
	    LIST(struct features_options, common.features.word, common.features.count),
	    .separator = ',', .takes = "names of metrics"),
	{OPT_FIXED, 0, "procs", NULL, "values of processes instead of jobs",
	 AT(struct features_options, level), .number = LEVEL_PROCESSES},
	{OPT_FIXED, 0, "threads", NULL, "values of threads instead of jobs",
	 AT(struct features_options, level), .number = LEVEL_THREADS},
	ROWS_FORM(struct features_options),
	ROWS_STORE,
};

const struct command command_features = {
	.name = "features",
	.summary = "show the range and the distribution of the metrics of jobs",
	.operands = {"JOB", 0, ANY_NUMBER,
		     HELP_JOB_ID ". An id or a name that several jobs share means all of them."},
	.description =
		"Prints one line for each metric of the jobs: how many jobs have it, its smallest, middle "
		"and largest value, its distribution and its modes. These are the features by which "
		"`plimsoll outliers` compares; the methods iqr and z fit values with a normal "
		"distribution and one mode best.\n\n"
		"The distribution is normal if more of these tests pass than fail: Shapiro-Wilk, "
		"Kolmogorov-Smirnov, and for more than 20 values D'Agostino's K2. Otherwise it is uniform "
		"if a Kolmogorov-Smirnov test between the smallest and the largest value passes, constant "
		"if all values are equal, or else unknown. A test passes if its p value is above 0.05. "
		"At least 3 values are needed; few values rarely fail a test.\n\n"
		"Modes are the centers of clusters of values, as k-means finds them. The elbow method and "
		"the mean silhouette must agree on their number, from 1 to 9; otherwise there is one. At "
		"least 10 values are needed.",
	.examples =
		"  plimsoll features kernel_build\n"
		"  plimsoll features --where 'tag.exp_name = ESM4' -f duration,cpu_time\n"
		"  plimsoll features --procs -f duration,rssmax 685000\n"
		"  plimsoll features --json kernel_build | jq '.[] | select(.distribution == \"normal\").feature'\n",
	OPTIONS(struct features_options, rows),
	.run = run,
};
