/* plimsoll explore: the jobs of an experiment, by component and time segment. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "views/explore_view.h"

struct explore_command {
	struct explore_options explore;
	const char *where;
	bool json, csv, ids;
};

static const struct explore_command defaults = {.explore = {.query = {.key = "exp_name",
								      .by = "exp_component",
								      .over = "exp_time",
								      .metric = "duration"},
							    .limit = 10}};

/* Reports why there is nothing to show. */
static int report_none(struct store *s, const struct explore_view *v)
{
	const struct experiment_query *q = &v->o->query;

	if (!v->data.count)
		return fail_with(
			EXIT_FAILED,
			"no job in '%s' has the tag %s:%s; `plimsoll tags` lists all tags, and "
			"`plimsoll tag` sets them",
			s->where, q->key, q->value);
	if (!v->e.job_count)
		return fail_with(EXIT_FAILED,
				 "none of the %zu jobs with the tag %s:%s matches the filters",
				 v->data.count, q->key, q->value);
	return fail_with(
		EXIT_FAILED,
		"no job with the tag %s:%s has the metric '%s'; `plimsoll show JOB` lists the "
		"metrics of a job",
		q->key, q->value, q->metric);
}

static int print(const struct explore_command *o, struct explore_view *v)
{
	int r = o->ids    ? explore_print_ids(v, stdout)
		: o->json ? explore_print_json(v, stdout)
		: o->csv  ? explore_print_csv(v, stdout)
			  : explore_print_text(v, stdout);

	if (r < 0)
		log_error("cannot write: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Takes EXPERIMENT: a value of exp_name, or any tag KEY:VALUE. The text is changed. */
static bool take_experiment(struct experiment_query *q, char *word)
{
	char *colon = strchr(word, ':');

	q->value = colon ? colon + 1 : word;
	if (colon) {
		*colon = 0;
		q->key = word;
	}
	return *q->key && *q->value;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct explore_command *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};
	_cleanup_free_ int64_t *numbers = NULL;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_explore_view_ struct explore_view v = {0};

	if (!take_experiment(&o->explore.query, argv[0]))
		return usage_error("explore", "explore: EXPERIMENT is a name or KEY:VALUE");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (argc > 1 || o->where) {
		int found = job_selection_find(&js, s, argv + 1, (size_t)argc - 1, o->where, &why);
		if (found < 0)
			return fail_with(job_selection_status(found), "%s", why.buf);
		numbers = xcalloc(js.count + 1, sizeof(*numbers));
		for (size_t i = 0; i < js.count; i++)
			numbers[i] = js.v[i].no;
		o->explore.jobs = numbers;
		o->explore.job_count = js.count;
	}
	int r = explore_view_load(&v, s, &o->explore);
	if (r < 0)
		return report_store_error(s, r);
	if (!v.e.job_count ? !o->ids || !v.data.count : !v.known && !o->ids)
		return report_none(s, &v);
	return print(o, &v);
}

static bool take_expected(struct context *ctx, const char *value, struct strbuf *why)
{
	struct explore_command *o = ctx->options;
	size_t count = 0;
	char **v = NULL;
	int r = explore_parse_segments(value, &v, &count);

	for (size_t i = 0; i < count; i++)
		free(v[i]);
	free(v);
	o->explore.expected = value;
	if (r == -E2BIG)
		strbuf_addf(why, "'%s' has more than %d segments", value, EXPLORE_SEGMENTS_MAX);
	return r == 0;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'm', "metric", "METRIC",
	 "a metric of jobs: duration (default), cpu_time, processes, num_threads, or any that "
	 "`plimsoll show` lists",
	 AT(struct explore_command, explore.query.metric)},
	{OPT_TEXT, 0, "by", "KEY", "tag that groups the jobs; default exp_component",
	 AT(struct explore_command, explore.query.by)},
	{OPT_TEXT, 0, "over", "KEY", "tag that orders the jobs of a group; default exp_time",
	 AT(struct explore_command, explore.query.over)},
	{OPT_COUNT, 'n', "limit", "N", "the N groups with the largest sum; default 10",
	 AT(struct explore_command, explore.limit), .min = 1},
	{OPT_LIST, 'g', "group", "VALUE", "only this group; repeat for several",
	 LIST(struct explore_command, explore.groups.word, explore.groups.count)},
	{OPT_LIST, 's', "segment", "VALUE", "only this segment; repeat for several",
	 LIST(struct explore_command, explore.segments.word, explore.segments.count)},
	{OPT_CHOICE, 0, "exit", "WORD", "only jobs that succeeded or failed",
	 AT(struct explore_command, explore.exit),
	 WORDS({"ok", EXPLORE_OK}, {"failed", EXPLORE_FAILED})},
	{OPT_CALL, 0, "expect", "SEGMENTS",
	 "segments that every group should have: FROM..TO/STEP or A,B,...; default: all that occur",
	 .call = take_expected,
	 .takes = "FROM..TO/STEP in whole numbers, or names separated by commas"},
	{OPT_FLAG, 0, "ids", NULL, "print only the ids of the jobs, one per line",
	 AT(struct explore_command, ids)},
	ROW_WHERE(struct explore_command),
	ROW_CSV(struct explore_command),
	ROW_JSON(struct explore_command),
	ROWS_STORE,
};

const struct command command_explore = {
	.name = "explore",
	.summary = "find what is slow, missing or failed in an experiment",
	.operands = {"EXPERIMENT", 1, ANY_NUMBER, HELP_JOB,
		     "`plimsoll tags` lists the tags of jobs", "EXPERIMENT [JOB...]"},
	.description =
		"An experiment is the set of all jobs with one tag: EXPERIMENT is a value of the tag "
		"exp_name, or KEY:VALUE. A second tag divides it into groups (--by, the components of a "
		"model), a third one into segments (--over, the model time that a job computed). With "
		"JOB..., only these jobs of the experiment count.\n\n"
		"Prints for each group the sum, the share of the whole, the extremes and the "
		"coefficient of variation (CV) of a metric; then every job with ** for each method "
		"that finds it an outlier within its group; then the sum of each segment; then the "
		"segments that a group lacks, and the jobs that failed. The methods are iqr (more than "
		"1.5 interquartile ranges outside of the quartiles), z (more than 3 standard "
		"deviations from the mean) and madz (modified z-score above 3.5).\n\n"
		"--csv prints one row per job, of all groups.",
	.examples = "plimsoll explore ESM4_historical_D151\n"
		    "  components by their total duration, and what stands out in each\n"
		    "plimsoll explore ESM4_historical_D151 --expect 18540101..20090101/50000\n"
		    "  which five-year segments have not run yet?\n"
		    "plimsoll explore suite:nightly --by case --over date --metric cpu_time\n"
		    "  the same for any other tags\n"
		    "plimsoll explore ESM4_historical_D151 --exit failed --ids\n"
		    "  ids of the failed jobs\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
