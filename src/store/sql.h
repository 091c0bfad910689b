/* SQL that is put together from fixed pieces with every value bound. */
#ifndef PL_STORE_SQL_H
#define PL_STORE_SQL_H

#include "store/store.h"

struct sql_value {
	enum store_kind kind; /* STORE_INT, STORE_TEXT or STORE_BYTES */
	int64_t number;
	const char *data; /* the caller's, until the statement was stepped */
	size_t size;
};

struct sql {
	struct strbuf text;
	struct sql_value *values;
	size_t count, cap;
};
#define SQL_INIT                    \
	{                           \
		.text = STRBUF_INIT \
	}
void sql_release(struct sql *q);
#define _cleanup_sql_ _cleanup_(sql_release)

/* Text of the program's own, never of a user. */
void sql_add(struct sql *q, const char *text);
/* A parameter and its value. */
void sql_int(struct sql *q, int64_t v);
void sql_text(struct sql *q, const char *s);
void sql_textn(struct sql *q, const char *s, size_t n);
void sql_bytes(struct sql *q, const char *s, size_t n);
/* "id BETWEEN $1 AND $2" over the rows of a job, in a column of keys. */
void sql_job_range(struct sql *q, const char *column, int64_t job);
/* "column IN ($1, $2)". */
void sql_list(struct sql *q, const char *column, const char *const *words, size_t n);
/* Prepares and binds; NULL on failure. */
struct stmt *sql_prepare(const struct sql *q, struct store *s);

#endif
