/* From sample files to perfmon's columns; see perfmon_series.h. */
#include "compat/perfmon/perfmon_series.h"

#include <errno.h>
#include <string.h>

/* The last value of one entity of a counter, so that the sum does not fall when an interface
 * disappears. */
struct perfmon_last {
	char *entity;
	int64_t raw;
	uint64_t reading; /* the last tick in which it was seen */
};

/* Interfaces of containers come and go; above this number those that are gone are added up. */
#define LAST_MAX 4096
#define COLUMNS_MAX 65536
#define EARLY_US 50000
#define PERIOD_MAX_US ((int64_t)86400 * 1000000)

/* The key of each metric of a source. */
struct wire {
	const struct perfmon_key *key;
	unsigned metric;
	ssize_t column; /* -1: one per entity */
	size_t hint;    /* one less than the first of these */
};

struct wires {
	struct wire *list;
	size_t count, cap;
};

struct reader {
	struct perfmon_series *series;
	struct perfmon_series job; /* the columns of the job in the current run */
	struct perfmon_span run;
	struct sample_file file;
	struct wires *sources; /* by their number in the file */
	size_t source_count;
	bool wanted; /* the current samples are of our host */
};

/* ---- ends ------------------------------------------------------------------------------------ */

static void column_release(struct perfmon_column *c)
{
	for (size_t i = 0; i < c->last_count; i++)
		free(c->last[i].entity);
	free(c->last);
	free(c->entity);
	free(c->points);
}

void perfmon_series_release(struct perfmon_series *s)
{
	for (size_t i = 0; i < s->count; i++)
		column_release(&s->columns[i]);
	free(s->columns);
	for (size_t f = 0; f < PERFMON_FILES; f++)
		for (size_t i = 0; i < ARRAY_SIZE(s->clocks[f]); i++)
			free(s->clocks[f][i].list);
	for (size_t i = 0; i < s->run_count; i++)
		value_free(s->runs[i].processes);
	free(s->runs);
	value_free(s->gpus);
	value_free(s->processes);
	*s = (struct perfmon_series){0};
}

static void forget_sources(struct reader *r)
{
	for (size_t i = 0; i < r->source_count; i++)
		free(r->sources[i].list);
	free(r->sources);
	r->sources = NULL;
	r->source_count = 0;
}

/* ---- wiring ---------------------------------------------------------------------------------- */

size_t perfmon_series_column(struct perfmon_series *s, const struct perfmon_key *k,
			     const char *entity, size_t hint)
{
	for (size_t n = 0; n < s->count; n++) {
		size_t i = (hint + n) % s->count;
		const struct perfmon_column *c = &s->columns[i];

		if (c->key == k && (!entity || !strcmp(c->entity, entity)))
			return i;
	}
	if (s->count >= COLUMNS_MAX)
		return SIZE_MAX;
	GROW(s->columns, s->count, s->cap);
	s->columns[s->count] =
		(struct perfmon_column){.key = k, .entity = entity ? xstrdup(entity) : NULL};
	return s->count++;
}

/* A monitor that was restarted may have another scale for the source. */
static void set_scale(struct perfmon_column *c, const struct sample_metric *m, unsigned every)
{
	perfmon_factor(c->key, m, &c->times, &c->by);
	c->counter = m->kind == KIND_COUNTER;
	c->every = every;
}

/* The places of the columns of a key. */
static struct perfmon_series *series_of(struct reader *r, const struct perfmon_key *k)
{
	return k->entity == ENTITY_JOB ? &r->job : r->series;
}

static void wire_source(struct reader *r, unsigned number)
{
	const struct sample_file_source *src = &r->file.sources[number];

	while (r->source_count <= number) {
		r->sources = xreallocarray(r->sources, r->source_count + 1, sizeof(*r->sources));
		r->sources[r->source_count++] = (struct wires){0};
	}
	struct wires *w = &r->sources[number];
	w->count = 0;
	for (size_t i = 0; i < perfmon_key_count; i++) {
		const struct perfmon_key *k = &perfmon_keys[i];

		if (strcmp(k->source, src->name) != 0)
			continue;
		for (unsigned m = 0; m < src->metric_count; m++) {
			if (strcmp(src->metrics[m].name, k->metric) != 0)
				continue;
			struct wire wire = {.key = k, .metric = m, .column = -1};

			if (!perfmon_key_each(k)) {
				struct perfmon_series *s = series_of(r, k);

				wire.column = (ssize_t)perfmon_series_column(s, k, NULL, 0);
				if (wire.column < 0)
					continue;
				set_scale(&s->columns[wire.column], &src->metrics[m], src->every);
			}
			GROW(w->list, w->count, w->cap);
			w->list[w->count++] = wire;
		}
	}
}

/* ---- readings -------------------------------------------------------------------------------- */

void perfmon_column_add(struct perfmon_column *c, int64_t at_us, int64_t raw, bool present)
{
	if (c->count && at_us <= c->points[c->count - 1].at_us)
		return;
	GROW(c->points, c->count, c->cap);
	c->points[c->count++] = (struct perfmon_point){at_us, raw, present};
	c->any = c->any || present;
}

/* Entities that were also absent in the previous tick will not return. */
static void drop_gone(struct perfmon_column *c, uint64_t reading)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->last_count; i++) {
		if (c->last[i].reading + 1 < reading) {
			c->gone = perfmon_sum(c->gone, c->last[i].raw);
			free(c->last[i].entity);
		} else {
			c->last[kept++] = c->last[i];
		}
	}
	c->last_count = kept;
}

/* Entities mostly keep their order. */
static void remember(struct perfmon_column *c, size_t hint, const char *entity, int64_t raw,
		     uint64_t reading)
{
	for (size_t i = 0; i < c->last_count; i++) {
		struct perfmon_last *l = &c->last[(hint + i) % c->last_count];

		if (!strcmp(l->entity, entity)) {
			l->raw = raw;
			l->reading = reading;
			return;
		}
	}
	if (c->last_count >= LAST_MAX)
		drop_gone(c, reading);
	GROW(c->last, c->last_count, c->last_cap);
	c->last[c->last_count++] = (struct perfmon_last){xstrdup(entity), raw, reading};
}

/* The entity of a row if it has the kind of the key. */
static const struct entity *row_entity(const struct reader *r, size_t row, enum entity_kind kind)
{
	const struct sample_set *set = &r->file.reading;
	uint32_t number = set->rows[row].entity;

	if (number >= set->entity_count || set->entities[number].kind != kind)
		return NULL;
	return &set->entities[number];
}

static void take_sum(struct reader *r, const struct wire *w, int64_t at_us)
{
	const struct sample_set *set = &r->file.reading;
	struct perfmon_column *c = &series_of(r, w->key)->columns[w->column];
	bool counter = set->metrics[w->metric].kind == KIND_COUNTER, any = false;
	int64_t sum = 0;

	for (size_t i = 0; i < set->row_count; i++) {
		const struct entity *e = row_entity(r, i, w->key->entity);

		if (!e || !(set->rows[i].present >> w->metric & 1))
			continue;
		int64_t raw = set->values[i * set->metric_count + w->metric];

		any = true;
		if (counter)
			remember(c, i, e->name, raw, c->count);
		else
			sum = perfmon_sum(sum, raw);
	}
	sum = perfmon_sum(sum, c->gone);
	for (size_t i = 0; counter && i < c->last_count; i++)
		sum = perfmon_sum(sum, c->last[i].raw);
	perfmon_column_add(c, at_us, sum, any);
}

static void take_each(struct reader *r, struct wire *w, int64_t at_us, unsigned every)
{
	const struct sample_set *set = &r->file.reading;
	size_t at = w->hint;
	bool any = false;

	for (size_t i = 0; i < set->row_count; i++) {
		const struct entity *e = row_entity(r, i, w->key->entity);

		if (!e)
			continue;
		at = perfmon_series_column(r->series, w->key, e->name, at + 1);
		if (at == SIZE_MAX)
			return;
		if (!any)
			w->hint = at - 1;
		any = true;
		struct perfmon_column *c = &r->series->columns[at];

		if (!c->by)
			set_scale(c, &set->metrics[w->metric], every);
		perfmon_column_add(c, at_us, set->values[i * set->metric_count + w->metric],
				   set->rows[i].present >> w->metric & 1);
	}
}

/*
 * Whole seconds, each once: readers divide by their differences. Of two ticks in one second, as at
 * the end of a job, the counters of the second are used.
 */
static void add_tick(struct perfmon_ticks *t, int64_t at_us, int64_t stamp)
{
	if (t->count) {
		struct perfmon_tick *last = &t->list[t->count - 1];

		if (at_us <= last->until_us)
			return;
		if (stamp == last->stamp_s) {
			last->until_us = at_us;
			return;
		}
	}
	GROW(t->list, t->count, t->cap);
	t->list[t->count++] = (struct perfmon_tick){at_us, at_us, stamp};
}

/* Ticks are at whole periods of the wall clock: one that came slightly early does not belong to the
 * previous second. */
static void take_tick(struct perfmon_series *s, const char *source, int64_t at_us, int64_t time_us)
{
	int64_t early = time_us > INT64_MAX - EARLY_US ? time_us : time_us + EARLY_US;
	int64_t stamp = early / 1000000 - (early % 1000000 < 0);

	for (size_t f = 0; f < PERFMON_FILES; f++)
		for (size_t i = 0; perfmon_clocks[f][i]; i++)
			if (!strcmp(perfmon_clocks[f][i], source))
				add_tick(&s->clocks[f][i], at_us, stamp);
}

static void take_reading(struct reader *r)
{
	const struct sample_file *f = &r->file;
	uint64_t begin = f->head.boottime_ns, now = f->reading.time_ns;
	int64_t at_us =
		f->head.realtime_ns / 1000 + (int64_t)((now > begin ? now - begin : 0) / 1000);

	if (f->source >= r->source_count)
		return;
	struct wires *w = &r->sources[f->source];
	const struct sample_file_source *src = &f->sources[f->source];
	bool first = at_us > r->series->floor_us;

	r->run.from_us = at_us < r->run.from_us ? at_us : r->run.from_us;
	r->run.until_us = at_us > r->run.until_us ? at_us : r->run.until_us;
	if (first)
		take_tick(r->series, src->name, at_us, f->time_us);
	for (size_t i = 0; i < w->count; i++) {
		if (!first && w->list[i].key->entity != ENTITY_JOB)
			continue;
		if (w->list[i].column >= 0)
			take_sum(r, &w->list[i], at_us);
		else
			take_each(r, &w->list[i], at_us, src->every);
	}
}

/* ---- the rest of a file --------------------------------------------------------------------- */

static void take_head(struct reader *r, const char *host)
{
	struct perfmon_series *s = r->series;
	uint64_t period_us = r->file.head.period_ns / 1000;

	perfmon_series_join(r->series, &r->job, &r->run);
	forget_sources(r);
	r->wanted = !host || !strcmp(host, r->file.head.host);
	if (!r->wanted)
		return;
	s->period_us = period_us < (uint64_t)PERIOD_MAX_US ? (int64_t)period_us : PERIOD_MAX_US;
	s->floor_us = INT64_MIN;
	for (size_t f = 0; f < PERFMON_FILES; f++)
		for (size_t i = 0; perfmon_clocks[f][i]; i++) {
			const struct perfmon_ticks *t = &s->clocks[f][i];

			if (t->count && t->list[t->count - 1].until_us > s->floor_us)
				s->floor_us = t->list[t->count - 1].until_us;
		}
}

/* "key=value\n" lines as a dict. */
static struct value *metadata_of(const struct entity *e)
{
	struct value *metadata = value_new(VALUE_DICT);

	for (const char *p = e->metadata; p && *p;) {
		size_t line = strcspn(p, "\n"), key = strcspn(p, "=\n");

		if (key < line) {
			_cleanup_free_ char *name = xstrndup(p, key);

			value_set(metadata, name, value_strn(p + key + 1, line - key - 1));
		}
		p += line + (p[line] == '\n');
	}
	return metadata;
}

static void take_entity(struct reader *r)
{
	const struct sample_file_source *src = &r->file.sources[r->file.source];
	const struct entity *e =
		r->file.entity < src->entity_count ? &src->entities[r->file.entity] : NULL;
	struct value **to = NULL;

	if (e && e->kind == ENTITY_GPU && !strcmp(src->name, "nvidia"))
		to = &r->series->gpus;
	else if (e && e->kind == ENTITY_PROCESS && !strcmp(src->name, "process"))
		to = &r->series->processes;
	if (!to || !e->name)
		return;
	if (!*to)
		*to = value_new(VALUE_DICT);
	if (value_pairs(*to) < PERFMON_ENTITIES_MAX)
		value_set(*to, e->name, metadata_of(e));
	if (to != &r->series->processes)
		return;
	if (!r->run.processes)
		r->run.processes = value_new(VALUE_DICT);
	if (value_pairs(r->run.processes) < PERFMON_ENTITIES_MAX)
		value_set(r->run.processes, e->name, value_int(1));
}

static int read_events(struct reader *r, const char *host)
{
	int event;

	while ((event = sample_file_next(&r->file)) > 0) {
		if (event == SAMPLE_HEAD)
			take_head(r, host);
		else if (!r->wanted)
			continue;
		else if (event == SAMPLE_SOURCE && r->file.source < r->file.source_count)
			wire_source(r, r->file.source);
		else if (event == SAMPLE_ENTITY && r->file.source < r->file.source_count)
			take_entity(r);
		else if (event == SAMPLE_READING)
			take_reading(r);
		else if (event == SAMPLE_LOST)
			r->series->lost += r->file.count;
	}
	return event;
}

int perfmon_series_add(struct perfmon_series *s, int fd, const char *host, struct strbuf *why)
{
	struct reader r = {.series = s, .run = PERFMON_SPAN_INIT};
	int e = sample_file_open(&r.file, fd, why);

	if (e < 0)
		return e;
	e = read_events(&r, host);
	if (e < 0)
		strbuf_addf(why, "cannot read: %s", strerror(-e));
	perfmon_series_join(s, &r.job, &r.run);
	s->damaged += r.file.damaged_places;
	s->skipped += r.file.skipped_readings;
	forget_sources(&r);
	sample_file_close(&r.file);
	return e;
}

/* ---- columns over ticks --------------------------------------------------------------------- */

const struct perfmon_ticks *perfmon_series_ticks(const struct perfmon_series *s,
						 enum perfmon_file file)
{
	size_t i = 0;

	while (!s->clocks[file][i].count && perfmon_clocks[file][i + 1])
		i++;
	return &s->clocks[file][i];
}

/* The point nearest to a time, at most reach away; NULL: none. next: a place after which all points
 * are later. */
static const struct perfmon_point *nearest(const struct perfmon_column *c, size_t next,
					   int64_t at_us, int64_t reach_us)
{
	const struct perfmon_point *before = next ? &c->points[next - 1] : NULL;
	const struct perfmon_point *behind = next < c->count ? &c->points[next] : NULL;

	if (behind && behind->at_us - at_us > reach_us)
		behind = NULL;
	if (before && at_us - before->at_us > reach_us)
		before = NULL;
	if (before && behind)
		return at_us - before->at_us <= behind->at_us - at_us ? before : behind;
	return before ? before : behind;
}

/*
 * The sources of a tick are read one after the other, or in threads: a sample belongs to the
 * nearest tick, at most half a period away. If a source is not read at every tick, its last sample
 * stands for those in between.
 */
void perfmon_column_at(const struct perfmon_column *c, const struct perfmon_series *s,
		       const struct perfmon_ticks *t, struct perfmon_point *ret)
{
	size_t next = 0;

	for (size_t k = 0; k < t->count; k++) {
		const struct perfmon_tick *tick = &t->list[k];
		int64_t at = c->counter ? tick->until_us : tick->at_us, half = s->period_us / 2;

		if (k + 1 < t->count && (tick[1].at_us - at) / 2 < half)
			half = (tick[1].at_us - at) / 2;
		if (k && (at - tick[-1].until_us) / 2 < half)
			half = (at - tick[-1].until_us) / 2;
		while (next < c->count && c->points[next].at_us <= at)
			next++;
		const struct perfmon_point *p = nearest(c, next, at, half);

		if (!p && next && c->every > 1) {
			size_t far = 2 * (size_t)c->every;
			int64_t oldest = k >= far ? t->list[k - far].at_us : INT64_MIN;

			if (c->points[next - 1].at_us >= oldest)
				p = &c->points[next - 1];
		}
		ret[k] = p ? *p : (struct perfmon_point){.at_us = at};
	}
}
