/*
 * Totals of a report that are taken from several of its parts: CPU time and its accounting, cores,
 * the memory limit, and the hosts of a job that was only sampled. See report.h.
 */
#include <math.h>
#include <string.h>

#include "report/report_internal.h"

/* ---- series of a job ------------------------------------------------------------------------ */

const struct report_series *report_series_of(const struct report *r, const char *metric)
{
	for (size_t i = 0; i < r->series_count; i++)
		if (!r->series[i].host && !r->series[i].entity &&
		    !strcmp(r->series[i].metric, metric))
			return &r->series[i];
	return NULL;
}

double report_series_fold(const struct report_loading *l, const char *metric, const char *kind,
			  enum series_fold how)
{
	bool summed = how == SUM_OF_INCREASES || how == SUM_OF_COUNTERS;
	double result = NAN;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		double v = how == LARGEST_VALUE ? s->maximum : s->increase;

		if (strcmp(s->metric, metric) != 0 || (kind && strcmp(s->entity_kind, kind) != 0))
			continue;
		if (summed && (s->kind != KIND_COUNTER || !series_adds_up(s)))
			continue;
		if (how == SUM_OF_COUNTERS && s->maximum > v)
			v = s->maximum;
		result = isnan(result) ? v : summed ? result + v : v > result ? v : result;
	}
	return result;
}

double report_job_increase(const struct report_loading *l, const char *metric)
{
	double job = report_series_fold(l, metric, "job", SUM_OF_INCREASES);

	return isnan(job) ? report_series_fold(l, metric, "process", SUM_OF_INCREASES) : job;
}

static double first_known(double a, double b)
{
	return isnan(a) ? b : a;
}

/* Whole numbers are unknown where a value is not one that a counter can have. */
static int64_t whole(double v)
{
	return v >= 0 && v < 9e18 ? round_i64(v) : UNKNOWN;
}

/* ---- hosts of a job without records --------------------------------------------------------- */

static struct report_group *host_group(struct report *r, const char *host)
{
	for (size_t i = r->hosts.count; i-- > 0;) /* series of a host are near each other */
		if (!strcmp(r->hosts.list[i].name, host))
			return &r->hosts.list[i];
	return report_group_add(&r->hosts, host);
}

/* Which series give which figure of a host. */
static const struct {
	const char *metric, *kind;
	size_t figure; /* of struct report_group */
	bool peak;     /* the largest value, in KiB; else the increase of a counter is added */
} host_figures[] = {
	{"process.usertime", "job", offsetof(struct report_group, cpu), false},
	{"process.systemtime", "job", offsetof(struct report_group, cpu), false},
#define IMPORTED_CPU(time, percent) {time, "job", offsetof(struct report_group, cpu), false},
#include "core/metrics/imported_cpu.def"
#undef IMPORTED_CPU
	{"jobs.cpu_usage", "job", offsetof(struct report_group, cpu), false},
	{"process.rss", "process", offsetof(struct report_group, rssmax), true},
	{"jobproc.VmRSS", "job", offsetof(struct report_group, rssmax), true},
	{"process.rchar", "job", offsetof(struct report_group, read), false},
	{"jobproc.rchar", "job", offsetof(struct report_group, read), false},
	{"process.wchar", "job", offsetof(struct report_group, written), false},
	{"jobproc.wchar", "job", offsetof(struct report_group, written), false},
};

static void add_host_figures(struct report_group *g, const struct series *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_figures); i++) {
		int64_t *to = (int64_t *)((char *)g + host_figures[i].figure);
		int64_t v = whole(host_figures[i].peak ? s->maximum / 1024 : s->increase);

		if (v == UNKNOWN || strcmp(s->metric, host_figures[i].metric) != 0 ||
		    strcmp(s->entity_kind, host_figures[i].kind) != 0)
			continue;
		if (host_figures[i].peak || *to == UNKNOWN)
			*to = v > *to ? v : *to;
		else
			*to += v;
	}
}

void report_hosts_from_series(struct report_loading *l)
{
	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];
		bool job = !strcmp(s->entity_kind, "job");

		if (s->count <= 0 || !series_adds_up(s) ||
		    !(job || !strcmp(s->metric, "process.rss")))
			continue;
		struct report_group *g = host_group(l->r, s->host);
		add_host_figures(g, s);
		if (!job)
			continue;
		g->start = g->start == UNKNOWN || s->first < g->start ? s->first : g->start;
		g->end = s->last > g->end ? s->last : g->end;
		g->wall = g->end - g->start;
	}
}

/* ---- accounting ----------------------------------------------------------------------------- */

/* CPU time in us, from the first source that was sampled. Counters of the job itself begin at 0
 * with the job, so that their value counts and not only their increase. */
static double sampled_cpu(const struct report_loading *l)
{
	double cpu = report_job_increase(l, "process.usertime") +
		     report_job_increase(l, "process.systemtime");
	double ns =
		report_series_fold(l, "job_tasks.cpu_run_virtual_total", "job", SUM_OF_COUNTERS);

#define IMPORTED_COUNTER(metric) \
	ns = first_known(ns, report_series_fold(l, metric, "job", SUM_OF_COUNTERS));
#include "core/metrics/imported_counters.def"
#undef IMPORTED_COUNTER
#define IMPORTED_CPU(time, percent) cpu = first_known(cpu, report_job_increase(l, time));
#include "core/metrics/imported_cpu.def"
#undef IMPORTED_CPU
	cpu = first_known(cpu, report_series_fold(l, "jobs.cpu_usage", "job", SUM_OF_COUNTERS));
	return first_known(cpu, ns / 1000);
}

static void settle_cpu(struct report_loading *l)
{
	struct report *r = l->r;
	const struct job_row *row = &r->show.list.rows[0];
	int64_t sampled = whole(sampled_cpu(l));

	if (r->has_records) {
		r->cpu_itemised = row->cpu;
		/* without a supervisor: what the kernel added up for the roots of the tree */
		if (r->cpu_total == UNKNOWN && l->tally.reaped_cpu >= row->cpu)
			r->cpu_total = l->tally.reaped_cpu;
		/* of a running job records are behind: they come when processes end */
		if (row->end == UNKNOWN && sampled > row->cpu)
			r->cpu_total = sampled;
		if (r->cpu_total == UNKNOWN && !r->running)
			r->unseen = l->tally.without_cpu;
	} else if (r->cpu_total == UNKNOWN) {
		r->cpu_total = sampled;
	}
	if (r->cpu_total != UNKNOWN && r->cpu_itemised != UNKNOWN)
		r->cpu_residue = r->cpu_total - r->cpu_itemised;
}

/* Where the metadata do not name them, or only those of some hosts. */
static void settle_cores(struct report_loading *l)
{
	const struct report_series *all = report_series_of(l->r, "system.cpus_online");
	double online = all ? all->maximum : 0;

	if (!l->granted && l->known_hosts && l->r->where.host_count > l->known_hosts &&
	    l->r->where.cores >= 1)
		l->r->cores = round_i64(l->r->where.cores);
	if (l->r->cores != UNKNOWN)
		return;
	for (size_t i = 0; i < l->series.count && !all; i++)
		if (!strcmp(l->series.list[i].metric, "system.cpus_online"))
			online += l->series.list[i].maximum;
	if (online >= 1 && online < 1e9)
		l->r->cores = round_i64(online);
}

void report_settle_totals(struct report_loading *l)
{
	struct report *r = l->r;
	const struct job_row *row = &r->show.list.rows[0];
	double limit =
		first_known(report_series_fold(l, "cgroup.memory_limit", NULL, LARGEST_VALUE),
			    report_series_fold(l, "jobs.memory_limit", NULL, LARGEST_VALUE));

	settle_cpu(l);
	settle_cores(l);
	if (r->memory_limit == UNKNOWN && limit > 0 && limit < 1e15)
		r->memory_limit = round_i64(limit);
	int64_t cpu = report_cpu(r);
	if (cpu != UNKNOWN && r->cores > 0 && row->duration > 0)
		r->cpu_share = (double)cpu / ((double)r->cores * (double)row->duration);
}
