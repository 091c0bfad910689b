/*
 * Runs `perfmon`: the place of its results, its log, the file that ends it, and its JSON files from
 * the samples of all hosts. do_monitor() samples.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/perfmon/perfmon.h"
#include "compat/perfmon/perfmon_files.h"
#include "core/files/fs.h"
#include "jobs/host_list.h"
#include "jobs/metadata.h"
#include "jobs/sample_files.h"

/* Share of one CPU: large, because users chose the interval. */
#define BUDGET 0.02
#define LOG_NAME "ska_sdp_monitoring_metrics"

struct session {
	struct context *ctx;
	const struct perfmon *p;
	struct job_hosts peers;
	const struct scheduler *scheduler;
	const char *id;
	char *save_dir, *data_dir, *job_dir, *ipc;
	int data; /* data_dir */
};

/* ---- directories ----------------------------------------------------------------------------- */

static char *absolute(const char *path)
{
	_cleanup_free_ char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);

	return cwd ? xasprintf("%s/%s", cwd, path) : xstrdup(path);
}

/* Creates a directory and its missing parents, like mkdir -p. */
static int make_dirs(const char *path)
{
	_cleanup_free_ char *part = xstrdup(path);

	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(part, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static int prepare_dirs(struct session *s)
{
	_cleanup_free_ char *base = perfmon_expand(s->p->save_dir ? s->p->save_dir : ".");
	_cleanup_free_ char *prefix = s->p->prefix ? perfmon_expand(s->p->prefix) : NULL;

	s->save_dir = absolute(!strcmp(base, ".") ? "" : base);
	size_t n = strlen(s->save_dir);
	while (n > 1 && s->save_dir[n - 1] == '/')
		s->save_dir[--n] = 0;
	s->data_dir = !prefix            ? xstrdup(s->save_dir)
		      : prefix[0] == '/' ? xstrdup(prefix)
					 : xasprintf("%s/%s", s->save_dir, prefix);
	int r = make_dirs(s->save_dir);
	if (r == 0)
		r = make_dirs(s->data_dir);
	if (r < 0)
		return fail_with(r, "cannot create directory '%s': %s", s->data_dir, strerror(-r));
	s->data = open(s->data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->data < 0) {
		r = -errno;
		log_error("cannot open directory '%s': %s", s->data_dir, strerror(-r));
	}
	return s->data < 0 ? r : 0;
}

/* All hosts write to one log; with -v each writes its own. */
static int open_log(struct session *s)
{
	_cleanup_free_ char *path =
		s->p->verbose ? xasprintf("%s/" LOG_NAME "_%s.log", s->save_dir, s->peers.self)
			      : xasprintf("%s/" LOG_NAME ".log", s->save_dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int fd = fs_open_output(path, O_WRONLY | O_APPEND | O_NONBLOCK, 0666, &why);

	if (fd < 0) {
		log_error("cannot open log '%s': %s", path, why.len ? why.buf : strerror(-fd));
		return fd;
	}
	log_init("perfmon", s->p->verbose ? LOG_DEBUG : LOG_INFO);
	perfmon_log_to(fd, s->peers.self);
	return 0;
}

/* ---- configuration -------------------------------------------------------------------------- */

static struct value *text_or_none(const char *s)
{
	return s ? value_str(s) : value_new(VALUE_NONE);
}

static struct value *configuration(const struct session *s)
{
	const struct perfmon *p = s->p;
	struct value *c = value_new(VALUE_DICT), *files = value_new(VALUE_LIST),
		     *nodes = value_new(VALUE_LIST), *formats = value_new(VALUE_LIST);
	static const char *const names[] = {"meta_data", "cpu_metrics", "perf_metrics",
					    "nv_gpu_metrics"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		value_append(files, value_str(names[i]));
	for (size_t i = 0; i < s->peers.name_count; i++)
		value_append(nodes, value_str(s->peers.names[i]));
	for (size_t i = 0; perfmon_formats[i]; i++)
		if (p->formats[i])
			value_append(formats, value_str(perfmon_formats[i]));
	value_set(c, "check_point", value_int((int64_t)p->checkpoint_s));
	value_set(c, "data_dir", value_str(s->data_dir));
	value_set(c, "env", text_or_none(p->env));
	value_set(c, "export", p->exports ? formats : value_new(VALUE_NONE));
	if (!p->exports)
		value_free(formats);
	value_set(c, "gen_report", value_bool(p->report));
	value_set(c, "host_name", value_str(s->peers.self));
	value_set(c, "ipc_file", value_str(s->ipc));
	value_set(c, "job_id", value_str(s->id));
	value_set(c, "launcher", text_or_none(p->launcher));
	value_set(c, "master_node",
		  text_or_none(s->peers.name_count ? s->peers.names[0]
			       : s->peers.first    ? s->peers.self
						   : NULL));
	value_set(c, "metrics", files);
	value_set(c, "name", text_or_none(p->name));
	value_set(c, "nodes", nodes);
	value_set(c, "partition", text_or_none(p->partition));
	value_set(c, "prefix", text_or_none(p->prefix));
	value_set(c, "sampling_freq", value_int((int64_t)p->interval_s));
	value_set(c, "save_dir", value_str(s->save_dir));
	value_set(c, "scheduler", value_str(s->scheduler->name));
	value_set(c, "script_name", value_str("perfmon"));
	value_set(c, "system", text_or_none(p->system));
	value_set(c, "temp_path", value_str(s->job_dir));
	value_set(c, "verbose", value_bool(p->verbose));
	return c;
}

static void dump_configuration(const struct session *s)
{
	_cleanup_value_ struct value *c = configuration(s);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *name = xasprintf("%s_run_config.yml", s->peers.self);
	_cleanup_close_ int dir = fs_open_result_dir(s->data, "configs");

	perfmon_yaml(c, &text);
	int r = dir < 0 ? dir : fs_replace(dir, name, text.buf, text.len, 0666);
	if (r < 0)
		log_warn("cannot write 'configs/%s': %s", name, strerror(-r));
}

/* The four names of a benchmark as tags of the job. */
static void set_tags(struct context *ctx, struct session *s)
{
	const struct {
		const char *key, *value;
	} given[] = {{"system", s->p->system},
		     {"partition", s->p->partition},
		     {"env", s->p->env},
		     {"name", s->p->name}};
	_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT;

	strbuf_addstr(&tags, config_get(&ctx->config, SETTING_JOB_TAGS));
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (given[i].value && !strpbrk(given[i].value, ":;"))
			strbuf_addf(&tags, "%s%s:%s", tags.len ? ";" : "", given[i].key,
				    given[i].value);
	config_set(&ctx->config, SETTING_JOB_TAGS, tags.buf, "options of perfmon");
}

/* On the host that merges the samples. */
static int finish(void *session, const struct monitor_finish *f)
{
	const struct session *s = session;
	const struct perfmon_input in = {.period_s = s->p->interval_s,
					 .job = s->id,
					 .system = s->p->system,
					 .partition = s->p->partition,
					 .env = s->p->env,
					 .name = s->p->name};
	size_t hosts = 0;
	int r = perfmon_layout(f, &in, s->data, &hosts);

	if (r < 0)
		log_error("the metrics of job %s are not in '%s/metrics': %s", s->id, s->data_dir,
			  r == -ENODATA ? "nothing was sampled" : strerror(-r));
	else
		log_info("the metrics of %zu host%s are in '%s/metrics'", hosts,
			 plural(hosts, "", "s"), s->data_dir);
	int exported =
		r >= 0 && s->p->exports ? perfmon_export(s->p, s->data, s->data_dir, s->id) : 0;
	if (r >= 0 && s->p->report)
		r = perfmon_report(s->ctx, s->job_dir, s->data_dir, s->id);
	return r < 0 ? r : exported;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int find_batch_job(struct session *s)
{
	s->scheduler = scheduler_find(env_lookup, &s->id);
	if (!s->scheduler)
		return fail_with(
			-ENOENT,
			"no batch system found: perfmon monitors jobs of SLURM, PBS or OAR");
	if (!job_id_valid(s->id))
		return fail_with(
			-EINVAL,
			"invalid job id '%s': use at most 128 printable characters, no slash, "
			"no blank, no leading dot",
			s->id);
	_cleanup_free_ char *ipc = xasprintf(".ipc-%s", s->id);
	s->ipc = absolute(ipc);
	s->job_dir = xasprintf("%s/plimsoll-%s", s->data_dir, s->id);
	return 0;
}

static void say_begin(const struct session *s)
{
	log_info("job %s of %s: this is process %d on %s, %s", s->id, s->scheduler->name,
		 (int)getpid(), s->peers.self,
		 s->peers.first ? "which merges the samples" : "which only samples");
	log_info("a sample every %llu s, results in '%s'", (unsigned long long)s->p->interval_s,
		 s->data_dir);
	log_debug("%zu %s expected; '%s' ends monitoring when it contains FINISHED",
		  s->peers.expected, plural(s->peers.expected, "host is", "hosts are"), s->ipc);
}

/*
 * The sources of its files. Counters are those of user space, in the groups that this CPU has.
 * Reading shares of memory is expensive and happens every 5 seconds at most.
 */
static void choose_sources(struct monitor_options *m)
{
	static const struct sampler_source wanted[] = {
		{"counters=user,hardware_events,software_events,?L2,?L2cache,?L3,?L3cache,?FLOPS_SP,"
		 "?FLOPS_DP,?MEM_READ",
		 1},
		{"infiniband", 1},
		{"network", 1},
		{"nvidia", 1},
		{"process", 1},
		{"process_memory", 5000000000u},
		{"rapl", 1},
		{"system", 1},
	};

	m->only_count = ARRAY_SIZE(wanted);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		m->only[i] = wanted[i];
}

/* Times that tests, and sites with slow batch systems, may change. */
static void take_time(const char *variable, uint64_t *ns)
{
	const char *v = getenv(variable);

	if (v && *v && parse_duration_ns(v, ns) < 0)
		log_warn("invalid duration %s='%s', ignoring it", variable, v);
}

static int monitor(struct context *ctx, struct session *s)
{
	struct monitor_options m = MONITOR_DEFAULTS;

	if (prepare_dirs(s) < 0 || open_log(s) < 0 || find_batch_job(s) < 0)
		return EXIT_FAILED;
	int r = perfmon_ipc_begin(s->ipc);
	if (r < 0)
		log_warn("cannot create '%s': %s; monitoring ends with the job only", s->ipc,
			 strerror(-r));
	if (s->p->verbose)
		dump_configuration(s);
	set_tags(ctx, s);
	m.watch.launcher = s->p->launcher;
	m.dir = s->job_dir;
	m.jobid = s->id;
	m.interval_ns = s->p->interval_s * 1000000000u;
	m.checkpoint_ns = s->p->checkpoint_s * 1000000000u;
	m.others_too = m.wait_sampling = true;
	m.budget = BUDGET;
	m.finished = s->ipc;
	m.quiet = m.no_submit = true;
	m.finish = finish;
	m.user = s;
	choose_sources(&m);
	take_time("PLIMSOLL_FIND", &m.find_ns);
	take_time("PLIMSOLL_WAIT_HOSTS", &m.merge_ns);
	say_begin(s);
	int status = do_monitor(ctx, &m);
	if (s->peers.first)
		perfmon_ipc_end(s->ipc);
	log_info("done, exit status %d", status);
	return status;
}

int perfmon_monitor(struct context *ctx, const struct perfmon *p)
{
	struct session s = {.ctx = ctx, .p = p, .data = -1};
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	job_hosts_find(&s.peers, env_lookup, host);
	int status = monitor(ctx, &s);
	if (s.data >= 0)
		close(s.data);
	free(s.save_dir);
	free(s.data_dir);
	free(s.job_dir);
	free(s.ipc);
	job_hosts_release(&s.peers);
	return status;
}
