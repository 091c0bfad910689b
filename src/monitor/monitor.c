/* Sampling a job; see monitor.h. */
#include "monitor/monitor.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "jobs/hardware/hardware.h"
#include "jobs/metadata.h"
#include "monitor/monitor_internal.h"
#include "run/run_internal.h"
#include "run/signal_relay.h"
#include "run/supervisor.h"

#define MONITOR_LAYOUT(symbol, what) extern const struct monitor_layout monitor_layout_##symbol;
#include "monitor/monitor_layouts.def"
#undef MONITOR_LAYOUT

const struct monitor_layout *monitor_layout_find(const char *name)
{
	static const struct monitor_layout *const layouts[] = {
#define MONITOR_LAYOUT(symbol, what) &monitor_layout_##symbol,
#include "monitor/monitor_layouts.def"
#undef MONITOR_LAYOUT
		NULL,
	};

	for (const struct monitor_layout *const *l = layouts; *l; l++)
		if (!strcmp((*l)->name, name))
			return *l;
	return NULL;
}

/* ---- the job ---- */

/* Looks for processes until there are some. */
static int find_processes(struct monitoring *m, const struct job_processes_options *wo,
			  uint64_t patience)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t until = clock_boottime_ns() + patience;
	int r = job_processes_open(&m->watch, wo, &why);

	if (r < 0) {
		log_error("cannot find the job: %s", why.len ? why.buf : strerror(-r));
		return r;
	}
	m->watching = true;
	while ((r = job_processes_update(&m->watch)) == 0 && clock_boottime_ns() < until)
		monitor_sleep(m->o->find_every_ns);
	if (r > 0)
		return 0;
	if (r < 0)
		log_error("cannot look for the job's processes: %s", strerror(-r));
	return r < 0 ? r : -ESRCH;
}

static int find_job(struct monitoring *m)
{
	struct job_processes_options wo = m->o->watch;
	bool waits = wo.kind != JOB_PROCESSES_PIDS; /* a cgroup may be filled in a moment */
	int r = find_processes(m, &wo, waits ? m->o->find_ns : 0);

	if (r == -ESRCH && m->o->others_too && m->peers.expected > 1)
		log_warn("no process of the job runs on %s (%s): nothing is sampled there",
			 m->peers.self, m->watch.how);
	else if (r == -ESRCH)
		log_error("found no process of the job (%s)", m->watch.how);
	return r;
}

/* The command of the named process, if it is exactly one. */
static struct value *watched_command(const struct monitoring *m)
{
	const struct job_processes_options *w = &m->o->watch;

	if (m->o->command || w->kind != JOB_PROCESSES_PIDS || w->pid_count != 1)
		return NULL;
	return metadata_command_of(w->root ? w->root : "", w->pids[0]);
}

/* The name of the job, unless the batch system has one. */
static char *name_of(const struct monitoring *m)
{
	_cleanup_value_ struct value *watched = watched_command(m);
	const struct value *first = watched && watched->list.count ? watched->list.items[0] : NULL;

	if (m->o->name || m->o->command)
		return xstrdup(m->o->name ? m->o->name : path_base(m->o->command[0]));
	if (!first || !first->str.size || batch_job_name())
		return NULL;
	/* a login shell has a dash before its name */
	return xstrdup(path_base(first->str.data + (*first->str.data == '-')));
}

static void begin_metadata(struct monitoring *m, bool joins)
{
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	m->metadata = value_new(VALUE_DICT);
	value_set(m->metadata, "run", value_str(m->file.run));
	value_set(m->metadata, "jobid", value_str(m->job.id));
	value_set(m->metadata, "host", value_str(m->peers.self));
	if (strcmp(m->peers.self, host) != 0)
		value_set(m->metadata, "hostname", value_str(host));
	value_set(m->metadata, "pid", value_int(getpid()));
	value_set(m->metadata, "sampling", value_new(VALUE_DICT));
	value_set(m->metadata, "interval_ns", value_int((int64_t)m->o->interval_ns));
	if (m->o->command)
		value_set(m->metadata, "command", metadata_command(m->o->command));
	if (m->watching)
		value_set(m->metadata, "watched", value_str(m->watch.how));
	struct value *watched = watched_command(m);
	if (watched)
		value_set(m->metadata, "watched_command", watched);
	value_set(m->metadata, "hardware", hardware_metadata(m->o->watch.root));
	metadata_set_time(m->metadata, "start", clock_realtime_us());
	if (!joins)
		add_request(m->ctx, m->metadata);
	(void)run_file_write_metadata(&m->file, m->metadata);
}

static void release_job(struct monitoring *m)
{
	job_directory_release(&m->job);
	run_file_release(&m->file);
	value_free(m->metadata);
	m->metadata = NULL;
}

/* Writes the metadata of the job, or joins it. */
static int create_job(struct monitoring *m, bool *ret_joins)
{
	_cleanup_free_ char *name = name_of(m);
	_cleanup_value_ struct value *meta = new_metadata(m->ctx, &m->job, name);

	value_set(meta, "started_by_monitor", value_bool(true));
	int r = job_directory_create_meta(&m->job, meta);
	*ret_joins = r == -EEXIST;
	if (r == 0 || *ret_joins)
		return 0;
	if (!job_directory_is_there(&m->job))
		return -ESTALE;
	log_error("cannot write the metadata of job %s in '%s': %s", m->job.id, m->job.path,
		  strerror(-r));
	return r;
}

/* Creates or joins the job, and creates the files of this run in it, all while nobody may remove
 * it. -ESTALE: the job was removed meanwhile. */
static int try_job(struct monitoring *m, const char *dir, const char *id)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	bool joins = false;
	int r = job_directory_open_path(&m->job, &m->ctx->config, dir, id, true, &why);

	if (r < 0) {
		log_error("cannot prepare job %s: %s", id, why.len ? why.buf : strerror(-r));
		return r;
	}
	job_directory_keep(&m->job);
	_cleanup_close_ int hold = job_directory_hold(&m->job);
	if (hold == -ESTALE || (r = create_job(m, &joins)) < 0)
		return hold == -ESTALE ? hold : r;
	r = run_file_make(&m->file, &m->job, m->peers.self, SAMPLE_FILES_SUFFIX, &why);
	if (r == 0)
		begin_metadata(m, joins);
	/* the lock may be missing */
	if (!job_directory_is_there(&m->job))
		return -ESTALE;
	if (r < 0)
		log_error("%s", why.buf);
	close_fd(&hold);
	if (r == 0 && joins)
		job_join(m->ctx, &m->job, m->o->name);
	return r;
}

static int open_job(struct monitoring *m)
{
	_cleanup_free_ char *found = job_identify(m->ctx, &m->origin);
	_cleanup_free_ char *id = m->o->jobid ? xstrdup(m->o->jobid)
				  : found     ? xstrdup(found)
					      : job_id_make();
	_cleanup_free_ char *made = xasprintf("plimsoll-%s", id);
	const char *dir = m->o->dir ? m->o->dir : job_inherited_dir(m->ctx);
	int r = -ESTALE;

	if (!job_id_valid(id)) {
		log_error("invalid job id '%s': use at most 128 printable characters, no slash, no "
			  "blank, no leading dot",
			  id);
		return -EINVAL;
	}
	for (int i = 0; r == -ESTALE && i < JOB_TRIES; i++) {
		release_job(m);
		r = try_job(m, dir ? dir : made, id);
	}
	if (r == -ESTALE)
		log_error("cannot record into '%s': it keeps being removed", m->job.path);
	/* a separate job, not part of another */
	if (r == 0 && m->ctx->personality->follows_session && m->origin == JOB_NONE &&
	    !job_inherited_dir(m->ctx))
		(void)last_job_set(&m->ctx->config, m->job.path);
	return r;
}

/* ---- metadata of the run ---- */

/* ---- sampling ---- */

static struct sampler_options sampler_options(struct monitoring *m)
{
	return (struct sampler_options){
		.root = m->o->watch.root,
		.watch = m->watching ? &m->watch : NULL,
		.period_ns = m->o->interval_ns,
		.checkpoint_ns = m->o->checkpoint_ns,
		.duration_ns = m->o->duration_ns,
		.timeout_ns = m->o->timeout_ns,
		.budget = m->o->budget,
		.only = m->o->only,
		.only_count = m->o->only_count,
		.periods = m->o->periods,
		.period_count = m->o->period_count,
		.metrics = m->o->metrics.count ? &m->o->metrics : NULL,
		.finished = m->o->finished,
		.stop = -1,
		.file = m->file.fd,
		.head = &m->head,
	};
}

/* Warns about sources that were requested by name and gave nothing. */
static void warn_absent(const struct monitoring *m, const struct value *sampling)
{
	bool asked_for = sampling && !m->ctx->personality->sources_may_be_absent;
	const struct value *states = asked_for ? value_get(sampling, "sources") : NULL;

	for (size_t i = 0; states && i < m->o->only_count; i++) {
		const char *asked = m->o->only[i].name;
		_cleanup_free_ char *name = xstrndup(asked, strcspn(asked, "="));
		const char *state = value_get_str(states, name);

		if (state && strcmp(state, "sampled") != 0)
			log_warn("source %s gave nothing: %s", asked, state);
	}
}

static void say_result(const struct monitoring *m, const struct value *sampling)
{
	const struct value *ticks = sampling ? value_get(sampling, "ticks") : NULL;
	const char *error = sampling ? value_get_str(sampling, "write_error") : NULL;

	warn_absent(m, sampling);
	if (!sampling)
		log_warn("the sampler ended without an answer: '%s' has what it wrote",
			 m->job.path);
	if (error)
		log_warn("samples were lost: cannot write to '%s': %s", m->file.path, error);
	if (m->o->quiet || m->ctx->verbosity < 0)
		return;
	long long samples = ticks && ticks->kind == VALUE_INT ? (long long)ticks->integer : 0;
	fprintf(stderr, "plimsoll: job %s: %lld %s of %s in %s\n", m->job.id, samples,
		plural(samples, "sample", "samples"), m->peers.self, m->job.path);
}

/*
 * Sampling was cut off: the job continues as far as we know, or ends with us. It is not when our
 * parent or the job itself ended us: a script that does so wants no more samples.
 */
static struct value *cut_off_of_job(struct monitoring *m, const struct sampler_result *r)
{
	struct value *cut = m->watching && m->watch.count
				    ? metadata_cut_off(r->signal, m->origin == JOB_SCHEDULER)
				    : NULL;

	if (!cut)
		return NULL;
	if (!value_get(cut, "at_limit") &&
	    (r->sender == getppid() || job_processes_find(&m->watch, r->sender))) {
		value_free(cut);
		return NULL;
	}
	value_set(cut, "monitor", value_bool(true));
	return cut;
}

static struct value *sampling_of_job(struct monitoring *m)
{
	struct sampler_options so = sampler_options(m);
	struct sampler_result r;

	sampler_run(&so, &r);
	/* its end is noticed some time later */
	if (r.end && !strcmp(r.end, "job"))
		m->ended_us =
			clock_realtime_us() - (int64_t)(clock_boottime_ns() - r.end_ns) / 1000;
	struct value *cut = cut_off_of_job(m, &r);
	if (cut)
		value_set(m->metadata, "cut_off", cut);
	struct value *v = sampler_metadata(&r);
	sampler_result_release(&r);
	return v;
}

struct command_hooks {
	struct monitoring *monitoring;
	struct sidecar *sidecar;
	struct value *sampling;
};

static void hook_begun(void *user, pid_t command, uint64_t begin_ns)
{
	struct command_hooks *h = user;

	sidecar_begin(h->sidecar, command, begin_ns);
}

static void hook_ending(void *user)
{
	struct command_hooks *h = user;

	h->sampling = sidecar_end(h->sidecar);
}

/* Written at once: a job that is asked to end is often killed a moment later. */
static void hook_signalled(void *user, int sig)
{
	struct command_hooks *h = user;
	struct monitoring *m = h->monitoring;
	struct value *cut = metadata_cut_off(sig, m->origin == JOB_SCHEDULER);

	if (!cut)
		return;
	value_set(m->metadata, "cut_off", cut);
	(void)run_file_write_metadata(&m->file, m->metadata);
}

/* Runs the command with a sampler beside it; the command comes first. */
static struct value *sampling_of_command(struct monitoring *m)
{
	struct sampler_options so = sampler_options(m);
	struct command_hooks hooks = {.monitoring = m, .sidecar = &m->sidecar};
	struct supervise_options options = {.argv = m->o->command,
					    .envp = environ,
					    .records = -1,
					    .drain_ns = 0,
					    .begun = hook_begun,
					    .ending = hook_ending,
					    .asked_to_end = hook_signalled,
					    .user = &hooks};
	struct supervise_result r;
	int e = sidecar_start(&m->sidecar, &so);

	if (e < 0)
		log_warn("cannot sample the command: %s", strerror(-e));
	supervise(&options, &r);
	if (r.error) {
		(void)say_spawn_error(m->o->command, r.error);
		(void)sidecar_end(&m->sidecar);
	}
	m->status = supervise_status(&r);
	if (!r.error && WIFSIGNALED(r.status))
		m->ctx->end_by = WTERMSIG(r.status);
	supervise_result_release(&r);
	return hooks.sampling;
}

/* A host without processes of the job reports, so that the others do not wait. */
static int report_nothing(struct monitoring *m)
{
	if (open_job(m) < 0)
		return EXIT_FAILED;
	bool failed = monitor_keep_result(m, NULL) < 0;
	if (m->peers.first)
		failed |= monitor_merge_hosts(m) < 0;
	return failed ? EXIT_FAILED : EXIT_OK;
}

static int monitor(struct monitoring *m)
{
	int error = m->o->command ? command_error(m->o->command[0]) : 0;

	if (error)
		return say_spawn_error(m->o->command, error);
	int r = m->o->command ? 0 : find_job(m);
	if (r == -ESRCH && m->o->others_too && m->peers.expected > 1)
		return report_nothing(m);
	if (r < 0 || open_job(m) < 0)
		return EXIT_FAILED;
	m->head = sample_files_head(&m->job, &m->file, m->peers.self, m->o->interval_ns);
	struct value *sampling = m->o->command ? sampling_of_command(m) : sampling_of_job(m);
	say_result(m, sampling);
	bool failed = !sampling || value_get(sampling, "write_error");
	failed |= monitor_keep_result(m, sampling) < 0;
	if (m->peers.first)
		failed |= monitor_merge_hosts(m) < 0;
	return m->status >= 0 ? m->status : failed ? EXIT_FAILED : EXIT_OK;
}

int do_monitor(struct context *ctx, const struct monitor_options *o)
{
	char host[65], boot[9];
	struct monitoring m = {.ctx = ctx,
			       .o = o,
			       .job = JOB_DIRECTORY_INIT,
			       .file = RUN_FILE_INIT,
			       .sidecar = SIDECAR_INIT,
			       .status = -1};

	outlive_readers();
	this_host(host, sizeof(host), boot);
	job_hosts_find(&m.peers, env_lookup, host);
	int status = monitor(&m);
	if (m.watching)
		job_processes_close(&m.watch);
	sample_file_head_release(&m.head);
	job_hosts_release(&m.peers);
	release_job(&m);
	return status;
}
