/* plimsoll sinks: the forms that records are written in, and where a collector puts samples. */
#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sinks/sink.h"
#include "views/rows/row_writer.h"

struct sinks_options {
	bool json;
};

static void add(struct jsonw *j, struct terminal_table *t, const char *command, const char *name,
		const char *target, const char *help)
{
	jsonw_begin_object(j, NULL);
	jsonw_str(j, "command", command);
	jsonw_str(j, "name", name);
	if (target)
		jsonw_str(j, "target", target);
	jsonw_str(j, "help", help);
	jsonw_end_object(j);
	terminal_table_row(t, 0);
	terminal_table_cell(t, 0, command);
	terminal_table_cellf(t, 1, target ? "%s:%s" : "%s", name, target);
	terminal_table_cell(t, 2, help);
}

static int run(struct context *ctx, int argc, char **argv)
{
	static const struct terminal_table_column columns[] = {
		{"COMMAND", 0}, {"SINK", 0}, {"MEANING", COLUMN_WRAP}};
	const struct sinks_options *o = ctx->options;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct terminal_table t;

	(void)argv;
	if (argc)
		return usage_error("sinks", "sinks takes no argument");
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	j.pretty = true;
	jsonw_begin_array(&j, NULL);
	for (const struct row_writer *const *s = row_writers; *s; s++)
		add(&j, &t, "records", (*s)->name, NULL, (*s)->help);
	for (const struct sink *const *f = sinks; *f; f++)
		add(&j, &t, "collect", (*f)->name, (*f)->target, (*f)->help);
	jsonw_end_array(&j);
	if (o->json)
		jsonw_write(&j, stdout);
	else
		terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	return EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON(struct sinks_options), ROW_END};

const struct command command_sinks = {
	.name = "sinks",
	.summary = "list the forms of records, and where a collector can put samples",
	.arguments = "",
	.description = "Lists what `plimsoll records --format` takes, and what `plimsoll collect "
		       "--sink` takes.",
	.options = rows,
	.options_size = sizeof(struct sinks_options),
	.run = run,
};
