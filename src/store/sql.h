/* Builds a statement from fixed pieces of SQL and bound values. */
#pragma once

#include "store/store.h"

struct sql {
	struct strbuf text;
	struct db_value *values;
	size_t count, cap;
};
#define SQL_INIT                    \
	{                           \
		.text = STRBUF_INIT \
	}
void sql_release(struct sql *q);
#define _cleanup_sql_ _cleanup_(sql_release)

/* Constant text, never from a user. */
void sql_add(struct sql *q, const char *text);
/* The same with parameters: each ? stands for one of the values. */
void sql_put_values(struct sql *q, const char *text, const struct db_value *v);
#define sql_put(q, text, ...) sql_put_values(q, text, (const struct db_value[]){__VA_ARGS__})
/* Adds a parameter with its value. */
void sql_int(struct sql *q, int64_t v);
void sql_text(struct sql *q, const char *s);
void sql_bytes(struct sql *q, const char *s, size_t n);
/* "id BETWEEN $1 AND $2" over the rows of a job, in a column of keys. */
void sql_job_range(struct sql *q, const char *column, int64_t job);
/* "column IN ($1, $2)". */
void sql_list(struct sql *q, const char *column, const char *const *words, size_t n);
/* Prepares and binds; NULL on failure. */
struct stmt *sql_prepare(const struct sql *q, struct store *s);
