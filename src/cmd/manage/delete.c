/* plimsoll delete: removes jobs from the store. */
#include <string.h>

#include "cmd/actions.h"
#include "core/text/text.h"
#include "store/job_admin.h"
#include "store/query.h"

static void print_deleted(const char *id, const char *name)
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
		log_error("cannot delete job %s: %s", name, store_error(s));
	else if (ctx->verbosity >= 0)
		print_deleted(id ? id : name, name);
	store_rollback(s);
	return r;
}

int do_delete(struct context *ctx, int argc, char **argv)
{
	_cleanup_store_ struct store *s = NULL;
	int failed = 0;

	if (!argc)
		return usage_error("delete", "delete: missing JOB");
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	for (int i = 0; i < argc; i++)
		failed += delete_one(ctx, s, argv[i]) < 0;
	return failed ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {ROWS_STORE};

const struct command command_delete = {
	.name = "delete",
	.summary = "remove jobs from the store",
	.operands =
		{"JOB", 1, ANY_NUMBER,
		 "JOB is a complete job id (ID@START or ID@CLUSTER if several jobs share the id), "
		 "the name of exactly one job, or `last`, the job stored last."},
	.description =
		"Removes jobs with all their processes, each in one transaction. The files that "
		"they were submitted from are not touched.",
	.examples = "  plimsoll delete 685000 685003\n",
	.options = rows,
	.run = do_delete,
};
