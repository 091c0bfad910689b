/*
 * The job store: jobs, their processes and threads in a SQLite file or on a PostgreSQL server, with
 * the same tables and views on both (migrations/). An engine is one module; everything above it
 * uses statements with bound parameters ($1, $2, ...) and bulk writers. SQL text never contains a
 * value.
 *
 * Functions return 0 or more, or a negative errno; store_error() then has the message.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "core/strbuf.h"

#define JOB_SHIFT 32
/* Key of row n of a job, or of its string number n. */
static inline int64_t store_key(int64_t job, uint32_t n)
{
	return (int64_t)((uint64_t)job << JOB_SHIFT | n);
}

enum store_access {
	STORE_READ,    /* must exist */
	STORE_WRITE,   /* created if missing, and migrated to the newest schema */
	STORE_MANAGE,  /* opened as it is, for maintenance commands */
	STORE_FOREIGN, /* a database of another program: must exist, read only */
};

enum store_kind { STORE_NULL, STORE_INT, STORE_REAL, STORE_TEXT, STORE_BYTES };

/* A value to be written: a parameter of a statement, or a column of a row. */
struct db_value {
	enum store_kind kind;
	union {
		int64_t number;
		double real;
		const char *
			data; /* of texts and bytes; the caller's until the statement was stepped */
	};
	size_t size;
};
static inline struct db_value db_null(void)
{
	return (struct db_value){.kind = STORE_NULL};
}
static inline struct db_value db_int(int64_t v)
{
	return (struct db_value){.kind = STORE_INT, .number = v};
}
/* NULL in the database unless it is known. */
static inline struct db_value db_int_if(bool known, int64_t v)
{
	return known ? db_int(v) : db_null();
}
static inline struct db_value db_real(double v)
{
	return (struct db_value){.kind = STORE_REAL, .real = v};
}
static inline struct db_value db_text(const char *s, size_t n)
{
	return (struct db_value){.kind = STORE_TEXT, .data = s, .size = n};
}
static inline struct db_value db_bytes(const void *p, size_t n)
{
	return (struct db_value){.kind = STORE_BYTES, .data = p, .size = n};
}
static inline struct db_value db_str(const char *s)
{
	return s ? db_text(s, strlen(s)) : db_null();
}
/* A list of values as two arguments: the array and its length. */
#define DB_VALUES(...)                            \
	((const struct db_value[]){__VA_ARGS__}), \
		sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)

struct store;
struct stmt;
struct bulk;

struct store_engine {
	const char *name; /* in messages: "SQLite", "PostgreSQL" */
	/* What {id}, {bytes} and {keyed} in migrations stand for, and what encloses X of {text X}.
	 * prelude: SQL to run before the first migration, or NULL. */
	const char *id, *bytes, *keyed, *text_before, *text_after, *prelude;
	bool concurrent; /* several may write at once */
	bool glob; /* texts match patterns by GLOB, positions by instr(); else LIKE, strpos() */
	/* Begins a transaction that migrates, where BEGIN does not lock; or NULL. */
	const char *lock;

	int (*open)(struct store *s, const char *where, enum store_access access);
	void (*close)(struct store *s);
	/* Runs statements without parameters and results. */
	int (*exec)(struct store *s, const char *sql);
	int (*begin)(struct store *s);
	int (*commit)(struct store *s);
	void (*rollback)(struct store *s);

	struct stmt *(*prepare)(struct store *s, const char *sql); /* NULL on failure */
	void (*finish)(struct stmt *st);                           /* accepts NULL */
	/* Parameters count from 1. */
	void (*bind)(struct stmt *st, int i, const struct db_value *v);
	/* 1: a row, 0: no more rows; the statement can then be bound and stepped again. */
	int (*step)(struct stmt *st);
	/* Discards the remaining rows. */
	void (*reset)(struct stmt *st);
	/* Columns count from 0; results are valid until the next step. */
	int (*columns)(struct stmt *st);
	const char *(*column_name)(struct stmt *st, int i);
	enum store_kind (*kind)(struct stmt *st, int i);
	int64_t (*get_int)(struct stmt *st, int i); /* 0 for NULL */
	double (*get_real)(struct stmt *st, int i);
	/* Text or bytes; NULL and 0 for NULL. Ends in NUL. */
	const char *(*get_text)(struct stmt *st, int i, size_t *ret_n);
	/* Number of rows that the last step changed. */
	int64_t (*changes)(struct stmt *st);

	/* Writes many rows to one table; columns: names separated by commas. Rows are in the table
	 * after bulk_flush() at the latest. Several writers may be open at once. */
	struct bulk *(*bulk_open)(struct store *s, const char *table, const char *columns);
	void (*bulk_value)(struct bulk *b, const struct db_value *v); /* the next column */
	int (*bulk_row)(struct bulk *b);                              /* the row is complete */
	int (*bulk_flush)(struct bulk *b);
	void (*bulk_close)(struct bulk *b); /* accepts NULL */

	/*
	 * For engines with a single writer: after stage(), transactions write to temporary tables
	 * and lock nobody out. publish(), called in place of commit(), calls first() and copies the
	 * rows into the store. NULL where several can write at once.
	 */
	int (*stage)(struct store *s);
	int (*publish)(struct store *s, int (*first)(struct store *s));
	int (*unstage)(struct store *s); /* back to writing directly */
	/* Moves all committed data from the write-ahead log into the file. NULL where there is no
	 * file. -EAGAIN: readers did not finish in time. */
	int (*settle)(struct store *s, int wait_ms);
	/* Has the opened file been moved, removed or replaced, so that others who open the path do
	 * not see what is written to it? NULL where there is no file. */
	bool (*moved)(const struct store *s);
	/* Statements prepared from here on come from a user: they may only read and compute, and
	 * run at most this long (0: no limit). superuser: allow it even if we are connected as a
	 * superuser of the server, who can escape these limits. */
	int (*guard)(struct store *s, uint64_t timeout_ns, bool superuser);
	/* Statements cannot name the tables of the store any more, but by *place in front of their
	 * name, for temporary views. NULL where the views only come first. */
	int (*hide)(struct store *s, struct strbuf *place);

	/* Bytes on disk. */
	int (*size)(struct store *s, int64_t *ret);
	/* Checks integrity as far as the engine can; adds one line per problem to *out. */
	int (*check)(struct store *s, struct strbuf *out);
	int (*vacuum)(struct store *s);
	/* Writes a complete copy. -ENOTSUP where the server has its own tool. */
	int (*backup)(struct store *s, const char *to);
	void (*version)(struct store *s, struct strbuf *out);
};

struct config;
struct store {
	const struct store_engine *engine;
	char *where; /* for people: a path, or a URL without its password */
	void *state; /* the engine's */
	struct strbuf error;
	bool in_transaction;
	bool damaged;      /* the database itself is corrupt */
	bool staged;       /* transactions write to temporary tables until published */
	int wait_ms;       /* how long to wait for another writer */
	uint64_t file[2];  /* device and inode of the file at its path; 0: none */
	int schema;        /* number of its newest migration; 0: not looked at */
	uint64_t until_ns; /* boot time when a user's statement is interrupted; 0: never */
	char *viewer;      /* as text, see viewer.h; NULL: everything is seen */
	bool all_jobs;     /* the viewer may ask a server whatever it can */
	bool narrow;       /* the viewer sees some jobs only: names are those of temporary views */
	char secret[36];   /* the name that only its views know it by; SQLite only */
	const struct config *config; /* to look for jobs that are not stored yet; NULL: none */
};

/*
 * url: a path, "sqlite:///path", "sqlite://:memory:", ":memory:" or "postgresql://...". STORE_READ
 * fails with -ENOENT if there is no store. A newer schema than ours is refused (-EPROTO); an older
 * one is migrated by STORE_WRITE. STORE_READ takes one from SCHEMA_READABLE on, which lacks only
 * what makes lists fast, and refuses older ones (-ESTALE).
 */
int store_open(struct store **ret, const char *url, enum store_access access, struct strbuf *why);
/* The same, but waits this long for other writers instead of a minute. */
int store_open_within(struct store **ret, const char *url, enum store_access access, int wait_ms,
		      struct strbuf *why);
void store_close(struct store *s);
void store_close_ptr(struct store **s);
#define _cleanup_store_ _cleanup_(store_close_ptr)
const char *store_error(const struct store *s);
/* Sets the message; returns -error. */
int store_fail(struct store *s, int error, const char *fmt, ...) PL_PRINTF(3, 4);

/* The user's own store: $XDG_DATA_HOME or ~/.local/share, then plimsoll/plimsoll.db. NULL without
 * a home; freed by the caller. */
char *store_default_path(void);

/* ---- shorthands ----------------------------------------------------------------------------- */

int store_exec(struct store *s, const char *sql);
/* See struct store_engine; these do nothing where the engine has no such function. */
int store_stage(struct store *s);
int store_unstage(struct store *s);
int store_settle(struct store *s, int wait_ms);
bool store_moved(const struct store *s);
/* The same with a message: -EAGAIN if the opened file is no longer the one at its path. */
int store_check_moved(struct store *s);
int store_begin(struct store *s);
int store_commit(struct store *s);
void store_rollback(struct store *s);
/* Commits if r is 0, else rolls back; returns the error, if any. */
int store_end(struct store *s, int r);

struct stmt *stmt_prepare(struct store *s, const char *sql);
void stmt_finish_ptr(struct stmt **st);
#define _cleanup_stmt_ _cleanup_(stmt_finish_ptr)

/* Every engine's statement and bulk writer begins with this. */
struct stmt {
	struct store *store;
};
struct bulk {
	struct store *store;
};

static inline void stmt_value(struct stmt *st, int i, struct db_value v)
{
	st->store->engine->bind(st, i, &v);
}
static inline void bulk_value(struct bulk *b, struct db_value v)
{
	b->store->engine->bulk_value(b, &v);
}
#define stmt_int(st, i, v) stmt_value(st, i, db_int(v))
#define stmt_real(st, i, v) stmt_value(st, i, db_real(v))
#define stmt_bytes(st, i, p, n) stmt_value(st, i, db_bytes(p, n))
#define stmt_null(st, i) stmt_value(st, i, db_null())
#define stmt_str(st, i, s) stmt_value(st, i, db_str(s)) /* NULL binds null */
/* Binds $1, $2, ...: stmt_bind(st, db_int(job), db_str(name)) */
void stmt_bind_values(struct stmt *st, const struct db_value *v, size_t n);
#define stmt_bind(st, ...) stmt_bind_values(st, DB_VALUES(__VA_ARGS__))
/* 1: a row, 0: no more rows. NULL, a statement that could not be prepared, is -EIO. */
static inline int stmt_step(struct stmt *st)
{
	return st ? st->store->engine->step(st) : -EIO;
}
static inline void stmt_reset(struct stmt *st)
{
	st->store->engine->reset(st);
}
static inline bool stmt_is_null(struct stmt *st, int i)
{
	return st->store->engine->kind(st, i) == STORE_NULL;
}
static inline int64_t stmt_get_int(struct stmt *st, int i)
{
	return st->store->engine->get_int(st, i);
}
static inline double stmt_get_real(struct stmt *st, int i)
{
	return st->store->engine->get_real(st, i);
}
static inline const char *stmt_get_text(struct stmt *st, int i, size_t *ret_n)
{
	return st->store->engine->get_text(st, i, ret_n);
}
/* The text or "". */
const char *stmt_get_str(struct stmt *st, int i);
/* A copy of the text, or NULL; freed by the caller. */
char *stmt_get_copy(struct stmt *st, int i);
/* Steps a statement that returns nothing. */
int stmt_run(struct stmt *st);
/* The same for a statement with other parameters each time. */
#define stmt_run_with(st, ...) (stmt_bind(st, __VA_ARGS__), stmt_run(st))

/* A statement with its parameters bound: store_query(s, sql, db_int(job)). NULL on failure. */
struct stmt *store_query_values(struct store *s, const char *sql, const struct db_value *v,
				size_t n);
#define store_query(s, sql, ...) store_query_values(s, sql, DB_VALUES(__VA_ARGS__))
/* Runs a statement that returns nothing. */
int store_run_values(struct store *s, const char *sql, const struct db_value *v, size_t n);
#define store_run(s, sql, ...) store_run_values(s, sql, DB_VALUES(__VA_ARGS__))
/* The number in the first column of the first row; -ENODATA without a row. */
int store_number_values(struct store *s, const char *sql, int64_t *ret, const struct db_value *v,
			size_t n);
#define store_number_of(s, sql, ret, ...) store_number_values(s, sql, ret, DB_VALUES(__VA_ARGS__))
int store_number(struct store *s, const char *sql, int64_t *ret); /* without parameters */
/* Writes one row: bulk_put(b, db_int(job), db_text(s, n)). */
int bulk_put_values(struct bulk *b, const struct db_value *v, size_t n);
#define bulk_put(b, ...) bulk_put_values(b, DB_VALUES(__VA_ARGS__))
/* Flushes if r is 0, then closes; accepts NULL with -EIO as the result. */
int bulk_end(struct bulk *b, int r);

/* ---- schema --------------------------------------------------------------------------------- */

struct migration {
	int number;
	const char *name;
	const char *sql;
};
extern const struct migration migrations[]; /* ends with number 0 */
/* The oldest schema that can be read without migrating it, and the first with lists of jobs. */
#define SCHEMA_READABLE 11
#define SCHEMA_JOB_LIST 12
/* The newest number. */
int schema_newest(void);
/* The number that a store has; 0 when it is empty. */
int schema_current(struct store *s, int *ret);
/* Applies missing migrations, each in its own transaction. */
int schema_migrate(struct store *s);
/* A migration in the engine's dialect. */
void schema_expand(const struct store_engine *e, const char *sql, struct strbuf *out);
/* -EPROTO with a message if it is a database of another tool: we must not create tables in it. */
int schema_refuse_foreign(struct store *s);
/* Removes all tables and views, and creates them again empty. */
int schema_drop(struct store *s);

/* Every table except schema_version, and the column by which its rows belong to a job. */
struct store_table {
	const char *name;
	const char *job; /* a column with the number of the job; NULL: none */
	const char *key; /* a column with store_key() of the job; NULL: none */
};
extern const struct store_table
	store_tables[]; /* ends with name NULL; "job" is the last of a job */
/* Every view; each has rows of jobs. */
extern const char *const store_views[]; /* ends with NULL */
