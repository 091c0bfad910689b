/* Rows of the sample tables; see sample_rows.h. */
#include "store/ingest/sample_rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/text/text.h"

int sample_rows_open(struct sample_rows *r, struct store *s)
{
	*r = (struct sample_rows){.store = s, .array = STRBUF_INIT};
	if (!s)
		return 0;
	const struct store_engine *e = s->engine;
	r->metrics = e->bulk_open(s, "sample_metric",
				  "job,n,name,unit,kind,aggregation,scale,divisor,help");
	r->entities = e->bulk_open(s, "sample_entity", "job,n,host,kind,name,facts");
	r->ticks = e->bulk_open(s, "sample_tick", "job,n,first_us,step_us,width,count,times");
	r->chunks =
		e->bulk_open(s, "sample_chunk", "job,metric,entity,tick,skip,count,base,step,data");
	return r->metrics && r->entities && r->ticks && r->chunks ? 0 : -EIO;
}

int sample_rows_flush(struct sample_rows *r)
{
	struct bulk *const all[] = {r->metrics, r->entities, r->ticks, r->chunks};
	int e = 0;

	for (size_t i = 0; r->store && i < ARRAY_SIZE(all) && e == 0; i++)
		e = r->store->engine->bulk_flush(all[i]);
	return e;
}

void sample_rows_close(struct sample_rows *r)
{
	struct bulk *const all[] = {r->metrics, r->entities, r->ticks, r->chunks};

	for (size_t i = 0; r->store && i < ARRAY_SIZE(all); i++)
		r->store->engine->bulk_close(all[i]);
	stmt_finish_ptr(&r->set_metadata);
	strbuf_release(&r->array);
	*r = (struct sample_rows){0};
}

/* ---- metrics and entities ------------------------------------------------------------------ */

static struct db_value printable(struct strbuf *out, const char *s)
{
	if (!s)
		return db_null();
	text_add_printable(out, s, strlen(s));
	return db_text(out->buf, out->len);
}

int sample_rows_metric(struct sample_rows *r, int64_t job, int64_t number,
		       const struct sample_metric *m)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, help = STRBUF_INIT;
	double scale = m->scale != 0 ? m->scale : 1;
	/* 0.001 is stored as 1 and 1000 */
	double by = scale > 1e-15 && scale < 1 ? (double)round_i64(1 / scale) : 1;
	bool fraction = by > 1 && fabs(by * scale - 1) < 1e-12;

	if (!r->store)
		return 0;
	return bulk_put(r->metrics, db_int(job), db_int(number), printable(&name, m->name),
			db_str(metric_unit_name(m->unit)), db_str(metric_kind_name(m->kind)),
			db_str(metric_agg_name(m->agg)), db_real(fraction ? 1 : scale),
			db_real(fraction ? by : 1), printable(&help, m->help));
}

static void metadata_json(const char *metadata, struct json_writer *j)
{
	json_begin_object(j, NULL);
	for (const char *p = metadata; p && *p;) {
		size_t key = strcspn(p, "="), value = strcspn(p + key, "\n");
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, p, key);
		json_text(j, name.buf, p + key + 1, value - 1);
		p += key + value + 1;
	}
	json_end_object(j);
}

int sample_rows_set_metadata(struct sample_rows *r, int64_t job, uint32_t number,
			     const struct json_writer *j)
{
	int e = r->store->engine->bulk_flush(r->entities);

	if (e == 0 && !r->set_metadata)
		r->set_metadata = stmt_prepare(
			r->store, "UPDATE sample_entity SET facts = $1 WHERE job = $2 AND n = $3");
	if (e < 0 || !r->set_metadata)
		return e < 0 ? e : -EIO;
	return stmt_run_with(r->set_metadata, db_text(j->out.buf, j->out.len), db_int(job),
			     db_int(number));
}

int sample_rows_entity(struct sample_rows *r, int64_t job, uint32_t number, const char *host,
		       const struct entity *e, bool again, uint64_t *bytes)
{
	_cleanup_strbuf_ struct strbuf place = STRBUF_INIT, name = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (!r->store)
		return 0;
	if (e->metadata)
		metadata_json(e->metadata, &j);
	if (again)
		return e->metadata ? sample_rows_set_metadata(r, job, number, &j) : 0;
	*bytes += strlen(e->name) + j.out.len;
	return bulk_put(r->entities, db_int(job), db_int(number), printable(&place, host),
			db_str(entity_kind_name(e->kind)), printable(&name, e->name),
			e->metadata ? db_text(j.out.buf, j.out.len) : db_null());
}

struct entity_hash entity_hash(const char *host, enum entity_kind kind, const char *name,
			       uint32_t run)
{
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	XXH3_128bits_update(&state, host, strlen(host) + 1);
	XXH3_128bits_update(&state, &kind, sizeof(kind));
	XXH3_128bits_update(&state, name, strlen(name));
	if (run)
		XXH3_128bits_update(&state, &run, sizeof(run));
	XXH128_hash_t h = XXH3_128bits_digest(&state);
	return (struct entity_hash){h.low64, h.high64};
}

char *entity_merge_metadata(const char *older, const struct entity *e, bool *changed)
{
	struct strbuf out = STRBUF_INIT;

	*changed = false;
	strbuf_addstr(&out, e->metadata);
	for (const char *p = older; p && *p;) {
		size_t key = strcspn(p, "="), line = strcspn(p, "\n") + 1;
		_cleanup_free_ char *name = xstrndup(p, key);
		const char *value;
		size_t size;

		if (!entity_metadata(e, name, &value, &size))
			strbuf_add(&out, p, line);
		else if (size != line - key - 2 || memcmp(value, p + key + 1, size) != 0)
			*changed = true;
		p += line;
	}
	*changed = *changed || !older || out.len != strlen(older);
	return strbuf_take(&out);
}

/* ---- blocks and chunks --------------------------------------------------------------------- */

int sample_rows_ticks(struct sample_rows *r, int64_t job, uint32_t tick,
		      const struct delta_coding *times, uint64_t *bytes)
{
	int64_t first, step;
	size_t width;

	strbuf_reset(&r->array);
	delta_coding_encode_times(times, &first, &step, &width, &r->array);
	*bytes += r->array.len + SAMPLE_CHUNK_BYTES;
	if (!r->store)
		return 0;
	return bulk_put(r->ticks, db_int(job), db_int(tick), db_int(first), db_int(step),
			db_int((int64_t)width), db_int((int64_t)times->n),
			db_text(r->array.buf, r->array.len));
}

int sample_rows_chunk(struct sample_rows *r, int64_t job, uint32_t metric, uint32_t entity,
		      uint32_t tick, size_t skip, const struct delta_coding *values,
		      uint64_t *bytes)
{
	int64_t base, step;

	strbuf_reset(&r->array);
	delta_coding_encode(values, &base, &step, &r->array);
	*bytes += r->array.len + SAMPLE_CHUNK_BYTES;
	if (!r->store)
		return 0;
	return bulk_put(r->chunks, db_int(job), db_int(metric), db_int(entity), db_int(tick),
			db_int((int64_t)skip), db_int((int64_t)values->n), db_int(base),
			db_int(step), db_text(r->array.buf, r->array.len));
}

void series_sums_add(struct series_sums *s, enum metric_kind kind, int64_t value, int64_t over_us,
		     int64_t time_us)
{
	if (!s->count) {
		s->minimum = s->maximum = value;
		s->first_us = s->last_us = time_us;
		s->begin_us = kind == KIND_MEAN || s->goes_on ? time_us - over_us : time_us;
	}
	if ((s->count || s->goes_on) && value > s->last)
		s->increase += (double)value - (double)s->last;
	s->last = value;
	s->minimum = value < s->minimum ? value : s->minimum;
	s->maximum = value > s->maximum ? value : s->maximum;
	s->first_us = time_us < s->first_us ? time_us : s->first_us;
	s->last_us = time_us > s->last_us ? time_us : s->last_us;
	s->count++;
	time_mean_add(&s->mean, kind, over_us, time_us, (double)value);
}

/* ---- what the store has -------------------------------------------------------------------- */

struct stmt *sample_rows_metrics(struct store *s, int64_t job)
{
	return store_query(s,
			   "SELECT n, name, unit, kind, aggregation, scale / divisor, help FROM "
			   "sample_metric WHERE job = $1 ORDER BY n",
			   db_int(job));
}

int64_t sample_rows_get_metric(struct stmt *st, struct sample_metric *ret)
{
	*ret = (struct sample_metric){.name = stmt_get_copy(st, 1),
				      .unit = metric_unit_by_name(stmt_get_str(st, 2)),
				      .kind = metric_kind_by_name(stmt_get_str(st, 3)),
				      .agg = metric_agg_by_name(stmt_get_str(st, 4)),
				      .scale = stmt_get_real(st, 5),
				      .help = stmt_get_copy(st, 6)};
	return stmt_get_int(st, 0);
}

int sample_rows_last_tick(struct store *s, int64_t job, uint32_t *ret)
{
	int64_t n = 0;
	int r = store_number_of(s, "SELECT coalesce(max(n), 0) FROM sample_tick WHERE job = $1", &n,
				db_int(job));

	*ret = (uint32_t)n;
	return r;
}
