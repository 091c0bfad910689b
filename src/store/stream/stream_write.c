/* A commit of samples that came while their jobs run: all rows in one transaction. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "store/ingest/sample_ingest_write.h"
#include "store/stream/stream_internal.h"

#define CHUNK_ROW_BYTES 60 /* what a chunk takes in a store beside its array, for `retire` */
#define GAP_MAX 16         /* ticks without a value before another chunk is begun */

/* ---- writers ----------------------------------------------------------------------------------
 */

/* Series are added to by one statement from a table of this connection's own. */
static int open_writers(struct stream *s)
{
	const struct store_engine *e = s->store->engine;

	if (s->chunks)
		return 0;
	int r = store_exec(
		s->store,
		"CREATE TEMP TABLE IF NOT EXISTS stage_series (round BIGINT, job BIGINT, "
		"metric BIGINT, entity BIGINT, count BIGINT, first_us BIGINT, last_us BIGINT, "
		"minimum BIGINT, maximum BIGINT, mean DOUBLE PRECISION, "
		"increase DOUBLE PRECISION, first_value BIGINT, last_value BIGINT, "
		"begin_us BIGINT)");
	if (r < 0)
		return r;
	s->metrics = e->bulk_open(s->store, "sample_metric",
				  "job,n,name,unit,kind,aggregation,scale,divisor,help");
	s->entities = e->bulk_open(s->store, "sample_entity", "job,n,host,kind,name,facts");
	s->ticks =
		e->bulk_open(s->store, "sample_tick", "job,n,first_us,step_us,width,count,times");
	s->stage = e->bulk_open(s->store, "stage_series",
				"round,job,metric,entity,count,first_us,last_us,minimum,maximum,"
				"mean,increase,first_value,last_value,begin_us");
	s->chunks = e->bulk_open(s->store, "sample_chunk",
				 "job,metric,entity,tick,skip,count,base,step,data");
	return s->metrics && s->entities && s->ticks && s->stage && s->chunks ? 0 : -EIO;
}

void stream_close_writers(struct stream *s)
{
	struct bulk **const all[] = {&s->metrics, &s->entities, &s->ticks, &s->stage, &s->chunks};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		s->store->engine->bulk_close(*all[i]);
		*all[i] = NULL;
	}
}

static int flush_writers(struct stream *s)
{
	struct bulk *const all[] = {s->metrics, s->entities, s->ticks, s->chunks, s->stage};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = s->store->engine->bulk_flush(all[i]);
	return r;
}

/* ---- metrics and entities ---------------------------------------------------------------------
 */

static int write_metrics(struct stream *s, struct stream_job *j)
{
	const struct store_engine *e = s->store->engine;
	int r = 0;

	for (size_t i = 0; i < j->metric_count && r == 0; i++) {
		struct stream_metric *m = &j->metrics[i];

		if (m->written)
			continue;
		r = sample_ingest_put_metric(e, s->metrics, j->no, (int64_t)i + 1, &m->m);
		m->written = true;
	}
	return r;
}

static int replace_facts(struct stream *s, int64_t job, const struct stream_entity *k,
			 const struct jsonw *j)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store, "UPDATE sample_entity SET facts = $1 WHERE job = $2 AND n = $3");

	if (!st)
		return -EIO;
	stmt_text(st, 1, j->out.buf, j->out.len);
	stmt_int(st, 2, job);
	stmt_int(st, 3, k->number);
	return stmt_run(st);
}

static int write_entity(struct stream *s, struct stream_job *job, struct stream_entity *k)
{
	const struct store_engine *e = s->store->engine;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (k->facts)
		sample_ingest_facts_json(k->facts, &j);
	k->new_facts = false;
	if (k->written)
		return replace_facts(s, job->no, k, &j);
	e->bulk_int(s->entities, job->no);
	e->bulk_int(s->entities, k->number);
	sample_ingest_put_text(e, s->entities, k->host);
	sample_ingest_put_text(e, s->entities, entity_kind_name(k->kind));
	e->bulk_text(s->entities, k->name, strlen(k->name));
	if (k->facts)
		e->bulk_text(s->entities, j.out.buf, j.out.len);
	else
		e->bulk_null(s->entities);
	job->bytes += (int64_t)(CHUNK_ROW_BYTES + strlen(k->name) + j.out.len);
	k->written = true;
	free(k->host);
	free(k->name);
	k->host = k->name = NULL;
	return e->bulk_row(s->entities);
}

/* ---- values -----------------------------------------------------------------------------------
 */

/* A series in what waits: its statistics, and the chunk that is being made. */
struct series_part {
	int64_t count, first_us, last_us, minimum, maximum, first, last;
	int64_t begin_us; /* of the time that the first value is over; first_us: not known */
	double increase;
	enum metric_kind kind;
	struct time_mean mean;
	struct delta_coding chunk;
	unsigned skip;
	int64_t low, high; /* of the chunk */
};

static int write_chunk(struct stream *s, const struct stream_track *t, uint32_t metric,
		       uint32_t entity, struct series_part *p)
{
	const struct store_engine *e = s->store->engine;
	int64_t base, step;

	if (!p->chunk.n)
		return 0;
	strbuf_reset(&s->scratch);
	delta_coding_encode(&p->chunk, &base, &step, &s->scratch);
	t->job->bytes += (int64_t)s->scratch.len + CHUNK_ROW_BYTES;
	e->bulk_int(s->chunks, t->job->no);
	e->bulk_int(s->chunks, metric);
	e->bulk_int(s->chunks, entity);
	e->bulk_int(s->chunks, t->job->tick_count);
	e->bulk_int(s->chunks, p->skip);
	e->bulk_int(s->chunks, (int64_t)p->chunk.n);
	e->bulk_int(s->chunks, base);
	e->bulk_int(s->chunks, step);
	e->bulk_text(s->chunks, s->scratch.buf, s->scratch.len);
	p->chunk.n = 0;
	memset(p->chunk.present, 0, sizeof(p->chunk.present));
	return e->bulk_row(s->chunks);
}

static void add_statistics(struct series_part *p, int64_t v, int64_t over_us, int64_t time_us)
{
	if (!p->count) {
		p->first = p->minimum = p->maximum = v;
		p->first_us = p->last_us = time_us;
		p->begin_us = p->kind == KIND_MEAN ? time_us - over_us : time_us;
	} else if (v > p->last) {
		p->increase += (double)v - (double)p->last;
	}
	p->minimum = v < p->minimum ? v : p->minimum;
	p->maximum = v > p->maximum ? v : p->maximum;
	p->first_us = time_us < p->first_us ? time_us : p->first_us;
	p->last_us = time_us > p->last_us ? time_us : p->last_us;
	p->last = v;
	time_mean_add(&p->mean, p->kind, over_us, time_us, (double)v);
	p->count++;
}

/* Does the value fit into the chunk: no gap that is too long, no span that is too wide? */
static bool fits(const struct series_part *p, unsigned tick, int64_t v)
{
	int64_t span;

	return tick >= p->skip + p->chunk.n && tick - p->skip - p->chunk.n <= GAP_MAX &&
	       !__builtin_sub_overflow(v, p->low, &span) && span != INT64_MIN &&
	       !__builtin_sub_overflow(p->high, v, &span) && span != INT64_MIN;
}

/* How long before this reading the source was read; 0: not known. */
static int64_t since_before(const struct stream_track *t, unsigned tick)
{
	unsigned before = tick;
	int64_t over;

	/* a large reading comes in several pieces of one time */
	while (before && t->ticks.v[before] == t->ticks.v[tick])
		before--;
	return !__builtin_sub_overflow(t->ticks.v[tick], t->ticks.v[before], &over) && over > 0
		       ? over
		       : 0;
}

static int add_value(struct stream *s, const struct stream_track *t, uint32_t metric,
		     uint32_t entity, struct series_part *p, unsigned tick, int64_t v)
{
	int r = 0;

	if (p->chunk.n && !fits(p, tick, v))
		r = write_chunk(s, t, metric, entity, p);
	if (!p->chunk.n) {
		p->skip = tick;
		p->low = p->high = v;
	}
	p->low = v < p->low ? v : p->low;
	p->high = v > p->high ? v : p->high;
	delta_coding_put(&p->chunk, tick - p->skip, v);
	p->chunk.n = tick - p->skip + 1;
	add_statistics(p, v, since_before(t, tick), t->ticks.v[tick]);
	return r;
}

static int stage_series(struct stream *s, const struct stream_track *t, unsigned m, uint32_t entity,
			const struct series_part *p)
{
	const struct store_engine *e = s->store->engine;

	e->bulk_int(s->stage, t->round);
	e->bulk_int(s->stage, t->job->no);
	e->bulk_int(s->stage, t->metrics[m]);
	e->bulk_int(s->stage, entity);
	e->bulk_int(s->stage, p->count);
	e->bulk_int(s->stage, p->first_us);
	e->bulk_int(s->stage, p->last_us);
	e->bulk_int(s->stage, p->minimum);
	e->bulk_int(s->stage, p->maximum);
	e->bulk_real(s->stage, time_mean_value(&p->mean));
	if (t->counters >> m & 1)
		e->bulk_real(s->stage, p->increase);
	else
		e->bulk_null(s->stage);
	e->bulk_int(s->stage, p->first);
	e->bulk_int(s->stage, p->last);
	if (p->begin_us < p->first_us)
		e->bulk_int(s->stage, p->begin_us);
	else
		e->bulk_null(s->stage);
	return e->bulk_row(s->stage);
}

static int write_lane(struct stream *s, const struct stream_track *t, const struct stream_lane *l)
{
	uint32_t entity = l->entity->number;
	int r = 0;

	for (unsigned m = 0; m < t->metric_count && r == 0; m++) {
		struct series_part p;

		if (!t->metrics[m])
			continue;
		p.count = 0;
		p.increase = 0;
		p.kind = t->job->metrics[t->metrics[m] - 1].m.kind;
		p.mean = (struct time_mean){0};
		p.chunk.n = 0;
		memset(p.chunk.present, 0, sizeof(p.chunk.present));
		for (uint32_t i = l->first; i && r == 0; i = t->rows[i - 1].next) {
			const struct stream_row *row = &t->rows[i - 1];

			if (row->present >> m & 1)
				r = add_value(s, t, t->metrics[m], entity, &p, row->tick,
					      t->values[(size_t)(i - 1) * t->metric_count + m]);
		}
		if (r == 0)
			r = write_chunk(s, t, t->metrics[m], entity, &p);
		if (r == 0 && p.count)
			r = stage_series(s, t, m, entity, &p);
	}
	return r;
}

static int write_ticks(struct stream *s, const struct stream_track *t)
{
	const struct store_engine *e = s->store->engine;
	int64_t first, step;
	size_t width;

	strbuf_reset(&s->scratch);
	delta_coding_encode_times(&t->ticks, &first, &step, &width, &s->scratch);
	t->job->bytes += (int64_t)s->scratch.len + CHUNK_ROW_BYTES;
	e->bulk_int(s->ticks, t->job->no);
	e->bulk_int(s->ticks, t->job->tick_count);
	e->bulk_int(s->ticks, first);
	e->bulk_int(s->ticks, step);
	e->bulk_int(s->ticks, (int64_t)width);
	e->bulk_int(s->ticks, (int64_t)t->ticks.n);
	e->bulk_text(s->ticks, s->scratch.buf, s->scratch.len);
	return e->bulk_row(s->ticks);
}

static int write_track(struct stream *s, const struct stream_track *t)
{
	int r = write_metrics(s, t->job);

	t->job->tick_count++;
	for (size_t i = 0; i < t->lane_count && r == 0; i++) {
		struct stream_entity *k = t->lanes[i].entity;

		if (!k->written || k->new_facts)
			r = write_entity(s, t->job, k);
		if (r == 0)
			r = write_lane(s, t, &t->lanes[i]);
	}
	return r == 0 ? write_ticks(s, t) : r;
}

/* ---- series -----------------------------------------------------------------------------------
 */

/*
 * A counter grows between the last value that is there and the first one that comes, too, and a
 * mean is over the time between them unless that is a gap, as time_mean.h has it, or is known to be
 * over another time.
 */
#define PART "(s.last_us - coalesce(s.begin_us, s.first_us))"
#define NEXT "(excluded.last_us - coalesce(excluded.begin_us, excluded.first_us))"
#define BETWEEN "(excluded.first_us - s.last_us)"
#define IS_MEAN \
	"(SELECT m.kind FROM sample_metric m WHERE m.job = s.job AND m.n = s.metric) = 'mean'"
#define COUNTS                                                                             \
	"(excluded.begin_us IS NULL AND " BETWEEN " > 0 AND (s.count < 3 OR CAST(" BETWEEN \
	" AS DOUBLE PRECISION) * (s.count - 1) <= 2.5 * " PART " OR " IS_MEAN "))"

static int add_to_series(struct stream *s)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store,
		"INSERT INTO sample_series AS s (job, metric, entity, count, first_us, last_us, "
		"minimum, maximum, mean, increase, first_value, last_value, begin_us) "
		"SELECT job, metric, entity, count, first_us, last_us, minimum, maximum, mean, "
		"increase, first_value, last_value, begin_us FROM stage_series WHERE round = $1 "
		"ON CONFLICT (job, metric, entity) DO UPDATE SET "
		"mean = CASE WHEN " COUNTS " THEN (s.mean * " PART " + excluded.mean * " NEXT
		" + CASE WHEN " IS_MEAN " THEN excluded.first_value ELSE (coalesce(s.last_value, "
		"s.mean) + CAST(excluded.first_value AS DOUBLE PRECISION)) / 2 END * CAST(" BETWEEN
		" AS DOUBLE PRECISION)) / "
		"(" PART " + " NEXT " + " BETWEEN ") "
		"WHEN " PART " + " NEXT " > 0 THEN (s.mean * " PART " + excluded.mean * " NEXT
		") / (" PART " + " NEXT ") "
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
		"increase = s.increase + excluded.increase + CASE "
		"WHEN s.last_value < excluded.first_value "
		"THEN CAST(excluded.first_value AS DOUBLE PRECISION) - s.last_value ELSE 0 END, "
		"last_value = excluded.last_value");
	int r = st ? 0 : -EIO;

	for (unsigned round = 0; round < s->rounds && r == 0; round++) {
		stmt_int(st, 1, round);
		r = stmt_run(st);
	}
	return r == 0 ? store_exec(s->store, "DELETE FROM stage_series") : r;
}

static int write_position(struct stream *s, uint64_t position)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store, "INSERT INTO sample_stream (name, position, time_us) VALUES ($1, $2, $3) "
			  "ON CONFLICT (name) DO UPDATE SET position = excluded.position, "
			  "time_us = excluded.time_us");

	if (!st)
		return -EIO;
	stmt_str(st, 1, s->key);
	stmt_int(st, 2, (int64_t)position);
	stmt_int(st, 3, clock_realtime_us());
	return stmt_run(st);
}

/* Jobs that several workers submitted at once. */
static int adopt_sometimes(struct stream *s)
{
	int64_t now = stream_now_us();

	if (now - s->adopted_us < STREAM_ADOPT_US)
		return 0;
	s->adopted_us = now;
	int r = store_merge_streamed(s->store);
	return r < 0 ? r : 0;
}

int stream_write(struct stream *s, uint64_t position)
{
	int r = open_writers(s);

	strbuf_reset(&s->store->error);
	if (r == 0)
		r = adopt_sometimes(s);
	if (r == 0)
		r = stream_jobs_number(s);
	if (r == 0)
		r = store_begin(s->store);
	if (r == 0)
		r = stream_jobs_write(s);
	for (size_t i = 0; i < s->track_count && r == 0; i++)
		r = write_track(s, s->tracks[i]);
	if (r == 0)
		r = flush_writers(s);
	if (r == 0)
		r = add_to_series(s);
	if (r == 0)
		r = stream_jobs_sums(s, false, STREAM_SUMMING_NS);
	if (r == 0)
		r = write_position(s, position);
	return r == 0 ? store_commit(s->store) : r;
}
