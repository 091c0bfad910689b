/*
 * Called as `colmet-node`: the options of both of colmet's node programs, the Python one's (flags
 * without a value) and the Rust one's (every flag with one), and as `colmet-node-config`, the Rust
 * one's tool. The options become settings of the node daemon, which sends colmet's records.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "compat/colmet/colmet.h"
#include "compat/colmet/colmet_names.h"
#include "compat/options/compat_options.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/privileges.h"
#include "core/system/procparse.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "node/node.h"
#include "sampler/active_sources.h"
#include "transport/link.h"

#define FILE_MAX 65536
#define SECONDS_MAX 86400.0
#define PID_MAX 4194304
#define COLMET_PIDS_MAX 256
#define COLMET_EVENTS_MAX 5

struct colmet_node {
	struct context *ctx;
	bool no_procstats, infiniband, omnipath, lustre, perfhw, jobproc, rapl, temperature;
	bool ipmipower, nvidia, wait;
	int64_t verbosity, high_water, linger_ms;
	char *metrics;
	struct colmet_names names; /* the same in our terms */
	const char *prefix, *root, *suffix;
	const char *events[COLMET_EVENTS_MAX];
	size_t event_count;
	struct strbuf ipmi; /* the command, words with blanks between */
	int pids[COLMET_PIDS_MAX];
	size_t pid_count;
	struct node_options node;
};

static const struct old_program colmet_node_program;

static void init(struct colmet_node *c, struct context *ctx)
{
	*c = (struct colmet_node){
		.ctx = ctx, .verbosity = 1, .ipmi = STRBUF_INIT, .names = COLMET_NAMES_INIT};
	c->wait = true;
	c->root = "/sys/fs/cgroup";
	config_set(&ctx->config, SETTING_NODE_COLMET, "tcp://127.0.0.1:5556", "colmet's default");
	config_set(&ctx->config, SETTING_NODE_PERIOD, "5s", "colmet's default");
}

static void release(struct colmet_node *c)
{
	free(c->metrics);
	colmet_names_release(&c->names);
	strbuf_release(&c->ipmi);
}

/* ---- options -------------------------------------------------------------------------------- */

#define TAKE(name) \
	static bool name(void *user, const struct old_option *r PL_UNUSED, const char *value)

TAKE(set_period)
{
	struct colmet_node *c = user;
	char text[32], *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s >= 0.01 && s <= SECONDS_MAX))
		return old_wrong(&colmet_node_program,
				 "--sample-period takes seconds from 0.01 to 86400, not '%s'",
				 value);
	snprintf(text, sizeof(text), "%lldms", (long long)round_i64(s * 1000));
	config_set(&c->ctx->config, SETTING_NODE_PERIOD, text, "flag");
	return true;
}

TAKE(set_metrics)
{
	struct colmet_node *c = user;

	if (c->metrics)
		return old_wrong(&colmet_node_program,
				 "metrics are named twice: --metrics or --file_metrics");
	c->metrics = xstrdup(value);
	return true;
}

/* A list in a file, its lines put together. */
TAKE(set_file_metrics)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int error = fs_read(AT_FDCWD, value, FILE_MAX, &text);

	if (error < 0)
		return old_wrong(&colmet_node_program, "cannot read '%s': %s", value,
				 strerror(-error));
	for (size_t i = 0; i < text.len; i++)
		if (strchr("\r\n", text.buf[i]))
			text.buf[i] = ' ';
	return set_metrics(user, r, text.buf);
}

/* A thread stands for its process. */
TAKE(set_pid)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct colmet_node *c = user;
	char path[64];
	uint64_t group;
	int64_t pid = 0;

	(void)parse_i64(value, &pid); /* it was checked */
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (fs_read(AT_FDCWD, path, FILE_MAX, &text) < 0)
		return old_wrong(&colmet_node_program, "there is no process %s", value);
	if (proc_parse_status(text.buf, text.len, "Tgid", &group))
		pid = (int64_t)group;
	if (c->pid_count == COLMET_PIDS_MAX)
		return old_wrong(&colmet_node_program, "more than %d processes", COLMET_PIDS_MAX);
	c->pids[c->pid_count++] = (int)pid;
	return true;
}

TAKE(set_regex)
{
	_cleanup_strbuf_ struct strbuf pattern = STRBUF_INIT, why = STRBUF_INIT;
	struct colmet_node *c = user;

	if (cgroup_jobs_pattern_translate(value, &pattern, &why) < 0)
		return old_wrong(&colmet_node_program, "--regex_job_id '%s': %s", value, why.buf);
	node_list_add(&c->ctx->config, SETTING_NODE_PATTERNS, pattern.buf, "flag");
	return true;
}

/* One more job, besides those that are found. */
TAKE(set_cgroup)
{
	struct colmet_node *c = user;
	size_t n = strlen(value);

	while (n > 1 && value[n - 1] == '/')
		n--;
	if (value[0] != '/' || n < 2)
		return old_wrong(&colmet_node_program,
				 "--cgroup takes the path of a directory, not '%s'", value);
	node_list_add(&c->ctx->config, SETTING_NODE_GROUPS, value, "flag");
	return true;
}

TAKE(set_event)
{
	struct colmet_node *c = user;

	if (c->event_count == COLMET_EVENTS_MAX) {
		log_warn("colmet's records have %d counters: '%s' is left out", COLMET_EVENTS_MAX,
			 value);
		return true;
	}
	for (size_t i = 0; i < c->event_count; i++)
		if (!strcmp(c->events[i], value))
			return true;
	c->events[c->event_count++] = value;
	return true;
}

TAKE(set_ipmi)
{
	struct strbuf *words = &((struct colmet_node *)user)->ipmi;

	strbuf_addf(words, "%s%s", words->len ? " " : "", value);
	return true;
}

TAKE(set_root)
{
	struct colmet_node *c = user;

	c->root = value;
	c->suffix = c->suffix ? c->suffix : "/oar";
	return true;
}

TAKE(add_cpuset)
{
	node_list_add(&((struct colmet_node *)user)->ctx->config, SETTING_NODE_CGROUP_ROOTS, value,
		      "flag");
	return true;
}

TAKE(set_uri)
{
	config_set(&((struct colmet_node *)user)->ctx->config, SETTING_NODE_COLMET, value, "flag");
	return true;
}

TAKE(set_config)
{
	config_set(&((struct colmet_node *)user)->ctx->config, SETTING_NODE_COLMET_CONFIG, value,
		   "flag");
	return true;
}

#define FLAG(name, member, help)                                                     \
	{                                                                            \
		0, name, TAKES_FLAG, NULL, help, FLAG_AT(struct colmet_node, member) \
	}
#define TEXT(member) TEXT_AT(struct colmet_node, member)
#define NUMBER(member, max) NUMBER_AT(struct colmet_node, member, -1, max)

static const struct old_option rows[] = {
	ROW_HELP,
	ROW_VERSION,
	{'v', "verbose", TAKES_COUNT, "N", "say more; may be repeated", NUMBER(verbosity, 9)},
	{'s', "sample-period", TAKES_ONE, "SECONDS", "time between samples; 5", .take = set_period},
	{'m', "metrics", TAKES_ONE, "LIST",
	 "metrics that are sent, NAME or NAME:PERIOD:JOB with commas between", .take = set_metrics},
	{'f', "file_metrics", TAKES_ONE, "FILE", "the same from a file", .take = set_file_metrics},
	FLAG("disable-procstats", no_procstats, "leave out the node"),
	FLAG("enable-infiniband", infiniband, "counters of ports"),
	FLAG("omnipath", omnipath, "no effect: the unit of a port's counters is known"),
	FLAG("enable-lustre", lustre, "Lustre mounts"),
	{0, "lustre-prefix", TAKES_ONE, "PREFIX", "file systems of this name; lustre",
	 TEXT(prefix)},
	FLAG("enable-perfhw", perfhw, "counters of jobs"),
	{0, "perfhw-list", TAKES_MANY, "EVENT",
	 "which: 5 at most; instructions cache_misses page_faults", .take = set_event},
	FLAG("enable-jobproc", jobproc, "sums over jobs' processes"),
	FLAG("enable-RAPL", rapl, "energy of packages"),
	FLAG("enable-temperature", temperature, "thermal zones"),
	FLAG("enable-ipmipower", ipmipower, "power of the node"),
	{0, "ipmipower-cmd", TAKES_MANY, "WORD", "command that prints it", .take = set_ipmi},
	FLAG("enable-nvidia", nvidia, "GPUs of jobs"),
	{'c', "cgroup", TAKES_ONE, "DIR", "this control group is a job, too", .take = set_cgroup},
	{'p', "pid", TAKES_ONE, "PID", "this process is one, with all it starts", .min = 1,
	 .max = PID_MAX, .take = set_pid},
	{'t', "tid", TAKES_ONE, "TID", "the process of this thread", .min = 1, .max = PID_MAX,
	 .take = set_pid},
	{0, "cpuset_rootpath", TAKES_ONE, "DIR", "where jobs' groups are; may be repeated; OAR's",
	 .take = add_cpuset},
	{0, "regex_job_id", TAKES_ONE, "REGEX",
	 "names of groups that are jobs; may be repeated; _(\\d+)$", .take = set_regex},
	{0, "cgroup-root-path", TAKES_ONE, "DIR", "where groups are; /sys/fs/cgroup",
	 .take = set_root},
	{0, "cgroup-path-suffix", TAKES_ONE, "DIR", "and jobs below cpuset; /oar", TEXT(suffix)},
	FLAG("wait-cgroup-cpuset-path", wait, "wait for that directory; true"),
	{0, "zeromq-uri", TAKES_ONE, "URI", "collector; tcp://127.0.0.1:5556", .take = set_uri},
	{0, "zeromq-hwm", TAKES_ONE, "N", "messages that may wait for it; 1000",
	 NUMBER(high_water, 10000000)},
	{0, "zeromq-linger", TAKES_ONE, "MS", "how long at the end; 0", NUMBER(linger_ms, 3600000)},
	{0, "colmet-config", TAKES_ONE, "URI",
	 "take configuration messages here, tcp://127.0.0.1:5557", .take = set_config},
};

static const struct old_program colmet_node_program = {
	.name = "colmet-node",
	.rows = rows,
	.count = ARRAY_SIZE(rows),
	.about =
		"usage: colmet-node [OPTION...]\n\nSamples the jobs of this node and sends colmet's "
		"records to a collector.\n\noptions:\n",
};

/* ---- sources -------------------------------------------------------------------------------- */

static void add_source(struct colmet_node *c, const char *word)
{
	node_list_add(&c->ctx->config, SETTING_NODE_SOURCES, word, "flag");
}

static void add_counters(struct colmet_node *c)
{
	static const char *const usual[] = {"instructions", "cache_misses", "page_faults"};
	_cleanup_strbuf_ struct strbuf word = STRBUF_INIT;

	for (size_t i = 0; !c->event_count && i < ARRAY_SIZE(usual); i++)
		c->events[i] = usual[i];
	c->event_count = c->event_count ? c->event_count : ARRAY_SIZE(usual);
	strbuf_addstr(&word, "job_counters=");
	for (size_t i = 0; i < c->event_count; i++)
		strbuf_addf(&word, "%s%s", i ? "," : "", c->events[i]);
	add_source(c, word.buf);
}

static void add_sources(struct colmet_node *c)
{
	const struct {
		const char *source;
		bool on;
	} plain[] = {
		{"infiniband", c->infiniband}, {"jobproc", c->jobproc}, {"rapl", c->rapl},
		{"thermal", c->temperature},   {"nvidia", c->nvidia},
	};

	add_source(c, "jobs");
	add_source(c, "job_tasks=living");
	if (!c->no_procstats)
		add_source(c, "procstats");
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (plain[i].on)
			add_source(c, plain[i].source);
	if (c->lustre) {
		/* colmet reads llite/PREFIX-*: the dash ends the file system's name */
		_cleanup_free_ char *word =
			xasprintf("lustre=%s-", c->prefix ? c->prefix : "lustre");

		add_source(c, word);
	}
	if (c->perfhw)
		add_counters(c);
	if (c->ipmipower) {
		_cleanup_free_ char *word = xasprintf("ipmi=%s", c->ipmi.buf);

		add_source(c, c->ipmi.len ? word : "ipmi");
	}
	if (c->pid_count)
		add_source(c, "process");
}

/* ---- running -------------------------------------------------------------------------------- */

/* Writes RAPL_mapping.<time>.csv and the like, of open sources, into the current directory. */
static void write_mappings(void *user, const struct active_sources *slots)
{
	(void)user;
	for (size_t i = 0; i < slots->count; i++) {
		const struct active_source *s = slots->list[i];
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		/* only what has no thread is ours to look at */
		if (s->source->slow)
			continue;
		if (s->broken)
			log_warn("%s is left out: %s", s->source->name, s->why.buf);
		else if (colmet_mapping_write(".", s->source->name, &s->set, clock_realtime_us(),
					      &why) < 0)
			log_warn("%s", why.buf);
	}
}

/* Counts events that are named as metrics; only the other named metrics are sent. */
static int take_metrics(struct colmet_node *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, filter = STRBUF_INIT;
	struct colmet_names *n = &c->names;

	if (!c->metrics)
		return 0;
	if (colmet_names_read(n, c->metrics, true, &why) < 0)
		return fail_with(-EINVAL, "%s", why.buf);
	colmet_names_filter(n, "", &filter);
	config_set(&c->ctx->config, SETTING_NODE_METRICS, filter.buf, "flag");
	config_set(&c->ctx->config, SETTING_NODE_COLMET_NAMES, n->rust.buf, "flag");
	char *rest = n->counters.len ? n->counters.buf : NULL;
	c->perfhw |= rest != NULL;
	for (char *word; (word = strsep(&rest, ","));)
		(void)set_event(c, NULL, word);
	return 0;
}

static void say_environment(void)
{
	static const char *const names[] = {"LIB_PERFHW_PATH", "LIB_RAPL_PATH"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			log_info("%s has no effect: nothing needs that library", names[i]);
}

static void put_flags(void *user, struct config *c)
{
	const struct colmet_node *me = user;

	/* the command line has precedence over files */
	for (int i = 0; i < SETTING_COUNT; i++)
		if (str_prefix(settings[i].name, "node_"))
			config_set(c, (enum setting_id)i, config_get(&me->ctx->config, i), "flag");
}

/* The places where colmet looks. */
static int set_places(struct colmet_node *c)
{
	struct config *config = &c->ctx->config;

	if (c->suffix) {
		_cleanup_free_ char *path = xasprintf("%s/cpuset%s", c->root, c->suffix);

		if (!c->wait && access(path, F_OK) < 0)
			return fail_with(
				-ENOENT,
				"'%s' is not there, and --wait-cgroup-cpuset-path is false", path);
		node_list_add(config, SETTING_NODE_CGROUP_ROOTS, path, "flag");
	}
	if (*config_get(config, SETTING_NODE_CGROUP_ROOTS) &&
	    !*config_get(config, SETTING_NODE_PATTERNS))
		node_list_add(config, SETTING_NODE_PATTERNS, "_([0-9]+)$", "flag");
	return 0;
}

static int run(struct colmet_node *c)
{
	/* warnings; -v, -vv say more, as 40 less 10 for each does */
	log_init("colmet-node", c->verbosity <= 0   ? LOG_ERROR
				: c->verbosity == 1 ? LOG_WARN
				: c->verbosity == 2 ? LOG_INFO
						    : LOG_DEBUG);
	c->ctx->verbosity = (int)c->verbosity - 1;
	if (set_places(c) < 0)
		return EXIT_FAILED;
	if (take_metrics(c) < 0)
		return EXIT_USAGE;
	add_sources(c);
	say_environment();
	if (!(privileges_held() & PRIVILEGE_NET_ADMIN))
		log_warn("taskstats needs root: CPU time and I/O of jobs' processes are left out, "
			 "the rest goes on");
	c->node.root = "";
	c->node.high_water = c->high_water > 0 ? (unsigned)c->high_water : 0;
	c->node.linger_ms = c->linger_ms > 0 ? (int)c->linger_ms : 0;
	c->node.pids = c->pids;
	c->node.pid_count = c->pid_count;
	c->node.opened = write_mappings;
	c->node.flags = put_flags;
	c->node.flags_user = c;
	return do_node(c->ctx, &c->node);
}

static int run_colmet_node(struct context *ctx, int argc, char **argv)
{
	struct colmet_node c;

	init(&c, ctx);
	int status = old_parse(&colmet_node_program, &c, argv + (argc > 0));
	if (status < 0)
		status = run(&c);
	release(&c);
	return status;
}

/* ---- colmet-node-config --------------------------------------------------------------------- */

#define CONFIG_URI "tcp://127.0.0.1:5557"
#define LINGER_MS 2000

static int wrong_use(void)
{
	fputs("usage: colmet-node-config PERIOD METRICS [URI]\n\nSends colmet's configuration "
	      "message to a node that takes it (colmet-node --colmet-config URI):\nseconds between "
	      "samples, and metrics with commas between them. URI: " CONFIG_URI "\n",
	      stderr);
	return EXIT_USAGE;
}

static int run_colmet_node_config(struct context *ctx, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf message = STRBUF_INIT, why = STRBUF_INIT;
	struct colmet_configuration c = {0};
	const struct link_options lo = {
		.kind = LINK_PUSH, .uri = argc > 3 ? argv[3] : CONFIG_URI, .linger_ms = LINGER_MS};
	struct link *l;
	char *end;

	(void)ctx;
	if (argc < 3 || argc > 4)
		return wrong_use();
	c.period_s = strtod(argv[1], &end);
	if (end == argv[1] || *end || !(c.period_s >= 0.01 && c.period_s <= 86400)) {
		log_error("invalid time between samples '%s': it takes seconds from 0.01 to 86400",
			  argv[1]);
		return EXIT_USAGE;
	}
	if (strlen(argv[2]) >= sizeof(c.metrics)) {
		log_error("the list of metrics is too long: %zu bytes at most",
			  sizeof(c.metrics) - 1);
		return EXIT_USAGE;
	}
	memcpy(c.metrics, argv[2], strlen(argv[2]) + 1);
	colmet_write_configuration(&c, &message);
	int r = link_open(&l, &lo, &why);
	if (r == 0) {
		const struct link_part part = {message.buf, message.len};

		r = link_send(l, &part, 1);
		link_close(l);
	}
	if (r < 0)
		log_error("cannot send to '%s': %s", lo.uri, why.len ? why.buf : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

const struct personality personality_colmet_node = {
	.name = "colmet-node",
	.run = run_colmet_node,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
	.listens = true,
};

const struct personality personality_colmet_node_config = {
	.name = "colmet-node-config",
	.run = run_colmet_node_config,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
};
