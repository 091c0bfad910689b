/* plimsoll monitor: its options; monitor/monitor.c does the work. */
#include <math.h>
#include <string.h>

#include "cmd/actions.h"
#include "monitor/monitor.h"
#include "node/node_settings.h"

#define PIDS_MAX 4096

struct options {
	struct monitor_options m;
	int pids[PIDS_MAX];
};

/* "0.5%" or "0.005". */
static bool take_budget(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;
	char *end;
	double v = strtod(value, &end);

	if (*end == '%') {
		v /= 100;
		end++;
	}
	if (end == value || *end || !isfinite(v) || v < 0 || v > 1)
		return false;
	o->m.budget = v;
	return true;
}

static bool take_source(struct context *ctx, const char *value, struct strbuf *why)
{
	struct monitor_options *m = &((struct options *)ctx->options)->m;
	_cleanup_free_ char *name = xstrndup(value, strcspn(value, "="));
	const struct source *s = source_find(name);

	if (!s || !s->open) {
		strbuf_addf(why, "unknown sampled source '%s'", name);
		sources_add_near(name, why);
		return false;
	}
	if (m->only_count == MONITOR_SOURCES_MAX) {
		strbuf_addf(why, "at most %d sources are allowed; '%s' is one too many",
			    MONITOR_SOURCES_MAX, value);
		return false;
	}
	m->only[m->only_count++].name = value;
	return true;
}

static bool take_metrics(struct context *ctx, const char *value, struct strbuf *why)
{
	struct options *o = ctx->options;

	metric_filter_release(&o->m.metrics);
	if (sampled_metrics_parse(&o->m.metrics, value, why) == 0)
		return true;
	metric_filter_release(&o->m.metrics);
	return false;
}

/* NAME=TIME */
static bool take_period(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct monitor_options *m = &((struct options *)ctx->options)->m;
	const char *time = strchr(value, '=');
	_cleanup_free_ char *name = xstrndup(value, strcspn(value, "="));
	const struct source *s = source_find(name);

	if (!s || !s->open || !time || m->period_count == MONITOR_SOURCES_MAX)
		return false;
	struct sampler_source *row = &m->periods[m->period_count];
	if (parse_duration_ns(time + 1, &row->period_ns) < 0 || !row->period_ns)
		return false;
	row->name = s->name;
	m->period_count++;
	return true;
}

static bool take_pids(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;

	for (const char *p = value; *p;) {
		_cleanup_free_ char *one = xstrndup(p, strcspn(p, ", "));

		if (o->m.watch.pid_count == PIDS_MAX ||
		    parse_pid(one, &o->pids[o->m.watch.pid_count]) < 0)
			return false;
		o->m.watch.pid_count++;
		p += strcspn(p, ", ");
		p += strspn(p, ", ");
	}
	o->m.watch.kind = JOB_PROCESSES_PIDS;
	return true;
}

static bool take_cgroup(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;

	o->m.watch.kind = JOB_PROCESSES_CGROUP;
	o->m.watch.cgroup = value;
	return true;
}

static bool take_job(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;

	o->m.watch.kind = JOB_PROCESSES_JOB;
	o->m.watch.job = o->m.jobid = value;
	return true;
}

/* "native" or the name of a row. */
static bool take_layout(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;

	o->m.layout = monitor_layout_find(value);
	return o->m.layout || !strcmp(value, "native");
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct options *o = ctx->options;

	o->m.watch.pids = o->pids;
	if (argc && o->m.watch.kind != JOB_PROCESSES_NONE)
		return usage_error("monitor",
				   "monitor: give either a command, or one of --pid, --cgroup and "
				   "--job");
	o->m.command = argc ? argv : NULL;
	int r = do_monitor(ctx, &o->m);
	metric_filter_release(&o->m.metrics);
	return r;
}

static const struct option_row rows[] = {
	{OPT_CALL, 'p', "pid", "PID,...", "sample these processes and all that they start",
	 .call = take_pids, .takes = "process ids separated by commas"},
	{OPT_CALL, 0, "cgroup", "PATH", "sample the processes of this control group",
	 .call = take_cgroup},
	{OPT_CALL, 'j', "job", "ID", "sample this job of the batch system", .call = take_job},
	{OPT_DURATION, 'i', "interval", "TIME", "time between samples; default 1s",
	 AT(struct options, m.interval_ns), .min = 10 * MS},
	{OPT_TEXT, 'd', "dir", "DIR",
	 "job directory; default: plimsoll-<job id> in the current directory",
	 AT(struct options, m.dir)},
	{OPT_CALL, 0, "layout", "FORM", "native"
#define MONITOR_LAYOUT(symbol, what) ", or " #symbol " " what
#include "monitor/monitor_layouts.def"
#undef MONITOR_LAYOUT
	 ,
	 .call = take_layout, .takes = "native"
#define MONITOR_LAYOUT(symbol, what) " or " #symbol
#include "monitor/monitor_layouts.def"
#undef MONITOR_LAYOUT
	},
	{OPT_DURATION, 0, "duration", "TIME", "end after this time instead of with the job",
	 AT(struct options, m.duration_ns), .min = 1},
	{OPT_TEXT, 'N', "name", "NAME", "name of the job", AT(struct options, m.name)},
	{OPT_CALL, 's', "source", "NAME[=OPTION]", "sample only this source; can be repeated",
	 .call = take_source},
	{OPT_CALL, 'm', "metrics", "LIST",
	 "keep only these metrics and the sampler's own: names, or SOURCE.NAME with * and ?, "
	 "separated by commas",
	 .call = take_metrics},
	{OPT_CALL, 0, "period", "NAME=TIME", "time between samples of one source",
	 .call = take_period, .takes = "NAME=TIME of a sampled source"},
	{OPT_CALL, 0, "budget", "SHARE",
	 "share of one CPU above which sampling slows down; default 0.5%", .call = take_budget,
	 .takes = "a share of one CPU such as 0.5%, 0 for no limit"},
	{OPT_DURATION, 'c', "checkpoint", "TIME",
	 "time between syncs of samples to disk; default 1m", AT(struct options, m.checkpoint_ns)},
	{OPT_DURATION, 0, "wait-hosts", "TIME",
	 "how long to wait for hosts that end late; default 1m", AT(struct options, m.merge_ns)},
	{OPT_DURATION, 0, "find", "TIME",
	 "how long to look for the processes of the job; default 25s",
	 AT(struct options, m.find_ns)},
	{OPT_TEXT, 0, "finished", "FILE", "end when the first line of FILE is FINISHED",
	 AT(struct options, m.finished)},
	{OPT_FLAG, 0, "all-users", NULL, "include processes of other users",
	 AT(struct options, m.watch.all_users)},
	{OPT_FLAG, 0, "submit", NULL, "store the job at the end, even inside a batch job",
	 AT(struct options, m.submit)},
	{OPT_FLAG, 0, "no-submit", NULL, "do not store the job, keep its directory",
	 AT(struct options, m.no_submit)},
	ROWS_STORE,
};

const struct command command_monitor = {
	.name = "monitor",
	.summary = "sample a job over time on every node, without root",
	.operands = {.usage = "[-- COMMAND [ARGUMENT...]]"},
	.description =
		"Samples the processes of the job, its control groups and the node (CPU, memory, I/O, "
		"network, devices, energy, counters: see `plimsoll sources`) until the job ends, and "
		"then takes a last sample. Run it beside the job, once per node; in a batch job it "
		"finds the processes of the other steps and excludes its own step. Without a batch "
		"system, it samples the processes of the shell that started it, or those given. With a "
		"command, it runs that and ends with its exit status; a command that ends within "
		"milliseconds may not be sampled.\n\n"
		"Samples are appended to one file per host in the job directory as they are taken, so "
		"that a crash loses at most one. At the end, the first host waits for the others, "
		"merges all files into samples.smp, and names the hosts that have not reported. "
		"`plimsoll submit DIR` stores the samples, `plimsoll series` reads them; outside a "
		"batch job, they are stored at once.\n\n"
		"Expensive metrics are sampled less often: event counters and GPFS every 2 s, clock "
		"frequencies and temperatures every 5 s, node power from the management controller "
		"every 10 s, shared memory (PSS, USS) and open files every 30 s. At first they are "
		"sampled after 1, 2, 4 and so on periods, so that short jobs have several samples. "
		"--period changes this.\n\n"
		"Sampling keeps to its CPU budget by sampling less often if it must. Its own cost, "
		"delays and losses are metrics of the source sampler.",
	.examples =
		"  srun --ntasks-per-node 1 plimsoll monitor &     beside the steps of a Slurm job\n"
		"  mpirun --map-by node plimsoll monitor -i 5s &   one per node\n"
		"  plimsoll monitor -i 100ms -- ./app              a command\n"
		"  plimsoll monitor --pid 4711 --duration 1m       a running process\n",
	OPTIONS(struct options, rows),
	.defaults = &(const struct options){.m = MONITOR_DEFAULTS},
	.stops_at_words = true,
	.run = run,
};
