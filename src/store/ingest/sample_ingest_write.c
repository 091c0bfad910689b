/* Rows of samples in a store; see sample_ingest.h and migrations/002_samples.sql. */
#include "store/ingest/sample_ingest_write.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "plimsoll/record.h" /* varints */

#define SERIES_ROW_BYTES 50 /* size of a row in the store, for `retire` */

int sample_ingest_open_writers(struct sample_ingest *c)
{
	struct store *s = c->in->store;
	int r = sample_rows_open(&c->rows, s);

	if (s)
		c->series = s->engine->bulk_open(
			s, "sample_series",
			"job,metric,entity,count,first_us,last_us,minimum,maximum,mean,"
			"increase,begin_us");
	return s && !c->series ? -EIO : r;
}

int sample_ingest_flush_writers(struct sample_ingest *c)
{
	int r = sample_rows_flush(&c->rows);

	return r == 0 && c->series ? c->in->store->engine->bulk_flush(c->series) : r;
}

void sample_ingest_close_writers(struct sample_ingest *c)
{
	sample_rows_close(&c->rows);
	if (c->series)
		c->in->store->engine->bulk_close(c->series);
	stmt_finish_ptr(&c->add_series);
	stmt_finish_ptr(&c->absence);
}

int sample_ingest_leave_out(struct sample_ingest *c, uint32_t number)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *metadata = NULL;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct store *s = c->in->store;

	if (!s)
		return 0;
	int r = s->engine->bulk_flush(c->rows.entities);
	if (r < 0)
		return r;
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT facts FROM sample_entity WHERE job = $1 AND n = $2",
			    db_int(c->in->job), db_int(number));
	if (!st || stmt_step(st) != 1)
		return -EIO;
	const char *text = stmt_is_null(st, 0) ? "{}" : stmt_get_str(st, 0);
	if (value_from_json(text, strlen(text), &metadata, &why) < 0 ||
	    metadata->kind != VALUE_DICT) {
		value_free(metadata);
		metadata = value_new(VALUE_DICT);
	}
	stmt_reset(st);
	value_set(metadata, "in_sum", value_str("no"));
	value_to_json(metadata, &j, NULL);
	return sample_rows_set_metadata(&c->rows, c->in->job, number, &j);
}

int sample_ingest_write_entity(struct sample_ingest *c, const struct known *k)
{
	const struct entity e = {.kind = k->kind, .name = k->name, .metadata = k->metadata};

	if (c->in->store && !k->in_store)
		c->in->bytes += SERIES_ROW_BYTES;
	return sample_rows_entity(&c->rows, c->in->job, k->number, c->host, &e, k->in_store,
				  &c->in->bytes);
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
	return stmt_run_with(c->absence, db_int(c->in->job), db_str(c->host),
			     db_text(name.buf, name.len), db_text(text.buf, text.len));
}

/* ---- chunks and blocks ---------------------------------------------------------------------- */

/* The values of a chunk, from the bytes that they wait as. */
static void unpack(const struct live_series *v, struct delta_coding *l)
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
			      uint32_t metric, uint32_t entity, struct live_series *v)
{
	struct delta_coding l;

	if (!v->n)
		return 0;
	unpack(v, &l);
	int r = sample_rows_chunk(&c->rows, c->in->job, metric, entity, s->tick, v->skip, &l,
				  &c->in->bytes);
	c->buffered -= v->size;
	v->n = v->size = 0;
	return r;
}

int sample_ingest_end_block(struct sample_ingest *c, struct ingest_source *s)
{
	int r = 0;

	if (!s->ticks.n)
		return 0;
	for (size_t i = 0; i < s->live_count; i++) {
		const struct live *live = &s->lives[i];

		for (size_t m = 0; live->series && m < s->metric_count && r == 0; m++)
			if (live->series[m])
				r = sample_ingest_write_chunk(c, s, s->metrics[m],
							      live->known->number, live->series[m]);
	}
	if (r == 0)
		r = sample_rows_ticks(&c->rows, c->in->job, s->tick, &s->ticks, &c->in->bytes);
	s->ticks = (struct delta_coding){0};
	return r;
}

/* ---- series -------------------------------------------------------------------------------- */

/* Adds to the row of a series that the store has already. */
static struct stmt *merge_series(struct store *s)
{
	return stmt_prepare(
		s, "INSERT INTO sample_series AS s (job, metric, entity, count, first_us, last_us, "
		   "minimum, maximum, mean, increase, begin_us) "
		   "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) "
		   "ON CONFLICT (job, metric, entity) DO UPDATE SET "
		   "mean = CASE " SERIES_MEAN SERIES_MERGE
		   "increase = s.increase + excluded.increase");
}

int sample_ingest_write_series(struct sample_ingest *c, uint32_t metric, uint32_t entity,
			       bool again, bool counter, const struct live_series *live)
{
	const struct series_sums *v = &live->sums;
	struct store *s = c->in->store;

	if (!v->count)
		return 0;
	c->result.values += v->count;
	c->result.series += !again;
	if (!s)
		return 0;
	const struct db_value row[] = {db_int(c->in->job),
				       db_int(metric),
				       db_int(entity),
				       db_int((int64_t)v->count),
				       db_int(v->first_us),
				       db_int(v->last_us),
				       db_int(v->minimum),
				       db_int(v->maximum),
				       db_real(time_mean_value(&v->mean)),
				       counter ? db_real(v->increase) : db_null(),
				       db_int_if(v->begin_us < v->first_us, v->begin_us)};

	if (!again) {
		c->in->bytes += SERIES_ROW_BYTES;
		return bulk_put_values(c->series, row, ARRAY_SIZE(row));
	}
	int r = s->engine->bulk_flush(c->series);
	if (r == 0 && !c->add_series)
		c->add_series = merge_series(s);
	if (r < 0 || !c->add_series)
		return r < 0 ? r : -EIO;
	stmt_bind_values(c->add_series, row, ARRAY_SIZE(row));
	return stmt_run(c->add_series);
}
