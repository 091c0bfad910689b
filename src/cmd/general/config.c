/* plimsoll config: the settings in force, and where each comes from. */
#include <string.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/secrets.h"
#include "core/text/terminal_table.h"
#include "sinks/sink.h"

struct config_options {
	bool json;
};

/* Addresses have passwords in them, and this is written to files and mails. Freed by the caller. */
static char *shown_value(const struct config *c, int id)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ char *text = xstrdup(c->value[id]);
	char *save = NULL;

	switch (id) {
	case SETTING_DB:
	case SETTING_STAGE_DEST:
	case SETTING_NODE_CONNECT:
	case SETTING_NODE_COLMET:
	case SETTING_NODE_COLMET_CONFIG:
	case SETTING_NODE_CONTROL:
	case SETTING_COLLECT_BIND:
	case SETTING_COLLECT_BIND_COLMET:
	case SETTING_COLLECT_FORWARD:
		return secrets_shown(text);
	case SETTING_COLLECT_SINKS:
		for (char *w = strtok_r(text, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
			_cleanup_free_ char *shown = sink_shown(w);

			strbuf_addf(&out, "%s%s", out.len ? " " : "", shown);
		}
		return xstrdup(out.len ? out.buf : "");
	default:
		return xstrdup(text);
	}
}

static void print_json(const struct config *c)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	j.pretty = true;
	jsonw_begin_object(&j, NULL);
	for (int i = 0; i < SETTING_COUNT; i++) {
		_cleanup_free_ char *value = shown_value(c, i);

		jsonw_begin_object(&j, settings[i].name);
		jsonw_str(&j, "value", value);
		jsonw_str(&j, "origin", c->origin[i]);
		jsonw_str(&j, "environment", settings[i].env);
		jsonw_str(&j, "default", settings[i].fallback);
		jsonw_str(&j, "help", settings[i].help);
		jsonw_end_object(&j);
	}
	jsonw_end_object(&j);
	jsonw_write(&j, stdout);
}

/* What a row has room for beside the meaning. */
#define VALUE_MAX 24
#define FROM_MAX 20

/* A long value begins with what tells most, a path ends with it. */
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

	if (argc > 1)
		return usage_error("config", "config takes the name of one setting");
	if (argc == 1) {
		int id = setting_by_name(argv[0]);

		if (id < 0)
			return usage_error("config", "there is no setting '%s'", argv[0]);
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
		/* the variable is called as the setting is */
		cut_cell(&t, 2, str_prefix(from, "environment ") ? "environment" : from, FROM_MAX);
		terminal_table_cell(&t, 3, settings[i].help);
	}
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	return EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON(struct config_options), ROW_VERBOSE, ROW_QUIET,
					 ROW_END};

const struct command command_config = {
	.name = "config",
	.summary = "print the settings in force and where they come from",
	.arguments = "[SETTING]",
	.description =
		"A flag stands above the environment, that above the user's file "
		"$XDG_CONFIG_HOME/plimsoll/plimsoll.conf (~/.config when not set), that above "
		"/etc/plimsoll.conf, and that above the default. The files hold lines `name = value` and "
		"comments that begin with #.\n\n"
		"Long values are cut in the table. With the name of a setting: its value alone, whole; "
		"--json has all of them so. Passwords in addresses are masked.",
	.examples = "  plimsoll config prefix\n",
	.options = rows,
	.options_size = sizeof(struct config_options),
	.run = run,
};
