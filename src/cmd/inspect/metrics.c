/* plimsoll metrics: the dictionary, for people, programs and the manual. */
#include <ctype.h>
#include <string.h>

#include "cmd/command.h"
#include "core/metrics/metric.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sampler/sampler.h"
#include "sources/source.h"

struct metrics_options {
	enum { FORM_TABLE, FORM_JSON, FORM_MAN } form;
	bool sampled;
};

static void add_json(struct jsonw *j, const struct metric *m)
{
	jsonw_begin_object(j, NULL);
	jsonw_str(j, "name", m->name);
	jsonw_u64(j, "id", m->id);
	jsonw_str(j, "unit", metric_unit_name(m->unit));
	jsonw_str(j, "type", metric_type_name(m->type));
	jsonw_str(j, "scope", metric_scope_name(m->scope));
	jsonw_str(j, "kind", metric_kind_name(m->kind));
	jsonw_str(j, "aggregation", metric_agg_name(m->agg));
	jsonw_str(j, "over_time", metric_time_name(m->over_time));
	jsonw_str(j, "papiex", m->papiex);
	jsonw_str(j, "perfmon", m->perfmon);
	jsonw_str(j, "colmet", m->colmet);
	jsonw_str(j, "help", m->help);
	jsonw_end_object(j);
}

static void add_dashed(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addstr(out, *s == '-' ? "\\-" : *s == '\\' ? "\\e" : (char[]){*s, 0});
}

static void add_man(struct strbuf *out, const struct metric *m)
{
	static const char *const tools[] = {"papiex", "perfmon", "colmet"};
	const char *names[] = {m->papiex, m->perfmon, m->colmet};
	bool first = true;

	strbuf_addf(out, ".TP\n\\fB%s\\fR", m->name);
	if (*metric_unit_name(m->unit))
		strbuf_addf(out, " (%s)", metric_unit_name(m->unit));
	strbuf_addstr(out, "\n");
	strbuf_addf(out, "%c", toupper((unsigned char)m->help[0]));
	add_dashed(out, m->help + 1);
	strbuf_addf(out, ".\n%s, %s", metric_scope_name(m->scope), metric_kind_name(m->kind));
	if (m->agg != AGG_NONE)
		strbuf_addf(out, ", adds up by %s", metric_agg_name(m->agg));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!names[i] || !strcmp(names[i], m->name))
			continue;
		strbuf_addf(out, "%s%s in %s", first ? "; " : ", ", names[i], tools[i]);
		first = false;
	}
	strbuf_addstr(out, ".\n");
}

/* ---- what is sampled --------------------------------------------------------------------------
 */

typedef void (*sampled_visitor)(void *user, const char *source, const struct sample_metric *m);

/* Is a metric asked for: by a part of its name, or of what it means? */
static bool is_wanted(const char *name, const char *help, const char *part)
{
	return !part || strcasestr(name, part) || strcasestr(help, part);
}

static void visit_wanted(sampled_visitor visit, void *user, const char *source,
			 const struct sample_metric *m, const char *part)
{
	_cleanup_free_ char *name = xasprintf("%s.%s", source, m->name);

	if (is_wanted(name, m->help, part))
		visit(user, source, m);
}

/* Every metric of every sampled source; those of counters depend on the machine. */
static void each_sampled(sampled_visitor visit, void *user, const char *part)
{
	for (const struct source *const *s = sources; *s; s++)
		for (size_t i = 0; (*s)->open && i < (*s)->metric_count; i++)
			visit_wanted(visit, user, (*s)->name, &(*s)->metrics[i], part);
	for (size_t i = 0; i < sampler_metric_count; i++)
		visit_wanted(visit, user, "sampler", &sampler_metrics[i], part);
}

static void sampled_json(void *user, const char *source, const struct sample_metric *m)
{
	_cleanup_free_ char *name = xasprintf("%s.%s", source, m->name);
	struct jsonw *j = user;

	jsonw_begin_object(j, NULL);
	jsonw_str(j, "name", name);
	jsonw_str(j, "unit", metric_unit_name(m->unit));
	jsonw_str(j, "kind", metric_kind_name(m->kind));
	jsonw_str(j, "aggregation", metric_agg_name(m->agg));
	jsonw_str(j, "help", m->help);
	jsonw_end_object(j);
}

static void sampled_row(void *user, const char *source, const struct sample_metric *m)
{
	struct terminal_table *t = user;

	terminal_table_row(t, 0);
	terminal_table_cellf(t, 0, "%s.%s", source, m->name);
	terminal_table_cell(t, 1, metric_unit_name(m->unit));
	terminal_table_cell(t, 2, metric_kind_name(m->kind));
	terminal_table_cell(t, 3, metric_agg_name(m->agg));
	terminal_table_cell(t, 4, m->help);
}

static void sampled_man(void *user, const char *source, const struct sample_metric *m)
{
	struct strbuf *out = user;

	strbuf_addf(out, ".TP\n\\fB%s.%s\\fR", source, m->name);
	if (*metric_unit_name(m->unit))
		strbuf_addf(out, " (%s)", metric_unit_name(m->unit));
	strbuf_addf(out, "\n%c", toupper((unsigned char)m->help[0]));
	add_dashed(out, m->help + 1);
	strbuf_addf(out, ".\n%s", metric_kind_name(m->kind));
	if (m->agg != AGG_NONE)
		strbuf_addf(out, ", adds up by %s", metric_agg_name(m->agg));
	strbuf_addstr(out, ".\n");
}

static void print_sampled(bool json, const char *part)
{
	static const struct terminal_table_column columns[] = {{"METRIC", 0},
							       {"UNIT", 0},
							       {"KIND", 0},
							       {"AGGREGATION", 0},
							       {"MEANING", COLUMN_WRAP}};
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct terminal_table t;

	if (json) {
		j.pretty = true;
		jsonw_begin_array(&j, NULL);
		each_sampled(sampled_json, &j, part);
		jsonw_end_array(&j);
		jsonw_write(&j, stdout);
		return;
	}
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	each_sampled(sampled_row, &t, part);
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
}

/* ---- what is recorded -------------------------------------------------------------------------
 */

static void print_man(void)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out, ".TH PLIMSOLL\\-METRICS 7 \"\" \"plimsoll %s\" \"Plimsoll manual\"\n",
		    PL_VERSION);
	strbuf_addstr(
		&out,
		".SH NAME\nplimsoll\\-metrics \\- what Plimsoll records\n"
		".SH DESCRIPTION\n"
		"Every metric with its unit, whether it is kept for a process or for each of its\n"
		"threads, how values add up, and its name in the tools that Plimsoll replaces.\n"
		"A value that is not known is absent, never 0.\n"
		"This page is made by \\fBplimsoll metrics \\-\\-format=man\\fR.\n"
		".SH METRICS\n");
	for (size_t i = 0; i < metric_count; i++)
		add_man(&out, &metrics[i]);
	strbuf_addstr(
		&out,
		".SH SAMPLED METRICS\n"
		"What \\fBplimsoll monitor\\fR samples, by source. Those of the source counters\n"
		"depend on the processor: \\fBplimsoll events \\-\\-groups\\fR lists them.\n");
	each_sampled(sampled_man, &out, NULL);
	strbuf_addstr(&out, ".SH SEE ALSO\n\\fBplimsoll\\fR(1), \\fBplimsoll\\-records\\fR(1)\n");
	fwrite(out.buf, 1, out.len, stdout);
}

static void print_recorded(const char *part)
{
	static const struct terminal_table_column columns[] = {
		{"METRIC", 0}, {"UNIT", 0},        {"SCOPE", 0},
		{"KIND", 0},   {"AGGREGATION", 0}, {"MEANING", COLUMN_WRAP}};
	struct terminal_table t;

	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < metric_count; i++) {
		if (!is_wanted(metrics[i].name, metrics[i].help, part))
			continue;
		terminal_table_row(&t, 0);
		terminal_table_cell(&t, 0, metrics[i].name);
		terminal_table_cell(&t, 1, metric_unit_name(metrics[i].unit));
		terminal_table_cell(&t, 2, metric_scope_name(metrics[i].scope));
		terminal_table_cell(&t, 3, metric_kind_name(metrics[i].kind));
		terminal_table_cell(&t, 4, metric_agg_name(metrics[i].agg));
		terminal_table_cell(&t, 5, metrics[i].help);
	}
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
}

static void print_recorded_json(const char *part)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	j.pretty = true;
	jsonw_begin_array(&j, NULL);
	for (size_t i = 0; i < metric_count; i++)
		if (is_wanted(metrics[i].name, metrics[i].help, part))
			add_json(&j, &metrics[i]);
	jsonw_end_array(&j);
	jsonw_write(&j, stdout);
}

static void count_one(void *user, const char *source, const struct sample_metric *m)
{
	(void)source, (void)m;
	++*(size_t *)user;
}

static size_t count_recorded(const char *part)
{
	size_t n = 0;

	for (size_t i = 0; i < metric_count; i++)
		n += is_wanted(metrics[i].name, metrics[i].help, part);
	return n;
}

/* Whoever asks for a word need not know whether it is recorded or sampled. */
static int print_matching(const char *part)
{
	size_t recorded = count_recorded(part), sampled = 0;

	each_sampled(count_one, &sampled, part);
	if (recorded)
		print_recorded(part);
	if (recorded && sampled)
		putchar('\n');
	if (sampled)
		print_sampled(false, part);
	if (recorded || sampled)
		return EXIT_OK;
	log_error("no metric has '%s' in its name or meaning; `plimsoll metrics` and `plimsoll "
		  "metrics --sampled` list all",
		  part);
	return EXIT_FAILED;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct metrics_options *o = ctx->options;
	const char *part = argc ? argv[0] : NULL;

	if (argc > 1)
		return usage_error("metrics", "metrics takes one word");
	if (o->form == FORM_MAN)
		print_man();
	else if (o->sampled)
		print_sampled(o->form == FORM_JSON, part);
	else if (o->form == FORM_JSON)
		print_recorded_json(part);
	else if (part)
		return print_matching(part);
	else
		print_recorded(NULL);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "sampled", NULL, "what `plimsoll monitor` samples, by source",
	 AT(struct metrics_options, sampled)},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct metrics_options, form),
	 .number = FORM_JSON},
	{OPT_CHOICE, 0, "format", "FORM", "what it prints; man: plimsoll-metrics(7)",
	 AT(struct metrics_options, form),
	 WORDS({"table", FORM_TABLE}, {"json", FORM_JSON}, {"man", FORM_MAN})},
	ROW_END,
};

const struct command command_metrics = {
	.name = "metrics",
	.summary = "print the dictionary of what is recorded",
	.arguments = "[WORD]",
	.description =
		"Prints every metric with its unit, its scope, how values of threads, processes and hosts add "
		"up, and the name under which papiex, perfmon and colmet know it.\n\n"
		"WORD asks for those that have it in their name or meaning, sampled ones too.",
	.options = rows,
	.options_size = sizeof(struct metrics_options),
	.run = run,
};
