/* plimsoll list: the jobs of the store. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "views/jobs/job_list.h"

struct list_options {
	struct job_filter filter;
	bool json, csv, ids;
	bool unknown; /* a named job does not exist, which is reported later */
};

/* Reports why there is nothing to list. */
static int report_none(struct store *s, const struct word_list *tags)
{
	_cleanup_free_ char *meant = filter_tag_meant(tags);
	int64_t jobs = 0;
	int r = store_number(s, "SELECT count(*) FROM job", &jobs);

	if (r < 0)
		log_error("%s", store_error(s));
	else if (jobs && meant)
		log_warn("no job in '%s' matches the filter; a tag is KEY:VALUE: --tag '%s'",
			 s->where, meant);
	else if (jobs == 1)
		log_warn("the only job in '%s' does not match the filter; `plimsoll list` without "
			 "one shows it",
			 s->where);
	else if (jobs)
		log_warn(
			"none of the %lld jobs in '%s' matches the filter; `plimsoll list` without "
			"one lists all",
			(long long)jobs, s->where);
	else
		log_warn("there are no jobs in '%s' yet; `plimsoll run` records one", s->where);
	return r;
}

static int print(struct context *ctx, struct store *s)
{
	const struct list_options *o = ctx->options;
	struct job_filter filter = o->filter;
	_cleanup_joblist_ struct joblist l = JOBLIST_INIT;

	/* people look for their latest jobs; scripts get the order of start times, except with
	 * --limit */
	if (!filter.order &&
	    (filter.limit != NO_LIMIT || (isatty(STDOUT_FILENO) && !o->json && !o->csv && !o->ids)))
		filter.order = "-start";
	/* tags would take most of the time and of every line */
	l.bare = !o->json && !o->csv && !isatty(STDOUT_FILENO);
	l.tasks = !o->json && !o->csv;
	int r = o->ids ? joblist_print_ids(s, &filter, stdout) : joblist_load(&l, s, &filter);
	if (r < 0)
		return fail_with(r, "%s", store_error(s));
	if (!o->ids && !o->json && !o->csv && !l.count)
		return o->unknown ? 0 : report_none(s, &filter.tags);
	if (!o->ids)
		r = o->json ? joblist_print_json(&l, stdout)
			    : joblist_print_table(&l, o->csv, stdout);
	else
		r = output_error(stdout);
	if (r < 0)
		log_error("cannot write: %s", strerror(-r));
	return r;
}

/* Resolves ID@START or ID@CLUSTER, one of several jobs with that id: 1 if that is the request. The
 * id alone means all of them. */
static int take_one(struct list_options *o, struct store *s, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;

		if (!strchr(argv[i], '@') || job_find_id(s, argv[i], &o->filter.no, &ignored) < 0)
			continue;
		if (argc == 1)
			return 1;
		log_error(
			"'%s' is one of several jobs with that id and cannot be combined with other jobs; list "
			"it alone, or give the id",
			argv[i]);
		return -EINVAL;
	}
	return 0;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct list_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	struct job_ids ids = {0};

	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int one = take_one(o, s, argc, argv);
	if (one < 0)
		return EXIT_FAILED;
	argc = one ? 0 : argc;
	int found = job_ids_find(&ids, s, argv, (size_t)argc, &why);
	o->filter.ids = ids.v;
	o->filter.id_count = ids.count;
	o->unknown = found == -ENOENT;
	/* if no argument names a job, there is nothing to list */
	int r = found == 0 || ids.count ? print(ctx, s) : 0;
	if (found < 0 && r >= 0)
		log_error("%s", found == -ENOENT ? why.buf : store_error(s));
	job_ids_release(&ids);
	return r < 0 || found < 0 ? EXIT_FAILED : EXIT_OK;
}

static bool take_exit(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct job_filter *f = &((struct list_options *)ctx->options)->filter;

	if (!strcmp(value, "ok")) {
		f->exit = EXIT_WELL;
	} else if (!strcmp(value, "failed")) {
		f->exit = EXIT_BADLY;
	} else if (parse_i64(value, &f->exitcode) == 0) {
		f->exit = EXIT_WITH;
	} else {
		return false;
	}
	return true;
}

static bool take_order(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct list_options *o = ctx->options;

	o->filter.order = value;
	return job_order_known(value);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "id", "PATTERN", "jobs whose id matches; wildcards * and ? are allowed",
	 AT(struct list_options, filter.id)},
	{OPT_TEXT, 0, "name", "PATTERN", "jobs whose name matches; wildcards * and ? are allowed",
	 AT(struct list_options, filter.name)},
	{OPT_LIST, 't', "tag", "KEY[:VALUE]",
	 "jobs with this tag, or with any value of this key; repeat to require several",
	 LIST(struct list_options, filter.tags.word, filter.tags.count)},
	{OPT_TEXT, 'u', "user", "NAME", "jobs of this user", AT(struct list_options, filter.user)},
	{OPT_LIST, 0, "host", "NAME", "jobs that ran on this host; repeat for any of several",
	 LIST(struct list_options, filter.hosts.word, filter.hosts.count)},
	{OPT_TIME, 0, "when", "TIME", "jobs that were running at this time",
	 AT(struct list_options, filter.when), GIVEN(struct list_options, filter.has_when)},
	{OPT_TIME, 0, "after", "TIME", "jobs that started at or after this time",
	 AT(struct list_options, filter.after), GIVEN(struct list_options, filter.has_after)},
	{OPT_TIME, 0, "before", "TIME", "jobs that ended at or before this time",
	 AT(struct list_options, filter.before), GIVEN(struct list_options, filter.has_before)},
	{OPT_CALL, 0, "exit", "CODE",
	 "jobs with this exit code, or with `ok` (0) or `failed` (any other)", .call = take_exit,
	 .takes = "ok, failed or a number"},
	{OPT_CALL, 0, "order", "KEY",
	 "sort by start, end, duration, cpu_time, processes, images, jobid or ingested; -KEY for "
	 "descending order",
	 .call = take_order, .takes = job_orders},
	{OPT_COUNT, 'n', "limit", "N", "at most N jobs, the newest unless --order is given",
	 AT(struct list_options, filter.limit)},
	{OPT_COUNT, 0, "offset", "N", "skip the first N", AT(struct list_options, filter.offset)},
	{OPT_FLAG, 0, "ids", NULL, "print only the ids, one per line",
	 AT(struct list_options, ids)},
	ROW_CSV(struct list_options),
	ROW_JSON(struct list_options),
	ROWS_STORE,
};

static const struct list_options defaults = {.filter = {.limit = NO_LIMIT}};

const struct command command_list = {
	.name = "list",
	.summary = "list the jobs of the store",
	.operands = {"JOB", 0, ANY_NUMBER},
	.description =
		"Lists the jobs of the store sorted by start time; on a terminal, and with --limit, "
		"the newest first. --order overrides this. Filters can be combined; a job must match "
		"all of them.\n\n"
		"JOB is a job id, which several jobs may share (ID@START or ID@CLUSTER selects one), "
		"an unambiguous prefix of one, a job name, which several jobs may share, or `last`, "
		"the job stored last.\n\n"
		"TIME is 'YYYY-MM-DD', 'YYYY-MM-DD HH:MM[:SS]', the same with a time zone as in ISO "
		"8601, 'MM/DD/YYYY HH:MM', seconds since 1970, now, or a time relative to now such as "
		"-3d or -2h. Times without a zone are local.\n\n"
		"On a terminal, numbers have units, and tags are shown if there is room. Elsewhere, "
		"times are plain numbers, the headings name the unit, and only --json and --csv print "
		"tags.",
	.examples = "  plimsoll list --after -1d --exit failed\n"
		    "  plimsoll list --tag exp_name:ESM4 --order -cpu_time --limit 10\n"
		    "  plimsoll list --ids --id '68*' | xargs -n1 plimsoll show --json\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
