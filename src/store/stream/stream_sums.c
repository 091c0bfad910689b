/*
 * Sums of jobs with streamed samples, from their series: the last value of a counter, which begins
 * at 0 for a job, and the highest of a gauge. They are updated every minute while a job runs, and
 * once more when no more samples come.
 */
#include <errno.h>

#include "core/clock.h"
#include "store/stream/stream_internal.h"

#define SLICE 256 /* jobs that are updated in one transaction */

/* A sum is a whole number in the metric's unit; a value from a node may be out of range. */
static const char sums_sql[] =
	"INSERT INTO job_sum (job, metric, sum, max) "
	"SELECT job, name, "
	"CAST(CASE WHEN total > 9e18 THEN 9e18 WHEN total < -9e18 THEN -9e18 ELSE total END AS BIGINT), "
	"CAST(CASE WHEN top > 9e18 THEN 9e18 WHEN top < -9e18 THEN -9e18 ELSE top END AS BIGINT) "
	"FROM (SELECT s.job AS job, m.name AS name, sum(s.maximum * m.scale / m.divisor) AS total, "
	"max(s.maximum * m.scale / m.divisor) AS top FROM sample_series s "
	"JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "
	"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity "
	"WHERE s.job = $1 AND e.kind = 'job' AND s.last_value IS NOT NULL "
	"GROUP BY s.job, m.name) t WHERE true "
	"ON CONFLICT (job, metric) DO UPDATE SET sum = excluded.sum, max = excluded.max";

/* CPU time of the job from the best of these metrics, converted to microseconds; processes and
 * threads that have ended. */
static const char cpu_sql[] =
	"UPDATE job SET cpu_us = coalesce((SELECT CASE m.unit WHEN 'ns' THEN s.sum / 1000 ELSE s.sum END "
	"FROM job_sum s JOIN sample_metric m ON m.job = s.job AND m.name = s.metric WHERE s.job = $1 "
	"AND s.metric IN ('jobs.cpu_usage', 'job_tasks.cpu_run_virtual_total'"
#define IMPORTED_COUNTER(metric) ", '" metric "'"
#include "core/metrics/imported_counters.def"
#undef IMPORTED_COUNTER
	") ORDER BY CASE s.metric WHEN 'jobs.cpu_usage' "
	"THEN 1 WHEN 'job_tasks.cpu_run_virtual_total' THEN 2 ELSE 3 END LIMIT 1), cpu_us), "
	"num_procs = coalesce((SELECT sum FROM job_sum WHERE job = $1 AND "
	"metric = 'job_tasks.processes'), num_procs), "
	"processes = coalesce((SELECT sum FROM job_sum WHERE job = $1 AND "
	"metric = 'job_tasks.processes'), processes), "
	"num_threads = coalesce((SELECT sum FROM job_sum WHERE job = $1 AND "
	"metric = 'job_tasks.tasks'), num_threads), "
	"energy_mj = coalesce((SELECT CASE WHEN sum BETWEEN 0 AND 9000000000000 THEN sum * 1000 END FROM job_sum "
	"WHERE job = $1 AND metric = 'job_energy.energy'), energy_mj) WHERE no = $2 AND format = '" STREAM_FORMAT
	"'";

struct sums {
	struct stmt *sums, *cpu, *bytes;
};

static void release(struct sums *u)
{
	stmt_finish_ptr(&u->sums);
	stmt_finish_ptr(&u->cpu);
	stmt_finish_ptr(&u->bytes);
}

static int sum_up(struct stream *s, struct sums *u, int64_t job)
{
	if (!u->sums)
		u->sums = stmt_prepare(s->store, sums_sql);
	if (!u->cpu)
		u->cpu = stmt_prepare(s->store, cpu_sql);
	if (!u->sums || !u->cpu)
		return -EIO;
	int r = stmt_run_with(u->sums, db_int(job));
	return r < 0 ? r : stmt_run_with(u->cpu, db_int(job), db_int(job));
}

/* Updates its size in the store, for `retire`. */
static int add_bytes(struct stream *s, struct sums *u, struct stream_job *j)
{
	if (!u->bytes)
		u->bytes =
			stmt_prepare(s->store, "UPDATE job SET bytes = bytes + $1 WHERE no = $2");
	if (!u->bytes)
		return -EIO;
	int r = stmt_run_with(u->bytes, db_int((int64_t)j->bytes), db_int(j->no));
	j->bytes = 0;
	return r;
}

/* How old its sums may be: short for a new job and for one without new samples, at most a minute
 * for a long one. */
static int64_t sums_age_us(const struct stream_job *j, int64_t now)
{
	int64_t age = (now - j->met_us) / 8;

	if (!j->touched && now - j->seen_us >= STREAM_QUIET_US)
		return 0;
	return age < STREAM_QUIET_US  ? STREAM_QUIET_US
	       : age < STREAM_SUMS_US ? age
				      : STREAM_SUMS_US;
}

static int sum_up_due(struct stream *s, struct sums *u, struct stream_job *j, bool all)
{
	int64_t now = stream_now_us();
	int r = 0;

	j->sums_due = j->sums_due || j->touched;
	if (!j->sums_due || j->no <= 0 || (!all && now - j->sums_us < sums_age_us(j, now)))
		return 0;
	r = add_bytes(s, u, j);
	if (r == 0 && !j->node)
		r = sum_up(s, u, j->no);
	j->sums_due = false;
	j->sums_us = now;
	return r;
}

/* A collector may have many thousands of jobs, and a commit or the end must not wait for all of
 * them. The next call continues with the others. */
int stream_jobs_sums(struct stream *s, bool all, uint64_t limit_ns)
{
	_cleanup_(release) struct sums u = {0};
	uint64_t until = clock_boottime_ns() + limit_ns;
	int r = 0;

	for (size_t i = 0; i < s->job_count && r == 0 && clock_boottime_ns() < until; i++)
		r = sum_up_due(s, &u, s->jobs[s->sums_at++ % s->job_count], all);
	/* the others are due next time */
	for (size_t i = 0; i < s->job_count; i++)
		s->jobs[i]->sums_due = s->jobs[i]->sums_due || s->jobs[i]->touched;
	return r;
}

int stream_jobs_repair(struct stream *s, int64_t since_us)
{
	_cleanup_(release) struct sums u = {0};
	_cleanup_free_ int64_t *jobs = NULL;
	size_t count = 0, cap = 0;
	int r;

	{
		_cleanup_stmt_ struct stmt *st =
			store_query(s->store,
				    "SELECT no FROM job WHERE format = '" STREAM_FORMAT
				    "' AND jobname IS NULL AND ingested_us >= $1",
				    db_int(since_us));

		if (!st)
			return -EIO;
		while ((r = stmt_step(st)) == 1) {
			GROW(jobs, count, cap);
			jobs[count++] = stmt_get_int(st, 0);
		}
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		/* one transaction per job is slow, one for all keeps other writers waiting */
		if (i % SLICE == 0)
			r = store_begin(s->store);
		if (r == 0)
			r = sum_up(s, &u, jobs[i]);
		if (r == 0 && (i % SLICE == SLICE - 1 || i == count - 1))
			r = store_commit(s->store);
	}
	if (r < 0)
		store_rollback(s->store);
	return r;
}
