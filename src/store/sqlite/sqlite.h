/* Shared by the files of the SQLite module. */
#ifndef PL_STORE_SQLITE_SQLITE_H
#define PL_STORE_SQLITE_SQLITE_H

#include <sqlite3.h>

#include "store/store.h"

static inline sqlite3 *db_of(const struct store *s)
{
	return s->state;
}

/* The sentence and the errno for a result of SQLite's. */
int sqlite_failed(struct store *s, int code);
int sqlite_exec(struct store *s, const char *sql);

/* For every store: what no statement may do, not even one that the file itself holds. */
void sqlite_harden(sqlite3 *db);
/* For statements that users write; see store.h. */
int sqlite_guard(struct store *s, uint64_t timeout_ns, bool superuser);

/* By the directory: closing a descriptor of the file itself would give up SQLite's locks on it. */
bool sqlite_on_network(const char *path);
/* See store.h; and before a store is closed. */
int sqlite_settle(struct store *s, int wait_ms);
void sqlite_settle_last(struct store *s);
void sqlite_remember_file(struct store *s);
bool sqlite_moved(const struct store *s);

/* What a transaction writes lies aside, is forgotten, is brought into the store. */
int sqlite_stage(struct store *s);
int sqlite_unstage(struct store *s);
int sqlite_stage_empty(struct store *s);
int sqlite_publish(struct store *s, int (*first)(struct store *s));

#endif
