/* plimsoll sources: where data come from beside the preload library, and whether each is usable. */
#include <string.h>

#include "cmd/command.h"
#include "core/jsonw.h"
#include "core/table.h"
#include "sources/source.h"

struct sources_options {
	bool json;
};

static bool set(struct context *ctx, int id, const char *value)
{
	struct sources_options *o = ctx->options;

	(void)value;
	o->json = id == OPTION_JSON;
	return true;
}

static void show(const struct source *s, struct jsonw *j, struct table *t)
{
	struct source_context ctx = {.root = ""};
	struct source_report report = SOURCE_REPORT_INIT;
	int r = s->probe(&ctx, &report);

	jsonw_begin_object(j, NULL);
	jsonw_str(j, "name", s->name);
	jsonw_str(j, "help", s->help);
	jsonw_bool(j, "usable", r == 0);
	jsonw_text(j, "detail", report.detail.buf, report.detail.len);
	jsonw_str(j, "remedy", report.remedy);
	jsonw_end_object(j);
	table_row(t, r == 0 ? 0 : 'y');
	table_cell(t, 0, s->name);
	table_cell(t, 1, r == 0 ? "yes" : "no");
	table_cell(t, 2, s->help);
	table_cell(t, 3, report.detail.buf);
	strbuf_release(&report.detail);
}

static int run(struct context *ctx, int argc, char **argv)
{
	static const struct table_column columns[] = {
		{"SOURCE", 0}, {"USABLE", 0}, {"GIVES", COLUMN_WRAP}, {"HERE", COLUMN_WRAP}};
	const struct sources_options *o = ctx->options;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct table t;

	(void)argv;
	if (argc)
		return usage_error("sources", "sources takes no argument");
	table_init(&t, columns, ARRAY_SIZE(columns));
	j.pretty = true;
	jsonw_begin_array(&j, NULL);
	for (const struct source *const *s = sources; *s; s++)
		show(*s, &j, &t);
	jsonw_end_array(&j);
	if (o->json)
		jsonw_write(&j, stdout);
	else
		table_print(&t, stdout);
	table_release(&t);
	return EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON, ROW_END};

const struct command command_sources = {
	.name = "sources",
	.summary = "list the sources of data and whether each is usable here",
	.arguments = "",
	.description =
		"Lists what Plimsoll listens to beside its own records, with what each gives "
		"and what it lacks here. `plimsoll check` says how to mend it.",
	.options = rows,
	.options_size = sizeof(struct sources_options),
	.set = set,
	.run = run,
};
