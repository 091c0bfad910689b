/* plimsoll stop: ends a job. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "core/module.h"
#include "jobs/metadata.h"
#include "sources/cgroup/cgroup.h"

/* A job that `start` began ends now. A job that a run began ended with that run or, if the run was
 * killed, with the last record. */
static int64_t end_of_job(const struct job_directory *j, const struct value *meta,
			  const struct value *runs)
{
	int64_t now = clock_realtime_us(), last;

	if (!value_get(meta, "started_by_run") || runs_exitcode(runs) >= 0)
		return now;
	last = job_directory_last_written_us(j);
	return last && last < now ? last : now;
}

static bool count_of(const struct value *limits, const char *key, uint64_t *ret)
{
	const struct value *v = value_get(limits, key);

	if (!v || v->kind != VALUE_INT || v->integer < 0)
		return false;
	*ret = (uint64_t)v->integer;
	return true;
}

/* Counts what the limits of the job did since `start`, if that was on this host. */
static void count_limits(struct value *meta)
{
	struct value *limits = value_get(meta, "limits");
	const char *where = value_get_str(meta, "host");
	struct cgroup_limits now, before = {0};
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	if (!limits || limits->kind != VALUE_DICT || !where || strcmp(where, host) != 0)
		return;
	before.kills_counted = count_of(limits, "oom_kills_before", &before.oom_kills);
	before.throttling_counted =
		count_of(limits, "cpu_throttled_us_before", &before.throttled_us);
	cgroup_limits_read("", &now);
	cgroup_limits_since(&before, &now);
	if (now.kills_counted)
		value_set(limits, "oom_kills", value_int((int64_t)now.oom_kills));
	if (now.throttling_counted)
		value_set(limits, "cpu_throttled_us", value_int((int64_t)now.throttled_us));
}

/* Were steps recorded after the job was stopped? Then it ends again. */
static bool went_on(const struct value *meta, const struct value *runs)
{
	const struct value *stop = value_get(meta, "stop_us");

	if (value_get(meta, "started_by_run") || !stop || stop->kind != VALUE_INT)
		return false;
	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *end = value_get(runs->list.items[i], "end_us");

		if (end && end->kind == VALUE_INT && end->integer > stop->integer)
			return true;
	}
	return false;
}

static int stop_job(struct context *ctx, const struct stop_options *o,
		    const struct job_directory *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_close_ int lock = job_directory_lock(j);
	bool stopped = false;

	int r = job_directory_read_meta(j, &meta, &stopped, &why);
	if (r < 0)
		return fail_with(EXIT_FAILED, "%s",
				 r == -ENOENT ? "the job was never started; run `start` first"
					      : why.buf);
	_cleanup_value_ struct value *runs = job_directory_runs(j);
	if (stopped && !went_on(meta, runs)) {
		if (o->error)
			log_error("job %s was already stopped", j->id);
		else
			log_warn("job %s was already stopped; nothing to do", j->id);
		return o->error ? EXIT_FAILED : EXIT_OK;
	}
	int64_t end_us = end_of_job(j, meta, runs);
	if (job_directory_collect_ended(j, &why) < 0)
		log_warn("%s", why.buf);
	count_limits(meta);
	/* tags may be set while the job runs; the last value of a key counts */
	if (!j->layout->stop_tags)
		(void)meta_add_tags(meta, config_get(&ctx->config, SETTING_JOB_TAGS));
	j->layout->stop(meta, &ctx->config, end_us,
			o->exitcode >= 0 ? o->exitcode : runs_exitcode(runs), o->reason,
			environment_metadata(&ctx->config, environ));
	r = job_directory_write_meta(j, meta, true);
	if (r < 0)
		return fail_with(EXIT_FAILED, "cannot write the metadata of job %s in '%s': %s",
				 j->id, j->path, strerror(-r));
	return EXIT_OK;
}

/* Warns if the calling shell still records into the stopped job. */
static void warn_recording_shell(const struct context *ctx, const struct job_directory *j)
{
	_cleanup_free_ char *left = xasprintf("%s_LD_PRELOAD", ctx->personality->variable_prefix);
	const char *sourced = getenv(left);
	const char *dir = getenv("PLIMSOLL_JOBDIR"), *preload = getenv("LD_PRELOAD");
	_cleanup_free_ char *library = preload_library();

	if (sourced && dir && !strcmp(dir, j->path) && preload && strstr(preload, library))
		log_warn(
			"this shell still records into job %s, which is stopped; run %s_uninstrument "
			"to end that",
			j->id, ctx->personality->shell_prefix);
}

int do_stop(struct context *ctx, const struct stop_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;

	if (o->dir) {
		if (job_directory_open_path(&j, &ctx->config, o->dir, NULL, false, &why) < 0)
			return fail_with(EXIT_FAILED, "%s", why.buf);
	} else if (job_open_current(ctx, &j, false) < 0) {
		return EXIT_FAILED;
	}
	int status = stop_job(ctx, o, &j);
	if (status == EXIT_OK && export_job(ctx, &j) < 0)
		status = EXIT_FAILED;
	if (status == EXIT_OK) {
		log_info("job %s stopped", j.id);
		warn_recording_shell(ctx, &j);
		if (ctx->personality->follows_session) {
			current_job_clear(&ctx->config);
			(void)last_job_set(&ctx->config, j.path);
		}
	}
	return status;
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	return do_stop(ctx, ctx->options);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL, "fail if the job was already stopped",
	 AT(struct stop_options, error)},
	{OPT_TEXT, 'o', "output", "DIR", "job directory, instead of the current job's",
	 AT(struct stop_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's",
	 .setting = SETTING_JOB},
	{OPT_COUNT, 'x', "exitcode", "N",
	 "exit status of the job, instead of that of the first failed run",
	 AT(struct stop_options, exitcode), RANGE(0, 255)},
	{OPT_TEXT, 0, "reason", "TEXT", "why the job ended", AT(struct stop_options, reason)},
	ROWS_COMMON,
};

const struct command command_stop = {
	.name = "stop",
	.summary = "end a job",
	.description =
		"Records when the job ended, its exit status, and what changed in its environment. "
		"Moves records from the local disk of this host to the job directory. This also works "
		"if `run` was killed. A stopped job that has new runs ends again; `submit` adds "
		"them.\n\n"
		"A shell that records by `plimsoll source` goes on until plimsoll_uninstrument, which "
		"should come first; otherwise a warning says so. `plimsoll submit` stores the job.",
	.examples = "  plimsoll stop --exitcode $?\n",
	OPTIONS(struct stop_options, rows),
	.defaults = &(const struct stop_options){.exitcode = -1},
	.run = run,
};
