/* plimsoll procs: the processes of a job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "store/ingest/merge_streamed.h"
#include "views/processes/process_histogram.h"

struct procs_options {
	struct proc_filter filter;
	const char *exe, *host, *where;
	struct word_list tags;         /* all of them */
	int64_t pid;                   /* -1: any */
	int64_t min_cpu, min_duration; /* us; 0: any */
	bool failed;
	struct proc_histogram histogram; /* its key NULL: list the processes */
	enum proc_form form;
};

static void report_none(const struct word_list *tags)
{
	_cleanup_free_ char *meant = filter_tag_meant(tags);

	if (meant)
		log_warn("no process of the job matches the filter; a tag is KEY:VALUE: --tag '%s'",
			 meant);
	else
		log_warn("no process of the job matches the filter; `plimsoll procs` without one "
			 "lists all");
}

/* The options as conditions. */
static int add_options(struct filter *f, const struct procs_options *o, struct strbuf *why)
{
	int r = 0;

	if (o->exe)
		r = filter_require(f, "exename", FILTER_IS, &o->exe, 1, why);
	if (r == 0 && o->host)
		r = filter_require(f, "host", FILTER_IS, &o->host, 1, why);
	if (r == 0)
		r = filter_require_tags(f, &o->tags, why);
	if (r < 0)
		return r;
	if (o->pid >= 0)
		filter_require_number(f, "pid", FILTER_IS, o->pid);
	if (o->min_cpu)
		filter_require_number(f, "cpu_time", FILTER_AT_LEAST, o->min_cpu);
	if (o->min_duration)
		filter_require_number(f, "duration", FILTER_AT_LEAST, o->min_duration);
	if (o->failed) {
		struct filter_node *outer = filter_begin(f, FILTER_ANY_OF);

		filter_require_number(f, "exitcode", FILTER_IS_NOT, 0);
		filter_require_number(f, "exitsignal", FILTER_IS_NOT, 0);
		filter_end(f, outer);
	}
	return o->where ? filter_parse(f, o->where, why) : 0;
}

/* Before the store is opened. */
static int check(struct context *ctx)
{
	_cleanup_filter_ struct filter *f = filter_new(FILTER_PROCESSES);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	const struct procs_options *o = ctx->options;

	if (o->histogram.sum && !o->histogram.key)
		return usage_error("procs", "procs: --sum needs --count-by");
	if (o->histogram.key && o->filter.order)
		return usage_error("procs", "procs: --order sorts processes, and --count-by prints "
					    "counts, the largest first");
	if (o->histogram.key && proc_histogram_check(&o->histogram, &why) < 0)
		return usage_error("procs", "%s", why.buf);
	if (add_options(f, o, &why) == 0)
		return EXIT_OK;
	log_error("filter: %s", why.buf);
	return EXIT_USAGE;
}

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct procs_options *o = ctx->options;
	_cleanup_filter_ struct filter *where = filter_new(FILTER_PROCESSES);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_(proc_list_release) struct proc_list l = {0};
	struct proc_filter filter = o->filter;

	filter.where = where;
	int r = add_options(where, o, &why);
	if (r >= 0 && o->histogram.key) {
		r = proc_histogram_print(&o->histogram, s, &job, 1, &filter, o->form, stdout);
		if (r == 0 && !tell_unrecorded(s, job) && o->form == PROC_TABLE)
			report_none(&o->tags);
		return r < 0 ? r : 0;
	}
	if (r >= 0)
		r = proc_list_load(&l, s, job, &filter);
	if (r >= 0)
		r = proc_list_print(&l, s, o->form, stdout);
	if (r >= 0 && !l.count && !tell_unrecorded(s, job) && o->form == PROC_TABLE)
		report_none(&o->tags);
	return r;
}

static bool take_order(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct procs_options *o = ctx->options;

	o->filter.order = value;
	return filter_order_known(FILTER_PROCESSES, value, NULL);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "exe", "NAME", "images of this program", AT(struct procs_options, exe)},
	{OPT_LIST, 't', "tag", "KEY[:VALUE]",
	 "processes with this tag, or with any value of this key; repeat to require several",
	 LIST(struct procs_options, tags.word, tags.count)},
	{OPT_TEXT, 0, "host", "NAME", "processes on this host", AT(struct procs_options, host)},
	{OPT_COUNT, 'p', "pid", "PID", "images that ran with this process id",
	 AT(struct procs_options, pid), .max = INT64_MAX},
	{OPT_DURATION, 0, "min-cpu", "DURATION", "processes that used at least this much CPU time",
	 AT(struct procs_options, min_cpu), .unit_ns = 1000},
	{OPT_DURATION, 0, "min-duration", "DURATION", "processes that ran at least this long",
	 AT(struct procs_options, min_duration), .unit_ns = 1000},
	{OPT_FLAG, 0, "failed", NULL, "processes that exited with an error or by a signal",
	 AT(struct procs_options, failed)},
	{OPT_TEXT, 'w', "where", "FILTER",
	 "processes that match this filter; plimsoll-query(1) explains filters",
	 AT(struct procs_options, where)},
	{OPT_CALL, 0, "order", "KEY",
	 "sort by start, end, duration, cpu_time, inclusive_cpu_time, exclusive_time, rssmax, pid, "
	 "depth, children or descendants; -KEY for descending order",
	 .call = take_order, .takes = proc_orders},
	ROW_COUNT_BY(struct procs_options),
	{OPT_COUNT, 'n', "limit", "N", "at most N processes",
	 AT(struct procs_options, filter.limit)},
	{OPT_COUNT, 0, "offset", "N", "skip the first N", AT(struct procs_options, filter.offset)},
	ROWS_FORM(struct procs_options),
	ROWS_STORE,
};

static const struct procs_options defaults = {.pid = -1, .filter = {.limit = NO_LIMIT}};

const struct command command_procs = {
	.name = "procs",
	.summary = "list the processes of a job of the store",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Lists every program image of a job, sorted by start time unless --order is given. "
		"Options can be combined; a process must match all of them. --where takes conditions "
		"that options do not have, such as `rssmax > 2G or ancestor(exename = make)`; "
		"plimsoll-query(1) explains them.\n\n"
		"With --count-by, prints how many processes have each value of a key instead, such as "
		"each executable, and with --sum the sum of a metric over them. `plimsoll query --procs` "
		"does the same over several jobs.\n\n"
		"JSON has the metrics of plimsoll-metrics(7) and values derived from them: cpu_time "
		"(user and system), inclusive_cpu_time (with all descendants), exclusive_time (wall "
		"time not covered by a child), parent (its process id), and depth, children and "
		"descendants in the process tree. Unknown values are omitted. Text that is not valid "
		"UTF-8 contains U+FFFD, and a second key with the suffix _b64 has the exact bytes. "
		"argv is exact if Plimsoll recorded the job; for jobs of other tools it is the "
		"arguments split at blanks.",
	.examples = "  plimsoll procs last --order -cpu_time --limit 10\n"
		    "  plimsoll procs 685000 --tag op:hsmget --min-duration 1s\n"
		    "  plimsoll procs last --where 'read_bytes > 1G and not host = login1'\n"
		    "  plimsoll procs 685000 --count-by exename --sum cpu_time\n"
		    "  plimsoll procs --json --failed last | jq -r '.[].argv[0]'\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.check = check,
	.show = show,
	.shows_unstored = true,
};
