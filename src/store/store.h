/*
 * The job store: jobs, their processes and threads in a SQLite file or on a PostgreSQL server, with
 * the same tables and views on both (migrations/). An engine is one module; everything above it
 * speaks to it through statements with bound parameters ($1, $2, ...) and through bulk writers. SQL
 * text never contains a value.
 *
 * Functions return 0 or more, or a negative errno; store_error() then has the sentence.
 */
#ifndef PL_STORE_STORE_H
#define PL_STORE_STORE_H

#include <stdint.h>

#include "core/strbuf.h"

#define JOB_SHIFT 32
/* Key of row n of a job, and the number of a string in it. */
static inline int64_t store_key(int64_t job, uint32_t n)
{
	return (int64_t)((uint64_t)job << JOB_SHIFT | n);
}

enum store_access {
	STORE_READ,    /* must exist */
	STORE_WRITE,   /* is made when it does not, and brought up to date */
	STORE_MANAGE,  /* as it is: for the commands that look after it */
	STORE_FOREIGN, /* a database of another program: must exist, is only read */
};

enum store_kind { STORE_NULL, STORE_INT, STORE_REAL, STORE_TEXT, STORE_BYTES };

struct store;
struct stmt;
struct bulk;

struct store_engine {
	const char *name; /* in messages: "SQLite", "PostgreSQL" */
	/* What the words in braces of migrations become: "id", "bytes", "keyed"; before and after
	 * the expression of {text X}. Run before the first migration: prelude, or NULL. */
	const char *id, *bytes, *keyed, *text_before, *text_after, *prelude;
	bool concurrent; /* several may write at once */
	const char *
		lock; /* first in a transaction that migrates, where BEGIN does not lock; or NULL */

	/* *error is the store's own: an empty strbuf that engines fill with a sentence. */
	int (*open)(struct store *s, const char *where, enum store_access access);
	void (*close)(struct store *s);
	/* One or several statements without parameters and results. */
	int (*exec)(struct store *s, const char *sql);
	int (*begin)(struct store *s);
	int (*commit)(struct store *s);
	void (*rollback)(struct store *s);

	struct stmt *(*prepare)(struct store *s, const char *sql); /* NULL on failure */
	void (*finish)(struct stmt *st);                           /* accepts NULL */
	/* Parameters count from 1. Texts and bytes must live until the statement was stepped. */
	void (*bind_int)(struct stmt *st, int i, int64_t v);
	void (*bind_real)(struct stmt *st, int i, double v);
	void (*bind_text)(struct stmt *st, int i, const char *s, size_t n);
	void (*bind_bytes)(struct stmt *st, int i, const void *p, size_t n);
	void (*bind_null)(struct stmt *st, int i);
	/* 1: a row, 0: no more; then it may be bound and stepped again. */
	int (*step)(struct stmt *st);
	/* Gives up the rest of the rows. */
	void (*reset)(struct stmt *st);
	/* Columns count from 0; what they return lives until the next step. */
	int (*columns)(struct stmt *st);
	const char *(*column_name)(struct stmt *st, int i);
	enum store_kind (*kind)(struct stmt *st, int i);
	int64_t (*get_int)(struct stmt *st, int i); /* 0 for NULL */
	double (*get_real)(struct stmt *st, int i);
	/* Text or bytes; NULL and 0 for NULL. Ends in NUL. */
	const char *(*get_text)(struct stmt *st, int i, size_t *ret_n);
	/* Rows that the last statement changed. */
	int64_t (*changes)(struct stmt *st);

	/* Many rows into one table; columns are names with commas. Rows are only sure to be there
	 * after flush. Several may be open at once. */
	struct bulk *(*bulk_open)(struct store *s, const char *table, const char *columns);
	void (*bulk_int)(struct bulk *b, int64_t v); /* the next column */
	void (*bulk_real)(struct bulk *b, double v);
	void (*bulk_text)(struct bulk *b, const char *s, size_t n);
	void (*bulk_bytes)(struct bulk *b, const void *p, size_t n);
	void (*bulk_null)(struct bulk *b);
	int (*bulk_row)(struct bulk *b); /* the row is complete */
	int (*bulk_flush)(struct bulk *b);
	void (*bulk_close)(struct bulk *b); /* accepts NULL */

	/*
	 * Where only one can write at a time: from stage() on what a transaction writes lies aside,
	 * seen by nobody and keeping nobody waiting, and publish(), instead of commit(), brings it
	 * into the store at once, after first(). NULL where several can write.
	 */
	int (*stage)(struct store *s);
	int (*publish)(struct store *s, int (*first)(struct store *s));
	int (*unstage)(struct store *s); /* ends what stage() began */
	/* What was committed lies in the file itself, and in none beside it. NULL where there is no
	 * file. -EAGAIN: others read, and did not end in this time. */
	int (*settle)(struct store *s, int wait_ms);
	/* Is what was opened no longer what has its name: moved, removed or exchanged? Who opens
	 * the store by its name does not find what is written there. NULL where there is no file.
	 */
	bool (*moved)(const struct store *s);
	/* What is prepared from here on comes from a user: it may read the store and compute,
	 * nothing else, and no longer than this (0: as long as it takes). superuser: also where we
	 * are one of a server, who can undo that. */
	int (*guard)(struct store *s, uint64_t timeout_ns, bool superuser);

	/* What all of it takes on disk, in bytes. */
	int (*size)(struct store *s, int64_t *ret);
	/* Checks what the engine can check; problems, a line each, into *out. */
	int (*check)(struct store *s, struct strbuf *out);
	int (*vacuum)(struct store *s);
	/* A copy that can be opened by itself. -ENOTSUP where the engine has its own tool. */
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
	bool damaged;      /* it is the store that cannot be read, whatever is to be written */
	bool staged;       /* what is written lies aside until it is published */
	int wait_ms;       /* for somebody else who writes */
	uint64_t file[2];  /* device and number of the file that has its name; 0: none */
	uint64_t until_ns; /* boot time when a user's statement is interrupted; 0: never */
	const struct config *config; /* where jobs may lie that are not in it; NULL: not known */
};

/*
 * url: a path, "sqlite:///path", "sqlite://:memory:", ":memory:" or "postgresql://...". STORE_READ
 * of a store that is not there is -ENOENT; one with a newer schema than ours is refused (-EPROTO),
 * an older one is brought up to date by STORE_WRITE and refused by STORE_READ (-ESTALE).
 */
int store_open(struct store **ret, const char *url, enum store_access access, struct strbuf *why);
/* The same with another limit on waiting than a minute. */
int store_open_within(struct store **ret, const char *url, enum store_access access, int wait_ms,
		      struct strbuf *why);
void store_close(struct store *s);
void store_close_ptr(struct store **s);
#define _cleanup_store_ _cleanup_(store_close_ptr)
const char *store_error(const struct store *s);

/* The user's own store: $XDG_DATA_HOME or ~/.local/share, then plimsoll/plimsoll.db. NULL without
 * a home; freed by the caller. */
char *store_default_path(void);

/* ---- shorthands ----------------------------------------------------------------------------- */

int store_exec(struct store *s, const char *sql);
/* For one of several that write at once; nothing where the engine needs nothing for it. */
int store_stage(struct store *s);
/* Back to writing into the store itself. */
int store_unstage(struct store *s);
/* See struct store_engine. */
int store_settle(struct store *s, int wait_ms);
bool store_moved(const struct store *s);
/* The same with the sentence: -EAGAIN, what was written is not in the store that has the name. */
int store_check_moved(struct store *s);
int store_begin(struct store *s);
int store_commit(struct store *s);
void store_rollback(struct store *s);

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

static inline void stmt_int(struct stmt *st, int i, int64_t v)
{
	st->store->engine->bind_int(st, i, v);
}
static inline void stmt_real(struct stmt *st, int i, double v)
{
	st->store->engine->bind_real(st, i, v);
}
static inline void stmt_text(struct stmt *st, int i, const char *s, size_t n)
{
	st->store->engine->bind_text(st, i, s, n);
}
static inline void stmt_null(struct stmt *st, int i)
{
	st->store->engine->bind_null(st, i);
}
static inline void stmt_bytes(struct stmt *st, int i, const void *p, size_t n)
{
	st->store->engine->bind_bytes(st, i, p, n);
}
void stmt_str(struct stmt *st, int i, const char *s); /* NULL binds null */
static inline int stmt_step(struct stmt *st)
{
	return st->store->engine->step(st);
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
/* Steps a statement that returns nothing. */
int stmt_run(struct stmt *st);
/* One number from one statement without parameters. */
int store_number(struct store *s, const char *sql, int64_t *ret);

/* ---- schema --------------------------------------------------------------------------------- */

struct migration {
	int number;
	const char *name;
	const char *sql;
};
extern const struct migration migrations[]; /* ends with number 0 */
/* The newest number. */
int schema_newest(void);
/* The number that a store has; 0 when it is empty. */
int schema_current(struct store *s, int *ret);
/* Applies what is missing, each in a transaction. */
int schema_migrate(struct store *s);
/* A migration as the engine wants it. */
void schema_expand(const struct store_engine *e, const char *sql, struct strbuf *out);
/* In a database of another tool we must not make our tables: -EPROTO with the remedy as the store's
 * error where it is one. */
int schema_refuse_foreign(struct store *s);
/* Removes everything that migrations made, and makes it again empty. */
int schema_drop(struct store *s);

#endif
