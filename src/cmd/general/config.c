/* plimsoll config: the effective settings and where each comes from. */
#include <string.h>

#include "cmd/command.h"
#include "collector/collector_protocol.h"
#include "core/text/json_writer.h"
#include "core/text/secrets.h"
#include "core/text/terminal_table.h"
#include "node/node_protocol.h"
#include "sinks/sink.h"

struct config_options {
	bool json;
};

static bool is_protocol_address(int id)
{
	bool found = false;

	for (size_t i = 0; node_protocols[i]; i++)
		found = found || id == (int)node_protocols[i]->address ||
			id == (int)node_protocols[i]->control;
	for (size_t i = 0; collector_protocols[i]; i++)
		found = found || id == (int)collector_protocols[i]->address;
	return found;
}

/* Masks passwords in addresses: people copy this output into files and mails. The caller frees it.
 */
static char *shown_value(const struct config *c, int id)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ char *text = xstrdup(c->value[id]);
	char *save = NULL;

	switch (id) {
	case SETTING_DB:
	case SETTING_STAGE_DEST:
	case SETTING_HOOK:
	case SETTING_NODE_CONNECT:
	case SETTING_NODE_CONTROL:
	case SETTING_COLLECT_BIND:
	case SETTING_COLLECT_FORWARD:
		return secrets_shown(text);
	case SETTING_COLLECT_SINKS:
		for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
			_cleanup_free_ char *shown = sink_shown(w);

			strbuf_addf(&out, "%s%s", out.len ? " " : "", shown);
		}
		return xstrdup(out.len ? out.buf : "");
	default:
		return is_protocol_address(id) ? secrets_shown(text) : xstrdup(text);
	}
}

static void print_json(const struct config *c)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	for (int i = 0; i < SETTING_COUNT; i++) {
		_cleanup_free_ char *value = shown_value(c, i);

		json_begin_object(&j, settings[i].name);
		json_str(&j, "value", value);
		json_str(&j, "origin", c->origin[i]);
		json_str(&j, "environment", settings[i].env);
		json_str(&j, "default", settings[i].fallback);
		json_str(&j, "help", settings[i].help);
		json_end_object(&j);
	}
	json_end_object(&j);
	json_write(&j, stdout);
}

/* Widths that leave room for the meaning. */
#define VALUE_MAX 24
#define FROM_MAX 20

/* Keeps the beginning of a long value, but the end of a path. */
static void cut_cell(struct terminal_table *t, size_t column, const char *text, size_t max)
{
	size_t n = strlen(text);

	if (n <= max)
		terminal_table_cell(t, column, text);
	else if (text[0] == '/')
		terminal_table_cellf(t, column, "...%s", text + n - (max - 3));
	else
		terminal_table_cellf(t, column, "%.*s...", (int)max - 3, text);
}

static int run(struct context *ctx, int argc, char **argv)
{
	static const struct terminal_table_column columns[] = {
		{"SETTING", 0}, {"VALUE", 0}, {"FROM", 0}, {"MEANING", COLUMN_WRAP}};
	const struct config_options *o = ctx->options;
	struct terminal_table t;

	if (argc == 1) {
		int id = setting_by_name(argv[0]);

		if (id < 0)
			return usage_error("config",
					   "unknown setting '%s'; `plimsoll config` lists all",
					   argv[0]);
		_cleanup_free_ char *value = shown_value(&ctx->config, id);
		puts(value);
		return EXIT_OK;
	}
	if (o->json) {
		print_json(&ctx->config);
		return EXIT_OK;
	}
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (int i = 0; i < SETTING_COUNT; i++) {
		terminal_table_row(&t, 0);
		terminal_table_cell(&t, 0, settings[i].name);
		const char *from = ctx->config.origin[i];
		_cleanup_free_ char *value = shown_value(&ctx->config, i);

		cut_cell(&t, 1, value, VALUE_MAX);
		/* the name of the variable follows from that of the setting */
		cut_cell(&t, 2, str_prefix(from, "environment ") ? "environment" : from, FROM_MAX);
		terminal_table_cell(&t, 3, settings[i].help);
	}
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	return EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON(struct config_options), ROWS_COMMON};

const struct command command_config = {
	.name = "config",
	.summary = "print the effective settings and where they come from",
	.operands = {"SETTING", 0, 1},
	.description =
		"Options override the environment, which overrides the user's file "
		"$XDG_CONFIG_HOME/plimsoll/plimsoll.conf (~/.config if not set), which overrides "
		"/etc/plimsoll.conf, which overrides the defaults. The files contain lines `name = "
		"value` and comments that start with #.\n\n"
		"The table cuts long values. With the name of a setting, prints its complete value "
		"only; --json prints all values in full. Passwords in addresses are masked.",
	.examples = "  plimsoll config prefix\n",
	OPTIONS(struct config_options, rows),
	.run = run,
};
