/*
 * Sums of jobs whose samples come while they run, from their series: for a counter what it stood at
 * last, which for a job begins at 0, for a level its highest. They are made anew every minute of a
 * running job, and once more when nothing of it comes any longer.
 */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "store/stream/stream_internal.h"

#define SLICE 256 /* jobs that are summed up in one transaction */

/* A sum is a whole number in the metric's unit; what a peer claims may be out of its range. */
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

/* CPU time of the job by the best of these that there is, in the unit of its metric; processes and
 * threads as far as they have ended. */
static const char cpu_sql[] =
	"UPDATE job SET cpu_us = coalesce((SELECT CASE m.unit WHEN 'ns' THEN s.sum / 1000 ELSE s.sum END "
	"FROM job_sum s JOIN sample_metric m ON m.job = s.job AND m.name = s.metric WHERE s.job = $1 "
	"AND s.metric IN ('jobs.cpu_usage', 'job_tasks.cpu_run_virtual_total', "
	"'taskstats_default.cpu_run_virtual_total') ORDER BY CASE s.metric WHEN 'jobs.cpu_usage' "
	"THEN 1 WHEN 'job_tasks.cpu_run_virtual_total' THEN 2 ELSE 3 END LIMIT 1), cpu_us), "
	"num_procs = coalesce((SELECT sum FROM job_sum WHERE job = $1 AND "
	"metric = 'job_tasks.processes'), num_procs), "
	"processes = coalesce((SELECT sum FROM job_sum WHERE job = $1 AND "
	"metric = 'job_tasks.processes'), processes), "
	"num_threads = coalesce((SELECT sum FROM job_sum WHERE job = $1 AND "
	"metric = 'job_tasks.tasks'), num_threads) WHERE no = $2 AND format = '" STREAM_FORMAT "'";

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
	stmt_int(u->sums, 1, job);
	int r = stmt_run(u->sums);
	if (r < 0)
		return r;
	stmt_int(u->cpu, 1, job);
	stmt_int(u->cpu, 2, job);
	return stmt_run(u->cpu);
}

/* What it takes in the store, for `retire`. */
static int add_bytes(struct stream *s, struct sums *u, struct stream_job *j)
{
	if (!u->bytes)
		u->bytes =
			stmt_prepare(s->store, "UPDATE job SET bytes = bytes + $1 WHERE no = $2");
	if (!u->bytes)
		return -EIO;
	stmt_int(u->bytes, 1, j->bytes);
	stmt_int(u->bytes, 2, j->no);
	j->bytes = 0;
	return stmt_run(u->bytes);
}

/* How old its sums may be: in the first seconds of a job, and when nothing of it comes any longer,
 * they are soon made; those of a job that goes on and on are a minute old at most. */
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

/* A collector may have many thousands of jobs: whoever waits for a commit, or for the end, does not
 * wait for all of them. Those that it did not come to are the first ones of the next time. */
int stream_jobs_sums(struct stream *s, bool all, uint64_t limit_ns)
{
	_cleanup_(release) struct sums u = {0};
	uint64_t until = clock_boottime_ns() + limit_ns;
	int r = 0;

	for (size_t i = 0; i < STREAM_TABLE && r == 0; i++) {
		struct stream_job *j = s->jobs[s->sums_at];

		for (; j && r == 0; j = j->next)
			r = sum_up_due(s, &u, j, all);
		s->sums_at = (s->sums_at + 1) % STREAM_TABLE;
		if (clock_boottime_ns() >= until)
			break;
	}
	/* the others are due then, too */
	for (size_t i = 0; i < STREAM_TABLE; i++)
		for (struct stream_job *j = s->jobs[i]; j; j = j->next)
			j->sums_due = j->sums_due || j->touched;
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
			stmt_prepare(s->store, "SELECT no FROM job WHERE format = '" STREAM_FORMAT
					       "' AND jobname IS NULL AND ingested_us >= $1");

		if (!st)
			return -EIO;
		stmt_int(st, 1, since_us);
		while ((r = stmt_step(st)) == 1) {
			GROW(jobs, count, cap);
			jobs[count++] = stmt_get_int(st, 0);
		}
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		/* a transaction for each is slow, one for all of them keeps others waiting */
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
