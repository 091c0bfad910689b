/* plimsoll source: its options; run/shell_code.c makes the code. */
#include "cmd/command.h"
#include "run/shell_code.h"

struct source_options {
	enum shell shell;
	const char *dir;
	enum { PRELOAD_ALL, PRELOAD_ON, PRELOAD_OFF } preload; /* on or off: only LD_PRELOAD */
};

static const struct option_row rows[] = {
	{OPT_CHOICE, 0, "shell", "SHELL", "the shell; default: the calling shell, or $SHELL",
	 AT(struct source_options, shell),
	 WORDS({"sh", SHELL_BOURNE}, {"bash", SHELL_BOURNE}, {"dash", SHELL_BOURNE},
	       {"ksh", SHELL_BOURNE}, {"zsh", SHELL_BOURNE}, {"csh", SHELL_CSH},
	       {"tcsh", SHELL_CSH}, {"fish", SHELL_FISH}, {"slurm", SHELL_SLURM})},
	{OPT_FIXED, 's', "slurm", NULL, "print lines for a TaskProlog of Slurm",
	 AT(struct source_options, shell), .number = SHELL_SLURM},
	{OPT_CHOICE, 0, "preload", "on|off",
	 "only set LD_PRELOAD, with or without our library; used by the functions",
	 AT(struct source_options, preload), WORDS({"on", PRELOAD_ON}, {"off", PRELOAD_OFF})},
	{OPT_TEXT, 'o', "output", "DIR", "job directory, instead of the current job's",
	 AT(struct source_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's",
	 .setting = SETTING_JOB},
	{OPT_SETTING, 't', "tags", "TAGS", "tags of the processes, key:value;key:value",
	 .setting = SETTING_TAGS},
	{OPT_SETTING, 'E', "events", "LIST", "events to count in every thread, separated by commas",
	 .setting = SETTING_EVENTS},
	ROWS_COMMON,
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct source_options *o = ctx->options;

	if (argc && !option_take(&rows[0], "source", "SHELL", ctx, argv[0]))
		return EXIT_USAGE;
	if (o->preload)
		return print_preload(o->shell == SHELL_AUTO ? detect_shell() : o->shell,
				     o->preload == PRELOAD_ON);
	return do_source(ctx, o->shell, o->dir);
}

const struct command command_source = {
	.name = "source",
	.summary = "print code that makes a shell record its commands",
	.operands = {"SHELL", 0, 1},
	.description =
		"Prints assignments and four functions, plimsoll_instrument, plimsoll_uninstrument, "
		"plimsoll_push_preload and plimsoll_pop_preload, and switches recording on. Everything "
		"that the shell starts afterwards is recorded in the current job. If there is none, a "
		"job is begun, named after the calling script or else the shell, even if the output is "
		"only displayed; a message says so. plimsoll_uninstrument ends recording: it restores "
		"all variables and leaves other entries of LD_PRELOAD alone. `plimsoll stop` ends the "
		"job, `plimsoll submit` stores it.\n\n"
		"With --slurm, prints the lines by which a TaskProlog sets the environment of a task.",
	.examples =
		"  eval \"$(plimsoll source)\"; ./model; plimsoll_uninstrument; plimsoll stop; plimsoll submit\n"
		"  eval `plimsoll source csh`          csh and tcsh\n"
		"  plimsoll source fish | source       fish\n",
	OPTIONS(struct source_options, rows),
	.run = run,
};
