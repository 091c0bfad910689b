/* Sums of a report that several of its parts have a say in, and its findings; see report.h. */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "report/report_internal.h"

/* ---- looking things up ---------------------------------------------------------------------- */

static double sum_of(const struct report *r, const char *name, double factor)
{
	const struct job_sum *s = jobshow_sum(&r->show, name);

	return s && s->sum >= 0 ? (double)s->sum * factor : NAN;
}

static double peak_of(const struct report *r, const char *name, double factor)
{
	const struct job_sum *s = jobshow_sum(&r->show, name);

	return s && s->max >= 0 ? (double)s->max * factor : NAN;
}

const struct report_curve *report_curve_of(const struct report *r, const char *metric)
{
	for (size_t i = 0; i < r->curve_count; i++)
		if (!r->curves[i].host && !r->curves[i].entity &&
		    !strcmp(r->curves[i].metric, metric))
			return &r->curves[i];
	return NULL;
}

enum of { MAXIMUM, INCREASE };

/* The largest value or increase of a metric among the series of a kind of entity; kind NULL: any.
 */
static double largest(const struct report_loading *l, const char *metric, const char *kind,
		      enum of what)
{
	double most = NAN;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		double v = what == MAXIMUM ? s->maximum : s->increase;

		if (strcmp(s->metric, metric) != 0 || (kind && strcmp(s->entity_kind, kind) != 0))
			continue;
		most = isnan(most) || v > most ? v : most;
	}
	return most;
}

/* What a counter grew by on all hosts. */
static double total_increase(const struct report_loading *l, const char *metric, const char *kind)
{
	double sum = NAN;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		if (strcmp(s->metric, metric) != 0 || strcmp(s->entity_kind, kind) != 0 ||
		    s->kind != KIND_COUNTER || !series_adds_up(s))
			continue;
		sum = isnan(sum) ? s->increase : sum + s->increase;
	}
	return sum;
}

/* Of the job as a whole; where that was not sampled, of the processes that were seen. */
static double job_increase(const struct report_loading *l, const char *metric)
{
	double whole = total_increase(l, metric, "job");

	return isnan(whole) ? total_increase(l, metric, "process") : whole;
}

/* What a counter of the job's own stood at last: it begins at 0 with the job, whenever somebody
 * began to read it. */
static double job_counter(const struct report_loading *l, const char *metric)
{
	double sum = NAN;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		double v = s->increase > s->maximum ? s->increase : s->maximum;

		if (strcmp(s->metric, metric) != 0 || strcmp(s->entity_kind, "job") != 0 ||
		    s->kind != KIND_COUNTER || !series_adds_up(s))
			continue;
		sum = isnan(sum) ? v : sum + v;
	}
	return sum;
}

/* The first of several metrics of the job that was sampled. */
static double first_increase(const struct report_loading *l, const char *const *metrics_of,
			     size_t count)
{
	double v = NAN;

	for (size_t i = 0; i < count && isnan(v); i++)
		v = job_increase(l, metrics_of[i]);
	return v;
}

static const char *const cpu_waits[] = {"process.time_waiting", "job_tasks.cpu_delay_total",
					"taskstats_default.cpu_delay_total"};
static const char *const io_waits[] = {"job_tasks.blkio_delay_total",
				       "taskstats_default.blkio_delay_total"};

static double first_known(double a, double b)
{
	return isnan(a) ? b : a;
}

/* ---- hosts of a job without records --------------------------------------------------------- */

static struct report_group *host_group(struct report *r, const char *host)
{
	for (size_t i = r->hosts.count; i-- > 0;)
		if (!strcmp(r->hosts.list[i].name, host))
			return &r->hosts.list[i];
	return report_group_add(&r->hosts, host);
}

static void plus(int64_t *to, double v)
{
	if (v >= 0 && v < 9e18)
		*to = *to == UNKNOWN ? round_i64(v) : *to + round_i64(v);
}

static void keep_larger(int64_t *to, double v)
{
	if (v >= 0 && v < 9e18 && round_i64(v) > *to)
		*to = round_i64(v);
}

/* Series are by metric and then by host: a host's group is near the one before. */
static void hosts_from_series(struct report_loading *l)
{
	struct report_group *g = NULL;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		bool job = !strcmp(s->entity_kind, "job");

		if (s->count <= 0 || !series_adds_up(s))
			continue;
		if (!strcmp(s->entity_kind, "process") && !strcmp(s->metric, "process.rss")) {
			g = g && !strcmp(g->name, s->host) ? g : host_group(l->r, s->host);
			keep_larger(&g->rssmax, s->maximum / 1024);
		}
		if (!job)
			continue;
		g = g && !strcmp(g->name, s->host) ? g : host_group(l->r, s->host);
		if (!strcmp(s->metric, "process.usertime") ||
		    !strcmp(s->metric, "process.systemtime") ||
		    !strcmp(s->metric, "perfmon.cpu_time") || !strcmp(s->metric, "jobs.cpu_usage"))
			plus(&g->cpu, s->increase);
		else if (!strcmp(s->metric, "jobproc.VmRSS"))
			keep_larger(&g->rssmax, s->maximum / 1024);
		else if (!strcmp(s->metric, "process.rchar") || !strcmp(s->metric, "jobproc.rchar"))
			plus(&g->read, s->increase);
		else if (!strcmp(s->metric, "process.wchar") || !strcmp(s->metric, "jobproc.wchar"))
			plus(&g->written, s->increase);
		g->start = g->start == UNKNOWN || s->first < g->start ? s->first : g->start;
		g->end = s->last > g->end ? s->last : g->end;
		g->wall = g->end - g->start;
	}
}

/* ---- books, cores --------------------------------------------------------------------------- */

static double curve_cpu_us(const struct report_loading *l)
{
	double user = job_increase(l, "process.usertime"),
	       system = job_increase(l, "process.systemtime");

	double both = first_known(user + system, job_increase(l, "perfmon.cpu_time"));
	double group = first_known(both, job_counter(l, "jobs.cpu_usage"));
	double tasks = first_known(job_counter(l, "job_tasks.cpu_run_virtual_total"),
				   job_counter(l, "taskstats_default.cpu_run_virtual_total"));
	return first_known(group, tasks / 1000);
}

static void settle_books(struct report_loading *l)
{
	struct report *r = l->r;
	const struct job_row *row = &r->show.list.rows[0];
	double sampled = curve_cpu_us(l);

	if (r->has_records) {
		r->cpu_itemised = row->cpu;
		/* without a supervisor's word: what roots were told of their children */
		if (r->cpu_total == UNKNOWN && l->tally.reaped_cpu != UNKNOWN &&
		    l->tally.reaped_cpu >= row->cpu)
			r->cpu_total = l->tally.reaped_cpu;
		/* records come at the ends of processes, samples while they run */
		if (row->end == UNKNOWN && sampled > (double)row->cpu && sampled < 9e18)
			r->cpu_total = round_i64(sampled);
	} else if (r->cpu_total == UNKNOWN && sampled >= 0 && sampled < 9e18) {
		r->cpu_total = round_i64(sampled);
	}
	if (r->has_records && r->cpu_total == UNKNOWN && !r->running)
		r->unseen = l->tally.without_cpu;
	if (r->cpu_total != UNKNOWN && r->cpu_itemised != UNKNOWN)
		r->cpu_residue = r->cpu_total - r->cpu_itemised;
	if (r->cores == UNKNOWN) {
		const struct report_curve *c = report_curve_of(r, "system.cpus_online");
		double online = c ? c->maximum : 0;

		for (size_t i = 0; i < l->series.count && !c; i++)
			if (!strcmp(l->series.list[i].metric, "system.cpus_online"))
				online += l->series.list[i].maximum;
		if (online >= 1 && online < 1e9)
			r->cores = round_i64(online);
	}
	double limit = first_known(largest(l, "cgroup.memory_limit", NULL, MAXIMUM),
				   largest(l, "jobs.memory_limit", NULL, MAXIMUM));
	if (r->memory_limit == UNKNOWN && limit > 0 && limit < 1e15)
		r->memory_limit = round_i64(limit);
	int64_t cpu = r->cpu_total != UNKNOWN ? r->cpu_total : r->cpu_itemised;
	if (cpu != UNKNOWN && r->cores > 0 && row->duration > 0)
		r->cpu_share = (double)cpu / ((double)r->cores * (double)row->duration);
}

/* ---- figures -------------------------------------------------------------------------------- */

static double known(int64_t v, double factor)
{
	return v == UNKNOWN ? NAN : (double)v * factor;
}

/* Means and the busiest of ranks or hosts; groups are not yet cut short. */
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

/* Part of the time of the duration that a pressure counter of the worst host grew by. */
static double pressure(const struct report_loading *l, const char *kind)
{
	double seconds = known(l->r->show.list.rows[0].duration, 1e-6), us = NAN;
	static const char *const groups[] = {"jobs", "cgroup"};

	/* of the node it may be another job's */
	for (size_t i = 0; i < ARRAY_SIZE(groups) && isnan(us); i++) {
		_cleanup_free_ char *name = xasprintf("%s.%s_pressure_some", groups[i], kind);

		us = largest(l, name, NULL, INCREASE);
	}
	return seconds > 0 ? us * 1e-6 / seconds : NAN;
}

static void take_gpus(const struct report_loading *l, struct finding_figures *f)
{
	const struct report_curve *all = NULL;
	double sum = 0;

	f->gpus = f->gpus_idle = 0;
	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		/* one or two readings say nothing of the time between */
		if (strcmp(s->entity_kind, "gpu") != 0 || s->count < 3 ||
		    !str_suffix(s->metric, ".utilization_gpu"))
			continue;
		all = all ? all : report_curve_of(l->r, s->metric);
		f->gpus++;
		f->gpus_idle += s->mean / 100 < finding_limits[LIMIT_GPU_IDLE].value;
		sum += s->mean / 100;
	}
	/* the figure of the table where there is one */
	f->gpu_busy = all && isfinite(all->mean) ? all->mean / 100
		      : f->gpus > 0              ? sum / f->gpus
						 : NAN;
}

/* The busiest interface, in the direction that is busier, beside the fastest adapter there is. */
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
		if (isnan(f->network_rate) || s->increase / seconds > f->network_rate)
			f->network_rate = s->increase / seconds;
	}
	f->network_speed = l->link_speed > 0 ? l->link_speed : NAN;
}

/* The most CPUs at one time; not known where the samples missed a good part of the time. */
static double sampled_peak(const struct report *r, double cpu, double duration)
{
	const struct report_curve *c = report_curve_of(r, "process.cpu_percent");

	return c && c->mean * duration >= 0.8 * cpu ? c->maximum : NAN;
}

/* Threads at one time; not known where processes are missing. */
static double peak_threads(const struct report_loading *l)
{
	const struct report *r = l->r;
	double sampled = largest(l, "process.threads", "job", MAXIMUM), recorded = NAN;

	if (r->has_records &&
	    (r->cpu_residue == UNKNOWN ||
	     (double)r->cpu_residue <= finding_limits[LIMIT_BOOKS].value * (double)r->cpu_total))
		recorded = known(r->show.list.rows[0].peak_threads, 1);
	return isnan(recorded) || sampled > recorded ? sampled : recorded;
}

static void take_cpu(const struct report_loading *l, struct finding_figures *f)
{
	const struct report *r = l->r;

	f->cores = known(r->cores, 1);
	f->granted = l->granted;
	f->tasks = l->tasks > 0 ? (double)l->tasks : NAN;
	f->cpu = known(r->cpu_total != UNKNOWN ? r->cpu_total : r->cpu_itemised, 1e-6);
	f->cpu_peak = sampled_peak(r, f->cpu, f->duration);
	f->sampled = report_curve_of(r, "process.cpu_percent") != NULL;
	f->cpu_system = sum_of(r, "systemtime", 1e-6);
	if (!r->has_records)
		f->cpu_system = job_increase(l, "process.systemtime") * 1e-6;
	f->cpu_wait = first_known(sum_of(r, "time_waiting", 1e-9),
				  first_increase(l, cpu_waits, ARRAY_SIZE(cpu_waits)) * 1e-9);
	f->throttled = first_known(largest(l, "jobs.cpu_throttled_time", NULL, INCREASE),
				   largest(l, "cgroup.cpu_throttled_time", NULL, INCREASE)) *
		       1e-6;
	f->threads_peak = peak_threads(l);
	f->cpu_pressure = pressure(l, "cpu");
}

/* ---- memory --------------------------------------------------------------------------------- */

/* A process comes with what it had at most, and goes with it. */
struct comer {
	uint32_t host;
	int64_t at, kib;
};

/* Those that go at a time go first. */
static int by_host_and_time(const void *a, const void *b)
{
	const struct comer *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->kib < y->kib ? -1 : x->kib > y->kib;
}

/* Peaks of all processes that a host had at one time: more it cannot have been. */
static double peaks_together(const struct report_loading *l)
{
	_cleanup_free_ struct comer *all = xcalloc(2 * l->started + 1, sizeof(*all));
	int64_t now = 0, most = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->started; i++) {
		const struct report_proc *p = &l->procs[l->by_start[i]];

		/* what is not known, or no machine has, makes the sum unknown */
		if (p->rssmax == UNKNOWN || p->rssmax < 0 || p->rssmax >= (int64_t)1 << 42)
			return NAN;
		all[n++] = (struct comer){p->host, p->start, p->rssmax};
		all[n++] = (struct comer){p->host, p->start + p->duration, -p->rssmax};
	}
	qsort(all, n, sizeof(*all), by_host_and_time);
	for (size_t i = 0; i < n; i++) {
		now += all[i].kib;
		most = now > most ? now : most;
	}
	return n && l->started == l->count ? (double)most * 1024 : NAN;
}

static double larger(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static void take_memory(const struct report_loading *l, struct finding_figures *f)
{
	const struct report *r = l->r;
	double group = first_known(largest(l, "jobs.memory_anon", NULL, MAXIMUM),
				   largest(l, "cgroup.memory_anon", NULL, MAXIMUM)),
	       resident = largest(l, "process.rss", "job", MAXIMUM);

	/* a sample can miss the peak, which the kernel keeps for each process */
	f->memory_used = larger(larger(group, largest(l, "process_memory.pss", "job", MAXIMUM)),
				peak_of(r, "rssmax", 1024));
	/* shared pages count for each process here */
	f->memory_most = larger(larger(f->memory_used, resident), peaks_together(l));
	/* of one process it is exact */
	if (largest(l, "process.processes", "job", MAXIMUM) <= 1)
		f->memory_used = first_known(f->memory_used, resident);
	f->memory_limit = known(r->memory_limit, 1);
	f->swap_used = first_known(largest(l, "jobs.swap_current", NULL, MAXIMUM),
				   largest(l, "process_memory.swap", "job", MAXIMUM));
	f->major_faults = first_known(sum_of(r, "majflt", 1), job_increase(l, "process.majflt"));
	f->oom_kills = first_known(largest(l, "jobs.oom_kills", NULL, INCREASE),
				   largest(l, "cgroup.oom_kills", NULL, INCREASE));
	/* the group of a run may have others in it: only what ended by SIGKILL was killed so */
	if (!(f->oom_kills > 0) && l->oom_kills != UNKNOWN && r->has_records)
		f->oom_kills =
			(double)(l->oom_kills < l->tally.killed ? l->oom_kills : l->tally.killed);
	f->memory_pressure = pressure(l, "memory");
}

/* As jobshow_stored(), of what was sampled. */
static double sampled_stored(const struct report_loading *l)
{
	double all = job_increase(l, "process.write_bytes"),
	       gone = job_increase(l, "process.cancelled_write_bytes");

	return all > gone ? all - gone : gone >= all ? 0 : all;
}

/* The sum over records; where some lack it, what samples saw may be more. */
static double recorded_or_more(const struct report_loading *l, const char *name,
			       const char *sampled)
{
	double sum = sum_of(l->r, name, 1), seen = job_increase(l, sampled);

	return isnan(sum) || (l->r->show.io_unknown && seen > sum) ? seen : sum;
}

static void take_io(const struct report_loading *l, struct finding_figures *f)
{
	struct report *r = l->r;

	f->io_wait =
		first_known(sum_of(r, "delayacct_blkio_time", 1e-6),
			    first_known(job_increase(l, "process.delayacct_blkio_time") * 1e-6,
					first_increase(l, io_waits, ARRAY_SIZE(io_waits)) * 1e-9));
	f->stored_read =
		first_known(sum_of(r, "read_bytes", 1), job_increase(l, "process.read_bytes"));
	f->stored_written = first_known(known(jobshow_stored(&r->show), 1), sampled_stored(l));
	f->reads = recorded_or_more(l, "syscr", "process.syscr");
	f->writes = recorded_or_more(l, "syscw", "process.syscw");
	f->read_bytes = first_known(known(jobshow_io(&r->show, "rchar"), 1),
				    job_increase(l, "process.rchar"));
	f->write_bytes = first_known(known(jobshow_io(&r->show, "wchar"), 1),
				     job_increase(l, "process.wchar"));
	f->io_pressure = pressure(l, "io");
}

/* Names that come from outside are made printable here; the list is the caller's to free. */
struct printed {
	struct strbuf text[8];
	size_t count;
};

static void print_name(struct printed *p, const char **name)
{
	struct strbuf *to = &p->text[p->count];

	if (!*name)
		return;
	*to = (struct strbuf)STRBUF_INIT;
	p->count++;
	/* a name as long as a page is no name */
	text_add_printable(to, *name, strnlen(*name, 60));
	*name = to->buf;
}

static void take_processes(const struct report_loading *l, struct finding_figures *f)
{
	const struct report *r = l->r;
	double top = -1, all = 0;
	int64_t most = 0;

	if (!r->has_records)
		return;
	f->processes = (double)r->show.list.rows[0].processes;
	f->failed = (double)l->tally.failed;
	f->signalled = (double)l->tally.signalled;
	f->killed = (double)l->tally.killed;
	f->brief = (double)l->tally.brief;
	f->brief_cpu = (double)l->tally.brief_cpu * 1e-6;
	for (size_t i = 0; i < r->executables.count; i++) {
		const struct report_group *g = &r->executables.list[i];
		double cpu = g->cpu == UNKNOWN ? 0 : (double)g->cpu;

		all += cpu;
		if (cpu > top) {
			top = cpu;
			f->top_name = g->name;
		}
		/* short on average: those that are many */
		if (g->images > most && g->duration != UNKNOWN &&
		    g->duration / g->images < REPORT_BRIEF_US) {
			most = g->images;
			f->brief_name = g->name;
		}
	}
	f->top_share = all > 0 ? top / all : NAN;
	for (size_t i = l->started; i-- > 0 && !f->failed_name;)
		if (l->procs[l->by_start[i]].failed &&
		    l->procs[l->by_start[i]].exitcode == f->exitcode)
			f->failed_name = r->names[l->procs[l->by_start[i]].name];
}

/* A day of a node, as collectors store it: "node:HOST:DATE". host: room for its name. */
static void take_node(const struct report *r, struct strbuf *host, struct finding_figures *f)
{
	const char *id = f->job, *date = id ? strrchr(id, ':') : NULL;
	const struct report_curve *c = report_curve_of(r, "system.cpu_percent");

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

void report_find(struct report_loading *l)
{
	struct report *r = l->r;
	const struct job_row *row = &r->show.list.rows[0];
	_cleanup_strbuf_ struct strbuf signals = STRBUF_INIT, host = STRBUF_INIT;
	struct printed printed = {.count = 0};
	struct finding_figures f;

	r->running = row->end == UNKNOWN || row->open;
	if (!r->has_records)
		hosts_from_series(l);
	report_load_energy(l);
	settle_books(l);
	finding_figures_init(&f);
	f.duration = known(row->duration, 1e-6);
	f.exitcode = known(row->exitcode, 1);
	f.job = joblist_text(&r->show.list, row->jobid);
	f.running = r->running;
	take_cpu(l, &f);
	take_memory(l, &f);
	take_io(l, &f);
	take_network(l, &f);
	take_processes(l, &f);
	take_gpus(l, &f);
	take_node(r, &host, &f);
	take_uneven(&r->ranks, &f.ranks, &f.rank_mean, &f.rank_most, &f.rank_name);
	take_uneven(&r->hosts, &f.hosts, &f.host_mean, &f.host_most, &f.host_name);
	if (r->cpu_total != UNKNOWN && r->cpu_itemised != UNKNOWN) {
		f.accounting_total = known(r->cpu_total, 1e-6);
		f.accounting_itemised = known(r->cpu_itemised, 1e-6);
	}
	report_add_signals(&signals, l->tally.signals);
	f.signals = signals.buf;
	if (r->unseen) {
		f.unseen = (double)r->unseen;
		f.cpu = f.memory_most = NAN;
	}
	const char **names[] = {&f.job,       &f.brief_name, &f.failed_name, &f.top_name,
				&f.rank_name, &f.host_name,  &f.node};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		print_name(&printed, names[i]);
	findings_find(&r->findings, &f);
	for (size_t i = 0; i < printed.count; i++)
		strbuf_release(&printed.text[i]);
}
