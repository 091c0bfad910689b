/* plimsoll run: its options; run/run.c does the work. */
#include "cmd/command.h"
#include "run/run.h"

static int run(struct context *ctx, int argc, char **argv)
{
	return do_run(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'o', "output", "DIR", "job directory, instead of one below the prefix",
	 AT(struct run_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's or a new one",
	 .setting = SETTING_JOB},
	{OPT_TEXT, 'N', "name", "NAME", "name of a job that this run begins; default: the command",
	 AT(struct run_options, name)},
	{OPT_SETTING, 't', "tags", "TAGS",
	 "tags of the processes, key:value;key:value; KEY alone means KEY:1",
	 .setting = SETTING_TAGS},
	{OPT_SETTING, 0, "job-tags", "TAGS", "tags to add to the job", .setting = SETTING_JOB_TAGS},
	{OPT_SETTING, 'E', "events", "LIST",
	 "events to count in every thread, separated by commas; see `plimsoll events`",
	 .setting = SETTING_EVENTS},
	{OPT_CHOICE, 0, "threads", "DETAIL",
	 "detail of thread records; default: full for the first 64 threads of a process",
	 .setting = SETTING_THREADS, WORDS({"full", 0}, {"basic", 0}, {"off", 0})},
	{OPT_SETTING, 0, "no-kernel", NULL, "do not listen to process events of the kernel",
	 .setting = SETTING_KERNEL, .text = "off"},
	{OPT_DURATION, 0, "sample", "TIME",
	 "also sample the job and the node with this period; expensive metrics less often, see "
	 "`plimsoll help monitor`",
	 AT(struct run_options, sample_ns), .min = 10 * MS},
	{OPT_DURATION, 'w', "wait", "[TIME]",
	 "wait until all descendants have ended too, at most TIME", AT(struct run_options, wait_ns),
	 GIVEN(struct run_options, wait)},
	{OPT_FLAG, 'n', "dry-run", NULL, "print the command and its environment, do not run it",
	 AT(struct run_options, dry)},
	{OPT_FLAG, 'e', "error", NULL, "do not run the command if it cannot be recorded",
	 AT(struct run_options, error)},
	{OPT_FLAG, 0, "submit", NULL, "store the job at the end, even inside a batch job",
	 AT(struct run_options, submit)},
	{OPT_FLAG, 0, "no-submit", NULL, "do not store the job, keep its directory",
	 AT(struct run_options, no_submit)},
	ROW_DB,
	{OPT_TEXT, 0, "json", "[FILE]", "print the summary as JSON to standard error or FILE",
	 AT(struct run_options, json), .text = "-"},
	ROWS_COMMON,
};

const struct command command_run = {
	.name = "run",
	.summary = "run a command and record all its processes and threads",
	.operands = {.usage = "[--] COMMAND [ARGUMENT...]"},
	.description =
		"Runs the command with its standard input, output and error untouched, and ends with "
		"its exit status or by the signal that killed it. Signals sent to `run` are passed to "
		"the command; if the command stops, `run` stops too. Every program that it starts "
		"records its own counters when it ends. Programs that cannot (static or killed ones) "
		"are known from their parent and, if permitted, from the kernel. A summary on standard "
		"error compares the accounted CPU time with the total; if the run is a job of its own, "
		"the summary also names what limited it (see `plimsoll report`).\n\n"
		"Without `plimsoll start`, the run is a job of its own. Several runs between `start` "
		"and `stop`, or in one batch job on any number of hosts, are one job: it has the job "
		"tags of all runs and keeps its first name.\n\n"
		"A run that is a job of its own is put into the user's store when it ends, so that "
		"`plimsoll list` shows it; inside a batch job, and between `start` and `stop`, that is "
		"left to `plimsoll submit`. If processes of the job still run then, a message says so, "
		"and a background process stores the job when the last of them has ended.\n\n"
		"If records cannot be written, the command runs all the same, and the summary says "
		"what is missing.",
	.examples = "  plimsoll run -- make -j8\n"
		    "  plimsoll run --tags 'step:ocean' -o results -- ./model input.nml\n"
		    "  srun plimsoll run ./app               one job, however many ranks\n"
		    "  plimsoll run -- mpirun -n 4 ./app     the same without a batch system\n",
	OPTIONS(struct run_options, rows),
	.stops_at_words = true,
	.run = run,
};
