/* Tables of a job: what they have in common, samples, and jobs; see export_tables.h. */
#include "views/export/export_tables.h"

#include <errno.h>
#include <string.h>

#include "store/query.h"
#include "tables/column_dictionary.h"
#include "views/export/export_internal.h"

const char *const export_table_names[TABLE_TABLES] = {"processes", "threads", "samples", "jobs",
						      "phases"};

/* ---- events ---------------------------------------------------------------------------------- */

void table_events_release(struct table_events *e)
{
	for (size_t i = 0; i < e->count; i++)
		free(e->names[i]);
	free(e->names);
	*e = (struct table_events){0};
}

static void add_event(struct table_events *e, const char *name)
{
	size_t at = 0;

	while (at < e->count && strcmp(e->names[at], name) < 0)
		at++;
	if (at < e->count && !strcmp(e->names[at], name))
		return;
	GROW(e->names, e->count, e->cap);
	memmove(&e->names[at + 1], &e->names[at], (e->count - at) * sizeof(*e->names));
	e->names[at] = xstrdup(name);
	e->count++;
}

int table_events_add(struct table_events *e, struct store *s, int64_t job)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	sql_add(&q, "SELECT s.bytes FROM (SELECT DISTINCT name FROM event WHERE ");
	sql_job_range(&q, "process", job);
	sql_add(&q, ") v JOIN string s ON s.id = ");
	sql_int(&q, store_key(job, 0));
	sql_add(&q, " + v.name");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	int r;
	while ((r = stmt_step(st)) == 1)
		add_event(e, stmt_get_str(st, 0));
	return r < 0 ? r : 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

void table_columns_release(struct table_columns *c)
{
	for (size_t i = 0; i < c->name_count; i++)
		free(c->names[i]);
	free(c->names);
	free(c->list);
	*c = (struct table_columns){0};
}

const char *table_columns_name(struct table_columns *c, char *name)
{
	GROW(c->names, c->name_count, c->name_cap);
	c->names[c->name_count++] = name;
	return name;
}

void table_columns_add(struct table_columns *c, const char *name, enum plan_from from,
		       const char *help)
{
	static const enum table_type types[] = {
		[PLAN_INT] = TABLE_INT,    [PLAN_TIME] = TABLE_TIME, [PLAN_STRING] = TABLE_TEXT,
		[PLAN_TEXT] = TABLE_TEXT,  [PLAN_WORD] = TABLE_TEXT, [PLAN_JOB] = TABLE_INT,
		[PLAN_JOBID] = TABLE_TEXT, [PLAN_EVENT] = TABLE_INT, [PLAN_REAL] = TABLE_REAL,
	};
	const struct metric *m = help ? NULL : metric_by_name(name);

	GROW(c->list, c->count, c->cap);
	c->list[c->count++] = (struct table_column){name, types[from], m ? m->help : help};
}

void table_columns_of(struct table_columns *c, const struct table_choice *choice)
{
	const struct plan_column *plan = table_sample_plan;
	size_t count = table_sample_plan_count;

	if (choice->table == TABLE_PROCESSES || choice->table == TABLE_THREADS) {
		table_rows_columns(c, choice);
		return;
	}
	if (choice->table == TABLE_JOBS) {
		plan = table_job_plan;
		count = table_job_plan_count;
	}
	if (choice->table == TABLE_PHASES) {
		plan = table_phase_plan;
		count = table_phase_plan_count;
	}
	for (size_t i = 0; i < count; i++)
		table_columns_add(c, plan[i].name, plan[i].from, plan[i].help);
}

/* ---- samples --------------------------------------------------------------------------------- */

static int open_samples(struct table_source *f)
{
	static const struct series_filter all;
	int r = series_list_load(&f->series, f->store, f->job,
				 f->choice.series ? f->choice.series : &all);

	for (size_t i = 0; r >= 0 && i < f->series.count; i++)
		f->total += f->series.list[i].count;
	return r;
}

enum {
	SAMPLE_JOB,
	SAMPLE_JOBID,
	SAMPLE_HOST,
	SAMPLE_METRIC,
	SAMPLE_UNIT,
	SAMPLE_KIND,
	SAMPLE_ENTITY,
	SAMPLE_TIME,
	SAMPLE_VALUE,
	SAMPLE_RAW
};

static void put_text(struct table_builder *b, size_t c, const char *s)
{
	if (s)
		table_builder_text(b, c, s, strlen(s));
	else
		table_builder_absent(b, c);
}

static void add_point(struct table_source *f, const struct series *s, const struct series_point *p)
{
	struct table_builder *b = &f->build;
	int64_t ns;

	table_builder_int(b, SAMPLE_JOB, f->job);
	put_text(b, SAMPLE_JOBID, f->jobid);
	put_text(b, SAMPLE_HOST, s->host);
	put_text(b, SAMPLE_METRIC, s->metric);
	put_text(b, SAMPLE_UNIT, s->unit);
	put_text(b, SAMPLE_KIND, s->entity_kind);
	put_text(b, SAMPLE_ENTITY, s->entity);
	if (table_time_ns(p->time, &ns))
		table_builder_int(b, SAMPLE_TIME, ns);
	else
		table_builder_absent(b, SAMPLE_TIME);
	table_builder_real(b, SAMPLE_VALUE, series_value((double)p->raw, s->scale));
	table_builder_int(b, SAMPLE_RAW, p->raw);
	table_builder_row(b);
}

/* One series is in memory at a time. */
static int fill_samples(struct table_source *f)
{
	while (f->series_at < f->series.count) {
		const struct series *s = &f->series.list[f->series_at];

		if (!f->loaded) {
			int r = series_reader_load(&f->reader, &f->points, f->store, f->job, s);

			if (r < 0)
				return r;
			f->loaded = true;
			f->point_at = 0;
		}
		while (f->point_at < f->points.count && !table_builder_full(&f->build))
			add_point(f, s, &f->points.list[f->point_at++]);
		if (f->point_at < f->points.count)
			return 0;
		f->loaded = false;
		f->series_at++;
	}
	return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void put_job_value(struct table_source *f, size_t c, struct stmt *st, int i)
{
	struct table_builder *b = &f->build;
	size_t n;
	int64_t ns;
	const char *s;

	if (stmt_is_null(st, i)) {
		table_builder_absent(b, c);
	} else if (b->columns[c].type == TABLE_TEXT) {
		s = stmt_get_text(st, i, &n);
		table_builder_text(b, c, s, n);
	} else if (b->columns[c].type == TABLE_INT) {
		table_builder_int(b, c, stmt_get_int(st, i));
	} else if (table_time_ns(stmt_get_int(st, i), &ns)) {
		table_builder_int(b, c, ns);
	} else {
		table_builder_absent(b, c);
	}
}

static int fill_job(struct table_source *f)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	if (f->loaded)
		return 0;
	f->loaded = true;
	sql_add(&q, "SELECT job, jobid");
	for (size_t i = 2; i < table_job_plan_count; i++) {
		sql_add(&q, ", ");
		sql_add(&q, table_job_plan[i].sql);
	}
	sql_add(&q, " FROM jobs WHERE job = ");
	sql_int(&q, f->job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, f->store);
	int r = stmt_step(st);
	if (r != 1)
		return r;
	for (size_t i = 0; i < table_job_plan_count; i++)
		if (i == 1)
			table_builder_text(&f->build, i, f->jobid, strlen(f->jobid));
		else
			put_job_value(f, i, st, (int)i);
	table_builder_row(&f->build);
	return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int load_jobid(struct table_source *f)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(f->store, "SELECT jobid FROM job WHERE no = $1", db_int(f->job));

	int r = stmt_step(st);
	_cleanup_free_ char *id = xstrdup(r == 1 ? stmt_get_str(st, 0) : "");
	struct strbuf label = STRBUF_INIT;
	/* rows of several jobs of an id may come into one table */
	if (r >= 0) {
		stmt_reset(st);
		r = job_label(f->store, f->job, id, &label);
	}
	f->jobid = strbuf_take(&label);
	return r < 0 ? r : 0;
}

static bool has_rows(const struct table_source *f)
{
	return f->choice.table == TABLE_PROCESSES || f->choice.table == TABLE_THREADS;
}

int table_source_open(struct table_source **ret, struct store *s, int64_t job,
		      const struct table_choice *choice)
{
	struct table_source *f = xcalloc(1, sizeof(*f));
	int r;

	f->store = s;
	f->job = job;
	f->choice = *choice;
	table_columns_of(&f->columns, choice);
	table_builder_init(&f->build, f->columns.list, f->columns.count,
			   choice->table == TABLE_JOBS ? 1 : 0);
	r = load_jobid(f);
	if (r >= 0 && has_rows(f))
		r = table_rows_open(f);
	else if (r >= 0 && choice->table == TABLE_SAMPLES)
		r = open_samples(f);
	else if (r >= 0 && choice->table == TABLE_PHASES)
		r = table_phases_open(f);
	else
		f->total = 1;
	if (r < 0)
		table_source_free(f);
	else
		*ret = f;
	return r < 0 ? r : 0;
}

void table_source_free(struct table_source *f)
{
	if (!f)
		return;
	table_rows_free(f->rows);
	stmt_finish_ptr(&f->phases);
	series_list_release(&f->series);
	series_points_release(&f->points);
	series_reader_release(&f->reader);
	table_builder_release(&f->build);
	table_columns_release(&f->columns);
	free(f->jobid);
	free(f);
}

const struct table_column *table_source_columns(const struct table_source *f, size_t *ret_count)
{
	*ret_count = f->columns.count;
	return f->columns.list;
}

int64_t table_source_total(const struct table_source *f)
{
	return f->total;
}

int table_source_next(struct table_source *f, struct table_batch *ret)
{
	int r;

	table_builder_begin(&f->build);
	if (has_rows(f))
		r = table_rows_fill(f);
	else if (f->choice.table == TABLE_SAMPLES)
		r = fill_samples(f);
	else if (f->choice.table == TABLE_PHASES)
		r = table_phases_fill(f);
	else
		r = fill_job(f);
	if (r < 0)
		return r;
	table_builder_take(&f->build, ret);
	return f->build.rows > 0;
}

int table_source_rewind(struct table_source *f)
{
	f->series_at = 0;
	f->loaded = false;
	stmt_finish_ptr(&f->phases);
	f->phases = NULL;
	return has_rows(f) ? table_rows_rewind(f) : 0;
}

/* In the bytes that a text has as UTF-8. */
static size_t widest(const struct table_texts *t, size_t width)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (uint32_t i = 0; i < t->count; i++) {
		size_t n = t->begin[i + 1] - t->begin[i];

		if (n * 3 <= width) /* a byte becomes at most three */
			continue;
		strbuf_reset(&text);
		table_add_utf8(&text, t->bytes + t->begin[i], n);
		width = text.len > width ? text.len : width;
	}
	return width;
}

int table_source_hints(struct table_source *f, struct table_hint *ret)
{
	struct table_batch b;
	int r;

	while ((r = table_source_next(f, &b)) == 1) {
		for (size_t c = 0; c < f->columns.count; c++) {
			ret[c].absent = ret[c].absent || b.columns[c].absent_count;
			ret[c].width = widest(&b.columns[c].texts, ret[c].width);
		}
	}
	return r < 0 ? r : table_source_rewind(f);
}
