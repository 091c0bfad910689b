/* plimsoll threads: the threads of a job of the store. */
#include <string.h>

#include "cmd/actions.h"
#include "views/process_list.h"

struct threads_options {
	int64_t pid;
	enum proc_form form;
};

/* How many of the processes recorded themselves; pid -1: of all. */
static int64_t entered(struct store *s, int64_t job, int64_t pid)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT count(*) FROM process WHERE id BETWEEN $1 AND $2 AND ($3 < 0 OR pid = "
		   "$3) AND (state >> 4) & 15 = 0");

	if (!st)
		return 1;
	stmt_int(st, 1, store_key(job, 0));
	stmt_int(st, 2, store_key(job + 1, 0) - 1);
	stmt_int(st, 3, pid);
	return stmt_step(st) == 1 ? stmt_get_int(st, 0) : 1;
}

/* Why there is no thread to show. */
static void tell_none(struct store *s, int64_t job, int64_t pid)
{
	struct proc_filter of_pid = {.pid = pid, .limit = 1};
	_cleanup_(proc_list_release) struct proc_list l = {0};
	bool any = proc_list_load(&l, s, job, &of_pid) >= 0 && l.count;

	if (pid >= 0 && !any)
		log_warn("no process of the job has the id %lld; `plimsoll procs` shows them all",
			 (long long)pid);
	else if (any && entered(s, job, pid))
		log_warn("%s without its threads; `plimsoll run --threads full` records them",
			 pid >= 0 ? "the process was recorded" : "the job was recorded");
	else if (any)
		log_warn("the threads of %s are not recorded: the library cannot enter "
			 "programs that are static, of Go, or setuid",
			 pid >= 0 ? "this process" : "the job");
	else
		tell_unrecorded(s, job);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct threads_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t job;
	size_t rows = 0;

	if (argc > 1)
		return usage_error("threads", "threads takes one job");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (job_find(s, argc ? argv[0] : "last", &job, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	int r = threads_print(s, job, o->pid, o->form, stdout, &rows);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	else if (!rows && o->form == PROC_TABLE)
		tell_none(s, job, o->pid);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_COUNT, 'p', "pid", "PID", "only threads of this process",
	 AT(struct threads_options, pid), .max = INT64_MAX},
	{OPT_FIXED, 0, "csv", NULL, "print CSV", AT(struct threads_options, form),
	 .number = PROC_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct threads_options, form),
	 .number = PROC_JSON},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct threads_options defaults = {.pid = -1};

const struct command command_threads = {
	.name = "threads",
	.summary = "list the threads of a job of the store",
	.arguments = "[JOB]",
	.description =
		"Lists every thread that was recorded, process by process, in the order of their start. A process that had one "
		"thread is that thread; one whose threads were not recorded is left out.\n\n"
		"WAITS and PREEMPTIONS are how often the thread gave up its CPU to wait and how often it was "
		"taken away. JSON and CSV have the names of plimsoll-metrics(7); process is the id "
		"that `plimsoll procs` shows, n counts the threads of a process from 1.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last (the default).",
	.examples = "  plimsoll threads last --pid 4711\n"
		    "  plimsoll threads --json last | jq 'max_by(.cpu_time)'\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
