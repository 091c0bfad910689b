/* plimsoll plot: draws the series of a job, from the store or from its files. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/series_options.h"
#include "context/job_argument.h"
#include "core/text/units.h"
#include "views/jobs/job_plot.h"
#include "views/listing.h"

struct options {
	struct series_options series;
	enum jobplot_scale scale;
	const char *output, *title;
	int width, height; /* 0: depends on the number of charts */
	const char *phase;
	bool list, json, no_phases;
};

/* ---- the metrics of the job ----------------------------------------------------------------- */

enum { METRIC, OF, SERIES, UNIT, KIND, HELP };
static const struct listing_column columns[] = {
	[METRIC] = {"metric", "METRIC", 0},
	[OF] = {"entity_kind", "OF", 0},
	[SERIES] = {"series", "SERIES", COLUMN_RIGHT},
	[UNIT] = {"unit", "UNIT", 0},
	[KIND] = {"kind", "KIND", 0},
	[HELP] = {"help", "WHAT", COLUMN_CUT},
};

static int list_metrics(const struct series_list *list, bool json)
{
	struct listing l;

	listing_begin(&l, columns, ARRAY_SIZE(columns), json);
	for (size_t i = 0, end; i < list->count; i = end) {
		const struct series *s = &list->list[i];

		for (end = i; end < list->count && !strcmp(list->list[end].metric, s->metric) &&
			      !strcmp(list->list[end].entity_kind, s->entity_kind);)
			end++;
		listing_row(&l, 0);
		listing_str(&l, METRIC, s->metric);
		listing_str(&l, OF, s->entity_kind);
		listing_u64(&l, SERIES, end - i);
		listing_str(&l, UNIT, s->unit);
		listing_str(&l, KIND, metric_kind_name(s->kind));
		listing_str(&l, HELP, s->help);
	}
	return listing_end(&l);
}

/* ---- pictures ------------------------------------------------------------------------------- */

static char *subtitle_of(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT jobid, jobname FROM job WHERE no = $1", db_int(job));
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (stmt_step(st) == 1) {
		strbuf_addf(&text, "job %s", stmt_get_str(st, 0));
		if (*stmt_get_str(st, 1))
			strbuf_addf(&text, ", %s", stmt_get_str(st, 1));
	}
	return strbuf_take(&text);
}

/* The job, and the mean and maximum of a single line. */
static void add_subtitles(struct jobplot *p, const char *job)
{
	for (size_t i = 0; i < p->count; i++) {
		struct plot *q = &p->plots[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		double mean = 0, maximum = 0;

		strbuf_addstr(&text, job ? job : "");
		if (q->line_count == 1) {
			plot_line_figures(&q->lines[0], &mean, &maximum);
			strbuf_addstr(&text, ": mean ");
			unit_add_value(&text, mean, q->unit);
			strbuf_addstr(&text, ", maximum ");
			unit_add_value(&text, maximum, q->unit);
		}
		if (q->logarithmic)
			strbuf_addstr(&text, ", logarithmic");
		q->subtitle = strbuf_take(&text);
	}
}

static int draw(struct store *s, int64_t job, struct options *o, const struct series_list *l)
{
	_cleanup_phase_list_ struct phase_list phases = {0};
	_cleanup_(jobplot_release) struct jobplot p = {0};
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ char *name = subtitle_of(s, job);
	enum plot_form form = PLOT_SVG;

	int r = series_limit_to_phase(&o->series, o->phase, &phases, s, job);
	if (r == -ENOENT)
		return EXIT_FAILED;
	if (r >= 0)
		r = jobplot_load(&p, l, s, job, &o->series, o->scale, &notes);
	warn_lines(notes.buf, NULL);
	if (r < 0)
		return r;
	if (!o->no_phases)
		jobplot_add_phases(&p, &phases);
	add_subtitles(&p, name);
	if (o->title && p.count) {
		free((char *)p.plots[0].title);
		p.plots[0].title = xstrdup(o->title);
	}
	int height = o->height     ? o->height
		     : p.count > 1 ? (int)(p.count < 20 ? p.count : 20) * 300
				   : PLOT_HEIGHT;
	(void)plot_form_of(o->output, &form);
	r = plot_pictures(p.plots, p.count, form, o->width ? o->width : PLOT_WIDTH, height,
			  o->output, &why);
	if (r < 0)
		log_error("%s", why.buf);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int show(struct context *ctx, struct store *s, int64_t job)
{
	struct options *o = ctx->options;
	_cleanup_(series_list_release) struct series_list l = {0};
	const struct series_filter *f = &o->series.filter;
	bool list = o->list || !f->metrics.count;

	int r = series_list_load(&l, s, job, f);
	if (r < 0)
		return r;
	if (list && !l.count && !o->json && !f->host && !f->entity && !f->kind &&
	    !f->metrics.count) {
		log_error(NOT_SAMPLED);
		return EXIT_OK;
	}
	if (list) {
		r = list_metrics(&l, o->json);
		if (r < 0)
			log_error("cannot write: %s", strerror(-r));
		return r < 0 ? EXIT_FAILED : EXIT_OK;
	}
	const char *unknown = series_unknown_metric(s, job, &f->metrics);
	if (unknown)
		return series_report_none(s, job, unknown,
					  "`plimsoll plot --list` lists the metrics that it has");
	if (!l.count)
		return fail_with(
			EXIT_FAILED,
			"no series of this metric matches that host and entity; `plimsoll series` "
			"lists them");
	return draw(s, job, o, &l);
}

static int check(struct context *ctx)
{
	const struct options *o = ctx->options;
	enum plot_form form;

	if (o->series.filter.metrics.count && !o->list && !o->output)
		return usage_error("plot", "plot: name the picture with -o FILE");
	if (o->output && !plot_form_of(o->output, &form))
		return usage_error("plot",
				   "plot: the name of the picture must end in .svg, .png or .pdf, "
				   "not '%s'",
				   o->output);
	if (o->output && !o->series.filter.metrics.count)
		return usage_error("plot", "plot: -o requires --metric; without both, the metrics "
					   "are listed");
	return EXIT_OK;
}

/* ---- options -------------------------------------------------------------------------------- */

static bool take_size(struct context *ctx, const char *value, struct strbuf *why)
{
	struct options *o = ctx->options;
	const char *x = strchr(value, 'x');
	_cleanup_free_ char *width = x ? xstrndup(value, (size_t)(x - value)) : NULL;
	uint64_t w, h;

	if (!x || parse_u64(width, &w) < 0 || parse_u64(x + 1, &h) < 0 || w < PLOT_SIZE_MIN ||
	    h < PLOT_SIZE_MIN || w > PLOT_SIZE_MAX || h > PLOT_SIZE_MAX) {
		strbuf_addf(why, "invalid size '%s', expected WIDTHxHEIGHT, each from %d to %d",
			    value, PLOT_SIZE_MIN, PLOT_SIZE_MAX);
		return false;
	}
	o->width = (int)w;
	o->height = (int)h;
	return true;
}

static const struct option_row rows[] = {
	ROW_METRIC(struct options, series.filter,
		   "draw this metric, with or without its source; wildcards * and ? are allowed; "
		   "several separated by commas"),
	{OPT_TEXT, 'o', "output", "FILE", "the picture; ends in .svg, .png or .pdf",
	 AT(struct options, output)},
	{OPT_FIXED, 0, "per-host", NULL, "one line per host (default)",
	 AT(struct options, series.sum), .number = SERIES_PER_HOST},
	{OPT_FIXED, 't', "total", NULL, "one line for all hosts together",
	 AT(struct options, series.sum), .number = SERIES_TOTAL},
	{OPT_FIXED, 0, "per-process", NULL, "one line per process or device",
	 AT(struct options, series.sum), .number = SERIES_EACH},
	ROW_HOST(struct options, series.filter),
	ROW_ENTITY(struct options, series.filter),
	ROW_KIND(struct options, series.filter),
	{OPT_FIXED, 0, "log", NULL, "logarithmic axis", AT(struct options, scale),
	 .number = JOBPLOT_LOG},
	{OPT_FIXED, 0, "linear", NULL,
	 "linear axis, even if the values span more than three decades", AT(struct options, scale),
	 .number = JOBPLOT_LINEAR},
	{OPT_CALL, 0, "size", "WxH",
	 "size in pixels, in points for SVG and PDF; default 960x420, higher for several charts",
	 .call = take_size},
	ROW_SINCE(struct options, series.since_us, series.has_since),
	ROW_UNTIL(struct options, series.until_us, series.has_until),
	ROW_PHASE(struct options, phase),
	{OPT_FLAG, 0, "no-phases", NULL, "do not draw the phases of the job behind the lines",
	 AT(struct options, no_phases)},
	{OPT_TEXT, 0, "title", "TEXT", "title of the picture", AT(struct options, title)},
	{OPT_FLAG, 'l', "list", NULL, "list the metrics of the job", AT(struct options, list)},
	ROW_JSON(struct options),
	ROWS_STORE,
};

static const struct options defaults = {.series = {.sum = SERIES_PER_HOST}};

const struct command command_plot = {
	.name = "plot",
	.summary = "draw metrics of a job over time",
	.operands = {"JOB", 0, 1, HELP_JOB_OR_PATH},
	.description =
		"Draws series of a job into an SVG, PNG or PDF file. Without --metric, or with --list, "
		"lists the metrics of the job; --json prints the list as JSON.\n\n"
		"Counters are drawn as rates per second, gauges as they are. Points are reduced to the "
		"extremes within each column of pixels, so that a peak of one sample stays visible. "
		"If a column covers many points, a band shows their minimum and maximum and the line "
		"their mean. A gap of more than five times the usual period breaks the line. Times are "
		"local.\n\n"
		"The entities of a host (processes, interfaces, disks) are aggregated as the metric "
		"defines: sum, maximum or minimum. --total aggregates all hosts, --per-process "
		"nothing. A metric that is known for the whole job or node is taken from there. "
		"Metrics that cannot be aggregated, such as the utilisation of a device, have one line "
		"per entity. Of more than 100 lines, the mean, the extremes and the highest lines are "
		"drawn. Metrics of different units get charts below each other.\n\n"
		"The axis is logarithmic if the values above 0 span more than three decades, not "
		"counting the smallest tenth, but never for memory and percentages; --log and --linear "
		"override this. Metrics of the sampler itself need their source in the name: "
		"-m sampler.rss.\n\n"
		"Bands behind the lines are the phases of the job (plimsoll-phases(1)): those of its "
		"script, else those of the first rank, of the outermost level.\n\n"
		"The picture replaces an existing file only when it is complete.",
	.examples =
		"  plimsoll plot last\n"
		"  plimsoll plot 685000 -m process.rss -o memory.svg\n"
		"  plimsoll plot 685000 -m cpu_percent --phase solve -o solve.png\n"
		"  plimsoll plot ./job -m 'network.*bytes' --total --size 1600x900 -o network.png\n",
	OPTIONS(struct options, rows),
	.defaults = &defaults,
	.check = check,
	.show = show,
	.shows_paths = true,
};
