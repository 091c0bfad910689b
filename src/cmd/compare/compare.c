/* plimsoll compare: compares two sets of runs. */
#include <errno.h>
#include <string.h>

#include "cmd/compare/comparison.h"

struct compare_options {
	struct comparison_options c;
};

/* The executables and phases of the jobs, to say where a metric became worse. */
static int load_where(const struct run_comparison *c, struct store *s, const struct run_sets *sets,
		      struct run_figures *ret)
{
	/* unless the comparison has them */
	bool worse = false;

	for (size_t i = 0; i < c->count && c->figures.count == 1; i++)
		worse = worse ||
			(c->labels[i].group == FIGURES_JOB && c->rows[i].verdict == VERDICT_WORSE);
	if (!worse)
		return 0;
	int r = run_figures_load(ret, s, sets->jobs, sets->a_count + sets->b_count, &c->metrics,
				 1u << FIGURES_EXECUTABLE);
	return r < 0 ? r : phase_figures_load(ret, s, sets->jobs);
}

static int print(const struct comparison_options *o, const struct run_comparison *c,
		 struct store *s, const struct run_sets *sets)
{
	_cleanup_run_figures_ struct run_figures where = {0};

	if (o->json)
		return run_comparison_json(c, stdout);
	if (o->csv)
		return run_comparison_csv(c, stdout);
	int r = load_where(c, s, sets, &where);
	if (r < 0)
		return r;
	return run_comparison_table(c, where.count ? &where : NULL, stdout);
}

static int run(struct context *ctx, int argc, char **argv)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_run_sets_ struct run_sets sets = RUN_SETS_INIT;
	_cleanup_run_comparison_ struct run_comparison c = {0};
	int status = comparison_load(ctx, argc, argv, "compare", &s, &sets, &c);

	if (status != 0)
		return status;
	int r = print(ctx->options, &c, s, &sets);
	if (r < 0)
		return report_store_error(s, r);
	return comparison_status(c.verdict);
}

static const struct option_row rows[] = {
	ROWS_COMPARISON(struct compare_options),
	ROW_CSV(struct comparison_options),
	ROW_JSON(struct comparison_options),
	ROWS_STORE,
};

static const struct compare_options defaults = {.c = COMPARISON_DEFAULTS};

const struct command command_compare = {
	.name = "compare",
	.summary = "compare two sets of runs: worse, not worse or inconclusive",
	.operands = {.name = "RUN",
		     .max = ANY_NUMBER,
		     .help = HELP_SETS,
		     .usage = "[RUN...] [-- BASELINE...]"},
	.description = HELP_VERDICTS
	"\n\n"
	"With --by executable, --by operation for processes with the same tags, and --by phase, "
	"parts of the jobs are compared, too. A part matters if it changes by 1 % of the job at least. "
	"Parts can be found worse, but they do not make a comparison inconclusive.\n\n" HELP_STATUS,
	.examples =
		"  plimsoll compare new -- old\n"
		"  plimsoll compare 4711 4712 4713 4714 4715\n"
		"  plimsoll compare --metric all --by executable --json new -- old\n"
		"  plimsoll compare --by phase --where 'tag.exp = b' --baseline-where 'tag.exp = a'\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.passes_on = true,
	.run = run,
};
