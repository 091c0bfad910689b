/* plimsoll run: its options. What it does is in run.c. */
#include <string.h>

#include "cmd/actions.h"

enum {
	OPT_OUTPUT = 1,
	OPT_JOB,
	OPT_NAME,
	OPT_TAGS,
	OPT_JOB_TAGS,
	OPT_EVENTS,
	OPT_THREADS,
	OPT_KERNEL,
	OPT_WAIT,
	OPT_DRY,
	OPT_ERROR,
	OPT_SUMMARY,
	OPT_SUBMIT,
	OPT_NO_SUBMIT,
	OPT_SAMPLE,
};

static bool set(struct context *ctx, int id, const char *value)
{
	struct run_options *o = ctx->options;

	switch (id) {
	case OPT_OUTPUT:
		o->dir = value;
		break;
	case OPT_JOB:
		config_set(&ctx->config, SETTING_JOB, value, "flag --job");
		break;
	case OPT_NAME:
		o->name = value;
		break;
	case OPT_TAGS:
		config_set(&ctx->config, SETTING_TAGS, value, "flag --tags");
		break;
	case OPT_JOB_TAGS:
		config_set(&ctx->config, SETTING_JOB_TAGS, value, "flag --job-tags");
		break;
	case OPT_EVENTS:
		config_set(&ctx->config, SETTING_EVENTS, value, "flag --events");
		break;
	case OPT_THREADS:
		if (strcmp(value, "full") != 0 && strcmp(value, "basic") != 0 &&
		    strcmp(value, "off") != 0) {
			usage_error("run", "run: --threads takes full, basic or off, not '%s'",
				    value);
			return false;
		}
		config_set(&ctx->config, SETTING_THREADS, value, "flag --threads");
		break;
	case OPT_KERNEL:
		config_set(&ctx->config, SETTING_KERNEL, "off", "flag --no-kernel");
		break;
	case OPT_WAIT:
		o->wait = true;
		if (value && parse_duration_ns(value, &o->wait_ns) < 0) {
			usage_error("run", "run: '%s' is no duration such as 10s or 2m", value);
			return false;
		}
		break;
	case OPT_SAMPLE:
		o->sample_ns = 1000000000;
		if (value &&
		    (parse_duration_ns(value, &o->sample_ns) < 0 || o->sample_ns < 10000000)) {
			usage_error("run",
				    "run: --sample takes a duration of 10 ms or more such as 500ms "
				    "or 5s, not '%s'",
				    value);
			return false;
		}
		break;
	case OPT_DRY:
		o->dry = true;
		break;
	case OPT_ERROR:
		o->error = true;
		break;
	case OPT_SUBMIT:
		o->submit = true;
		break;
	case OPT_NO_SUBMIT:
		o->no_submit = true;
		break;
	case OPTION_DB:
		config_set(&ctx->config, SETTING_DB, value, "flag --db");
		break;
	case OPT_SUMMARY:
		o->json = value ? value : "-";
		break;
	default:
		break;
	}
	return true;
}

static int run(struct context *ctx, int argc, char **argv)
{
	return do_run(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_OUTPUT, 'o', "output", "DIR", "the job's directory, instead of one below the prefix"},
	{OPT_JOB, 'j', "job", "ID", "job id, instead of the batch system's or a new one"},
	{OPT_NAME, 'N', "name", "NAME",
	 "name of the job that the run begins, instead of the command's"},
	{OPT_TAGS, 't', "tags", "TAGS", "tags of the processes, key:value;key:value"},
	{OPT_JOB_TAGS, 0, "job-tags", "TAGS", "tags of the job, added to those that it has"},
	{OPT_EVENTS, 'E', "events", "LIST",
	 "events to count in every thread, comma separated; see `plimsoll events`"},
	{OPT_THREADS, 0, "threads", "DETAIL",
	 "full, basic or off; full for the first 64 threads of a process when not given"},
	{OPT_KERNEL, 0, "no-kernel", NULL, "do not listen to the kernel's process events"},
	{OPT_SAMPLE, 0, "sample", "TIME",
	 "sample curves of the job and the node too, this far apart; what is expensive to read less often, see `plimsoll help monitor`"},
	{OPT_WAIT, 'w', "wait", "[TIME]",
	 "wait until all descendants have ended too, at most TIME"},
	{OPT_DRY, 'n', "dry-run", NULL,
	 "print the command with its environment instead of running it"},
	{OPT_ERROR, 'e', "error", NULL,
	 "fail instead of running a command that cannot be recorded"},
	{OPT_SUBMIT, 0, "submit", NULL,
	 "put the job into the store at the end, inside a batch job too"},
	{OPT_NO_SUBMIT, 0, "no-submit", NULL, "leave the job's directory and nothing in the store"},
	ROW_DB,
	{OPT_SUMMARY, 0, "json", "[FILE]", "summary as JSON, on stderr or into FILE"},
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
	.set = set,
	.run = run,
};
