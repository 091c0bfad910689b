/*
 * The figures of a job that findings look at (analysis/findings/findings.h). Most are the sum of a
 * metric over the records or, without records, the increase of a sampled counter: that is a table.
 */
#include <math.h>
#include <signal.h>
#include <signal.h>
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "report/report_internal.h"
#include "store/query.h"

static double first_known(double a, double b)
{
	return isnan(a) ? b : a;
}

static double larger(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static double known(int64_t v, double factor)
{
	return v == UNKNOWN ? NAN : (double)v * factor;
}

static double sum_of(const struct report *r, const char *name)
{
	const struct job_sum *s = jobshow_sum(&r->show, name);

	return s && s->sum >= 0 ? (double)s->sum : NAN;
}

/* ---- figures with one source or several ------------------------------------------------------ */

enum origin {
	RECORDS,      /* the sum over all processes */
	SAMPLES,      /* the increase of a counter of the job, else of its processes */
	WORST,        /* the largest increase on a host */
	WORST_OF_JOB, /* the largest value of the job on a host */
	WORST_VALUE,  /* the largest value on a host */
};

/* The first row with a value counts. */
static const struct figure_row {
	size_t figure; /* of struct finding_figures */
	enum origin origin;
	const char *metric;
	double factor;
} figure_rows[] = {
#define FIGURE(name, origin, metric, factor) \
	{offsetof(struct finding_figures, name), origin, metric, factor},
#include "report/report_figures.def"
#undef FIGURE
};

static double value_of(const struct report_loading *l, const struct figure_row *row)
{
	switch (row->origin) {
	case RECORDS:
		return sum_of(l->r, row->metric);
	case SAMPLES:
		return report_job_increase(l, row->metric);
	case WORST:
		return report_series_fold(l, row->metric, NULL, LARGEST_INCREASE);
	case WORST_OF_JOB:
		return report_series_fold(l, row->metric, "job", LARGEST_VALUE);
	default:
		return report_series_fold(l, row->metric, NULL, LARGEST_VALUE);
	}
}

static void take_rows(const struct report_loading *l, struct finding_figures *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(figure_rows); i++) {
		double *to = (void *)((char *)f + figure_rows[i].figure);

		if (isnan(*to))
			*to = value_of(l, &figure_rows[i]) * figure_rows[i].factor;
	}
	/* pressure is a share of the duration */
	f->memory_pressure /= f->duration > 0 ? f->duration : NAN;
}

/* ---- CPU ------------------------------------------------------------------------------------ */

/* The most CPUs at one time; unknown where samples missed much of the CPU time. */
static double sampled_peak(const struct report *r, double cpu, double duration)
{
	const struct report_series *c = report_series_of(r, "process.cpu_percent");

	return c && c->mean * duration >= 0.8 * cpu ? c->maximum : NAN;
}

/* Threads at one time; unknown where processes are missing. */
static double peak_threads(const struct report_loading *l)
{
	const struct report *r = l->r;
	double sampled = report_series_fold(l, "process.threads", "job", LARGEST_VALUE);
	double recorded = NAN, missing = finding_limits[LIMIT_ACCOUNTING].value;

	if (r->has_records &&
	    (r->cpu_residue == UNKNOWN || (double)r->cpu_residue <= missing * (double)r->cpu_total))
		recorded = known(r->show.list.rows[0].peak_threads, 1);
	return isnan(recorded) || sampled > recorded ? sampled : recorded;
}

static void take_cpu(const struct report_loading *l, struct finding_figures *f)
{
	const struct report *r = l->r;

	f->cores = known(r->cores, 1);
	f->granted = l->granted;
	f->tasks = l->tasks > 0 ? (double)l->tasks : NAN;
	f->cpu = known(report_cpu(r), 1e-6);
	f->cpu_peak = sampled_peak(r, f->cpu, f->duration);
	f->threads_peak = peak_threads(l);
	if (r->cpu_total != UNKNOWN && r->cpu_itemised != UNKNOWN) {
		f->accounting_total = known(r->cpu_total, 1e-6);
		f->accounting_itemised = known(r->cpu_itemised, 1e-6);
	}
}

/* ---- core time ------------------------------------------------------------------------------ */

#define MOST 0.7  /* of the cores: most of them */
#define ALONE 1.3 /* cores: one, and a little of others */

/* How long most cores were busy, and how long one was while others had nothing to run. */
static void take_phases(const struct where *w, struct finding_figures *f)
{
	double step = (double)w->grid.step * 1e-6;

	f->parallel = f->alone = 0;
	for (size_t i = 0; i < w->grid.count; i++) {
		const struct core_time *t = &w->steps[i];
		double idle = t->part[CORE_SERIAL] + t->part[CORE_CHILD] + t->part[CORE_IMBALANCE];

		/* waiting for a core is using it */
		double used = w->busy[i] + core_time_family(t, CORE_RUNNABLE_FAMILY) / step;
		if (used >= MOST * w->cores && used > ALONE)
			f->parallel += step;
		else if (used >= 0.5 && used <= ALONE && idle >= 0.2 * core_time_total(t))
			f->alone += step;
	}
}

static void take_time(const struct report *r, struct finding_figures *f)
{
	const struct where *w = &r->where;

	if (!w->host_count)
		return;
	f->time = w->total;
	f->cores = r->cores == UNKNOWN ? NAN : w->cores;
	f->sampled = w->sampled;
	f->looked = w->looked;
	take_phases(w, f);
}

/* Limits around the job, and what it asked for. */
static void take_limits(const struct report *r, struct finding_figures *f)
{
	if (r->throttled_us != UNKNOWN && !(f->throttled > (double)r->throttled_us * 1e-6))
		f->throttled = (double)r->throttled_us * 1e-6;
	f->quota = known(r->cpu_quota_us, 1e-6);
	if (r->request.item[REQUEST_TIME] > 0)
		f->time_limit = (double)r->request.item[REQUEST_TIME];
}

/* ---- memory --------------------------------------------------------------------------------- */

static void take_memory(const struct report_loading *l, struct finding_figures *f)
{
	const struct report *r = l->r;
	const struct job_sum *peak = jobshow_sum(&r->show, "rssmax");
	double resident = report_series_fold(l, "process.rss", "job", LARGEST_VALUE);
	double pss = report_series_fold(l, "process_memory.pss", "job", LARGEST_VALUE);

	/* a sample can miss the peak, the kernel's figure of each process cannot */
	f->memory_used = larger(f->memory_used, pss);
	f->memory_used =
		larger(f->memory_used, peak && peak->max >= 0 ? (double)peak->max * 1024 : NAN);
	/* these count shared pages in each process */
	l->r->memory_files = report_files_in_memory(l, &l->r->memory_files_seen);
	f->memory_most = larger(larger(f->memory_used, resident), report_peaks_together(l)) +
			 (l->r->memory_files_seen ? l->r->memory_files : 0);
	/* which for a single process is exact */
	if (report_series_fold(l, "process.processes", "job", LARGEST_VALUE) <= 1)
		f->memory_used = first_known(f->memory_used, resident);
	f->memory_limit = known(r->memory_limit, 1);
	if (l->refault_bytes != UNKNOWN)
		f->refaulted = (double)l->refault_bytes;
	/* the cgroup of a run may contain other jobs: at most the processes that SIGKILL ended */
	if (!(f->oom_kills > 0) && l->oom_kills != UNKNOWN && r->has_records)
		f->oom_kills =
			(double)(l->oom_kills < l->tally.killed ? l->oom_kills : l->tally.killed);
	if (!(f->oom_kills > 0) && l->out_of_memory)
		f->oom_kills = 1;
}

/* ---- storage, network, GPUs ------------------------------------------------------------------ */

/* jobshow_stored() for samples. */
static double sampled_stored(const struct report_loading *l)
{
	double all = report_job_increase(l, "process.write_bytes"),
	       gone = report_job_increase(l, "process.cancelled_write_bytes");

	return all > gone ? all - gone : gone >= all ? 0 : all;
}

/* The sum over records; where some lack it, samples may have seen more. */
static double recorded_or_more(const struct report_loading *l, const char *name,
			       const char *sampled)
{
	double sum = sum_of(l->r, name), seen = report_job_increase(l, sampled);

	return isnan(sum) || (l->r->show.io_unknown && seen > sum) ? seen : sum;
}

static void take_io(const struct report_loading *l, struct finding_figures *f)
{
	const struct jobshow *show = &l->r->show;

	f->stored_written = first_known(known(jobshow_stored(show), 1), sampled_stored(l));
	f->reads = recorded_or_more(l, "syscr", "process.syscr");
	f->writes = recorded_or_more(l, "syscw", "process.syscw");
	f->read_bytes = first_known(known(jobshow_io(show, "rchar"), 1),
				    report_job_increase(l, "process.rchar"));
	f->write_bytes = first_known(known(jobshow_io(show, "wchar"), 1),
				     report_job_increase(l, "process.wchar"));
}

/* The busiest interface in its busier direction, and the speed of the fastest adapter. */
static void take_network(const struct report_loading *l, struct finding_figures *f)
{
	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		double seconds = (double)(s->last - s->first) / 1e6;

		if (strcmp(s->entity_kind, "interface") != 0 || seconds <= 0 ||
		    (strcmp(s->metric, "network.rx_bytes") != 0 &&
		     strcmp(s->metric, "network.tx_bytes") != 0) ||
		    !series_adds_up(s))
			continue;
		f->network_rate = larger(f->network_rate, s->increase / seconds);
	}
	f->network_speed = l->link_speed > 0 ? l->link_speed : NAN;
}

/* Did processes of the job compute on this GPU? */
static bool computed_on(const struct report_loading *l, const struct series *gpu)
{
	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		if (s->entity_no == gpu->entity_no && !strcmp(s->metric, "nvidia.processes_job"))
			return s->maximum >= 1;
	}
	return false;
}

/* Without a request, only GPUs that the job computed on are its own, if there are any. */
static void take_gpus(const struct report_loading *l, struct finding_figures *f)
{
	double sum = 0;

	f->gpus_asked = (double)l->r->request.item[REQUEST_GPUS];
	f->gpus = f->gpus_idle = 0;
	f->gpu_processes = report_series_fold(l, "nvidia.processes_job", "gpu", LARGEST_VALUE);
	bool own = !(f->gpus_asked >= 1) && f->gpu_processes >= 1;
	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		/* one or two samples say nothing about the time between */
		if (strcmp(s->entity_kind, "gpu") != 0 || s->count < 3 ||
		    !str_suffix(s->metric, ".utilization_gpu") || (own && !computed_on(l, s)))
			continue;
		f->gpus++;
		f->gpus_idle += s->mean / 100 < finding_limits[LIMIT_GPU_IDLE].value;
		sum += s->mean / 100;
	}
	f->gpu_busy = f->gpus > 0 ? sum / f->gpus : NAN;
}

/* ---- processes, ranks, hosts ----------------------------------------------------------------- */

/* The mean and the busiest of hosts; groups are still complete here. */
static void take_uneven(const struct report_groups *g, double *count, double *mean, double *most,
			const char **name)
{
	double sum = 0;

	if (g->count < 2)
		return;
	*count = (double)g->count;
	for (size_t i = 0; i < g->count; i++) {
		double cpu = known(g->list[i].cpu, 1e-6);

		if (isnan(cpu))
			continue;
		sum += cpu;
		if (isnan(*most) || cpu > *most) {
			*most = cpu;
			*name = g->list[i].name;
		}
	}
	*mean = sum / *count;
}

static void take_executables(const struct report *r, struct finding_figures *f)
{
	double top = -1, all = 0;
	int64_t most = 0;

	for (size_t i = 0; i < r->executables.count; i++) {
		const struct report_group *g = &r->executables.list[i];
		double cpu = g->cpu == UNKNOWN ? 0 : (double)g->cpu;

		all += cpu;
		if (cpu > top) {
			top = cpu;
			f->top_name = g->name;
		}
		if (g->images > most && g->duration != UNKNOWN &&
		    g->duration / g->images < REPORT_BRIEF_US) {
			most = g->images;
			f->brief_name = g->name;
		}
	}
	f->top_share = all > 0 ? top / all : NAN;
}

static bool is_crash(int sig)
{
	return sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE ||
	       sig == SIGILL || sig == SIGSYS || sig == SIGTRAP;
}

/* The first of a kind counts. */
static void take_victim(const struct report_loading *l, const struct report_proc *p,
			const char **name, const char **step, double *sig)
{
	if (*name)
		return;
	*name = l->r->names[p->name];
	*step = report_step_name(l->r, p);
	if (sig)
		*sig = p->signal;
}

/* Who crashed, who was killed, and who was ended by another signal. */
static void take_signals(const struct report_loading *l, struct finding_figures *f)
{
	f->crashed = 0;
	for (size_t i = 0; i < l->count; i++) {
		const struct report_proc *p = &l->procs[i];

		if (p->signal == SIGKILL)
			take_victim(l, p, &f->killed_name, &f->killed_step, NULL);
		if (is_crash(p->signal)) {
			f->crashed++;
			take_victim(l, p, &f->crash_name, &f->crash_step, &f->crash_signal);
		} else if (p->signal) {
			take_victim(l, p, &f->signal_name, &f->signal_step, &f->signal);
		}
	}
}

static void take_processes(const struct report_loading *l, struct finding_figures *f)
{
	const struct report *r = l->r;

	if (!r->has_records)
		return;
	f->processes = (double)r->show.list.rows[0].processes;
	f->failed = (double)l->tally.failed;
	f->signalled = (double)l->tally.signalled;
	f->killed = (double)l->tally.killed;
	f->brief = (double)l->tally.brief;
	f->brief_time = (double)l->tally.brief_time * 1e-6;
	take_executables(r, f);
	take_signals(l, f);
	for (size_t i = l->started; i-- > 0 && !f->failed_name;) {
		const struct report_proc *p = &l->procs[l->by_start[i]];

		if (p->failed && p->exitcode == f->exitcode) {
			f->failed_name = r->names[p->name];
			f->failed_step = report_step_name(r, p);
		}
	}
}

/* A day of a node, as collectors store it: "node:HOST:DATE". host: room for its name. */
static void take_node(const struct report *r, struct strbuf *host, struct finding_figures *f)
{
	const char *id = f->job, *date = id ? strrchr(id, ':') : NULL;
	const struct report_series *c = report_series_of(r, "system.cpu_percent");

	if (r->has_records || !id || !str_prefix(id, "node:") || date < id + strlen("node:"))
		return;
	strbuf_add(host, id + strlen("node:"), (size_t)(date - id) - strlen("node:"));
	f->node = host->buf;
	f->cpu = NAN;
	if (c) {
		f->node_busy = c->mean / 100;
		f->node_peak = c->maximum / 100;
	}
}

/* ---- findings ------------------------------------------------------------------------------- */

/* Names come from outside: findings get a printable copy, not longer than a name can be. */
static void print_name(const char **name, struct strbuf *copy)
{
	if (!*name)
		return;
	text_add_printable(copy, *name, strnlen(*name, 60));
	*name = copy->buf;
}

/* The job as a word of a command that can be pasted into a shell. */
static void name_job(const struct report_loading *l, struct finding_figures *f, struct strbuf *word)
{
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT, text = STRBUF_INIT;

	if (!f->job || !*f->job)
		return;
	if (job_label(l->store, l->job, f->job, &label) < 0) {
		strbuf_reset(&label);
		strbuf_addstr(&label, f->job);
	}
	text_add_printable(&text, label.buf, label.len);
	text_add_shell(word, text.buf);
	f->job = word->buf;
}

/* Was it ended from outside when the time that it had asked for was over? Its last sign of life may
 * be some seconds older. */
static bool reached_limit(const struct report *r, const struct finding_figures *f)
{
	double limit = known(r->request.item[REQUEST_TIME], 1),
	       before = r->request.ran_before > 0 ? (double)r->request.ran_before : 0,
	       late = limit * 0.05 < 2 ? limit * 0.05 : 2;
	bool ended = (f->cut_off && *f->cut_off && !f->end_known) || f->exitcode == 128 + SIGKILL ||
		     f->exitcode == 128 + SIGTERM;

	return ended && limit > 0 && f->duration + before >= limit - late;
}

void report_find(struct report_loading *l)
{
	struct report *r = l->r;
	const struct job_row *row = &r->show.list.rows[0];
	_cleanup_strbuf_ struct strbuf signals = STRBUF_INIT, host = STRBUF_INIT, job = STRBUF_INIT;
	_cleanup_(report_partners_release) struct report_partners partners = {0};
	struct finding_figures f;

	finding_figures_init(&f);
	f.duration = known(row->duration, 1e-6);
	f.exitcode = known(row->exitcode, 1);
	f.job = joblist_text(&r->show.list, row->jobid);
	f.running = r->running;
	f.run = r->show.metadata.again;
	f.cut_off = r->show.metadata.cut_off;
	f.end_known = r->show.metadata.end_known;
	f.at_time_limit = r->timed_out || reached_limit(r, &f) ||
			  (f.cut_off && strstr(f.cut_off, "at the time limit"));
	take_rows(l, &f);
	take_cpu(l, &f);
	take_time(r, &f);
	take_limits(r, &f);
	take_memory(l, &f);
	report_take_growth(r, &f);
	report_take_partners(l, &partners, &f);
	take_io(l, &f);
	take_network(l, &f);
	take_processes(l, &f);
	report_take_peers(l, &f);
	take_gpus(l, &f);
	take_node(r, &host, &f);
	take_uneven(&r->hosts, &f.hosts, &f.host_mean, &f.host_most, &f.host_name);
	report_add_signals(&signals, l->tally.signals);
	f.signals = signals.buf;
	f.hosts_missing = (double)report_hosts_missing(r);
	if (r->unseen) {
		f.unseen = (double)r->unseen;
		f.cpu = f.memory_most = NAN;
		f.time = (struct core_time){0};
	}
	name_job(l, &f, &job);
	const char **names[] = {&f.brief_name, &f.failed_name, &f.top_name,   &f.rank_name,
				&f.host_name,  &f.node,        &f.crash_name, &f.killed_name,
				&f.peer_name,  &f.signal_name};
	struct strbuf copies[ARRAY_SIZE(names)];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		copies[i] = (struct strbuf)STRBUF_INIT;
		print_name(names[i], &copies[i]);
	}
	r->memory_least = f.memory_used;
	r->memory_most = f.memory_most;
	findings_find(&r->findings, &f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		strbuf_release(&copies[i]);
}
