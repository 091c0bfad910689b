/* plimsoll gate: compares two sets of runs for a CI pipeline. */
#include <errno.h>
#include <string.h>

#include "cmd/compare/comparison.h"

enum inconclusive { AS_IT_IS, AS_PASS, AS_FAIL };

struct gate_options {
	struct comparison_options c;
	enum inconclusive inconclusive;
};

static int status_of(const struct gate_options *o, enum verdict v)
{
	if (v == VERDICT_INCONCLUSIVE && o->inconclusive != AS_IT_IS)
		return o->inconclusive == AS_PASS ? EXIT_OK : EXIT_WORSE;
	return comparison_status(v);
}

static void print_failed(size_t runs)
{
	if (runs)
		printf(" and %zu failed %s left out", runs, plural(runs, "one", "ones"));
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct gate_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_run_sets_ struct run_sets sets = RUN_SETS_INIT;
	_cleanup_run_comparison_ struct run_comparison c = {0};
	_cleanup_strbuf_ struct strbuf verdict = STRBUF_INIT;
	int status = comparison_load(ctx, argc, argv, "gate", &s, &sets, &c);

	if (status != 0)
		return status;
	int r = o->c.json  ? run_comparison_json(&c, stdout)
		: o->c.csv ? run_comparison_csv(&c, stdout)
			   : run_comparison_findings(&c, stdout);
	if (!o->c.json && !o->c.csv) {
		run_comparison_verdict(&c, &verdict);
		printf("gate: %s (%zu %s", verdict.buf, c.a_count,
		       plural(c.a_count, "run", "runs"));
		print_failed(c.a_failed);
		printf(", %zu in the baseline", c.b_count);
		print_failed(c.b_failed);
		printf(")\n");
		r = r < 0 ? r : output_error(stdout);
	}
	if (r < 0)
		return fail_with(EXIT_FAILED, "cannot write: %s", strerror(-r));
	return status_of(o, c.verdict);
}

static const struct option_row rows[] = {
	ROWS_COMPARISON(struct gate_options),
	{OPT_CHOICE, 0, "inconclusive", "WORD",
	 "what an inconclusive comparison does: pass (status 0) or fail (status 3); default: status 4",
	 AT(struct gate_options, inconclusive), WORDS({"pass", AS_PASS}, {"fail", AS_FAIL})},
	ROW_CSV(struct comparison_options),
	ROW_JSON(struct comparison_options),
	ROWS_STORE,
};

static const struct gate_options defaults = {.c = COMPARISON_DEFAULTS};

const struct command command_gate = {
	.name = "gate",
	.summary = "fail a CI pipeline if runs became worse",
	.operands = {.name = "RUN",
		     .max = ANY_NUMBER,
		     .help = HELP_SETS,
		     .usage = "[RUN...] [-- BASELINE...]"},
	.description =
		"Compares runs as `plimsoll compare` does, and prints one line for each metric that "
		"is worse or inconclusive, then the verdict.\n\n" HELP_VERDICTS "\n\n" HELP_STATUS,
	.examples = "  plimsoll gate --metric duration --min-effect 10 new -- old\n"
		    "  plimsoll gate --inconclusive pass nightly\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.passes_on = true,
	.run = run,
};
