/* Building statements; see sql.h. */
#include "store/sql.h"

void sql_release(struct sql *q)
{
	strbuf_release(&q->text);
	free(q->values);
}

void sql_add(struct sql *q, const char *text)
{
	strbuf_addstr(&q->text, text);
}

static void add_value(struct sql *q, struct db_value v)
{
	GROW(q->values, q->count, q->cap);
	q->values[q->count++] = v;
	strbuf_addf(&q->text, "$%zu", q->count);
}

void sql_put_values(struct sql *q, const char *text, const struct db_value *v)
{
	for (const char *mark; (mark = strchr(text, '?')); text = mark + 1) {
		strbuf_add(&q->text, text, (size_t)(mark - text));
		add_value(q, *v++);
	}
	sql_add(q, text);
}

void sql_int(struct sql *q, int64_t v)
{
	add_value(q, db_int(v));
}

void sql_text(struct sql *q, const char *s)
{
	add_value(q, db_str(s));
}

void sql_bytes(struct sql *q, const char *s, size_t n)
{
	add_value(q, db_bytes(s, n));
}

void sql_job_range(struct sql *q, const char *column, int64_t job)
{
	sql_add(q, column);
	sql_put(q, " BETWEEN ? AND ?", db_int(store_key(job, 0)),
		db_int(store_key(job, UINT32_MAX)));
}

struct stmt *sql_prepare(const struct sql *q, struct store *s)
{
	return store_query_values(s, q->text.buf, q->values, q->count);
}

void sql_list(struct sql *q, const char *column, const char *const *words, size_t n)
{
	sql_add(q, column);
	for (size_t i = 0; i < n; i++) {
		sql_add(q, i ? ", " : " IN (");
		sql_text(q, words[i]);
	}
	sql_add(q, ")");
}
