/*
 * Features of operations: sums over the processes of a job that have the same tags; see features.h.
 */
#include <math.h>

#include "core/hash_map.h"
#include "jobs/tags.h"
#include "store/analysis/features_internal.h"
#include "store/ingest/ingest.h"
#include "store/sql.h"

void feature_operations_release(struct feature_operations *l)
{
	for (size_t i = 0; i < l->count; i++) {
		value_free(l->v[i].tags);
		free(l->v[i].text);
	}
	free(l->v);
	*l = (struct feature_operations){0};
}

void operation_text(const struct value *tags, struct strbuf *out)
{
	strbuf_addch(out, '{');
	for (size_t i = 0; i < value_pairs(tags); i++) {
		_cleanup_json_ struct json_writer key = JSON_WRITER_INIT, v = JSON_WRITER_INIT;

		value_to_json(value_key(tags, i), &key, NULL);
		value_to_json(value_at(tags, i), &v, NULL);
		strbuf_addf(out, "%s%s: %s", i ? ", " : "", key.out.buf, v.out.buf);
	}
	strbuf_addch(out, '}');
}

struct loader {
	struct feature_table *t;
	struct feature_operations *ops;
	const struct value *wanted; /* list of dicts, NULL: all */
	struct hash_map by_text;    /* numbers of operations */
	size_t *last_row;           /* of each operation */
	size_t last_cap;
	size_t job;   /* its index */
	size_t first; /* its first row */
	/* of the job: the rows of each set of tags, by the number of its string */
	struct tag_rows {
		int64_t string;
		size_t *rows;
		size_t count;
	} * sets;
	size_t set_count, set_cap;
	struct hash_map by_string; /* sets */
};

/* The number of an operation, which is added if there is none. Takes tags. */
static size_t operation_number(struct loader *l, struct value *tags)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct feature_operations *ops = l->ops;

	value_sort(tags);
	operation_text(tags, &text);
	const uint64_t hash = hash_text(text.buf);
	for (struct hash_slot *s = hash_map_first(&l->by_text, hash); s;
	     s = hash_map_next(&l->by_text, s))
		if (!strcmp(ops->v[s->value].text, text.buf)) {
			value_free(tags);
			return s->value;
		}
	hash_map_add(&l->by_text, hash, ops->count);
	GROW(ops->v, ops->count, ops->cap);
	ops->v[ops->count] = (struct operation){tags, xstrdup(text.buf)};
	GROW(l->last_row, ops->count, l->last_cap);
	l->last_row[ops->count] = SIZE_MAX;
	return ops->count++;
}

/* The row of an operation in this job. Takes tags. */
static size_t row_for(struct loader *l, struct value *tags)
{
	const size_t op = operation_number(l, tags), row = l->last_row[op];

	if (row != SIZE_MAX && row >= l->first)
		return row;
	return l->last_row[op] = feature_table_row(l->t, (int64_t)l->job, op);
}

/* The rows to which processes with these tags belong. */
static void add_set(struct loader *l, int64_t string, const char *text)
{
	struct value *tags = tags_parse(text, NULL);
	struct tag_rows set = {string, NULL, 0};

	if (!l->wanted && value_pairs(tags)) {
		set.rows = xcalloc(1, sizeof(*set.rows));
		set.rows[set.count++] = row_for(l, value_ref(tags));
	} else if (l->wanted) {
		set.rows = xcalloc(l->wanted->list.count + 1, sizeof(*set.rows));
		for (size_t i = 0; i < l->wanted->list.count; i++)
			if (tags_contain(tags, l->wanted->list.items[i]))
				set.rows[set.count++] =
					row_for(l, value_ref(l->wanted->list.items[i]));
	}
	value_free(tags);
	hash_map_add(&l->by_string, hash_number((uint64_t)string), l->set_count);
	GROW(l->sets, l->set_count, l->set_cap);
	l->sets[l->set_count++] = set;
}

static void forget_sets(struct loader *l)
{
	for (size_t i = 0; i < l->set_count; i++)
		free(l->sets[i].rows);
	l->set_count = 0;
	hash_map_clear(&l->by_string);
}

static int load_sets(struct loader *l, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT t.tags, s.bytes FROM job_proc_tag t "
			    "JOIN string s ON s.id = $1 + t.tags WHERE t.job = $2",
			    db_int(store_key(job, 0)), db_int(job));
	int r;

	forget_sets(l);
	l->first = l->t->row_count;
	while ((r = stmt_step(st)) == 1)
		add_set(l, stmt_get_int(st, 0), stmt_get_str(st, 1));
	return r;
}

static void add_to_rows(struct loader *l, int64_t string, size_t column, double v)
{
	for (struct hash_slot *s = hash_map_first(&l->by_string, hash_number((uint64_t)string));
	     s && !isnan(v); s = hash_map_next(&l->by_string, s)) {
		const struct tag_rows *set = &l->sets[s->value];

		for (size_t k = 0; set->string == string && k < set->count; k++) {
			double *cell = &l->t->columns[column].v[set->rows[k]];

			*cell = isnan(*cell) ? v : *cell + v;
		}
	}
}

static int add_processes(struct loader *l, struct store *s, int64_t job)
{
	static const char *const own[] = {"num_procs", "duration", "cpu_time"};
	_cleanup_sql_ struct sql q = SQL_INIT;
	size_t columns[ARRAY_SIZE(own) + 64], n = 0;
	int r;

	/* sums of whole numbers may be too large for a whole number */
	sql_add(&q, "SELECT tags, count(*), sum(CAST(duration AS DOUBLE PRECISION)), "
		    "sum(CAST(usertime + systemtime AS DOUBLE PRECISION))");
	for (; n < ARRAY_SIZE(own); n++)
		columns[n] = feature_table_column(l->t, own[n]);
	for (size_t i = 0; i < ingest_process_metric_count; i++) {
		const char *name = metric_by_id(ingest_process_metrics[i])->name;

		if (!feature_is_counted(ingest_process_metrics[i]) || n >= ARRAY_SIZE(columns))
			continue;
		columns[n++] = feature_table_column(l->t, name);
		strbuf_addf(&q.text, ", sum(CAST(%s AS DOUBLE PRECISION))", name);
	}
	sql_add(&q, " FROM process WHERE tags IS NOT NULL AND ");
	sql_job_range(&q, "id", job);
	sql_add(&q, " GROUP BY tags");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1)
		for (size_t i = 0; i < n; i++)
			add_to_rows(l, stmt_get_int(st, 0), columns[i],
				    stmt_get_feature(st, (int)i + 1));
	return r;
}

static int add_events(struct loader *l, struct store *s, int64_t job)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	sql_add(&q, "SELECT e.tags, s.bytes, e.total FROM (SELECT p.tags AS tags, v.name AS name, "
		    "sum(CAST(v.value AS DOUBLE PRECISION)) AS total FROM event v "
		    "JOIN process p ON p.id = v.process WHERE p.tags IS NOT NULL AND v.thread = 0 "
		    "AND ");
	sql_job_range(&q, "v.process", job);
	sql_put(&q, " GROUP BY p.tags, v.name) e JOIN string s ON s.id = ? + e.name",
		db_int(store_key(job, 0)));
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1) {
		double v = stmt_get_feature(st, 2);

		add_to_rows(l, stmt_get_int(st, 0), feature_table_column(l->t, stmt_get_str(st, 1)),
			    v);
	}
	return r;
}

struct placed_operation {
	struct operation op;
	size_t from;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct placed_operation *)a)->op.text,
		      ((const struct placed_operation *)b)->op.text);
}

/* Sorts operations by their text, and rows by operation. */
static void sort_all(struct feature_table *t, struct feature_operations *l)
{
	_cleanup_free_ struct placed_operation *order = xcalloc(l->count + 1, sizeof(*order));
	_cleanup_free_ size_t *to = xcalloc(l->count + 1, sizeof(*to));

	for (size_t i = 0; i < l->count; i++)
		order[i] = (struct placed_operation){l->v[i], i};
	qsort(order, l->count, sizeof(*order), by_text);
	for (size_t i = 0; i < l->count; i++) {
		l->v[i] = order[i].op;
		to[order[i].from] = i;
	}
	for (size_t i = 0; i < t->row_count; i++)
		t->rows[i].group = to[t->rows[i].group];
	feature_table_sort(t);
}

int features_of_operations(struct feature_table *t, struct feature_operations *ops, struct store *s,
			   const int64_t *jobs, size_t count, const struct value *tags)
{
	struct loader l = {.t = t, .ops = ops, .wanted = tags};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		l.job = i;
		r = load_sets(&l, s, jobs[i]);
		if (r >= 0)
			r = add_processes(&l, s, jobs[i]);
		if (r >= 0)
			r = add_events(&l, s, jobs[i]);
	}
	forget_sets(&l);
	free(l.sets);
	free(l.last_row);
	hash_map_release(&l.by_string);
	hash_map_release(&l.by_text);
	sort_all(t, ops);
	return r < 0 ? r : 0;
}
