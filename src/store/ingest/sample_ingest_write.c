/* Rows of samples in a store; see sample_ingest.h and migrations/002_samples.sql. */
#include "store/ingest/sample_ingest_write.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "plimsoll/record.h" /* varints */

#define CHUNK_ROW_BYTES 60 /* what a chunk takes in a store beside its array, for `retire` */
#define SERIES_ROW_BYTES 50

int sample_ingest_open_writers(struct sample_ingest *c)
{
	struct store *s = c->in->store;

	if (!s)
		return 0;
	const struct store_engine *e = s->engine;
	c->metrics = e->bulk_open(s, "sample_metric",
				  "job,n,name,unit,kind,aggregation,scale,divisor,help");
	c->entities = e->bulk_open(s, "sample_entity", "job,n,host,kind,name,facts");
	c->series = e->bulk_open(s, "sample_series",
				 "job,metric,entity,count,first_us,last_us,minimum,maximum,mean,"
				 "increase,begin_us");
	c->ticks = e->bulk_open(s, "sample_tick", "job,n,first_us,step_us,width,count,times");
	c->chunks =
		e->bulk_open(s, "sample_chunk", "job,metric,entity,tick,skip,count,base,step,data");
	return c->metrics && c->entities && c->series && c->ticks && c->chunks ? 0 : -EIO;
}

int sample_ingest_flush_writers(struct sample_ingest *c)
{
	struct bulk *const all[] = {c->metrics, c->entities, c->series, c->ticks, c->chunks};
	int r = 0;

	for (size_t i = 0; c->in->store && i < ARRAY_SIZE(all) && r == 0; i++)
		r = c->in->store->engine->bulk_flush(all[i]);
	return r;
}

void sample_ingest_close_writers(struct sample_ingest *c)
{
	struct bulk *const all[] = {c->metrics, c->entities, c->series, c->ticks, c->chunks};

	for (size_t i = 0; c->in->store && i < ARRAY_SIZE(all); i++)
		c->in->store->engine->bulk_close(all[i]);
	stmt_finish_ptr(&c->add_series);
	stmt_finish_ptr(&c->add_facts);
	stmt_finish_ptr(&c->absence);
}

/* ---- metrics and entities ------------------------------------------------------------------- */

void sample_ingest_put_text(const struct store_engine *e, struct bulk *b, const char *s)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!s) {
		e->bulk_null(b);
		return;
	}
	text_add_printable(&text, s, strlen(s));
	e->bulk_text(b, text.buf, text.len);
}

void sample_ingest_put_scale(const struct store_engine *e, struct bulk *b, double scale)
{
	double by = scale > 1e-15 && scale < 1 ? (double)round_i64(1 / scale) : 1;
	bool fraction = by > 1 && fabs(by * scale - 1) < 1e-12;

	e->bulk_real(b, fraction ? 1 : scale);
	e->bulk_real(b, fraction ? by : 1);
}

int sample_ingest_put_metric(const struct store_engine *e, struct bulk *b, int64_t job,
			     int64_t number, const struct sample_metric *m)
{
	e->bulk_int(b, job);
	e->bulk_int(b, number);
	sample_ingest_put_text(e, b, m->name);
	sample_ingest_put_text(e, b, metric_unit_name(m->unit));
	sample_ingest_put_text(e, b, metric_kind_name(m->kind));
	sample_ingest_put_text(e, b, metric_agg_name(m->agg));
	sample_ingest_put_scale(e, b, m->scale != 0 ? m->scale : 1);
	sample_ingest_put_text(e, b, m->help);
	return e->bulk_row(b);
}

int sample_ingest_write_metric(struct sample_ingest *c, const struct ingest_metric *m)
{
	struct store *s = c->in->store;

	return s ? sample_ingest_put_metric(s->engine, c->metrics, c->in->job, m->number, &m->m)
		 : 0;
}

void sample_ingest_facts_json(const char *facts, struct jsonw *j)
{
	jsonw_begin_object(j, NULL);
	for (const char *p = facts; p && *p;) {
		size_t key = strcspn(p, "="), value = strcspn(p + key, "\n");
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, p, key);
		jsonw_text(j, name.buf, p + key + 1, value - 1);
		p += key + value + 1;
	}
	jsonw_end_object(j);
}

/* An entity that was there before has a row: new facts take the place of the old ones. */
static int replace_facts(struct sample_ingest *c, uint32_t number, const struct jsonw *j)
{
	int r = c->in->store->engine->bulk_flush(c->entities);

	if (r == 0 && !c->add_facts)
		c->add_facts = stmt_prepare(c->in->store, "UPDATE sample_entity SET facts = $1 "
							  "WHERE job = $2 AND n = $3");
	if (r < 0 || !c->add_facts)
		return r < 0 ? r : -EIO;
	stmt_text(c->add_facts, 1, j->out.buf, j->out.len);
	stmt_int(c->add_facts, 2, c->in->job);
	stmt_int(c->add_facts, 3, number);
	return stmt_run(c->add_facts);
}

/* Facts in the store are an object; this adds to it. */
static char *facts_of(struct sample_ingest *c, uint32_t number)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		c->in->store, "SELECT facts FROM sample_entity WHERE job = $1 AND n = $2");

	if (!st)
		return NULL;
	stmt_int(st, 1, c->in->job);
	stmt_int(st, 2, number);
	if (stmt_step(st) != 1)
		return NULL;
	return xstrdup(stmt_is_null(st, 0) ? "{}" : stmt_get_str(st, 0));
}

int sample_ingest_leave_out(struct sample_ingest *c, uint32_t number)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *facts = NULL;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (!c->in->store)
		return 0;
	int r = c->in->store->engine->bulk_flush(c->entities);
	_cleanup_free_ char *text = r < 0 ? NULL : facts_of(c, number);
	if (!text)
		return r < 0 ? r : -EIO;
	if (value_from_json(text, strlen(text), &facts, &why) < 0 || facts->kind != VALUE_DICT) {
		value_free(facts);
		facts = value_new(VALUE_DICT);
	}
	value_set(facts, "in_sum", value_str("no"));
	value_to_json(facts, &j, NULL);
	return replace_facts(c, number, &j);
}

int sample_ingest_write_entity(struct sample_ingest *c, const struct known *k)
{
	struct store *s = c->in->store;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (!s)
		return 0;
	const struct store_engine *e = s->engine;
	if (k->facts)
		sample_ingest_facts_json(k->facts, &j);
	if (k->in_store)
		return k->facts ? replace_facts(c, k->number, &j) : 0;
	c->in->bytes += SERIES_ROW_BYTES + strlen(k->name) + j.out.len;
	e->bulk_int(c->entities, c->in->job);
	e->bulk_int(c->entities, k->number);
	sample_ingest_put_text(e, c->entities, c->host);
	sample_ingest_put_text(e, c->entities, entity_kind_name(k->kind));
	sample_ingest_put_text(e, c->entities, k->name);
	if (k->facts)
		e->bulk_text(c->entities, j.out.buf, j.out.len);
	else
		e->bulk_null(c->entities);
	return e->bulk_row(c->entities);
}

int sample_ingest_write_absence(struct sample_ingest *c, const char *metric, const char *reason)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;
	struct store *s = c->in->store;

	if (!s)
		return 0;
	if (!c->absence)
		c->absence = stmt_prepare(s, "INSERT INTO sample_absence (job, host, metric, "
					     "reason) VALUES ($1, $2, $3, $4) "
					     "ON CONFLICT DO NOTHING");
	if (!c->absence)
		return -EIO;
	text_add_printable(&name, metric, strlen(metric));
	text_add_printable(&text, reason, strlen(reason));
	stmt_int(c->absence, 1, c->in->job);
	stmt_str(c->absence, 2, c->host);
	stmt_text(c->absence, 3, name.buf, name.len);
	stmt_text(c->absence, 4, text.buf, text.len);
	return stmt_run(c->absence);
}

/* ---- chunks and blocks ---------------------------------------------------------------------- */

/* The values of a chunk, from the bytes that they wait as. */
static void unpack(const struct curve *v, struct delta_coding *l)
{
	const unsigned char *p = v->buf, *end = v->size ? v->buf + v->size : v->buf;
	uint64_t last = (uint64_t)v->base, code = 0;

	*l = (struct delta_coding){.n = v->n};
	delta_coding_put(l, 0, v->base);
	for (size_t i = 1; i < v->n && p; i++) {
		p = pl_get_varint(p, end, &code);
		if (!p || !code)
			continue;
		code--;
		last += code >> 1 ^ (0 - (code & 1));
		delta_coding_put(l, i, (int64_t)last);
	}
}

int sample_ingest_write_chunk(struct sample_ingest *c, const struct ingest_source *s,
			      uint32_t metric, uint32_t entity, struct curve *v)
{
	struct store *store = c->in->store;
	int64_t base, step;
	struct delta_coding l;
	int r = 0;

	if (!v->n)
		return 0;
	unpack(v, &l);
	strbuf_reset(&c->array);
	delta_coding_encode(&l, &base, &step, &c->array);
	c->in->bytes += c->array.len + CHUNK_ROW_BYTES;
	if (store) {
		const struct store_engine *e = store->engine;

		e->bulk_int(c->chunks, c->in->job);
		e->bulk_int(c->chunks, metric);
		e->bulk_int(c->chunks, entity);
		e->bulk_int(c->chunks, s->tick);
		e->bulk_int(c->chunks, v->skip);
		e->bulk_int(c->chunks, v->n);
		e->bulk_int(c->chunks, base);
		e->bulk_int(c->chunks, step);
		e->bulk_text(c->chunks, c->array.buf, c->array.len);
		r = e->bulk_row(c->chunks);
	}
	c->buffered -= v->size;
	v->n = v->size = 0;
	return r;
}

static int write_ticks(struct sample_ingest *c, const struct ingest_source *s)
{
	int64_t first, step;
	size_t width;

	strbuf_reset(&c->array);
	delta_coding_encode_times(&s->ticks, &first, &step, &width, &c->array);
	c->in->bytes += c->array.len + CHUNK_ROW_BYTES;
	if (!c->in->store)
		return 0;
	const struct store_engine *e = c->in->store->engine;
	e->bulk_int(c->ticks, c->in->job);
	e->bulk_int(c->ticks, s->tick);
	e->bulk_int(c->ticks, first);
	e->bulk_int(c->ticks, step);
	e->bulk_int(c->ticks, (int64_t)width);
	e->bulk_int(c->ticks, (int64_t)s->ticks.n);
	e->bulk_text(c->ticks, c->array.buf, c->array.len);
	return e->bulk_row(c->ticks);
}

int sample_ingest_end_block(struct sample_ingest *c, struct ingest_source *s)
{
	int r = 0;

	if (!s->ticks.n)
		return 0;
	for (size_t i = 0; i < s->live_count; i++) {
		const struct live *live = &s->lives[i];

		for (size_t m = 0; live->curves && m < s->metric_count && r == 0; m++)
			if (live->curves[m])
				r = sample_ingest_write_chunk(c, s, s->metrics[m],
							      live->known->number, live->curves[m]);
	}
	if (r == 0)
		r = write_ticks(c, s);
	s->ticks = (struct delta_coding){0};
	return r;
}

/* ---- series --------------------------------------------------------------------------------- */

#define PART "(s.last_us - coalesce(s.begin_us, s.first_us))"
#define NEXT "(excluded.last_us - coalesce(excluded.begin_us, excluded.first_us))"

/* A series that was there before: its row is added to. Each part of the mean weighs the time that
 * it is over. */
static int add_to_series(struct sample_ingest *c, uint32_t metric, uint32_t entity, bool counter,
			 const struct curve *v)
{
	static const char sql[] =
		"INSERT INTO sample_series AS s (job, metric, entity, count, first_us, last_us, "
		"minimum, maximum, mean, increase, begin_us) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) "
		"ON CONFLICT (job, metric, entity) DO UPDATE SET "
		"mean = CASE WHEN " PART " + " NEXT " > 0 THEN (s.mean * " PART
		" + excluded.mean * " NEXT ") / (" PART " + " NEXT ") "
		"ELSE (s.mean * s.count + excluded.mean * excluded.count) / "
		"(s.count + excluded.count) END, count = s.count + excluded.count, "
		"begin_us = CASE WHEN excluded.first_us < s.first_us THEN excluded.begin_us "
		"ELSE s.begin_us END, "
		"first_us = CASE WHEN excluded.first_us < s.first_us THEN excluded.first_us "
		"ELSE s.first_us END, "
		"last_us = CASE WHEN excluded.last_us > s.last_us THEN excluded.last_us "
		"ELSE s.last_us END, "
		"minimum = CASE WHEN excluded.minimum < s.minimum THEN excluded.minimum "
		"ELSE s.minimum END, "
		"maximum = CASE WHEN excluded.maximum > s.maximum THEN excluded.maximum "
		"ELSE s.maximum END, "
		"increase = s.increase + excluded.increase";
	int r = c->in->store->engine->bulk_flush(c->series);

	if (r == 0 && !c->add_series)
		c->add_series = stmt_prepare(c->in->store, sql);
	if (r < 0 || !c->add_series)
		return r < 0 ? r : -EIO;
	struct stmt *st = c->add_series;
	stmt_int(st, 1, c->in->job);
	stmt_int(st, 2, metric);
	stmt_int(st, 3, entity);
	stmt_int(st, 4, (int64_t)v->count);
	stmt_int(st, 5, v->first_us);
	stmt_int(st, 6, v->last_us);
	stmt_int(st, 7, v->minimum);
	stmt_int(st, 8, v->maximum);
	stmt_real(st, 9, time_mean_value(&v->mean));
	if (counter)
		stmt_real(st, 10, v->increase);
	else
		stmt_null(st, 10);
	if (v->begin_us < v->first_us)
		stmt_int(st, 11, v->begin_us);
	else
		stmt_null(st, 11);
	return stmt_run(st);
}

int sample_ingest_write_series(struct sample_ingest *c, uint32_t metric, uint32_t entity,
			       bool again, bool counter, const struct curve *v)
{
	struct store *s = c->in->store;

	if (!v->count)
		return 0;
	c->result.values += v->count;
	c->result.series += !again;
	if (!s)
		return 0;
	if (again)
		return add_to_series(c, metric, entity, counter, v);
	const struct store_engine *e = s->engine;
	e->bulk_int(c->series, c->in->job);
	e->bulk_int(c->series, metric);
	e->bulk_int(c->series, entity);
	e->bulk_int(c->series, (int64_t)v->count);
	e->bulk_int(c->series, v->first_us);
	e->bulk_int(c->series, v->last_us);
	e->bulk_int(c->series, v->minimum);
	e->bulk_int(c->series, v->maximum);
	e->bulk_real(c->series, time_mean_value(&v->mean));
	if (counter)
		e->bulk_real(c->series, v->increase);
	else
		e->bulk_null(c->series);
	if (v->begin_us < v->first_us)
		e->bulk_int(c->series, v->begin_us);
	else
		e->bulk_null(c->series);
	c->in->bytes += SERIES_ROW_BYTES;
	return e->bulk_row(c->series);
}
