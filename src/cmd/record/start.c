/* plimsoll start: a job begins. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "jobs/job_hosts.h"
#include "jobs/metadata.h"
#include "jobs/scheduler.h"
#include "sources/cgroup/cgroup.h"

static int already(const struct start_options *o, const struct jobdir *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	(void)jobdir_read_meta(j, &meta, &stopped, &why);
	if (o->error) {
		log_error("job %s was %s already, in '%s'", j->id, stopped ? "stopped" : "started",
			  j->path);
		return EXIT_FAILED;
	}
	log_warn("job %s was %s already, in '%s': nothing to do", j->id,
		 stopped ? "stopped" : "started", j->path);
	return EXIT_OK;
}

/* What limits the job's memory here, and how many processes were killed for it before. `stop`
 * looks again. */
static void add_limits(struct value *meta)
{
	struct cgroup_memory now;
	struct value *v = value_new(VALUE_DICT);

	cgroup_memory_read("", &now);
	if (now.limit)
		value_set(v, "memory", value_int((int64_t)now.limit));
	if (now.counted)
		value_set(v, "oom_kills_before", value_int((int64_t)now.oom_kills));
	value_set(meta, "limits", v);
}

int do_start(struct context *ctx, const struct start_options *o)
{
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	enum job_origin origin;

	if (job_open_or_make(ctx, o->dir, &j, &origin) < 0)
		return EXIT_FAILED;
	_cleanup_value_ struct value *meta = new_metadata(ctx, &j, o->name);
	if (!j.layout->fixed_keys)
		add_limits(meta);
	int r = jobdir_create_meta(&j, meta);
	if (r == -EEXIST)
		return already(o, &j);
	if (r < 0) {
		log_error("cannot write the metadata of job %s in '%s': %s", j.id, j.path,
			  strerror(-r));
		return EXIT_FAILED;
	}
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

static int run(struct context *ctx, int argc, char **argv)
{
	if (argc)
		return usage_error("start", "start takes no argument, '%s' was given", argv[0]);
	struct start_options *o = ctx->options;
	o->print = ctx->verbosity >= 0;
	return do_start(ctx, o);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL, "fail when the job was started already",
	 AT(struct start_options, error)},
	{OPT_TEXT, 'o', "output", "DIR", "the job's directory, instead of one below the prefix",
	 AT(struct start_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's",
	 .setting = SETTING_JOB},
	{OPT_TEXT, 'N', "name", "NAME", "name of the job", AT(struct start_options, name)},
	{OPT_SETTING, 't', "tags", "TAGS", "tags of the job, key:value;key:value",
	 .setting = SETTING_JOB_TAGS},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_start = {
	.name = "start",
	.summary = "begin a job",
	.arguments = "",
	.description =
		"Makes the directory of the job and writes down who runs it, where, under which "
		"batch system and in which environment (values that look like secrets are masked). "
		"Prints the job id.\n\n"
		"The job id is the batch system's: Slurm, PBS, OAR, LSF, Flux, Grid Engine. Outside of "
		"those a new id is made, and `run`, `stop` and the others find it in the same "
		"terminal session.",
	.examples = "  plimsoll start && plimsoll run ./a && plimsoll run ./b && plimsoll stop\n",
	.options = rows,
	.options_size = sizeof(struct start_options),
	.run = run,
};
