/* plimsoll monitor: its options. What it does is in monitor.c. */
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

enum {
	OPT_PID = 1,
	OPT_CGROUP,
	OPT_JOB,
	OPT_INTERVAL,
	OPT_DIR,
	OPT_DURATION,
	OPT_SOURCE,
	OPT_PERIOD,
	OPT_BUDGET,
	OPT_CHECKPOINT,
	OPT_MERGE,
	OPT_FIND,
	OPT_NAME,
	OPT_FINISHED,
	OPT_NO_SUBMIT,
	OPT_SUBMIT,
	OPT_ALL_USERS,
	OPT_LAYOUT,
	OPT_METRICS,
};

static bool bad(const char *option, const char *wants, const char *value)
{
	usage_error("monitor", "monitor: --%s takes %s, not '%s'", option, wants, value);
	return false;
}

static bool set_duration(const char *option, const char *value, uint64_t least, uint64_t *ret)
{
	uint64_t ns;

	if (parse_duration_ns(value, &ns) < 0 || ns < least)
		return bad(option,
			   least > 1 ? "a duration of 10 ms or more, such as 500ms or 5s"
				     : "a duration such as 500ms, 5s or 2m",
			   value);
	*ret = ns;
	return true;
}

/* "0.5%" or "0.005". */
static bool set_budget(const char *value, double *ret)
{
	char *end;
	double v = strtod(value, &end);

	if (*end == '%') {
		v /= 100;
		end++;
	}
	if (end == value || *end || !isfinite(v) || v < 0 || v > 1)
		return bad("budget", "a share of one CPU such as 0.5%, 0 for no limit", value);
	*ret = v;
	return true;
}

static bool set_source(struct monitor_options *m, const char *value)
{
	_cleanup_free_ char *name = xstrndup(value, strcspn(value, "="));
	const struct source *s = source_find(name);

	if (!s || !s->open) {
		_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;

		sources_add_near(name, &near);
		usage_error("monitor", "monitor: there is no sampled source '%s'%s", name,
			    near.buf);
		return false;
	}
	if (m->only_count == MONITOR_SOURCES_MAX)
		return bad("source", "at most 64 names", value);
	m->only[m->only_count++].name = value;
	return true;
}

static bool set_metrics(struct monitor_options *m, const char *value)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	metric_filter_release(&m->metrics);
	if (sampled_metrics_parse(&m->metrics, value, &why) == 0)
		return true;
	metric_filter_release(&m->metrics);
	usage_error("monitor", "monitor: %s", why.buf);
	return false;
}

/* NAME=TIME */
static bool set_period(struct monitor_options *m, const char *value)
{
	const char *time = strchr(value, '=');
	_cleanup_free_ char *name = xstrndup(value, strcspn(value, "="));
	const struct source *s = source_find(name);

	if (!s || !s->open || !time || m->period_count == MONITOR_SOURCES_MAX)
		return bad("period", "NAME=TIME of a sampled source", value);
	struct sampler_source *row = &m->periods[m->period_count];
	if (!set_duration("period", time + 1, 1, &row->period_ns))
		return false;
	row->name = s->name;
	m->period_count++;
	return true;
}

static bool set_pids(struct options *o, const char *value)
{
	for (const char *p = value; *p;) {
		_cleanup_free_ char *one = xstrndup(p, strcspn(p, ", "));

		if (o->m.watch.pid_count == PIDS_MAX ||
		    parse_pid(one, &o->pids[o->m.watch.pid_count]) < 0)
			return bad("pid", "process ids, commas between them", value);
		o->m.watch.pid_count++;
		p += strcspn(p, ", ");
		p += strspn(p, ", ");
	}
	o->m.watch.kind = JOB_PROCESSES_PIDS;
	return true;
}

/* "native" or the name of a row. */
static bool set_layout(struct monitor_options *m, const char *value)
{
	static const char names[] = "native"
#define MONITOR_LAYOUT(symbol, what) " or " #symbol
#include "monitor/monitor_layouts.def"
#undef MONITOR_LAYOUT
		;

	m->layout = monitor_layout_find(value);
	return m->layout || !strcmp(value, "native") || bad("layout", names, value);
}

static bool set(struct context *ctx, int id, const char *value)
{
	struct options *o = ctx->options;
	struct monitor_options *m = &o->m;

	switch (id) {
	case OPT_PID:
		return set_pids(o, value);
	case OPT_CGROUP:
		m->watch.kind = JOB_PROCESSES_CGROUP;
		m->watch.cgroup = value;
		break;
	case OPT_JOB:
		m->watch.kind = JOB_PROCESSES_JOB;
		m->watch.job = m->jobid = value;
		break;
	case OPT_INTERVAL:
		return set_duration("interval", value, 10000000, &m->interval_ns);
	case OPT_DURATION:
		return set_duration("duration", value, 1, &m->duration_ns);
	case OPT_CHECKPOINT:
		return set_duration("checkpoint", value, 0, &m->checkpoint_ns);
	case OPT_MERGE:
		return set_duration("wait-hosts", value, 0, &m->merge_ns);
	case OPT_FIND:
		return set_duration("find", value, 0, &m->find_ns);
	case OPT_DIR:
		m->dir = value;
		break;
	case OPT_NAME:
		m->name = value;
		break;
	case OPT_FINISHED:
		m->finished = value;
		break;
	case OPT_SOURCE:
		return set_source(m, value);
	case OPT_METRICS:
		return set_metrics(m, value);
	case OPT_PERIOD:
		return set_period(m, value);
	case OPT_BUDGET:
		return set_budget(value, &m->budget);
	case OPT_LAYOUT:
		return set_layout(m, value);
	case OPT_ALL_USERS:
		m->watch.all_users = true;
		break;
	case OPT_SUBMIT:
		m->submit = true;
		break;
	case OPT_NO_SUBMIT:
		m->no_submit = true;
		break;
	case OPTION_DB:
		config_set(&ctx->config, SETTING_DB, value, "flag --db");
		break;
	default:
		break;
	}
	return true;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct options *o = ctx->options;

	o->m.watch.pids = o->pids;
	if (argc && o->m.watch.kind != JOB_PROCESSES_NONE)
		return usage_error("monitor",
				   "monitor samples a command, or what --pid, --cgroup or "
				   "--job name, not both");
	o->m.command = argc ? argv : NULL;
	int r = do_monitor(ctx, &o->m);
	metric_filter_release(&o->m.metrics);
	return r;
}

static const struct option_row rows[] = {
	{OPT_PID, 'p', "pid", "PID,...", "these processes and all that they start"},
	{OPT_CGROUP, 0, "cgroup", "PATH", "the processes of this control group"},
	{OPT_JOB, 'j', "job", "ID", "this job of the batch system"},
	{OPT_INTERVAL, 'i', "interval", "TIME", "time between samples, 10ms or more; 1s"},
	{OPT_DIR, 'd', "dir", "DIR", "the job's directory; plimsoll-<job id> in the current one"},
	{OPT_LAYOUT, 0, "layout", "FORM", "native"
#define MONITOR_LAYOUT(symbol, what) ", or " #symbol " " what
#include "monitor/monitor_layouts.def"
#undef MONITOR_LAYOUT
	},
	{OPT_DURATION, 0, "duration", "TIME", "end after this time, not with the job"},
	{OPT_NAME, 'N', "name", "NAME", "name of the job"},
	{OPT_SOURCE, 's', "source", "NAME[=OPTION]",
	 "sample this source only; may be given several times"},
	{OPT_METRICS, 'm', "metrics", "LIST",
	 "keep these metrics and the sampler's own only: names, or SOURCE.NAME with * and ?, commas between them"},
	{OPT_PERIOD, 0, "period", "NAME=TIME", "time between samples of one source"},
	{OPT_BUDGET, 0, "budget", "SHARE",
	 "share of one CPU that sampling may take before it samples less often; 0.5%"},
	{OPT_CHECKPOINT, 'c', "checkpoint", "TIME",
	 "how often what was sampled must be on the disk; 1m"},
	{OPT_MERGE, 0, "wait-hosts", "TIME", "how long hosts that end late are waited for; 1m"},
	{OPT_FIND, 0, "find", "TIME", "how long to look for the job's processes; 25s"},
	{OPT_FINISHED, 0, "finished", "FILE", "end when the first line of FILE says FINISHED"},
	{OPT_ALL_USERS, 0, "all-users", NULL, "processes of other users too"},
	{OPT_SUBMIT, 0, "submit", NULL,
	 "put the job into the store at the end, inside a batch job too"},
	{OPT_NO_SUBMIT, 0, "no-submit", NULL, "leave the job's directory and nothing in the store"},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_monitor = {
	.name = "monitor",
	.summary = "sample what a job does over time, on every node, without root",
	.arguments = "[-- COMMAND [ARGUMENT...]]",
	.description =
		"Samples the job's processes, its control groups and the node (CPU, memory, I/O, "
		"network, devices, energy, counters: see `plimsoll sources`) until the job ends, and "
		"takes a last sample then. Run it beside the job, once on each node; in a batch job it "
		"finds the other steps' processes by itself and leaves out its own step. Without a batch "
		"system it samples the processes of the shell that started it, or those named. With a "
		"command it runs that at once and ends with its exit status; one that is over within milliseconds may "
		"end before the first sample.\n\n"
		"Samples are appended to a file of each host in the job's directory as they are taken, so "
		"that nothing that happens loses more than one. When all is over the first host waits for "
		"the others, puts all into samples.smp and names hosts that have not reported. `plimsoll "
		"submit DIR` brings them into the store, `plimsoll series` reads them; outside of a batch "
		"job that is done at once.\n\n"
		"Not all is read at every tick. Event counters and GPFS are read every 2 s, clock frequencies and "
		"temperatures every 5 s, the node's power by its controller every 10 s, shares of memory (PSS, USS) and open "
		"files every 30 s; at first they are read after 1, 2, 4 and so on ticks, so that short jobs have several "
		"readings. --period changes it.\n\n"
		"Sampling keeps to its budget of CPU time by sampling less often where it must. Its own "
		"cost, lateness and losses are samples too, of the source sampler.",
	.examples =
		"  srun --ntasks-per-node 1 plimsoll monitor &     beside the steps of a Slurm job\n"
		"  mpirun --map-by node plimsoll monitor -i 5s &   one on each node\n"
		"  plimsoll monitor -i 100ms -- ./app              a command\n"
		"  plimsoll monitor --pid 4711 --duration 1m       what runs already\n",
	.options = rows,
	.defaults = &(const struct options){.m = MONITOR_DEFAULTS},
	.options_size = sizeof(struct options),
	.stops_at_words = true,
	.set = set,
	.run = run,
};
