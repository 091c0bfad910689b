/* Sample files on their way into a store; see sample_ingest.h. */
#include "store/ingest/sample_ingest_write.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/system/procparse.h"
#include "core/text/text.h"
#include "plimsoll/record.h" /* varints */

static void left_out(struct sample_ingest *c, const char *what)
{
	if (!c->full)
		ingest_warn(c->in,
			    "more %s in the samples than can be stored; the rest is left out",
			    what);
	c->full = true;
}

/* ---- metrics and entities of the job -------------------------------------------------------- */

static bool same_metric(const struct sample_metric *a, const struct sample_metric *b)
{
	return !strcmp(a->name, b->name) && a->unit == b->unit && a->kind == b->kind &&
	       a->agg == b->agg && a->scale == b->scale;
}

/* The number of "source.metric", 0 when there are too many. */
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
	if (c->metric_count == CURVE_METRICS_MAX) {
		left_out(c, "metrics");
		return 0;
	}
	GROW(c->known_metrics, c->metric_count, c->metric_cap);
	struct ingest_metric *known = &c->known_metrics[c->metric_count++];
	*known = (struct ingest_metric){.number = (uint32_t)c->metric_count, .m = *m};
	known->m.name = xstrdup(name);
	known->m.scale = full.scale;
	known->m.help = m->help ? xstrdup(m->help) : NULL;
	int r = sample_ingest_write_metric(c, known);
	if (r < 0)
		c->error = r;
	return known->number;
}

/* The place of an entity by its number and what is known of it. */
static struct ingest_entity *entity_of(struct sample_ingest *c, const struct known *k)
{
	const struct entity e = {.kind = k->kind, .name = k->name};

	return sample_ingest_entity(c, &e);
}

/* Facts of several sources about one entity: the lines of both, those of the newer one first. */
static void merge_facts(struct known *k, const struct entity *e)
{
	struct strbuf out = STRBUF_INIT;

	if (!e->facts)
		return;
	strbuf_addstr(&out, e->facts);
	for (const char *p = k->facts; p && *p;) {
		size_t key = strcspn(p, "="), line = strcspn(p, "\n") + 1;
		_cleanup_free_ char *name = xstrndup(p, key);
		const char *value;
		size_t size;

		if (!entity_fact(e, name, &value, &size))
			strbuf_add(&out, p, line);
		p += line;
	}
	free(k->facts);
	k->facts = strbuf_take(&out);
}

/* ---- entities that are alive ---------------------------------------------------------------- */

static void note(struct sample_ingest *c, int r)
{
	if (r < 0 && !c->error)
		c->error = r;
}

/* The last source that had it has it no more. */
static void forget_known(struct sample_ingest *c, struct ingest_entity *e)
{
	struct known *k = e->known;

	if (!c->error && e->written) {
		note(c, sample_ingest_write_entity(c, k));
		e->stored = true;
	}
	e->known = NULL;
	free(k->name);
	free(k->facts);
	free(k);
}

/* The entity at a place of a source has no more values: its series are complete for now. */
static void end_life(struct sample_ingest *c, struct ingest_source *s, struct live *live)
{
	struct known *k = live->known;
	size_t number = (size_t)(s - c->sources);

	if (!k)
		return;
	struct ingest_entity *e = entity_of(c, k);
	for (size_t m = 0; live->curves && m < s->metric_count; m++) {
		struct curve *v = live->curves[m];

		if (!v)
			continue;
		if (!c->error && v->count)
			note(c, sample_ingest_write_chunk(c, s, s->metrics[m], k->number, v));
		if (!c->error && v->count)
			note(c, sample_ingest_write_series(c, s->metrics[m], k->number, live->again,
							   s->kinds[m] == KIND_COUNTER, v));
		e->written = true;
		free(v->buf);
		free(v);
		c->alive--;
	}
	free(live->curves);
	*live = (struct live){0};
	k->sources[number / 64] &= ~((uint64_t)1 << (number % 64));
	if (--k->refs == 0)
		forget_known(c, e);
}

/* An entity is told: another one at its place has ended, and of itself there may be new facts. */
static void tell_entity(struct sample_ingest *c, struct ingest_source *s, uint32_t place,
			const struct entity *told)
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
	if (live->known && live->known->kind == told->kind &&
	    !strcmp(live->known->name, told->name)) {
		merge_facts(live->known, told);
		return;
	}
	end_life(c, s, live);
	struct ingest_entity *e = sample_ingest_entity(c, told);
	if (!e) {
		left_out(c, "entities");
		return;
	}
	struct known *k = e->known;
	/* the same one at two places: the first stays */
	if (k && k->sources[number / 64] >> (number % 64) & 1)
		return;
	if (!k) {
		k = e->known = xcalloc(1, sizeof(*k));
		k->number = e->number;
		k->by = e->by;
		k->kind = told->kind;
		k->name = xstrdup(told->name);
		k->in_store = e->stored;
	}
	merge_facts(k, told);
	k->refs++;
	k->sources[number / 64] |= (uint64_t)1 << (number % 64);
	*live = (struct live){
		.known = k, .again = e->written, .began_us = sample_ingest_process_begin(c, k)};
}

/* ---- values --------------------------------------------------------------------------------- */

static void put_code(struct sample_ingest *c, struct curve *v, uint64_t code)
{
	if (v->size + PL_VARINT_MAX > v->cap) {
		v->cap = (uint16_t)(v->cap ? v->cap * 2 : 32);
		v->buf = xreallocarray(v->buf, v->cap, 1);
	}
	unsigned char *end = pl_put_varint(v->buf + v->size, code);
	c->buffered += (size_t)(end - v->buf) - v->size;
	v->size = (uint16_t)(end - v->buf);
}

/* What a process counts began at 0 with it: it was that when its source was read before, where the
 * process is younger. Its begin is known by the tick. */
static bool counts_from_zero(const struct ingest_source *s, const struct live *live, size_t m)
{
	return s->kinds[m] == KIND_COUNTER && live->began_us != INT64_MIN && !live->again &&
	       s->before_us != INT64_MIN && live->began_us <= s->time_us &&
	       live->began_us >= s->before_us - PL_TICK_US;
}

static void add_statistics(struct curve *v, enum metric_kind kind, int64_t value, int64_t over_us,
			   int64_t time_us)
{
	if (!v->count) {
		v->minimum = v->maximum = value;
		v->first_us = v->last_us = time_us;
		v->begin_us = kind == KIND_MEAN || v->goes_on ? time_us - over_us : time_us;
	}
	if ((v->count || v->goes_on) && value > v->counted) {
		v->increase += (double)value - (double)v->counted;
	}
	v->counted = value;
	v->minimum = value < v->minimum ? value : v->minimum;
	v->maximum = value > v->maximum ? value : v->maximum;
	v->first_us = time_us < v->first_us ? time_us : v->first_us;
	v->last_us = time_us > v->last_us ? time_us : v->last_us;
	v->count++;
	time_mean_add(&v->mean, kind, over_us, time_us, (double)value);
}

/* How long before this reading its source was read; 0: not known. */
static int64_t since_before(const struct ingest_source *s)
{
	int64_t over;

	return s->before_us != INT64_MIN && !__builtin_sub_overflow(s->time_us, s->before_us, &over)
		       ? over
		       : 0;
}

/* Adds the value of tick i of the block; a chunk ends where its numbers would not fit. */
static int add_value(struct sample_ingest *c, const struct ingest_source *s,
		     const struct live *live, size_t m, int64_t value)
{
	struct curve *v = live->curves[m];
	size_t i = s->ticks.n - 1;
	int64_t difference = 0, span;
	int r = 0;

	if (v->n &&
	    (i - v->skip - v->n > CURVE_GAP_MAX || i < (size_t)v->skip + v->n ||
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
	bool first = !v->count;
	add_statistics(v, s->kinds[m], value, since_before(s), s->ticks.v[i]);
	if (first && counts_from_zero(s, live, m)) {
		v->begin_us = s->before_us;
		v->increase = value > 0 ? (double)value : 0;
	}
	v->last = value;
	return r;
}

struct curve *sample_ingest_of(struct sample_ingest *c, const struct ingest_source *s,
			       struct live *live, size_t m)
{
	if (!live->curves)
		live->curves = xcalloc(s->metric_count, sizeof(*live->curves));
	if (!live->curves[m] && c->alive >= CURVE_SERIES_MAX) {
		left_out(c, "series");
	} else if (!live->curves[m]) {
		live->curves[m] = xcalloc(1, sizeof(struct curve));
		c->alive++;
	}
	return live->curves[m];
}

static int add_row(struct sample_ingest *c, const struct ingest_source *s, struct live *live,
		   uint64_t present, const int64_t *values)
{
	int r = 0;

	for (size_t m = 0; m < s->metric_count && r == 0; m++)
		if (present >> m & 1 && s->metrics[m] && sample_ingest_of(c, s, live, m))
			r = add_value(c, s, live, m, values[m]);
	return r;
}

/* Another run has this row: what a counter rose by until then is in its series. */
static void pass_over(const struct ingest_source *s, const struct live *live, uint64_t present,
		      const int64_t *values)
{
	for (size_t m = 0; live->curves && m < s->metric_count; m++)
		if (present >> m & 1 && live->curves[m])
			live->curves[m]->counted = values[m];
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
	if (c->buffered > CURVE_BUFFER_MAX)
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
		end_life(c, s, &s->lives[i]);
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
	/* one of a name: two could claim the same series */
	for (size_t i = 0; i < c->source_count; i++)
		if (c->sources[i].name && !strcmp(c->sources[i].name, from->name))
			return;
	s->name = xstrdup(from->name);
	s->time_us = s->before_us = INT64_MIN;
	s->metric_count = from->metric_count;
	for (size_t m = 0; m < s->metric_count; m++) {
		s->metrics[m] = metric_number(c, s->name, &from->metrics[m]);
		s->kinds[m] = from->metrics[m].kind;
		/* nor two metrics of a name in one source */
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
		tell_entity(c, &c->sources[f->source], f->entity,
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
		ingest_warn(c->in, "%llu %s of %s could not be written when taken",
			    (unsigned long long)f->count, plural(f->count, "reading", "readings"),
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
			    plural(f->skipped_readings, "reading is", "readings are"));
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
	if (r < 0) {
		strbuf_addf(why, "'%s': %s", name, reason.buf);
		return r;
	}
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
	c->array = (struct strbuf)STRBUF_INIT;
	c->part_end_us = INT64_MAX;
	c->error = sample_ingest_open_writers(c);
	return c;
}

/* An entity that comes again may add to a series or begin one: the store knows. */
static int count_series(struct sample_ingest *c)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(c->in->store, "SELECT count(*) FROM sample_series WHERE job = $1");

	if (!st)
		return -EIO;
	stmt_int(st, 1, c->in->job);
	int r = stmt_step(st);
	if (r == 1)
		c->result.series = (uint64_t)stmt_get_int(st, 0);
	return r < 0 ? r : 0;
}

int sample_ingest_finish(struct sample_ingest *c, struct sample_ingest_result *ret,
			 struct strbuf *why)
{
	int r = c->error ? c->error : sample_ingest_flush_writers(c);

	if (r == 0 && c->in->store)
		r = count_series(c);
	if (r == 0 && c->in->store && !c->in->forest.count)
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
	c->error = c->error ? c->error : -ECANCELED; /* nothing more is written */
	end_host(c);
	sample_ingest_close_writers(c);
	for (size_t i = 0; i < c->metric_count; i++) {
		free((char *)c->known_metrics[i].m.name);
		free((char *)c->known_metrics[i].m.help);
	}
	free(c->known_metrics);
	free(c->table);
	free(c->sources);
	free(c->sessions);
	sample_ingest_forget_runs(c);
	strbuf_release(&c->array);
	free(c);
}
