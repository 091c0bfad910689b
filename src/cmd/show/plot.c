/* plimsoll plot: curves of a job as a picture, from the store or from files never submitted. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/series_options.h"
#include "context/job_argument.h"
#include "plot/plot_unit.h"
#include "views/job_plot.h"
#include "views/stream_table.h"

struct options {
	struct series_options series;
	enum jobplot_scale scale;
	const char *output, *title;
	int width, height; /* 0: as many charts need */
	bool list, json;
};

/* ---- which metrics there are ------------------------------------------------------------------
 */

static void list_json(struct jsonw *j, const struct series *s, int64_t count)
{
	jsonw_begin_object(j, NULL);
	jsonw_str(j, "metric", s->metric);
	jsonw_str(j, "unit", s->unit);
	jsonw_str(j, "kind", metric_kind_name(s->kind));
	jsonw_str(j, "entity_kind", s->entity_kind);
	jsonw_i64(j, "series", count);
	jsonw_str(j, "help", s->help);
	jsonw_end_object(j);
}

static int list_metrics(const struct series_list *l, bool json)
{
	static const struct terminal_table_column columns[] = {
		{"METRIC", 0}, {"OF", 0},   {"SERIES", COLUMN_RIGHT},
		{"UNIT", 0},   {"KIND", 0}, {"WHAT", COLUMN_CUT}};
	struct json_rows rows;
	struct stream_table g;

	if (json)
		json_rows_begin(&rows, stdout);
	else
		stream_table_begin(&g, columns, ARRAY_SIZE(columns), false, stdout);
	for (size_t i = 0, end; i < l->count; i = end) {
		const struct series *s = &l->list[i];

		for (end = i; end < l->count && !strcmp(l->list[end].metric, s->metric) &&
			      !strcmp(l->list[end].entity_kind, s->entity_kind);)
			end++;
		if (json) {
			list_json(&rows.j, s, (int64_t)(end - i));
			json_rows_next(&rows);
			continue;
		}
		stream_table_str(&g, s->metric);
		stream_table_str(&g, s->entity_kind);
		stream_table_number(&g, (int64_t)(end - i));
		stream_table_str(&g, s->unit);
		stream_table_str(&g, metric_kind_name(s->kind));
		stream_table_str(&g, s->help);
		stream_table_row(&g, 0);
	}
	return json ? json_rows_end(&rows) : stream_table_end(&g);
}

/* ---- pictures ---------------------------------------------------------------------------------
 */

static char *subtitle_of(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT jobid, jobname FROM job WHERE no = $1");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!st)
		return NULL;
	stmt_int(st, 1, job);
	if (stmt_step(st) == 1) {
		strbuf_addf(&text, "job %s", stmt_get_str(st, 0));
		if (*stmt_get_str(st, 1))
			strbuf_addf(&text, ", %s", stmt_get_str(st, 1));
	}
	return strbuf_take(&text);
}

/* Of which job, and what a line alone amounts to. */
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
			plot_add_value(&text, mean, q->unit);
			strbuf_addstr(&text, ", maximum ");
			plot_add_value(&text, maximum, q->unit);
		}
		if (q->logarithmic)
			strbuf_addstr(&text, ", logarithmic");
		q->subtitle = strbuf_take(&text);
	}
}

static int draw(struct store *s, int64_t job, const struct options *o, const struct series_list *l)
{
	_cleanup_(jobplot_release) struct jobplot p = {0};
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ char *name = subtitle_of(s, job);
	enum plot_form form = PLOT_SVG;

	int r = jobplot_load(&p, l, s, job, &o->series, o->scale, &notes);
	warn_lines(notes.buf, NULL);
	if (r < 0) {
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
		return r;
	}
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
	return r;
}

static int show(struct store *s, int64_t job, const struct options *o)
{
	_cleanup_(series_list_release) struct series_list l = {0};
	const struct series_filter *f = &o->series.filter;
	bool list = o->list || !f->metrics.count;

	int r = series_list_load(&l, s, job, f);
	if (r < 0) {
		log_error("%s", store_error(s));
		return r;
	}
	if (list && !l.count && !o->json && !f->host && !f->entity && !f->kind &&
	    !f->metrics.count) {
		log_error(NOT_SAMPLED);
		return 0;
	}
	if (list) {
		r = list_metrics(&l, o->json);
		if (r < 0)
			log_error("cannot write: %s", strerror(-r));
		return r;
	}
	const char *unknown = series_unknown_metric(s, job, &f->metrics);
	if (unknown)
		return series_tell_none(s, job, unknown,
					"`plimsoll plot` with --list shows those it has");
	if (!l.count) {
		log_error("no series of this metric is of that host and entity; `plimsoll series` "
			  "lists them");
		return -ENOENT;
	}
	return draw(s, job, o, &l);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	enum plot_form form;
	int64_t job = 0;

	if (argc > 1)
		return usage_error("plot", "plot takes one job");
	if (o->series.filter.metrics.count && !o->list && !o->output)
		return usage_error("plot", "plot: -o FILE says where the picture goes");
	if (o->output && !plot_form_of(o->output, &form))
		return usage_error("plot",
				   "plot: the name of the picture ends in .svg, .png or .pdf, "
				   "not '%s'",
				   o->output);
	if (o->output && !o->series.filter.metrics.count)
		return usage_error("plot", "plot: -o wants a --metric; without both the metrics "
					   "are listed");
	if (job_argument_open(ctx, argc ? argv[0] : "last", &s, &job) < 0)
		return EXIT_FAILED;
	return show(s, job, o) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- options ----------------------------------------------------------------------------------
 */

static bool take_size(struct context *ctx, const char *value, struct strbuf *why)
{
	struct options *o = ctx->options;
	const char *x = strchr(value, 'x');
	_cleanup_free_ char *width = x ? xstrndup(value, (size_t)(x - value)) : NULL;
	uint64_t w, h;

	if (!x || parse_u64(width, &w) < 0 || parse_u64(x + 1, &h) < 0 || w < PLOT_SIZE_MIN ||
	    h < PLOT_SIZE_MIN || w > PLOT_SIZE_MAX || h > PLOT_SIZE_MAX) {
		strbuf_addf(why, "'%s' is not WIDTHxHEIGHT, both from %d to %d", value,
			    PLOT_SIZE_MIN, PLOT_SIZE_MAX);
		return false;
	}
	o->width = (int)w;
	o->height = (int)h;
	return true;
}

static const struct option_row rows[] = {
	ROW_METRIC(
		struct options, series.filter,
		"draw this metric, with or without its source; * and ? match; several with commas"),
	{OPT_TEXT, 'o', "output", "FILE", "the picture: its name ends in .svg, .png or .pdf",
	 AT(struct options, output)},
	{OPT_FIXED, 0, "per-host", NULL, "a line for each host, which is what is done anyway",
	 AT(struct options, series.sum), .number = SERIES_PER_HOST},
	{OPT_FIXED, 't', "total", NULL, "all hosts together as one line",
	 AT(struct options, series.sum), .number = SERIES_TOTAL},
	{OPT_FIXED, 0, "per-process", NULL, "a line for each process or device",
	 AT(struct options, series.sum), .number = SERIES_EACH},
	ROW_HOST(struct options, series.filter),
	ROW_ENTITY(struct options, series.filter),
	ROW_KIND(struct options, series.filter),
	{OPT_FIXED, 0, "log", NULL, "a logarithmic axis", AT(struct options, scale),
	 .number = JOBPLOT_LOG},
	{OPT_FIXED, 0, "linear", NULL,
	 "no logarithmic axis, even where values span more than three decades",
	 AT(struct options, scale), .number = JOBPLOT_LINEAR},
	{OPT_CALL, 0, "size", "WxH",
	 "pixels of the picture, points of SVG and PDF: 960x420, more for several charts",
	 .call = take_size},
	ROW_SINCE(struct options, series.since_us, series.has_since),
	ROW_UNTIL(struct options, series.until_us, series.has_until),
	{OPT_TEXT, 0, "title", "TEXT", "what is written above the picture",
	 AT(struct options, title)},
	{OPT_FLAG, 'l', "list", NULL, "which metrics the job has", AT(struct options, list)},
	ROW_JSON(struct options),
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct options defaults = {.series = {.sum = SERIES_PER_HOST}};

const struct command command_plot = {
	.name = "plot",
	.summary = "draw metrics of a job over time",
	.arguments = "[JOB]",
	.description =
		"Draws curves of a job into an SVG, PNG or PDF file. Without --metric, or with --list, it "
		"prints which metrics the job has; --json prints that as JSON.\n\n"
		"Counters are drawn as their rate a second, levels as they are. Points are reduced to the "
		"extremes in each column of pixels: a peak of one sample stays visible, however long the job. "
		"Where a column stands for many points their smallest and largest are a band and their mean is "
		"the line. A line is broken where there was no reading for more than five times the usual "
		"distance. Times are local.\n\n"
		"Entities of a host (processes, interfaces, disks) are put together as the metric says: sum, "
		"maximum or minimum; --total does it for all hosts, --per-process not at all. A metric that is known "
		"of the job or the node as a whole is taken from there. Of metrics that "
		"have no sum, as percentages of a device, each entity has its line. Of more than 100 lines "
		"their mean, their extremes and the highest of them are drawn. Metrics of different units are "
		"in charts below each other.\n\n"
		"The axis is logarithmic where the values above 0 span more than three decades, their smallest "
		"tenth aside, but never for memory and percentages; --log and --linear decide it. What the sampler says of "
		"itself is drawn where it is named with its source: -m sampler.rss.\n\n"
		"The picture is written aside and renamed: a file that is there stays as it is when writing "
		"fails.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last (the default); or a "
		"directory, an archive or a sample file (.smp), which need not be in the store.",
	.examples =
		"  plimsoll plot last\n"
		"  plimsoll plot 685000 -m process.rss -o memory.svg\n"
		"  plimsoll plot ./job -m 'network.*bytes' --total --size 1600x900 -o network.png\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(struct options),
	.run = run,
};
