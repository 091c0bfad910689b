/* plimsoll help: lists all commands, or explains one. */
#include <string.h>

#include "cmd/command.h"

struct help_options {
	bool man;
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct help_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (argc == 0) {
		program_help(&out);
	} else {
		const struct command *c = command_find(argv[0]);

		if (!c)
			return unknown_command(argv[0]);
		if (o->man)
			command_man_text(c, &out);
		else
			command_help_text(c, &out);
	}
	fwrite(out.buf, 1, out.len, stdout);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_CHOICE, 0, "format", "man", "print a manual page", AT(struct help_options, man),
	 WORDS({"man", true})},
	ROW_END,
};

const struct command command_help = {
	.name = "help",
	.summary = "explain all commands, or one",
	.operands = {"COMMAND", 0, 1},
	.description =
		"Lists the commands, or explains one command and its options. The manual pages are "
		"made from the same tables.",
	.examples = "  plimsoll help run\n",
	OPTIONS(struct help_options, rows),
	.run = run,
};
