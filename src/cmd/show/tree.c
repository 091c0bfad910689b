/* plimsoll tree: the process tree of a job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "views/processes/process_tree_view.h"

struct tree_options {
	struct tree_view view;
	bool json, csv;
};

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct tree_options *o = ctx->options;
	struct proctree t;
	int r = proctree_load(&t, s, job);

	if (r >= 0)
		r = o->json  ? proctree_print_json(&t, &o->view, stdout)
		    : o->csv ? proctree_print_csv(&t, &o->view, stdout)
			     : proctree_print(&t, &o->view, stdout);
	if (r >= 0 && !t.count)
		tell_unrecorded(s, job);
	proctree_release(&t);
	return r;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'a', "all", NULL, "show every process on its own line",
	 AT(struct tree_options, view.all)},
	{OPT_COUNT, 0, "depth", "N", "show only N levels below the first",
	 AT(struct tree_options, view.depth)},
	{OPT_DURATION, 0, "min-cpu", "DURATION",
	 "show only processes that used this much CPU time with all descendants",
	 AT(struct tree_options, view.min_cpu), .unit_ns = 1000},
	{OPT_FLAG, 'w', "wide", NULL, "do not cut lines", AT(struct tree_options, view.wide)},
	{OPT_FLAG, 0, "csv", NULL, "print CSV, one line per process with its depth",
	 AT(struct tree_options, csv)},
	ROW_JSON(struct tree_options),
	ROWS_STORE,
};

static const struct tree_options defaults = {.view = {.depth = TREE_DEPTH_ALL}};

const struct command command_tree = {
	.name = "tree",
	.summary = "draw the process tree of a job of the store",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Draws which process started which. CPU is the CPU time of a process and all its "
		"descendants, WALL the time from start to end, RSS the maximum resident set size. An "
		"arrow marks the next program of the process above it, which executed it in its place "
		"(exec).\n\n"
		"Consecutive processes of the same name without visible descendants share one line, "
		"'12 x sed': the sum of their CPU time, the time from the first start to the last end, "
		"and the largest RSS. --all draws each process. [+12] means that 12 descendants are "
		"hidden by --depth or --min-cpu.\n\n"
		"Lines are cut at the width of the terminal, or at 80 columns. On a terminal, numbers "
		"have units; elsewhere, and always in JSON and CSV, they are microseconds and KiB. In "
		"JSON and CSV programs of one process are siblings with the same pid. "
		"JSON is an array of the root processes of the job, each with an array of its "
		"children.",
	.examples = "  plimsoll tree last\n"
		    "  plimsoll tree --min-cpu 10s 685000\n"
		    "  plimsoll tree --depth 1 --json last | jq '.[].children[].exename'\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.show = show,
	.shows_unstored = true,
};
