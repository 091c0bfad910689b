/* plimsoll delete: jobs out of the store, each wholly. */
#include <errno.h>

#include "cmd/actions.h"
#include "store/manage.h"
#include "store/query.h"

static int delete_one(struct context *ctx, struct store *s, const char *jobid)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = store_begin(s);
	int64_t job = r == 0 ? store_find_job(s, jobid) : r;

	if (job > 0)
		r = store_delete_job(s, job);
	if (job > 0 && r == 0)
		r = store_commit(s);
	if (job == 0) {
		job_tell_no_id(s, jobid, &why);
		log_error("%s", why.buf);
	} else if (job < 0 || r < 0)
		log_error("job %s is not deleted: %s", jobid, store_error(s));
	else if (ctx->verbosity >= 0)
		printf("deleted %s\n", jobid);
	store_rollback(s);
	return job > 0 && r == 0 ? 0 : -1;
}

int do_delete(struct context *ctx, int argc, char **argv)
{
	_cleanup_store_ struct store *s = NULL;
	int failed = 0;

	if (!argc)
		return usage_error("delete", "delete needs at least one job id");
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	for (int i = 0; i < argc; i++)
		failed += delete_one(ctx, s, argv[i]) < 0;
	return failed ? EXIT_FAILED : EXIT_OK;
}

static bool set(struct context *ctx, int id, const char *value)
{
	if (id == OPTION_DB)
		config_set(&ctx->config, SETTING_DB, value, "flag --db");
	return true;
}

const struct command command_delete = {
	.name = "delete",
	.summary = "remove jobs from the store",
	.arguments = "JOB...",
	.description = "Removes jobs with all their processes, each in one transaction. What they "
		       "were submitted from stays where it is.",
	.examples = "  plimsoll delete 685000 685003\n",
	.options =
		(const struct option_row[]){
			ROW_DB,
			ROW_VERBOSE,
			ROW_QUIET,
			ROW_END,
		},
	.set = set,
	.run = do_delete,
};
