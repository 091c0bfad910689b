/*
 * Documents from readings. What a layout (row_layout.h) has a table for becomes its document;
 * readings of our own sources become documents with their metrics' names. An id says where in which
 * batch a document comes from: the same one never gets another id, and no other one the same.
 */
#include <string.h>
#include <time.h>

#include "core/text/text.h"
#include "sinks/elastic/sink_elastic.h"
#include "transport/known_names.h"

/* ---- indices ----------------------------------------------------------------------------------
 */

#define INDICES_MAX 512 /* beside those of our own sources */
#define FIELDS_MAX 512  /* of an index, beside our own metrics; servers take 1,000 by default */

static uint32_t add_index(struct elastic *e, struct strbuf *name, const char *source,
			  const struct row_table *table)
{
	GROW(e->indices, e->index_count, e->index_cap);
	e->indices[e->index_count] =
		(struct elastic_index){.name = strbuf_take(name),
				       .source = xstrdup(source),
				       .table = table,
				       .names = {.what = "elastic: names of fields",
						 .max = FIELDS_MAX,
						 .each = FIELDS_MAX / 4}};
	return (uint32_t)e->index_count++;
}

#define NO_INDEX UINT32_MAX

/* NO_INDEX: this host may have no more. */
static uint32_t index_of(struct elastic *e, const char *host, const char *source,
			 const struct row_table *table)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	strbuf_addstr(&name, e->prefix);
	sink_add_name(&name, source);
	for (size_t i = 0; i < e->index_count; i++)
		if (!strcmp(e->indices[i].name, name.buf))
			return (uint32_t)i;
	if (!e->names.max)
		e->names = (struct quota){.what = "elastic: names of indices",
					  .max = INDICES_MAX,
					  .each = INDICES_MAX / 4};
	if (!known_source(source) && !quota_take(&e->names, host))
		return NO_INDEX;
	return add_index(e, &name, source, table);
}

/* False: this host may have no more. A metric of ours has the type that we give it. */
static bool know_field(struct elastic_index *x, const char *host, const struct sample_metric *m)
{
	for (size_t i = 0; i < x->field_count; i++)
		if (!strcmp(x->fields[i].name, m->name))
			return true;
	const struct sample_metric *known = known_metric(x->source, m->name);
	if (!known && !quota_take(&x->names, host))
		return false;
	GROW(x->fields, x->field_count, x->field_cap);
	x->fields[x->field_count++] = (struct elastic_field){
		.name = xstrdup(m->name), .real = !sink_is_whole(known ? known : m)};
	return true;
}

/* ---- lines ------------------------------------------------------------------------------------
 */

static void add_json(struct strbuf *out, const char *key, const char *s, size_t n)
{
	strbuf_addf(out, ",\"%s\":\"", key);
	text_add_json(out, s, n);
	strbuf_addch(out, '"');
}

/* Decimal digits; printf() would be most of the work of a document. */
static void add_whole(struct strbuf *out, int64_t v)
{
	char text[24];
	size_t at = sizeof(text);
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do
		text[--at] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		text[--at] = '-';
	strbuf_add(out, text + at, sizeof(text) - at);
}

/* The first line: where it goes, and its id up to what tells it from others of the batch. */
static void begin_item(struct elastic *e, uint32_t index, int64_t time_s)
{
	struct tm tm = {0};
	time_t t = (time_t)time_s;

	GROW(e->items, e->item_count, e->item_cap);
	e->items[e->item_count] =
		(struct elastic_item){.at = e->held.len, .index = index, .entry = e->entry};
	(void)gmtime_r(&t, &tm);
	strbuf_addf(&e->held, "{\"create\":{\"_index\":\"%s-%04d.%02d.%02d\",\"_id\":\"",
		    e->indices[index].name, tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
	text_add_json(&e->held, e->batch->node, strlen(e->batch->node));
	strbuf_addf(&e->held, ".%llx.%llx.", (unsigned long long)e->batch->boot,
		    (unsigned long long)e->batch->number);
}

static void end_item(struct elastic *e)
{
	strbuf_addstr(&e->held, "}\n");
	e->items[e->item_count].size = e->held.len - e->items[e->item_count].at;
	e->item_count++;
}

/* ---- documents of fixed rows ------------------------------------------------------------------
 */

/* The numbers of a list that came as text, from whomever. */
static void add_jobs(struct strbuf *out, const char *text)
{
	bool first = true;

	strbuf_addstr(out, ",\"involved_jobs\":[");
	for (const char *p = text; *p;) {
		size_t n = strspn(p, "0123456789");

		if (n && n < 19 && (n == 1 || *p != '0')) {
			if (!first)
				strbuf_addch(out, ',');
			strbuf_add(out, p, n);
			first = false;
		}
		p += n ? n : 1;
	}
	strbuf_addch(out, ']');
}

static void take_row(void *user, const struct fixed_row *r)
{
	struct elastic *e = user;
	const struct row_table *b = r->table;
	struct strbuf *out = &e->held;

	if (out->len >= SINK_HELD_LIMIT)
		return;
	/* tables of layouts have room for sure */
	begin_item(e, index_of(e, r->host, b->name, b), (int64_t)r->time_s);
	/* what a mapper makes of a batch depends on those before: its rows are told by what they
	 * are about */
	if (e->mapping)
		strbuf_addf(out, "m%llx.%llu", (unsigned long long)r->time_s,
			    (unsigned long long)r->job);
	else
		strbuf_addf(out, "r%llx.%zx", (unsigned long long)e->reading, e->row++);
	strbuf_addstr(out, "\"}}\n{\"hostname\":\"");
	text_add_json(out, r->host, strlen(r->host));
	strbuf_addf(out, "\",\"job_id\":%llu,\"timestamp\":%llu", (unsigned long long)r->job,
		    (unsigned long long)r->time_s);
	for (size_t i = 0; i < b->metric_count; i++) {
		if (r->absent >> i & 1)
			continue;
		strbuf_addf(out, ",\"%s\":", b->fields[i].name);
		if (b->fields[i].type == ROW_F32)
			text_add_real(out, (double)r->values[i].f);
		else
			add_whole(out, r->values[i].i);
	}
	if (b->metric_count < b->field_count)
		add_jobs(out, r->involved);
	end_item(e);
}

/* ---- our own ----------------------------------------------------------------------------------
 */

/* taken: the metrics that have a field. */
static void add_row(struct elastic *e, const struct sample_file *f, size_t row, uint32_t index,
		    uint64_t taken)
{
	const struct sample_file_source *s = &f->sources[f->source];
	const struct entity *about = &s->entities[f->reading.rows[row].entity];
	const int64_t *values = f->reading.values + row * f->reading.metric_count;
	struct strbuf *out = &e->held;
	const char *job;
	size_t n;

	begin_item(e, index, f->time_us / 1000000 - (f->time_us % 1000000 < 0));
	strbuf_addf(out, "r%llx.%zx\"}}\n{\"@timestamp\":", (unsigned long long)e->reading, row);
	add_whole(out, f->time_us / 1000);
	add_json(out, "hostname", f->head.host, strlen(f->head.host));
	add_json(out, "kind", entity_kind_name(about->kind), strlen(entity_kind_name(about->kind)));
	add_json(out, "entity", about->name, strlen(about->name));
	if (sink_job_of(about, &job, &n))
		add_json(out, "job_id", job, n);
	for (unsigned m = 0; m < s->metric_count; m++) {
		int64_t whole;

		if (!((f->reading.rows[row].present & taken) >> m & 1))
			continue;
		strbuf_addstr(out, ",\"");
		text_add_json(out, s->metrics[m].name, strlen(s->metrics[m].name));
		strbuf_addstr(out, "\":");
		if (sink_is_whole(&s->metrics[m]) &&
		    sink_whole_value(values[m], &s->metrics[m], &whole))
			add_whole(out, whole);
		else
			text_add_real(out, sample_scaled(values[m], s->metrics[m].scale));
	}
	end_item(e);
}

/* False: names were too many. */
static bool add_reading(struct elastic *e, const struct sample_file *f)
{
	const struct sample_file_source *s = &f->sources[f->source];

	if (row_table_find(s->name)) {
		e->row = 0;
		rows_from_reading(f->head.host, s->name, &f->reading, f->time_us, take_row, e);
		return true;
	}
	row_mappers_add(e->mappers, f->head.host, s->name, &f->reading, f->time_us);
	if (e->layout && e->layout->mapper_takes(s->name))
		return true;
	uint32_t index = index_of(e, f->head.host, s->name, NULL);
	uint64_t taken = 0, all = 0;
	if (index == NO_INDEX)
		return false;
	for (unsigned m = 0; m < s->metric_count; m++) {
		all |= (uint64_t)1 << m;
		taken |= (uint64_t)know_field(&e->indices[index], f->head.host, &s->metrics[m])
			 << m;
	}
	for (size_t i = 0; i < f->reading.row_count && e->held.len < SINK_HELD_LIMIT; i++)
		add_row(e, f, i, index, taken);
	return taken == all;
}

void elastic_add(struct elastic *e, const struct batch_name *name, struct sample_file *f)
{
	bool all = true;
	int event;

	e->batch = name;
	e->reading = 0;
	while ((event = sample_file_next(f)) > 0)
		if (event == SAMPLE_READING && f->head.host) {
			all = add_reading(e, f) && all;
			e->reading++;
		}
	if (!all)
		sink_refuse_names(&e->refusals, e->entry);
	e->mapping = true;
	row_mappers_flush(e->mappers, take_row, e);
	e->mapping = false;
	e->batch = NULL;
}
