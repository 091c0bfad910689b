/* The entities of a job, by host, kind and name; see sample_ingest_write.h. */

#include "core/system/procparse.h"
#include "store/ingest/sample_ingest_write.h"

struct ingest_entity *sample_ingest_entity(struct sample_ingest *c, const struct entity *e)
{
	struct entity_hash h =
		entity_hash(c->host, e->kind, e->name, e->kind == ENTITY_JOB ? c->run : 0);

	for (struct hash_slot *s = hash_map_first(&c->entity_index, h.low); s;
	     s = hash_map_next(&c->entity_index, s))
		if (c->entities[s->value].high == h.high)
			return &c->entities[s->value];
	if (c->entity_count == INGEST_ENTITIES_MAX)
		return NULL;
	hash_map_add(&c->entity_index, h.low, c->entity_places);
	GROW(c->entities, c->entity_places, c->entity_cap);
	struct ingest_entity *place = &c->entities[c->entity_places++];
	*place = (struct ingest_entity){.high = h.high,
					.number = (uint32_t)++c->entity_count,
					.by = (uint32_t)c->run_count + 1};
	return place;
}

void sample_ingest_know_entity(struct sample_ingest *c, const struct entity *e, uint32_t number)
{
	size_t count = c->entity_count;
	struct ingest_entity *place = sample_ingest_entity(c, e);

	/* numbers have gaps: an entity that had no value has none in the store */
	c->entity_count = number > count ? number : count;
	if (place && !place->stored) {
		place->number = number;
		place->by = 0;
		place->written = place->stored = true;
	}
}

uint32_t sample_ingest_job_in_run(struct sample_ingest *c, const struct known *k, uint32_t run)
{
	const struct entity e = {.kind = k->kind, .name = k->name};
	uint32_t own = c->run;

	c->run = run;
	const struct ingest_entity *place = sample_ingest_entity(c, &e);
	c->run = own;
	return place && place->stored ? place->number : 0;
}

int64_t sample_ingest_process_begin(const struct sample_ingest *c, const struct known *k)
{
	const struct entity e = {.metadata = k->metadata};
	const char *text;
	int64_t ticks, us;
	size_t n;

	if (k->kind != ENTITY_PROCESS || !entity_metadata(&e, "start", &text, &n))
		return INT64_MIN;
	_cleanup_free_ char *number = xstrndup(text, n);
	if (parse_i64(number, &ticks) < 0 || __builtin_mul_overflow(ticks, PL_TICK_US, &us) ||
	    __builtin_add_overflow(us, c->boot_us, &us))
		return INT64_MIN;
	return us;
}
