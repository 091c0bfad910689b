/* plimsoll show: all about one job, and its address in the web server. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "store/query.h"
#include "views/jobs/job_show.h"
#include "web/access/browser.h"

struct show_options {
	bool json, csv, url;
};

/* Only of a job that the store has: those are the pages of the server. */
static int print_url(struct store *s, int64_t no)
{
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
	_cleanup_free_ char *id = job_id_of(s, no);
	int r = id ? job_label(s, no, id, &label) : -ENOENT;

	return r < 0 ? r : serve_print_page(label.buf);
}

static int show(struct context *ctx, struct store *s, int64_t no)
{
	const struct show_options *o = ctx->options;

	if (o->url)
		return print_url(s, no);
	_cleanup_(jobshow_release) struct jobshow job = {.list = JOBLIST_INIT};
	int r = jobshow_load(&job, s, no);

	if (r < 0)
		return r;
	r = o->json  ? jobshow_print_json(&job, stdout)
	    : o->csv ? jobshow_print_csv(&job, stdout)
		     : jobshow_print_page(&job, stdout);
	if (r < 0)
		log_error("cannot write: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "csv", NULL, "print CSV with two columns, name and value",
	 AT(struct show_options, csv)},
	{OPT_FLAG, 0, "url", NULL,
	 "print the address of the job's page in your running `plimsoll serve`",
	 AT(struct show_options, url)},
	ROW_JSON(struct show_options),
	ROWS_STORE,
};

const struct command command_show = {
	.name = "show",
	.summary = "show one job of the store",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Shows who ran a job, where and when, how it ended, what it used, its tags, "
		"annotations and warnings, and for every metric the sum over all processes and the "
		"value of the largest process. plimsoll-metrics(7) explains the metrics.\n\n"
		"On a terminal, numbers have units. Elsewhere, and always in JSON and CSV, they are "
		"raw: microseconds for durations, KiB for rssmax, and otherwise the units of "
		"plimsoll-metrics(7). Unknown values are null.",
	.examples = "  plimsoll show last\n"
		    "  plimsoll show --json 685000 | jq .sums.rchar\n",
	OPTIONS(struct show_options, rows),
	.show = show,
	.shows_unstored = true,
};
