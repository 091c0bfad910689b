/* Joins several runs that sampled one host at the same time; see perfmon_series.h. */
#include "compat/perfmon/perfmon_series.h"

static bool share_processes(const struct perfmon_span *a, const struct perfmon_span *b)
{
	for (size_t i = 0; i < value_pairs(a->processes); i++)
		if (value_get(b->processes, value_key(a->processes, i)->str.data))
			return true;
	return false;
}

static bool contains(const struct perfmon_span *a, const struct perfmon_span *b)
{
	return a->from_us <= b->from_us && a->until_us >= b->until_us;
}

/* As in the store (store/ingest/sample_ingest_runs.c): the run that sampled longer has everything
 * that the other saw, unless it sampled only a part of the job. */
static bool has_all_of(const struct perfmon_span *a, const struct perfmon_span *b)
{
	double own = (double)value_pairs(a->processes), its = (double)value_pairs(b->processes);

	if (contains(a, b) && !contains(b, a))
		return own >= 0.9 * its;
	return its < 0.9 * own;
}

/* What a run adds to the others at one time: a counter keeps its value after the end of its run, a
 * level only as long as one missing sample. */
static const struct perfmon_point *part_at(const struct perfmon_column *c, size_t next,
					   int64_t at_us, int64_t period_us)
{
	const struct perfmon_point *p = next ? &c->points[next - 1] : NULL;
	int64_t reach = (c->every ? c->every : 1) * (period_us + period_us / 2);

	if (p && !c->counter && at_us - p->at_us > reach)
		p = NULL;
	/* ticks of two samplers are a moment apart */
	if (!p && next < c->count && c->points[next].at_us - at_us <= period_us / 2)
		p = &c->points[next];
	return p && p->present ? p : NULL;
}

static void add_parts(struct perfmon_column *to, const struct perfmon_column *c, int64_t period_us)
{
	size_t next = 0, had = to->count;
	int64_t end = had ? to->points[had - 1].at_us : INT64_MIN;
	int64_t last = had && to->counter ? to->points[had - 1].raw : 0;

	for (size_t i = 0; i < had; i++) {
		struct perfmon_point *p = &to->points[i];

		while (next < c->count && c->points[next].at_us <= p->at_us)
			next++;
		const struct perfmon_point *part = part_at(c, next, p->at_us, period_us);
		if (!part)
			continue;
		p->raw = p->present ? perfmon_sum(p->raw, part->raw) : part->raw;
		p->present = true;
	}
	for (size_t i = 0; i < c->count; i++)
		if (c->points[i].at_us > end)
			perfmon_column_add(to, c->points[i].at_us,
					   perfmon_sum(last, c->points[i].raw),
					   c->points[i].present);
	to->any |= c->any;
}

enum how { BEHIND, ADDED, INSTEAD }; /* of the earlier runs, from its start on */

static void put_column(struct perfmon_series *s, const struct perfmon_column *c, enum how how,
		       int64_t from_us)
{
	size_t at = perfmon_series_column(s, c->key, c->entity, 0);

	if (at == SIZE_MAX)
		return;
	struct perfmon_column *to = &s->columns[at];
	bool same = !to->by || (to->times == c->times && to->by == c->by);
	to->times = c->times;
	to->by = c->by;
	to->counter = c->counter;
	to->every = c->every;
	while (how == INSTEAD && to->count && to->points[to->count - 1].at_us >= from_us)
		to->count--;
	if (how == ADDED && same) {
		add_parts(to, c, s->period_us);
		return;
	}
	for (size_t i = 0; i < c->count; i++)
		perfmon_column_add(to, c->points[i].at_us, c->points[i].raw, c->points[i].present);
}

void perfmon_series_join(struct perfmon_series *s, struct perfmon_series *job,
			 struct perfmon_span *run)
{
	enum how how = BEHIND;

	for (size_t i = 0; i < s->run_count; i++) {
		const struct perfmon_span *other = &s->runs[i];

		if (other->from_us > run->until_us || other->until_us < run->from_us)
			continue;
		if (!share_processes(run, other)) {
			how = ADDED;
			continue;
		}
		how = has_all_of(run, other) ? INSTEAD : BEHIND;
		break;
	}
	for (size_t i = 0; i < job->count; i++)
		put_column(s, &job->columns[i], how, run->from_us);
	perfmon_series_release(job);
	if (run->until_us >= run->from_us) {
		GROW(s->runs, s->run_count, s->run_cap);
		s->runs[s->run_count++] = *run;
	} else {
		value_free(run->processes);
	}
	*run = (struct perfmon_span)PERFMON_SPAN_INIT;
}
