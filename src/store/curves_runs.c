/*
 * Several runs that sampled one host at the same time; see curves_write.h. Each has the job as it
 * saw it, which are series of their own and add up. What they all saw, the node and its devices, is
 * taken once. Monitors of one job saw the same processes: then the job was the same, too, and the
 * second one's does not count in sums.
 */
#include <errno.h>
#include <string.h>

#include "store/curves_write.h"

static bool is_taken(const struct curves *c, uint32_t number, int64_t start_us)
{
	for (size_t i = 0; i < c->run_count; i++) {
		const struct curve_run *r = &c->runs[i];

		if (r->number == number && r->until_us >= start_us &&
		    r->from_us <= c->part_end_us && !strcmp(r->host, c->host))
			return true;
	}
	return false;
}

void curves_begin_run(struct curves *c, int64_t start_us)
{
	c->run = 0;
	c->run_first_us = INT64_MAX;
	c->run_last_us = INT64_MIN;
	c->covered_at_us = INT64_MIN;
	c->covered = false;
	c->shared = false;
	/* the first place that is free by then */
	while (is_taken(c, c->run, start_us))
		c->run++;
}

/* Has another run the host at this time? All rows of a reading ask for the same. */
static bool is_covered(struct curves *c, int64_t time_us)
{
	if (time_us == c->covered_at_us)
		return c->covered;
	c->covered_at_us = time_us;
	c->covered = false;
	for (size_t i = 0; i < c->run_count && !c->covered; i++) {
		const struct curve_run *r = &c->runs[i];

		c->covered = time_us >= r->from_us && time_us <= r->until_us &&
			     !strcmp(r->host, c->host);
	}
	return c->covered;
}

bool curves_wants(struct curves *c, const struct live *live, int64_t time_us)
{
	c->run_first_us = time_us < c->run_first_us ? time_us : c->run_first_us;
	c->run_last_us = time_us > c->run_last_us ? time_us : c->run_last_us;
	if (!c->run || !live->again || live->known->kind == ENTITY_JOB || !is_covered(c, time_us))
		return true;
	c->shared = c->shared || live->known->kind == ENTITY_PROCESS;
	return false;
}

/* Facts are lines "key=value". */
static void leave_out(struct known *k)
{
	static const char line[] = "in_sum=no\n";

	if (k->facts && strstr(k->facts, line))
		return;
	char *facts = xasprintf("%s%s", k->facts ? k->facts : "", line);
	free(k->facts);
	k->facts = facts;
}

void curves_end_run(struct curves *c)
{
	for (size_t i = 0; i < c->source_count && c->run && c->shared; i++)
		for (size_t k = 0; k < c->sources[i].live_count; k++) {
			struct known *one = c->sources[i].lives[k].known;

			if (one && one->kind == ENTITY_JOB)
				leave_out(one);
		}
	if (!c->host || c->run_last_us == INT64_MIN)
		return;
	curves_add_run(c, c->host, c->run, c->run_first_us, c->run_last_us);
	c->run_last_us = INT64_MIN;
}

void curves_add_run(struct curves *c, const char *host, uint32_t number, int64_t from_us,
		    int64_t until_us)
{
	GROW(c->runs, c->run_count, c->run_cap);
	c->runs[c->run_count++] = (struct curve_run){xstrdup(host), number, from_us, until_us};
}

struct value *curves_runs(const struct curves *c)
{
	struct value *list = value_new(VALUE_LIST);

	for (size_t i = c->run_own; i < c->run_count && list->list.count < CURVE_RUNS_MAX; i++) {
		const struct curve_run *r = &c->runs[i];
		struct value *one = value_new(VALUE_DICT);

		value_set(one, "host", value_str(r->host));
		value_set(one, "number", value_int(r->number));
		value_set(one, "from_us", value_int(r->from_us));
		value_set(one, "until_us", value_int(r->until_us));
		value_append(list, one);
	}
	return list;
}

void curves_forget_runs(struct curves *c)
{
	for (size_t i = 0; i < c->run_count; i++)
		free(c->runs[i].host);
	free(c->runs);
}

/* The counters of a job's own control group, or of its tasks, begin at 0 with the job: what they
 * stood at last is its CPU time, whenever somebody began to read them. */
static int sum_counters(struct curves *c, uint64_t *ret_us)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		c->in->store,
		"SELECT sum((CASE WHEN s.increase > s.maximum THEN s.increase ELSE s.maximum END) "
		"* m.scale / m.divisor / (CASE m.unit WHEN 'ns' THEN 1000 ELSE 1 END)) "
		"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "
		"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job = $1 "
		"AND e.kind = 'job' AND m.name IN ('jobs.cpu_usage', "
		"'job_tasks.cpu_run_virtual_total', 'taskstats_default.cpu_run_virtual_total') "
		"GROUP BY m.name ORDER BY CASE m.name WHEN 'jobs.cpu_usage' THEN 1 "
		"WHEN 'job_tasks.cpu_run_virtual_total' THEN 2 ELSE 3 END LIMIT 1");

	if (!st)
		return -EIO;
	stmt_int(st, 1, c->in->job);
	int r = stmt_step(st);
	double us = r == 1 ? stmt_get_real(st, 0) : 0;
	*ret_us = us > 0 && us < 9e18 ? (uint64_t)us : 0;
	return r < 0 ? r : 0;
}

int curves_sum_sampled(struct curves *c)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		c->in->store,
		"SELECT sum(CASE m.name WHEN 'perfmon.cpu_time' THEN 0 ELSE "
		"s.increase * m.scale / m.divisor END), sum(CASE m.name WHEN 'perfmon.cpu_time' "
		"THEN s.increase * m.scale / m.divisor ELSE 0 END), "
		"(SELECT count(*) FROM sample_entity p WHERE p.job = $2 AND p.kind = 'process') "
		"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "
		"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job = $1 "
		"AND e.kind = 'job' AND coalesce(e.facts, '') NOT LIKE '%\"in_sum\"%' "
		"AND m.name IN ('process.usertime', 'process.systemtime', 'perfmon.cpu_time')");

	if (!st)
		return -EIO;
	stmt_int(st, 1, c->in->job);
	stmt_int(st, 2, c->in->job);
	int r = stmt_step(st);
	if (r == 1) {
		double own = stmt_get_real(st, 0), perfmon = stmt_get_real(st, 1);
		double us = own > 0 ? own : perfmon;

		c->in->sampled_cpu_us = us > 0 && us < 9e18 ? (uint64_t)us : 0;
		c->in->sampled_processes = (uint64_t)stmt_get_int(st, 2);
	}
	if (r >= 0 && !c->in->sampled_cpu_us)
		r = sum_counters(c, &c->in->sampled_cpu_us);
	return r < 0 ? r : 0;
}
