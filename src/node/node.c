/*
 * The node daemon; see node.h. One thread samples and answers requests, and never blocks: delivery,
 * exit records and slow sources have their own threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system/mem_trim.h"
#include "inbox/daemon.h"
#include "node/node_internal.h"
#include "run/signal_relay.h"
#include "sources/exits/exits_bpf.h"
#include "sources/source.h"

/* Jobs that end in quick succession share one reading. */
#define ENDINGS_NS 20000000ull
/* How often to look for jobs where the kernel does not notify us. */
#define LOOK_NS 1000000000ull
#define EXITS_NICE (-10)
/* Readings between two trims of memory, and before the one after memory has grown. */
#define TRIM_EVERY 120
#define TRIM_AFTER 3
#define CHECKPOINT_NS 60000000000ull
#define FLUSH_WAIT_NS 5000000000ull

/* ---- settings in force ---- */

static void apply_settings(struct node *n)
{
	static const struct sampler_source per_process = {.name = "process"};
	struct sampler_options *o = &n->sampler;

	o->period_ns = n->settings.period_ns;
	o->budget = n->settings.budget;
	o->only = n->settings.sources;
	o->only_count = n->settings.source_count;
	o->metrics = n->settings.metrics.count ? &n->settings.metrics : NULL;
	o->also = &per_process;
	o->also_count = n->settings.per_process ? 1 : 0;
	n->lists_processes = n->settings.per_process ||
			     node_names_source(&n->settings, "process") ||
			     node_names_source(&n->settings, "process_memory");
	o->watch = n->named_open ? &n->named : n->lists_processes ? &n->processes.watch : NULL;
}

/* Takes the settings that may change while it runs; the rest stays as it was at the start. */
static int take_config(struct node *n, struct config *c, struct strbuf *why)
{
	struct node_settings s;
	int r = node_settings_read(&s, c, why);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n->settings.source_count; i++)
		free((char *)n->settings.sources[i].name);
	memcpy(n->settings.sources, s.sources, sizeof(s.sources));
	n->settings.source_count = s.source_count;
	s.source_count = 0;
	metric_filter_release(&n->settings.metrics);
	n->settings.metrics = s.metrics;
	s.metrics = (struct metric_filter){0};
	free(n->settings.metrics_text);
	n->settings.metrics_text = s.metrics_text;
	s.metrics_text = NULL;
	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++) {
		free(n->settings.wires[i].names);
		n->settings.wires[i].names = s.wires[i].names;
		s.wires[i].names = NULL;
	}
	n->settings.period_ns = s.period_ns;
	n->settings.budget = s.budget;
	n->settings.per_process = s.per_process;
	node_settings_release(&s);
	apply_settings(n);
	node_select_for_protocols(n);
	return 0;
}

static void copy_config(struct config *to, const struct config *from)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		config_set(to, (enum setting_id)i, from->value[i], from->origin[i]);
}

/* All or nothing: the settings are changed in a copy first. */
static int change(void *user, const struct node_change *c, struct strbuf *why)
{
	static const char origin[] = "configure";
	struct node *n = user;
	struct config next = {0};

	copy_config(&next, &n->ctx->config);
	if (c->period)
		config_set(&next, SETTING_NODE_PERIOD, c->period, origin);
	if (c->metrics)
		config_set(&next, SETTING_NODE_METRICS, c->metrics, origin);
	if (c->sources)
		config_set(&next, SETTING_NODE_SOURCES, c->sources, origin);
	int r = c->sources ? node_check_sources(&n->settings, c->sources, why) : 0;
	if (r == 0 && c->names)
		r = c->protocol->change(&n->settings,
					c->protocol == node_only_protocol(&n->settings), c->names,
					&next, origin, why);
	if (r == 0)
		r = take_config(n, &next, why);
	if (r == 0) {
		copy_config(&n->ctx->config, &next);
		log_info("configured: period %s, metrics %s, sources %s",
			 config_get(&next, SETTING_NODE_PERIOD),
			 *n->settings.metrics_text ? n->settings.metrics_text : "all",
			 n->settings.source_count ? config_get(&next, SETTING_NODE_SOURCES)
						  : "by default");
	}
	config_release(&next);
	return r;
}

/* Was the program upgraded since this process started? */
static bool is_replaced(void)
{
	char path[4096] = "";
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n > 0 && str_suffix(path, " (deleted)");
}

static struct value *show(void *user)
{
	struct node *n = user;
	struct value *v = value_new(VALUE_DICT);
	n->trim_at = n->readings + TRIM_AFTER;
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	node_sources_text(&n->settings, &names);
	value_set(v, "node", value_str(n->settings.name));
	value_set(v, "version", value_str(PL_VERSION));
	value_set(v, "pid", value_int((int64_t)getpid()));
	value_set(v, "since_us", value_int(n->since_us));
	value_set(v, "replaced", value_bool(is_replaced()));
	value_set(v, "period_ms", value_int((int64_t)(n->settings.period_ns / 1000000)));
	value_set(v, "metrics", value_str(n->settings.metrics_text));
	value_set(v, "sources", value_str(names.buf));
	value_set(v, "states",
		  n->active ? active_sources_states(n->active, false) : value_new(VALUE_DICT));
	value_set(v, "jobs", value_int((int64_t)(n->jobs ? cgroup_jobs_count(n->jobs) : 0)));
	node_counts(n, v);
	return v;
}

/* ---- jobs ---- */

/* Registers newly started jobs with the exit accounting; both lists are ordered by number. */
static void adopt_jobs(struct node *n)
{
	size_t old = 0, count = 0;

	for (size_t i = 0; i < cgroup_jobs_count(n->jobs); i++) {
		const struct job *j = cgroup_jobs_at(n->jobs, i);

		if (j->state == JOB_WAITING)
			continue;
		while (old < n->adopted_count && n->adopted[old] < j->number)
			old++;
		if (old == n->adopted_count || n->adopted[old] != j->number)
			exits_adopt(n->exits, j);
		GROW(n->adopting, count, n->adopting_cap);
		n->adopting[count++] = j->number;
	}
	uint64_t *swap = n->adopted;
	size_t cap = n->adopted_cap;
	n->adopted = n->adopting;
	n->adopted_cap = n->adopting_cap;
	n->adopted_count = count;
	n->adopting = swap;
	n->adopting_cap = cap;
}

/* The list changes only under the lock of the exit accounting. True: jobs ended, or have no process
 * left. */
static bool update_jobs(struct node *n)
{
	bool ended = false;

	if (n->exits)
		exits_lock(n->exits);
	int r = cgroup_jobs_update(n->jobs);
	if (n->exits) {
		adopt_jobs(n);
		exits_unlock(n->exits);
	}
	/* the counters are exact when the last process ends; later the cgroups may be gone */
	uint64_t emptied = 0;
	for (size_t i = 0; i < cgroup_jobs_count(n->jobs); i++) {
		const struct job *j = cgroup_jobs_at(n->jobs, i);

		ended |= j->state == JOB_ENDED;
		if (j->state == JOB_RUNNING && j->empty)
			emptied += j->number * j->number;
	}
	ended |= emptied && emptied != n->emptied;
	n->emptied = emptied;
	if (r < 0 && !n->warned_jobs) {
		log_warn("cannot look for jobs: %s", strerror(-r));
		n->warned_jobs = true;
	}
	n->next_look_ns = clock_boottime_ns() + LOOK_NS;
	return ended;
}

/* Removes jobs that had their last reading. */
static void forget_jobs(struct node *n)
{
	if (n->exits)
		exits_lock(n->exits);
	for (size_t i = 0; i < cgroup_jobs_count(n->jobs); i++) {
		const struct job *j = cgroup_jobs_at(n->jobs, i);

		if (j->state != JOB_ENDED)
			continue;
		n->jobs_ended++;
		log_debug("job %s ended", j->id);
		if (n->exits)
			exits_drop(n->exits, j->number);
	}
	cgroup_jobs_forget(n->jobs);
	if (n->exits)
		exits_unlock(n->exits);
}

static void before(void *user, bool last)
{
	struct node *n = user;

	(void)last;
	if (!n->jobs)
		return;
	(void)update_jobs(n);
	if (n->named_open)
		(void)job_processes_update(&n->named);
	else if (n->lists_processes)
		node_processes_update(&n->processes, n->jobs);
}

static void after(void *user, bool last)
{
	struct node *n = user;

	if (n->jobs)
		forget_jobs(n);
	node_look_at_wrong_roots(n);
	n->ending_ns = 0;
	n->last_reading_ns = clock_boottime_ns();
	/* starting and answering need more memory than sampling */
	if (++n->readings >= n->trim_at) {
		mem_trim();
		n->trim_at = n->readings + TRIM_EVERY;
	}
	n->over = n->o->once;
	if (!last)
		node_notify(n);
}

/* ---- between readings ---- */

static void earlier(uint64_t *wake_ns, uint64_t then)
{
	if (then < *wake_ns)
		*wake_ns = then;
}

static size_t prepare(void *user, struct pollfd *fds, size_t cap, uint64_t *wake_ns)
{
	struct node *n = user;
	size_t count = 0;
	int fd = n->jobs ? cgroup_jobs_descriptor(n->jobs) : -1;

	if (fd >= 0)
		fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
	else if (n->jobs)
		earlier(wake_ns, n->next_look_ns);
	if (n->control) {
		count += node_control_poll(n->control, fds + count, cap - count);
		if (node_control_busy(n->control))
			earlier(wake_ns, 0);
	}
	if (n->ending_ns)
		earlier(wake_ns, n->ending_ns);
	if (n->watchdog_ns)
		earlier(wake_ns, n->next_watchdog_ns);
	if (n->over)
		earlier(wake_ns, 0);
	return count;
}

static enum sampler_wish woken(void *user, const struct pollfd *fds, size_t count)
{
	struct node *n = user;
	uint64_t now = clock_boottime_ns();

	(void)fds;
	(void)count;
	if (n->over)
		return SAMPLER_END;
	if (n->watchdog_ns && now >= n->next_watchdog_ns) {
		notify_service_manager("WATCHDOG=1");
		n->next_watchdog_ns = now + n->watchdog_ns / 3;
	}
	for (size_t i = 0; node_protocols[i]; i++)
		if (n->protocols[i].open)
			node_protocols[i]->retry(&n->protocols[i].output);
	if (n->control && node_control_work(n->control))
		return SAMPLER_CHANGED;
	if (n->jobs && update_jobs(n) && !n->ending_ns)
		n->ending_ns = n->last_reading_ns + ENDINGS_NS > now
				       ? n->last_reading_ns + ENDINGS_NS
				       : now;
	return n->ending_ns && now >= n->ending_ns ? SAMPLER_READ_JOBS : SAMPLER_GO_ON;
}

static enum sampler_wish hangup(void *user)
{
	struct node *n = user;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, problems = STRBUF_INIT;
	struct config next = {0};

	notify_service_manager("RELOADING=1");
	config_load(&next, "", &problems);
	warn_lines(problems.buf, NULL);
	n->o->flags(n->o->flags_user, &next);
	int r = take_config(n, &next, &why);
	if (r == 0)
		copy_config(&n->ctx->config, &next);
	config_release(&next);
	if (r == 0)
		log_info("the configuration was reloaded");
	else
		log_error("the new configuration is invalid, the old one stays in force: %s",
			  why.buf);
	notify_service_manager("READY=1");
	return r == 0 ? SAMPLER_CHANGED : SAMPLER_GO_ON;
}

static void opened(void *user, const struct active_sources *active)
{
	struct node *n = user;

	n->active = active;
	n->trim_at = n->readings + TRIM_AFTER;
	if (n->control)
		node_control_answer(n->control);
	if (n->o->opened)
		n->o->opened(n->o->user, active);
}

/* ---- start and stop ---- */

/* The thread that receives exit records needs priority over jobs that use all CPUs, or records are
 * lost. It inherits the priority of this thread, which was raised before capabilities were dropped.
 */
static void open_exits(struct node *n)
{
	const struct exits_options o = {.jobs = n->jobs, .bpf = n->bpf};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	n->bpf = NULL;
	if (exits_open(&n->exits, &o, &why) < 0) {
		n->exits = NULL;
		log_warn("no exit records: processes that live shorter than a period are missing "
			 "from job_tasks: %s",
			 why.buf);
	}
}

static int open_jobs(struct node *n)
{
	const struct cgroup_jobs_options o = {
		.root = n->o->root,
		.roots = (const char *const *)n->settings.roots.names,
		.root_count = n->settings.roots.count,
		.groups = (const char *const *)n->settings.groups.names,
		.group_count = n->settings.groups.count,
		.patterns = (const char *const *)n->settings.patterns.names,
		.pattern_count = n->settings.patterns.count,
		.only = (const char *const *)n->settings.jobs.names,
		.only_count = n->settings.jobs.count,
		.containers = n->settings.containers,
	};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = cgroup_jobs_open(&n->jobs, &o, &why);

	if (r < 0) {
		log_error("cannot look for jobs: %s", why.len ? why.buf : strerror(-r));
		return r;
	}
	if (node_samples(&n->settings, "job_tasks"))
		open_exits(n);
	(void)update_jobs(n);
	node_look_at_roots(n);
	return 0;
}

/* The job of the named processes. */
static int open_named(struct node *n)
{
	const struct job_processes_options o = {.kind = JOB_PROCESSES_PIDS,
						.root = n->o->root,
						.pids = n->o->pids,
						.pid_count = n->o->pid_count,
						.all_users = true};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!o.pid_count)
		return 0;
	int r = job_processes_open(&n->named, &o, &why);
	if (r < 0)
		log_error("cannot watch processes: %s", why.len ? why.buf : strerror(-r));
	n->named_open = r == 0;
	return r;
}

static void begin_head(struct node *n)
{
	static char no_job[] = "", run_name[] = "node";
	char *boot = read_fact("/proc/sys/kernel/random/boot_id");

	n->head = (struct sample_file_head){
		.host = n->settings.name,
		.boot = boot ? boot : xstrdup(""),
		.job = no_job,
		.run = run_name,
		.period_ns = n->settings.period_ns,
	};
	clock_pair(&n->head.boottime_ns, &n->head.realtime_ns);
}

/* All threads inherit this: signals are for the sampling thread, which reads them from its own
 * descriptor. */
static void prepare_process(void)
{
	int fd = hold_signals();

	close_fd(&fd);
	mallopt(M_ARENA_MAX, 1);
	(void)raise_file_limit();
}

static bool delivery(void *user, struct sampler_delivery *ret)
{
	return node_delivery(user, ret);
}

static int sample(struct node *n)
{
	const struct sampler_hooks hooks = {.prepare = prepare,
					    .woken = woken,
					    .hangup = hangup,
					    .before = before,
					    .after = after,
					    .opened = opened,
					    .delivery = delivery,
					    .user = n};
	struct sampler_result r;

	n->sampler.root = n->o->root;
	n->sampler.jobs = n->jobs;
	n->sampler.exits = n->exits;
	n->sampler.timeout_ns = 10000000000ull;
	n->sampler.checkpoint_ns = n->settings.output ? CHECKPOINT_NS : 0;
	n->sampler.stop = -1;
	n->sampler.file = -1;
	n->sampler.head = &n->head;
	n->sampler.output = &n->sink;
	n->sampler.hooks = &hooks;
	apply_settings(n);
	n->watchdog_ns = watchdog_ns();
	notify_service_manager("READY=1");
	sampler_run(&n->sampler, &r);
	notify_service_manager("STOPPING=1");
	if (r.write_error)
		log_warn("samples were lost: %s", strerror(r.write_error));
	log_info("ended by %s after %llu sample%s; %llu jobs ended meanwhile", r.end,
		 (unsigned long long)r.ticks, plural(r.ticks, "", "s"),
		 (unsigned long long)n->jobs_ended);
	n->active = NULL;
	bool failed = r.write_error;
	sampler_result_release(&r);
	return failed ? EXIT_FAILED : EXIT_OK;
}

static int run(struct node *n)
{
	prepare_process();
	n->processes.root = n->o->root;
	begin_head(n);
	int nice = getpriority(PRIO_PROCESS, 0);
	(void)setpriority(PRIO_PROCESS, 0, EXITS_NICE); /* if permitted */
	if (node_open_output(n) < 0 || node_drop_rights(n) < 0 || open_jobs(n) < 0)
		return EXIT_FAILED;
	(void)setpriority(PRIO_PROCESS, 0, nice);
	if (open_named(n) < 0 || node_open_control(n, change, show) < 0 || node_open_outputs(n) < 0)
		return EXIT_FAILED;
	int status = sample(n);
	/* data on the way gets some more time */
	return node_close_outputs(n, FLUSH_WAIT_NS) < 0 ? EXIT_FAILED : status;
}

int do_node(struct context *ctx, const struct node_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct node n = {
		.ctx = ctx, .o = o, .output = -1, .lock = -1, .since_us = clock_realtime_us()};

	outlive_readers();
	if (ctx->verbosity == 0 && ctx->personality->daemons_log_more)
		log_init(ctx->program, LOG_INFO);
	if (node_settings_read(&n.settings, &ctx->config, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_USAGE;
	}
	int status = node_check(&n) < 0 ? EXIT_USAGE : run(&n);
	node_control_close(n.control);
	if (n.exits)
		exits_close(n.exits);
	exits_bpf_close(n.bpf);
	if (n.jobs)
		cgroup_jobs_close(n.jobs);
	node_processes_release(&n.processes);
	if (n.named_open)
		job_processes_close(&n.named);
	free(n.adopted);
	free(n.allowed);
	keyring_release(&n.keys);
	keyring_release(&n.control_keys);
	free(n.adopting);
	free(n.head.boot);
	close_fd(&n.output);
	close_fd(&n.lock);
	node_settings_release(&n.settings);
	return status;
}
