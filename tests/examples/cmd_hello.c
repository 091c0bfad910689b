/*
 * A worked example of a command: `plimsoll hello [--loud] [NAME]`. To make it real: move it to
 * src/cmd/cmd_hello.c, add COMMAND(hello) to commands.def and the file to CMakeLists.txt, run `make
 * man`, and give it a test in tests/cli. Help, manual page and shell completion come from the rows
 * below.
 */
#include <ctype.h>

#include "cmd/command.h"

struct hello_options {
	bool loud;
};

enum { OPT_LOUD = 1 };

static bool set(struct context *ctx, int id, const char *value)
{
	struct hello_options *o = ctx->options;

	(void)value;
	o->loud = id == OPT_LOUD;
	return true;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct hello_options *o = ctx->options;

	if (argc > 1)
		return usage_error("hello", "hello takes one name");
	printf("hello %s%s\n", argc ? argv[0] : "world", o->loud ? "!" : "");
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_LOUD, 'l', "loud", NULL, "say it with emphasis"},
	ROW_END,
};

extern const struct command command_hello;
const struct command command_hello = {
	.name = "hello",
	.summary = "say hello",
	.arguments = "[NAME]",
	.description = "Says hello to somebody, or to the world.",
	.options = rows,
	.options_size = sizeof(struct hello_options),
	.set = set,
	.run = run,
};
