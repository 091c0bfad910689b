/* plimsoll retire: removes old jobs from the store by age, number or size. */
#include "cmd/actions.h"
#include "store/job_admin.h"

struct retire_options {
	bool dry;
};

int do_retire(struct context *ctx, bool dry)
{
	_cleanup_store_ struct store *s = NULL;
	struct retire_limits l;
	int r = retire_limits_of(ctx, &l);

	if (r < 0)
		return ctx->personality->bad_value_fails ? EXIT_FAILED : EXIT_USAGE;
	if (r == 0) {
		log_warn("no limit is set, so no job is removed; set one with --older-than, --keep "
			 "or --max-size");
		return EXIT_OK;
	}
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	int64_t n = retire_configured(ctx, s, dry);
	if (n == 0 && ctx->verbosity >= 0)
		puts("no job is over the limits");
	return n < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct retire_options *o = ctx->options;

	return do_retire(ctx, o->dry);
}

static const struct option_row rows[] = {
	{OPT_SETTING, 0, "older-than", "AGE",
	 "remove jobs that ended longer ago, such as 90d or 12h", .setting = SETTING_RETIRE_AGE},
	{OPT_SETTING, 0, "keep", "N", "keep only the newest N jobs",
	 .setting = SETTING_RETIRE_KEEP},
	{OPT_SETTING, 0, "max-size", "BYTES",
	 "remove the oldest jobs while all jobs take more than about this, such as 500M or 20G",
	 .setting = SETTING_RETIRE_SIZE},
	{OPT_FLAG, 'n', "dry-run", NULL, "print which jobs would be removed",
	 AT(struct retire_options, dry)},
	ROWS_STORE,
};

const struct command command_retire = {
	.name = "retire",
	.summary = "remove old jobs from the store",
	.description =
		"Removes the oldest jobs until none is over the given or configured limits "
		"(retire_age, retire_keep, retire_size). Without a limit, nothing is removed. The age "
		"of a job counts from its end.",
	.examples = "  plimsoll retire --older-than 400d --dry-run\n"
		    "  plimsoll retire --keep 10000 --max-size 20G\n",
	OPTIONS(struct retire_options, rows),
	.run = run,
};
