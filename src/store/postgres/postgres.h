/*
 * Shared by the files of module "postgres". A connection carries the rows of one statement at a
 * time; call pg_settle() before using it, which moves the remaining rows to the memory of their
 * statement.
 */
#pragma once

#include <endian.h>
#include <libpq-fe.h>
#include <string.h>

#include "store/store.h"

/* Type numbers of the server, which never change (its catalog/pg_type.dat). */
enum pg_type {
	PG_BOOL = 16,
	PG_BYTEA = 17,
	PG_CHAR = 18,
	PG_NAME = 19,
	PG_INT8 = 20,
	PG_INT2 = 21,
	PG_INT4 = 23,
	PG_TEXT = 25,
	PG_OID = 26,
	PG_FLOAT4 = 700,
	PG_FLOAT8 = 701,
	PG_UNKNOWN = 705,
	PG_BPCHAR = 1042,
	PG_VARCHAR = 1043,
	PG_NUMERIC = 1700,
};

struct pg {
	PGconn *conn;
	struct pg_stmt *active; /* its rows are on the wire */
	struct pg_bulk *bulks;  /* open ones */
	unsigned names;         /* number of prepared statements so far, for names */
	struct strbuf dead;     /* commands that drop prepared statements */
	unsigned dead_count;
	bool checked; /* statements come from a user who may not read everything */
};

static inline struct pg *pg_of(const struct store *s)
{
	return s->state;
}

/* ---- errors and the connection (postgres_module.c) ------------------------------------------ */

/* Sets the store's error from a result, or from the connection; returns a negative errno. */
int pg_failed(struct store *s, const PGresult *result);
/* One or several statements. */
int pg_exec(struct store *s, const char *sql);
/* Ends an unexpected COPY, so that the connection is usable again. */
int pg_refuse_copy(struct store *s, const PGresult *result);

static inline void pg_clear(PGresult **result)
{
	PQclear(*result);
}
#define _cleanup_result_ _cleanup_(pg_clear)

/* ---- values (postgres_value.c) -------------------------------------------------------------- */

/* One value of the current row as the server sent it. */
struct pg_cell {
	const char *data; /* NULL is null; ends in NUL */
	size_t len;
	Oid type;
	bool binary;
};

/* Can values of this type be read in binary form? */
bool pg_known(Oid type);
enum store_kind pg_kind(const struct pg_cell *c);
int64_t pg_int(const struct pg_cell *c);
double pg_real(const struct pg_cell *c);
/* Points into the cell, or into *scratch. */
const char *pg_text(const struct pg_cell *c, struct strbuf *scratch, size_t *ret_n);

static inline void pg_put16(char *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void pg_put32(char *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void pg_put64(char *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint16_t pg_get16(const char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t pg_get32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t pg_get64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* ---- rows in memory (postgres_rows.c) ------------------------------------------------------- */

struct pg_kept {
	struct pg_block *first, *last;
};

/* Adds the one row of a result. */
void pg_keep(struct pg_kept *k, const PGresult *row);
/* Takes the oldest row; the cells point into it until the next one is taken. */
bool pg_kept_take(struct pg_kept *k, struct pg_cell *cells, int count);
void pg_kept_drop(struct pg_kept *k);

/* ---- statements (postgres_stmt.c) ----------------------------------------------------------- */

/* Makes the connection free for the next command. */
void pg_settle(struct pg *pg);

struct stmt *pg_prepare(struct store *s, const char *sql);
void pg_finish(struct stmt *st);
void pg_bind(struct stmt *st, int i, const struct db_value *v);
int pg_step(struct stmt *st);
void pg_reset(struct stmt *st);
int pg_columns(struct stmt *st);
const char *pg_column_name(struct stmt *st, int i);
enum store_kind pg_column_kind(struct stmt *st, int i);
int64_t pg_get_int(struct stmt *st, int i);
double pg_get_real(struct stmt *st, int i);
const char *pg_get_text(struct stmt *st, int i, size_t *ret_n);
int64_t pg_changes(struct stmt *st);

/* ---- statements of users (postgres_checked.c) ----------------------------------------------- */

/* Prepares it if it is a SELECT from what the viewer may read; -EPERM in the store's message. */
struct stmt *pg_prepare_checked(struct store *s, const char *sql);
/* Nothing of a statement is evaluated on rows that the temporary views do not have. */
int pg_raise_barriers(struct store *s);

/* ---- bulk (postgres_copy.c) ----------------------------------------------------------------- */

struct bulk *pg_bulk_open(struct store *s, const char *table, const char *columns);
void pg_bulk_value(struct bulk *b, const struct db_value *v);
int pg_bulk_row(struct bulk *b);
int pg_bulk_flush(struct bulk *b);
void pg_bulk_close(struct bulk *b);
/* Discards all rows that were not sent: their transaction was rolled back. */
void pg_bulk_forget(struct pg *pg);
