/* plimsoll sinks: the forms in which rows leave the program. */
#include "cmd/command.h"
#include "core/jsonw.h"
#include "core/table.h"
#include "sinks/sink.h"

struct sinks_options {
	bool json;
};

static bool set(struct context *ctx, int id, const char *value)
{
	struct sinks_options *o = ctx->options;

	(void)value;
	o->json = id == OPTION_JSON;
	return true;
}

static int run(struct context *ctx, int argc, char **argv)
{
	static const struct table_column columns[] = {{"SINK", 0}, {"MEANING", COLUMN_WRAP}};
	const struct sinks_options *o = ctx->options;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct table t;

	(void)argv;
	if (argc)
		return usage_error("sinks", "sinks takes no argument");
	table_init(&t, columns, ARRAY_SIZE(columns));
	j.pretty = true;
	jsonw_begin_array(&j, NULL);
	for (const struct sink *const *s = sinks; *s; s++) {
		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "name", (*s)->name);
		jsonw_str(&j, "help", (*s)->help);
		jsonw_end_object(&j);
		table_row(&t, 0);
		table_cell(&t, 0, (*s)->name);
		table_cell(&t, 1, (*s)->help);
	}
	jsonw_end_array(&j);
	if (o->json)
		jsonw_write(&j, stdout);
	else
		table_print(&t, stdout);
	table_release(&t);
	return EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON, ROW_END};

const struct command command_sinks = {
	.name = "sinks",
	.summary = "list the forms that records can be written in",
	.arguments = "",
	.description = "Lists what `plimsoll records --format` takes.",
	.options = rows,
	.options_size = sizeof(struct sinks_options),
	.set = set,
	.run = run,
};
