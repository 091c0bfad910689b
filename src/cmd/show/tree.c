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

enum { OPT_ALL = 1, OPT_DEPTH, OPT_MIN_CPU, OPT_WIDE, OPT_CSV };

static bool set(struct context *ctx, int id, const char *value)
{
	struct tree_options *o = ctx->options;
	uint64_t ns;

	switch (id) {
	case OPT_ALL:
		o->view.all = true;
		break;
	case OPT_DEPTH:
		if (parse_u64(value, &o->view.depth) < 0) {
			usage_error("tree", "tree: --depth wants a number, not '%s'", value);
			return false;
		}
		break;
	case OPT_MIN_CPU:
		if (parse_duration_ns(value, &ns) < 0) {
			usage_error("tree",
				    "tree: --min-cpu wants a duration like 250ms or 10s, not '%s'",
				    value);
			return false;
		}
		o->view.min_cpu = (int64_t)(ns / 1000);
		break;
	case OPT_WIDE:
		o->view.wide = true;
		break;
	case OPT_CSV:
		o->csv = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case OPTION_DB:
		config_set(&ctx->config, SETTING_DB, value, "flag --db");
		break;
	default:
		break;
	}
	return true;
}

static const struct option_row rows[] = {
	{OPT_ALL, 'a', "all", NULL, "every process on a line of its own"},
	{OPT_DEPTH, 0, "depth", "N", "only so many levels below the first"},
	{OPT_MIN_CPU, 0, "min-cpu", "DURATION",
	 "only processes that used so much CPU time with all below them"},
	{OPT_WIDE, 'w', "wide", NULL, "do not cut lines"},
	{OPT_CSV, 0, "csv", NULL, "print CSV, one process a line with its depth"},
	ROW_JSON,
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
	.set = set,
	.run = run,
};
