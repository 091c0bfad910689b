/*
 * Samples of a job that has parts in the store: what was numbered keeps its number, so that the
 * next part goes on with the same metrics, entities and series as if it had come in one directory
 * with the others.
 */
#include <errno.h>
#include <string.h>

#include "store/ingest/sample_ingest_write.h"

static int load_metrics(struct sample_ingest *c)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		c->in->store, "SELECT n, name, unit, kind, aggregation, scale / divisor, help FROM "
			      "sample_metric WHERE job = $1 ORDER BY n");
	int r;

	if (!st)
		return -EIO;
	stmt_int(st, 1, c->in->job);
	while ((r = stmt_step(st)) == 1) {
		GROW(c->known_metrics, c->metric_count, c->metric_cap);
		c->known_metrics[c->metric_count++] = (struct ingest_metric){
			.number = (uint32_t)stmt_get_int(st, 0),
			.m = {.name = xstrdup(stmt_get_str(st, 1)),
			      .unit = metric_unit_by_name(stmt_get_str(st, 2)),
			      .kind = metric_kind_by_name(stmt_get_str(st, 3)),
			      .agg = metric_agg_by_name(stmt_get_str(st, 4)),
			      .scale = stmt_get_real(st, 5),
			      .help = stmt_is_null(st, 6) ? NULL : xstrdup(stmt_get_str(st, 6))}};
	}
	return r;
}

/* Several runs at the same time have an entity each for the job, in the order of their numbers. */
static int load_entities(struct sample_ingest *c)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		c->in->store, "SELECT e.n, e.host, e.kind, e.name, (SELECT count(*) FROM "
			      "sample_entity o WHERE o.job = e.job AND o.kind = e.kind AND "
			      "o.kind = $2 AND o.host = e.host AND o.name = e.name AND o.n < e.n) "
			      "FROM sample_entity e WHERE e.job = $1 ORDER BY e.n");
	int r;

	if (!st)
		return -EIO;
	stmt_int(st, 1, c->in->job);
	stmt_str(st, 2, entity_kind_name(ENTITY_JOB));
	while ((r = stmt_step(st)) == 1) {
		const struct entity e = {.kind = entity_kind_by_name(stmt_get_str(st, 2)),
					 .name = (char *)stmt_get_str(st, 3)};

		free(c->host);
		c->host = xstrdup(stmt_get_str(st, 1));
		c->run = (uint32_t)stmt_get_int(st, 4);
		sample_ingest_know_entity(c, &e, (uint32_t)stmt_get_int(st, 0));
	}
	free(c->host);
	c->host = NULL;
	c->run = 0;
	return r;
}

static int load_ticks(struct sample_ingest *c)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		c->in->store, "SELECT coalesce(max(n), 0) FROM sample_tick WHERE job = $1");

	if (!st)
		return -EIO;
	stmt_int(st, 1, c->in->job);
	int r = stmt_step(st);
	if (r == 1)
		c->tick_count = (uint32_t)stmt_get_int(st, 0);
	return r < 0 ? r : 0;
}

static int64_t number_of(const struct value *run, const char *key)
{
	const struct value *v = value_get(run, key);

	return v && v->kind == VALUE_INT ? v->integer : 0;
}

int sample_ingest_resume(struct sample_ingest *c, const struct value *runs, int64_t end_us)
{
	int r = load_metrics(c);

	if (r == 0)
		r = load_entities(c);
	if (r == 0)
		r = load_ticks(c);
	for (size_t i = 0; r == 0 && i < runs->list.count; i++) {
		const struct value *run = runs->list.items[i];
		const char *host = value_get_str(run, "host");

		if (host)
			sample_ingest_add_run(
				c, host,
				&(struct ingest_run){.number = (uint32_t)number_of(run, "number"),
						     .from_us = number_of(run, "from_us"),
						     .until_us = number_of(run, "until_us"),
						     .processes =
							     (uint64_t)number_of(run, "processes"),
						     .session = (uint64_t)number_of(run, "session"),
						     .left_out = number_of(run, "left_out") != 0});
	}
	c->run_own = c->run_count;
	c->part_end_us = end_us;
	return r;
}

void sample_ingest_pass_reading(struct sample_ingest *c, struct ingest_source *s,
				const struct sample_file *f)
{
	const struct sample_set *set = &f->reading;

	sample_ingest_take_time(s, f->time_us);
	for (size_t i = 0; i < set->row_count; i++) {
		const struct sample_row *row = &set->rows[i];
		const int64_t *values = set->values + i * set->metric_count;

		if (row->entity >= s->live_count || !s->lives[row->entity].known)
			continue;
		for (size_t m = 0; m < s->metric_count; m++) {
			bool there = row->present >> m & 1 && s->metrics[m];
			struct curve *v =
				there ? sample_ingest_of(c, s, &s->lives[row->entity], m) : NULL;

			if (v) {
				v->counted = values[m];
				v->goes_on = true;
			}
		}
	}
}
