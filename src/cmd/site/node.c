/* plimsoll node: its options, which are settings; node/node.c does the work. */
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

/* Copies the settings that options have set: they override files that are read again. */
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
		return usage_error("node", "node: unexpected argument '%s'", argv[o->wire ? 1 : 0]);
	copy_flags(&flags, &ctx->config);
	/* without an address, --wire selects the protocol of --connect */
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
	{OPT_SETTING, 0, "connect", "URI", "collector to send to, tcp://HOST:PORT",
	 .setting = SETTING_NODE_CONNECT},
	{OPT_SETTING, 'o', "output", "FILE", "sample file to append to",
	 .setting = SETTING_NODE_OUTPUT},
	{OPT_CALL, 0, "wire", "FORM",
	 "protocol; one other than native sends to URI, or else to the address of --connect",
	 .call = take_wire, .takes = "native"
#define NODE_PROTOCOL(symbol, ...) " or " #symbol
#include "node/node_protocols.def"
#undef NODE_PROTOCOL
	},
	{OPT_SETTING, 'i', "interval", "PERIOD", "time between samples, 10ms or more; default 5s",
	 .setting = SETTING_NODE_PERIOD},
	{OPT_SETTING, 's', "source", "NAME[=OPTION][@PERIOD]",
	 "sample only this source; can be repeated", .setting = SETTING_NODE_SOURCES,
	 .put = node_list_add},
	{OPT_SETTING, 0, "metrics", "LIST",
	 "send only these metrics: names, or SOURCE.NAME with * and ?",
	 .setting = SETTING_NODE_METRICS, .put = node_list_add},
	{OPT_SETTING, 0, "cgroup-root", "DIR",
	 "look for jobs below this control group; can be repeated",
	 .setting = SETTING_NODE_CGROUP_ROOTS, .put = node_list_add},
	{OPT_SETTING, 0, "cgroup", "DIR",
	 "take this control group for a job, besides the jobs that are found; can be repeated",
	 .setting = SETTING_NODE_GROUPS, .put = node_list_add},
	{OPT_SETTING, 0, "pattern", "REGEX",
	 "paths of control groups that are jobs; the first parenthesis is the job id",
	 .setting = SETTING_NODE_PATTERNS, .put = node_list_add},
	{OPT_SETTING, 'j', "job", "ID", "sample only this job; can be repeated",
	 .setting = SETTING_NODE_JOBS, .put = node_list_add},
	{OPT_SETTING, 0, "containers", NULL, "take Kubernetes pods and containers for jobs too",
	 .setting = SETTING_NODE_CONTAINERS, .text = "yes"},
	{OPT_SETTING, 0, "per-process", NULL, "sample every process of every job",
	 .setting = SETTING_NODE_PER_PROCESS, .text = "yes"},
	{OPT_SETTING, 0, "no-bpf", NULL,
	 "do not load the BPF program that maps exited tasks to jobs", .setting = SETTING_NODE_BPF,
	 .text = "no"},
	{OPT_SETTING, 0, "spool", "DIR", "directory for batches not yet acknowledged",
	 .setting = SETTING_NODE_SPOOL},
	{OPT_SETTING, 0, "spool-limit", "SIZE",
	 "size of the spool above which the oldest batches are dropped; default 256M",
	 .setting = SETTING_NODE_SPOOL_LIMIT},
	{OPT_SETTING, 0, "batch", "TIME", "time between batches; default 10s",
	 .setting = SETTING_NODE_BATCH},
	{OPT_SETTING, 0, "keys", "FILE", "key pair of the node (`plimsoll keys`)",
	 .setting = SETTING_NODE_KEYS},
	{OPT_SETTING, 0, "server-key", "KEY", "public key of the collector",
	 .setting = SETTING_NODE_SERVER_KEY},
	{OPT_SETTING, 0, "insecure", NULL, "send to other hosts without encryption",
	 .setting = SETTING_NODE_INSECURE, .text = "yes"},
	{OPT_SETTING, 0, "control", "URI",
	 "address for `plimsoll configure`, or off; default: a socket in the runtime directory",
	 .setting = SETTING_NODE_CONTROL},
	{OPT_SETTING, 0, "allow", "KEY",
	 "public key that may configure the node, besides its own; can be repeated",
	 .setting = SETTING_NODE_ALLOW, .put = node_list_add},
#define NODE_PROTOCOL(symbol, option, id, text) \
	{OPT_SETTING, 0, option, "URI", text, .setting = SETTING_##id},
#include "node/node_protocols.def"
#undef NODE_PROTOCOL
	{OPT_SETTING, 0, "prometheus", "ADDR",
	 "address at which Prometheus can read the latest values, HOST:PORT",
	 .setting = SETTING_NODE_PROMETHEUS},
	{OPT_SETTING, 'N', "name", "HOST", "name of this node, instead of the host name",
	 .setting = SETTING_NODE_NAME},
	{OPT_SETTING, 0, "budget", "SHARE",
	 "share of one CPU above which sampling slows down; default 5%",
	 .setting = SETTING_NODE_BUDGET},
	{OPT_FLAG, 0, "once", NULL, "take one sample, deliver it and end",
	 AT(struct options, node.once)},
	ROWS_COMMON,
};

const struct command command_node = {
	.name = "node",
	.summary = "sample all jobs of this node and send the samples to a collector",
	.operands = {"URI", 0, ANY_NUMBER, .usage = "[URI]"},
	.description =
		"The daemon of a compute node. It finds jobs by their control groups (Slurm, PBS, OAR, "
		"LSF, those named with --cgroup, and with --containers pods and containers), samples "
		"each job from the counters of its group and, as root, from the exit records of its "
		"processes, takes a last sample when a job ends, and also samples the node. It stays "
		"in the foreground, as service managers expect; share/plimsoll/systemd has a unit file.\n\n"
		"Batches of samples are sent to the collector (`plimsoll collect`) and kept until it "
		"has acknowledged them, in --spool or else in the runtime directory. Sampling never "
		"waits for the collector. An address on another host needs keys or --insecure.\n\n"
		"Every option can also be set in the configuration file (`plimsoll config` lists "
		"node_connect and the others). SIGHUP reads period, sources, metrics, node_budget and "
		"node_per_process from the file again; `plimsoll configure` changes the first three. "
		"SIGTERM and SIGINT end the daemon after a last sample.\n\n"
		"It keeps only the capabilities that its sources need, and logs them: CAP_NET_ADMIN "
		"for exit records, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH for processes, CAP_PERFMON "
		"for counters.",
	.examples = "plimsoll node --connect tcp://127.0.0.1:5558\n"
		    "  send to a collector on this host\n"
		    "plimsoll node --connect tcp://collector:5558 --keys /etc/plimsoll/node.key "
		    "--server-key KEY --spool /var/spool/plimsoll\n"
		    "  a typical site\n"
		    "plimsoll node -i 1s -o /tmp/node.smp\n"
		    "  write a file, which `plimsoll samples` prints\n"
#define NODE_PROTOCOL(symbol, ...)                                \
	"plimsoll node --wire " #symbol " tcp://collector:5556\n" \
	"  send to a collector of " #symbol "\n"
#include "node/node_protocols.def"
#undef NODE_PROTOCOL
	,
	OPTIONS(struct options, rows),
	.run = run,
};
