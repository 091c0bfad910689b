/* Which job a command is about. A path goes into a store of its own, in memory. */
#include "cmd/jobsource.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "store/input.h"
#include "store/query.h"

/* What was wrong with the files, which for a job of the store `show` tells. */
static void tell_warnings(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT text FROM job_warning WHERE job = $1 ORDER BY n");

	if (st)
		stmt_int(st, 1, job);
	while (st && stmt_step(st) == 1)
		log_warn("%s", stmt_get_str(st, 0));
}

static int load_path(struct context *ctx, const char *path, struct store **ret, int64_t *ret_job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct input_options o = {.running = true};
	struct input_result in = {.details = STRBUF_INIT};

	int r = store_open(ret, ":memory:", STORE_WRITE, &why);
	if (r == 0)
		r = input_submit(&ctx->config, *ret, path, &o, &in, &why);
	if (r == 0)
		r = store_number(*ret, "SELECT max(no) FROM job", ret_job);
	if (r < 0)
		log_error("%s", why.len ? why.buf : strerror(-r));
	else
		tell_warnings(*ret, *ret_job);
	input_result_release(&in);
	return r;
}

static int load_stored(struct context *ctx, const char *name, struct store **ret, int64_t *ret_job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = open_store(ctx, STORE_READ, ret);

	if (r < 0)
		return r;
	r = job_find(*ret, name, ret_job, &why);
	if (r < 0)
		log_error("%s", why.buf);
	return r;
}

bool job_source_is_path(const char *name)
{
	struct stat st;

	if (looks_like_path(name))
		return true;
	return stat(name, &st) == 0 &&
	       (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && strchr(name, '.')));
}

int job_source_open(struct context *ctx, const char *name, struct store **ret, int64_t *ret_job)
{
	return job_source_is_path(name) ? load_path(ctx, name, ret, ret_job)
					: load_stored(ctx, name, ret, ret_job);
}
