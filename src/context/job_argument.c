/* Opens the job of a command; see job_argument.h. */
#include "context/job_argument.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "context/current_job.h"
#include "jobs/job_directory.h"
#include "jobs/metadata_file.h"
#include "store/import/import.h"
#include "store/query.h"
#include "store/viewer.h"

/* Prints the warnings of an import; for stored jobs `show` does. */
static void tell_warnings(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT text FROM job_warning WHERE job = $1 ORDER BY n", db_int(job));

	while (stmt_step(st) == 1)
		log_warn("%s", stmt_get_str(st, 0));
}

static int load_path(struct context *ctx, const char *path, struct store **ret, int64_t *ret_job,
		     struct strbuf *why)
{
	const struct import_options o = {.running = true};
	struct import_result in = {.details = STRBUF_INIT};

	if (!viewer_of_environment_may_read(path))
		return strbuf_fail(why, -ENOENT, "there is no job '%s'", path);
	int r = store_open(ret, ":memory:", STORE_WRITE, why);
	if (r == 0)
		r = import_submit(&ctx->config, *ret, path, &o, &in, why);
	if (r == 0)
		r = store_number(*ret, "SELECT max(no) FROM job", ret_job);
	if (r == 0)
		tell_warnings(*ret, *ret_job);
	else if (!why->len)
		strbuf_addstr(why, strerror(-r));
	import_result_release(&in);
	return r;
}

static int load_stored(struct context *ctx, const char *name, struct store **ret, int64_t *ret_job,
		       struct strbuf *why)
{
	int r = try_store(ctx, STORE_READ, ret, why);

	return r < 0 ? r : job_find(*ret, name, ret_job, why);
}

/* Was it recorded or staged, but not submitted? */
static bool waits(const struct context *ctx, const char *name)
{
	_cleanup_free_ char *at = job_directory_find(&ctx->config, name);

	return at && viewer_of_environment_may_read(at);
}

int job_argument_instead(struct context *ctx, const char *name, struct store **ret,
			 int64_t *ret_job, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf other = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	bool path = looks_like_path(name);
	int64_t job;

	int r = load_stored(ctx, path ? path_base(name) : name, &s, &job, &other);
	if (r == 0 && !path) {
		strbuf_reset(why);
		*ret_job = job;
		*ret = s;
		s = NULL;
		return 0;
	}
	if (r == 0) {
		strbuf_addf(why, "; the store has a job named '%s'", path_base(name));
		return -ENOENT;
	}
	if (r == -ENOENT && s && !path && waits(ctx, name)) {
		strbuf_reset(why);
		strbuf_addstr(why, other.buf);
		return r;
	}
	if (r == -ENOENT && s && !path)
		strbuf_addf(why, "; '%s' has no such job either; `plimsoll list` lists its jobs",
			    s->where);
	if (r == -EEXIST && !path) {
		strbuf_reset(why);
		strbuf_addstr(why, other.buf);
	}
	return r;
}

bool job_argument_is_path(const char *name)
{
	struct stat st;

	if (looks_like_path(name))
		return true;
	return stat(name, &st) == 0 &&
	       (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && strchr(name, '.')));
}

int job_path_metadata(struct context *ctx, const char *path, struct value **ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0 && S_ISDIR(st.st_mode)) {
		r = job_directory_open_path(&j, &ctx->config, path, NULL, false, &reason);
		if (r == 0)
			r = job_directory_read_meta(&j, ret, NULL, &reason);
		if (r == -ENOENT && !reason.len) {
			_cleanup_free_ char *names = metadata_names();

			strbuf_addf(&reason, "no metadata of a job in it (%s)", names);
		}
	} else if (r == 0) {
		r = meta_from_file(fd, ret, &reason);
	}
	if (r < 0)
		strbuf_addf(why, "cannot read '%s': %s", path,
			    reason.len ? reason.buf : strerror(-r));
	return r;
}

int job_argument_open(struct context *ctx, const char *name, struct store **ret, int64_t *ret_job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	bool path = job_argument_is_path(name);
	int r = path ? load_path(ctx, name, ret, ret_job, &why)
		     : load_stored(ctx, name, ret, ret_job, &why);

	if (r < 0 && path) {
		store_close(*ret);
		*ret = NULL;
		r = job_argument_instead(ctx, name, ret, ret_job, &why);
	}
	if (r < 0)
		log_error("%s", why.buf);
	return r;
}
