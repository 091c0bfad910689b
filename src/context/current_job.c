/* See current_job.h. */
#include "context/current_job.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/util.h"
#include "jobs/job_hosts.h"
#include "jobs/metadata.h"
#include "jobs/request.h"
#include "jobs/scheduler.h"

void job_forget_inherited(struct context *ctx)
{
	config_set(&ctx->config, SETTING_JOB, "", "default");
	config_set(&ctx->config, SETTING_JOBDIR, "", "default");
	unsetenv("PLIMSOLL_RUN");
}

void job_forget_outer(struct context *ctx)
{
	const char *left = getenv("PLIMSOLL_CONTEXT"), *job = config_get(&ctx->config, SETTING_JOB);
	size_t n = left ? strcspn(left, " ") : 0;

	if (!left || !left[n])
		return;
	_cleanup_free_ char *here = scheduler_context(env_lookup);
	if (strlen(job) != n || strncmp(job, left, n) != 0)
		config_set(&ctx->config, SETTING_JOBDIR, "", "default");
	else if (!scheduler_same_context(left + n + 1, here))
		job_forget_inherited(ctx);
}

/* Two clusters may use the same job ids: if the directory is of another cluster, appends the name
 * of ours to the id. */
static char *of_this_cluster(struct context *ctx, const char *id)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_value_ struct value *meta = NULL;
	const char *cluster = getenv("SLURM_CLUSTER_NAME");

	if (cluster && *cluster &&
	    job_directory_open(&j, &ctx->config, job_layout(ctx), id, false, &why) == 0 &&
	    job_directory_read_meta(&j, &meta, NULL, &why) == 0) {
		const char *other = value_get_str(value_get(meta, "scheduler"), "cluster");

		if (!other)
			other = value_get_str(metadata_batch_environment(meta),
					      "SLURM_CLUSTER_NAME");
		if (other && strcmp(other, cluster) != 0)
			return xasprintf("%s@%s", id, cluster);
	}
	return xstrdup(id);
}

char *job_identify(struct context *ctx, enum job_origin *ret)
{
	const char *id = config_get(&ctx->config, SETTING_JOB);
	const struct scheduler *s;
	enum job_origin origin = JOB_NAMED;
	char *found = NULL;

	if (*id) {
		found = xstrdup(id);
	} else if ((s = scheduler_find(env_lookup, &id))) {
		origin = JOB_SCHEDULER;
		_cleanup_free_ char *own = scheduler_job_id(s, env_lookup, id);
		found = of_this_cluster(ctx, own);
	} else if (ctx->personality->follows_session && (found = current_job_get(&ctx->config))) {
		origin = JOB_SESSION;
	} else {
		origin = JOB_NONE;
	}
	if (ret)
		*ret = origin;
	return found;
}

const char *job_inherited_dir(const struct context *ctx)
{
	const char *dir = config_get(&ctx->config, SETTING_JOBDIR);
	bool named = str_prefix(ctx->config.origin[SETTING_JOB], "flag");

	return *dir && !named && ctx->personality->follows_session ? dir : NULL;
}

const struct job_layout *job_layout(const struct context *ctx)
{
	return ctx->personality->layout ? ctx->personality->layout : &job_layout_native;
}

/* Without an id: for reading the last job of all, for changing only the last one of this session.
 */
static int open_last(struct context *ctx, struct job_directory *j, bool look, struct strbuf *why)
{
	bool may = ctx->personality->follows_session;
	_cleanup_free_ char *own = may ? session_job_get(&ctx->config) : NULL;
	_cleanup_free_ char *last = may ? last_job_get(&ctx->config) : NULL;

	const char *meant = own ? own : look ? last : NULL;
	int r = meant ? job_directory_open_path(j, &ctx->config, meant, NULL, false, why) : -ENOENT;
	if (meant && r != -ENOENT)
		return r;
	strbuf_reset(why);
	if (meant)
		strbuf_addf(
			why,
			"no current job: the last one%s, '%s', was staged or removed; name a job, "
			"a directory or an archive (`plimsoll list` lists the stored jobs)",
			own ? " of this session" : "", meant);
	else if (last)
		strbuf_addf(
			why,
			"this session has run no job; name one (the last job of another session "
			"is '%s')",
			last);
	else
		strbuf_addstr(why,
			      "no current job: no batch job id, no `start` and no `run` in this "
			      "session; name a job directory or set PLIMSOLL_JOB");
	return -ENOENT;
}

int job_open_current(struct context *ctx, struct job_directory *j, bool look)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	enum job_origin origin;
	_cleanup_free_ char *id = job_identify(ctx, &origin);
	const char *dir = job_inherited_dir(ctx);
	int r;

	if (dir) {
		r = job_directory_open_path(j, &ctx->config, dir, id, false, &why);
	} else if (!id) {
		r = open_last(ctx, j, look, &why);
	} else {
		r = job_directory_open(j, &ctx->config, job_layout(ctx), id, false, &why);
	}
	if (r == -ENOENT && id)
		log_error(
			"job %s has no directory; `%s start` or `%s run` creates one, unless the job "
			"was staged or removed",
			id, ctx->program, ctx->program);
	else if (r < 0)
		log_error("%s", why.buf);
	return r;
}

bool looks_like_path(const char *s)
{
	return strchr(s, '/') != NULL || !strcmp(s, ".") || !strcmp(s, "..");
}

const char *batch_job_name(void)
{
	const char *id;
	const struct scheduler *s = scheduler_find(env_lookup, &id);
	const char *name = s && s->jobname ? getenv(s->jobname) : NULL;

	return name && *name ? name : NULL;
}

/* The name of a job: given, from the batch system, of the script, or of the interactive shell if
 * the layout has that. A session that is a job has its id as a name. */
static char *job_name(const struct context *ctx, const struct job_directory *j, const char *given,
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
	return j->layout->shell_named ? calling_shell() : NULL;
}

struct value *new_metadata(struct context *ctx, const struct job_directory *j, const char *name)
{
	const char *named = getenv("JOB_SCRIPTNAME");
	_cleanup_free_ char *script = named && *named ? xstrdup(named) : calling_script();
	_cleanup_free_ char *user = effective_user();
	_cleanup_free_ char *title = job_name(ctx, j, name, script);
	struct job_description f = {j->id, title, user, script, clock_realtime_us()};

	return meta_start(j->layout, &ctx->config, &f, environment_metadata(&ctx->config, environ));
}

void add_request(const struct context *ctx, struct value *metadata)
{
	struct value *request =
		request_metadata(strcmp(config_get(&ctx->config, SETTING_ASK_BATCH), "no") != 0);

	if (request)
		value_set(metadata, "request", request);
}

/* Has the job in the environment ended, or is it gone? A job that a `run` began can always be
 * joined. */
static bool is_over(struct context *ctx, const char *dir)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	if (!getenv("PLIMSOLL_CONTEXT"))
		return false;
	if (job_directory_open_path(&j, &ctx->config, dir, NULL, false, &why) < 0)
		return true;
	return job_directory_read_meta(&j, &meta, &stopped, &why) == 0 && stopped &&
	       !value_get(meta, "started_by_run");
}

bool job_is_begun(struct context *ctx, const char *dir)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	enum job_origin origin;
	_cleanup_free_ char *id = job_identify(ctx, &origin);
	const char *named = dir ? dir : job_inherited_dir(ctx);
	int r = -ENOENT;

	if (named)
		r = job_directory_open_path(&j, &ctx->config, named, id, false, &ignored);
	else if (id)
		r = job_directory_open(&j, &ctx->config, job_layout(ctx), id, false, &ignored);
	return r == 0 && job_directory_has_meta(&j) && (dir || !named || !is_over(ctx, named));
}

int job_open_or_make(struct context *ctx, const char *dir, struct job_directory *j,
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
		r = job_directory_open_path(j, &ctx->config, dir, id, true, &why);
	else
		r = job_directory_open(j, &ctx->config, job_layout(ctx), id, true, &why);
	if (r < 0)
		log_error("cannot prepare job %s: %s", id, why.len ? why.buf : strerror(-r));
	return r;
}

/* Only one rank prints messages. */
static bool speaks_for_ranks(void)
{
	const char *task = getenv("SLURM_PROCID");
	uint64_t rank, size;

	if (!launcher_rank(env_lookup, &rank, &size) && (!task || parse_u64(task, &rank) < 0))
		return true;
	return rank == 0;
}

void job_join(struct context *ctx, const struct job_directory *j, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	const char *tags = config_get(&ctx->config, SETTING_JOB_TAGS);
	bool stopped = false;

	if (!name && !*tags)
		return;
	_cleanup_close_ int lock = job_directory_lock(j);
	if (job_directory_read_meta(j, &meta, &stopped, &why) < 0)
		return; /* it is being written, or damaged, which its readers report
			 */
	const char *called = value_get_str(meta, "jobname");
	if (name && called && strcmp(name, called) != 0 && speaks_for_ranks())
		log_warn("ignoring the name '%s': this run is part of job %s, which is named '%s'",
			 name, j->id, called);
	if (!meta_add_tags(meta, tags))
		return;
	int r = job_directory_write_meta(j, meta, stopped);
	if (r < 0)
		log_warn("cannot add the tags of this run to job %s: cannot write its metadata in "
			 "'%s': %s",
			 j->id, j->path, strerror(-r));
}

void warn_of_own_disk(const struct job_directory *j)
{
	const char *id;
	const struct scheduler *s = scheduler_find(env_lookup, &id);
	_cleanup_value_ struct value *metadata = s ? scheduler_metadata(s, env_lookup) : NULL;
	const char *hosts = value_get_str(metadata, "node_count");
	uint64_t n = 0;

	if (hosts && parse_u64(hosts, &n) == 0 && n > 1 && !fs_is_network(j->fd))
		log_warn(
			"job %s has %s hosts, but '%s' is on the local disk of this host: each host "
			"keeps its own part, %s; set prefix to a shared directory to keep the job "
			"in one place",
			j->id, hosts, j->path,
			j->layout->single_part
				? "and the store takes only the first"
				: "and they become one job when the part of each host is submitted");
}
