/* plimsoll start: begins a job. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "jobs/job_hosts.h"
#include "jobs/metadata.h"
#include "jobs/scheduler.h"
#include "sources/cgroup/cgroup.h"

static int already(const struct start_options *o, const struct job_directory *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	(void)job_directory_read_meta(j, &meta, &stopped, &why);
	if (o->error)
		return fail_with(EXIT_FAILED, "job %s was already %s, in '%s'", j->id,
				 stopped ? "stopped" : "started", j->path);
	log_warn("job %s was already %s, in '%s'; nothing to do", j->id,
		 stopped ? "stopped" : "started", j->path);
	return EXIT_OK;
}

/* Records the limits of the job on this host, and what they did so far; `stop` counts again. */
static void add_limits(struct value *meta)
{
	struct cgroup_limits now;
	struct value *v = value_new(VALUE_DICT);

	cgroup_limits_read("", &now);
	if (now.memory)
		value_set(v, "memory", value_int((int64_t)now.memory));
	if (now.kills_counted)
		value_set(v, "oom_kills_before", value_int((int64_t)now.oom_kills));
	if (now.quota > 0)
		value_set(v, "cpu_quota_us", value_int((int64_t)(now.quota * 1e6)));
	if (now.throttling_counted)
		value_set(v, "cpu_throttled_us_before", value_int((int64_t)now.throttled_us));
	value_set(meta, "limits", v);
}

int do_start(struct context *ctx, const struct start_options *o)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	enum job_origin origin;

	if (job_open_or_make(ctx, o->dir, &j, &origin) < 0)
		return EXIT_FAILED;
	_cleanup_value_ struct value *meta = new_metadata(ctx, &j, o->name);
	if (!j.layout->fixed_keys) {
		add_limits(meta);
		add_request(ctx, meta);
	}
	int r = job_directory_create_meta(&j, meta);
	if (r == -EEXIST)
		return already(o, &j);
	if (r < 0)
		return fail_with(EXIT_FAILED, "cannot write the metadata of job %s in '%s': %s",
				 j.id, j.path, strerror(-r));
	if (origin == JOB_NONE && ctx->personality->follows_session)
		(void)current_job_set(&ctx->config, j.id, false);
	if (ctx->personality->follows_session)
		(void)last_job_set(&ctx->config, j.path);
	warn_of_own_disk(&j);
	log_info("job %s started in '%s'", j.id, j.path);
	if (o->print)
		puts(j.id);
	return EXIT_OK;
}

/* ---- command -------------------------------------------------------------------------------- */

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	struct start_options *o = ctx->options;

	o->print = ctx->verbosity >= 0;
	return do_start(ctx, o);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL, "fail if the job was already started",
	 AT(struct start_options, error)},
	{OPT_TEXT, 'o', "output", "DIR", "job directory, instead of one below the prefix",
	 AT(struct start_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's",
	 .setting = SETTING_JOB},
	{OPT_TEXT, 'N', "name", "NAME", "name of the job", AT(struct start_options, name)},
	{OPT_SETTING, 't', "tags", "TAGS", "tags of the job, key:value;key:value",
	 .setting = SETTING_JOB_TAGS},
	ROWS_COMMON,
};

const struct command command_start = {
	.name = "start",
	.summary = "begin a job",
	.description =
		"Creates the job directory and records who runs the job, where, under which batch "
		"system and in which environment (values that look like secrets are masked). Prints "
		"the job id.\n\n"
		"The job id is that of the batch system: Slurm, PBS, OAR, LSF, Flux, Grid Engine. "
		"Outside a batch job, a new id is made, which `run`, `stop` and the other commands "
		"find in the same terminal session.",
	.examples = "  plimsoll start && plimsoll run ./a && plimsoll run ./b && plimsoll stop\n",
	OPTIONS(struct start_options, rows),
	.run = run,
};
