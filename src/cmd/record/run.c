/* plimsoll run: its options. What it does is in run.c. */
#include <string.h>

#include "cmd/actions.h"

static int run(struct context *ctx, int argc, char **argv)
{
	return do_run(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'o', "output", "DIR", "the job's directory, instead of one below the prefix",
	 AT(struct run_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's or a new one",
	 .setting = SETTING_JOB},
	{OPT_TEXT, 'N', "name", "NAME",
	 "name of the job that the run begins, instead of the command's",
	 AT(struct run_options, name)},
	{OPT_SETTING, 't', "tags", "TAGS", "tags of the processes, key:value;key:value",
	 .setting = SETTING_TAGS},
	{OPT_SETTING, 0, "job-tags", "TAGS", "tags of the job, added to those that it has",
	 .setting = SETTING_JOB_TAGS},
	{OPT_SETTING, 'E', "events", "LIST",
	 "events to count in every thread, comma separated; see `plimsoll events`",
	 .setting = SETTING_EVENTS},
	{OPT_CHOICE, 0, "threads", "DETAIL",
	 "detail of thread records; full for the first 64 threads of a process when not given",
	 .setting = SETTING_THREADS, WORDS({"full", 0}, {"basic", 0}, {"off", 0})},
	{OPT_SETTING, 0, "no-kernel", NULL, "do not listen to the kernel's process events",
	 .setting = SETTING_KERNEL, .text = "off"},
	{OPT_DURATION, 0, "sample", "TIME",
	 "sample curves of the job and the node too, this far apart; what is expensive to read less often, see `plimsoll help monitor`",
	 AT(struct run_options, sample_ns), .min = 10 * MS},
	{OPT_DURATION, 'w', "wait", "[TIME]",
	 "wait until all descendants have ended too, at most TIME", AT(struct run_options, wait_ns),
	 GIVEN(struct run_options, wait)},
	{OPT_FLAG, 'n', "dry-run", NULL,
	 "print the command with its environment instead of running it",
	 AT(struct run_options, dry)},
	{OPT_FLAG, 'e', "error", NULL, "fail instead of running a command that cannot be recorded",
	 AT(struct run_options, error)},
	{OPT_FLAG, 0, "submit", NULL,
	 "put the job into the store at the end, inside a batch job too",
	 AT(struct run_options, submit)},
	{OPT_FLAG, 0, "no-submit", NULL, "leave the job's directory and nothing in the store",
	 AT(struct run_options, no_submit)},
	ROW_DB,
	{OPT_TEXT, 0, "json", "[FILE]", "summary as JSON, on stderr or into FILE",
	 AT(struct run_options, json), .text = "-"},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_run = {
	.name = "run",
	.summary = "run a command and record every process and thread of it",
	.arguments = "[--] COMMAND [ARGUMENT...]",
	.description =
		"Runs the command with standard input, output and error untouched and ends with its "
		"exit status, or by the signal that killed it. Signals that are sent to `run` go on to "
		"the command; when the command stops, `run` stops, too. Every program that it "
		"starts records its own counters when it ends; those that cannot (static ones, killed "
		"ones) are known from whoever waited for them and, where the kernel permits, from the "
		"kernel. A summary on standard error compares what is itemised with the total; that of a run "
		"which is a job of its own ends with what bounded it (see `plimsoll report`).\n\n"
		"Without `plimsoll start` the run is a job of its own. Several runs between `start` and "
		"`stop`, or in one batch job on any number of hosts, are one job: it has the job tags of all "
		"of them, and keeps the name that it began with.\n\n"
		"A run that is a job of its own is put into the user's store when it ends, so that "
		"`plimsoll list` shows it; inside a batch job and between `start` and `stop` that is left "
		"to `plimsoll submit`. Where processes of it still run then, a line says so, and a process "
		"of ours waits in the background and stores the job when the last of them has ended.\n\n"
		"When records cannot be written the command runs all the same, and the summary says "
		"what is missing.",
	.examples =
		"  plimsoll run -- make -j8\n"
		"  plimsoll run --tags 'step:ocean' -o results -- ./model input.nml\n"
		"  srun plimsoll run ./app               one job, however many ranks\n"
		"  plimsoll run -- mpirun -n 4 ./app     the same where no batch system gives the job an id\n",
	.options = rows,
	.options_size = sizeof(struct run_options),
	.stops_at_words = true,
	.run = run,
};
