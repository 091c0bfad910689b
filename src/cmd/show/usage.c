/* plimsoll usage: what all jobs of the store used, by executable, user, operation, tag or month. */
#include <stdlib.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "views/usage_view.h"

struct usage_options {
	enum usage_by by;
	const char *key, *where;
	uint64_t limit;
	enum proc_form form;
};

static const char *const titles[] = {
	[USAGE_BY_EXECUTABLE] = "EXECUTABLE",
	[USAGE_BY_USER] = "USER",
	[USAGE_BY_OPERATION] = "OPERATION",
	[USAGE_BY_MONTH] = "MONTH",
	[USAGE_BY_TAG] = "TAG",
	[USAGE_BY_JOB_TAG] = "JOB TAG",
};

static bool take_by(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	static const struct {
		const char *word;
		enum usage_by by;
	} words[] = {{"executable", USAGE_BY_EXECUTABLE},
		     {"user", USAGE_BY_USER},
		     {"operation", USAGE_BY_OPERATION},
		     {"month", USAGE_BY_MONTH}};
	struct usage_options *o = ctx->options;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].word, value)) {
			o->by = words[i].by;
			o->key = NULL;
			return true;
		}
	const char *colon = strchr(value, ':');
	o->key = colon ? colon + 1 : NULL;
	o->by = str_prefix(value, "job-tag:") ? USAGE_BY_JOB_TAG : USAGE_BY_TAG;
	return o->key && *o->key && (o->by == USAGE_BY_JOB_TAG || str_prefix(value, "tag:"));
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct usage_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_job_selection_ struct job_selection jobs = {0};
	_cleanup_usage_table_ struct usage_table t = {0};
	_cleanup_free_ int64_t *numbers = NULL;

	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (argc || o->where) {
		int r = job_selection_find(&jobs, s, argv, (size_t)argc, o->where, &why);
		if (r < 0)
			return fail_with(job_selection_status(r), "%s", why.buf);
		numbers = xcalloc(jobs.count + 1, sizeof(*numbers));
		for (size_t i = 0; i < jobs.count; i++)
			numbers[i] = jobs.v[i].no;
		qsort(numbers, jobs.count, sizeof(*numbers), compare_numbers);
	}
	int r = usage_table_load(&t, s, o->by, o->key, numbers, jobs.count);
	if (r == 0)
		r = usage_print(&t, titles[o->by], o->limit, o->form, stdout);
	if (r == 0 && o->form == PROC_TABLE && o->limit)
		log_warn("no job in '%s' has recorded processes%s", s->where,
			 numbers ? " and matches" : "; `plimsoll run` records one");
	return report_store_error(s, r);
}

static const struct option_row rows[] = {
	{OPT_CALL, 'b', "by", "GROUP",
	 "sum by executable (default), user, operation (all tags of a process), month, tag:KEY (value of "
	 "a process tag) or job-tag:KEY",
	 .call = take_by, .takes = "executable, user, operation, month, tag:KEY or job-tag:KEY"},
	ROW_WHERE(struct usage_options),
	{OPT_COUNT, 'n', "limit", "N", "at most N rows, those with the most CPU time",
	 AT(struct usage_options, limit)},
	ROWS_FORM(struct usage_options),
	ROWS_STORE,
};

static const struct usage_options defaults = {.limit = NO_LIMIT};

const struct command command_usage = {
	.name = "usage",
	.summary = "show what the jobs of the store used, by executable, user, tag or month",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB_ID "; without one, all jobs."},
	.description =
		"Sums CPU time, durations and I/O of all processes, and shows the maximum of their "
		"resident set sizes, the number of jobs and processes, and the share in the CPU time. "
		"The row with the most CPU time comes first. The sums are stored with each job: even "
		"a store of many million processes answers at once.\n\n"
		"duration is the sum over program images, not the time of jobs. A row without a name "
		"has the images that have none, such as those without the tag. Jobs that were sampled "
		"and not recorded count by user, month and job-tag, with their CPU time and number of "
		"processes. The month is that of the start of a job, in local time.\n\n"
		"The views job_executables, job_operations and job_users have the same sums of each "
		"job, for `plimsoll sql`.",
	.examples = "  plimsoll usage -n 10\n"
		    "  plimsoll usage --by user --json\n"
		    "  plimsoll usage --by tag:op 685000 685003\n"
		    "  plimsoll usage --by job-tag:exp_name\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
