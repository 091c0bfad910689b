/* plimsoll submit: its options; inbox/submit.c does the work. */
#include "cmd/actions.h"

static int run(struct context *ctx, int argc, char **argv)
{
	return do_submit(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL, "stop at the first failure; an already stored job is one",
	 AT(struct submit_options, error)},
	{OPT_FLAG, 'n', "dry-run", NULL, "read and check everything, store nothing",
	 AT(struct submit_options, dry)},
	{OPT_FLAG, 'r', "remove", NULL,
	 "remove an input once it is stored and nothing writes to it any more",
	 AT(struct submit_options, remove)},
	{OPT_FLAG, 'm', "move-away", NULL, "move failed inputs to the configured failed_dir",
	 AT(struct submit_options, move_away)},
	{OPT_FLAG, 0, "drop", NULL,
	 "empty the store first, after all inputs were read without error",
	 AT(struct submit_options, drop)},
	{OPT_COUNT, 'p', "parallel", "N", "number of workers", AT(struct submit_options, workers),
	 RANGE(1, SUBMIT_WORKERS_MAX)},
	ROW_JSON(struct submit_options),
	ROWS_STORE,
};

static const struct submit_options defaults = {.workers = 1};

const struct command command_submit = {
	.name = "submit",
	.summary = "put jobs into the store",
	.operands = {"DIRECTORY|ARCHIVE|FILE", 0, ANY_NUMBER},
	.description =
		"Reads a stopped job and stores it with its process tree, sums and profile in one "
		"transaction, completely or not at all. The input is a directory or archive of "
		"Plimsoll or of a tool that it replaces: CSV files of single processes or collated, "
		"TSV files, metadata as JSON or pickle; samples (*.smp) with or without records; "
		"directories of JSON files of other monitors; and HDF5 files of collectors, with all "
		"their jobs. Compression is detected. Without an argument, submits the current job, "
		"else the last one of this session.\n\n"
		"A job can come in parts: one from each host if the hosts share no directory, or steps "
		"that were staged separately. Each part is added to the stored ones, in any order; the "
		"result is the same as from one directory.\n\n"
		"An input that is already stored, that is a job of another tool with the same id, or "
		"the same part, is skipped with a warning. A part that has grown since is updated.",
	.examples = "plimsoll submit\n  the job that was just stopped\n"
		    "plimsoll submit -p 4 --remove /archive/jobs/*.tgz\n"
		    "  many jobs with four workers, each removed once it is stored\n"
		    "plimsoll submit node1/685000.tgz node2/685000.tgz\n  the parts of one job\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
