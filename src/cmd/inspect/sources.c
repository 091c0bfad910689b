/* plimsoll sources: where data come from beside the preload library, and whether each is usable. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sources/source.h"

struct sources_options {
	bool json;
	const char *root;
};

/* "usable", "absent", or what would mend it. */
static const char *state_word(int r)
{
	return r == 0                        ? "usable"
	       : r == -EACCES || r == -EPERM ? "needs access"
	       : r == -ETIMEDOUT             ? "hangs"
					     : "absent";
}

static void show(const struct sources_options *o, const struct source *s, struct jsonw *j,
		 struct terminal_table *t)
{
	struct source_context ctx = {.root = o->root};
	struct source_report report = SOURCE_REPORT_INIT;
	int r = source_probe(s, &ctx, &report);

	jsonw_begin_object(j, NULL);
	jsonw_str(j, "name", s->name);
	jsonw_str(j, "help", s->help);
	jsonw_bool(j, "usable", r == 0);
	jsonw_str(j, "state", state_word(r));
	jsonw_bool(j, "sampled", s->open != NULL);
	jsonw_text(j, "detail", report.detail.buf, report.detail.len);
	jsonw_str(j, "remedy", report.remedy);
	jsonw_end_object(j);
	terminal_table_row(t, r == 0 ? 0 : 'y');
	terminal_table_cell(t, 0, s->name);
	terminal_table_cell(t, 1, state_word(r));
	terminal_table_cell(t, 2, s->help);
	terminal_table_cell(t, 3, report.detail.buf);
	strbuf_release(&report.detail);
}

static int run(struct context *ctx, int argc, char **argv)
{
	static const struct terminal_table_column columns[] = {
		{"SOURCE", 0}, {"STATE", 0}, {"GIVES", COLUMN_WRAP}, {"HERE", COLUMN_WRAP}};
	const struct sources_options *o = ctx->options;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct terminal_table t;

	(void)argv;
	if (argc)
		return usage_error("sources", "sources takes no argument");
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	j.pretty = true;
	jsonw_begin_array(&j, NULL);
	for (const struct source *const *s = sources; *s; s++)
		show(o, *s, &j, &t);
	jsonw_end_array(&j);
	if (o->json)
		jsonw_write(&j, stdout);
	else
		terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "root", "DIR", "look at a recorded tree instead of this machine",
	 AT(struct sources_options, root)},
	ROW_JSON(struct sources_options),
	ROW_END,
};

const struct command command_sources = {
	.name = "sources",
	.summary = "list the sources of data and whether each is usable here",
	.arguments = "",
	.description =
		"Lists what Plimsoll listens to beside its own records, with what each gives "
		"and what it lacks here. `plimsoll check` says how to mend it.",
	.options = rows,
	.defaults = &(const struct sources_options){.root = ""},
	.options_size = sizeof(struct sources_options),
	.run = run,
};
