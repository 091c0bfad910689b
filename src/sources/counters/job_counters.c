/*
 * Event counters of every job of a node: any events by name, counted by the perf_event cgroup of
 * the job on every CPU, or without one by its processes and their later children (perf_attach.c).
 * Events that do not fit on the CPU together take turns and are scaled. The descriptors are closed
 * when the job ends.
 */
#include <errno.h>
#include <string.h>

#include "core/system/process_stat.h"
#include "sources/cgroup/per_job_state.h"
#include "sources/counters/counters.h"
#include "sources/sysfile.h"

#define DEFAULT_EVENTS "instructions,cpu_cycles,cache_misses,page_faults,context_switches"
#define SEPARATORS ", \t\n"

#define HARDWARE(name) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##name
#define SOFTWARE(name) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##name
/* The number of a cache alone means reads of it; site configurations also have numbers of two
 * operations and of a result in its place. */
#define CACHE(name) PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##name

/* Events with our own names, in the order of their numbers in messages. */
static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	const char *help;
} named_events[] = {
	{"cpu_cycles", HARDWARE(CPU_CYCLES), "cycles"},
	{"instructions", HARDWARE(INSTRUCTIONS), "instructions completed"},
	{"cache_references", HARDWARE(CACHE_REFERENCES), "accesses to the last-level cache"},
	{"cache_misses", HARDWARE(CACHE_MISSES), "misses of the last-level cache"},
	{"branch_instructions", HARDWARE(BRANCH_INSTRUCTIONS), "branches"},
	{"branch_misses", HARDWARE(BRANCH_MISSES), "branches mispredicted"},
	{"bus_cycles", HARDWARE(BUS_CYCLES), "bus cycles"},
	{"ref_cpu_cycles", HARDWARE(REF_CPU_CYCLES), "cycles at the nominal frequency"},
	{"cache_l1d", CACHE(L1D), "reads of the level 1 data cache"},
	{"cache_ll", CACHE(LL), "reads of the last-level cache"},
	{"cache_dtlb", CACHE(DTLB), "reads of the data TLB"},
	{"cache_itlb", CACHE(ITLB), "reads of the instruction TLB"},
	{"cache_bpu", CACHE(BPU), "reads of the branch predictor"},
	{"cache_node", CACHE(NODE), "reads of local memory"},
	{"cache_op_read", CACHE(OP_READ), "the same as cache_l1d"},
	{"cache_op_prefetch", CACHE(OP_PREFETCH), "the same as cache_ll"},
	{"cache_result_access", CACHE(RESULT_ACCESS), "the same as cache_l1d"},
	{"cpu_clock", SOFTWARE(CPU_CLOCK), "time on a CPU"},
	{"task_clock", SOFTWARE(TASK_CLOCK), "CPU time"},
	{"page_faults", SOFTWARE(PAGE_FAULTS), "page faults"},
	{"context_switches", SOFTWARE(CONTEXT_SWITCHES), "context switches"},
	{"cpu_migrations", SOFTWARE(CPU_MIGRATIONS), "moves from one CPU to another"},
	{"page_faults_min", SOFTWARE(PAGE_FAULTS_MIN), "page faults without I/O"},
	{"page_faults_maj", SOFTWARE(PAGE_FAULTS_MAJ), "page faults that read from disk"},
	{"alignment_faults", SOFTWARE(ALIGNMENT_FAULTS), "alignment faults"},
	{"emulation_faults", SOFTWARE(EMULATION_FAULTS), "emulated instructions"},
	{"dummy", SOFTWARE(DUMMY), "nothing"},
	{"bpf_output", SOFTWARE(BPF_OUTPUT), "output of BPF programs"},
};

struct counted_job {
	uint64_t number;
	struct counters *counters;  /* NULL: it ended, or has not started */
	struct job_processes watch; /* its processes, where they are counted one by one */
	bool begun, by_group;
};

struct job_counters {
	struct cgroup_jobs *jobs;
	struct counters_ops ops;
	struct source_context ctx;
	struct group_event events[COUNTERS_MAX];
	struct counters common; /* the events that can be counted, with their names */
	struct per_job_state list;
};

/* ---- names ---- */

static int resolve(const char *const *pmus, size_t count, const char *name, struct event_code *ret,
		   struct strbuf *why)
{
	(void)pmus;
	(void)count;
	for (size_t i = 0; i < ARRAY_SIZE(named_events); i++)
		if (event_name_same(named_events[i].name, name)) {
			*ret = (struct event_code){.type = named_events[i].type,
						   .config = named_events[i].config,
						   .kind = "kernel"};
			return 0;
		}
	return event_resolve(name, ret, why);
}

static const char *help_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(named_events); i++)
		if (event_name_same(named_events[i].name, name))
			return named_events[i].help;
	return "event of this name";
}

static enum metric_unit unit_of(const struct event_code *code)
{
	if (code->type == PERF_TYPE_SOFTWARE &&
	    (code->config == PERF_COUNT_SW_CPU_CLOCK || code->config == PERF_COUNT_SW_TASK_CLOCK))
		return UNIT_NANOSECONDS;
	return code->type == PERF_TYPE_HARDWARE && code->config == PERF_COUNT_HW_CPU_CYCLES
		       ? UNIT_CYCLES
		       : UNIT_COUNT;
}

static bool is_named(const struct job_counters *s, const char *name)
{
	for (size_t i = 0; i < s->common.counter_count; i++)
		if (!strcmp(s->events[i].name, name))
			return true;
	return false;
}

/* Software events are read together; hardware events take turns one by one, so that any number of
 * them fits. */
static void add_event(struct job_counters *s, const char *name)
{
	struct counters *c = &s->common;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct event_code code = {0};
	size_t at = c->counter_count;

	(void)resolve(NULL, 0, name, &code, &why);
	s->events[at] = (struct group_event){.name = xstrdup(name), .code = xstrdup(name)};
	c->counters[at] = (struct counter){
		.event = &s->events[at],
		.metric = (unsigned)at,
		.group = code.type == PERF_TYPE_SOFTWARE ? 0 : (unsigned)at + 1,
	};
	c->metrics[at] = (struct sample_metric){.name = s->events[at].name,
						.unit = unit_of(&code),
						.kind = KIND_COUNTER,
						.agg = AGG_SUM,
						.help = help_of(name)};
	c->counter_count++;
}

static int choose(struct job_counters *s, const char *list, struct strbuf *why)
{
	for (const char *p = list + strspn(list, SEPARATORS); *p; p += strspn(p, SEPARATORS)) {
		_cleanup_free_ char *name = xstrndup(p, strcspn(p, SEPARATORS));

		p += strlen(name);
		if (is_named(s, name))
			continue;
		if (s->common.counter_count == COUNTERS_MAX)
			return strbuf_fail(why, -E2BIG, "more than %d events", COUNTERS_MAX);
		add_event(s, name);
	}
	s->common.running_metric = (unsigned)s->common.counter_count;
	s->common.metrics[s->common.running_metric] = (struct sample_metric)COUNTERS_RUNNING;
	s->common.metric_count = s->common.counter_count + 1;
	return 0;
}

/* ---- a job ---- */

static void release_job(void *element)
{
	struct counted_job *j = element;

	if (j->counters) {
		coverage_release(j->counters);
		counters_detach(j->counters, &j->counters->cpus);
		free(j->counters->online);
	}
	free(j->counters);
	free(j->watch.list);
	j->counters = NULL;
	j->watch = (struct job_processes){0};
}

static void on_process(void *user, pid_t pid)
{
	struct job_processes *w = user;
	struct process_stat stat = {0};
	const uint64_t *f = stat.st.f;

	if (!process_stat_read("", pid, &stat) || f[STAT_STATE] == 'Z')
		return;
	GROW(w->list, w->count, w->cap);
	w->list[w->count++] = (struct job_process){.pid = (int)pid,
						   .ppid = (int)f[STAT_PPID],
						   .starttime = f[STAT_STARTTIME],
						   .rank = -1};
}

static void begin_job(struct job_counters *s, struct counted_job *j, const struct job *job)
{
	struct counters *c = xcalloc(1, sizeof(*c));

	c->ops = &s->ops;
	c->ctx = &s->ctx;
	c->cover.root = s->ctx.root;
	c->counter_count = s->common.counter_count;
	c->running_metric = s->common.running_metric;
	memcpy(c->counters, s->common.counters, sizeof(c->counters));
	j->counters = c;
	j->begun = true;
	j->by_group = job->dirs[CGROUP_JOBS_PERF] >= 0 &&
		      counters_attach_cgroup(c, job->dirs[CGROUP_JOBS_PERF], ".") == 0;
}

static void put_job(const struct counted_job *j, const struct job *job, struct sample_set *set,
		    uint32_t entity)
{
	const struct counters *c = j->counters;

	sample_set_metadata(set, entity, "counted_by", j->by_group ? "control group" : "process");
	if (!j->by_group && job->dirs[CGROUP_JOBS_PERF] < 0)
		sample_set_metadata(set, entity, "no_group", "perf_event");
	if (c->cover.denied)
		sample_set_metadata(set, entity, "not_counted", strerror(c->cover.denied_error));
	if (!j->by_group && !c->cover.counts)
		return;
	sample_row(set, entity);
	counters_put(c, set, false);
}

static void read_job(struct job_counters *s, struct counted_job *j, const struct job *job,
		     struct sample_set *set)
{
	struct counters *c = j->counters;

	counters_begin_reading(c);
	if (j->by_group) {
		counters_take_cgroup(c, job->dirs[CGROUP_JOBS_PERF], ".");
	} else {
		j->watch.count = 0;
		if (cgroup_jobs_visit_processes(s->jobs, job, on_process, &j->watch) >= 0)
			coverage_update(c, &j->watch);
		for (size_t i = 0; i < c->cover.attachment_count; i++)
			counters_take(c, &c->cover.attachments[i].fds);
	}
	uint32_t entity = jobs_entity(set, job);
	put_job(j, job, set, entity);
	if (job->state == JOB_ENDED) {
		sample_end(set, entity);
		release_job(j);
	}
}

/* ---- the source ---- */

static void close_counters(void *state)
{
	struct job_counters *s = state;

	per_job_state_release(&s->list);
	for (size_t i = 0; i < s->common.counter_count; i++) {
		free(s->events[i].name);
		free(s->events[i].code);
		free(s->common.counters[i].problem);
	}
	free(s);
}

static int open_counters(const struct source_context *ctx, struct sample_set *set, void **state,
			 struct strbuf *why)
{
	if (!ctx->jobs || *ctx->root) {
		strbuf_addstr(why, *ctx->root
					   ? "events can be counted on a running machine only"
					   : "counts the jobs of a node: available in `node` only");
		return *ctx->root ? -ENOTSUP : -EINVAL;
	}
	struct job_counters *s = xcalloc(1, sizeof(*s));
	s->jobs = ctx->jobs;
	s->ctx = (struct source_context){.root = ""};
	s->ops = counters_kernel;
	s->ops.resolve = resolve;
	s->list =
		(struct per_job_state){.size = sizeof(struct counted_job), .release = release_job};
	s->common.ops = &s->ops;
	s->common.ctx = &s->ctx;
	int r = choose(s, ctx->option && *ctx->option ? ctx->option : DEFAULT_EVENTS, why);
	if (r == 0) {
		counters_try(&s->common, false);
		if (!counters_usable(&s->common, why))
			r = -ENOENT;
	}
	if (r < 0) {
		close_counters(s);
		return r;
	}
	set->metrics = s->common.metrics;
	set->metric_count = s->common.metric_count;
	for (size_t i = 0; i < s->common.counter_count; i++)
		if (s->common.counters[i].problem)
			sample_absent(set, (unsigned)i, "%s", s->common.counters[i].problem);
	*state = s;
	return 0;
}

static int read_counters(void *state, struct sample_set *set)
{
	struct job_counters *s = state;

	per_job_state_update(&s->list, s->jobs);
	for (size_t i = 0; i < s->list.count; i++) {
		const struct job *job = cgroup_jobs_at(s->jobs, i);
		struct counted_job *j = per_job_state_at(&s->list, i);

		if (!j->begun)
			begin_job(s, j, job);
		if (j->counters)
			read_job(s, j, job, set);
	}
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct event_code faults = {.type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_PAGE_FAULTS};
	struct event_count count;

	if (*ctx->root)
		return strbuf_fail(&report->detail, -ENOENT,
				   "events can be counted on a running machine only");
	event_try(&faults, &count);
	if (!count.error) {
		strbuf_addstr(&report->detail, "events by name for every job of a node");
		return 0;
	}
	event_explain(&faults, count.error, &report->detail);
	report->remedy = "sudo sysctl kernel.perf_event_paranoid=2";
	return count.error == EACCES || count.error == EPERM ? -EACCES : -ENOENT;
}

const struct source source_job_counters = {
	.name = "job_counters",
	.help = "event counters of every job of a node, by their names",
	.probe = probe,
	.every = 1,
	.needs_jobs = true,
	.on_request = true,
	.open = open_counters,
	.read = read_counters,
	.close = close_counters,
};
