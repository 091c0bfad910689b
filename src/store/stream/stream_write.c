/* Commits streamed samples: all rows in one transaction. */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "store/stream/stream_internal.h"

/* Series are merged by one statement from a temporary table. */
static int open_writers(struct stream *s)
{
	if (s->stage)
		return 0;
	int r = store_exec(
		s->store,
		"CREATE TEMP TABLE IF NOT EXISTS stage_series (round BIGINT, job BIGINT, "
		"metric BIGINT, entity BIGINT, count BIGINT, first_us BIGINT, last_us BIGINT, "
		"minimum BIGINT, maximum BIGINT, mean DOUBLE PRECISION, "
		"increase DOUBLE PRECISION, first_value BIGINT, last_value BIGINT, "
		"begin_us BIGINT)");
	if (r == 0)
		r = sample_rows_open(&s->rows, s->store);
	if (r < 0)
		return r;
	s->stage = s->store->engine->bulk_open(
		s->store, "stage_series",
		"round,job,metric,entity,count,first_us,last_us,minimum,maximum,"
		"mean,increase,first_value,last_value,begin_us");
	return s->stage ? 0 : -EIO;
}

void stream_close_writers(struct stream *s)
{
	sample_rows_close(&s->rows);
	s->store->engine->bulk_close(s->stage);
	s->stage = NULL;
}

/* ---- metrics and entities ------------------------------------------------------------------ */

static int write_metrics(struct stream *s, struct stream_job *j)
{
	int r = 0;

	for (size_t i = 0; i < j->metric_count && r == 0; i++) {
		struct stream_metric *m = &j->metrics[i];

		if (m->written)
			continue;
		r = sample_rows_metric(&s->rows, j->no, (int64_t)i + 1, &m->m);
		m->written = true;
	}
	return r;
}

static int write_entity(struct stream *s, struct stream_job *job, struct stream_entity *k)
{
	const struct entity e = {.kind = k->kind, .name = k->name, .metadata = k->metadata};
	int r = sample_rows_entity(&s->rows, job->no, k->number, k->host, &e, k->written,
				   &job->bytes);

	if (!k->written)
		job->bytes += SAMPLE_CHUNK_BYTES;
	k->new_metadata = false;
	k->written = true;
	free(k->host);
	free(k->name);
	k->host = k->name = NULL;
	return r;
}

/* ---- values -------------------------------------------------------------------------------- */

/* A series in what is committed: its figures, and the chunk that is being made. */
struct series_part {
	struct series_sums sums;
	int64_t first; /* value */
	enum metric_kind kind;
	struct delta_coding chunk;
	unsigned skip;
	int64_t low, high; /* of the chunk */
};

static int write_chunk(struct stream *s, const struct stream_track *t, uint32_t metric,
		       uint32_t entity, struct series_part *p)
{
	if (!p->chunk.n)
		return 0;
	int r = sample_rows_chunk(&s->rows, t->job->no, metric, entity, t->job->tick_count, p->skip,
				  &p->chunk, &t->job->bytes);
	p->chunk.n = 0;
	memset(p->chunk.present, 0, sizeof(p->chunk.present));
	return r;
}

/* Does the value fit into the chunk: no gap that is too long, no span that is too wide? */
static bool fits(const struct series_part *p, unsigned tick, int64_t v)
{
	int64_t span;

	return tick >= p->skip + p->chunk.n && tick - p->skip - p->chunk.n <= SAMPLE_GAP_MAX &&
	       !__builtin_sub_overflow(v, p->low, &span) && span != INT64_MIN &&
	       !__builtin_sub_overflow(p->high, v, &span) && span != INT64_MIN;
}

/* How long before this reading the source was read; 0: unknown. */
static int64_t since_before(const struct stream_track *t, unsigned tick)
{
	unsigned before = tick;
	int64_t over;

	/* a large reading comes in several pieces with the same time */
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
	if (!p->sums.count)
		p->first = v;
	series_sums_add(&p->sums, p->kind, v, since_before(t, tick), t->ticks.v[tick]);
	return r;
}

static int stage_series(struct stream *s, const struct stream_track *t, unsigned m, uint32_t entity,
			const struct series_part *p)
{
	const struct series_sums *v = &p->sums;

	return bulk_put(s->stage, db_int(t->round), db_int(t->job->no), db_int(t->metrics[m]),
			db_int(entity), db_int((int64_t)v->count), db_int(v->first_us),
			db_int(v->last_us), db_int(v->minimum), db_int(v->maximum),
			db_real(time_mean_value(&v->mean)),
			t->counters >> m & 1 ? db_real(v->increase) : db_null(), db_int(p->first),
			db_int(v->last), db_int_if(v->begin_us < v->first_us, v->begin_us));
}

static int write_lane(struct stream *s, const struct stream_track *t, const struct stream_lane *l)
{
	uint32_t entity = l->entity->number;
	int r = 0;

	for (unsigned m = 0; m < t->metric_count && r == 0; m++) {
		struct series_part p;

		if (!t->metrics[m])
			continue;
		p.sums = (struct series_sums){0};
		p.kind = t->job->metrics[t->metrics[m] - 1].m.kind;
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
		if (r == 0 && p.sums.count)
			r = stage_series(s, t, m, entity, &p);
	}
	return r;
}

static int write_track(struct stream *s, const struct stream_track *t)
{
	int r = write_metrics(s, t->job);

	t->job->tick_count++;
	for (size_t i = 0; i < t->lane_count && r == 0; i++) {
		struct stream_entity *k = t->lanes[i].entity;

		if (!k->written || k->new_metadata)
			r = write_entity(s, t->job, k);
		if (r == 0)
			r = write_lane(s, t, &t->lanes[i]);
	}
	return r < 0 ? r
		     : sample_rows_ticks(&s->rows, t->job->no, t->job->tick_count, &t->ticks,
					 &t->job->bytes);
}

/* ---- series --------------------------------------------------------------------------------- */

/*
 * A counter also grows between the last stored value and the first new one. A mean covers the time
 * between them, too, unless that is a gap (time_mean.h) or is known to belong to another interval.
 */
#define BETWEEN "(excluded.first_us - s.last_us)"
#define IS_MEAN \
	"(SELECT m.kind FROM sample_metric m WHERE m.job = s.job AND m.n = s.metric) = 'mean'"
#define COUNTS                                                                             \
	"(excluded.begin_us IS NULL AND " BETWEEN " > 0 AND (s.count < 3 OR CAST(" BETWEEN \
	" AS DOUBLE PRECISION) * (s.count - 1) <= 2.5 * " SERIES_PART " OR " IS_MEAN "))"

static int add_to_series(struct stream *s)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store,
		"INSERT INTO sample_series AS s (job, metric, entity, count, first_us, last_us, "
		"minimum, maximum, mean, increase, first_value, last_value, begin_us) "
		"SELECT job, metric, entity, count, first_us, last_us, minimum, maximum, mean, "
		"increase, first_value, last_value, begin_us FROM stage_series WHERE round = $1 "
		"ON CONFLICT (job, metric, entity) DO UPDATE SET "
		"mean = CASE WHEN " COUNTS " THEN (s.mean * " SERIES_PART
		" + excluded.mean * " SERIES_NEXT " + CASE WHEN " IS_MEAN
		" THEN excluded.first_value ELSE (coalesce(s.last_value, "
		"s.mean) + CAST(excluded.first_value AS DOUBLE PRECISION)) / 2 END * CAST(" BETWEEN
		" AS DOUBLE PRECISION)) / "
		"(" SERIES_PART " + " SERIES_NEXT " + " BETWEEN ") " SERIES_MEAN SERIES_MERGE
		"increase = s.increase + excluded.increase + CASE "
		"WHEN s.last_value < excluded.first_value "
		"THEN CAST(excluded.first_value AS DOUBLE PRECISION) - s.last_value ELSE 0 END, "
		"last_value = excluded.last_value");
	int r = st ? 0 : -EIO;

	for (unsigned round = 0; round < s->rounds && r == 0; round++)
		r = stmt_run_with(st, db_int(round));
	return r == 0 ? store_exec(s->store, "DELETE FROM stage_series") : r;
}

static int write_position(struct stream *s, uint64_t position)
{
	return store_run(s->store,
			 "INSERT INTO sample_stream (name, position, time_us) VALUES ($1, $2, $3) "
			 "ON CONFLICT (name) DO UPDATE SET position = excluded.position, "
			 "time_us = excluded.time_us",
			 db_str(s->key), db_int((int64_t)position), db_int(clock_realtime_us()));
}

/* For jobs that several workers submitted at once. */
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
		r = sample_rows_flush(&s->rows);
	if (r == 0)
		r = s->store->engine->bulk_flush(s->stage);
	if (r == 0)
		r = add_to_series(s);
	if (r == 0)
		r = stream_jobs_sums(s, false, STREAM_SUMMING_NS);
	if (r == 0)
		r = write_position(s, position);
	return r == 0 ? store_commit(s->store) : r;
}
