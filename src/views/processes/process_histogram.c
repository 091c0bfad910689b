/* See process_histogram.h. Each job is counted by the database; the rows of all jobs are then
 * merged by their values. */
#include "views/processes/process_histogram.h"

#include <errno.h>
#include <string.h>

#include "views/outliers/feature_text.h"

struct counted {
	char *value; /* as text; NULL: unknown */
	size_t size;
	int64_t number;     /* the same as a number */
	int64_t count, sum; /* sum UNKNOWN: no process has the metric */
};

struct table {
	const struct proc_histogram *h;
	struct counted *v;
	size_t count, cap;
	bool text; /* values are texts, not numbers */
};

static void table_release(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->v[i].value);
	free(t->v);
}

int proc_histogram_check(const struct proc_histogram *h, struct strbuf *why)
{
	bool text = false;

	if (*h->key == '-' || !filter_order_known(FILTER_PROCESSES, h->key, NULL))
		return strbuf_fail(why, -EINVAL,
				   "--count-by: cannot count processes by '%s'; `plimsoll query "
				   "--keys` lists what they have",
				   h->key);
	if (h->sum &&
	    (*h->sum == '-' || !filter_order_known(FILTER_PROCESSES, h->sum, &text) || text))
		return strbuf_fail(why, -EINVAL,
				   "--sum: '%s' is not a metric of processes; `plimsoll query "
				   "--keys` lists those",
				   h->sum);
	return 0;
}

/* ---- counting ------------------------------------------------------------------------------- */

/* The statement for the job $1. */
static struct stmt *prepare(struct store *s, struct filter *where, const struct proc_histogram *h)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	sql_add(&q, "SELECT ");
	size_t at = q.text.len;
	sql_add(&q, " FROM process p WHERE p.id > ");
	sql_int(&q, 0);
	sql_add(&q, " * 4294967296 AND p.id < ($1 + 1) * 4294967296 AND ");
	filter_add_processes(&q, where, s->engine);
	sql_add(&q, " GROUP BY 1");
	/* the columns stand before $1, but their parameters, if any, have higher numbers */
	_cleanup_free_ char *rest = xstrdup(q.text.buf + at);
	strbuf_cut(&q.text, at);
	filter_add_order(&q, where, s->engine, h->key);
	sql_add(&q, ", count(*)");
	if (h->sum) {
		sql_add(&q, ", CAST(sum(");
		filter_add_order(&q, where, s->engine, h->sum);
		sql_add(&q, ") AS BIGINT)");
	}
	sql_add(&q, rest);
	return sql_prepare(&q, s);
}

static int count_job(struct table *t, struct stmt *st, int64_t job)
{
	int r;

	stmt_int(st, 1, job);
	while ((r = stmt_step(st)) == 1) {
		struct counted c = {.count = stmt_get_int(st, 1),
				    .sum = t->h->sum ? stmt_get_optional(st, 2) : UNKNOWN};
		const char *value = stmt_get_text(st, 0, &c.size);

		if (value && !stmt_is_null(st, 0)) {
			c.value = xmalloc(c.size + 1);
			memcpy(c.value, value, c.size);
			c.value[c.size] = 0;
			c.number = t->text ? 0 : stmt_get_int(st, 0);
		}
		GROW(t->v, t->count, t->cap);
		t->v[t->count++] = c;
	}
	return r;
}

/* Unknown values come last. */
static int compare_values(const struct counted *x, const struct counted *y)
{
	if (!x->value || !y->value)
		return !x->value - !y->value;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	size_t common = x->size < y->size ? x->size : y->size;
	int d = memcmp(x->value, y->value, common);
	return d ? d : x->size < y->size ? -1 : x->size > y->size;
}

static int by_value(const void *a, const void *b)
{
	return compare_values(a, b);
}

static int by_size(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	/* UNKNOWN is the smallest number */
	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return compare_values(x, y);
}

static void merge(struct table *t)
{
	size_t n = 0;

	if (t->count)
		qsort(t->v, t->count, sizeof(*t->v), by_value);
	for (size_t i = 0; i < t->count; i++) {
		if (!n || compare_values(&t->v[n - 1], &t->v[i]) != 0) {
			t->v[n++] = t->v[i];
			continue;
		}
		struct counted *to = &t->v[n - 1];
		to->count += t->v[i].count;
		if (to->sum == UNKNOWN)
			to->sum = t->v[i].sum;
		else if (t->v[i].sum != UNKNOWN)
			to->sum += t->v[i].sum;
		free(t->v[i].value);
	}
	t->count = n;
	if (n)
		qsort(t->v, n, sizeof(*t->v), by_size);
}

/* ---- output --------------------------------------------------------------------------------- */

static int print_json(const struct table *t, size_t from, size_t to, FILE *f)
{
	struct json_rows json;

	json_rows_begin(&json, f);
	for (size_t i = from; i < to; i++) {
		const struct counted *c = &t->v[i];

		json_begin_object(&json.j, NULL);
		if (!c->value)
			json_none(&json.j, "value");
		else if (t->text)
			json_text(&json.j, "value", c->value, c->size);
		else
			json_i64(&json.j, "value", c->number);
		json_i64(&json.j, "count", c->count);
		if (t->h->sum)
			json_number(&json.j, "sum", c->sum);
		json_end_object(&json.j);
		json_rows_next(&json);
	}
	return json_rows_end(&json);
}

static char *title(const char *key)
{
	char *text = xstrdup(key);

	for (char *p = text; *p; p++)
		*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
	return text;
}

static int print_table(const struct table *t, size_t from, size_t to, bool csv, FILE *f)
{
	_cleanup_free_ char *key = title(t->h->key), *sum = title(t->h->sum ? t->h->sum : "");
	const struct terminal_table_column columns[] = {
		{key, COLUMN_CUT}, {"PROCESSES", COLUMN_RIGHT}, {sum, COLUMN_RIGHT}};
	const struct terminal_table_column names[] = {{"value", 0}, {"count", 0}, {"sum", 0}};
	struct stream_table g;

	stream_table_begin(&g, csv ? names : columns, t->h->sum ? 3 : 2, csv, f);
	for (size_t i = from; i < to; i++) {
		const struct counted *c = &t->v[i];
		_cleanup_strbuf_ struct strbuf amount = STRBUF_INIT;

		stream_table_text(&g, c->value ? c->value : "", c->size);
		stream_table_count(&g, c->count);
		if (t->h->sum) {
			if (c->sum != UNKNOWN)
				add_feature(&amount, t->h->sum, (double)c->sum, g.human);
			stream_table_figure(&g, &amount);
		}
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int proc_histogram_print(const struct proc_histogram *h, struct store *s, const int64_t *jobs,
			 size_t count, const struct proc_filter *filter, enum proc_form form,
			 FILE *f)
{
	_cleanup_filter_ struct filter *all = filter->where ? NULL : filter_new(FILTER_PROCESSES);
	_cleanup_(table_release) struct table t = {.h = h};
	_cleanup_stmt_ struct stmt *st = prepare(s, all ? all : filter->where, h);
	int r = st ? 0 : -EIO;

	(void)filter_order_known(FILTER_PROCESSES, h->key, &t.text);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = count_job(&t, st, jobs[i]);
	if (r < 0)
		return r;
	merge(&t);
	size_t from = filter->offset < t.count ? (size_t)filter->offset : t.count;
	size_t to = filter->limit < t.count - from ? from + (size_t)filter->limit : t.count;
	r = form == PROC_JSON ? print_json(&t, from, to, f)
			      : print_table(&t, from, to, form == PROC_CSV, f);
	return r < 0 ? r : (int)(to - from);
}
