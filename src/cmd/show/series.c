/* plimsoll series: the sampled series of a job, from the store or from its files. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/series_options.h"
#include "context/job_argument.h"
#include "views/jobs/job_plot.h"
#include "views/series_view.h"

struct options {
	struct series_options series; /* first */
	const char *phase;
};

/* An aggregate takes a metric of the job or of its processes, not both. */
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

static int check(struct context *ctx)
{
	const struct series_options *o = ctx->options;

	const struct options *options = ctx->options;

	if (!o->filter.metrics.count &&
	    (o->step_us || o->rate || o->sum != SERIES_EACH || options->phase))
		return usage_error("series", "series: --step, --rate, --total, --per-host and "
					     "--phase require --metric");
	return EXIT_OK;
}

static int show(struct context *ctx, struct store *s, int64_t job)
{
	struct options *options = ctx->options;
	struct series_options *o = &options->series;
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT;
	_cleanup_(series_list_release) struct series_list l = {0};
	_cleanup_phase_list_ struct phase_list phases = {0};

	int r = options->phase ? series_limit_to_phase(o, options->phase, &phases, s, job) : 0;
	if (r == -ENOENT)
		return EXIT_FAILED;
	if (r >= 0)
		r = series_list_load(&l, s, job, &o->filter);
	if (r >= 0 && !l.count && (o->filter.metrics.count || o->form == PROC_TABLE))
		return series_report_none(s, job, series_unknown_metric(s, job, &o->filter.metrics),
					  "`plimsoll series JOB` lists the metrics that it has");
	if (r >= 0)
		r = o->filter.metrics.count ? print_values(&l, s, job, o, &notes)
					    : series_print_list(&l, o->form, stdout);
	warn_lines(notes.buf, NULL);
	return r;
}

static const struct option_row rows[] = {
	ROW_METRIC(struct series_options, filter,
		   "print the values of this metric, with or without its source; wildcards * and ? "
		   "are allowed; several separated by commas"),
	ROW_HOST(struct series_options, filter),
	ROW_ENTITY(struct series_options, filter),
	ROW_KIND(struct series_options, filter),
	{OPT_DURATION, 's', "step", "TIME",
	 "resample to steps of this length: mean and extremes, or the rate of a counter",
	 AT(struct series_options, step_us), .unit_ns = 1000, RANGE(1000, INT64_MAX / 4)},
	{OPT_FLAG, 'r', "rate", NULL, "print counters as rates per second",
	 AT(struct series_options, rate)},
	{OPT_FIXED, 't', "total", NULL, "aggregate the entities of a kind on all hosts",
	 AT(struct series_options, sum), .number = SERIES_TOTAL},
	{OPT_FIXED, 0, "per-host", NULL, "aggregate the entities of a kind on each host",
	 AT(struct series_options, sum), .number = SERIES_PER_HOST},
	ROW_SINCE(struct series_options, since_us, has_since),
	ROW_UNTIL(struct series_options, until_us, has_until),
	ROW_PHASE(struct options, phase),
	ROWS_FORM(struct series_options),
	ROWS_STORE,
};

const struct command command_series = {
	.name = "series",
	.summary = "print the sampled time series of a job",
	.operands = {"JOB", 0, 1, HELP_JOB_OR_PATH},
	.description =
		"Lists the series of a job: each metric of each process, device or node that was "
		"sampled, with the number of values, their minimum, mean and maximum, and for counters "
		"the increase. With --metric, prints the values themselves.\n\n"
		"--step resamples to steps that start at multiples of its length. A gauge gets its "
		"mean over the step, with minimum and maximum of the samples in the step and of the "
		"mean itself, which also covers the way from the sample before the step and to the one "
		"after it. A counter gets its rate per second over the part of the step in which it "
		"was observed. If a counter went back (its device was reset), there is no rate; rates "
		"are never negative.\n\n"
		"--total and --per-host aggregate the entities of a kind as the metric defines: sum, "
		"maximum or minimum. A total of counters keeps the last value of entities that have "
		"ended. Hosts are not sampled at the same moment: without --step, a total over several "
		"hosts has one value per usual period, from the nearest sample of each host. If a "
		"metric is known both for the whole (job, node) and for its parts (processes, "
		"devices), the whole is used; --kind overrides this.\n\n"
		"JSON is an array with one object per series: metric, unit, kind, host, entity_kind, "
		"entity, metadata, and samples as [time, value], or with --step and a gauge as [time, "
		"mean, minimum, maximum].",
	.examples = "  plimsoll series last\n"
		    "  plimsoll series 685000 -m process.rss --total --step 10s --csv\n"
		    "  plimsoll series last -m process.rss --total --phase solve --csv\n"
		    "  plimsoll series ./job -m 'network.*' --rate --json | jq '.[].samples[-1]'\n",
	OPTIONS(struct options, rows),
	.check = check,
	.show = show,
	.shows_paths = true,
};
