/*
 * What the tasks of each job used, exactly, by the kernel's exit records (exits.h): those that have
 * ended, or with the option "living" those that live, too, each asked for itself. Names and units
 * are those of the kernel's records where these have the same. A row of the node has what could be
 * booked on no job, and how much was lost.
 */
#include <errno.h>
#include <string.h>

#include "sources/cgroup/job_sources.h"
#include "sources/cgroup/per_job_state.h"
#include "sources/exits/exits.h"
#include "sources/exits/exits_bpf.h"
#include "sources/exits/taskstats.h"
#include "sources/sysfile.h"

/* Metrics that are sums: name, unit, scale, member, help. */
#define SUMS                                                                                       \
	SUM("cpu_count", COUNT, cpu_count, "times a task waited for a CPU")                        \
	SUM("cpu_delay_total", NANOSECONDS, cpu_delay_ns, "time that tasks waited for a CPU")      \
	SUM("blkio_count", COUNT, blkio_count, "times a task waited for a disk")                   \
	SUM("blkio_delay_total", NANOSECONDS, blkio_delay_ns, "time that tasks waited for a disk") \
	SUM("swapin_count", COUNT, swapin_count, "times a task waited for swapped pages")          \
	SUM("swapin_delay_total", NANOSECONDS, swapin_delay_ns,                                    \
	    "time that tasks waited for swapped pages")                                            \
	SUM("cpu_run_real_total", NANOSECONDS, cpu_real_ns, "CPU time by ticks")                   \
	SUM("cpu_run_virtual_total", NANOSECONDS, cpu_ns, "CPU time, exact")                       \
	SUM("ac_utime", MICROSECONDS, user_us, "CPU time in user mode, by ticks")                  \
	SUM("ac_stime", MICROSECONDS, system_us, "CPU time in the kernel, by ticks")               \
	SUM("ac_minflt", COUNT, minor_faults, "page faults without I/O")                           \
	SUM("ac_majflt", COUNT, major_faults, "page faults that read from a disk")                 \
	SUM("coremem", NONE, coremem, "resident memory times CPU time, MiB x us")                  \
	SUM("virtmem", NONE, virtmem, "virtual memory times CPU time, MiB x us")                   \
	SUM("read_char", BYTES, read_char, "bytes read by system calls, in steps of 1024 a task")  \
	SUM("write_char", BYTES, write_char,                                                       \
	    "bytes written by system calls, in steps of 1024 a task")                              \
	SUM("read_syscalls", COUNT, read_syscalls,                                                 \
	    "system calls that read, in steps of 1024 a task")                                     \
	SUM("write_syscalls", COUNT, write_syscalls,                                               \
	    "system calls that write, in steps of 1024 a task")                                    \
	SUM("read_bytes", BYTES, read_bytes, "bytes read from storage")                            \
	SUM("write_bytes", BYTES, write_bytes,                                                     \
	    "bytes queued for storage, those cancelled included")                                  \
	SUM("cancelled_write_bytes", BYTES, cancelled_write_bytes,                                 \
	    "bytes that were to be written and were not")                                          \
	SUM("nvcsw", COUNT, voluntary, "context switches that a task asked for")                   \
	SUM("nivcsw", COUNT, involuntary, "context switches that a task was made to")              \
	SUM("ac_utimescaled", MICROSECONDS, user_scaled_us,                                        \
	    "CPU time in user mode, scaled by the frequency")                                      \
	SUM("ac_stimescaled", MICROSECONDS, system_scaled_us,                                      \
	    "CPU time in the kernel, scaled by the frequency")                                     \
	SUM("cpu_scaled_run_real_total", NANOSECONDS, cpu_scaled_ns,                               \
	    "CPU time, scaled by the frequency")                                                   \
	SUM("freepages_count", COUNT, freepages_count,                                             \
	    "times a task waited for memory to be freed")                                          \
	SUM("freepages_delay_total", NANOSECONDS, freepages_delay_ns,                              \
	    "time that tasks waited for memory to be freed")                                       \
	SUM("tasks", COUNT, tasks, "threads that ended")                                           \
	SUM("processes", COUNT, processes, "processes that ended")                                 \
	SUM("failed", COUNT, failed, "processes that ended with a status other than 0")            \
	SUM("signalled", COUNT, signalled, "processes that a signal ended")

static const size_t members[] = {
#define SUM(name, unit, member, help) offsetof(struct exit_sums, member),
	SUMS
#undef SUM
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

static const struct sample_metric metrics_of_tasks[METRICS] = {
#define SUM(name, unit, member, help) {name, UNIT_##unit, KIND_COUNTER, AGG_SUM, 0, help},
	SUMS
#undef SUM
		[BEGIN] = {"ac_btime", UNIT_NONE, KIND_GAUGE, AGG_MIN, 0,
			   "earliest start of a task, since 1970"},
	[LONGEST] = {"ac_etime", UNIT_MICROSECONDS, KIND_GAUGE, AGG_MAX, 0,
		     "longest life of a task"},
	[RSS_PEAK] = {"rss_peak", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 0,
		      "most resident memory of one process"},
	[VM_PEAK] = {"vm_peak", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 0,
		     "most virtual memory of one process"},
	[ALIVE] = {"tasks_alive", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0,
		   "threads that live and are counted with"},
	[RECORDS] = {"records", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
		     "exit records that the kernel sent"},
	[LOST] = {"lost", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
		  "times that the kernel had to drop exit records"},
	[LOST_FORKS] = {"lost_forks", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			"times that the kernel had to drop reports of forks"},
	[BY_BPF] = {"told_by_bpf", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
		    "tasks of jobs that were known by the group they ended in"},
	[BY_FORK] = {"told_by_fork", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
		     "tasks of jobs that were known by their parent"},
	[BY_GROUPS] = {"told_by_groups", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
		       "tasks of jobs that were found by a look at groups"},
};
_Static_assert(METRICS <= SAMPLE_METRICS_MAX, "a set has no room for more");

/* What a job had when last read: a record that is lost must not make its counters fall. */
struct shown {
	uint64_t number;
	uint64_t sums[SUM_COUNT];
	bool ended;
};

struct job_tasks {
	struct cgroup_jobs *jobs;
	struct exits *exits;
	struct exits_living *living; /* NULL: ended ones alone */
	struct per_job_state shown;
};

static int why_not(const struct source_context *ctx, struct strbuf *why)
{
	struct taskstats_listener t;

	if (*ctx->root) {
		strbuf_addstr(why, "exit records come of a running machine only");
		return -ENOTSUP;
	}
	if (!taskstats_ids_match()) {
		strbuf_addstr(why, "process ids here are not those of the machine");
		return -ENOTSUP;
	}
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
	strbuf_addstr(out, "; whose they were also by BPF, with groups of version 2");
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	int r = why_not(ctx, &report->detail);

	if (r == 0) {
		strbuf_addstr(&report->detail, "exact ends of all tasks of the jobs of a node");
		add_bpf(&report->detail);
	}
	if (r == -EPERM || r == -EACCES)
		report->remedy =
			"sudo setcap cap_net_admin+ep $(readlink -f $(command -v plimsoll))";
	return r;
}

static int open_tasks(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	if (ctx->option && *ctx->option && strcmp(ctx->option, "living") != 0) {
		strbuf_addf(why, "'%s': the one option is job_tasks=living", ctx->option);
		return -EINVAL;
	}
	if (!ctx->exits || !ctx->jobs) {
		int r = why_not(ctx, why);

		if (!why->len)
			strbuf_addstr(why, "nobody receives exit records: only `node` does");
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
		sample_absent(set, ALIVE, "ended tasks only: job_tasks=living asks for the others");
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
		return; /* there was no task yet */
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
	per_job_state(&s->shown, s->jobs);
	for (size_t i = 0; i < s->shown.count; i++) {
		struct shown *shown = per_job_stateed(&s->shown, i);

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
		sample_absent(set, LOST_FORKS, "the process connector cannot be heard here");
	if (losses.bpf)
		sys_put(set, BY_BPF, losses.by_bpf);
	else
		sample_absent(set, BY_BPF, "BPF does not tell here whose a task was");
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
	.help = "what the tasks of each job used, by the kernel's exit records",
	.probe = probe,
	.metrics = metrics_of_tasks,
	.metric_count = METRICS,
	.every = 1,
	.needs_jobs = true,
	.open = open_tasks,
	.read = read_tasks,
	.close = close_tasks,
};
