/* plimsoll metrics: the metric dictionary as table, JSON and manual page. */
#include <ctype.h>
#include <string.h>

#include "cmd/command.h"
#include "core/metrics/metric.h"
#include "sampler/sampler.h"
#include "sources/source.h"
#include "views/listing.h"

struct metrics_options {
	enum { FORM_TABLE, FORM_JSON, FORM_MAN } form;
	bool sampled;
};

/* A recorded or a sampled metric. */
struct any_metric {
	const char *name;
	enum metric_unit unit;
	enum metric_kind kind;
	enum metric_agg agg;
	const char *help;
	const struct metric *recorded; /* NULL: a sampled one */
};

/* ---- walking over them ---------------------------------------------------------------------- */

struct walk {
	const char *part; /* of the name or the meaning; NULL: all */
	void (*visit)(void *user, const struct any_metric *m);
	void *user;
};

static void visit(const struct walk *w, const struct any_metric *m)
{
	if (!w->part || strcasestr(m->name, w->part) || strcasestr(m->help, w->part))
		w->visit(w->user, m);
}

static void visit_sampled(const struct walk *w, const char *source, const struct sample_metric *m)
{
	_cleanup_free_ char *name = xasprintf("%s.%s", source, m->name);

	visit(w, &(struct any_metric){name, m->unit, m->kind, m->agg, m->help, NULL});
}

/* The metrics of records, or of all sampled sources except counters, which depend on the CPU. */
static void each_metric(bool sampled, const struct walk *w)
{
	for (size_t i = 0; !sampled && i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		visit(w, &(struct any_metric){m->name, m->unit, m->kind, m->agg, m->help, m});
	}
	for (const struct source *const *s = sources; sampled && *s; s++)
		for (size_t i = 0; (*s)->open && i < (*s)->metric_count; i++)
			visit_sampled(w, (*s)->name, &(*s)->metrics[i]);
	for (size_t i = 0; sampled && i < sampler_metric_count; i++)
		visit_sampled(w, "sampler", &sampler_metrics[i]);
}

/* ---- table and JSON ------------------------------------------------------------------------- */

enum {
	NAME,
	ID,
	UNIT,
	TYPE,
	SCOPE,
	KIND,
	AGGREGATION,
	OVER_TIME,
	TOOLS,
	HELP = TOOLS + METRIC_TOOL_COUNT
};
static const struct listing_column recorded_columns[] = {
	[NAME] = {"name", "METRIC", 0},
	[ID] = {"id", NULL, 0},
	[UNIT] = {"unit", "UNIT", 0},
	[TYPE] = {"type", NULL, 0},
	[SCOPE] = {"scope", "SCOPE", 0},
	[KIND] = {"kind", "KIND", 0},
	[AGGREGATION] = {"aggregation", "AGGREGATION", 0},
	[OVER_TIME] = {"over_time", NULL, 0},
#define METRIC_TOOL(symbol) [TOOLS + METRIC_TOOL_##symbol] = {#symbol, NULL, 0},
#include "core/metrics/metric_tools.def"
#undef METRIC_TOOL
	[HELP] = {"help", "MEANING", COLUMN_WRAP},
};
static const struct listing_column sampled_columns[] = {
	[NAME] = {"name", "METRIC", 0},
	[UNIT] = {"unit", "UNIT", 0},
	[KIND] = {"kind", "KIND", 0},
	[AGGREGATION] = {"aggregation", "AGGREGATION", 0},
	[HELP] = {"help", "MEANING", COLUMN_WRAP},
};

static void add_row(void *user, const struct any_metric *m)
{
	const struct metric *r = m->recorded;
	struct listing *l = user;

	listing_row(l, 0);
	listing_str(l, NAME, m->name);
	if (r)
		listing_u64(l, ID, r->id);
	listing_str(l, UNIT, metric_unit_name(m->unit));
	if (r) {
		listing_str(l, TYPE, metric_type_name(r->type));
		listing_str(l, SCOPE, metric_scope_name(r->scope));
	}
	listing_str(l, KIND, metric_kind_name(m->kind));
	listing_str(l, AGGREGATION, metric_agg_name(m->agg));
	if (r) {
		listing_str(l, OVER_TIME, metric_time_name(r->over_time));
		for (size_t i = 0; i < METRIC_TOOL_COUNT; i++)
			listing_str(l, TOOLS + i, r->names[i]);
	}
	listing_str(l, HELP, m->help);
}

static void print_list(bool sampled, bool json, const char *part)
{
	struct listing l;

	listing_begin(&l, sampled ? sampled_columns : recorded_columns, HELP + 1, json);
	each_metric(sampled, &(struct walk){part, add_row, &l});
	listing_end(&l);
}

static void count_one(void *user, const struct any_metric *m PL_UNUSED)
{
	++*(size_t *)user;
}

/* A word finds recorded and sampled metrics alike. */
static int print_matching(const char *part)
{
	size_t found[2] = {0};

	for (int sampled = 0; sampled < 2; sampled++) {
		each_metric(sampled, &(struct walk){part, count_one, &found[sampled]});
		if (sampled && found[0] && found[1])
			putchar('\n');
		if (found[sampled])
			print_list(sampled, false, part);
	}
	if (found[0] || found[1])
		return EXIT_OK;
	log_error("no metric has '%s' in its name or meaning; `plimsoll metrics` and `plimsoll "
		  "metrics --sampled` list all",
		  part);
	return EXIT_FAILED;
}

/* ---- manual page ---------------------------------------------------------------------------- */

static void add_dashed(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addstr(out, *s == '-' ? "\\-" : *s == '\\' ? "\\e" : (char[]){*s, 0});
}

static void add_other_names(struct strbuf *out, const struct metric *m)
{
	const char *separator = "; ";

	for (size_t i = 0; i < METRIC_TOOL_COUNT; i++) {
		if (!m->names[i] || !strcmp(m->names[i], m->name))
			continue;
		strbuf_addf(out, "%s%s in %s", separator, m->names[i], metric_tool_names[i]);
		separator = ", ";
	}
}

static void add_man(void *user, const struct any_metric *m)
{
	struct strbuf *out = user;

	strbuf_addf(out, ".TP\n\\fB%s\\fR", m->name);
	if (*metric_unit_name(m->unit))
		strbuf_addf(out, " (%s)", metric_unit_name(m->unit));
	strbuf_addf(out, "\n%c", toupper((unsigned char)m->help[0]));
	add_dashed(out, m->help + 1);
	strbuf_addstr(out, ".\n");
	if (m->recorded)
		strbuf_addf(out, "%s, ", metric_scope_name(m->recorded->scope));
	strbuf_addstr(out, metric_kind_name(m->kind));
	if (m->agg != AGG_NONE)
		strbuf_addf(out, ", aggregated by %s", metric_agg_name(m->agg));
	if (m->recorded)
		add_other_names(out, m->recorded);
	strbuf_addstr(out, ".\n");
}

static void print_man(void)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const struct walk w = {NULL, add_man, &out};

	strbuf_addf(&out, ".TH PLIMSOLL\\-METRICS 7 \"\" \"plimsoll %s\" \"Plimsoll manual\"\n",
		    PL_VERSION);
	strbuf_addstr(&out,
		      ".SH NAME\nplimsoll\\-metrics \\- what Plimsoll records\n"
		      ".SH DESCRIPTION\n"
		      "Every metric with its unit, whether it is recorded per process or per\n"
		      "thread, how values are aggregated, and its name in the tools that Plimsoll\n"
		      "replaces. A value that is not known is absent, never 0.\n"
		      "This page is made by \\fBplimsoll metrics \\-\\-format=man\\fR.\n"
		      ".SH METRICS\n");
	each_metric(false, &w);
	strbuf_addstr(
		&out,
		".SH SAMPLED METRICS\n"
		"The metrics that \\fBplimsoll monitor\\fR samples, by source. Those of the source\n"
		"counters depend on the processor: \\fBplimsoll events \\-\\-groups\\fR lists them.\n");
	each_metric(true, &w);
	strbuf_addstr(&out, ".SH SEE ALSO\n\\fBplimsoll\\fR(1), \\fBplimsoll\\-records\\fR(1)\n");
	fwrite(out.buf, 1, out.len, stdout);
}

/* ---- command -------------------------------------------------------------------------------- */

static int run(struct context *ctx, int argc, char **argv)
{
	const struct metrics_options *o = ctx->options;
	const char *part = argc ? argv[0] : NULL;

	if (o->form == FORM_MAN)
		print_man();
	else if (part && !o->sampled && o->form == FORM_TABLE)
		return print_matching(part);
	else
		print_list(o->sampled, o->form == FORM_JSON, part);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "sampled", NULL,
	 "list the metrics that `plimsoll monitor` samples, by source",
	 AT(struct metrics_options, sampled)},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct metrics_options, form),
	 .number = FORM_JSON},
	{OPT_CHOICE, 0, "format", "FORMAT", "output format; man: the page plimsoll-metrics(7)",
	 AT(struct metrics_options, form),
	 WORDS({"table", FORM_TABLE}, {"json", FORM_JSON}, {"man", FORM_MAN})},
	ROW_END,
};

const struct command command_metrics = {
	.name = "metrics",
	.summary = "print the dictionary of metrics",
	.operands = {"WORD", 0, 1},
	.description =
		"Prints every recorded metric with its unit, its scope, how values of threads, "
		"processes and hosts are aggregated, and its names in other tools.\n\n"
		"With WORD, prints the metrics, recorded or sampled, that have it in their name or "
		"meaning.",
	OPTIONS(struct metrics_options, rows),
	.run = run,
};
