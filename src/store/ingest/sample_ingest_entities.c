/* The entities of a job on its way into a store, by host, kind and name; see sample_ingest_write.h.
 */
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/system/procparse.h"
#include "store/ingest/sample_ingest_write.h"

static struct ingest_entity *entity_place(struct sample_ingest *c, uint64_t low, uint64_t high)
{
	for (uint64_t at = low;; at++) {
		struct ingest_entity *e = &c->table[at & (c->table_size - 1)];

		if (!e->number || (e->low == low && e->high == high))
			return e;
	}
}

static void grow_table(struct sample_ingest *c)
{
	struct ingest_entity *old = c->table;
	size_t size = c->table_size;

	c->table_size = size ? size * 2 : 1024;
	c->table = xcalloc(c->table_size, sizeof(*c->table));
	for (size_t i = 0; i < size; i++)
		if (old[i].number)
			*entity_place(c, old[i].low, old[i].high) = old[i];
	free(old);
}

struct ingest_entity *sample_ingest_entity(struct sample_ingest *c, const struct entity *e)
{
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	XXH3_128bits_update(&state, c->host, strlen(c->host) + 1);
	XXH3_128bits_update(&state, &e->kind, sizeof(e->kind));
	XXH3_128bits_update(&state, e->name, strlen(e->name));
	if (c->run && e->kind == ENTITY_JOB)
		XXH3_128bits_update(&state, &c->run, sizeof(c->run));
	XXH128_hash_t h = XXH3_128bits_digest(&state);

	if (c->entity_count * 2 >= c->table_size)
		grow_table(c);
	struct ingest_entity *place = entity_place(c, h.low64, h.high64);
	if (place->number)
		return place;
	if (c->entity_count == CURVE_ENTITIES_MAX)
		return NULL;
	*place = (struct ingest_entity){.low = h.low64,
					.high = h.high64,
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
	const struct entity e = {.facts = k->facts};
	const char *text;
	int64_t ticks, us;
	size_t n;

	if (k->kind != ENTITY_PROCESS || !entity_fact(&e, "start", &text, &n))
		return INT64_MIN;
	_cleanup_free_ char *number = xstrndup(text, n);
	if (parse_i64(number, &ticks) < 0 || __builtin_mul_overflow(ticks, PL_TICK_US, &us) ||
	    __builtin_add_overflow(us, c->boot_us, &us))
		return INT64_MIN;
	return us;
}
