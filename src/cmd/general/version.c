/* plimsoll version. */
#include "cmd/command.h"

static int run(struct context *ctx PL_UNUSED, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	puts("plimsoll " PL_VERSION);
	return EXIT_OK;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.description = "Prints the name and the version of the program.",
	.options = (const struct option_row[]){ROW_END},
	.run = run,
};
