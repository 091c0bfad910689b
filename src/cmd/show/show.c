/* plimsoll show: everything about one job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "views/job_show.h"

struct show_options {
	bool json, csv;
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct show_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_(jobshow_release) struct jobshow job = {.list = JOBLIST_INIT};
	int64_t no;

	if (argc > 1)
		return usage_error("show", "show takes one job");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (job_find(s, argc ? argv[0] : "last", &no, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	if (jobshow_load(&job, s, no) < 0) {
		log_error("%s", store_error(s));
		return EXIT_FAILED;
	}
	int r = o->json  ? jobshow_print_json(&job, stdout)
		: o->csv ? jobshow_print_csv(&job, stdout)
			 : jobshow_print_page(&job, stdout);
	if (r < 0)
		log_error("cannot write: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "csv", NULL, "print CSV of two columns, name and value",
	 AT(struct show_options, csv)},
	ROW_JSON(struct show_options),
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_show = {
	.name = "show",
	.summary = "show one job of the store",
	.arguments = "[JOB]",
	.description =
		"Shows who ran a job, where, when and how it ended, what it used, its tags, "
		"annotations and warnings, and the sum of every metric over all processes with the "
		"value of the largest process beside it. plimsoll-metrics(7) explains the metrics.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a job's name, or last for the job that "
		"was stored last (the default).\n\n"
		"On a terminal numbers have units. Elsewhere they are raw, in JSON and CSV always: "
		"microseconds for durations, KiB for rssmax, and the units of plimsoll-metrics(7) "
		"otherwise. A value that is not known is null.",
	.examples = "  plimsoll show last\n"
		    "  plimsoll show --json 685000 | jq .sums.rchar\n",
	.options = rows,
	.options_size = sizeof(struct show_options),
	.run = run,
};
