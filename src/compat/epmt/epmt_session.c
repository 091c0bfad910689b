/*
 * Called as `epmt`: which job a command means. Without a batch system the session is the job, and
 * one session may run several, one after the other: 4711, 4711.2, 4711.3.
 *
 * A `run` that no `start` came before has a directory and no metadata. What it recorded is outside
 * of the time of a job that is started later under the same id, so it becomes a separate job.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "core/files/fs.h"
#include "jobs/metadata.h"
#include "run/run_internal.h"

enum state { ABSENT, WITHOUT_START, STARTED, STOPPED };

static enum state state_of(struct context *ctx, const char *id, struct job_directory *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	if (job_directory_open(j, &ctx->config, job_layout(ctx), id, false, &why) < 0)
		return ABSENT;
	int r = job_directory_read_meta(j, &meta, &stopped, &why);
	return r == -ENOENT ? WITHOUT_START : stopped ? STOPPED : STARTED;
}

static enum state state_by_id(struct context *ctx, const char *id)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;

	return state_of(ctx, id, &j);
}

/* ---- jobs without a batch system ------------------------------------------------------------ */

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

/* The name that the metadata get. */
static void say_script(void)
{
	_cleanup_free_ char *script = calling_script();

	if (script)
		log_warn("JOB_SCRIPTNAME unset: Using process name %s as JOB_SCRIPTNAME", script);
	else
		log_warn("JOB_SCRIPTNAME unset: no script called this, the job has none");
}

/* The newest job of the session, or where that is over the next one. */
static char *session_job(struct context *ctx, bool next)
{
	_cleanup_free_ char *session = xasprintf("%d", (int)getsid(0));
	char *id = xstrdup(session);

	for (unsigned n = 2;; n++) {
		char *later = xasprintf("%s.%u", session, n);

		if (state_by_id(ctx, later) == ABSENT) {
			if (next && state_by_id(ctx, id) == STOPPED) {
				free(id);
				return later;
			}
			free(later);
			return id;
		}
		free(id);
		id = later;
	}
}

void epmt_find_job(struct context *ctx, enum epmt_job which, bool say)
{
	_cleanup_free_ char *id = job_identify(ctx, NULL);

	if (id)
		return;
	id = session_job(ctx, which == EPMT_NEXT_JOB);
	config_set(&ctx->config, SETTING_JOB, id, SESSION_JOB);
	if (!say)
		return;
	log_warn("JOB_ID unset: Using session id %s as JOB_ID", id);
	if (!is_set("JOB_NAME"))
		log_warn("JOB_NAME unset: Using job id %s as JOB_NAME", id);
	if (!is_set("JOB_SCRIPTNAME"))
		say_script();
	if (!is_set("JOB_USER")) {
		_cleanup_free_ char *user = effective_user();

		log_warn("JOB_USER unset: Using username %s as JOB_USER", user);
	}
}

/* ---- runs outside of a job's time ----------------------------------------------------------- */

/* An id that no job has yet, for runs beside the job. */
static char *free_id(struct context *ctx, const char *id)
{
	char *apart = xasprintf("%s-runs", id);

	for (unsigned n = 2; state_by_id(ctx, apart) != ABSENT; n++) {
		free(apart);
		apart = xasprintf("%s-runs%u", id, n);
	}
	return apart;
}

static int64_t time_of(const struct value *run, const char *key)
{
	const struct value *v = value_get(run, key);

	return v && v->kind == VALUE_INT ? v->integer : 0;
}

/* Metadata of what the runs recorded, from what they wrote down themselves. */
static struct value *metadata_of_runs(struct context *ctx, const struct job_directory *j,
				      const char *id, const struct value *runs)
{
	_cleanup_free_ char *user = effective_user();
	int64_t begin = INT64_MAX, end = 0;

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *run = runs->list.items[i];
		int64_t from = time_of(run, "start_us"), to = time_of(run, "end_us");

		if (!to) /* it was killed */
			to = job_directory_last_written_us(j);
		begin = from < begin ? from : begin;
		end = to > end ? to : end;
	}
	struct job_description f = {id, id, user, NULL, begin};
	struct value *meta = job_layout_epmt.start(&ctx->config, &f,
						   environment_metadata(&ctx->config, environ));
	job_layout_epmt.stop(meta, &ctx->config, end, runs_exitcode(runs), NULL,
			     environment_metadata(&ctx->config, environ));
	return meta;
}

/* The job's directory gets its name last: until then it is without metadata under the old one. */
static int rename_job(const struct job_directory *j, const char *id, const struct value *meta)
{
	_cleanup_free_ char *parent =
		xstrndup(j->path, strlen(j->path) - strlen(path_base(j->path)));
	_cleanup_free_ char *to = xasprintf("%s%s", parent, id);

	if (renameat2(AT_FDCWD, j->path, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
		return -errno;
	return job_directory_write_meta(j, meta, true);
}

void epmt_set_runs_apart(struct context *ctx)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_free_ char *id = job_identify(ctx, NULL);

	if (!id || state_of(ctx, id, &j) != WITHOUT_START || !job_directory_all_ended(&j))
		return;
	_cleanup_value_ struct value *runs = job_directory_runs(&j);
	_cleanup_free_ char *apart = free_id(ctx, id);
	_cleanup_value_ struct value *meta = metadata_of_runs(ctx, &j, apart, runs);
	int r = rename_job(&j, apart, meta);
	if (r < 0)
		log_warn("%zu earlier %s recorded before the start of job %s and cannot be set "
			 "apart: %s",
			 runs->list.count, runs->list.count == 1 ? "run was" : "runs were", id,
			 strerror(-r));
	else
		log_warn("%zu earlier %s recorded before the start of job %s: now job %s of "
			 "%s own",
			 runs->list.count, runs->list.count == 1 ? "run was" : "runs were", id,
			 apart, runs->list.count == 1 ? "its" : "their");
}

bool epmt_run_apart(struct context *ctx)
{
	_cleanup_free_ char *id = job_identify(ctx, NULL);

	if (!id || state_by_id(ctx, id) != STOPPED)
		return false;
	_cleanup_free_ char *apart = free_id(ctx, id);
	log_warn("job %s was stopped already: this run becomes job %s", id, apart);
	config_set(&ctx->config, SETTING_JOB, apart, "a job of its own");
	return true;
}
