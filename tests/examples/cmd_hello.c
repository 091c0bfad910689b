/*
 * A worked example of a command: `plimsoll hello [--loud] [--times N] [--language WORD] [NAME]`. To
 * make it real: move it to a folder of src/cmd, add COMMAND(hello) to commands.def, run `make man`,
 * and give it a test in tests/cli. Parsing, range checks, error messages, help, manual page and
 * shell completion come from the rows below; cmd/option.h lists the types.
 */
#include <stdio.h>

#include "cmd/command.h"

enum language { ENGLISH, FRENCH };

struct hello_options {
	bool loud;
	int times;
	enum language language;
};

static const struct option_row rows[] = {
	{OPT_FLAG, 'l', "loud", NULL, "say it with emphasis", AT(struct hello_options, loud)},
	{OPT_COUNT, 'n', "times", "N", "how often", AT(struct hello_options, times), RANGE(1, 10)},
	{OPT_CHOICE, 0, "language", "WORD", "in this language", AT(struct hello_options, language),
	 WORDS({"english", ENGLISH}, {"french", FRENCH})},
	ROWS_COMMON,
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct hello_options *o = ctx->options;

	for (int i = 0; i < o->times; i++)
		printf("%s %s%s\n", o->language == FRENCH ? "bonjour" : "hello",
		       argc ? argv[0] : "world", o->loud ? "!" : "");
	return EXIT_OK;
}

extern const struct command command_hello;
const struct command command_hello = {
	.name = "hello",
	.summary = "say hello",
	.operands = {"NAME", 0, 1},
	.description = "Says hello to somebody, or to the world.",
	.options = rows,
	.defaults = &(const struct hello_options){.times = 1},
	.options_size = sizeof(struct hello_options),
	.run = run,
};
