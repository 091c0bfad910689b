/*
 * Called as `colmet-node`: the options of both of colmet's node programs, the Python one's (flags
 * without a value) and the Rust one's (every flag with one), and as `colmet-node-config`, the Rust
 * one's tool.  What the options mean is put into the
 * settings of the node daemon, which sends colmet's records.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "compat/colmet/colmet.h"
#include "compat/colmet/colmet_node.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "transport/link.h"

static const struct old_option rows[] = {
	{COLMET_HELP, 'h', "help", TAKES_NONE, NULL, "show this and exit"},
	{COLMET_VERSION, 0, "version", TAKES_NONE, NULL, "show the version and exit"},
	{COLMET_VERBOSE, 'v', "verbose", TAKES_COUNT, "N", "say more; may be repeated"},
	{COLMET_PERIOD, 's', "sample-period", TAKES_ONE, "SECONDS", "time between samples; 5"},
	{COLMET_METRICS, 'm', "metrics", TAKES_ONE, "LIST",
	 "metrics that are sent, NAME or NAME:PERIOD:JOB with commas between"},
	{COLMET_FILE_METRICS, 'f', "file_metrics", TAKES_ONE, "FILE", "the same from a file"},
	{COLMET_NO_PROCSTATS, 0, "disable-procstats", TAKES_FLAG, NULL, "leave out the node"},
	{COLMET_INFINIBAND, 0, "enable-infiniband", TAKES_FLAG, NULL, "counters of ports"},
	{COLMET_OMNIPATH, 0, "omnipath", TAKES_FLAG, NULL,
	 "no effect: the unit of a port's counters is known"},
	{COLMET_LUSTRE, 0, "enable-lustre", TAKES_FLAG, NULL, "Lustre mounts"},
	{COLMET_LUSTRE_PREFIX, 0, "lustre-prefix", TAKES_ONE, "PREFIX",
	 "file systems of this name; lustre"},
	{COLMET_PERFHW, 0, "enable-perfhw", TAKES_FLAG, NULL, "counters of jobs"},
	{COLMET_PERFHW_LIST, 0, "perfhw-list", TAKES_MANY, "EVENT",
	 "which: 5 at most; instructions cache_misses page_faults"},
	{COLMET_JOBPROC, 0, "enable-jobproc", TAKES_FLAG, NULL, "sums over jobs' processes"},
	{COLMET_RAPL, 0, "enable-RAPL", TAKES_FLAG, NULL, "energy of packages"},
	{COLMET_TEMPERATURE, 0, "enable-temperature", TAKES_FLAG, NULL, "thermal zones"},
	{COLMET_IPMIPOWER, 0, "enable-ipmipower", TAKES_FLAG, NULL, "power of the node"},
	{COLMET_IPMIPOWER_CMD, 0, "ipmipower-cmd", TAKES_MANY, "WORD", "command that tells it"},
	{COLMET_NVIDIA, 0, "enable-nvidia", TAKES_FLAG, NULL, "GPUs of jobs"},
	{COLMET_CGROUP, 'c', "cgroup", TAKES_ONE, "DIR", "this control group is a job, too"},
	{COLMET_PID, 'p', "pid", TAKES_ONE, "PID", "this process is one, with all it starts"},
	{COLMET_TID, 't', "tid", TAKES_ONE, "TID", "the process of this thread"},
	{COLMET_CPUSET, 0, "cpuset_rootpath", TAKES_ONE, "DIR",
	 "where jobs' groups are; may be repeated; OAR's"},
	{COLMET_REGEX, 0, "regex_job_id", TAKES_ONE, "REGEX",
	 "names of groups that are jobs; may be repeated; _(\\d+)$"},
	{COLMET_ROOT, 0, "cgroup-root-path", TAKES_ONE, "DIR", "where groups are; /sys/fs/cgroup"},
	{COLMET_SUFFIX, 0, "cgroup-path-suffix", TAKES_ONE, "DIR", "and jobs below cpuset; /oar"},
	{COLMET_WAIT, 0, "wait-cgroup-cpuset-path", TAKES_FLAG, NULL,
	 "wait for that directory; true"},
	{COLMET_URI, 0, "zeromq-uri", TAKES_ONE, "URI", "collector; tcp://127.0.0.1:5556"},
	{COLMET_HWM, 0, "zeromq-hwm", TAKES_ONE, "N", "messages that may wait for it; 1000"},
	{COLMET_LINGER, 0, "zeromq-linger", TAKES_ONE, "MS", "how long at the end; 0"},
	{COLMET_CONFIG, 0, "colmet-config", TAKES_ONE, "URI",
	 "take configuration messages here, tcp://127.0.0.1:5557"},
};

static bool set(void *user, const struct old_option *r, const char *value, bool on)
{
	return colmet_node_set(user, r->id, value, on);
}

const struct old_program colmet_node_program = {
	.name = "colmet-node", .rows = rows, .count = ARRAY_SIZE(rows), .set = set};

static int print_help(void)
{
	old_print_help(&colmet_node_program,
		       "usage: colmet-node [OPTION...]\n\nSamples the jobs of this node and sends "
		       "colmet's records to a collector.\n\noptions:\n");
	return EXIT_OK;
}

static int run_colmet_node(struct context *ctx, int argc, char **argv)
{
	struct colmet_node c;

	colmet_node_init(&c, ctx);
	int status = !old_parse(&colmet_node_program, &c, argv + (argc > 0), &c.done) ? EXIT_USAGE
		     : c.help                                                         ? print_help()
		     : c.version ? (puts("colmet-node " PL_VERSION " (plimsoll)"), EXIT_OK)
				 : colmet_node_run(&c);
	colmet_node_release(&c);
	return status;
}

/* ---- colmet-node-config -------------------------------------------------------------------------
 */

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
		log_error("'%s' is no time between samples: seconds from 0.01 to 86400", argv[1]);
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
