/* plimsoll history: runs of the same thing over time, and when they changed. */
#include <errno.h>
#include <string.h>

#include "cmd/compare/comparison.h"
#include "plot/plot.h"
#include "views/comparison/history_view.h"

struct history_options {
	struct comparison_options c;
	const char *output;
	uint64_t limit, seed;
};

static int print(const struct history_options *o, const struct histories *h)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (o->output && histories_plot(h, o->output, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	int r = o->c.json    ? histories_json(h, stdout)
		: o->c.csv   ? histories_csv(h, stdout)
		: !o->output ? histories_table(h, stdout)
			     : 0;
	return r < 0 ? fail_with(EXIT_FAILED, "cannot write: %s", strerror(-r)) : EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct history_options *o = ctx->options;
	static char last[] = "last";
	char *newest[] = {last};
	const bool any = argc || o->c.where;
	const struct run_sets_request q = {.words = argc ? argv : newest,
					   .word_count = any ? (size_t)argc : 1,
					   .where = o->c.where,
					   .with_failed = o->c.with_failed,
					   .ignore_tags = o->c.ignore_tags,
					   .baseline_last = o->limit};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_run_sets_ struct run_sets sets = RUN_SETS_INIT;
	_cleanup_store_ struct store *s = NULL;
	enum plot_form form;

	if (o->output && !plot_form_of(o->output, &form))
		return usage_error("history",
				   "history: the name of a picture ends in .svg, .png or "
				   ".pdf, not '%s'",
				   o->output);
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = run_sets_find_history(&sets, s, &q, &why);
	warn_lines(sets.warnings.buf, NULL);
	if (r < 0)
		return fail_with(job_selection_status(r), "%s", why.buf);
	_cleanup_histories_ struct histories h = {.how = CHANGE_OPTIONS_DEFAULT,
						  .failed = sets.a_failed};
	h.how.relative = o->c.min_effect;
	h.how.alpha = 1 - o->c.confidence;
	h.how.seed = o->seed;
	h.fingerprint = sets.by_fingerprint ? sets.description.buf : NULL;
	if (histories_make(&h, s, sets.jobs, (const char *const *)sets.labels, sets.a_count,
			   o->c.metrics, o->c.metric_count, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	return print(o, &h);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct comparison_options),
	{OPT_LIST, 'm', "metric", "METRIC",
	 "metrics, separated by commas; default: duration; all: every metric",
	 LIST(struct history_options, c.metrics, c.metric_count), .separator = ',',
	 .takes = "metric names"},
	{OPT_TEXT, 'o', "output", "FILE", "draw a picture: .svg, .png or .pdf",
	 AT(struct history_options, output)},
	{OPT_COUNT, 'n', "limit", "N", "at most N runs, the latest; default: 1000",
	 AT(struct history_options, limit), RANGE(1, 100000)},
	{OPT_CALL, 0, "min-effect", "PERCENT",
	 "the smallest change that matters, in percent; default: 5", .call = option_min_effect,
	 .takes = "a percentage from 0 to 1000, such as 5 or 2.5%"},
	{OPT_CALL, 0, "confidence", "PERCENT",
	 "confidence that a series without changes shows none; default: 99",
	 .call = option_confidence, .takes = "a percentage from 50 to 99.99"},
	{OPT_COUNT, 0, "seed", "N", "of the permutation test; default: 1",
	 AT(struct history_options, seed)},
	ROW_WITH_FAILED(struct history_options),
	ROW_IGNORE_TAGS(struct history_options),
	ROW_CSV(struct comparison_options),
	ROW_JSON(struct comparison_options),
	ROWS_STORE,
};

static const struct history_options defaults = {
	.c = {.min_effect = 0.05, .confidence = 0.99}, .limit = 1000, .seed = 1};

const struct command command_history = {
	.name = "history",
	.summary = "show runs of the same command over time, and when they changed",
	.operands =
		{"JOB", 0, ANY_NUMBER,
		 "With one JOB (default: last), these are all runs in the store that have its "
		 "fingerprint: the same program, the same shape of arguments, the same tags and "
		 "the same type of nodes. Several jobs, a name that several jobs have, or --where "
		 "choose the runs themselves."},
	.description =
		"Lists the levels of a metric over time, separated by the runs at which it changed. "
		"Changes are found by binary segmentation on ranks with a permutation test; runs "
		"without a change show one with a probability of at most 1 % (--confidence). At least "
		"10 runs are needed, and a level has at least 5.\n\n" HELP_JOB
		" With one JOB, the runs of its fingerprint are shown; with several, just "
		"these. --csv and --json have every run.",
	.examples = "  plimsoll history last\n"
		    "  plimsoll history nightly --metric cpu_time,rssmax -o nightly.svg\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
