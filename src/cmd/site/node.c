/* plimsoll node: its options, which are settings. What it does is in node.c. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "node/node.h"
#include "node/node_protocol.h"
#include "node/node_settings.h"

struct options {
	struct node_options node;
	const struct node_protocol *wire; /* NULL: the native one */
};

/* The settings that options have set: they are put on top of settings that are read again. */
static void copy_flags(struct config *to, const struct config *from)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (from->origin[i] && str_prefix(from->origin[i], "flag"))
			config_set(to, (enum setting_id)i, from->value[i], from->origin[i]);
}

static void put_flags(void *user, struct config *c)
{
	copy_flags(c, user);
}

static bool take_wire(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;

	o->wire = node_protocol_find(value);
	return o->wire || !strcmp(value, "native");
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct options *o = ctx->options;
	_cleanup_(config_release) struct config flags = {0};

	if (argc > (o->wire ? 1 : 0))
		return usage_error("node", "node has no use for the argument '%s'",
				   argv[o->wire ? 1 : 0]);
	copy_flags(&flags, &ctx->config);
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
	o->node.flags_user = &flags;
	return do_node(ctx, &o->node);
}

static const struct option_row rows[] = {
	{OPT_SETTING, 0, "connect", "URI", "collector that gets the samples, tcp://HOST:PORT",
	 .setting = SETTING_NODE_CONNECT},
	{OPT_SETTING, 'o', "output", "FILE", "sample file that they are appended to",
	 .setting = SETTING_NODE_OUTPUT},
	{OPT_CALL, 0, "wire", "FORM",
	 "colmet: its records, to the address behind it or to that of --connect; native",
	 .call = take_wire, .takes = "native"
#define NODE_PROTOCOL(symbol) " or " #symbol
#include "node/node_protocols.def"
#undef NODE_PROTOCOL
	},
	{OPT_SETTING, 'i', "interval", "PERIOD", "time between samples, 10ms or more; 5s",
	 .setting = SETTING_NODE_PERIOD},
	{OPT_SETTING, 's', "source", "NAME[=OPTION][@PERIOD]",
	 "sample these sources only; may be given several times", .setting = SETTING_NODE_SOURCES,
	 .put = node_list_add},
	{OPT_SETTING, 0, "metrics", "LIST",
	 "send these metrics only: names, or SOURCE.NAME with * and ?",
	 .setting = SETTING_NODE_METRICS, .put = node_list_add},
	{OPT_SETTING, 0, "cgroup-root", "DIR",
	 "look for jobs below this directory of control groups; may be given several times",
	 .setting = SETTING_NODE_CGROUP_ROOTS, .put = node_list_add},
	{OPT_SETTING, 0, "cgroup", "DIR",
	 "this control group is a job, whatever its name, besides those that are found; may be "
	 "given several times",
	 .setting = SETTING_NODE_GROUPS, .put = node_list_add},
	{OPT_SETTING, 0, "pattern", "REGEX",
	 "paths below it that are jobs; the first parenthesis is the id",
	 .setting = SETTING_NODE_PATTERNS, .put = node_list_add},
	{OPT_SETTING, 'j', "job", "ID", "this job only; may be given several times",
	 .setting = SETTING_NODE_JOBS, .put = node_list_add},
	{OPT_SETTING, 0, "containers", NULL, "Kubernetes pods and containers are jobs, too",
	 .setting = SETTING_NODE_CONTAINERS, .text = "yes"},
	{OPT_SETTING, 0, "per-process", NULL, "curves of every process of every job",
	 .setting = SETTING_NODE_PER_PROCESS, .text = "yes"},
	{OPT_SETTING, 0, "no-bpf", NULL,
	 "load no program into the kernel that tells whose a task was", .setting = SETTING_NODE_BPF,
	 .text = "no"},
	{OPT_SETTING, 0, "spool", "DIR", "keep what the collector has not acknowledged here",
	 .setting = SETTING_NODE_SPOOL},
	{OPT_SETTING, 0, "spool-limit", "SIZE", "and drop the oldest beyond this; 256M",
	 .setting = SETTING_NODE_SPOOL_LIMIT},
	{OPT_SETTING, 0, "batch", "TIME", "how often a batch is sent; 10s",
	 .setting = SETTING_NODE_BATCH},
	{OPT_SETTING, 0, "keys", "FILE", "the node's keys (`plimsoll keys`)",
	 .setting = SETTING_NODE_KEYS},
	{OPT_SETTING, 0, "server-key", "KEY", "public key of the collector",
	 .setting = SETTING_NODE_SERVER_KEY},
	{OPT_SETTING, 0, "insecure", NULL, "send to another host without encryption",
	 .setting = SETTING_NODE_INSECURE, .text = "yes"},
	{OPT_SETTING, 0, "control", "URI",
	 "address for `plimsoll configure`; a socket in the runtime directory; off: none",
	 .setting = SETTING_NODE_CONTROL},
	{OPT_SETTING, 0, "allow", "KEY",
	 "public key that may configure besides the node's own; may be given several times",
	 .setting = SETTING_NODE_ALLOW, .put = node_list_add},
	{OPT_SETTING, 0, "colmet-config", "URI",
	 "take colmet's own configuration messages here, tcp://127.0.0.1:5557",
	 .setting = SETTING_NODE_COLMET_CONFIG},
	{OPT_SETTING, 0, "prometheus", "ADDR", "newest values for Prometheus, HOST:PORT",
	 .setting = SETTING_NODE_PROMETHEUS},
	{OPT_SETTING, 'N', "name", "HOST", "name of this node instead of the host's",
	 .setting = SETTING_NODE_NAME},
	{OPT_SETTING, 0, "budget", "SHARE",
	 "share of one CPU before sampling becomes less frequent; 5%",
	 .setting = SETTING_NODE_BUDGET},
	{OPT_FLAG, 0, "once", NULL, "take one sample, deliver it and end",
	 AT(struct options, node.once)},
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
	.run = run,
};
