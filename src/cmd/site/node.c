/* plimsoll node: its options, which are settings. What it does is in node.c. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "node/node.h"
#include "node/node_protocol.h"

#define FLAGS_MAX 256

/* Flags as they were said: they are put on top of settings that are read again. */
struct flag {
	enum setting_id id;
	const char *value;
	bool list;
};

struct options {
	struct node_options node;
	struct flag flags[FLAGS_MAX];
	size_t flag_count;
	const struct node_protocol *wire; /* NULL: the native one */
};

enum {
	OPT_CONNECT = 1,
	OPT_OUTPUT,
	OPT_WIRE,
	OPT_INTERVAL,
	OPT_SOURCE,
	OPT_METRICS,
	OPT_ROOT,
	OPT_GROUP,
	OPT_PATTERN,
	OPT_JOB,
	OPT_CONTAINERS,
	OPT_PER_PROCESS,
	OPT_NO_BPF,
	OPT_SPOOL,
	OPT_SPOOL_LIMIT,
	OPT_BATCH,
	OPT_KEYS,
	OPT_SERVER_KEY,
	OPT_INSECURE,
	OPT_CONTROL,
	OPT_ALLOW,
	OPT_COLMET_CONFIG,
	OPT_PROMETHEUS,
	OPT_NAME,
	OPT_BUDGET,
	OPT_ONCE,
};

/* Options that are settings: value NULL where the option takes one itself. */
static const struct {
	int id;
	enum setting_id setting;
	const char *value;
	bool list;
} settings_of[] = {
	{OPT_CONNECT, SETTING_NODE_CONNECT, NULL, false},
	{OPT_OUTPUT, SETTING_NODE_OUTPUT, NULL, false},
	{OPT_INTERVAL, SETTING_NODE_PERIOD, NULL, false},
	{OPT_SOURCE, SETTING_NODE_SOURCES, NULL, true},
	{OPT_METRICS, SETTING_NODE_METRICS, NULL, true},
	{OPT_ROOT, SETTING_NODE_CGROUP_ROOTS, NULL, true},
	{OPT_GROUP, SETTING_NODE_GROUPS, NULL, true},
	{OPT_PATTERN, SETTING_NODE_PATTERNS, NULL, true},
	{OPT_JOB, SETTING_NODE_JOBS, NULL, true},
	{OPT_CONTAINERS, SETTING_NODE_CONTAINERS, "yes", false},
	{OPT_PER_PROCESS, SETTING_NODE_PER_PROCESS, "yes", false},
	{OPT_NO_BPF, SETTING_NODE_BPF, "no", false},
	{OPT_SPOOL, SETTING_NODE_SPOOL, NULL, false},
	{OPT_SPOOL_LIMIT, SETTING_NODE_SPOOL_LIMIT, NULL, false},
	{OPT_BATCH, SETTING_NODE_BATCH, NULL, false},
	{OPT_KEYS, SETTING_NODE_KEYS, NULL, false},
	{OPT_SERVER_KEY, SETTING_NODE_SERVER_KEY, NULL, false},
	{OPT_INSECURE, SETTING_NODE_INSECURE, "yes", false},
	{OPT_CONTROL, SETTING_NODE_CONTROL, NULL, false},
	{OPT_ALLOW, SETTING_NODE_ALLOW, NULL, true},
	{OPT_COLMET_CONFIG, SETTING_NODE_COLMET_CONFIG, NULL, false},
	{OPT_PROMETHEUS, SETTING_NODE_PROMETHEUS, NULL, false},
	{OPT_NAME, SETTING_NODE_NAME, NULL, false},
	{OPT_BUDGET, SETTING_NODE_BUDGET, NULL, false},
};

static void put_flag(struct config *c, const struct flag *f)
{
	if (f->list)
		node_list_add(c, f->id, f->value, "flag");
	else
		config_set(c, f->id, f->value, "flag");
}

static bool add_flag(struct context *ctx, enum setting_id id, const char *value, bool list)
{
	struct options *o = ctx->options;

	if (o->flag_count == FLAGS_MAX) {
		usage_error("node", "node: more than %d options", FLAGS_MAX);
		return false;
	}
	o->flags[o->flag_count] = (struct flag){id, value, list};
	put_flag(&ctx->config, &o->flags[o->flag_count++]);
	return true;
}

static void put_flags(void *user, struct config *c)
{
	const struct options *o = user;

	for (size_t i = 0; i < o->flag_count; i++)
		put_flag(c, &o->flags[i]);
}

static bool set_wire(struct options *o, const char *value)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	o->wire = node_protocol_find(value);
	if (o->wire || !strcmp(value, "native"))
		return true;
	for (size_t i = 0; node_protocols[i]; i++)
		strbuf_addf(&names, "%s%s", node_protocols[i + 1] ? ", " : " or ",
			    node_protocols[i]->name);
	usage_error("node", "node: --wire takes native%s, not '%s'", names.buf, value);
	return false;
}

static bool set(struct context *ctx, int id, const char *value)
{
	struct options *o = ctx->options;

	for (size_t i = 0; i < ARRAY_SIZE(settings_of); i++)
		if (settings_of[i].id == id)
			return add_flag(ctx, settings_of[i].setting,
					settings_of[i].value ? settings_of[i].value : value,
					settings_of[i].list);
	if (id == OPT_ONCE)
		o->node.once = true;
	return id != OPT_WIRE || set_wire(o, value);
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct options *o = ctx->options;

	if (argc > (o->wire ? 1 : 0))
		return usage_error("node", "node has no use for the argument '%s'",
				   argv[o->wire ? 1 : 0]);
	/* without an address of its own, --wire says what is spoken at that of --connect */
	if (o->wire) {
		_cleanup_free_ char *uri =
			xstrdup(argc ? argv[0] : config_get(&ctx->config, SETTING_NODE_CONNECT));

		if (!*uri)
			return usage_error("node",
					   "--wire %s needs the address of a %s collector, %s",
					   o->wire->name, o->wire->name, o->wire->example);
		config_set(&ctx->config, o->wire->address, uri, "flag");
		if (!argc)
			config_set(&ctx->config, SETTING_NODE_CONNECT, "", "flag");
	}
	o->node.root = "";
	o->node.flags = put_flags;
	o->node.flags_user = o;
	return do_node(ctx, &o->node);
}

static const struct option_row rows[] = {
	{OPT_CONNECT, 0, "connect", "URI", "collector that gets the samples, tcp://HOST:PORT"},
	{OPT_OUTPUT, 'o', "output", "FILE", "sample file that they are appended to"},
	{OPT_WIRE, 0, "wire", "FORM",
	 "colmet: its records, to the address behind it or to that of --connect; native"},
	{OPT_INTERVAL, 'i', "interval", "PERIOD", "time between samples, 10ms or more; 5s"},
	{OPT_SOURCE, 's', "source", "NAME[=OPTION][@PERIOD]",
	 "sample these sources only; may be given several times"},
	{OPT_METRICS, 0, "metrics", "LIST",
	 "send these metrics only: names, or SOURCE.NAME with * and ?"},
	{OPT_ROOT, 0, "cgroup-root", "DIR",
	 "look for jobs below this directory of control groups; may be given several times"},
	{OPT_GROUP, 0, "cgroup", "DIR",
	 "this control group is a job, whatever its name, besides those that are found; may be "
	 "given several times"},
	{OPT_PATTERN, 0, "pattern", "REGEX",
	 "paths below it that are jobs; the first parenthesis is the id"},
	{OPT_JOB, 'j', "job", "ID", "this job only; may be given several times"},
	{OPT_CONTAINERS, 0, "containers", NULL, "Kubernetes pods and containers are jobs, too"},
	{OPT_PER_PROCESS, 0, "per-process", NULL, "curves of every process of every job"},
	{OPT_NO_BPF, 0, "no-bpf", NULL,
	 "load no program into the kernel that tells whose a task was"},
	{OPT_SPOOL, 0, "spool", "DIR", "keep what the collector has not acknowledged here"},
	{OPT_SPOOL_LIMIT, 0, "spool-limit", "SIZE", "and drop the oldest beyond this; 256M"},
	{OPT_BATCH, 0, "batch", "TIME", "how often a batch is sent; 10s"},
	{OPT_KEYS, 0, "keys", "FILE", "the node's keys (`plimsoll keys`)"},
	{OPT_SERVER_KEY, 0, "server-key", "KEY", "public key of the collector"},
	{OPT_INSECURE, 0, "insecure", NULL, "send to another host without encryption"},
	{OPT_CONTROL, 0, "control", "URI",
	 "address for `plimsoll configure`; a socket in the runtime directory; off: none"},
	{OPT_ALLOW, 0, "allow", "KEY",
	 "public key that may configure besides the node's own; may be given several times"},
	{OPT_COLMET_CONFIG, 0, "colmet-config", "URI",
	 "take colmet's own configuration messages here, tcp://127.0.0.1:5557"},
	{OPT_PROMETHEUS, 0, "prometheus", "ADDR", "newest values for Prometheus, HOST:PORT"},
	{OPT_NAME, 'N', "name", "HOST", "name of this node instead of the host's"},
	{OPT_BUDGET, 0, "budget", "SHARE",
	 "share of one CPU before sampling becomes less frequent; 5%"},
	{OPT_ONCE, 0, "once", NULL, "take one sample, deliver it and end"},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_node = {
	.name = "node",
	.summary = "sample every job of this node, all the time, and send it to a collector",
	.arguments = "[URI]",
	.description =
		"The daemon of a compute node. It finds jobs by their control groups (OAR, Slurm, PBS, "
		"systemd slices, with --containers pods and containers), samples each from its "
		"group's counters and, as root, from the exit records of its processes, takes a last "
		"sample when a job ends, and samples the node beside it. It stays in the foreground, "
		"as service managers want it; share/plimsoll/systemd has a unit.\n\n"
		"Batches of samples go to the collector (`plimsoll collect`) and are kept until it has "
		"acknowledged them, in --spool or else in the runtime directory. Sampling never waits for it. An address "
		"on another host needs keys, or --insecure.\n\n"
		"Every option can stand in the configuration file as well (`plimsoll config` lists "
		"node_connect and the others). HUP reads it again: period, sources and metrics are "
		"then as it says. `plimsoll configure` changes the same three while it runs. TERM and "
		"INT end it after a last sample.\n\n"
		"Of root's capabilities it keeps those that its sources need, and says which: "
		"CAP_NET_ADMIN for exit records, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH for "
		"processes, CAP_PERFMON for counters.",
	.examples = "plimsoll node --connect tcp://127.0.0.1:5558\n"
		    "  to a collector on this host\n"
		    "plimsoll node --connect tcp://collector:5558 --keys /etc/plimsoll/node.key "
		    "--server-key KEY --spool /var/spool/plimsoll\n"
		    "  the usual\n"
		    "plimsoll node -i 1s -o /tmp/node.smp\n"
		    "  into a file, which `plimsoll samples` shows\n"
		    "plimsoll node --wire colmet tcp://collector:5556\n"
		    "  to a collector of colmet's\n",
	.options = rows,
	.options_size = sizeof(struct options),
	.set = set,
	.run = run,
};
