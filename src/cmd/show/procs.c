/* plimsoll procs: the processes of a job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "store/ingest/merge_streamed.h"
#include "views/process_list.h"

struct procs_options {
	struct proc_filter filter;
	enum proc_form form;
};

static void tell_none(const struct words *tags)
{
	_cleanup_free_ char *meant = filter_tag_meant(tags);

	if (meant)
		log_warn("no process of the job passes the filter; a tag is KEY:VALUE: --tag '%s'",
			 meant);
	else
		log_warn("no process of the job passes the filter; `plimsoll procs` without one "
			 "shows all");
}

static int print(struct context *ctx, struct store *s, int64_t job)
{
	const struct procs_options *o = ctx->options;
	_cleanup_(proc_list_release) struct proc_list l = {0};

	int r = proc_list_load(&l, s, job, &o->filter);
	if (r >= 0)
		r = proc_list_print(&l, s, job, o->form, stdout);
	if (r >= 0 && !l.count && !tell_unrecorded(s, job) && o->form == PROC_TABLE)
		tell_none(&o->filter.tags);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r;
}

static int run(struct context *ctx, int argc, char **argv)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t job;

	if (argc > 1)
		return usage_error("procs", "procs takes one job");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (job_find(s, argc ? argv[0] : "last", &job, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	return print(ctx, s, job) < 0 ? EXIT_FAILED : EXIT_OK;
}

static bool take_order(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct procs_options *o = ctx->options;

	o->filter.order = value;
	return proc_order_known(value);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "exe", "NAME", "programs of this name", AT(struct procs_options, filter.exe)},
	{OPT_LIST, 't', "tag", "KEY[:VALUE]",
	 "processes with this tag, or with any value of the key; given several times, all must be "
	 "there",
	 LIST(struct procs_options, filter.tags.word, filter.tags.count)},
	{OPT_TEXT, 0, "host", "NAME", "processes on this host",
	 AT(struct procs_options, filter.host)},
	{OPT_COUNT, 'p', "pid", "PID", "programs that ran under this process id",
	 AT(struct procs_options, filter.pid), .max = INT64_MAX},
	{OPT_DURATION, 0, "min-cpu", "DURATION", "processes that used so much CPU time or more",
	 AT(struct procs_options, filter.min_cpu), .unit_ns = 1000},
	{OPT_DURATION, 0, "min-duration", "DURATION", "processes that took so long or longer",
	 AT(struct procs_options, filter.min_duration), .unit_ns = 1000},
	{OPT_FLAG, 0, "failed", NULL,
	 "processes with an exit code other than 0, or ended by a signal",
	 AT(struct procs_options, filter.failed)},
	{OPT_CALL, 0, "order", "KEY",
	 "start, end, duration, cpu_time, inclusive_cpu_time, exclusive_time, rssmax, pid, depth, "
	 "children or descendants; with - in front descending",
	 .call = take_order, .takes = proc_orders},
	{OPT_COUNT, 'n', "limit", "N", "at most so many", AT(struct procs_options, filter.limit)},
	{OPT_COUNT, 0, "offset", "N", "leave out the first so many",
	 AT(struct procs_options, filter.offset)},
	{OPT_FIXED, 0, "csv", NULL, "print CSV", AT(struct procs_options, form),
	 .number = PROC_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct procs_options, form),
	 .number = PROC_JSON},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct procs_options defaults = {.filter = {.pid = -1, .limit = NO_LIMIT}};

const struct command command_procs = {
	.name = "procs",
	.summary = "list the processes of a job of the store",
	.arguments = "[JOB]",
	.description =
		"Lists every program image of a job in the order of their start unless --order says "
		"otherwise. Filters may be combined: a process must pass all of them.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored "
		"last (the default).\n\n"
		"JSON has the names of plimsoll-metrics(7) and what follows from them: cpu_time "
		"(user and system), inclusive_cpu_time (with all descendants), exclusive_time (wall "
		"time that no child covers), parent (its process id), depth, children and descendants "
		"in the process tree. A value that is not known is left out. Text that is not UTF-8 "
		"comes with U+FFFD in it and once more exactly under its name with _b64 behind. argv "
		"is exact where the collector recorded it; of jobs that another tool recorded it is the arguments split "
		"at blanks.",
	.examples = "  plimsoll procs last --order -cpu_time --limit 10\n"
		    "  plimsoll procs 685000 --tag op:hsmget --min-duration 1s\n"
		    "  plimsoll procs --json --failed last | jq -r '.[].argv[0]'\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
