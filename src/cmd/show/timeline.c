/* plimsoll timeline: how many processes of a job ran over time. */
#include <string.h>

#include "cmd/actions.h"
#include "views/timeline.h"

struct timeline_options {
	enum proc_form form;
};

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct timeline_options *o = ctx->options;
	struct timeline t;
	int r = timeline_load(&t, s, job);

	if (r >= 0)
		r = timeline_print(&t, s, job, o->form, stdout);
	if (r >= 0 && !t.count)
		tell_unrecorded(s, job);
	timeline_release(&t);
	return r;
}

static const struct option_row rows[] = {ROWS_FORM(struct timeline_options), ROWS_STORE};

const struct command command_timeline = {
	.name = "timeline",
	.summary = "show how many processes of a job ran over time",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Draws how many processes ran in each twentieth of the job's duration: a bar for the "
		"mean, its shadow for the maximum. The phases of the job (`plimsoll phases`), the "
		"longest and the first processes follow.\n\n"
		"JSON and CSV contain the profile itself: the numbers of running processes and threads "
		"from each point in time on. For jobs with many processes, neighbouring steps were "
		"merged when the job was stored, keeping the larger number.",
	.examples = "  plimsoll timeline last\n"
		    "  plimsoll timeline --json 685000 | jq '.profile | max_by(.processes)'\n",
	OPTIONS(struct timeline_options, rows),
	.show = show,
	.shows_unstored = true,
};
