/* plimsoll phases: the regions that programs and scripts of a job marked. */
#include <string.h>

#include "cmd/actions.h"
#include "views/phases.h"

struct phases_options {
	enum proc_form form;
	enum phase_by by;
	bool each;
};

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct phases_options *o = ctx->options;
	_cleanup_phase_list_ struct phase_list l = {0};
	int r = phase_list_load(&l, s, job);

	if (r >= 0 && !l.count && o->form == PROC_TABLE) {
		_cleanup_free_ char *id = job_id_of(s, job);

		log_warn(
			"job %s has no phases; scripts mark them with `plimsoll mark`, programs with "
			"plimsoll/mark.h",
			id ? id : "?");
		return EXIT_OK;
	}
	if (r >= 0)
		r = o->each ? phase_list_print(&l, o->form, stdout)
			    : phase_stats_print(&l, o->by, o->form, stdout);
	return r;
}

static const struct option_row rows[] = {
	{OPT_CHOICE, 0, "by", "WORD",
	 "one row per name (default), per name and rank, or per name and thread",
	 AT(struct phases_options, by),
	 WORDS({"name", PHASE_BY_NAME}, {"rank", PHASE_BY_RANK}, {"thread", PHASE_BY_THREAD})},
	{OPT_FLAG, 0, "each", NULL, "list every phase, in the order of time",
	 AT(struct phases_options, each)},
	ROWS_FORM(struct phases_options),
	ROWS_STORE,
};

const struct command command_phases = {
	.name = "phases",
	.summary = "show the phases that a job marked",
	.operands = {"JOB", 0, 1, HELP_JOB_OR_PATH},
	.description =
		"Shows the regions that programs of a job marked with plimsoll/mark.h, and the phases "
		"of its scripts (`plimsoll mark`): how often each occurred, its total time, the time "
		"without the phases inside it, and its shortest, median and longest occurrence. The "
		"total is summed over all processes and threads; a phase inside one of the same name "
		"counts once. OPEN counts those that did not end by themselves: they end with their "
		"program. IMBALANCE is the largest total of a rank over the mean, less one; processes "
		"without a rank count by themselves.\n\n"
		"The CPU time of a script's phase is that of the processes that the script started in "
		"it, with their descendants. Programs record that of their process if "
		"PLIMSOLL_MARK_CPU is 1.\n\n"
		"CSV and JSON have times in microseconds, with fractions. The view `phases` of the "
		"store has every phase.",
	.examples =
		"  plimsoll phases last\n"
		"  plimsoll phases --by rank --csv 685000\n"
		"  plimsoll phases --json 685000 | jq '.[] | select(.imbalance > 0.1) | .name'\n"
		"  plimsoll phases --each last\n",
	OPTIONS(struct phases_options, rows),
	.show = show,
	.shows_paths = true,
};
