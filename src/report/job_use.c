/* What a job used of what it asked for; see job_use.h. */
#include "report/job_use.h"

#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "core/text/units.h"
#include "report/report_internal.h"

#define MIB (1024.0 * 1024)
#define RECORDED 0.5 /* of a batch job; what it needed in the rest is unknown */

static double known(int64_t v, double factor)
{
	return v == UNKNOWN || v < 0 ? NAN : (double)v * factor;
}

/* The value of a series at a time, as its nearest point before; 0: before the first. */
static double value_at_time(const struct points *c, int64_t time, size_t *from)
{
	while (*from + 1 < c->count && c->points[*from + 1].time <= time)
		(*from)++;
	if (!c->count || c->points[*from].time > time || isnan(c->points[*from].value))
		return 0;
	return c->points[*from].value;
}

/* Cores that ran or were wanted, over time. */
static double sampled_cores(const struct report *r)
{
	const struct report_series *cpu = report_series_of(r, "process.cpu_percent"),
				   *wait = report_series_of(r, "process.time_waiting");

	if (!cpu || cpu->points.count < 2)
		return NAN;
	const struct points *c = &cpu->points;
	_cleanup_free_ double *demand = xcalloc(c->count, sizeof(*demand)),
			      *seconds = xcalloc(c->count, sizeof(*seconds));
	size_t place = 0;
	for (size_t i = 0; i < c->count; i++) {
		demand[i] = c->points[i].value;
		if (wait)
			demand[i] += value_at_time(&wait->points, c->points[i].time, &place);
		seconds[i] = (double)(c->points[i].time - points_since(c, i)) * 1e-6;
	}
	return cores_needed(demand, seconds, c->count);
}

/* Not more than it had threads at one time: samples of running and of waiting are not taken at the
 * same moment. Without samples only a job that never had two threads is known. */
static double cores_of(const struct report *r)
{
	const struct report_series *threads = report_series_of(r, "process.threads");
	double sampled = sampled_cores(r);

	if (threads && threads->maximum >= 1 && sampled > threads->maximum)
		sampled = threads->maximum;
	/* whether more of them would help is another question */
	if (r->cores != UNKNOWN && r->cores >= 1 && sampled > (double)r->cores)
		sampled = (double)r->cores;

	if (isnan(sampled) && r->has_records && !r->unseen &&
	    r->show.list.rows[0].peak_threads == 1)
		return 1;
	return sampled;
}

static void take_gpus(const struct report *r, struct job_use *u)
{
	double sum = 0, worked = 0, count = 0;

	for (size_t i = 0; i < r->series_count; i++) {
		const struct report_series *s = &r->series[i];

		if (!s->entity || !str_prefix(s->entity, "gpu ") ||
		    !str_suffix(s->metric, ".utilization_gpu") || isnan(s->mean))
			continue;
		count++;
		sum += s->mean / 100;
		worked += s->maximum >= 100 * finding_limits[LIMIT_GPU_IDLE].value;
	}
	u->gpu_busy = count > 0 ? sum / count : NAN;
	u->use.item[ADVICE_GPUS] = count > 0 ? worked : NAN;
}

static const char *state_of(const struct report *r)
{
	const struct job_row *row = &r->show.list.rows[0];

	if (r->running)
		return "running";
	if (r->show.metadata.cut_off || r->timed_out)
		return "cut off";
	if (row->exitcode == UNKNOWN)
		return "unknown";
	return row->exitcode == 0 ? "completed" : "failed";
}

/* A script may go on, and end with 0, after a process of it crashed or was killed. */
static bool lost_a_process(const struct report *r)
{
	for (size_t i = 0; i < r->findings.count; i++)
		if (r->findings.list[i].id == FINDING_OOM ||
		    r->findings.list[i].id == FINDING_CRASHED)
			return true;
	return false;
}

/*
 * Seconds of the whole batch job, as far as is known: what was recorded may be a part of its
 * script. ret_open: what it did afterwards is not known.
 */
static double whole_seconds(const struct report *r, double recorded, bool *ret_open)
{
	double before = (double)r->request.ran_before,
	       limit = known(r->request.item[REQUEST_TIME], 1);

	*ret_open = false;
	if (r->elapsed != UNKNOWN)
		return (double)r->elapsed > recorded || isnan(recorded) ? (double)r->elapsed
									: recorded;
	if (r->request.ran_before < 0 || before > limit)
		before = 0;
	*ret_open = r->show.metadata.batch && r->by_run;
	return recorded + before;
}

static const char *scheduler_of(const struct report *r)
{
	static const char *const names[] = {"slurm", "pbs", "oar", "lsf", "flux", "sge"};
	const char *batch = r->show.metadata.batch;

	for (size_t i = 0; batch && i < ARRAY_SIZE(names); i++)
		if (str_prefix(batch, names[i]))
			return names[i];
	return NULL;
}

void job_use_take(const struct report *r, struct job_use *u)
{
	static const enum request_item items[ADVICE_ITEMS] = {
		[ADVICE_CORES] = REQUEST_CORES,
		[ADVICE_MEMORY] = REQUEST_MEMORY,
		[ADVICE_TIME] = REQUEST_TIME,
		[ADVICE_GPUS] = REQUEST_GPUS,
	};
	const struct job_row *row = &r->show.list.rows[0];

	*u = (struct job_use){.state = state_of(r), .scheduler = scheduler_of(r)};
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		u->asked[i] = known(r->request.item[items[i]], 1);
	u->tasks = r->request.item[REQUEST_TASKS] > 1 ? (double)r->request.item[REQUEST_TASKS] : 1;
	u->ranks = !(r->request.item[REQUEST_TASKS] > 0) && r->ranks.count > 1;
	if (u->ranks)
		u->tasks = (double)r->ranks.count;
	u->hosts = row->hosts.count ? row->hosts.count : 1;
	u->cores = known(r->cores, 1);
	u->cpu = known(report_cpu(r), 1e-6);
	u->seconds = known(row->duration, 1e-6);
	u->memory_least = r->memory_least;
	u->use.item[ADVICE_CORES] = cores_of(r);
	u->use.item[ADVICE_MEMORY] = r->unseen || !(r->memory_most > 0) ? NAN : r->memory_most;
	u->use.item[ADVICE_TIME] = whole_seconds(r, u->seconds, &u->open_end);
	take_gpus(r, u);
	u->use.complete = !strcmp(u->state, "completed") && !lost_a_process(r);
	u->use.files = !r->memory_files_seen && r->memory_files > 0;
	u->files = r->memory_files_seen ? r->memory_files : 0;
	u->use.late = u->seconds < RECORDED * u->use.item[ADVICE_TIME];
	u->use.partly = report_hosts_missing(r) > 0;
}

double job_use_cpu_share(const struct job_use *u)
{
	return u->cpu / (u->cores * u->seconds);
}

static void add_time(struct strbuf *out, double seconds)
{
	int64_t minutes = (int64_t)((seconds + 59) / 60);

	strbuf_addf(out, "%02d:%02d:00", (int)(minutes / 60), (int)(minutes % 60));
}

void job_use_directive(const struct job_use *u, enum advice_item item, double amount,
		       struct strbuf *out)
{
	const char *s = u->scheduler ? u->scheduler : "slurm";
	long long whole = (long long)amount, each = (long long)(amount / u->tasks),
		  mib = (long long)(amount / MIB);

	if (!strcmp(s, "pbs")) {
		strbuf_addstr(out, "#PBS -l ");
		if (item == ADVICE_CORES)
			strbuf_addf(out, "ncpus=%lld", whole);
		else if (item == ADVICE_MEMORY)
			strbuf_addf(out, "mem=%lldmb", mib * (long long)u->hosts);
		else if (item == ADVICE_GPUS)
			strbuf_addf(out, "ngpus=%lld", whole);
		else {
			strbuf_addstr(out, "walltime=");
			add_time(out, amount);
		}
	} else if (!strcmp(s, "oar")) {
		if (item == ADVICE_CORES)
			strbuf_addf(out, "#OAR -l /core=%lld", whole);
		else if (item == ADVICE_TIME) {
			strbuf_addstr(out, "#OAR -l walltime=");
			add_time(out, amount);
		}
	} else if (!strcmp(s, "slurm")) {
		strbuf_addstr(out, "#SBATCH --");
		if (item == ADVICE_CORES && u->ranks)
			strbuf_addf(out, "ntasks=%.0f --cpus-per-task=%lld", u->tasks, each);
		else if (item == ADVICE_CORES)
			strbuf_addf(out, "cpus-per-task=%lld", each);
		else if (item == ADVICE_MEMORY)
			strbuf_addf(out, "mem=%lldM", mib);
		else if (item == ADVICE_GPUS)
			strbuf_addf(out, "gpus=%lld", whole);
		else {
			strbuf_addstr(out, "time=");
			add_time(out, amount);
		}
	}
}

void advice_add_amount(struct strbuf *out, enum advice_item item, double amount)
{
	if (isnan(amount))
		strbuf_addstr(out, "-");
	else if (item == ADVICE_MEMORY)
		text_add_bytes(out, amount);
	else if (item == ADVICE_TIME)
		text_add_duration(out, amount);
	else
		text_add_count(out, (int64_t)amount);
}
