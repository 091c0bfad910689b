/*
 * Readings as rows of HDF5 tables. Rows that came in a fixed layout go to its tables unchanged.
 * Those of our nodes go there by a mapper, and completely to a table with the name of their source
 * and the time in nanoseconds. Gauges are floating point numbers there, NaN if unknown; counters
 * are integers, -1 if unknown.
 */
#include <errno.h>
#include <string.h>

#include "sinks/hdf5/sink_hdf5.h"
#include "tables/hdf5/column_notes.h"
#include "sinks/sink_lines.h"
#include "transport/known_names.h"

#define HOST_SIZE 255
#define ENTITY_SIZE 255
#define SOURCES_MAX 4096 /* with other metrics than ours, or some of them */

void rows_begin(struct rows *r, const struct hdf5_functions *h, struct hdf5_writer *w,
		const struct row_layout *layout)
{
	*r = (struct rows){.h = h,
			   .w = w,
			   .layout = layout,
			   .names = QUOTA("hdf5: kinds of tables", SOURCES_MAX)};
}

void rows_end(struct rows *r)
{
	for (struct source_rows *s = r->sources, *next; s; s = next) {
		next = s->next;
		strbuf_release(&s->signature);
		free(s->name);
		free(s);
	}
	r->sources = NULL;
	quota_release(&r->names);
}

static void put_text(unsigned char *to, size_t room, const char *s, size_t n)
{
	memcpy(to, s, n < room ? n : room);
}

/* Makes a name from a node fit for a group, table or column. */
static void clean_name(char *to, size_t room, const char *s, size_t n)
{
	size_t i = 0;

	for (; i < n && i + 1 < room; i++) {
		char c = s[i];
		bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			    (c >= 'A' && c <= 'Z') || (i && (c == '.' || c == '-'));

		to[i] = fine ? c : '_';
	}
	to[i] = 0;
}

/* ---- tables of fixed rows ------------------------------------------------------------------- */

struct place {
	struct hdf5_column column;
	size_t *at;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->column.name,
		      ((const struct place *)b)->column.name);
}

static void make_table(struct rows *r, struct table_rows *b, const struct row_table *of)
{
	struct place places[ROW_FIELDS_MAX + 4] = {
		{{"hostname", HDF5_TEXT, HOST_SIZE}, &b->host},
		{{"job_id", HDF5_I64, 8}, &b->job},
		{{"metric_backend", HDF5_TEXT, HOST_SIZE}, &b->name},
		{{"timestamp", HDF5_I64, 8}, &b->time},
	};
	struct hdf5_column columns[ROW_FIELDS_MAX + 4];
	size_t n = 4, at = 0;

	for (size_t i = 0; i < of->field_count && i < ROW_FIELDS_MAX; i++) {
		const struct row_field *f = &of->fields[i];
		struct hdf5_column c = {f->name, HDF5_I64, 8};

		if (f->type == ROW_F32)
			c = (struct hdf5_column){f->name, HDF5_F32, 4};
		else if (f->type == ROW_TEXT)
			c = (struct hdf5_column){f->name, HDF5_TEXT, f->size};
		places[n++] = (struct place){c, &b->fields[i]};
	}
	qsort(places, n, sizeof(places[0]), by_name);
	for (size_t i = 0; i < n; i++) {
		columns[i] = places[i].column;
		*places[i].at = at;
		at += columns[i].size;
	}
	b->of = of;
	b->schema = r->h->schema(r->w, columns, n, NULL);
}

/* NULL: too many tables. */
static struct table_rows *find_table(struct rows *r, const struct row_table *of)
{
	for (size_t i = 0; i < TABLES_MAX; i++) {
		if (r->tables[i].of == of)
			return &r->tables[i];
		if (!r->tables[i].of) {
			make_table(r, &r->tables[i], of);
			return &r->tables[i];
		}
	}
	return NULL;
}

static void take_row(void *user, const struct fixed_row *record)
{
	struct rows *r = user;
	const struct row_table *of = record->table;
	struct table_rows *b = find_table(r, of);
	char job[24];

	if (!b)
		return;
	snprintf(job, sizeof(job), "%llu", (unsigned long long)record->job);
	unsigned char *row = r->h->add(r->w, r->h->table(r->w, job, of->name, b->schema, 2));
	const int64_t id = (int64_t)record->job, time = (int64_t)record->time_s;
	put_text(row + b->host, HOST_SIZE, record->host, strlen(record->host));
	put_text(row + b->name, HOST_SIZE, of->name, strlen(of->name));
	memcpy(row + b->job, &id, sizeof(id));
	memcpy(row + b->time, &time, sizeof(time));
	for (size_t i = 0; i < of->field_count && i < ROW_FIELDS_MAX; i++) {
		if (of->fields[i].type == ROW_TEXT)
			put_text(row + b->fields[i], of->fields[i].size, record->involved,
				 strlen(record->involved));
		else if (record->absent >> i & 1)
			continue;
		else if (of->fields[i].type == ROW_F32)
			memcpy(row + b->fields[i], &record->values[i].f, sizeof(float));
		else
			memcpy(row + b->fields[i], &record->values[i].i, sizeof(int64_t));
	}
}

/* ---- tables of our own ---------------------------------------------------------------------- */

static bool is_real(const struct sample_metric *m)
{
	return m->kind != KIND_COUNTER || (m->scale != 0 && m->scale != 1);
}

static void sign(struct strbuf *out, const struct sample_file_source *s)
{
	for (size_t i = 0; i < s->metric_count; i++) {
		strbuf_addstr(out, s->metrics[i].name);
		strbuf_addch(out, is_real(&s->metrics[i]) ? 2 : 1);
	}
}

/* A name that differs from those of all columns before it. */
static void name_column(char (*names)[COLUMN_NOTE_NAME], size_t i, const char *wanted)
{
	clean_name(names[i], COLUMN_NOTE_NAME - 4, *wanted ? wanted : "_",
		   *wanted ? strlen(wanted) : 1);
	size_t n = strlen(names[i]);
	for (unsigned twin = 2; twin < 100; twin++) {
		size_t k = 0;

		while (k < i && strcmp(names[k], names[i]) != 0)
			k++;
		if (k == i)
			return;
		snprintf(names[i] + n, COLUMN_NOTE_NAME - n, "_%u", twin);
	}
}

static struct source_rows *make_source(struct rows *r, const struct sample_file_source *s)
{
	struct source_rows *t = xcalloc(1, sizeof(*t));
	char names[SAMPLE_METRICS_MAX + 3][COLUMN_NOTE_NAME] = {"time", "host", "entity"};
	struct hdf5_column columns[SAMPLE_METRICS_MAX + 3] = {
		{names[0], HDF5_I64, 8},
		{names[1], HDF5_TEXT, HOST_SIZE},
		{names[2], HDF5_TEXT, ENTITY_SIZE},
	};
	size_t at = 8;

	t->name = xmalloc(COLUMN_NOTE_NAME);
	clean_name(t->name, COLUMN_NOTE_NAME, s->name, strlen(s->name));
	t->signature = (struct strbuf)STRBUF_INIT;
	sign(&t->signature, s);
	t->host = at;
	t->entity = at += HOST_SIZE;
	at += ENTITY_SIZE;
	for (size_t i = 0; i < s->metric_count; i++) {
		name_column(names, i + 3, s->metrics[i].name);
		t->real[i] = is_real(&s->metrics[i]);
		columns[i + 3] =
			(struct hdf5_column){names[i + 3], t->real[i] ? HDF5_F64 : HDF5_I64, 8};
		t->fields[i] = at;
		at += 8;
	}
	_cleanup_strbuf_ struct strbuf note = STRBUF_INIT;
	column_note_write(s->name, s->metrics, s->metric_count, names + 3, &note);
	t->schema = r->h->schema(r->w, columns, s->metric_count + 3,
				 note.len <= HDF5_NOTE_MAX ? note.buf : NULL);
	t->next = r->sources;
	r->sources = t;
	return t;
}

static struct source_rows *find_source(struct rows *r, const char *host,
				       const struct sample_file_source *s)
{
	_cleanup_strbuf_ struct strbuf signature = STRBUF_INIT;
	char name[COLUMN_NOTE_NAME];

	sign(&signature, s);
	clean_name(name, sizeof(name), s->name, strlen(s->name));
	for (struct source_rows *t = r->sources; t; t = t->next)
		if (!strcmp(t->name, name) && !strcmp(t->signature.buf, signature.buf))
			return t;
	bool ours = known_set(s->name, s->metrics, s->metric_count);
	return *name && (ours || quota_take(&r->names, host)) ? make_source(r, s) : NULL;
}

static void add_own_row(struct rows *r, const struct source_rows *t, const struct sample_file *f,
			size_t row)
{
	const struct sink_row s = sink_row(f, row);
	char job[HDF5_JOB_MAX] = "0", entity[ENTITY_SIZE + 1];
	const int64_t time = f->time_us * 1000;

	if (s.job)
		clean_name(job, COLUMN_NOTE_NAME, s.job, s.job_size);
	unsigned char *to =
		r->h->add(r->w, r->h->table(r->w, *job ? job : "0", t->name, t->schema, 0));
	memcpy(to, &time, sizeof(time));
	put_text(to + t->host, HOST_SIZE, f->head.host, strlen(f->head.host));
	snprintf(entity, sizeof(entity), "%s:%s", entity_kind_name(s.entity->kind), s.entity->name);
	put_text(to + t->entity, ENTITY_SIZE, entity, strlen(entity));
	for (unsigned m = 0; m < f->reading.metric_count; m++) {
		if (!(s.present >> m & 1))
			continue;
		double real = t->real[m] ? sample_value(&f->reading, row, m) : 0;
		const void *value = t->real[m] ? (const void *)&real : &s.values[m];
		memcpy(to + t->fields[m], value, 8);
	}
}

static int add_own(struct rows *r, const struct sample_file *f, struct strbuf *why)
{
	const struct source_rows *t = find_source(r, f->head.host, &f->sources[f->source]);

	if (!t)
		return strbuf_fail(why, -E2BIG,
				   "its host has too many sources with unknown metrics");
	for (size_t i = 0; i < f->reading.row_count; i++)
		add_own_row(r, t, f, i);
	return 0;
}

/* ---- an entry ------------------------------------------------------------------------------- */

int rows_add(struct rows *r, struct row_mappers *mappers, struct sample_file *f, struct strbuf *why)
{
	int event, error = 0;

	while ((event = sample_file_next(f)) > 0) {
		const char *source = event == SAMPLE_READING ? f->sources[f->source].name : NULL;

		if (!source ||
		    rows_from_reading(f->head.host, source, &f->reading, f->time_us, take_row, r))
			continue;
		row_mappers_add(mappers, f->head.host, source, &f->reading, f->time_us);
		if (r->layout && r->layout->mapper_takes(source))
			continue;
		int e = add_own(r, f, why);
		error = error ? error : e;
	}
	row_mappers_flush(mappers, take_row, r);
	return event < 0 ? event : error;
}
