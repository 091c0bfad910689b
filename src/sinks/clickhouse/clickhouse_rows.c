/*
 * Rows in ClickHouse's native format, column by column, which is cheap for the server: one table
 * for each source, one column for each metric.
 */
#include <ctype.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/varint.h"
#include "sinks/clickhouse/sink_clickhouse.h"
#include "transport/known_names.h"

#define TABLES_MAX 512  /* beside those of our own sources */
#define COLUMNS_MAX 512 /* of a table, beside those of our own metrics */
#define ROW_BYTES 64    /* of a row without its values and texts, about */
#define FILE_MAX 160    /* of a name in a file name, without what the server adds */

const struct clickhouse_fixed_column clickhouse_fixed_columns[FIXED_END] = {
	[FIXED_TIME] = {"time", "DateTime"},   [FIXED_TIME_US] = {"time_us", "Int64"},
	[FIXED_HOST] = {"host", "String"},     [FIXED_KIND] = {"kind", "String"},
	[FIXED_ENTITY] = {"entity", "String"}, [FIXED_JOB] = {"job", "String"},
};

/* ---- columns -------------------------------------------------------------------------------- */

static void add_string(struct strbuf *out, const char *s, size_t n)
{
	strbuf_add_varint(out, n);
	strbuf_add(out, s, n);
}

/* Fills a column with nulls up to this many rows. */
static void fill_up(struct clickhouse_column *c, size_t rows)
{
	static const char none[8];

	while (c->nulls.len < rows) {
		strbuf_addch(&c->nulls, 1);
		strbuf_add(&c->values, none, sizeof(none));
	}
}

static void add_value(struct clickhouse_column *c, const struct sample_metric *m, int64_t raw)
{
	union {
		int64_t i;
		double d;
		char bytes[8];
	} v;

	if (c->real) {
		v.d = sample_scaled(raw, m->scale);
	} else if (sink_is_whole(m)) {
		if (!sink_whole_value(raw, m, &v.i))
			return;
	} else {
		double d = sample_scaled(raw, m->scale);

		if (!(d > -9e18 && d < 9e18))
			return;
		v.i = round_i64(d);
	}
	strbuf_addch(&c->nulls, 0);
	strbuf_add(&c->values, v.bytes, sizeof(v.bytes));
}

void clickhouse_retype(struct clickhouse_column *column, size_t rows, bool real)
{
	if (column->real == real)
		return;
	fill_up(column, rows);
	for (size_t i = 0; i < rows; i++) {
		char *at = column->values.buf + i * 8;
		int64_t whole;
		double d;

		if (real) {
			memcpy(&whole, at, 8);
			d = (double)whole;
			memcpy(at, &d, 8);
		} else {
			memcpy(&d, at, 8);
			whole = d > -9e18 && d < 9e18 ? round_i64(d) : 0;
			memcpy(at, &whole, 8);
		}
	}
	column->real = real;
}

/*
 * Servers use names of columns as file names, with %XX for anything but letters, digits and _. A
 * table takes no rows any more if a file name is too long: long names are cut and get a hash.
 */
static void fit_file(struct strbuf *name)
{
	uint64_t hash = XXH3_64bits(name->buf, name->len);
	size_t n = 0, fits = 0, length = 0;

	for (; n < name->len; n++) {
		length += isalnum((unsigned char)name->buf[n]) || name->buf[n] == '_' ? 1 : 3;
		if (length <= FILE_MAX - 17)
			fits = n + 1;
	}
	if (length <= FILE_MAX)
		return;
	strbuf_cut(name, fits);
	strbuf_addf(name, "_%016llx", (unsigned long long)hash);
}

/* A name that needs only quotes, and differs from the fixed columns. */
static char *column_name(const char *metric)
{
	struct strbuf name = STRBUF_INIT;

	for (const char *p = metric; *p; p++)
		strbuf_addch(&name, strchr("`'\"\\ .", *p) || *p < ' ' || *p > '~' ? '_' : *p);
	for (size_t i = 0; i < FIXED_END; i++)
		if (!strcmp(name.buf, clickhouse_fixed_columns[i].name)) {
			strbuf_addch(&name, '_');
			break;
		}
	fit_file(&name);
	return strbuf_take(&name);
}

/* The column of a metric, which usually is the likely one; -1: too many columns. A known metric
 * always has its own type, whoever sends it first. */
static int column_of(struct clickhouse_table *t, const char *host, const struct sample_metric *m,
		     size_t likely)
{
	if (likely < t->column_count && !strcmp(t->columns[likely].name, m->name))
		return (int)likely;
	_cleanup_free_ char *name = column_name(m->name);
	for (size_t i = 0; i < t->column_count; i++)
		if (!strcmp(t->columns[i].name, name))
			return (int)i;
	const struct sample_metric *known = known_metric(t->source, name);
	if (!known && !quota_take(&t->names, host))
		return -1;
	GROW(t->columns, t->column_count, t->column_cap);
	t->columns[t->column_count] =
		(struct clickhouse_column){.name = xstrdup(name),
					   .real = !sink_is_whole(known ? known : m),
					   .nulls = STRBUF_INIT,
					   .values = STRBUF_INIT};
	t->ready = false;
	return (int)t->column_count++;
}

/* ---- tables --------------------------------------------------------------------------------- */

static struct clickhouse_table *table_of(struct clickhouse *c, const char *host, const char *source)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	strbuf_addstr(&name, c->prefix);
	sink_add_name(&name, source);
	fit_file(&name);
	for (size_t i = 0; i < c->table_count; i++)
		if (!strcmp(c->tables[i].name, name.buf))
			return &c->tables[i];
	if (!c->names.max)
		c->names = (struct quota)QUOTA("clickhouse: names of tables", TABLES_MAX);
	if (!known_source(source) && !quota_take(&c->names, host))
		return NULL;
	GROW(c->tables, c->table_count, c->table_cap);
	struct clickhouse_table *t = &c->tables[c->table_count++];
	*t = (struct clickhouse_table){.name = strbuf_take(&name),
				       .source = xstrdup(source),
				       .names = QUOTA("clickhouse: names of columns", COLUMNS_MAX)};
	for (size_t i = 0; i < FIXED_END; i++)
		t->fixed[i] = (struct strbuf)STRBUF_INIT;
	return t;
}

static void add_fixed(struct clickhouse_table *t, const struct sample_file *f,
		      const struct sink_row *r)
{
	int64_t us = f->time_us, s = us / 1000000;
	uint32_t time = s < 0 ? 0 : s > UINT32_MAX ? UINT32_MAX : (uint32_t)s;
	const char *kind = entity_kind_name(r->entity->kind);

	strbuf_add(&t->fixed[FIXED_TIME], &time, sizeof(time));
	strbuf_add(&t->fixed[FIXED_TIME_US], &us, sizeof(us));
	add_string(&t->fixed[FIXED_HOST], f->head.host, strlen(f->head.host));
	add_string(&t->fixed[FIXED_KIND], kind, strlen(kind));
	add_string(&t->fixed[FIXED_ENTITY], r->entity->name, strlen(r->entity->name));
	add_string(&t->fixed[FIXED_JOB], r->job ? r->job : "", r->job_size);
}

/* False: part of it was left out. */
static bool add_reading(struct clickhouse *c, const struct sample_file *f)
{
	const struct sample_file_source *s = &f->sources[f->source];
	struct clickhouse_table *t = table_of(c, f->head.host, s->name);
	int places[SAMPLE_METRICS_MAX] = {0};
	bool all = t != NULL;

	for (unsigned m = 0; t && m < s->metric_count; m++) {
		places[m] = column_of(t, f->head.host, &s->metrics[m], m);
		all = all && places[m] >= 0;
	}
	for (size_t i = 0; t && i < f->reading.row_count && c->held < SINK_HELD_LIMIT; i++) {
		const struct sink_row row = sink_row(f, i);

		add_fixed(t, f, &row);
		for (unsigned m = 0; m < s->metric_count; m++) {
			if (!(row.present >> m & 1) || places[m] < 0)
				continue;
			struct clickhouse_column *column = &t->columns[places[m]];

			/* two metrics may have the same column name */
			if (column->nulls.len > t->rows)
				continue;
			fill_up(column, t->rows);
			add_value(column, &s->metrics[m], row.values[m]);
		}
		t->rows++;
		c->held += ROW_BYTES + strlen(f->head.host) + 2 * strlen(row.entity->name) +
			   9 * t->column_count;
	}
	return all;
}

/* Marks the rows since the last mark as those of this entry. */
static void mark(struct clickhouse_table *t, uint64_t entry)
{
	if (t->rows == (t->mark_count ? t->marks[t->mark_count - 1].rows : 0))
		return;
	GROW(t->marks, t->mark_count, t->mark_cap);
	struct clickhouse_mark *m = &t->marks[t->mark_count++];
	*m = (struct clickhouse_mark){.entry = entry, .rows = t->rows};
	for (size_t i = 0; i < FIXED_END; i++)
		m->at[i] = t->fixed[i].len;
}

void clickhouse_add(struct clickhouse *c, struct sample_file *f, uint64_t entry)
{
	bool all = true;
	int event;

	while ((event = sample_file_next(f)) > 0)
		if (event == SAMPLE_READING && f->head.host && !add_reading(c, f))
			all = false;
	if (!all)
		sink_refuse_names(&c->refusals, entry);
	for (size_t i = 0; i < c->table_count; i++)
		mark(&c->tables[i], entry);
}

static void add_head(struct strbuf *out, const char *name, const char *type)
{
	add_string(out, name, strlen(name));
	add_string(out, type, strlen(type));
}

void clickhouse_block(const struct clickhouse_table *t, size_t from, size_t to, struct strbuf *out)
{
	const struct clickhouse_mark *before = from ? &t->marks[from - 1] : NULL;
	const struct clickhouse_mark *last = &t->marks[to - 1];
	size_t first = before ? before->rows : 0, rows = last->rows - first;

	strbuf_add_varint(out, FIXED_END + t->column_count);
	strbuf_add_varint(out, rows);
	for (size_t i = 0; i < FIXED_END; i++) {
		size_t at = before ? before->at[i] : 0;

		add_head(out, clickhouse_fixed_columns[i].name, clickhouse_fixed_columns[i].type);
		strbuf_add(out, t->fixed[i].buf + at, last->at[i] - at);
	}
	for (size_t i = 0; i < t->column_count; i++) {
		struct clickhouse_column *c = &t->columns[i];

		fill_up(c, t->rows);
		add_head(out, c->name, c->real ? "Nullable(Float64)" : "Nullable(Int64)");
		strbuf_add(out, c->nulls.buf + first, rows);
		strbuf_add(out, c->values.buf + first * 8, rows * 8);
	}
}

void clickhouse_forget_rows(struct clickhouse *c, struct clickhouse_table *t)
{
	for (size_t i = 0; i < FIXED_END; i++)
		strbuf_reset(&t->fixed[i]);
	for (size_t i = 0; i < t->column_count; i++) {
		strbuf_reset(&t->columns[i].nulls);
		strbuf_reset(&t->columns[i].values);
	}
	t->rows = t->mark_count = 0;
	/* the count of bytes restarts when nothing is buffered */
	for (size_t i = 0; i < c->table_count; i++)
		if (c->tables[i].rows)
			return;
	c->held = 0;
}

void clickhouse_table_release(struct clickhouse_table *t)
{
	for (size_t i = 0; i < FIXED_END; i++)
		strbuf_release(&t->fixed[i]);
	for (size_t i = 0; i < t->column_count; i++) {
		strbuf_release(&t->columns[i].nulls);
		strbuf_release(&t->columns[i].values);
		free(t->columns[i].name);
	}
	free(t->columns);
	free(t->marks);
	quota_release(&t->names);
	free(t->source);
	free(t->name);
}
