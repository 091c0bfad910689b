/* plimsoll top: its options; monitor/top.c does the work. */
#include <unistd.h>

#include "cmd/command.h"
#include "monitor/top.h"

/* A number is a process if it exists, else a job. */
static void take_argument(struct top_options *o, const char *word)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%s/stat", o->root, word);
	int pid;

	if (parse_pid(word, &pid) == 0 && access(path, F_OK) == 0)
		o->pid = pid;
	else
		o->job = word;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct top_options *o = ctx->options;
	int words = argc - ctx->behind;

	if (words)
		take_argument(o, argv[0]);
	if ((o->pid != 0) + (o->job != NULL) + (o->cgroup != NULL) +
		    (ctx->behind && *o->root ? 2 : ctx->behind > 0) >
	    1)
		return usage_error("top", "top: give only one of a job, a process, a control group "
					  "and a command on this machine");
	if (!top_check_sources(o))
		return EXIT_USAGE;
	return do_top(ctx, o, ctx->behind ? argv + words : NULL);
}

static const struct option_row rows[] = {
	{OPT_DURATION, 'i', "interval", "TIME", "time between samples; default 2s",
	 AT(struct top_options, interval_ns), RANGE(50 * MS, 3600 * SECONDS)},
	{OPT_FLAG, 0, "once", NULL, "print one interval and end", AT(struct top_options, once)},
	{OPT_COUNT, 'p', "pid", "PID", "show this process and its descendants",
	 AT(struct top_options, pid), RANGE(1, INT32_MAX), .takes = "a process id"},
	{OPT_TEXT, 'j', "job", "ID", "show this job of the batch system",
	 AT(struct top_options, job)},
	{OPT_TEXT, 0, "cgroup", "PATH", "show the processes of this control group",
	 AT(struct top_options, cgroup)},
	{OPT_FLAG, 'a', "all-users", NULL, "include processes of other users",
	 AT(struct top_options, all_users)},
	{OPT_LIST, 's', "source", "NAME[=OPTION]",
	 "also read this source, which may be slow: nvidia, amdgpu, infiniband",
	 LIST(struct top_options, names, name_count)},
	{OPT_TEXT, 0, "root", "DIR", "read a recorded tree instead of this machine",
	 AT(struct top_options, root)},
	ROW_JSON(struct top_options),
	ROW_END,
};

const struct command command_top = {
	.name = "top",
	.summary = "show a job on this host while it runs",
	.operands = {"JOB", 0, 1, .usage = "[JOB|PID | -- COMMAND [ARGUMENT...]]",
		     .hint = "a command must follow --"},
	.description =
		"Shows what a job does on this host until it ends: its processes with their CPU "
		"usage, memory and I/O, and graphs of the totals. JOB is a job of the batch system, "
		"\"4711\", or one step of a Slurm job, \"4711.2\"; a number is a process if one has "
		"that id. Without an argument, shows the current job; outside a batch job, the "
		"processes of this session, or else those of this user.\n\n"
		"A command after -- is started and shown until it ends; its exit status is that of "
		"top. While the view uses the terminal, the command gets no input and its output is "
		"printed at its end; q leaves the view and waits for the command. Without a terminal, "
		"the output of the command goes to standard error.\n\n"
		"Keys: c, m and i sort by CPU, memory and I/O, arrow and page keys scroll, p pauses, ? "
		"shows help, q quits. READ/s is read from storage, WRITE/s queued for it; a file that "
		"is soon deleted is never written. A dash is an unknown value.\n\n"
		"If the output is not a terminal, and with --once, one interval is printed. --json "
		"prints one line per interval, with --once only one.",
	.examples = "  plimsoll top 4711\n"
		    "  plimsoll top -- ./model --steps 100\n"
		    "  plimsoll top --pid $(pgrep -n model) -i 500ms\n"
		    "  plimsoll top --once --json 4711 | jq .now\n",
	OPTIONS(struct top_options, rows),
	.defaults = &(const struct top_options){.root = "", .interval_ns = 2 * SECONDS},
	.passes_on = true,
	.run = run,
};
