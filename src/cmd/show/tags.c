/* plimsoll tags: which tags there are, and on how many jobs or processes. */
#include <string.h>

#include "cmd/actions.h"
#include "views/tag_list.h"

struct tags_options {
	enum proc_form form;
};

/* Why there is nothing to see: tags may be those of the job itself. */
static void tell_none(struct store *s, const char *name, int64_t job)
{
	_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT;
	_cleanup_free_ char *own = job_id_of(s, job);
	const char *id = own ? own : name;

	if (job_tags_text(s, job, &tags) < 0)
		log_error("%s", store_error(s));
	else if (tags.len)
		log_warn("no process of job %s has tags; the job itself has %s", id, tags.buf);
	else
		log_warn("no process of job %s has tags, nor has the job; `plimsoll tag` sets "
			 "those of a job",
			 id);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct tags_options *o = ctx->options;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ int64_t *jobs = xcalloc((size_t)argc, sizeof(*jobs));

	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	for (int i = 0; i < argc; i++)
		if (job_find(s, argv[i], &jobs[i], &why) < 0) {
			log_error("%s", why.buf);
			return EXIT_FAILED;
		}
	int r = argc ? proc_tags_print(s, jobs, (size_t)argc, o->form, stdout)
		     : job_tags_print(s, o->form, stdout);
	if (r == 0 && o->form == PROC_TABLE && !argc)
		log_warn("no job in '%s' has tags; `plimsoll tag` sets some", s->where);
	for (int i = 0; i < argc && r == 0 && o->form == PROC_TABLE; i++)
		tell_none(s, argv[i], jobs[i]);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FIXED, 0, "csv", NULL, "print CSV", AT(struct tags_options, form), .number = PROC_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct tags_options, form),
	 .number = PROC_JSON},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_tags = {
	.name = "tags",
	.summary = "list the tags of jobs, or of a job's processes",
	.arguments = "[JOB...]",
	.description =
		"Without an argument: every key and value that jobs of the store are tagged with, and "
		"on how many jobs. With jobs: the different tags of their processes, and on how many "
		"processes; tags that name the same keys and values in another order are the same. Those of a job "
		"itself are in `plimsoll show`, and told here where its processes have none.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last.",
	.examples = "  plimsoll tags\n"
		    "  plimsoll tags --json 685000 | jq '.[] | select(.tags.op == \"dmput\")'\n",
	.options = rows,
	.options_size = sizeof(struct tags_options),
	.run = run,
};
