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

static const char *lookup(const char *name)
{
	return getenv(name);
}

const char *batch_job_name(void)
{
	const char *id;
	const struct scheduler *s = scheduler_find(lookup, &id);
	const char *name = s && s->jobname ? getenv(s->jobname) : NULL;

	return name && *name ? name : NULL;
}

/* The given name for the job, the batch system's, the script's, or, of a shell that a person types
 * into, the shell's. EPMT says "unknown" of the last; a session that is a job has its id for a
 * name, which was told. */
static char *job_name(const struct context *ctx, const struct jobdir *j, const char *given,
		      const char *script)
{
	const char *name = batch_job_name();

	if (given)
		return xstrdup(given);
	if (name)
		return xstrdup(name);
	if ((name = getenv("JOB_NAME")) && *name)
		return xstrdup(name);
	if (!strcmp(ctx->config.origin[SETTING_JOB], SESSION_JOB))
		return xstrdup(j->id);
	if (script)
		return xstrdup(path_base(script));
	return j->layout == LAYOUT_NATIVE ? calling_shell() : NULL;
}

struct value *new_metadata(struct context *ctx, const struct jobdir *j, const char *name)
{
	const char *named = getenv("JOB_SCRIPTNAME");
	_cleanup_free_ char *script = named && *named ? xstrdup(named) : calling_script();
	_cleanup_free_ char *user = user_facts();
	_cleanup_free_ char *title = job_name(ctx, j, name, script);
	struct job_facts f = {j->id, title, user, script, clock_realtime_us()};

	return meta_start(j->layout, &ctx->config, &f, environment_facts(&ctx->config, environ));
}

/* Did the job that a shell still has in its environment end, or is it gone? One that a `run` began
 * may be joined for ever. */
static bool is_over(struct context *ctx, const char *dir)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	if (!getenv("PLIMSOLL_CONTEXT"))
		return false;
	if (jobdir_open_path(&j, &ctx->config, dir, NULL, false, &why) < 0)
		return true;
	return jobdir_read_meta(&j, &meta, &stopped, &why) == 0 && stopped &&
	       !value_get(meta, "started_by_run");
}

int job_open_or_make(struct context *ctx, const char *dir, struct jobdir *j,
		     enum job_origin *origin)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *inherited = job_inherited_dir(ctx);
	int r;

	if (!dir && inherited && is_over(ctx, inherited)) {
		job_forget_inherited(ctx);
		inherited = NULL;
	}
	_cleanup_free_ char *id = job_identify(ctx, origin);
	if (!dir)
		dir = inherited;
	if (!id)
		id = job_id_make();
	if (dir)
		r = jobdir_open_path(j, &ctx->config, dir, id, true, &why);
	else
		r = jobdir_open(j, &ctx->config, job_layout(ctx), id, true, &why);
	if (r < 0)
		log_error("cannot prepare job %s: %s", id, why.len ? why.buf : strerror(-r));
	return r;
}

/* One of many ranks speaks for all of them. */
static bool speaks_for_ranks(void)
{
	const char *task = getenv("SLURM_PROCID");
	uint64_t rank, size;

	if (!launcher_rank(lookup, &rank, &size) && (!task || parse_u64(task, &rank) < 0))
		return true;
	return rank == 0;
}

void job_join(struct context *ctx, const struct jobdir *j, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	const char *tags = config_get(&ctx->config, SETTING_JOB_TAGS);
	bool stopped = false;

	if (!name && !*tags)
		return;
	_cleanup_close_ int lock = jobdir_lock(j);
	if (jobdir_read_meta(j, &meta, &stopped, &why) < 0)
		return; /* whoever began it writes it now, or it is damaged, which its reader says
			 */
	const char *called = value_get_str(meta, "jobname");
	if (name && called && strcmp(name, called) != 0 && speaks_for_ranks())
		log_warn("the name '%s' of this run is not kept: it is part of job %s, which is "
			 "called '%s'",
			 name, j->id, called);
	if (!meta_add_tags(meta, tags))
		return;
	int r = jobdir_write_meta(j, meta, stopped);
	if (r < 0)
		log_warn("the tags of this run are not in job %s: cannot write its metadata in "
			 "'%s': %s",
			 j->id, j->path, strerror(-r));
}

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

void warn_of_own_disk(const struct jobdir *j)
{
	const char *id;
	const struct scheduler *s = scheduler_find(lookup, &id);
	_cleanup_value_ struct value *facts = s ? scheduler_facts(s, lookup) : NULL;
	const char *hosts = value_get_str(facts, "node_count");
	uint64_t n = 0;

	if (hosts && parse_u64(hosts, &n) == 0 && n > 1 && !fs_is_network(j->fd))
		log_warn(
			"job %s has %s hosts and '%s' is on this host's own disk: every host keeps "
			"a part of its own there, %s; with prefix on a directory that the hosts "
			"share it is one from the start",
			j->id, hosts, j->path,
			j->layout == LAYOUT_NATIVE
				? "and they become one job when the part of each host is submitted"
				: "and the store takes only the first");
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
	if (j.layout == LAYOUT_NATIVE)
		add_limits(meta);
	int r = jobdir_create_meta(&j, meta);
	if (r == -EEXIST)
		return already(o, &j);
	if (r < 0) {
		log_error("cannot write the metadata of job %s in '%s': %s", j.id, j.path,
			  strerror(-r));
		return EXIT_FAILED;
	}
	if (origin == JOB_NONE && ctx->as == AS_PLIMSOLL)
		(void)current_job_set(&ctx->config, j.id, false);
	if (ctx->as == AS_PLIMSOLL)
		(void)last_job_set(&ctx->config, j.path);
	warn_of_own_disk(&j);
	log_info("job %s started in '%s'", j.id, j.path);
	if (o->print)
		puts(j.id);
	return EXIT_OK;
}

/* ---- command -------------------------------------------------------------------------------- */

enum { OPT_ERROR = 1, OPT_OUTPUT, OPT_JOB, OPT_NAME, OPT_TAGS };

static bool set(struct context *ctx, int id, const char *value)
{
	struct start_options *o = ctx->options;

	switch (id) {
	case OPT_ERROR:
		o->error = true;
		break;
	case OPT_OUTPUT:
		o->dir = value;
		break;
	case OPT_JOB:
		config_set(&ctx->config, SETTING_JOB, value, "flag --job");
		break;
	case OPT_NAME:
		o->name = value;
		break;
	case OPT_TAGS:
		config_set(&ctx->config, SETTING_JOB_TAGS, value, "flag --tags");
		break;
	default:
		break;
	}
	return true;
}

static int run(struct context *ctx, int argc, char **argv)
{
	if (argc)
		return usage_error("start", "start takes no argument, '%s' was given", argv[0]);
	struct start_options *o = ctx->options;
	o->print = ctx->verbosity >= 0;
	return do_start(ctx, o);
}

static const struct option_row rows[] = {
	{OPT_ERROR, 'e', "error", NULL, "fail when the job was started already"},
	{OPT_OUTPUT, 'o', "output", "DIR", "the job's directory, instead of one below the prefix"},
	{OPT_JOB, 'j', "job", "ID", "job id, instead of the batch system's"},
	{OPT_NAME, 'N', "name", "NAME", "name of the job"},
	{OPT_TAGS, 't', "tags", "TAGS", "tags of the job, key:value;key:value"},
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
	.set = set,
	.run = run,
};
