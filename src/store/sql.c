/* Statements from pieces; see sql.h. */
#include "store/sql.h"

#include <string.h>

void sql_release(struct sql *q)
{
	strbuf_release(&q->text);
	free(q->values);
}

void sql_add(struct sql *q, const char *text)
{
	strbuf_addstr(&q->text, text);
}

static void add_value(struct sql *q, struct sql_value v)
{
	GROW(q->values, q->count, q->cap);
	q->values[q->count++] = v;
	strbuf_addf(&q->text, "$%zu", q->count);
}

void sql_int(struct sql *q, int64_t v)
{
	add_value(q, (struct sql_value){.kind = STORE_INT, .number = v});
}

void sql_text(struct sql *q, const char *s)
{
	add_value(q, (struct sql_value){.kind = STORE_TEXT, .data = s, .size = strlen(s)});
}

void sql_textn(struct sql *q, const char *s, size_t n)
{
	add_value(q, (struct sql_value){.kind = STORE_TEXT, .data = s, .size = n});
}

void sql_bytes(struct sql *q, const char *s, size_t n)
{
	add_value(q, (struct sql_value){.kind = STORE_BYTES, .data = s, .size = n});
}

void sql_job_range(struct sql *q, const char *column, int64_t job)
{
	sql_add(q, column);
	sql_add(q, " BETWEEN ");
	sql_int(q, store_key(job, 0));
	sql_add(q, " AND ");
	sql_int(q, store_key(job, UINT32_MAX));
}

struct stmt *sql_prepare(const struct sql *q, struct store *s)
{
	struct stmt *st = stmt_prepare(s, q->text.buf);

	for (size_t i = 0; st && i < q->count; i++) {
		const struct sql_value *v = &q->values[i];

		if (v->kind == STORE_INT)
			stmt_int(st, (int)i + 1, v->number);
		else if (v->kind == STORE_TEXT)
			stmt_text(st, (int)i + 1, v->data, v->size);
		else
			stmt_bytes(st, (int)i + 1, v->data, v->size);
	}
	return st;
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
