/* plimsoll list: the jobs of the store. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "views/job_list.h"

struct list_options {
	struct job_filter filter;
	bool json, csv, ids;
	bool unknown; /* an id that is named is of no job, which is said */
};

/* Why there is nothing to list. */
static int tell_none(struct store *s, const struct words *tags)
{
	_cleanup_free_ char *meant = filter_tag_meant(tags);
	int64_t jobs = 0;
	int r = store_number(s, "SELECT count(*) FROM job", &jobs);

	if (r < 0)
		log_error("%s", store_error(s));
	else if (jobs && meant)
		log_warn("no job in '%s' passes the filter; a tag is KEY:VALUE: --tag '%s'",
			 s->where, meant);
	else if (jobs == 1)
		log_warn("the only job in '%s' does not pass the filter; `plimsoll list` without "
			 "one shows it",
			 s->where);
	else if (jobs)
		log_warn("none of the %lld jobs in '%s' passes the filter; `plimsoll list` without "
			 "one shows all",
			 (long long)jobs, s->where);
	else
		log_warn("there is no job in '%s' yet; `plimsoll run` records one", s->where);
	return r;
}

static int print(struct context *ctx, struct store *s)
{
	const struct list_options *o = ctx->options;
	struct job_filter filter = o->filter;
	_cleanup_joblist_ struct joblist l = JOBLIST_INIT;

	/* people look for what they ran last; scripts keep the order of starts, but a few of many
	 * are the newest everywhere */
	if (!filter.order &&
	    (filter.limit != NO_LIMIT || (isatty(STDOUT_FILENO) && !o->json && !o->csv && !o->ids)))
		filter.order = "-start";
	/* they would be most of the work, and of every line */
	l.bare = !o->json && !o->csv && !isatty(STDOUT_FILENO);
	l.tasks = !o->json && !o->csv;
	int r = o->ids ? joblist_print_ids(s, &filter, stdout) : joblist_load(&l, s, &filter);
	if (r < 0) {
		log_error("%s", store_error(s));
		return r;
	}
	if (!o->ids && !o->json && !o->csv && !l.count)
		return o->unknown ? 0 : tell_none(s, &filter.tags);
	if (!o->ids)
		r = o->json ? joblist_print_json(&l, stdout)
			    : joblist_print_table(&l, o->csv, stdout);
	else
		r = output_error(stdout);
	if (r < 0)
		log_error("cannot write: %s", strerror(-r));
	return r;
}

/* One of several that have an id, by its time or cluster: 1 when that is what is asked for. The id
 * alone means all of them. */
static int take_one(struct list_options *o, struct store *s, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;

		if (!strchr(argv[i], '@') || job_find_id(s, argv[i], &o->filter.no, &ignored) < 0)
			continue;
		if (argc == 1)
			return 1;
		log_error("'%s' is one of several jobs of its id, and is listed by itself: list it "
			  "alone, or name the id",
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
	/* where no word means a job there is nothing to filter by */
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
	{OPT_TEXT, 0, "id", "PATTERN", "jobs whose id matches, with * and ?",
	 AT(struct list_options, filter.id)},
	{OPT_TEXT, 0, "name", "PATTERN", "jobs whose name matches, with * and ?",
	 AT(struct list_options, filter.name)},
	{OPT_LIST, 't', "tag", "KEY[:VALUE]",
	 "jobs with this tag, or with any value of the key; given several times, all must be there",
	 LIST(struct list_options, filter.tags.word, filter.tags.count)},
	{OPT_TEXT, 'u', "user", "NAME", "jobs of this user", AT(struct list_options, filter.user)},
	{OPT_LIST, 0, "host", "NAME",
	 "jobs that ran on this host; given several times, on any of them",
	 LIST(struct list_options, filter.hosts.word, filter.hosts.count)},
	{OPT_TIME, 0, "when", "TIME", "jobs that were running at this moment",
	 AT(struct list_options, filter.when), GIVEN(struct list_options, filter.has_when)},
	{OPT_TIME, 0, "after", "TIME", "jobs that started at this time or later",
	 AT(struct list_options, filter.after), GIVEN(struct list_options, filter.has_after)},
	{OPT_TIME, 0, "before", "TIME", "jobs that ended at this time or earlier",
	 AT(struct list_options, filter.before), GIVEN(struct list_options, filter.has_before)},
	{OPT_CALL, 0, "exit", "CODE", "jobs with this exit code, or ok (0), or failed (any other)",
	 .call = take_exit, .takes = "ok, failed or a number"},
	{OPT_CALL, 0, "order", "KEY",
	 "start, end, duration, cpu_time, processes, images, jobid or ingested; with - in front descending",
	 .call = take_order, .takes = job_orders},
	{OPT_COUNT, 'n', "limit", "N", "at most so many, the newest unless --order says otherwise",
	 AT(struct list_options, filter.limit)},
	{OPT_COUNT, 0, "offset", "N", "leave out the first so many",
	 AT(struct list_options, filter.offset)},
	{OPT_FLAG, 0, "ids", NULL, "only the ids, one a line", AT(struct list_options, ids)},
	{OPT_FLAG, 0, "csv", NULL, "print CSV", AT(struct list_options, csv)},
	ROW_JSON(struct list_options),
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct list_options defaults = {.filter = {.limit = NO_LIMIT}};

const struct command command_list = {
	.name = "list",
	.summary = "list the jobs of the store",
	.arguments = "[JOB...]",
	.description =
		"Lists the jobs that were submitted, in the order of their start; on a terminal, and with "
		"--limit, the newest first. --order says otherwise. Filters may be combined: a job must pass all of them.\n\n"
		"JOB is a job id, which several jobs may have (ID@START or ID@CLUSTER is one of them), the beginning of "
		"only one, a name, which several jobs may have, too, or last for the job that was stored last.\n\n"
		"A TIME is 'YYYY-MM-DD', 'YYYY-MM-DD HH:MM[:SS]', the same with a zone as in ISO 8601, "
		"'MM/DD/YYYY HH:MM', seconds since 1970, now, or a while ago like -3d or "
		"-2h; local time where it names no zone.\n\n"
		"On a terminal numbers have units, and tags are shown as far as there is room. Elsewhere "
		"times that something took are in microseconds and tags are left to --json and --csv.",
	.examples = "  plimsoll list --after -1d --exit failed\n"
		    "  plimsoll list --tag exp_name:ESM4 --order -cpu_time --limit 10\n"
		    "  plimsoll list --ids --id '68*' | xargs -n1 plimsoll show --json\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
