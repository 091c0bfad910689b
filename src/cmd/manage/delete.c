/* plimsoll delete: jobs out of the store, each wholly. */
#include <string.h>

#include "cmd/actions.h"
#include "core/text/text.h"
#include "store/job_admin.h"
#include "store/query.h"

static void tell(const char *id, const char *name)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	text_add_printable(&line, id, strlen(id));
	if (strcmp(id, name) != 0) {
		strbuf_addstr(&line, " (");
		text_add_printable(&line, name, strlen(name));
		strbuf_addch(&line, ')');
	}
	printf("deleted %s\n", line.buf);
}

static int delete_one(struct context *ctx, struct store *s, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *id = NULL;
	int64_t job;
	int r = store_begin(s);

	if (r == 0)
		r = job_find_whole(s, name, &job, &why);
	if (r == 0) {
		id = job_id_of(s, job);
		r = store_delete_job(s, job);
	}
	if (r == 0)
		r = store_commit(s);
	if (r < 0 && why.len)
		log_error("%s", why.buf);
	else if (r < 0)
		log_error("job %s is not deleted: %s", name, store_error(s));
	else if (ctx->verbosity >= 0)
		tell(id ? id : name, name);
	store_rollback(s);
	return r;
}

int do_delete(struct context *ctx, int argc, char **argv)
{
	_cleanup_store_ struct store *s = NULL;
	int failed = 0;

	if (!argc)
		return usage_error("delete", "delete needs at least one job");
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	for (int i = 0; i < argc; i++)
		failed += delete_one(ctx, s, argv[i]) < 0;
	return failed ? EXIT_FAILED : EXIT_OK;
}

const struct command command_delete = {
	.name = "delete",
	.summary = "remove jobs from the store",
	.arguments = "JOB...",
	.description =
		"Removes jobs with all their processes, each in one transaction. What they "
		"were submitted from stays where it is.\n\n"
		"JOB is a whole job id (ID@START or ID@CLUSTER where several have it), a name that only one job has, or last for the job that "
		"was stored last.",
	.examples = "  plimsoll delete 685000 685003\n",
	.options =
		(const struct option_row[]){
			ROW_DB,
			ROW_VERBOSE,
			ROW_QUIET,
			ROW_END,
		},
	.run = do_delete,
};
