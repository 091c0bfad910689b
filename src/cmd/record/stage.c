/* plimsoll stage: its options; run/stage.c does the work. */
#include "cmd/command.h"
#include "run/stage.h"

static int run(struct context *ctx, int argc, char **argv)
{
	return do_stage(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL, "stop at the first job or file that cannot be staged",
	 AT(struct stage_options, error)},
	{OPT_TEXT, 'd', "dest", "PLACE", "destination, instead of the configured stage_dest",
	 AT(struct stage_options, dest)},
	{OPT_FLAG, 0, "no-collate", NULL,
	 "do not merge the files of single processes, if the layout does that",
	 AT(struct stage_options, no_collate)},
	{OPT_FLAG, 0, "no-compress-and-tar", NULL,
	 "hand over the directory itself, without packing", AT(struct stage_options, no_archive)},
	ROWS_COMMON,
};

const struct command command_stage = {
	.name = "stage",
	.summary = "pack a stopped job into an archive and move it away",
	.operands = {"DIRECTORY", 0, ANY_NUMBER},
	.description =
		"Packs the job directory into JOB.tgz at the destination, prints its path, and removes "
		"the directory once the archive is complete and on disk. The destination is a "
		"directory, created if needed, or the unused name of an archive. Existing files are "
		"never overwritten: if JOB.tgz exists, the archive becomes JOB.1.tgz; `submit` merges "
		"them into one job. A stage command other than mv is run with the archive and the "
		"destination as arguments. A job with processes on this host that are still being "
		"recorded is refused, because they would lose their records. Without an argument, "
		"stages the current job, else the last one of this session. A job directory in the "
		"layout of another tool becomes an archive as that tool makes it.",
	.examples = "  plimsoll stage --dest /archive/jobs/\n",
	OPTIONS(struct stage_options, rows),
	.run = run,
};
