/* plimsoll threads: the threads of a job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "views/processes/process_list.h"

struct threads_options {
	int64_t pid;
	struct proc_page page;
	enum proc_form form;
};

/* Counts the processes that the preload library recorded; pid -1: any. */
static int64_t recorded_count(struct store *s, int64_t job, int64_t pid)
{
	int64_t count = 1;

	(void)store_number_of(
		s,
		"SELECT count(*) FROM process WHERE id BETWEEN $1 AND $2 AND ($3 < 0 OR "
		"pid = $3) AND (state >> 4) & 15 = 0",
		&count, db_int(store_key(job, 0)), db_int(store_key(job + 1, 0) - 1), db_int(pid));
	return count;
}

/* Reports why there is no thread to list. */
static void report_none(struct store *s, int64_t job, int64_t pid)
{
	_cleanup_filter_ struct filter *where = filter_new(FILTER_PROCESSES);
	struct proc_filter of_pid = {.where = where, .limit = 1};
	_cleanup_(proc_list_release) struct proc_list l = {0};

	if (pid >= 0)
		filter_require_number(where, "pid", FILTER_IS, pid);
	bool any = proc_list_load(&l, s, job, &of_pid) >= 0 && l.count;

	if (pid >= 0 && !any)
		log_warn("the job has no process with id %lld; `plimsoll procs` lists all",
			 (long long)pid);
	else if (any && recorded_count(s, job, pid))
		log_warn("%s without its threads; record them with `plimsoll run --threads full`",
			 pid >= 0 ? "the process was recorded" : "the job was recorded");
	else if (any)
		log_warn("the threads of %s are not recorded: the library cannot be preloaded into "
			 "static, Go or setuid programs",
			 pid >= 0 ? "this process" : "the job");
	else
		tell_unrecorded(s, job);
}

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct threads_options *o = ctx->options;
	size_t rows = 0;
	int r = threads_print(s, job, o->pid, &o->page, o->form, stdout, &rows);

	if (r >= 0 && !rows && !o->page.offset && o->form == PROC_TABLE)
		report_none(s, job, o->pid);
	return r;
}

static const struct option_row rows[] = {
	{OPT_COUNT, 'p', "pid", "PID", "only threads of this process",
	 AT(struct threads_options, pid), .max = INT64_MAX},
	{OPT_COUNT, 'n', "limit", "N", "at most N threads", AT(struct threads_options, page.limit)},
	{OPT_COUNT, 0, "offset", "N", "skip the first N", AT(struct threads_options, page.offset)},
	ROWS_FORM(struct threads_options),
	ROWS_STORE,
};

const struct command command_threads = {
	.name = "threads",
	.summary = "list the threads of a job of the store",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Lists every recorded thread, process by process, in order of start time. A process "
		"with a single thread is listed as that thread; a process whose threads were not "
		"recorded is omitted.\n\n"
		"WAITS and PREEMPTIONS count voluntary and involuntary context switches. JSON and CSV "
		"use the names of plimsoll-metrics(7); process is the id that `plimsoll procs` shows, "
		"n numbers the threads of a process from 1.",
	.examples = "  plimsoll threads last --pid 4711\n"
		    "  plimsoll threads --json last | jq 'max_by(.cpu_time)'\n",
	OPTIONS(struct threads_options, rows),
	.defaults = &(const struct threads_options){.pid = -1, .page.limit = UINT64_MAX},
	.show = show,
	.shows_unstored = true,
};
