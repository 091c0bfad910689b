/* Selects and orders processes, and what their output shares; see process_list.h. */
#include "views/processes/process_list.h"

#include <errno.h>
#include <string.h>

#include "core/value.h"
#include "jobs/tags.h"

const char proc_orders[] =
	"start, end, duration, cpu_time, inclusive_cpu_time, exclusive_time, rssmax, pid, depth, "
	"children, descendants or another key of `plimsoll query --keys`";

/* ---- selection ------------------------------------------------------------------------------ */

struct key {
	int64_t key;          /* the value, or the place of its text */
	uint32_t number, job; /* job: index */
};

struct selection {
	struct key *keys;
	size_t count, cap;
	bool descending, sorted;
	bool text;           /* sort by texts, */
	struct strbuf texts; /* which are these */
};

static void selection_release(struct selection *l)
{
	free(l->keys);
	strbuf_release(&l->texts);
}

/* Unknown texts, which have no place, come last in either direction. */
static int compare_texts(const struct selection *l, int64_t x, int64_t y)
{
	if (x == INT64_MAX || y == INT64_MAX)
		return x < y ? -1 : x > y;
	int d = strcmp(l->texts.buf + x, l->texts.buf + y);
	return l->descending ? -d : d;
}

static int ascending(const void *a, const void *b, void *list)
{
	const struct key *x = a, *y = b;
	const struct selection *l = list;
	int d = l->text ? compare_texts(l, x->key, y->key) : x->key < y->key ? -1 : x->key > y->key;

	if (d)
		return d;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The statement for the job $1. */
static struct stmt *prepare_selection(struct store *s, struct filter *where, const char *order)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	sql_add(&q, "SELECT p.id, ");
	size_t at = q.text.len;
	sql_add(&q, " FROM process p WHERE p.id > ");
	sql_int(&q, 0);
	sql_add(&q, " * 4294967296 AND p.id < ($1 + 1) * 4294967296 AND ");
	filter_add_processes(&q, where, s->engine);
	sql_add(&q, " ORDER BY p.id");
	/* the column stands before $1, but its parameters, if any, have higher numbers */
	_cleanup_free_ char *rest = xstrdup(q.text.buf + at);
	strbuf_cut(&q.text, at);
	filter_add_order(&q, where, s->engine, order);
	sql_add(&q, rest);
	return sql_prepare(&q, s);
}

/* What rows are sorted by. */
static int64_t key_of(struct selection *l, struct stmt *st)
{
	if (!l->text) {
		int64_t v = stmt_get_optional(st, 1);

		/* unknown values come last in either direction */
		return v == UNKNOWN ? INT64_MAX : l->descending ? -v : v;
	}
	if (stmt_is_null(st, 1))
		return INT64_MAX;
	const char *s = stmt_get_str(st, 1);
	size_t at = l->texts.len;
	strbuf_add(&l->texts, s, strlen(s) + 1);
	return (int64_t)at;
}

static int select_keys(struct selection *l, struct stmt *st, int64_t job, uint32_t index)
{
	int r;

	stmt_int(st, 1, job);
	while ((r = stmt_step(st)) == 1) {
		int64_t key = key_of(l, st);

		GROW(l->keys, l->count, l->cap);
		l->sorted = l->sorted && (!l->count || l->keys[l->count - 1].key <= key);
		l->keys[l->count++] =
			(struct key){key, (uint32_t)(stmt_get_int(st, 0) & UINT32_MAX), index};
	}
	return r;
}

void proc_list_release(struct proc_list *l)
{
	free(l->ids);
}

int proc_list_load_jobs(struct proc_list *l, struct store *s, const int64_t *jobs, size_t count,
			const struct proc_filter *f)
{
	const char *order = f->order ? f->order : "start";
	_cleanup_(selection_release) struct selection sel = {
		.descending = *order == '-', .sorted = true, .texts = STRBUF_INIT};
	_cleanup_filter_ struct filter *all = f->where ? NULL : filter_new(FILTER_PROCESSES);
	_cleanup_stmt_ struct stmt *st = prepare_selection(s, all ? all : f->where, order);
	int r = st ? 0 : -EIO;

	(void)filter_order_known(FILTER_PROCESSES, order, &sel.text);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = select_keys(&sel, st, jobs[i], (uint32_t)i);
	if (r < 0)
		return r;
	if (sel.count && (!sel.sorted || sel.text))
		qsort_r(sel.keys, sel.count, sizeof(*sel.keys), ascending, &sel);
	size_t begin = f->offset < sel.count ? (size_t)f->offset : sel.count;
	l->count = f->limit < sel.count - begin ? (size_t)f->limit : sel.count - begin;
	l->ids = xreallocarray(NULL, l->count + 1, sizeof(*l->ids));
	for (size_t i = 0; i < l->count; i++)
		l->ids[i] = store_key(jobs[sel.keys[begin + i].job], sel.keys[begin + i].number);
	return 0;
}

int proc_list_load(struct proc_list *l, struct store *s, int64_t job, const struct proc_filter *f)
{
	return proc_list_load_jobs(l, s, &job, 1, f);
}

/* ---- counters ------------------------------------------------------------------------------- */

static int counters_load(struct counters *c, struct stmt *st)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct counters_entry *at = NULL; /* the current one */
	int r;

	c->count = 0;
	c->cap = c->entries ? c->cap : 0;
	strbuf_reset(&c->texts);
	while ((r = stmt_step(st)) == 1) {
		uint32_t process = (uint32_t)(stmt_get_int(st, 0) & UINT32_MAX);
		uint32_t thread = (uint32_t)stmt_get_int(st, 1);

		if (!at || at->process != process || at->thread != thread) {
			GROW(c->entries, c->count, c->cap);
			at = &c->entries[c->count++];
			*at = (struct counters_entry){process, thread, c->texts.len, 0};
			j.first[0] = true;
		}
		json_i64(&j, stmt_get_str(st, 2), stmt_get_int(st, 3));
		strbuf_add(&c->texts, j.out.buf, j.out.len);
		strbuf_reset(&j.out);
		at->end = c->texts.len;
	}
	return r;
}

void counters_json(const struct counters *c, uint32_t process, uint32_t thread,
		   struct json_writer *j)
{
	size_t low = 0, high = c->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct counters_entry *e = &c->entries[middle];

		if (e->process < process || (e->process == process && e->thread < thread))
			low = middle + 1;
		else
			high = middle;
	}
	const struct counters_entry *e = low < c->count ? &c->entries[low] : NULL;
	if (!e || e->process != process || e->thread != thread)
		return;
	json_raw(j, "counters", "{}", 2);
	strbuf_cut(&j->out, j->out.len - 1);
	strbuf_add(&j->out, c->texts.buf + e->begin, e->end - e->begin);
	strbuf_addch(&j->out, '}');
}

/* ---- output --------------------------------------------------------------------------------- */

void proc_output_begin(struct proc_output *o, const struct terminal_table_column *columns,
		       size_t count, const struct terminal_table_column *csv, size_t csv_count,
		       FILE *f)
{
	bool is_csv = o->form == PROC_CSV;

	o->counters.texts = (struct strbuf)STRBUF_INIT;
	if (o->form == PROC_JSON)
		json_rows_begin(&o->json, f);
	else
		stream_table_begin(&o->table, is_csv ? csv : columns, is_csv ? csv_count : count,
				   is_csv, f);
}

int proc_output_batch(struct proc_output *o)
{
	int r = o->events ? counters_load(&o->counters, o->events) : 0;

	while (r >= 0 && !proc_output_full(o) && (r = stmt_step(o->rows)) == 1) {
		if (o->page.offset) {
			o->page.offset--;
			continue;
		}
		o->write[o->form](o, o->rows);
		o->count++;
	}
	return r;
}

int proc_output_end(struct proc_output *o, int r)
{
	int written = o->form == PROC_JSON ? json_rows_end(&o->json) : stream_table_end(&o->table);

	stmt_finish_ptr(&o->rows);
	stmt_finish_ptr(&o->events);
	free(o->counters.entries);
	strbuf_release(&o->counters.texts);
	return r < 0 ? r : written;
}

/* The column of a metric that is not a time; 0: none. */
static int column_of(const struct proc_output *o, enum metric_id id)
{
	return o->text && o->text[id] ? o->text[id] : o->column[id];
}

static int64_t end_of(const struct proc_output *o, struct stmt *st)
{
	return known_sum(stmt_get_optional(st, o->start), stmt_get_optional(st, o->duration));
}

void proc_output_json(struct proc_output *o, struct stmt *st)
{
	int64_t start = stmt_get_optional(st, o->start), end = end_of(o, st);
	struct json_writer *j = &o->json.j;

	for (size_t i = 0; i < metric_count; i++) {
		enum metric_id id = metrics[i].id;
		int column = column_of(o, id);
		size_t n;

		if (id == METRIC_START && start != UNKNOWN) {
			json_time(j, "start", start);
		} else if (id == METRIC_END && end != UNKNOWN) {
			json_time(j, "end", end);
		} else if (id == METRIC_TAGS && column) {
			_cleanup_value_ struct value *tags =
				tags_parse(stmt_get_str(st, column), NULL);

			value_to_json(tags, j, "tags");
		} else if (o->text && o->text[id]) {
			const char *s = stmt_get_text(st, column, &n);

			if (s)
				json_text(j, metrics[i].name, s, n);
		} else if (column) {
			json_known(j, metrics[i].name, stmt_get_optional(st, column));
		}
	}
}

size_t proc_output_columns(const struct proc_output *o, struct terminal_table_column *out)
{
	size_t n = 0;

	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].id == METRIC_START || metrics[i].id == METRIC_END ||
		    column_of(o, metrics[i].id))
			out[n++].name = metrics[i].name;
	out[n++].name = "duration";
	out[n++].name = "cpu_time";
	return n;
}

void proc_output_cells(struct proc_output *o, struct stmt *st)
{
	for (size_t i = 0; i < metric_count; i++) {
		int column = column_of(o, metrics[i].id);

		if (metrics[i].id == METRIC_START)
			stream_table_time(&o->table, stmt_get_optional(st, o->start));
		else if (metrics[i].id == METRIC_END)
			stream_table_time(&o->table, end_of(o, st));
		else if (column && o->text && o->text[metrics[i].id])
			proc_output_text(o, st, column);
		else if (column)
			stream_table_number(&o->table, stmt_get_optional(st, column));
	}
	stream_table_number(&o->table, stmt_get_optional(st, o->duration));
	stream_table_number(&o->table, proc_output_cpu(o, st));
}

int64_t proc_output_cpu(const struct proc_output *o, struct stmt *st)
{
	return known_sum(stmt_get_optional(st, o->column[METRIC_USERTIME]),
			 stmt_get_optional(st, o->column[METRIC_SYSTEMTIME]));
}

void proc_output_text(struct proc_output *o, struct stmt *st, int column)
{
	size_t n;
	const char *s = stmt_get_text(st, column, &n);

	stream_table_text(&o->table, s, s ? n : 0);
}
