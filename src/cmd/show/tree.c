/* plimsoll tree: who started whom in a job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "views/process_tree_view.h"

struct tree_options {
	struct tree_view view;
	bool json, csv;
};

static int print(const struct tree_options *o, struct store *s, int64_t job)
{
	struct proctree t;
	int r = proctree_load(&t, s, job);

	if (r >= 0)
		r = o->json  ? proctree_print_json(&t, &o->view, stdout)
		    : o->csv ? proctree_print_csv(&t, &o->view, stdout)
			     : proctree_print(&t, &o->view, stdout);
	if (r >= 0 && !t.count)
		tell_unrecorded(s, job);
	proctree_release(&t);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r;
}

static int run(struct context *ctx, int argc, char **argv)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t job;

	if (argc > 1)
		return usage_error("tree", "tree takes one job");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (job_find(s, argc ? argv[0] : "last", &job, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	return print(ctx->options, s, job) < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'a', "all", NULL, "every process on a line of its own",
	 AT(struct tree_options, view.all)},
	{OPT_COUNT, 0, "depth", "N", "only so many levels below the first",
	 AT(struct tree_options, view.depth)},
	{OPT_DURATION, 0, "min-cpu", "DURATION",
	 "only processes that used so much CPU time with all below them",
	 AT(struct tree_options, view.min_cpu), .unit_ns = 1000},
	{OPT_FLAG, 'w', "wide", NULL, "do not cut lines", AT(struct tree_options, view.wide)},
	{OPT_FLAG, 0, "csv", NULL, "print CSV, one process a line with its depth",
	 AT(struct tree_options, csv)},
	ROW_JSON(struct tree_options),
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct tree_options defaults = {.view = {.depth = TREE_DEPTH_ALL}};

const struct command command_tree = {
	.name = "tree",
	.summary = "draw the process tree of a job of the store",
	.arguments = "[JOB]",
	.description =
		"Draws who started whom. CPU is that of a process and all below it, WALL the time from "
		"its start to its end, RSS its largest resident set.\n\n"
		"Processes of the same name that follow each other, with nothing to show below them, "
		"are drawn as one line, '12 x sed': their CPU together, the time from the first start to "
		"the last end, the largest RSS; --all draws each. [+12] tells that 12 processes below are not shown, because of --depth or "
		"--min-cpu.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored "
		"last (the default). Lines are cut at the width of the terminal, or at 80 columns where there is "
		"none. On a terminal numbers have units, elsewhere they are microseconds and KiB, in "
		"JSON and CSV always. JSON is an array of the processes that nobody of the job "
		"started, each with an array of its children.",
	.examples = "  plimsoll tree last\n"
		    "  plimsoll tree --min-cpu 10s 685000\n"
		    "  plimsoll tree --depth 1 --json last | jq '.[].children[].exename'\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
