/* plimsoll where: where the core time of a job went. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "views/processes/process_list.h"
#include "views/where/where.h"

struct where_options {
	struct where_scope scope;
	const char *rank, *over;
	enum proc_form form;
};

static int print(const struct where *w, const struct where_options *o)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (o->form == PROC_CSV)
		return where_csv(w, stdout);
	if (o->form == PROC_JSON) {
		json_begin_object(&j, NULL);
		where_json(w, &j);
		json_end_object(&j);
		return json_write(&j, stdout);
	}
	where_text(w, o->over != NULL, isatty(STDOUT_FILENO) == 1, 0, &out);
	return fwrite(out.buf, 1, out.len, stdout) == out.len ? 0 : -EIO;
}

static int check(struct context *ctx)
{
	const struct where_options *o = ctx->options;
	int64_t rank;

	if (o->rank && (parse_i64(o->rank, &rank) < 0 || rank < 0))
		return fail_with(EXIT_USAGE, "'%.40s' is no rank: ranks are numbers from 0",
				 o->rank);
	if (o->over && strcmp(o->over, "time") != 0)
		return fail_with(EXIT_USAGE, "--over takes 'time', not '%.40s'", o->over);
	if (o->over && o->form == PROC_CSV)
		return fail_with(EXIT_USAGE, "--csv has the sums only; --json has the parts over "
					     "time, too");
	return EXIT_OK;
}

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct where_options *o = ctx->options;
	struct where_scope scope = o->scope;
	struct where w;

	scope.rank = -1;
	if (o->rank)
		(void)parse_i64(o->rank, &scope.rank);
	int r = where_load(&w, s, job, &scope, NULL);
	if (r == -ENOENT)
		return store_fail(
			s, ENOENT,
			scope.step ? "the job has no such step; `plimsoll efficiency` lists its "
				     "steps"
			: scope.host || scope.executable || o->rank || scope.process
				? "nothing of the job matches; `plimsoll procs` lists its "
				  "processes, `plimsoll show` its hosts"
				: "neither records nor samples of the job tell where its time "
				  "went; record it with `plimsoll run --sample 1s`");
	if (r < 0)
		return r;
	r = print(&w, o);
	where_release(&w);
	return r;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "host", "HOST", "only this host", AT(struct where_options, scope.host)},
	{OPT_TEXT, 0, "rank", "N", "only the processes of this rank",
	 AT(struct where_options, rank)},
	{OPT_TEXT, 0, "step", "STEP",
	 "only this step: of Slurm, by the tag 'step', or the number of a run in the job",
	 AT(struct where_options, scope.step)},
	{OPT_TEXT, 0, "executable", "NAME", "only processes of this program",
	 AT(struct where_options, scope.executable)},
	{OPT_TEXT, 0, "process", "PID", "only this process, by its number or as PID.START",
	 AT(struct where_options, scope.process)},
	{OPT_TEXT, 0, "over", "time", "show the parts over time as well",
	 AT(struct where_options, over)},
	ROWS_FORM(struct where_options),
	ROWS_STORE,
};

const struct command command_where = {
	.name = "where",
	.summary = "show where the core time of a job went",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Divides granted cores times duration into parts that add up to it: computing, work of "
		"the kernel, threads that were ready to run without a core, threads that waited for "
		"storage, other hosts, other processes, locks, timers or children, cores that had "
		"nothing to run, and what is not known. Granted are the cores of the batch system, of "
		"the affinity or of a CPU quota, whichever are fewest.\n\n"
		"One waiting thread explains at most one idle core: a thousand sleeping threads do not "
		"outweigh the one core that they could have used. With samples (`plimsoll run "
		"--sample 1s`) the division is made for each interval. Without, each program's time is "
		"spread evenly over its life, and what it waited for is mostly not known.\n\n"
		"Names may contain * and ?. A part of a job (--rank, --step, --executable, --process) "
		"is divided over the life of its processes, with one core for each of their threads, "
		"but not more than were granted.\n\n"
		"docs/where.md describes the parts and how they are found.",
	.examples = "  plimsoll where last\n"
		    "  plimsoll where 685000 --over time\n"
		    "  plimsoll where 685000 --executable model --json | jq '.parts[] | "
		    "select(.share > 0.1)'\n",
	OPTIONS(struct where_options, rows),
	.check = check,
	.show = show,
	.shows_unstored = true,
};
