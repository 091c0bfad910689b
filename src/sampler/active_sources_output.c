/* Writes samples to the output; see active_sources.h. */
#include <string.h>

#include "sampler/active_sources.h"

/* Makes a source known to the output, with all its entities. */
static void announce(struct active_source *s, const struct sample_output *out)
{
	s->number = out->source(out->user, s->source->name, (unsigned)s->every, &s->set);
	s->announced = true;
	for (size_t i = 0; i < s->set.entity_count; i++)
		s->set.entities[i].fresh = s->set.entities[i].kind != 0;
	for (size_t i = 0; i < s->set.absence_count; i++)
		s->set.absences[i].fresh = true;
}

/* A job without processes has no memory and no threads. In a batch job it takes seconds until its
 * end is certain, and zeros of that time must not count. Counters stay. */
static void drop_gauges(struct sample_set *set)
{
	uint64_t gauges = 0;

	for (size_t m = 0; m < set->metric_count; m++)
		gauges |= (uint64_t)(set->metrics[m].kind == KIND_GAUGE) << m;
	for (size_t i = 0; i < set->row_count; i++)
		if (set->entities[set->rows[i].entity].kind == ENTITY_JOB)
			set->rows[i].present &= ~gauges;
}

/* If we saw the job begin, its counters were 0 then, whenever they are first read. */
static void write_begin(struct active_source *s, const struct sampler_options *o,
			const struct sample_output *out)
{
	const struct sample_set *set = &s->set;
	struct sample_set begin = {.metrics = set->metrics,
				   .metric_count = set->metric_count,
				   .entities = set->entities,
				   .entity_count = set->entity_count,
				   .time_ns = o->begin_ns};
	uint64_t counters = 0;

	for (size_t m = 0; m < set->metric_count; m++)
		counters |= (uint64_t)(set->metrics[m].kind == KIND_COUNTER) << m;
	for (size_t i = 0; i < set->row_count; i++) {
		const struct sample_row *row = &set->rows[i];

		if (set->entities[row->entity].kind != ENTITY_JOB || !(row->present & counters))
			continue;
		sample_row(&begin, row->entity);
		for (unsigned m = 0; m < set->metric_count; m++)
			if (row->present & counters & (uint64_t)1 << m)
				sample_put(&begin, m, 0);
	}
	s->begun = begin.row_count > 0;
	if (s->begun)
		out->add(out->user, s->number, &begin);
	free(begin.rows);
	free(begin.values);
}

static bool is_empty(const struct sampler_options *o)
{
	return o->watch && o->watch->finder && !o->jobs && o->watch->found_any && !o->watch->count;
}

void active_source_hand_over(struct active_source *s, const struct sampler_options *o,
			     const struct sample_output *out, uint64_t tick)
{
	if (s->broken || !s->set.metric_count)
		return;
	if (!s->announced)
		announce(s, out);
	if (s->status < 0)
		sample_absent(&s->set, SAMPLE_METRICS_MAX, "could not be read: %s",
			      strerror(-s->status));
	if (s->source->needs_job && is_empty(o))
		drop_gauges(&s->set);
	if (o->metrics)
		metric_filter_apply(o->metrics, s->source->name, tick, o->period_ns, &s->set);
	if (o->begin_ns && s->source->needs_job && !s->begun && o->begin_ns < s->set.time_ns)
		write_begin(s, o, out);
	out->add(out->user, s->number, &s->set);
}
