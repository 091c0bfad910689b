/* perfmon's JSON files as tables; see perfmon_tables.h. */
#include "compat/perfmon/perfmon_tables.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "compat/perfmon/perfmon_walk.h"
#include "tables/atomic_output.h"
#include "tables/table_builder.h"

#define COLUMNS_MAX 1024u
#define VALUES_MAX ((size_t)16 << 20) /* of one host */
#define MIB 1048576.0
#define FORMATS_MAX 16u

/* The first columns of every table. */
enum { HOST, TIMESTAMPS, METRICS };

struct column {
	char *group, *key; /* group NULL: none */
	char *header;
	double divisor;
	double *values; /* of the current host; NaN: absent */
	size_t count, cap;
	size_t hosts; /* number of values */
	bool real;    /* a value is not an integer, or absent */
};

struct output {
	const struct table_format *format;
	struct atomic_output place;
	struct table_file *file;
	int error;
};

struct terminal_table {
	const struct perfmon_tables *t;
	enum perfmon_file kind;
	char name[32];          /* "cpu_metrics" */
	struct column *columns; /* metrics only */
	size_t count, cap;
	struct column times;
	size_t hosts, rows, host_width;
	bool writing;
	struct table_column *table;
	struct table_builder build;
	struct output outputs[FORMATS_MAX];
	struct strbuf *why;
};

/* ---- columns -------------------------------------------------------------------------------- */

static struct column *find_column(struct terminal_table *t, const char *group, const char *key)
{
	for (size_t i = 0; i < t->count; i++)
		if (str_same(t->columns[i].group, group) && !strcmp(t->columns[i].key, key))
			return &t->columns[i];
	if (t->writing || t->count == COLUMNS_MAX)
		return NULL;
	GROW(t->columns, t->count, t->cap);
	struct column *c = &t->columns[t->count++];
	*c = (struct column){
		.group = group ? xstrdup(group) : NULL, .key = xstrdup(key), .divisor = 1};
	return c;
}

static void column_free(struct column *c)
{
	free(c->group);
	free(c->key);
	free(c->header);
	free(c->values);
}

/* Column names are unique: a key that is in several groups has the name of its group as a
 * prefix. */
static void name_columns(struct terminal_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct column *c = &t->columns[i];

		c->header = perfmon_header(t->kind, c->group, c->key);
		if (t->kind == PERFMON_CPU && !strcmp(c->key, "memory_bw"))
			c->divisor = MIB;
		for (size_t k = 0; k < i; k++) {
			if (strcmp(t->columns[k].header, c->header) != 0)
				continue;
			free(c->header);
			c->header = xasprintf("%s %s", c->group ? c->group : "host", c->key);
			break;
		}
	}
}

/* In the order of our table of keys, then in the order of the file. */
static int compare_columns(const void *a, const void *b)
{
	const struct column *x = a, *y = b;
	size_t i = perfmon_header_place(x->group, x->key),
	       k = perfmon_header_place(y->group, y->key);

	if (i != k)
		return i < k ? -1 : 1;
	int r = strcmp(x->group ? x->group : "", y->group ? y->group : "");
	return r ? r : strcmp(x->key, y->key);
}

/* ---- a host --------------------------------------------------------------------------------- */

static void begin_host(void *user, const char *host PL_UNUSED)
{
	struct terminal_table *t = user;

	t->times.count = 0;
	for (size_t i = 0; i < t->count; i++)
		t->columns[i].count = 0;
}

static void *begin_column(void *user, const char *group, const char *key)
{
	struct terminal_table *t = user;
	bool times = !group && !strcmp(key, "time_stamps");
	struct column *c = times ? &t->times : find_column(t, group, key);

	if (c)
		c->count = 0;
	return c;
}

static void add_value(void *user PL_UNUSED, void *column, const struct json_reader *j,
		      enum json_token token)
{
	struct column *c = column;

	if (c->count == VALUES_MAX)
		return;
	GROW(c->values, c->count, c->cap);
	c->values[c->count++] = token == JSON_NUMBER && isfinite(j->real) ? j->real : (double)NAN;
}

/* Finds the type of each column. */
static void survey_host(struct terminal_table *t, const char *host)
{
	t->hosts++;
	t->rows += t->times.count;
	t->host_width = strlen(host) > t->host_width ? strlen(host) : t->host_width;
	for (size_t k = 0; k < t->times.count; k++)
		t->times.real = t->times.real || t->times.values[k] != t->times.values[k];
	for (size_t i = 0; i < t->count; i++) {
		struct column *c = &t->columns[i];

		c->hosts += c->count > 0;
		c->real = c->real || c->count < t->times.count;
		for (size_t k = 0; k < c->count && k < t->times.count && !c->real; k++)
			c->real = !(fabs(c->values[k]) < 9e15) ||
				  c->values[k] != (double)(int64_t)c->values[k];
	}
}

static void put_number(struct terminal_table *t, size_t column, const struct column *c, size_t k)
{
	double v = k < c->count ? c->values[k] : (double)NAN;

	if (v != v)
		table_builder_absent(&t->build, column);
	else if (t->table[column].type == TABLE_REAL)
		table_builder_real(&t->build, column, v / c->divisor);
	else
		table_builder_int(&t->build, column, (int64_t)v);
}

static void write_batch(struct terminal_table *t)
{
	struct table_batch b;

	if (!t->build.rows)
		return;
	table_builder_take(&t->build, &b);
	for (size_t i = 0; i < t->t->format_count; i++) {
		struct output *o = &t->outputs[i];

		if (o->file && !o->error)
			o->error = table_write(o->file, &b, t->why);
	}
	table_builder_begin(&t->build);
}

static void write_host(struct terminal_table *t, const char *host)
{
	for (size_t k = 0; k < t->times.count; k++) {
		if (table_builder_full(&t->build))
			write_batch(t);
		table_builder_text(&t->build, HOST, host, strlen(host));
		put_number(t, TIMESTAMPS, &t->times, k);
		for (size_t i = 0; i < t->count; i++)
			put_number(t, METRICS + i, &t->columns[i], k);
		table_builder_row(&t->build);
	}
}

static int end_host(void *user, const char *host)
{
	struct terminal_table *t = user;

	if (t->writing)
		write_host(t, host);
	else
		survey_host(t, host);
	return 0;
}

/* Adds a line break: *why has one line per problem. */
static void end_line(struct strbuf *why)
{
	if (why->len && why->buf[why->len - 1] != '\n')
		strbuf_addch(why, '\n');
}

/* -ENOENT: there is none. */
static int read_file(struct terminal_table *t)
{
	struct perfmon_walk w = {.file = t->kind,
				 .user = t,
				 .begin = begin_host,
				 .column = begin_column,
				 .value = add_value,
				 .end = end_host};
	int r = perfmon_walk(&w, t->t->metrics, t->why);

	end_line(t->why);
	return r;
}

/* ---- outputs -------------------------------------------------------------------------------- */

static void make_frame(struct terminal_table *t)
{
	if (t->count)
		qsort(t->columns, t->count, sizeof(*t->columns), compare_columns);
	name_columns(t);
	t->table = xcalloc(METRICS + t->count, sizeof(*t->table));
	t->table[HOST] = (struct table_column){"Host", TABLE_TEXT, NULL};
	t->table[TIMESTAMPS] =
		(struct table_column){"Timestamps", TABLE_INT, "seconds since 1970 UTC"};
	for (size_t i = 0; i < t->count; i++) {
		struct column *c = &t->columns[i];

		/* as in pandas: integers if all values are there; but percentages and seconds have
		 * the same type in every job */
		c->real = c->real || c->hosts < t->hosts || c->divisor != 1 ||
			  str_suffix(c->header, "[%]") || str_suffix(c->header, "[s]");
		t->table[METRICS + i] =
			(struct table_column){c->header, c->real ? TABLE_REAL : TABLE_INT, NULL};
	}
	table_builder_init(&t->build, t->table, METRICS + t->count, 0);
}

static char *output_path(const struct terminal_table *t, const struct table_format *f)
{
	return xasprintf("%s/%s%s", t->t->dir, f->database ? "metrics" : t->name, f->suffix);
}

static void open_output(struct terminal_table *t, struct output *o)
{
	_cleanup_free_ char *path = output_path(t, o->format);
	_cleanup_free_ char *table =
		o->format->database ? xasprintf("%s_%s", t->name, t->t->job) : xstrdup(t->name);
	struct table_hint *hints = xcalloc(METRICS + t->count, sizeof(*hints));

	hints[HOST].width = t->host_width;
	hints[TIMESTAMPS].absent = t->times.real;
	for (char *p = table; *p; p++)
		if (*p == '/')
			*p = '_';
	o->error = atomic_output_begin(&o->place, o->format, path, t->why);
	if (o->error >= 0) {
		const struct table_options options = {.table = table,
						      .append = o->place.existed,
						      .hints = hints,
						      .rows = (int64_t)t->rows};

		o->error = table_open(&o->file, o->format, o->place.path, t->table,
				      METRICS + t->count, &options, t->why);
		if (o->error < 0)
			atomic_output_cancel(&o->place);
	}
	end_line(t->why);
	free(hints);
}

/* Readers know both names: that of the table, and that of the file with all tables. */
static void link_name(const struct terminal_table *t, const struct table_format *f)
{
	_cleanup_free_ char *name = xasprintf("%s/%s%s", t->t->dir, t->name, f->suffix);
	_cleanup_free_ char *target = xasprintf("metrics%s", f->suffix);

	if (symlink(target, name) < 0 && errno != EEXIST)
		strbuf_addf(t->why, "'%s' is in '%s' only: no link to it can be made: %s\n",
			    t->name, target, strerror(errno));
}

static int close_output(struct terminal_table *t, struct output *o, bool whole)
{
	if (!o->file)
		return o->error;
	if (whole && o->error >= 0)
		o->error = table_close(o->file, t->why);
	else
		table_abandon(o->file);
	if (whole && o->error >= 0)
		o->error = atomic_output_commit(&o->place, t->why);
	atomic_output_cancel(&o->place);
	end_line(t->why);
	if (whole && o->error >= 0 && o->format->database)
		link_name(t, o->format);
	return o->error;
}

static int write_table(struct terminal_table *t, int *ret_count)
{
	int result = 0;

	make_frame(t);
	t->writing = true;
	for (size_t i = 0; i < t->t->format_count; i++) {
		t->outputs[i].format = t->t->formats[i];
		open_output(t, &t->outputs[i]);
	}
	int r = read_file(t);
	write_batch(t);
	for (size_t i = 0; i < t->t->format_count; i++) {
		int e = close_output(t, &t->outputs[i], r >= 0);

		*ret_count += r >= 0 && e >= 0;
		result = result ? result : (e < 0 ? e : 0);
	}
	return r < 0 ? r : result;
}

static int write_one(const struct perfmon_tables *tables, enum perfmon_file kind, int *ret_count,
		     struct strbuf *why)
{
	struct terminal_table *t = xcalloc(1, sizeof(*t));

	*t = (struct terminal_table){.t = tables, .kind = kind, .why = why};
	snprintf(t->name, sizeof(t->name), "%.*s", (int)strcspn(perfmon_file_names[kind], "."),
		 perfmon_file_names[kind]);
	t->times.divisor = 1;
	int r = read_file(t);
	if (r == -ENOENT || (r >= 0 && !t->hosts))
		r = 0;
	else if (r >= 0)
		r = write_table(t, ret_count);
	for (size_t i = 0; i < t->count; i++)
		column_free(&t->columns[i]);
	free(t->columns);
	free(t->times.values);
	if (t->table)
		table_builder_release(&t->build);
	free(t->table);
	free(t);
	return r;
}

int perfmon_tables_write(const struct perfmon_tables *t, struct strbuf *why)
{
	int count = 0, result = 0;

	if (t->format_count > FORMATS_MAX)
		return -E2BIG;
	for (int kind = 0; kind < PERFMON_FILES; kind++) {
		int r = write_one(t, (enum perfmon_file)kind, &count, why);

		result = result ? result : (r < 0 ? r : 0);
	}
	return result ? result : count;
}
