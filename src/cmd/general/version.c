/* plimsoll version. */
#include "cmd/command.h"

static int run(struct context *ctx, int argc, char **argv)
{
	(void)ctx;
	(void)argv;
	if (argc)
		return usage_error("version", "version takes no argument");
	puts("plimsoll " PL_VERSION);
	return EXIT_OK;
}

static const struct option_row rows[] = {ROW_END};

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.arguments = "",
	.description = "Prints the name and the version of the program.",
	.options = rows,
	.run = run,
};
