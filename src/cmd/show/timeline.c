/* plimsoll timeline: how many processes of a job ran over time. */
#include <string.h>

#include "cmd/actions.h"
#include "views/timeline.h"

struct timeline_options {
	enum proc_form form;
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct timeline_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct timeline t;
	int64_t job;

	if (argc > 1)
		return usage_error("timeline", "timeline takes one job");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (job_find(s, argc ? argv[0] : "last", &job, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	int r = timeline_load(&t, s, job);
	if (r >= 0)
		r = timeline_print(&t, s, job, o->form, stdout);
	if (r >= 0 && !t.count)
		tell_unrecorded(s, job);
	timeline_release(&t);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FIXED, 0, "csv", NULL, "print the profile as CSV", AT(struct timeline_options, form),
	 .number = PROC_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct timeline_options, form),
	 .number = PROC_JSON},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_timeline = {
	.name = "timeline",
	.summary = "show how many processes of a job ran over time",
	.arguments = "[JOB]",
	.description =
		"Draws how many processes ran in each of 20 parts of a job's time: the mean as a bar, "
		"the most at one moment as its shadow. The processes that took longest and those that "
		"began first follow.\n\n"
		"JSON and CSV have the profile itself: from each time on so many processes and threads "
		"ran. Of jobs with many processes neighbouring steps were put together when the job "
		"was stored, and the larger number stands.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last (the default).",
	.examples = "  plimsoll timeline last\n"
		    "  plimsoll timeline --json 685000 | jq '.profile | max_by(.processes)'\n",
	.options = rows,
	.options_size = sizeof(struct timeline_options),
	.run = run,
};
