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

enum {
	OPT_EXE = 1,
	OPT_TAG,
	OPT_HOST,
	OPT_PID,
	OPT_MIN_CPU,
	OPT_MIN_DURATION,
	OPT_FAILED,
	OPT_ORDER,
	OPT_LIMIT,
	OPT_OFFSET,
	OPT_CSV
};

static bool set_tag(struct proc_filter *f, const char *value)
{
	if (f->tags.count == FILTER_WORDS_MAX) {
		usage_error("procs", "procs: at most %d times --tag", FILTER_WORDS_MAX);
		return false;
	}
	f->tags.word[f->tags.count++] = value;
	return true;
}

static bool set_duration(const char *option, const char *value, int64_t *to)
{
	uint64_t ns;

	if (parse_duration_ns(value, &ns) < 0) {
		usage_error("procs", "procs: %s wants a duration like 250ms, 10s or 2h, not '%s'",
			    option, value);
		return false;
	}
	*to = (int64_t)(ns / 1000);
	return true;
}

static bool set_number(const char *option, const char *value, uint64_t *to)
{
	if (parse_u64(value, to) == 0)
		return true;
	usage_error("procs", "procs: %s wants a number, not '%s'", option, value);
	return false;
}

static bool set_pid(struct proc_filter *f, const char *value)
{
	uint64_t pid;

	if (!set_number("--pid", value, &pid))
		return false;
	f->pid = pid > INT64_MAX ? INT64_MAX : (int64_t)pid;
	return true;
}

static bool set_order(struct proc_filter *f, const char *value)
{
	f->order = value;
	if (proc_order_known(value))
		return true;
	usage_error("procs", "procs: there is no order '%s': %s, with - in front descending", value,
		    proc_orders);
	return false;
}

static bool set(struct context *ctx, int id, const char *value)
{
	struct procs_options *o = ctx->options;
	struct proc_filter *f = &o->filter;

	switch (id) {
	case OPT_EXE:
		f->exe = value;
		return true;
	case OPT_TAG:
		return set_tag(f, value);
	case OPT_HOST:
		f->host = value;
		return true;
	case OPT_PID:
		return set_pid(f, value);
	case OPT_MIN_CPU:
		return set_duration("--min-cpu", value, &f->min_cpu);
	case OPT_MIN_DURATION:
		return set_duration("--min-duration", value, &f->min_duration);
	case OPT_FAILED:
		f->failed = true;
		return true;
	case OPT_ORDER:
		return set_order(f, value);
	case OPT_LIMIT:
		return set_number("--limit", value, &f->limit);
	case OPT_OFFSET:
		return set_number("--offset", value, &f->offset);
	case OPT_CSV:
		o->form = PROC_CSV;
		return true;
	case OPTION_JSON:
		o->form = PROC_JSON;
		return true;
	case OPTION_DB:
		config_set(&ctx->config, SETTING_DB, value, "flag --db");
		return true;
	default:
		return true;
	}
}

static const struct option_row rows[] = {
	{OPT_EXE, 0, "exe", "NAME", "programs of this name"},
	{OPT_TAG, 't', "tag", "KEY[:VALUE]",
	 "processes with this tag, or with any value of the key; given several times, all must be "
	 "there"},
	{OPT_HOST, 0, "host", "NAME", "processes on this host"},
	{OPT_PID, 'p', "pid", "PID", "programs that ran under this process id"},
	{OPT_MIN_CPU, 0, "min-cpu", "DURATION", "processes that used so much CPU time or more"},
	{OPT_MIN_DURATION, 0, "min-duration", "DURATION", "processes that took so long or longer"},
	{OPT_FAILED, 0, "failed", NULL,
	 "processes with an exit code other than 0, or ended by a signal"},
	{OPT_ORDER, 0, "order", "KEY",
	 "start, end, duration, cpu_time, inclusive_cpu_time, exclusive_time, rssmax, pid, depth, "
	 "children or descendants; with - in front descending"},
	{OPT_LIMIT, 'n', "limit", "N", "at most so many"},
	{OPT_OFFSET, 0, "offset", "N", "leave out the first so many"},
	{OPT_CSV, 0, "csv", NULL, "print CSV"},
	ROW_JSON,
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
	.set = set,
	.run = run,
};
