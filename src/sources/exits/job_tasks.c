/*
 * What the tasks of each job used, from the kernel's exit records (exits.h): ended tasks, and with
 * the option "living" also living ones, each of which is asked for. Names and units are those of
 * the kernel's records. The row of the node has what belongs to no job, and the losses.
 */
#include <errno.h>
#include <string.h>

#include "sources/cgroup/per_job_state.h"
#include "sources/exits/exits.h"
#include "sources/exits/netlink.h"
#include "sources/exits/exits_bpf.h"
#include "sources/exits/taskstats.h"
#include "sources/sysfile.h"

/* Sums of tasks, and of processes. */
static const size_t members[] = {
#define TASK_SUM(member, field, unit, help) offsetof(struct exit_sums, member),
#include "sources/exits/task_fields.def"
#undef TASK_SUM
	offsetof(struct exit_sums, tasks),
	offsetof(struct exit_sums, processes),
	offsetof(struct exit_sums, failed),
	offsetof(struct exit_sums, signalled),
};
#define SUM_COUNT ARRAY_SIZE(members)

enum {
	BEGIN = SUM_COUNT,
	LONGEST,
	RSS_PEAK,
	VM_PEAK,
	ALIVE,
	RECORDS,
	LOST,
	LOST_FORKS,
	BY_BPF,
	BY_FORK,
	BY_GROUPS,
	METRICS
};

#define COUNTED(name, text)                                      \
	{                                                        \
		name, UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, text \
	}

static const struct sample_metric metrics_of_tasks[METRICS] = {
#define TASK_SUM(member, field, unit, help) {#field, UNIT_##unit, KIND_COUNTER, AGG_SUM, 0, help},
#include "sources/exits/task_fields.def"
#undef TASK_SUM
	COUNTED("tasks", "threads that ended"),
	COUNTED("processes", "processes that ended"),
	COUNTED("failed", "processes that ended with a status other than 0"),
	COUNTED("signalled", "processes that a signal ended"),
	[BEGIN] = {"ac_btime", UNIT_NONE, KIND_GAUGE, AGG_MIN, 0,
		   "earliest start of a task, since 1970"},
	[LONGEST] = {"ac_etime", UNIT_MICROSECONDS, KIND_GAUGE, AGG_MAX, 0,
		     "longest life of a task"},
	[RSS_PEAK] = {"rss_peak", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 0,
		      "most resident memory of one process"},
	[VM_PEAK] = {"vm_peak", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 0,
		     "most virtual memory of one process"},
	[ALIVE] = {"tasks_alive", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0,
		   "living threads that are included"},
	[RECORDS] = COUNTED("records", "exit records that the kernel sent"),
	[LOST] = COUNTED("lost", "times that the kernel had to drop exit records"),
	[LOST_FORKS] = COUNTED("lost_forks", "times that the kernel had to drop reports of forks"),
	[BY_BPF] = COUNTED("told_by_bpf",
			   "tasks attributed to a job by the control group they ended in"),
	[BY_FORK] = COUNTED("told_by_fork", "tasks attributed to a job by their parent"),
	[BY_GROUPS] = COUNTED("told_by_groups",
			      "tasks attributed to a job by a scan of its control groups"),
};
_Static_assert(METRICS <= SAMPLE_METRICS_MAX, "a set has no room for more");

/* The last values of a job: a lost record must not make its counters fall. */
struct shown {
	uint64_t number;
	uint64_t sums[SUM_COUNT];
	bool ended;
};

struct job_tasks {
	struct cgroup_jobs *jobs;
	struct exits *exits;
	struct exits_living *living; /* NULL: only ended tasks */
	struct per_job_state shown;
};

static int why_not(const struct source_context *ctx, struct strbuf *why)
{
	struct taskstats_listener t;

	if (*ctx->root)
		return strbuf_fail(why, -ENOTSUP, "exit records come only from a running machine");
	if (!taskstats_ids_match())
		return strbuf_fail(why, -ENOTSUP,
				   "process ids here are not those of the host: in a container?");
	int r = taskstats_open(&t, why);
	if (r == 0)
		taskstats_close(&t);
	return r;
}

/* With BPF, or without it and why. */
static void add_bpf(struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct exits_bpf *b;

	if (exits_bpf_open(&b, &why) < 0) {
		strbuf_addf(out, "; whose they were without BPF: %s", why.buf);
		return;
	}
	exits_bpf_close(b);
	strbuf_addstr(out, "; with control groups of version 2, BPF attributes them to jobs");
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	int r = why_not(ctx, &report->detail);

	if (r == 0) {
		strbuf_addstr(&report->detail, "exit records of all tasks of a node's jobs");
		add_bpf(&report->detail);
	}
	return r;
}

static int open_tasks(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	if (ctx->option && *ctx->option && strcmp(ctx->option, "living") != 0)
		return strbuf_fail(why, -EINVAL,
				   "unknown option '%s'; the only one is job_tasks=living",
				   ctx->option);
	if (!ctx->exits || !ctx->jobs) {
		int r = why_not(ctx, why);

		if (!why->len)
			strbuf_addstr(why, "only plimsoll node receives exit records");
		return r < 0 ? r : -EINVAL;
	}
	struct job_tasks *s = xcalloc(1, sizeof(*s));
	s->jobs = ctx->jobs;
	s->exits = ctx->exits;
	s->shown.size = sizeof(struct shown);
	if (ctx->option && *ctx->option) {
		int r = exits_living_open(&s->living, s->exits, why);

		if (r < 0) {
			free(s);
			return r;
		}
	} else {
		sample_absent(set, ALIVE,
			      "only ended tasks are counted; job_tasks=living adds the others");
	}
	*state = s;
	return 0;
}

static uint64_t sum_at(const struct exit_sums *sums, size_t i)
{
	uint64_t v;

	memcpy(&v, (const char *)sums + members[i], sizeof(v));
	return v;
}

static void put_sums(struct sample_set *set, const struct exit_sums *sums, uint64_t *before)
{
	for (unsigned i = 0; i < SUM_COUNT; i++) {
		uint64_t v = sum_at(sums, i);

		if (before && v < before[i])
			v = before[i];
		if (before)
			before[i] = v;
		sys_put(set, i, v);
	}
	if (!sums->begin_s)
		return; /* no task yet */
	sys_put(set, BEGIN, sums->begin_s);
	sys_put(set, LONGEST, sums->etime_us);
	sys_put(set, RSS_PEAK, sums->rss_peak);
	sys_put(set, VM_PEAK, sums->vm_peak);
}

static void put_job(struct job_tasks *s, const struct job *job, struct shown *shown,
		    struct sample_set *set)
{
	struct exit_sums sums;
	uint64_t alive = 0;

	if (s->living ? exits_living_of(s->living, job->number, &sums, &alive) < 0
		      : !exits_of(s->exits, job->number, &sums))
		return;
	uint32_t e = jobs_entity(set, job);
	sample_row(set, e);
	put_sums(set, &sums, shown->sums);
	if (s->living)
		sys_put(set, ALIVE, alive);
	if (job->state == JOB_ENDED) {
		sample_end(set, e);
		shown->ended = true;
	}
}

static int read_tasks(void *state, struct sample_set *set)
{
	struct job_tasks *s = state;
	struct exits_losses losses;
	struct exit_sums nobody;

	exits_sync(s->exits);
	per_job_state_update(&s->shown, s->jobs);
	for (size_t i = 0; i < s->shown.count; i++) {
		struct shown *shown = per_job_state_at(&s->shown, i);

		if (!shown->ended)
			put_job(s, cgroup_jobs_at(s->jobs, i), shown, set);
	}
	exits_unattributed(s->exits, &nobody);
	exits_losses(s->exits, &losses);
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	put_sums(set, &nobody, NULL);
	sys_put(set, RECORDS, losses.records);
	sys_put(set, LOST, losses.taskstats);
	if (losses.lineage)
		sys_put(set, LOST_FORKS, losses.cnproc);
	else
		sample_absent(set, LOST_FORKS, "the process connector is not available here");
	if (losses.bpf)
		sys_put(set, BY_BPF, losses.by_bpf);
	else
		sample_absent(set, BY_BPF, "BPF does not attribute tasks to jobs here");
	sys_put(set, BY_FORK, losses.by_lineage);
	sys_put(set, BY_GROUPS, losses.by_groups);
	return 0;
}

static void close_tasks(void *state)
{
	struct job_tasks *s = state;

	exits_living_close(s->living);
	per_job_state_release(&s->shown);
	free(s);
}

const struct source source_job_tasks = {
	.name = "job_tasks",
	.help = "what the tasks of each job used, from the kernel's exit records",
	.probe = probe,
	.remedy = NETLINK_REMEDY,
	.metrics = metrics_of_tasks,
	.metric_count = METRICS,
	.every = 1,
	.needs_jobs = true,
	.open = open_tasks,
	.read = read_tasks,
	.close = close_tasks,
};
