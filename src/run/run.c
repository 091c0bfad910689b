/*
 * plimsoll run: a command with everything it starts, recorded. The command comes first: what goes
 * wrong with recording is said and never stops it, unless --error asks for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "context/stored_job.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "jobs/metadata.h"
#include "jobs/sample_files.h"
#include "report/report.h"
#include "run/run_internal.h"
#include "run/signal_relay.h"
#include "run/supervisor.h"
#include "sampler/sidecar.h"
#include "sources/cgroup/cgroup.h"
#include "store/import/import.h"
#include "store/query.h"
#include "views/job_facts.h"
#include "views/summary.h"

struct running {
	struct context *ctx;
	const struct run_options *o;
	char **argv;
	struct jobdir job;
	enum job_origin origin;
	bool began; /* the job is ours, made for this run */
	struct runfile file;
	struct value *facts;
	struct value *meta; /* of the job at its end, where they could not be written */
	struct value *warnings;
	struct strbuf cgroup;
	uint64_t cgroup_before_us;
	struct cgroup_memory memory; /* of our group, before */
	struct sidecar sidecar;      /* samples the command where that was asked for */
	struct run_guard guard;
};

/* ---- before --------------------------------------------------------------------------------- */

/* Makes or joins the job, and a record file in it. -ESTALE: the job was removed meanwhile. */
static int try_job(struct running *r)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *batch = batch_job_name();
	const char *name = r->o->name ? r->o->name : batch ? batch : path_base(r->argv[0]);
	int e = job_open_or_make(r->ctx, r->o->dir, &r->job, &r->origin);
	if (e < 0)
		return e;
	/* otherwise they are left to start and stop, unless it is told to do both */
	if (r->job.layout->run_is_job || r->o->auto_job) {
		_cleanup_value_ struct value *meta = new_metadata(r->ctx, &r->job, name);

		if (r->job.layout->run_is_job)
			value_set(meta, "started_by_run", value_bool(true));
		e = jobdir_create_meta(&r->job, meta);
		if ((r->began = e == 0))
			warn_of_own_disk(&r->job);
		if (e == -EEXIST && !r->o->auto_job) {
			job_join(r->ctx, &r->job, r->o->name);
			e = 0;
		}
		if (e == -ENOENT)
			return -ESTALE;
		if (e < 0) {
			log_error("cannot write the metadata of job %s in '%s': %s", r->job.id,
				  r->job.path, strerror(-e));
			return e;
		}
	}
	jobdir_keep(&r->job);
	_cleanup_close_ int hold = jobdir_hold(&r->job);
	if (hold == -ESTALE)
		return hold;
	e = runfile_create(&r->file, &r->job, &why);
	if (e < 0)
		log_error("%s", why.buf);
	return e;
}

/* Somebody may submit and remove what earlier runs left while this one begins. */
static int prepare_job(struct running *r)
{
	int e = -ESTALE;

	for (int i = 0; e == -ESTALE && i < JOB_TRIES; i++) {
		jobdir_release(&r->job);
		e = try_job(r);
	}
	if (e == -ESTALE)
		log_error("cannot record into '%s': it is removed again and again", r->job.path);
	return e;
}

static void begin_facts(struct running *r)
{
	char host[65], boot[9];
	const char *parent = getenv("PLIMSOLL_RUN"), *step = getenv("SLURM_STEP_ID");

	this_host(host, sizeof(host), boot);
	r->facts = value_new(VALUE_DICT);
	value_set(r->facts, "run", value_str(r->file.run));
	value_set(r->facts, "jobid", value_str(r->job.id));
	value_set(r->facts, "host", value_str(host));
	value_set(r->facts, "pid", value_int(getpid()));
	value_set(r->facts, "command", facts_command(r->argv));
	if (parent && *parent)
		value_set(r->facts, "parent", value_str(parent));
	if (step && *step)
		value_set(r->facts, "step", value_str(step));
	facts_set_time(r->facts, "start", clock_realtime_us());
	/* there from the start, so that a run that is killed has left its name */
	(void)runfile_write_facts(&r->file, r->facts);
}

/* ---- after ---------------------------------------------------------------------------------- */

/* Records of this run and of the runs that its processes started. */
static int load_books(struct running *r, struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char host[65], boot[9];
	int fd = open(r->file.path, O_RDONLY | O_CLOEXEC);

	accounting_init(b);
	this_host(host, sizeof(host), boot);
	_cleanup_free_ char *host_dir = xasprintf("%s.%s", host, boot);
	if (fd < 0)
		return -errno;
	int e = accounting_add(b, fd, path_base(r->file.path), host_dir);
	_cleanup_value_ struct value *runs = jobdir_runs(&r->job);
	for (size_t i = 0; i < runs->list.count && e == 0; i++) {
		const char *parent = value_get_str(runs->list.items[i], "parent");
		const char *run = value_get_str(runs->list.items[i], "run");

		if (!parent || !run || strcmp(parent, r->file.run) != 0 || strchr(run, '/'))
			continue;
		_cleanup_free_ char *name = xasprintf("%s.rec", run);
		fd = openat(r->file.dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			e = accounting_add(b, fd, name, host_dir);
	}
	if (e == 0)
		e = accounting_load(b, &why);
	if (e == 0)
		accounting_find_running(b);
	return e;
}

/* The limit that our control group has, and processes that were killed for it meanwhile. */
static void memory_facts(struct running *r)
{
	struct cgroup_memory now;
	struct value *v = value_new(VALUE_DICT);

	cgroup_memory_read("", &now);
	if (now.limit)
		value_set(v, "limit", value_int((int64_t)now.limit));
	if (now.counted && r->memory.counted && now.oom_kills >= r->memory.oom_kills)
		value_set(v, "oom_kills",
			  value_int((int64_t)(now.oom_kills - r->memory.oom_kills)));
	value_set(r->facts, "memory", v);
}

static void end_facts(struct running *r, const struct run_summary *s)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *books = NULL;

	facts_set_time(r->facts, "end", clock_realtime_us());
	value_set(r->facts, "exitcode", value_int(s->exitcode));
	summary_json(s, &j);
	if (value_from_json(j.out.buf, j.out.len, &books, &why) == 0)
		value_set(r->facts, "books", books);
	memory_facts(r);
	int e = runfile_write_facts(&r->file, r->facts);
	if (e < 0)
		log_warn("cannot write the facts of this run in '%s': %s", r->job.path,
			 strerror(-e));
}

/* A run that began its job also ends it; so does the last of several that share one. */
static int end_job(struct running *r, int exitcode, const struct run_times *t)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_close_ int lock = jobdir_lock(&r->job);

	if (!r->job.layout->run_is_job && !r->o->auto_job)
		return 0;
	int e = jobdir_read_meta(&r->job, &meta, NULL, &why);
	if (e < 0)
		return e;
	/* `start` began it, `stop` ends it */
	if (r->job.layout->run_is_job && !value_get(meta, "started_by_run"))
		return 0;
	const struct value *before = value_get(meta, "exitcode");
	if (before && before->kind == VALUE_INT && before->integer)
		exitcode = (int)before->integer;
	if (r->began && r->job.layout->run_is_job)
		facts_set_time(meta, "start", t->begin_us);
	r->job.layout->stop(meta, &r->ctx->config, run_job_end(meta, t), exitcode, NULL,
			    environment_facts(&r->ctx->config, environ));
	e = jobdir_write_meta(&r->job, meta, true);
	if (e < 0) {
		log_warn("cannot write the end of job %s in '%s': %s", r->job.id, r->job.path,
			 strerror(-e));
		r->meta = value_ref(meta);
	}
	return e;
}

/* Does this run say what there is to say, in lines for a person? */
static bool is_talking(const struct running *r)
{
	return !r->o->quiet && !r->ctx->personality->gives_no_hints && r->ctx->verbosity >= 0 &&
	       !(r->o->json && !strcmp(r->o->json, "-"));
}

/* What bounded the job, from the store that has it. Nothing is said where that fails: the run
 * itself went well. */
static void show_verdict(struct running *r, struct store *s, int64_t job)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct report report;

	if (!is_talking(r) || report_load(&report, s, job, NULL) < 0)
		return;
	report_text(&report, color_on(stderr), true, &text);
	(void)!write(STDERR_FILENO, text.buf, text.len);
	report_release(&report);
}

/* Processes that live on are part of the job: it is stored when they have ended. */
static void submit_later(struct running *r, uint64_t running)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	bool later = store_when_ended(r->ctx, &r->job);

	if (!is_talking(r) && later)
		return;
	strbuf_addf(
		&text, "  store     %llu %s still; the job is stored when %s%s: plimsoll submit ",
		(unsigned long long)running, plural(running, "process runs", "processes run"),
		plural(running, "it has ended", "they have ended"), later ? ", or now by" : " by");
	text_add_shell(&text, r->job.path);
	strbuf_addch(&text, '\n');
	(void)!write(STDERR_FILENO, text.buf, text.len);
}

/* A run that is a job of its own goes into the store at once; a failure is told and changes
 * nothing. One that shall not, goes into one in memory, to be looked at. */
static void submit_job(struct running *r, uint64_t running)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_store_ struct store *s = NULL;
	const struct import_options how = {.replace = true, .meta = r->meta};
	struct import_result in;

	if (!r->job.layout->run_is_job)
		return;
	if (!r->o->submit && (r->origin != JOB_NONE || job_inherited_dir(r->ctx))) {
		if (!r->o->no_submit && is_talking(r) && !getenv("PLIMSOLL_RUN"))
			say_how_to_submit(&r->job, r->origin);
		return;
	}
	if (jobdir_read_meta(&r->job, &meta, NULL, &why) < 0) {
		log_warn("the job stays in '%s' and is not in the store: %s", r->job.path,
			 why.len ? why.buf : "its metadata are gone, somebody removed them");
		return;
	}
	/* what a run began has ended with it, also where that could not be written */
	if (!value_get(meta, "started_by_run") && (!value_get(meta, "stop_us") || !r->o->submit))
		return;
	if (running) {
		if (!r->o->no_submit)
			submit_later(r, running);
		return;
	}
	if (r->o->no_submit) {
		if (!is_talking(r) || store_open(&s, ":memory:", STORE_WRITE, &why) < 0)
			return;
	} else if (open_store(r->ctx, STORE_WRITE, &s) < 0) {
		log_error(
			"the job stays in '%s' and is not in the store; the status is that of the command",
			r->job.path);
		return;
	}
	int e = submit_input(r->ctx, &s, r->job.path, &how, &in, &why);
	if (e < 0 && !r->o->no_submit)
		log_error(
			"the job is not in the store: %s; it stays in '%s', the status is that of the command",
			why.buf, r->job.path);
	int64_t job = in.job;
	import_result_release(&in);
	if (e == 0)
		show_verdict(r, s, job);
}

static void show(struct running *r, const struct run_summary *s, const struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (r->o->json) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		int fd = strcmp(r->o->json, "-") != 0
				 ? fs_open_output(r->o->json, O_WRONLY | O_TRUNC, 0666, &why)
				 : dup(2);
		_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

		summary_json(s, &j);
		if (!f || jsonw_write(&j, f) < 0 || fflush(f) != 0)
			log_warn("cannot write the summary to '%s': %s", r->o->json,
				 why.len  ? why.buf
				 : fd < 0 ? strerror(-fd)
					  : strerror(errno));
	}
	if (!is_talking(r))
		return;
	summary_text(s, b, &text, color_on(stderr));
	(void)!write(STDERR_FILENO, text.buf, text.len);
}

static void warn_about_kernel(struct running *r, const struct supervise_result *res)
{
	if (res->write_error) {
		_cleanup_free_ char *text = xasprintf("records could not all be written: %s",
						      strerror(res->write_error));

		value_append(r->warnings, value_str(text));
	} else if (res->cut) {
		value_append(r->warnings,
			     value_str("processes could not write all of their records: a limit on "
				       "the size of files (ulimit -f), or no room; what they used "
				       "may be in the figures of their parents"));
	}
	if (res->cnproc_reason)
		log_info("not listening to the process connector: %s", res->cnproc_reason);
	if (res->taskstats_reason)
		log_info("not listening to taskstats: %s", res->taskstats_reason);
}

/* On disk at once: whoever asks a job to end often kills it a moment later. */
static void command_told(void *user, int sig)
{
	struct running *r = user;

	struct value *cut = facts_cut_off(sig, r->origin == JOB_SCHEDULER);

	if (!cut)
		return;
	value_set(r->facts, "cut_off", cut);
	(void)runfile_write_facts(&r->file, r->facts);
}

/* A signal to everybody in the job may have ended the command before we had it. */
static void warn_if_cut_off(struct running *r, const struct supervise_result *res)
{
	int late = held_signal();
	bool by_it = late && WIFSIGNALED(res->status) && WTERMSIG(res->status) == late;

	if ((res->told || by_it) && !value_get(r->facts, "cut_off"))
		command_told(r, res->told ? res->told : late);
	_cleanup_free_ char *how = cut_off_text(value_get(r->facts, "cut_off"));
	_cleanup_free_ char *text = how ? xasprintf("the command was cut off: %s", how) : NULL;

	if (text)
		value_append(r->warnings, value_str(text));
}

static void conclude(struct running *r, const struct supervise_result *res)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct run_summary s = {
		.jobid = r->job.id,
		.dir = r->job.path,
		.argv = r->argv,
		.status = res->error ? 0 : res->status,
		.exitcode = supervise_status(res),
		.wall_us = res->over_ns / 1000 - res->begin_ns / 1000,
		.cpu_total_us = res->cpu_total_us,
		.cpu_total_known = true,
		.own_cpu_us = res->own_cpu_us,
		.cpus = granted_cpus(),
		.unwritten = res->write_error != 0 || res->cut,
		.warnings = r->warnings,
	};
	uint64_t after;
	struct accounting b;

	if (r->cgroup.len && cgroup_cpu_us(r->cgroup.buf, &after) && after > r->cgroup_before_us)
		s.cgroup_cpu_us = after - r->cgroup_before_us;
	int e = load_books(r, &b);
	if (e < 0)
		log_warn("cannot read the records back: %s", strerror(-e));
	accounting_sum(&b, &s.sums);
	s.cpu_total_us += b.unwaited_us; /* which is in nobody's sum of children */
	uint64_t lack =
		s.cpu_total_us > s.sums.itemised_us ? s.cpu_total_us - s.sums.itemised_us : 0;
	if (s.sums.unseen_tail_us > lack)
		s.sums.unseen_tail_us = lack;
	s.running = s.sums.running > res->running ? s.sums.running : res->running;
	s.cpu_total_known = !s.running; /* nobody has waited for those */
	warn_about_kernel(r, res);
	warn_if_cut_off(r, res);
	summary_add_warnings(&s, &b);
	end_facts(r, &s);
	if (!s.running && jobdir_collect_ended(&r->job, &why) < 0)
		log_warn("%s", why.buf);
	struct run_times times = run_times(res, &b);
	(void)end_job(r, s.exitcode, &times);
	(void)export_job(r->ctx, &r->job);
	show(r, &s, &b);
	submit_job(r, s.running);
	if (is_talking(r) && r->began && r->origin == JOB_NONE && !r->o->dir)
		say_how_ranks_are_one();
	accounting_release(&b);
}

/* A command that could not be started is no job: what was made for it goes. */
static void undo(struct running *r)
{
	_cleanup_free_ char *facts = xasprintf("%s.json", r->file.run);
	_cleanup_free_ char *records = xasprintf("%s.rec", r->file.run);
	_cleanup_free_ char *curves = xasprintf("%s" SAMPLE_FILES_SUFFIX, r->file.run);
	_cleanup_free_ char *host = xstrndup(r->file.path, strlen(r->file.path) - strlen(records));

	(void)sidecar_end(&r->sidecar);
	(void)unlinkat(r->file.dir, facts, 0);
	(void)unlinkat(r->file.dir, records, 0);
	(void)unlinkat(r->file.dir, curves, 0);
	if (!r->began)
		return;
	_cleanup_free_ char *meta = xasprintf("%s/job.json", r->job.path);
	if (rmdir(host) == 0 && unlink(meta) == 0)
		jobdir_remove_empty(&r->job);
}

/* A parent sees how the command ended, as if we were not there. */
static int ends_by(const struct context *ctx, const struct supervise_result *res)
{
	if (res->error)
		return 0;
	int sig = WIFSIGNALED(res->status) ? WTERMSIG(res->status) : held_signal();

	return ctx->personality->signal_is_status && sig != SIGINT && sig != SIGQUIT ? 0 : sig;
}

/* ---- the run -------------------------------------------------------------------------------- */

static void release(struct running *r)
{
	jobdir_release(&r->job);
	runfile_release(&r->file);
	value_free(r->facts);
	value_free(r->meta);
	value_free(r->warnings);
	strbuf_release(&r->cgroup);
}

/* ---- curves beside the records ----------------------------------------------------------------
 */

static void command_begun(void *user, pid_t command, uint64_t begin_ns)
{
	struct running *r = user;

	r->guard.command = command;
	sidecar_begin(&r->sidecar, command, begin_ns);
	if (r->ctx->personality->follows_session)
		(void)last_job_set(&r->ctx->config, r->job.path);
}

static void command_ending(void *user)
{
	struct running *r = user;
	struct value *facts = sidecar_end(&r->sidecar);

	hold_ending_signals();

	if (facts)
		value_set(r->facts, "sampling", facts);
}

/* Samples go into a file beside the records, of the same name. */
static void prepare_sampling(struct running *r)
{
	char host[65], boot[9];
	_cleanup_free_ char *name = xasprintf("%s" SAMPLE_FILES_SUFFIX, r->file.run);

	if (!r->o->sample_ns)
		return;
	this_host(host, sizeof(host), boot);
	_cleanup_close_ int fd =
		openat(r->file.dir, name,
		       O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int e = fd < 0 ? -errno : 0;
	struct sample_file_head head = sample_files_head(&r->job, &r->file, host, r->o->sample_ns);
	struct sampler_options so = {.root = "",
				     .period_ns = r->o->sample_ns,
				     .checkpoint_ns = 60000000000ull,
				     .timeout_ns = 10000000000ull,
				     .budget = 0.005,
				     .stop = -1,
				     .file = fd,
				     .head = &head};
	if (e == 0)
		e = sidecar_start(&r->sidecar, &so);
	sample_file_head_release(&head);
	if (e < 0) {
		_cleanup_free_ char *text =
			xasprintf("the command is not sampled: %s", strerror(-e));

		warn_lines(text, r->warnings);
	}
}

static void prepare_cgroup(struct running *r)
{
	cgroup_memory_read("", &r->memory);
	if (cgroup_cpu_path("", &r->cgroup) && !cgroup_cpu_us(r->cgroup.buf, &r->cgroup_before_us))
		strbuf_reset(&r->cgroup);
}

int do_run(struct context *ctx, const struct run_options *o, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	struct running r = {.ctx = ctx,
			    .o = o,
			    .argv = argv,
			    .job = JOBDIR_INIT,
			    .file = RUNFILE_INIT,
			    .cgroup = STRBUF_INIT,
			    .sidecar = SIDECAR_INIT,
			    .guard = {.argv = argv, .status = -1},
			    .warnings = value_new(VALUE_LIST)};
	struct supervise_result res;
	uint64_t drain_ns = 200000000;

	outlive_readers();
	int error = argc < 1 ? 0 : command_error(argv[0]);
	if (argc < 1 || o->dry || error) {
		release(&r);
		return argc < 1 ? usage_error("run", "run needs a command")
		       : o->dry ? dry_run(ctx, o, argv)
				: say_spawn_error(argv, error);
	}
	if (check_library() < 0 || prepare_job(&r) < 0) {
		release(&r);
		return o->error || o->auto_job ? EXIT_FAILED : run_bare(argv);
	}
	run_guard_memory(&r.guard);
	begin_facts(&r);
	prepare_cgroup(&r);
	prepare_sampling(&r);
	char **ours = recording_environment(ctx, &r.job, &r.file, &problems);
	char **envp = merge_environment(ours);
	warn_lines(problems.buf, r.warnings);
	(void)parse_duration_ns(config_get(&ctx->config, SETTING_DRAIN), &drain_ns);
	struct supervise_options so = {
		.argv = argv,
		.envp = envp,
		.records = r.file.fd,
		.kernel = strcmp(config_get(&ctx->config, SETTING_KERNEL), "off") != 0,
		.wait = o->wait,
		.drain_ns = o->wait ? o->wait_ns : drain_ns,
		.begun = command_begun,
		.ending = command_ending,
		.told = command_told,
		.user = &r,
	};
	supervise(&so, &res);
	int status = res.error ? say_spawn_error(argv, res.error) : supervise_status(&res);
	r.guard.status = status;
	if (res.error)
		undo(&r);
	else
		conclude(&r, &res);
	ctx->end_by = ends_by(ctx, &res);
	supervise_result_release(&res);
	free_strings(envp);
	free_strings(ours);
	release(&r);
	at_out_of_memory(NULL, NULL);
	return status;
}
