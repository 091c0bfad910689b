/* plimsoll tags: the tags in use, and how many jobs or processes have each. */
#include <string.h>

#include "cmd/actions.h"
#include "views/tag_list.h"

struct tags_options {
	enum proc_form form;
};

/* Reports why nothing is listed: perhaps only the job itself has tags. */
static void report_none(struct store *s, const char *name, int64_t job)
{
	_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT;
	_cleanup_free_ char *own = job_id_of(s, job);
	const char *id = own ? own : name;

	if (job_tags_text(s, job, &tags) < 0)
		log_error("%s", store_error(s));
	else if (tags.len)
		log_warn("no process of job %s has tags; the job itself has %s", id, tags.buf);
	else
		log_warn(
			"neither job %s nor its processes have tags; set tags of a job with `plimsoll "
			"tag`",
			id);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct tags_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_free_ int64_t *jobs = xcalloc((size_t)argc, sizeof(*jobs));

	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	for (int i = 0; i < argc; i++)
		if ((jobs[i] = find_stored_job(s, argv[i])) < 0)
			return EXIT_FAILED;
	int r = argc ? proc_tags_print(s, jobs, (size_t)argc, o->form, stdout)
		     : job_tags_print(s, o->form, stdout);
	if (r == 0 && o->form == PROC_TABLE && !argc)
		log_warn("no job in '%s' has tags; set some with `plimsoll tag`", s->where);
	for (int i = 0; i < argc && r == 0 && o->form == PROC_TABLE; i++)
		report_none(s, argv[i], jobs[i]);
	return report_store_error(s, r);
}

static const struct option_row rows[] = {ROWS_FORM(struct tags_options), ROWS_STORE};

const struct command command_tags = {
	.name = "tags",
	.summary = "list the tags of jobs, or of the processes of jobs",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB},
	.description =
		"Without an argument, lists every tag of the jobs of the store and how many jobs have "
		"it. With jobs, lists the distinct tags of their processes and how many processes have "
		"each; the order of keys does not matter. `plimsoll show` prints the tags of a job "
		"itself.",
	.examples = "  plimsoll tags\n"
		    "  plimsoll tags --json 685000 | jq '.[] | select(.tags.op == \"dmput\")'\n",
	OPTIONS(struct tags_options, rows),
	.run = run,
};
