/* Storing sample files; see sample_ingest.h. */
#include "store/ingest/sample_ingest_write.h"

#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "core/text/text.h"
#include "plimsoll/record.h" /* varints */

static void left_out(struct sample_ingest *c, const char *what)
{
	if (!c->full)
		ingest_warn(c->in,
			    "the samples have more %s than can be stored; the rest is left out",
			    what);
	c->full = true;
}

static void note(struct sample_ingest *c, int r)
{
	if (r < 0 && !c->error)
		c->error = r;
}

/* ---- metrics and entities of the job -------------------------------------------------------- */

static bool same_metric(const struct sample_metric *a, const struct sample_metric *b)
{
	return !strcmp(a->name, b->name) && a->unit == b->unit && a->kind == b->kind &&
	       a->agg == b->agg && a->scale == b->scale;
}

/* The number of "source.metric"; 0: too many. */
static uint32_t metric_number(struct sample_ingest *c, const char *source,
			      const struct sample_metric *m)
{
	_cleanup_free_ char *name = xasprintf("%s.%s", source, m->name);
	struct sample_metric full = *m;

	full.name = name;
	full.scale = m->scale != 0 ? m->scale : 1;
	for (size_t i = 0; i < c->metric_count; i++)
		if (same_metric(&c->known_metrics[i].m, &full))
			return c->known_metrics[i].number;
	if (c->metric_count == INGEST_METRICS_MAX) {
		left_out(c, "metrics");
		return 0;
	}
	GROW(c->known_metrics, c->metric_count, c->metric_cap);
	struct ingest_metric *known = &c->known_metrics[c->metric_count++];
	*known = (struct ingest_metric){.number = (uint32_t)c->metric_count, .m = *m};
	known->m.name = xstrdup(name);
	known->m.scale = full.scale;
	known->m.help = m->help ? xstrdup(m->help) : NULL;
	note(c, sample_rows_metric(&c->rows, c->in->job, known->number, &known->m));
	return known->number;
}

/* The entry of a live entity. */
static struct ingest_entity *entity_of(struct sample_ingest *c, const struct known *k)
{
	const struct entity e = {.kind = k->kind, .name = k->name};

	return sample_ingest_entity(c, &e);
}

/* ---- entities that are alive ---------------------------------------------------------------- */

/* The last source that had it no longer has it. */
static void forget_known(struct sample_ingest *c, struct ingest_entity *e)
{
	struct known *k = e->known;

	if (!c->error && e->written) {
		note(c, sample_ingest_write_entity(c, k));
		e->stored = true;
	}
	e->known = NULL;
	free(k->name);
	free(k->metadata);
	free(k);
}

/* The entity gets no more values from a source: writes its series. */
static void end_entity(struct sample_ingest *c, struct ingest_source *s, struct live *live)
{
	struct known *k = live->known;
	size_t number = (size_t)(s - c->sources);

	if (!k)
		return;
	struct ingest_entity *e = entity_of(c, k);
	for (size_t m = 0; live->series && m < s->metric_count; m++) {
		struct live_series *v = live->series[m];

		if (!v)
			continue;
		if (!c->error && v->sums.count)
			note(c, sample_ingest_write_chunk(c, s, s->metrics[m], k->number, v));
		if (!c->error && v->sums.count)
			note(c, sample_ingest_write_series(c, s->metrics[m], k->number, live->again,
							   s->kinds[m] == KIND_COUNTER, v));
		e->written = true;
		free(v->buf);
		free(v);
		c->alive--;
	}
	free(live->series);
	*live = (struct live){0};
	k->sources[number / 64] &= ~((uint64_t)1 << (number % 64));
	if (--k->refs == 0)
		forget_known(c, e);
}

static void merge_metadata(struct known *k, const struct entity *e)
{
	bool changed;

	if (!e->metadata)
		return;
	char *merged = entity_merge_metadata(k->metadata, e, &changed);
	free(k->metadata);
	k->metadata = merged;
}

/* An entity at an index of a source: ends another one there, or takes new metadata of the same. */
static void take_entity(struct sample_ingest *c, struct ingest_source *s, uint32_t place,
			const struct entity *entity)
{
	size_t number = (size_t)(s - c->sources);

	if (!s->metric_count)
		return;
	if (place >= s->live_count) {
		size_t n = s->live_count * 2 > place ? s->live_count * 2 : place + 1;

		s->lives = xreallocarray(s->lives, n, sizeof(*s->lives));
		memset(s->lives + s->live_count, 0, (n - s->live_count) * sizeof(*s->lives));
		s->live_count = n;
	}
	struct live *live = &s->lives[place];
	if (live->known && live->known->kind == entity->kind &&
	    !strcmp(live->known->name, entity->name)) {
		merge_metadata(live->known, entity);
		return;
	}
	end_entity(c, s, live);
	struct ingest_entity *e = sample_ingest_entity(c, entity);
	if (!e) {
		left_out(c, "entities");
		return;
	}
	struct known *k = e->known;
	/* the same entity at two indices: keeps the first */
	if (k && k->sources[number / 64] >> (number % 64) & 1)
		return;
	if (!k) {
		k = e->known = xcalloc(1, sizeof(*k));
		k->number = e->number;
		k->by = e->by;
		k->kind = entity->kind;
		k->name = xstrdup(entity->name);
		k->in_store = e->stored;
	}
	merge_metadata(k, entity);
	k->refs++;
	k->sources[number / 64] |= (uint64_t)1 << (number % 64);
	*live = (struct live){
		.known = k, .again = e->written, .began_us = sample_ingest_process_begin(c, k)};
}

/* ---- values --------------------------------------------------------------------------------- */

static void put_code(struct sample_ingest *c, struct live_series *v, uint64_t code)
{
	if (v->size + PL_VARINT_MAX > v->cap) {
		v->cap = (uint16_t)(v->cap ? v->cap * 2 : 32);
		v->buf = xreallocarray(v->buf, v->cap, 1);
	}
	unsigned char *end = pl_put_varint(v->buf + v->size, code);
	c->buffered += (size_t)(end - v->buf) - v->size;
	v->size = (uint16_t)(end - v->buf);
}

/* Counters of a process start at 0 with it: so its value was 0 at the previous reading, if the
 * process is younger than that. Its start is known to a clock tick. */
static bool counts_from_zero(const struct ingest_source *s, const struct live *live, size_t m)
{
	return s->kinds[m] == KIND_COUNTER && live->began_us != INT64_MIN && !live->again &&
	       s->before_us != INT64_MIN && live->began_us <= s->time_us &&
	       live->began_us >= s->before_us - PL_TICK_US;
}

/* Time since the previous reading of the source; 0: unknown. */
static int64_t since_before(const struct ingest_source *s)
{
	int64_t over;

	return s->before_us != INT64_MIN && !__builtin_sub_overflow(s->time_us, s->before_us, &over)
		       ? over
		       : 0;
}

/* Adds a value of the last tick of the block; begins a new chunk if it does not fit. */
static int add_value(struct sample_ingest *c, const struct ingest_source *s,
		     const struct live *live, size_t m, int64_t value)
{
	struct live_series *v = live->series[m];
	size_t i = s->ticks.n - 1;
	int64_t difference = 0, span;
	int r = 0;

	if (v->n &&
	    (i - v->skip - v->n > SAMPLE_GAP_MAX || i < (size_t)v->skip + v->n ||
	     __builtin_sub_overflow(value, v->base, &span) || span == INT64_MIN ||
	     __builtin_sub_overflow(value, v->last, &difference) || difference == INT64_MIN))
		r = sample_ingest_write_chunk(c, s, s->metrics[m], live->known->number, v);
	if (!v->n) {
		v->skip = (uint16_t)i;
		v->base = value;
	} else {
		while ((size_t)v->skip + v->n < i) {
			put_code(c, v, 0);
			v->n++;
		}
		put_code(c, v, ((uint64_t)difference << 1 ^ (difference < 0 ? UINT64_MAX : 0)) + 1);
	}
	v->n++;
	bool first = !v->sums.count;
	series_sums_add(&v->sums, s->kinds[m], value, since_before(s), s->ticks.v[i]);
	if (first && counts_from_zero(s, live, m)) {
		v->sums.begin_us = s->before_us;
		v->sums.increase = value > 0 ? (double)value : 0;
	}
	v->last = value;
	return r;
}

struct live_series *sample_ingest_series(struct sample_ingest *c, const struct ingest_source *s,
					 struct live *live, size_t m)
{
	if (!live->series)
		live->series = xcalloc(s->metric_count, sizeof(*live->series));
	if (!live->series[m] && c->alive >= INGEST_SERIES_MAX) {
		left_out(c, "series");
	} else if (!live->series[m]) {
		live->series[m] = xcalloc(1, sizeof(struct live_series));
		c->alive++;
	}
	return live->series[m];
}

static int add_row(struct sample_ingest *c, const struct ingest_source *s, struct live *live,
		   uint64_t present, const int64_t *values)
{
	int r = 0;

	for (size_t m = 0; m < s->metric_count && r == 0; m++)
		if (present >> m & 1 && s->metrics[m] && sample_ingest_series(c, s, live, m))
			r = add_value(c, s, live, m, values[m]);
	return r;
}

/* Another run has this row: its series includes the increase up to here. */
static void pass_over(const struct ingest_source *s, const struct live *live, uint64_t present,
		      const int64_t *values)
{
	for (size_t m = 0; live->series && m < s->metric_count; m++)
		if (present >> m & 1 && live->series[m])
			live->series[m]->sums.last = values[m];
}

static int take_rows(struct sample_ingest *c, struct ingest_source *s, const struct sample_file *f)
{
	const struct sample_set *set = &f->reading;
	uint64_t processes = 0;
	int r = 0;

	for (size_t i = 0; i < set->row_count && r == 0; i++) {
		const struct sample_row *row = &set->rows[i];
		const int64_t *values = set->values + i * set->metric_count;

		if (row->entity >= s->live_count || !s->lives[row->entity].known)
			continue;
		struct live *live = &s->lives[row->entity];
		processes += live->known->kind == ENTITY_PROCESS;
		if (sample_ingest_wants(c, live, f->time_us))
			r = add_row(c, s, live, row->present, values);
		else
			pass_over(s, live, row->present, values);
	}
	sample_ingest_note_reading(c, f->time_us, processes);
	return r;
}

static void note_time(struct sample_ingest *c, int64_t time_us)
{
	struct sample_ingest_result *r = &c->result;

	r->first_us = !r->readings || time_us < r->first_us ? time_us : r->first_us;
	r->last_us = !r->readings || time_us > r->last_us ? time_us : r->last_us;
	r->readings++;
}

static int add_reading(struct sample_ingest *c, const struct sample_file *f)
{
	struct ingest_source *s = &c->sources[f->source];
	int r = 0;

	if (!s->metric_count)
		return 0;
	if (c->passing) {
		sample_ingest_pass_reading(c, s, f);
		return 0;
	}
	if (c->buffered > INGEST_BUFFER_MAX)
		for (size_t i = 0; i < c->source_count && r == 0; i++)
			r = sample_ingest_end_block(c, &c->sources[i]);
	if (r == 0 && s->ticks.n == DELTA_CODING_MAX)
		r = sample_ingest_end_block(c, s);
	if (r < 0)
		return r;
	if (!s->ticks.n)
		s->tick = ++c->tick_count;
	delta_coding_put(&s->ticks, s->ticks.n++, f->time_us);
	sample_ingest_take_time(s, f->time_us);
	note_time(c, f->time_us);
	return take_rows(c, s, f);
}

/* ---- sources and files ---------------------------------------------------------------------- */

static void end_source(struct sample_ingest *c, struct ingest_source *s)
{
	if (!c->error)
		note(c, sample_ingest_end_block(c, s));
	for (size_t i = 0; i < s->live_count; i++)
		end_entity(c, s, &s->lives[i]);
	free(s->lives);
	free(s->name);
	*s = (struct ingest_source){0};
}

static void end_host(struct sample_ingest *c)
{
	note(c, sample_ingest_end_run(c));
	for (size_t i = 0; i < c->source_count; i++)
		end_source(c, &c->sources[i]);
	c->source_count = 0;
	free(c->host);
	c->host = NULL;
}

static void begin_host(struct sample_ingest *c, const struct sample_file *f)
{
	struct strbuf host = STRBUF_INIT;
	const char *name = f->head.host && *f->head.host ? f->head.host : "unknown";

	end_host(c);
	text_add_printable(&host, name, strlen(name));
	c->host = strbuf_take(&host);
	c->boot_us = (f->head.realtime_ns - (int64_t)f->head.boottime_ns) / 1000;
	c->seen = sample_ingest_seen(c, &f->head);
	sample_ingest_begin_run(c, f->head.realtime_ns / 1000);
	if (!c->seen)
		ingest_host(c->in, c->host);
}

static void begin_source(struct sample_ingest *c, const struct sample_file *f)
{
	const struct sample_file_source *from = &f->sources[f->source];

	if (f->source >= c->source_count) {
		c->sources = xreallocarray(c->sources, f->source + 1, sizeof(*c->sources));
		memset(c->sources + c->source_count, 0,
		       (f->source + 1 - c->source_count) * sizeof(*c->sources));
		c->source_count = f->source + 1;
	}
	struct ingest_source *s = &c->sources[f->source];
	end_source(c, s);
	/* only one source of a name: two would share series */
	for (size_t i = 0; i < c->source_count; i++)
		if (c->sources[i].name && !strcmp(c->sources[i].name, from->name))
			return;
	s->name = xstrdup(from->name);
	s->time_us = s->before_us = INT64_MIN;
	s->metric_count = from->metric_count;
	for (size_t m = 0; m < s->metric_count; m++) {
		s->metrics[m] = metric_number(c, s->name, &from->metrics[m]);
		s->kinds[m] = from->metrics[m].kind;
		/* nor two metrics of a name */
		for (size_t k = 0; k < m; k++)
			if (s->metrics[k] == s->metrics[m])
				s->metrics[m] = 0;
	}
}

static int add_absence(struct sample_ingest *c, const struct sample_file *f)
{
	const struct sample_file_source *s = &f->sources[f->source];
	_cleanup_free_ char *name = xasprintf(
		"%s.%s", s->name, f->metric < s->metric_count ? s->metrics[f->metric].name : "*");

	return sample_ingest_write_absence(c, name, f->reason);
}

static int take_event(struct sample_ingest *c, const struct sample_file *f, enum sample_event event)
{
	int r = 0;

	if (c->seen && event != SAMPLE_HEAD)
		return 0;
	switch (event) {
	case SAMPLE_HEAD:
		begin_host(c, f);
		break;
	case SAMPLE_SOURCE:
		begin_source(c, f);
		break;
	case SAMPLE_ENTITY:
		take_entity(c, &c->sources[f->source], f->entity,
			    &f->sources[f->source].entities[f->entity]);
		break;
	case SAMPLE_READING:
		if (c->session < c->session_count)
			c->sessions[c->session].readings++;
		r = add_reading(c, f);
		c->passing -= c->passing > 0;
		break;
	case SAMPLE_ABSENT:
		r = c->passing ? 0 : add_absence(c, f);
		break;
	case SAMPLE_LOST:
		if (c->passing)
			break;
		ingest_warn(c->in, "%llu %s of %s could not be written when sampled",
			    (unsigned long long)f->count, plural(f->count, "sample", "samples"),
			    c->host);
		break;
	default:
		break;
	}
	return r < 0 ? r : c->error;
}

static void warn_of_damage(struct sample_ingest *c, const struct sample_file *f, const char *name)
{
	if (f->damaged_places)
		ingest_warn(c->in, "'%s': %llu bytes in %llu %s are damaged, %llu %s missing", name,
			    (unsigned long long)f->damaged_bytes,
			    (unsigned long long)f->damaged_places,
			    plural(f->damaged_places, "place", "places"),
			    (unsigned long long)f->skipped_readings,
			    plural(f->skipped_readings, "sample is", "samples are"));
}

int sample_ingest_file(struct sample_ingest *c, int fd, const char *name, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	struct sample_file f;
	int r = sample_file_open(&f, fd, &reason);

	if (r == -EBADMSG) {
		ingest_warn(c->in, "'%s' %s; left out", name, reason.buf);
		return 0;
	}
	if (r < 0)
		return strbuf_fail(why, r, "'%s': %s", name, reason.buf);
	int event = 0;
	while (r == 0 && (event = sample_file_next(&f)) > 0)
		r = take_event(c, &f, (enum sample_event)event);
	if (r == 0 && event < 0) {
		strbuf_addf(why, "cannot read '%s': %s", name, strerror(-event));
		r = event;
	}
	note(c, r);
	end_host(c);
	if (r == 0)
		r = c->error;
	if (r < 0 && !why->len && c->in->store)
		strbuf_addf(why, "'%s': %s", name, store_error(c->in->store));
	warn_of_damage(c, &f, name);
	c->result.files++;
	sample_file_close(&f);
	return r;
}

struct sample_ingest *sample_ingest_new(struct ingest *in)
{
	struct sample_ingest *c = xcalloc(1, sizeof(*c));

	c->in = in;
	c->part_end_us = INT64_MAX;
	c->error = sample_ingest_open_writers(c);
	return c;
}

int sample_ingest_finish(struct sample_ingest *c, struct sample_ingest_result *ret,
			 struct strbuf *why)
{
	int r = c->error ? c->error : sample_ingest_flush_writers(c);

	/* an entity that comes again may add to a series or begin one: the store knows */
	int64_t series = 0;
	if (r == 0 && c->in->store) {
		r = store_number_of(c->in->store,
				    "SELECT count(*) FROM sample_series WHERE job = $1", &series,
				    db_int(c->in->job));
		c->result.series = (uint64_t)series;
	}
	if (r == 0 && c->in->store && !c->in->tree.count)
		r = sample_ingest_sum_sampled(c);
	if (r < 0)
		strbuf_addstr(why, store_error(c->in->store));
	else if (c->result.readings)
		ingest_times(c->in, c->result.first_us, c->result.last_us);
	*ret = c->result;
	return r;
}

void sample_ingest_free(struct sample_ingest *c)
{
	if (!c)
		return;
	c->error = c->error ? c->error : -ECANCELED; /* writes nothing more */
	end_host(c);
	sample_ingest_close_writers(c);
	for (size_t i = 0; i < c->metric_count; i++) {
		free((char *)c->known_metrics[i].m.name);
		free((char *)c->known_metrics[i].m.help);
	}
	free(c->known_metrics);
	free(c->entities);
	hash_map_release(&c->entity_index);
	free(c->sources);
	free(c->sessions);
	sample_ingest_forget_runs(c);
	free(c);
}
