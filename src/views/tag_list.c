/* Tags and how many jobs or processes have them; see tag_list.h. */
#include "views/tag_list.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "jobs/tags.h"
#include "views/stream_table.h"

/* ---- of jobs -------------------------------------------------------------------------------- */

static void json_tag(struct proc_output *o, struct stmt *st)
{
	json_begin_object(&o->json.j, NULL);
	json_str(&o->json.j, "key", stmt_get_str(st, 0));
	json_str(&o->json.j, "value", stmt_get_str(st, 1));
	json_i64(&o->json.j, "jobs", stmt_get_int(st, 2));
	json_end_object(&o->json.j);
	json_rows_next(&o->json);
}

static void tag_row(struct proc_output *o, struct stmt *st)
{
	stream_table_str(&o->table, stmt_get_str(st, 0));
	stream_table_str(&o->table, stmt_get_str(st, 1));
	stream_table_count(&o->table, stmt_get_int(st, 2));
	stream_table_row(&o->table, 0);
}

int job_tags_print(struct store *s, enum proc_form form, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"KEY", 0}, {"VALUE", COLUMN_CUT}, {"JOBS", COLUMN_RIGHT}};
	static const struct terminal_table_column csv[] = {{"key", 0}, {"value", 0}, {"jobs", 0}};
	struct proc_output o = {
		.form = form,
		.rows = stmt_prepare(s, "SELECT key, value, count(*) FROM job_tag GROUP BY key, "
					"value ORDER BY key, value"),
		.write = {[PROC_TABLE] = tag_row, [PROC_JSON] = json_tag, [PROC_CSV] = tag_row}};

	if (!o.rows)
		return -EIO;
	proc_output_begin(&o, columns, ARRAY_SIZE(columns), csv, ARRAY_SIZE(csv), f);
	int r = proc_output_end(&o, proc_output_batch(&o));
	return r < 0 ? r : (int)o.count;
}

int job_tags_text(struct store *s, int64_t job, struct strbuf *out)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT key, value FROM job_tag WHERE job = $1 ORDER BY key", db_int(job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		const char *key = stmt_get_str(st, 0), *value;

		strbuf_addstr(out, out->len ? ";" : "");
		text_add_printable(out, key, strlen(key));
		strbuf_addch(out, ':');
		value = stmt_get_str(st, 1);
		text_add_printable(out, value, strlen(value));
	}
	return r;
}

/* ---- of processes --------------------------------------------------------------------------- */

struct tagged {
	struct value *tags; /* sorted by keys */
	char *text;         /* the same as JSON: equal where the tags are */
	int64_t processes;
};

struct taglist {
	struct tagged *v;
	size_t count, cap;
};

static void taglist_release(struct taglist *l)
{
	for (size_t i = 0; i < l->count; i++) {
		value_free(l->v[i].tags);
		free(l->v[i].text);
	}
	free(l->v);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct tagged *)a)->text, ((const struct tagged *)b)->text);
}

static int load(struct taglist *l, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT s.bytes, t.num_procs FROM job_proc_tag t "
			    "JOIN string s ON s.id = $1 + t.tags WHERE t.job = $2",
			    db_int(store_key(job, 0)), db_int(job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
		struct value *tags = tags_parse(stmt_get_str(st, 0), NULL);

		value_sort(tags);
		value_to_json(tags, &j, NULL);
		GROW(l->v, l->count, l->cap);
		l->v[l->count++] = (struct tagged){tags, xstrdup(j.out.buf), stmt_get_int(st, 1)};
	}
	return r;
}

/* The order of tags does not matter. */
static void merge(struct taglist *l)
{
	size_t n = 0;

	if (l->count)
		qsort(l->v, l->count, sizeof(*l->v), by_text);
	for (size_t i = 0; i < l->count; i++) {
		if (n && !strcmp(l->v[n - 1].text, l->v[i].text)) {
			l->v[n - 1].processes += l->v[i].processes;
			value_free(l->v[i].tags);
			free(l->v[i].text);
		} else {
			l->v[n++] = l->v[i];
		}
	}
	l->count = n;
}

static int print_json(const struct taglist *l, FILE *f)
{
	struct json_rows json;

	json_rows_begin(&json, f);
	for (size_t i = 0; i < l->count; i++) {
		json_begin_object(&json.j, NULL);
		value_to_json(l->v[i].tags, &json.j, "tags");
		json_i64(&json.j, "processes", l->v[i].processes);
		json_end_object(&json.j);
		json_rows_next(&json);
	}
	return json_rows_end(&json);
}

static int print_table(const struct taglist *l, bool csv, FILE *f)
{
	static const struct terminal_table_column columns[] = {{"PROCESSES", COLUMN_RIGHT},
							       {"TAGS", COLUMN_CUT}};
	static const struct terminal_table_column csv_columns[] = {{"processes", 0}, {"tags", 0}};
	struct stream_table g;

	stream_table_begin(&g, csv ? csv_columns : columns, ARRAY_SIZE(columns), csv, f);
	for (size_t i = 0; i < l->count; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		for (size_t k = 0; k < value_pairs(l->v[i].tags); k++) {
			const struct value *key = value_key(l->v[i].tags, k);
			const struct value *v = value_at(l->v[i].tags, k);

			if (k)
				strbuf_addch(&text, ';');
			strbuf_add(&text, key->str.data, key->str.size);
			strbuf_addch(&text, ':');
			strbuf_add(&text, v->str.data, v->str.size);
		}
		stream_table_count(&g, l->v[i].processes);
		stream_table_text(&g, text.buf, text.len);
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int proc_tags_print(struct store *s, const int64_t *jobs, size_t count, enum proc_form form,
		    FILE *f)
{
	_cleanup_(taglist_release) struct taglist l = {0};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = load(&l, s, jobs[i]);
	if (r < 0)
		return r;
	merge(&l);
	r = form == PROC_JSON ? print_json(&l, f) : print_table(&l, form == PROC_CSV, f);
	return r < 0 ? r : (int)l.count;
}
