/* What the options of `colmet-node` mean to the node daemon; see colmet_node.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "compat/colmet/colmet.h"
#include "compat/colmet/colmet_node.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/privileges.h"
#include "core/system/procparse.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "sampler/active_sources.h"

#define FILE_MAX 65536
#define SECONDS_MAX 86400.0

void colmet_node_init(struct colmet_node *c, struct context *ctx)
{
	*c = (struct colmet_node){
		.ctx = ctx, .verbosity = 1, .ipmi = STRBUF_INIT, .names = COLMET_NAMES_INIT};
	c->on[COLMET_WAIT] = true;
	c->root = "/sys/fs/cgroup";
	config_set(&ctx->config, SETTING_NODE_COLMET, "tcp://127.0.0.1:5556", "colmet's default");
	config_set(&ctx->config, SETTING_NODE_PERIOD, "5s", "colmet's default");
}

void colmet_node_release(struct colmet_node *c)
{
	free(c->metrics);
	colmet_names_release(&c->names);
	strbuf_release(&c->ipmi);
}

/* ---- options ----------------------------------------------------------------------------------
 */

static bool set_period(struct colmet_node *c, const char *value)
{
	char text[32], *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s >= 0.01 && s <= SECONDS_MAX))
		return old_wrong(&colmet_node_program,
				 "--sample-period takes seconds from 0.01 to 86400, not "
				 "'%s'",
				 value);
	snprintf(text, sizeof(text), "%lldms", (long long)round_i64(s * 1000));
	config_set(&c->ctx->config, SETTING_NODE_PERIOD, text, "flag");
	return true;
}

static bool set_number(const char *option, const char *value, int64_t max, int64_t *ret)
{
	if (parse_i64(value, ret) == 0 && *ret >= -1 && *ret <= max)
		return true;
	return old_wrong(&colmet_node_program, "--%s takes a number, not '%s'", option, value);
}

static bool set_metrics(struct colmet_node *c, const char *value)
{
	if (c->metrics)
		return old_wrong(&colmet_node_program,
				 "metrics are named twice: --metrics or --file_metrics");
	c->metrics = xstrdup(value);
	return true;
}

/* A list in a file, its lines put together. */
static bool set_file_metrics(struct colmet_node *c, const char *path)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = fs_read(AT_FDCWD, path, FILE_MAX, &text);

	if (r < 0)
		return old_wrong(&colmet_node_program, "cannot read '%s': %s", path, strerror(-r));
	for (size_t i = 0; i < text.len; i++)
		if (strchr("\r\n", text.buf[i]))
			text.buf[i] = ' ';
	return set_metrics(c, text.buf);
}

/* A thread stands for its process. */
static bool set_pid(struct colmet_node *c, const char *value)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char path[64];
	uint64_t group;
	int64_t pid;

	if (!set_number("pid", value, 4194304, &pid) || pid <= 0)
		return false;
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

static bool set_regex(struct colmet_node *c, const char *value)
{
	_cleanup_strbuf_ struct strbuf pattern = STRBUF_INIT, why = STRBUF_INIT;

	if (cgroup_jobs_pattern_translate(value, &pattern, &why) < 0)
		return old_wrong(&colmet_node_program, "--regex_job_id '%s': %s", value, why.buf);
	node_list_add(&c->ctx->config, SETTING_NODE_PATTERNS, pattern.buf, "flag");
	return true;
}

/* One more job, besides those that are found. */
static bool set_cgroup(struct colmet_node *c, const char *value)
{
	size_t n = strlen(value);

	while (n > 1 && value[n - 1] == '/')
		n--;
	if (value[0] != '/' || n < 2)
		return old_wrong(&colmet_node_program,
				 "--cgroup takes the path of a directory, not '%s'", value);
	node_list_add(&c->ctx->config, SETTING_NODE_GROUPS, value, "flag");
	return true;
}

static bool set_event(struct colmet_node *c, const char *value)
{
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

static bool set_verbosity(struct colmet_node *c, const char *value)
{
	int64_t v;

	if (!value) {
		c->verbosity++;
		return true;
	}
	if (!set_number("verbose", value, 9, &v))
		return false;
	c->verbosity = (int)v;
	return true;
}

bool colmet_node_set(struct colmet_node *c, int id, const char *value, bool on)
{
	struct config *config = &c->ctx->config;
	int64_t n;

	switch (id) {
	case COLMET_HELP:
		c->help = c->done = true;
		break;
	case COLMET_VERSION:
		c->version = c->done = true;
		break;
	case COLMET_VERBOSE:
		return set_verbosity(c, value);
	case COLMET_PERIOD:
		return set_period(c, value);
	case COLMET_METRICS:
		return set_metrics(c, value);
	case COLMET_FILE_METRICS:
		return set_file_metrics(c, value);
	case COLMET_LUSTRE_PREFIX:
		c->prefix = value;
		break;
	case COLMET_PERFHW_LIST:
		return set_event(c, value);
	case COLMET_IPMIPOWER_CMD:
		strbuf_addf(&c->ipmi, "%s%s", c->ipmi.len ? " " : "", value);
		break;
	case COLMET_CGROUP:
		return set_cgroup(c, value);
	case COLMET_PID:
	case COLMET_TID:
		return set_pid(c, value);
	case COLMET_CPUSET:
		node_list_add(config, SETTING_NODE_CGROUP_ROOTS, value, "flag");
		break;
	case COLMET_REGEX:
		return set_regex(c, value);
	case COLMET_ROOT:
		c->root = value;
		c->suffix = c->suffix ? c->suffix : "/oar";
		break;
	case COLMET_SUFFIX:
		c->suffix = value;
		break;
	case COLMET_URI:
		config_set(config, SETTING_NODE_COLMET, value, "flag");
		break;
	case COLMET_HWM:
		if (!set_number("zeromq-hwm", value, 10000000, &n))
			return false;
		c->node.high_water = n > 0 ? (unsigned)n : 0;
		break;
	case COLMET_LINGER:
		if (!set_number("zeromq-linger", value, 3600000, &n))
			return false;
		c->node.linger_ms = n > 0 ? (int)n : 0;
		break;
	case COLMET_CONFIG:
		config_set(config, SETTING_NODE_COLMET_CONFIG, value, "flag");
		break;
	default:
		c->on[id] = on;
		break;
	}
	return true;
}

/* ---- sources ----------------------------------------------------------------------------------
 */

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
	static const struct {
		int id;
		const char *source;
	} plain[] = {
		{COLMET_INFINIBAND, "infiniband"},
		{COLMET_JOBPROC, "jobproc"},
		{COLMET_RAPL, "rapl"},
		{COLMET_TEMPERATURE, "thermal"},
		{COLMET_NVIDIA, "nvidia"},
	};

	add_source(c, "jobs");
	add_source(c, "job_tasks=living");
	if (!c->on[COLMET_NO_PROCSTATS])
		add_source(c, "procstats");
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (c->on[plain[i].id])
			add_source(c, plain[i].source);
	if (c->on[COLMET_LUSTRE]) {
		/* colmet reads llite/PREFIX-*: the dash ends the file system's name */
		_cleanup_free_ char *word =
			xasprintf("lustre=%s-", c->prefix ? c->prefix : "lustre");

		add_source(c, word);
	}
	if (c->on[COLMET_PERFHW])
		add_counters(c);
	if (c->on[COLMET_IPMIPOWER]) {
		_cleanup_free_ char *word = xasprintf("ipmi=%s", c->ipmi.buf);

		add_source(c, c->ipmi.len ? word : "ipmi");
	}
	if (c->pid_count)
		add_source(c, "process");
}

/* ---- running ----------------------------------------------------------------------------------
 */

void colmet_node_mappings(void *user, const struct active_sources *slots)
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

/* Events that are named as metrics are counted; what else is named is all that is sent. */
static int take_metrics(struct colmet_node *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, filter = STRBUF_INIT;
	struct colmet_names *n = &c->names;

	if (!c->metrics)
		return 0;
	if (colmet_names_read(n, c->metrics, true, &why) < 0) {
		log_error("%s", why.buf);
		return -EINVAL;
	}
	colmet_names_filter(n, "", &filter);
	config_set(&c->ctx->config, SETTING_NODE_METRICS, filter.buf, "flag");
	config_set(&c->ctx->config, SETTING_NODE_COLMET_NAMES, n->rust.buf, "flag");
	char *rest = n->counters.len ? n->counters.buf : NULL;
	c->on[COLMET_PERFHW] |= rest != NULL;
	for (char *word; (word = strsep(&rest, ","));)
		(void)set_event(c, word);
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

	/* what was said on the command line stays, whatever files say */
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

		if (!c->on[COLMET_WAIT] && access(path, F_OK) < 0) {
			log_error("'%s' is not there, and --wait-cgroup-cpuset-path is false",
				  path);
			return -ENOENT;
		}
		node_list_add(config, SETTING_NODE_CGROUP_ROOTS, path, "flag");
	}
	if (*config_get(config, SETTING_NODE_CGROUP_ROOTS) &&
	    !*config_get(config, SETTING_NODE_PATTERNS))
		node_list_add(config, SETTING_NODE_PATTERNS, "_([0-9]+)$", "flag");
	return 0;
}

int colmet_node_run(struct colmet_node *c)
{
	/* warnings; -v, -vv say more, as 40 less 10 for each does */
	log_init("colmet-node", c->verbosity <= 0   ? LOG_ERROR
				: c->verbosity == 1 ? LOG_WARN
				: c->verbosity == 2 ? LOG_INFO
						    : LOG_DEBUG);
	c->ctx->verbosity = c->verbosity - 1;
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
	c->node.pids = c->pids;
	c->node.pid_count = c->pid_count;
	c->node.opened = colmet_node_mappings;
	c->node.flags = put_flags;
	c->node.flags_user = c;
	return do_node(c->ctx, &c->node);
}
