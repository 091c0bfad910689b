/* plimsoll mark: its options; run/mark.c does the work. */
#include "cmd/command.h"
#include "run/mark.h"

static int run(struct context *ctx, int argc, char **argv)
{
	const struct mark_options *o = ctx->options;
	char **command = ctx->behind ? argv + argc - ctx->behind : NULL;
	int names = argc - ctx->behind;

	if (o->end ? names || command || o->point : names != 1 || (o->point && command))
		return usage_error("mark",
				   o->end    ? "mark: --end takes no argument"
				   : !names  ? "mark: the name of the phase is missing"
				   : command ? "mark: --point takes no command"
					     : "mark: a phase has one name; quote blanks in it");
	if (!o->end && !*argv[0])
		return usage_error("mark", "mark: the name of the phase is empty");
	return do_mark(ctx, o, o->end ? NULL : argv[0], command);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "end", NULL, "end the phase; begin no other", AT(struct mark_options, end)},
	{OPT_FLAG, 'p', "point", NULL, "mark a point in time in place of a phase",
	 AT(struct mark_options, point)},
	ROWS_COMMON,
};

const struct command command_mark = {
	.name = "mark",
	.summary = "mark phases of a job script",
	.operands = {"NAME", 0, 1, .usage = "NAME [-- COMMAND...] | --end"},
	.description =
		"Begins a phase of the calling script; its previous phase ends. The last one ends with "
		"--end or with the script. With a command, the phase lasts as long as the command, "
		"whose exit status is returned; it is nested in the phase of the script. `plimsoll "
		"phases`, `timeline` and `report` show the phases of a job.\n\n"
		"A phase belongs to the process that calls `mark`: each script, and each subshell in "
		"parentheses, has phases of its own. Programs mark regions with the header "
		"plimsoll/mark.h, the Fortran module plimsoll_mark or the Python module "
		"plimsoll_mark.\n\n"
		"The script must be part of a job that is recorded: by `run` or `source`, or between "
		"`start` and `stop`. Otherwise nothing is marked, and the exit status is 0. It is 1 if "
		"the mark cannot be stored.",
	.examples = "  plimsoll mark preprocess; ./prepare data\n"
		    "  plimsoll mark solve; mpirun ./solver\n"
		    "  plimsoll mark --end\n"
		    "  plimsoll mark archive -- tar czf result.tgz out\n"
		    "  plimsoll mark --point checkpoint\n",
	OPTIONS(struct mark_options, rows),
	.passes_on = true,
	.run = run,
};
