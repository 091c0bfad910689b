/*
 * `plimsoll run`: records a command and everything it starts. The command comes first: problems
 * with recording are reported and never stop it, unless --error is given.
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
#include "jobs/job_hosts.h"
#include "jobs/metadata.h"
#include "jobs/sample_files.h"
#include "run/run_internal.h"
#include "run/signal_relay.h"
#include "run/supervisor.h"
#include "sources/cgroup/cgroup.h"
#include "views/jobs/job_details.h"
#include "views/summary.h"

#define LATE_STEPS 100 /* of 5 ms */

/* ---- before --------------------------------------------------------------------------------- */

static void begin_metadata(struct running *r)
{
	char host[65], boot[9];
	const char *parent = getenv("PLIMSOLL_RUN"), *step = getenv("SLURM_STEP_ID");
	uint64_t rank, size;

	this_host(host, sizeof(host), boot);
	r->metadata = value_new(VALUE_DICT);
	value_set(r->metadata, "run", value_str(r->file.run));
	value_set(r->metadata, "jobid", value_str(r->job.id));
	value_set(r->metadata, "host", value_str(host));
	value_set(r->metadata, "pid", value_int(getpid()));
	value_set(r->metadata, "command", metadata_command(r->argv));
	if (parent && *parent)
		value_set(r->metadata, "parent", value_str(parent));
	if (step && *step)
		value_set(r->metadata, "step", value_str(step));
	if (launcher_rank(env_lookup, &rank, &size) && rank < INT32_MAX)
		value_set(r->metadata, "rank", value_int((int64_t)rank));
	metadata_set_time(r->metadata, "start", clock_realtime_us());
	if (r->began)
		add_request(r->ctx, r->metadata);
	/* written at the start, so that a killed run leaves it, and nobody removes its directory */
	(void)run_file_write_metadata(&r->file, r->metadata);
}

/* `start` and `stop` write the metadata of other jobs. -EEXIST: this run joins the job. */
static int create_job(struct running *r)
{
	const char *batch = batch_job_name();
	const char *name = r->o->name ? r->o->name : batch ? batch : path_base(r->argv[0]);

	if (!r->job.layout->run_is_job && !r->o->auto_job)
		return 0;
	_cleanup_value_ struct value *meta = new_metadata(r->ctx, &r->job, name);
	if (r->job.layout->run_is_job)
		value_set(meta, "started_by_run", value_bool(true));
	int e = job_directory_create_meta(&r->job, meta);
	r->began = e == 0;
	if (e < 0 && (e != -EEXIST || r->o->auto_job) && job_directory_is_there(&r->job)) {
		log_error("cannot write the metadata of job %s in '%s': %s", r->job.id, r->job.path,
			  strerror(-e));
		return -EIO;
	}
	return e;
}

/* Creates or joins the job, and creates the files of this run in it, all while nobody may remove
 * it. -ESTALE: the job was removed meanwhile. */
static int try_job(struct running *r)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int e = job_open_or_make(r->ctx, r->o->dir, &r->job, &r->origin);
	if (e < 0)
		return e;
	job_directory_keep(&r->job);
	_cleanup_close_ int hold = job_directory_hold(&r->job);
	if (hold == -ESTALE)
		return hold;
	e = create_job(r);
	bool joins = e == -EEXIST;
	if (e == 0 || joins)
		e = run_file_make(&r->file, &r->job, NULL, ".rec", &why);
	if (e == 0)
		begin_metadata(r);
	/* the lock may be missing */
	if (!job_directory_is_there(&r->job))
		return -ESTALE;
	if (e < 0 && why.len)
		log_error("%s", why.buf);
	close_fd(&hold);
	if (e == 0 && r->began)
		warn_of_own_disk(&r->job);
	else if (e == 0 && joins)
		job_join(r->ctx, &r->job, r->o->name);
	return e;
}

/* Another process may submit and remove the job while this run begins. */
static int prepare_job(struct running *r)
{
	int e = -ESTALE;

	for (int i = 0; e == -ESTALE && i < JOB_TRIES; i++) {
		job_directory_release(&r->job);
		run_file_release(&r->file);
		value_free(r->metadata);
		r->metadata = NULL;
		e = try_job(r);
	}
	if (e == -ESTALE)
		log_error("cannot record into '%s': it keeps being removed", r->job.path);
	return e;
}

/* ---- after ---------------------------------------------------------------------------------- */

/* Loads the records of this run and of runs that its processes started. */
static int load_accounting(struct running *r, struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char host[65], boot[9];
	int fd = open(r->file.path, O_RDONLY | O_CLOEXEC);

	accounting_init(b);
	b->keep_threads = r->job.layout->run_is_job; /* run_submit_job() stores them */
	this_host(host, sizeof(host), boot);
	_cleanup_free_ char *host_dir = xasprintf("%s.%s", host, boot);
	if (fd < 0)
		return -errno;
	int e = accounting_add(b, fd, path_base(r->file.path), host_dir);
	_cleanup_value_ struct value *runs = job_directory_runs(&r->job);
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

static void end_metadata(struct running *r, const struct run_summary *s)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *accounting = NULL;

	metadata_set_time(r->metadata, "end", clock_realtime_us());
	value_set(r->metadata, "exitcode", value_int(s->exitcode));
	summary_json(s, &j);
	if (value_from_json(j.out.buf, j.out.len, &accounting, &why) == 0)
		value_set(r->metadata, "books", accounting);
	run_add_limits(r->metadata, &r->limits, r->joined_groups.len ? &r->joined : NULL,
		       &r->host_cpu);
	int e = run_file_write_metadata(&r->file, r->metadata);
	if (e < 0)
		log_warn("cannot write the metadata of this run in '%s': %s", r->job.path,
			 strerror(-e));
}

/* Ends the job if a run began it. */
static int end_job(struct running *r, int exitcode, const struct run_times *t)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;

	if (!r->job.layout->run_is_job && !r->o->auto_job)
		return 0;
	int e = job_directory_read_meta(&r->job, &meta, NULL, &why);
	if (e < 0)
		return e;
	/* `start` began it, `stop` ends it */
	if (r->job.layout->run_is_job && !value_get(meta, "started_by_run"))
		return 0;
	const struct value *before = value_get(meta, "exitcode");
	if (before && before->kind == VALUE_INT && before->integer)
		exitcode = (int)before->integer;
	/* the start names the part in the store, which may have it if another run has ended */
	if (r->began && r->job.layout->run_is_job && !value_get(meta, "stop_us"))
		metadata_set_time(meta, "start", t->begin_us);
	r->job.layout->stop(meta, &r->ctx->config, run_job_end(meta, t), exitcode, NULL,
			    environment_metadata(&r->ctx->config, environ));
	e = job_directory_write_meta(&r->job, meta, true);
	if (e < 0) {
		log_warn("cannot write the end of job %s in '%s': %s", r->job.id, r->job.path,
			 strerror(-e));
		r->meta = value_ref(meta);
	}
	return e;
}

static void show(struct running *r, const struct run_summary *s, const struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (r->o->json) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		int fd = strcmp(r->o->json, "-") != 0
				 ? fs_open_output(r->o->json, O_WRONLY | O_TRUNC, 0666, &why)
				 : dup(2);
		_cleanup_fclose_ FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

		summary_json(s, &j);
		if (!f || json_write(&j, f) < 0 || fflush(f) != 0)
			log_warn("cannot write the summary to '%s': %s", r->o->json,
				 why.len  ? why.buf
				 : fd < 0 ? strerror(-fd)
					  : strerror(errno));
	}
	if (!run_is_talking(r))
		return;
	summary_text(s, b, &text, color_on(stderr));
	(void)!write(STDERR_FILENO, text.buf, text.len);
}

static void warn_about_kernel(struct running *r, const struct supervise_result *res)
{
	if (res->write_error) {
		_cleanup_free_ char *text =
			xasprintf("cannot write all records: %s", strerror(res->write_error));

		value_append(r->warnings, value_str(text));
	} else if (res->cut) {
		value_append(
			r->warnings,
			value_str("some processes could not write all of their records: the "
				  "file size limit (ulimit -f) was reached or the disk is full; "
				  "their usage may be in the figures of their parents"));
	}
	if (res->cnproc_reason)
		log_info("not listening to the process connector: %s", res->cnproc_reason);
	if (res->taskstats_reason)
		log_info("not listening to taskstats: %s", res->taskstats_reason);
}

/* Written at once, since a batch system kills the job soon after this signal. */
static void asked_to_end(void *user, int sig)
{
	struct running *r = user;
	struct value *cut = metadata_cut_off(sig, r->origin == JOB_SCHEDULER);

	if (!cut)
		return;
	value_set(r->metadata, "cut_off", cut);
	(void)run_file_write_metadata(&r->file, r->metadata);
}

/* A batch system signals one process after the other: ours may come a moment after the end of the
 * command. */
static int late_signal(const struct running *r, const struct supervise_result *res)
{
	const struct timespec step = {.tv_nsec = 5000000};
	bool asked = r->origin == JOB_SCHEDULER && WIFSIGNALED(res->status) &&
		     WTERMSIG(res->status) == SIGTERM;

	for (int i = 0; asked && !held_signal() && i < LATE_STEPS; i++)
		nanosleep(&step, NULL);
	return held_signal();
}

/* A signal to all processes may have ended the command before we got it. */
static void warn_if_cut_off(struct running *r, const struct supervise_result *res)
{
	int late = res->end_signal ? 0 : late_signal(r, res);
	bool by_it = late && WIFSIGNALED(res->status) && WTERMSIG(res->status) == late;

	if ((res->end_signal || by_it) && !value_get(r->metadata, "cut_off"))
		asked_to_end(r, res->end_signal ? res->end_signal : late);
	_cleanup_free_ char *how = cut_off_text(value_get(r->metadata, "cut_off"));
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
	int e = load_accounting(r, &b);
	if (e < 0)
		log_warn("cannot read the records back: %s", strerror(-e));
	accounting_sum(&b, &s.sums);
	s.cpu_total_us += b.unwaited_us; /* not in anybody's sum of children */
	uint64_t lack =
		s.cpu_total_us > s.sums.itemised_us ? s.cpu_total_us - s.sums.itemised_us : 0;
	if (s.sums.unseen_tail_us > lack)
		s.sums.unseen_tail_us = lack;
	s.running = s.sums.running > res->running ? s.sums.running : res->running;
	s.cpu_total_known = !s.running; /* running processes are not in it */
	warn_about_kernel(r, res);
	warn_if_cut_off(r, res);
	summary_add_warnings(&s, &b);
	/* together, so that nobody stores or removes the job in between */
	_cleanup_close_ int lock = job_directory_lock(&r->job);
	end_metadata(r, &s);
	if (!s.running && job_directory_collect_ended(&r->job, &why) < 0)
		log_warn("%s", why.buf);
	struct run_times times = run_times(res, &b);
	(void)end_job(r, s.exitcode, &times);
	close_fd(&lock);
	(void)export_job(r->ctx, &r->job);
	show(r, &s, &b);
	run_submit_job(r, s.running, e == 0 ? &b : NULL);
	if (run_is_talking(r) && r->began && r->origin == JOB_NONE && !r->o->dir)
		say_how_ranks_are_one();
	accounting_release(&b);
}

/* A step of a job that could not be started is a run without processes: the job has failed. */
static void end_failed_step(struct running *r, int exitcode)
{
	const struct run_summary s = {.jobid = r->job.id,
				      .dir = r->job.path,
				      .argv = r->argv,
				      .exitcode = exitcode,
				      .cpu_total_known = true,
				      .cpus = granted_cpus(),
				      .warnings = r->warnings};
	const struct run_times now = {clock_realtime_us(), clock_realtime_us()};
	_cleanup_close_ int lock = job_directory_lock(&r->job);

	end_metadata(r, &s);
	(void)end_job(r, exitcode, &now);
}

/* Removes what was created for a command that could not be started. */
static void undo(struct running *r, int exitcode)
{
	static const char *const suffixes[] = {SAMPLE_FILES_SUFFIX, ".json", ".rec"};
	bool step = !r->began && r->job.layout->run_is_job;
	_cleanup_free_ char *host =
		xstrndup(r->file.path, strlen(r->file.path) - strlen(r->file.run) - strlen(".rec"));

	(void)sidecar_end(&r->sidecar);
	if (step)
		end_failed_step(r, exitcode);
	for (size_t i = 0; i < (step ? 1 : ARRAY_SIZE(suffixes)); i++) {
		_cleanup_free_ char *name = xasprintf("%s%s", r->file.run, suffixes[i]);

		(void)unlinkat(r->file.dir, name, 0);
	}
	if (!r->began)
		return;
	_cleanup_free_ char *meta = xasprintf("%s/job.json", r->job.path);
	if (rmdir(host) == 0 && unlink(meta) == 0)
		job_directory_remove_empty(&r->job);
}

/* ---- the run -------------------------------------------------------------------------------- */

static void release(struct running *r)
{
	job_directory_release(&r->job);
	run_file_release(&r->file);
	value_free(r->metadata);
	value_free(r->meta);
	value_free(r->warnings);
	strbuf_release(&r->cgroup);
	strbuf_release(&r->joined_groups);
}

/* ---- sampling ------------------------------------------------------------------------------- */

static void command_begun(void *user, pid_t command, uint64_t begin_ns)
{
	struct running *r = user;

	r->guard.command = command;
	sidecar_begin(&r->sidecar, command, begin_ns);
	if (r->ctx->personality->follows_session)
		(void)last_job_set(&r->ctx->config, r->job.path);
}

/* Container runtimes and the like put it into a control group of its own. */
static void look_at_command(void *user)
{
	struct running *r = user;

	if (cgroup_groups_other("", r->guard.command, &r->joined_groups))
		cgroup_limits_of("", r->joined_groups.buf, &r->joined);
}

static void command_ending(void *user)
{
	struct running *r = user;
	struct value *sampling = sidecar_end(&r->sidecar);

	if (r->joined_groups.len) {
		struct cgroup_limits now;

		cgroup_limits_of("", r->joined_groups.buf, &now);
		cgroup_limits_since(&r->joined, &now);
		r->joined = now;
	}
	hold_ending_signals();
	if (sampling)
		value_set(r->metadata, "sampling", sampling);
}

/* Samples go into a file of the same name beside the records. */
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
				     .skip = config_get(&r->ctx->config, SETTING_SAMPLE_SKIP),
				     .stop = -1,
				     .file = fd,
				     .head = &head};
	if (e == 0)
		e = sidecar_start(&r->sidecar, &so);
	sample_file_head_release(&head);
	if (e < 0) {
		_cleanup_free_ char *text =
			xasprintf("cannot sample the command: %s", strerror(-e));

		warn_lines(text, r->warnings);
	}
}

static void prepare_cgroup(struct running *r)
{
	cgroup_limits_read("", &r->limits);
	host_cpu_read("", &r->host_cpu);
	if (cgroup_cpu_path("", &r->cgroup) && !cgroup_cpu_us(r->cgroup.buf, &r->cgroup_before_us))
		strbuf_reset(&r->cgroup);
}

int do_run(struct context *ctx, const struct run_options *o, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	struct running r = {.ctx = ctx,
			    .o = o,
			    .argv = argv,
			    .job = JOB_DIRECTORY_INIT,
			    .file = RUN_FILE_INIT,
			    .cgroup = STRBUF_INIT,
			    .joined_groups = STRBUF_INIT,
			    .sidecar = SIDECAR_INIT,
			    .guard = {.argv = argv, .status = -1},
			    .warnings = value_new(VALUE_LIST)};
	struct supervise_result res;
	uint64_t drain_ns = 200000000;

	outlive_readers();
	int error = argc < 1 ? 0 : command_error(argv[0]);
	bool step = error && job_layout(ctx)->run_is_job && job_is_begun(ctx, o->dir);
	if (argc < 1 || o->dry || (error && !step)) {
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
		.look = look_at_command,
		.asked_to_end = asked_to_end,
		.user = &r,
	};
	supervise(&so, &res);
	int status = res.error ? say_spawn_error(argv, res.error) : supervise_status(&res);
	r.guard.status = status;
	if (res.error)
		undo(&r, status);
	else
		conclude(&r, &res);
	ctx->end_by = run_ends_by(ctx, &res);
	supervise_result_release(&res);
	free_strings(envp);
	free_strings(ours);
	release(&r);
	at_out_of_memory(NULL, NULL);
	return status;
}
