/* plimsoll list: the jobs of the store. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "views/jobs/job_groups.h"
#include "views/jobs/job_list.h"

struct list_options {
	struct job_filter filter;
	const char *id, *name; /* patterns */
	const char *user, *where;
	struct word_list hosts; /* any of them */
	struct word_list tags;  /* all of them */
	struct word_list by;    /* tags to group by; none: list the jobs */
	bool has_when, has_before, has_after;
	int64_t when, before, after; /* us */
	enum { EXIT_ANY, EXIT_IS, EXIT_IS_NOT } exit;
	int64_t exitcode;
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

static int print_groups(const struct list_options *o, struct store *s)
{
	int r = job_groups_print(s, &o->filter, o->by.word, o->by.count,
				 o->json  ? PROC_JSON
				 : o->csv ? PROC_CSV
					  : PROC_TABLE,
				 stdout);

	if (report_store_error(s, r) != EXIT_OK)
		return -EIO;
	return r == 0 && !o->unknown && !o->json && !o->csv ? report_none(s, &o->tags) : 0;
}

static int print(struct context *ctx, struct store *s)
{
	const struct list_options *o = ctx->options;

	if (o->by.count)
		return print_groups(o, s);
	enum joblist_form form = o->ids    ? JOBLIST_IDS
				 : o->json ? JOBLIST_JSON
				 : o->csv  ? JOBLIST_CSV
					   : JOBLIST_TABLE;
	bool none = false, output = false;
	int r = joblist_print(s, &o->filter, form, stdout, &none, &output);

	if (r < 0)
		return output ? fail_with(r, "cannot write: %s", strerror(-r))
			      : fail_with(r, "%s", store_error(s));
	return none && !o->unknown ? report_none(s, &o->tags) : 0;
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

/* The options as conditions. */
static int add_options(struct filter *f, const struct list_options *o, struct strbuf *why)
{
	int r = filter_require_pattern(f, "jobid", o->id, why);

	if (r == 0)
		r = filter_require_pattern(f, "jobname", o->name, why);
	if (r == 0 && o->user)
		r = filter_require(f, "user", FILTER_IS, &o->user, 1, why);
	if (r == 0 && o->hosts.count)
		r = filter_require(f, "host", FILTER_IS, o->hosts.word, o->hosts.count, why);
	if (r == 0)
		r = filter_require_tags(f, &o->tags, why);
	if (r < 0)
		return r;
	if (o->has_when)
		filter_require_period(f, o->when, o->when);
	if (o->has_before)
		filter_require_number(f, "before", FILTER_IS, o->before);
	if (o->has_after)
		filter_require_number(f, "after", FILTER_IS, o->after);
	if (o->exit != EXIT_ANY)
		filter_require_number(f, "exitcode", o->exit == EXIT_IS ? FILTER_IS : FILTER_IS_NOT,
				      o->exitcode);
	return o->where ? filter_parse(f, o->where, why) : 0;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct list_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_filter_ struct filter *where = filter_new(FILTER_JOBS);
	_cleanup_store_ struct store *s = NULL;
	struct job_ids ids = {0};

	if (o->by.count && o->ids)
		return usage_error("list", "list: --ids prints jobs, and --by groups of them");
	if (add_options(where, o, &why) < 0) {
		log_error("filter: %s", why.buf);
		return EXIT_USAGE;
	}
	o->filter.where = where;
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
	struct list_options *o = ctx->options;

	o->exit = !strcmp(value, "failed") ? EXIT_IS_NOT : EXIT_IS;
	o->exitcode = 0;
	return !strcmp(value, "ok") || !strcmp(value, "failed") ||
	       parse_i64(value, &o->exitcode) == 0;
}

static bool take_order(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct list_options *o = ctx->options;

	o->filter.order = value;
	return filter_order_known(FILTER_JOBS, value, NULL);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "id", "PATTERN", "jobs whose id matches; wildcards * and ? are allowed",
	 AT(struct list_options, id)},
	{OPT_TEXT, 0, "name", "PATTERN", "jobs whose name matches; wildcards * and ? are allowed",
	 AT(struct list_options, name)},
	{OPT_LIST, 't', "tag", "KEY[:VALUE]",
	 "jobs with this tag, or with any value of this key; repeat to require several",
	 LIST(struct list_options, tags.word, tags.count)},
	{OPT_TEXT, 'u', "user", "NAME", "jobs of this user", AT(struct list_options, user)},
	{OPT_LIST, 0, "host", "NAME", "jobs that ran on this host; repeat for any of several",
	 LIST(struct list_options, hosts.word, hosts.count)},
	{OPT_TIME, 0, "when", "TIME", "jobs that were running at this time",
	 AT(struct list_options, when), GIVEN(struct list_options, has_when)},
	{OPT_TIME, 0, "after", "TIME", "jobs that started at or after this time",
	 AT(struct list_options, after), GIVEN(struct list_options, has_after)},
	{OPT_TIME, 0, "before", "TIME", "jobs that ended at or before this time",
	 AT(struct list_options, before), GIVEN(struct list_options, has_before)},
	{OPT_CALL, 0, "exit", "CODE",
	 "jobs with this exit code, or with `ok` (0) or `failed` (any other)", .call = take_exit,
	 .takes = "ok, failed or a number"},
	ROW_WHERE(struct list_options),
	{OPT_LIST, 0, "by", "TAG,...",
	 "group the jobs by the values of these tags, such as exp_name,exp_component: jobs that can "
	 "be compared",
	 LIST(struct list_options, by.word, by.count), .separator = ',', .takes = "names of tags"},
	{OPT_CALL, 0, "order", "KEY",
	 "sort by start, end, duration, cpu_time, processes, images, jobid, ingested or another key "
	 "of plimsoll-query(1); -KEY for descending order",
	 .call = take_order, .takes = job_orders},
	{OPT_COUNT, 'n', "limit", "N",
	 "at most N jobs, the newest unless --order is given; with --by at most N groups",
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
		"the newest first. --order overrides this. Options can be combined; a job must match "
		"all of them. --where takes conditions that options do not have, such as `cpu_time > 10h "
		"or exitcode != 0`; plimsoll-query(1) explains them.\n\n"
		"JOB is a job id, which several jobs may share (ID@START or ID@CLUSTER selects one), "
		"an unambiguous prefix of one, a job name, which several jobs may share, or `last`, "
		"the job stored last.\n\n"
		"TIME is 'YYYY-MM-DD', 'YYYY-MM-DD HH:MM[:SS]', the same with a time zone as in ISO "
		"8601, 'MM/DD/YYYY HH:MM', seconds since 1970, now, or a time relative to now such as "
		"-3d or -2h. Times without a zone are local.\n\n"
		"With --by, prints one row for each combination of values of these tags: how many jobs "
		"have it, the sums of their durations and CPU times, and their ids. The group with the "
		"longest duration comes first. Jobs of one group can be compared with each other.\n\n"
		"On a terminal, numbers have units, and tags are shown if there is room. Elsewhere, "
		"times are plain numbers, the headings name the unit, and only --json and --csv print "
		"tags.",
	.examples = "  plimsoll list --after -1d --exit failed\n"
		    "  plimsoll list --tag exp_name:ESM4 --order -cpu_time --limit 10\n"
		    "  plimsoll list --where 'duration > 1h and not tag.exp_name = ESM4'\n"
		    "  plimsoll list --by exp_name,exp_component\n"
		    "  plimsoll list --ids --id '68*' | xargs -n1 plimsoll show --json\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
