/* plimsoll stop: a job ends. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "core/module.h"
#include "jobs/metadata.h"
#include "sources/cgroup/cgroup.h"

/* `start` lets a job begin that `stop` ends. One that a run began ended with that run; where the
 * run was killed, nothing is known of it after what was written last. */
static int64_t end_of_job(const struct jobdir *j, const struct value *meta,
			  const struct value *runs)
{
	int64_t now = clock_realtime_us(), last;

	if (!value_get(meta, "started_by_run") || runs_exitcode(runs) >= 0)
		return now;
	last = jobdir_last_written_us(j);
	return last && last < now ? last : now;
}

/* Processes that were killed for memory since `start`, where that was on this host. */
static void count_kills(struct value *meta)
{
	struct value *limits = value_get(meta, "limits");
	const struct value *before = value_get(limits, "oom_kills_before");
	const char *where = value_get_str(meta, "host");
	struct cgroup_memory now;
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	cgroup_memory_read("", &now);
	if (before && before->kind == VALUE_INT && before->integer >= 0 && where &&
	    !strcmp(where, host) && now.counted && now.oom_kills >= (uint64_t)before->integer)
		value_set(limits, "oom_kills", value_int((int64_t)now.oom_kills - before->integer));
}

/* Steps that were recorded after the job was stopped: it ends anew. Runs end what a run began. */
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

static int stop_job(struct context *ctx, const struct stop_options *o, const struct jobdir *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_close_ int lock = jobdir_lock(j);
	bool stopped = false;

	int r = jobdir_read_meta(j, &meta, &stopped, &why);
	if (r < 0) {
		log_error("%s", r == -ENOENT ? "the job was never started: `start` comes first"
					     : why.buf);
		return EXIT_FAILED;
	}
	_cleanup_value_ struct value *runs = jobdir_runs(j);
	if (stopped && !went_on(meta, runs)) {
		if (o->error)
			log_error("job %s was stopped already", j->id);
		else
			log_warn("job %s was stopped already: nothing to do", j->id);
		return o->error ? EXIT_FAILED : EXIT_OK;
	}
	int64_t end_us = end_of_job(j, meta, runs);
	if (jobdir_collect_ended(j, &why) < 0)
		log_warn("%s", why.buf);
	count_kills(meta);
	/* tags may be set while the job runs; of one key, the last counts */
	if (!j->layout->stop_tags)
		(void)meta_add_tags(meta, config_get(&ctx->config, SETTING_JOB_TAGS));
	j->layout->stop(meta, &ctx->config, end_us,
			o->exitcode >= 0 ? o->exitcode : runs_exitcode(runs), o->reason,
			environment_facts(&ctx->config, environ));
	r = jobdir_write_meta(j, meta, true);
	if (r < 0) {
		log_error("cannot write the metadata of job %s in '%s': %s", j->id, j->path,
			  strerror(-r));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* A shell that `source` made record goes on with it, into a job that has ended. */
static void tell_recording_shell(const struct context *ctx, const struct jobdir *j)
{
	_cleanup_free_ char *left = xasprintf("%s_LD_PRELOAD", ctx->personality->variable_prefix);
	const char *sourced = getenv(left);
	const char *dir = getenv("PLIMSOLL_JOBDIR"), *preload = getenv("LD_PRELOAD");
	_cleanup_free_ char *library = preload_library();

	if (sourced && dir && !strcmp(dir, j->path) && preload && strstr(preload, library))
		log_warn("this shell still records into job %s, which is stopped: %s_uninstrument "
			 "ends that",
			 j->id, ctx->personality->shell_prefix);
}

int do_stop(struct context *ctx, const struct stop_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;

	if (o->dir) {
		if (jobdir_open_path(&j, &ctx->config, o->dir, NULL, false, &why) < 0) {
			log_error("%s", why.buf);
			return EXIT_FAILED;
		}
	} else if (job_open_current(ctx, &j, false) < 0) {
		return EXIT_FAILED;
	}
	int status = stop_job(ctx, o, &j);
	if (status == EXIT_OK && export_job(ctx, &j) < 0)
		status = EXIT_FAILED;
	if (status == EXIT_OK) {
		log_info("job %s stopped", j.id);
		tell_recording_shell(ctx, &j);
		if (ctx->personality->follows_session) {
			current_job_clear(&ctx->config);
			(void)last_job_set(&ctx->config, j.path);
		}
	}
	return status;
}

static const struct stop_options defaults = {.exitcode = -1};

static int run(struct context *ctx, int argc, char **argv)
{
	if (argc)
		return usage_error("stop", "stop takes no argument, '%s' was given", argv[0]);
	return do_stop(ctx, ctx->options);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL, "fail when the job was stopped already",
	 AT(struct stop_options, error)},
	{OPT_TEXT, 'o', "output", "DIR", "the job's directory, instead of the current job's",
	 AT(struct stop_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's",
	 .setting = SETTING_JOB},
	{OPT_COUNT, 'x', "exitcode", "N",
	 "exit status of the job, instead of the first failed run's",
	 AT(struct stop_options, exitcode), RANGE(0, 255)},
	{OPT_TEXT, 0, "reason", "TEXT", "why the job ended", AT(struct stop_options, reason)},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_stop = {
	.name = "stop",
	.summary = "end a job",
	.arguments = "",
	.description =
		"Writes down when the job ended, with which status, and what changed in its "
		"environment. Records that lay on this host's local disk are moved into the "
		"job's directory. Works after `run` was killed: what was recorded is there. A job "
		"that was stopped and has new runs since ends anew; `submit` adds them.\n\n"
		"A shell that `plimsoll source` made record goes on until plimsoll_uninstrument, which "
		"comes before this; a line says so where it does not. `plimsoll submit` puts the job into the store.",
	.examples = "  plimsoll stop --exitcode $?\n",
	.options = rows,
	.options_size = sizeof(struct stop_options),
	.defaults = &defaults,
	.run = run,
};
