/* What the commands that compare runs share; see comparison.h. */
#include "cmd/compare/comparison.h"

#include <errno.h>
#include <string.h>

/* "5", "2.5" or "2.5%", as a share. */
static bool take_percent(const char *value, double least, double most, double *ret)
{
	char *end;

	errno = 0;
	const double v = strtod(value, &end);
	if (end == value || errno || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) ||
	    !(v >= least && v <= most))
		return false;
	*ret = v / 100;
	return true;
}

bool option_min_effect(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	return take_percent(value, 0, 1000,
			    &((struct comparison_options *)ctx->options)->min_effect);
}

bool option_confidence(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	return take_percent(value, 50, 99.99,
			    &((struct comparison_options *)ctx->options)->confidence);
}

int comparison_status(enum verdict v)
{
	return v == VERDICT_WORSE       ? EXIT_WORSE
	       : v == VERDICT_NOT_WORSE ? EXIT_OK
					: EXIT_INCONCLUSIVE;
}

bool comparison_groups(const struct comparison_options *o, const char *command, unsigned *ret)
{
	*ret = 0;
	for (size_t i = 0; i < o->by_count; i++) {
		int g = FIGURES_EXECUTABLE;

		while (g < FIGURE_GROUPS && strcmp(figure_group_names[g], o->by[i]) != 0)
			g++;
		if (g == FIGURE_GROUPS) {
			usage_error(command,
				    "%s: --by takes executable, operation or phase, not '%s'",
				    command, o->by[i]);
			return false;
		}
		*ret |= 1u << g;
	}
	return true;
}

static int find_runs(struct store *s, struct run_sets *sets, const struct comparison_options *o,
		     int argc, char **argv, int behind)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct run_sets_request q = {
		.words = argv,
		.word_count = (size_t)(argc - behind),
		.where = o->where,
		.baseline_words = argv + (argc - behind),
		.baseline_word_count = (size_t)behind,
		.baseline_where = o->baseline_where,
		.with_failed = o->with_failed,
		.ignore_tags = o->ignore_tags,
		.baseline_last = o->baseline_last,
	};
	int r = run_sets_find(sets, s, &q, &why);

	warn_lines(sets->warnings.buf, NULL);
	return r < 0 ? fail_with(r, "%s", why.buf) : 0;
}

int comparison_load(struct context *ctx, int argc, char **argv, const char *command,
		    struct store **s, struct run_sets *sets, struct run_comparison *c)
{
	const struct comparison_options *o = ctx->options;
	const int behind = ctx->behind < argc ? ctx->behind : argc;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	unsigned groups;

	if (argc == behind && !o->where)
		return usage_error(command, "%s: name runs, or choose them with --where", command);
	if (!comparison_groups(o, command, &groups))
		return EXIT_USAGE;
	if (open_store(ctx, STORE_READ, s) < 0)
		return EXIT_FAILED;
	int r = find_runs(*s, sets, o, argc, argv, behind);
	if (r < 0)
		return job_selection_status(r);
	*c = (struct run_comparison){
		.alpha = 1 - o->confidence,
		.min_effect = o->min_effect,
		.a_count = sets->a_count,
		.b_count = sets->b_count,
		.a_failed = sets->a_failed,
		.b_failed = sets->b_failed,
		.run_names = (const char *const *)sets->labels,
		.fingerprint = sets->by_fingerprint ? sets->description.buf : NULL,
	};
	if (run_comparison_make(c, *s, sets->jobs, o->metrics, o->metric_count, groups, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	return 0;
}
