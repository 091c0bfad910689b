/* Shared by the files of the SQLite module. */
#pragma once

#include <sqlite3.h>

#include "store/store.h"

static inline sqlite3 *db_of(const struct store *s)
{
	return s->state;
}

/* Sets the store's error for a result code; returns a negative errno. */
int sqlite_failed(struct store *s, int code);
int sqlite_exec(struct store *s, const char *sql);

#define SQLITE_CACHE_KIB 4096
/* Settings of an opened database. */
int sqlite_configure(struct store *s, const char *path, bool memory, enum store_access access);
/* See store.h. */
int sqlite_hide(struct store *s, struct strbuf *place);
/* Of a hidden store: no condition of a statement is evaluated on rows that the views do not have,
 * where it could fail, or take its time, because of a value. SQLite puts conditions into a view,
 * but for one with a limit. */
int sqlite_fence(struct store *s);
/* Removes the name that nobody may know from the store's error. */
void sqlite_hide_name(struct store *s);

/* Restricts all statements, including those in the file itself. */
void sqlite_harden(sqlite3 *db);
/* For statements of users; see store.h. */
int sqlite_guard(struct store *s, uint64_t timeout_ns, bool superuser);

/* Checks the directory: closing a descriptor of the file would release SQLite's locks. */
bool sqlite_on_network(const char *path);
/* See store.h; and before a store is closed. */
int sqlite_settle(struct store *s, int wait_ms);
void sqlite_settle_last(struct store *s);
void sqlite_remember_file(struct store *s);
bool sqlite_moved(const struct store *s);

/* Staging: begin, end, discard, publish; see store.h. */
int sqlite_stage(struct store *s);
int sqlite_unstage(struct store *s);
int sqlite_stage_empty(struct store *s);
int sqlite_publish(struct store *s, int (*first)(struct store *s));
