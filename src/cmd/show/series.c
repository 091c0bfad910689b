/* plimsoll series: curves of a job, from the store or from files that were never submitted. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/series_options.h"
#include "context/job_argument.h"
#include "views/job_plot.h"
#include "views/series_view.h"

/* ---- command -------------------------------------------------------------------------------- */

/* What is put together is not put together twice, of the job and of its processes. */
static int print_values(const struct series_list *l, struct store *s, int64_t job,
			const struct series_options *o, struct strbuf *notes)
{
	if (o->sum == SERIES_EACH)
		return series_print_values(l, s, job, o, stdout, notes);
	struct series_list whole = series_choose(l, o);
	int r = series_print_values(&whole, s, job, o, stdout, notes);
	free(whole.list);
	return r;
}

static int print(struct store *s, int64_t job, const struct series_options *o)
{
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT;
	_cleanup_(series_list_release) struct series_list l = {0};

	int r = series_list_load(&l, s, job, &o->filter);
	if (r >= 0 && !l.count && (o->filter.metrics.count || o->form == PROC_TABLE))
		return series_tell_none(s, job, series_unknown_metric(s, job, &o->filter.metrics),
					"`plimsoll series` with the job alone lists what it has");
	if (r >= 0)
		r = o->filter.metrics.count ? print_values(&l, s, job, o, &notes)
					    : series_print_list(&l, o->form, stdout);
	warn_lines(notes.buf, NULL);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct series_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	int64_t job = 0;

	if (argc > 1)
		return usage_error("series", "series takes one job");
	if (!o->filter.metrics.count && (o->step_us || o->rate || o->sum != SERIES_EACH))
		return usage_error(
			"series", "series: --step, --rate, --total and --per-host want a --metric");
	if (job_argument_open(ctx, argc ? argv[0] : "last", &s, &job) < 0)
		return EXIT_FAILED;
	return print(s, job, o) < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	ROW_METRIC(
		struct series_options, filter,
		"values of this metric, with or without its source; * and ? match; several with commas"),
	ROW_HOST(struct series_options, filter),
	ROW_ENTITY(struct series_options, filter),
	ROW_KIND(struct series_options, filter),
	{OPT_DURATION, 's', "step", "TIME",
	 "in steps of this length: means with extremes, of counters the rate",
	 AT(struct series_options, step_us), .unit_ns = 1000, RANGE(1000, INT64_MAX / 4)},
	{OPT_FLAG, 'r', "rate", NULL, "counters as their rate a second",
	 AT(struct series_options, rate)},
	{OPT_FIXED, 't', "total", NULL, "the entities of a kind on all hosts as one curve",
	 AT(struct series_options, sum), .number = SERIES_TOTAL},
	{OPT_FIXED, 0, "per-host", NULL, "the entities of a kind on a host as one curve",
	 AT(struct series_options, sum), .number = SERIES_PER_HOST},
	ROW_SINCE(struct series_options, since_us, has_since),
	ROW_UNTIL(struct series_options, until_us, has_until),
	{OPT_FIXED, 0, "csv", NULL, "print CSV", AT(struct series_options, form),
	 .number = PROC_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct series_options, form),
	 .number = PROC_JSON},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_series = {
	.name = "series",
	.summary = "show how metrics of a job went over time",
	.arguments = "[JOB]",
	.description =
		"Lists the series of a job: each metric of each process, device or node that was sampled, with "
		"the number of its values, their minimum, mean and maximum, and of counters what they grew by. "
		"With --metric the values themselves are printed.\n\n"
		"With --step values are put together in steps that begin at multiples of its length: the mean "
		"of a level, beside its minimum and maximum so that peaks stay visible (of the readings in the "
		"step, and of the mean itself, which also has the way from a reading before the step and to one "
		"behind it), and the rate a second of a counter, over the time in the step that it was seen. Where a counter went back (its device "
		"was reset) there is no rate, never a negative one.\n\n"
		"--total and --per-host put the entities of a kind together as the metric says: sum, maximum or minimum. A "
		"total of counters goes on with the last value of those that have ended. Hosts are not read "
		"at the same moment: without --step a total over several has one value for each of their usual "
		"periods, from the value of each host that is nearest in time. Of a metric that is known of the job "
		"and of its processes, or of a node and its devices, the whole is taken; --kind decides otherwise.\n\n"
		"JSON is an array of objects, one a curve, with metric, unit, kind, host, entity_kind, entity, "
		"facts, and samples: [time, value], with --step [time, mean, minimum, maximum] for levels.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last (the default); or a "
		"directory, an archive or a sample file (.smp), which need not be in the store.",
	.examples = "  plimsoll series last\n"
		    "  plimsoll series 685000 -m process.rss --total --step 10s --csv\n"
		    "  plimsoll series ./job -m 'network.*' --rate --json | jq '.[].samples[-1]'\n",
	.options = rows,
	.options_size = sizeof(struct series_options),
	.run = run,
};
