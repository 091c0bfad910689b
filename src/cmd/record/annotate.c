/* plimsoll annotate: its options; context/annotate.c does the work. */
#include "cmd/command.h"
#include "context/annotate.h"

static int run(struct context *ctx, int argc, char **argv)
{
	return do_annotate(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "replace", NULL, "replace all existing annotations",
	 AT(struct annotate_options, replace)},
	{OPT_FLAG, 0, "clear", NULL, "like --replace, but new annotations are optional",
	 AT(struct annotate_options, clear)},
	{OPT_FLAG, 0, "json", NULL, "values are JSON, such as 1.5, \"12\" or [96, 49]",
	 AT(struct annotate_options, json)},
	ROWS_STORE,
};

const struct command command_annotate = {
	.name = "annotate",
	.summary = "add annotations to a job",
	.operands = {"KEY=VALUE", 0, ANY_NUMBER, HELP_JOB,
		     .usage = "[DIRECTORY|ARCHIVE|JOB] KEY=VALUE..."},
	.description =
		"Adds annotations to the metadata of a job, running or stopped: in its directory, "
		"inside a staged archive, which is replaced, or in the store. Integers, True, False "
		"and None keep their meaning, everything else is text. The key PLIMSOLL_JOB_TAGS also "
		"sets the tags of the job. If an argument is not KEY=VALUE, nothing is changed.",
	.examples = "  plimsoll annotate model=v3 members=12\n"
		    "  plimsoll annotate 685000.tgz reviewed=True\n"
		    "  plimsoll annotate 685000 reviewed=True      in the store\n"
		    "  plimsoll annotate --json 685000 'version=\"12\"' 'grid=[96, 49]'\n",
	OPTIONS(struct annotate_options, rows),
	.run = run,
};
