/*
 * Samples of a job with parts in the store: metrics and entities keep their numbers, so that the
 * next part continues the same series.
 */

#include <errno.h>

#include "store/ingest/sample_ingest_write.h"

static int load_metrics(struct sample_ingest *c)
{
	_cleanup_stmt_ struct stmt *st = sample_rows_metrics(c->in->store, c->in->job);
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		GROW(c->known_metrics, c->metric_count, c->metric_cap);
		struct ingest_metric *m = &c->known_metrics[c->metric_count++];
		m->number = (uint32_t)sample_rows_get_metric(st, &m->m);
	}
	return r;
}

/* Of several runs at the same time each has its own entity for the job, in the order of numbers. */
static int load_entities(struct sample_ingest *c)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(c->in->store,
			    "SELECT e.n, e.host, e.kind, e.name, (SELECT count(*) FROM "
			    "sample_entity o WHERE o.job = e.job AND o.kind = e.kind AND "
			    "o.kind = $2 AND o.host = e.host AND o.name = e.name AND o.n < e.n) "
			    "FROM sample_entity e WHERE e.job = $1 ORDER BY e.n",
			    db_int(c->in->job), db_str(entity_kind_name(ENTITY_JOB)));
	int r;

	if (!st)
		return -EIO;
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

int sample_ingest_resume(struct sample_ingest *c, const struct value *runs, int64_t end_us)
{
	int r = load_metrics(c);

	if (r == 0)
		r = load_entities(c);
	if (r == 0)
		r = sample_rows_last_tick(c->in->store, c->in->job, &c->tick_count);
	for (size_t i = 0; r == 0 && i < runs->list.count; i++) {
		const struct value *run = runs->list.items[i];
		const char *host = value_get_str(run, "host");

		if (host)
			sample_ingest_add_run(
				c, host,
				&(struct ingest_run){
					.number = (uint32_t)value_get_int(run, "number"),
					.from_us = value_get_int(run, "from_us"),
					.until_us = value_get_int(run, "until_us"),
					.processes = (uint64_t)value_get_int(run, "processes"),
					.session = (uint64_t)value_get_int(run, "session"),
					.left_out = value_get_int(run, "left_out") != 0});
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
			struct live_series *v =
				there ? sample_ingest_series(c, s, &s->lives[row->entity], m)
				      : NULL;

			if (v) {
				v->sums.last = values[m];
				v->sums.goes_on = true;
			}
		}
	}
}
