/* Glances of sources between two readings; see source.h. */

#include "core/clock.h"
#include "core/hash_map.h"
#include "sampler/active_sources.h"

static bool wants_glance(const struct active_source *s)
{
	return s->source->glance && !s->source->slow && !s->broken && s->announced;
}

/* The next glance is at a random time within the next interval: at regular times a program with the
 * same rhythm would always be seen in the same state. */
void active_sources_plan_glance(struct active_sources *list, uint64_t now)
{
	uint64_t every = 0;

	list->glance_ns = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct active_source *s = list->list[i];
		uint64_t ns = wants_glance(s) ? s->source->glance_ns * s->stretch : 0;

		if (ns && (!every || ns < every))
			every = ns;
	}
	if (!every)
		return;
	if (list->glance_end_ns < now || list->glance_end_ns > now + every)
		list->glance_end_ns = now;
	list->glance_ns = list->glance_end_ns + (hash_number(now) >> 20) % every;
	list->glance_end_ns += every;
}

void active_sources_glance(struct active_sources *list, const struct sampler_options *o,
			   uint64_t now)
{
	if (!list->glance_ns || now < list->glance_ns)
		return;
	(void)job_processes_update(o->watch);
	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];
		uint64_t before = clock_thread_cpu_ns();

		if (!wants_glance(s))
			continue;
		s->source->glance(s->state);
		__atomic_fetch_add(&s->cpu_ns, clock_thread_cpu_ns() - before, __ATOMIC_RELAXED);
	}
	active_sources_plan_glance(list, now);
}
