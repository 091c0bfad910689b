/*
 * Documents from readings. Rows with a table in a layout (row_layout.h) become its documents; those
 * of our own sources have fields with the names of metrics. The id of a document follows from its
 * place in its batch: it is always the same, and unique.
 */
#include <string.h>
#include <time.h>

#include "core/text/text.h"
#include "sinks/elastic/sink_elastic.h"
#include "tables/text_values.h"
#include "transport/known_names.h"

/* ---- indices -------------------------------------------------------------------------------- */

#define INDICES_MAX 512 /* for unknown sources */
#define FIELDS_MAX                                                                    \
	512 /* of an index, for unknown metrics; servers take 1,000 fields by default \
	     */

static uint32_t add_index(struct elastic *e, struct strbuf *name, const char *source,
			  const struct row_table *table)
{
	GROW(e->indices, e->index_count, e->index_cap);
	e->indices[e->index_count] =
		(struct elastic_index){.name = strbuf_take(name),
				       .source = xstrdup(source),
				       .table = table,
				       .names = QUOTA("elastic: names of fields", FIELDS_MAX)};
	return (uint32_t)e->index_count++;
}

#define NO_INDEX UINT32_MAX

/* NO_INDEX: this host has too many. */
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
		e->names = (struct quota)QUOTA("elastic: names of indices", INDICES_MAX);
	if (!known_source(source) && !quota_take(&e->names, host))
		return NO_INDEX;
	return add_index(e, &name, source, table);
}

/* False: this host has too many. A known metric always has its own type. */
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

/* ---- lines ---------------------------------------------------------------------------------- */

/* The first line: its index, and its id up to the part that is unique in the batch. */
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

/* ---- documents of fixed rows ---------------------------------------------------------------- */

/* The numbers of a list in a text that may be malformed. */
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
	/* tables of layouts are known sources */
	begin_item(e, index_of(e, r->host, b->name, b), (int64_t)r->time_s);
	/* the rows of a mapper depend on earlier batches: time and job identify them */
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
			text_add_i64(out, r->values[i].i);
	}
	if (b->metric_count < b->field_count)
		add_jobs(out, r->involved);
	end_item(e);
}

/* ---- our own -------------------------------------------------------------------------------- */

/* taken: the metrics that have a field. */
static void add_row(struct elastic *e, const struct sample_file *f, size_t row, uint32_t index,
		    uint64_t taken)
{
	const struct sink_row r = sink_row(f, row);
	const char *kind = entity_kind_name(r.entity->kind);
	struct strbuf *out = &e->held;

	begin_item(e, index, f->time_us / 1000000 - (f->time_us % 1000000 < 0));
	strbuf_addf(out, "r%llx.%zx\"}}\n{\"@timestamp\":", (unsigned long long)e->reading, row);
	text_add_i64(out, f->time_us / 1000);
	sink_add_json(out, "hostname", f->head.host, strlen(f->head.host));
	sink_add_json(out, "kind", kind, strlen(kind));
	sink_add_json(out, "entity", r.entity->name, strlen(r.entity->name));
	if (r.job)
		sink_add_json(out, "job_id", r.job, r.job_size);
	for (unsigned m = 0; m < r.source->metric_count; m++) {
		const struct sample_metric *metric = &r.source->metrics[m];
		int64_t whole;

		if (!((r.present & taken) >> m & 1))
			continue;
		strbuf_addstr(out, ",\"");
		text_add_json(out, metric->name, strlen(metric->name));
		strbuf_addstr(out, "\":");
		if (sink_is_whole(metric) && sink_whole_value(r.values[m], metric, &whole))
			text_add_i64(out, whole);
		else
			text_add_real(out, sample_scaled(r.values[m], metric->scale));
	}
	end_item(e);
}

/* False: too many names. */
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
