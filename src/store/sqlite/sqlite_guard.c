/*
 * SQLite for statements that users write; see sqlite.h. The store is opened for reading anyway:
 * this keeps what is beside it out of reach, and a statement from running for ever.
 */
#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "core/clock.h"
#include "store/sqlite/sqlite.h"

#define STEPS 10000 /* of the engine, between two looks at the clock */

/* What statements of users may do, on a store that is only read: read tables and call functions
 * that compute. Files, settings and modules of the engine are out of reach. */
static int allow(void *user, int action, const char *a, const char *b, const char *database,
		 const char *inner)
{
	static const char *const refused[] = {"fts3_tokenizer", "load_extension", "readfile",
					      "writefile", "edit"};
	(void)user;
	(void)a;
	(void)database;
	(void)inner;
	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
		return SQLITE_OK;
	if (action != SQLITE_FUNCTION)
		return SQLITE_DENY;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (b && !strcasecmp(b, refused[i]))
			return SQLITE_DENY;
	return SQLITE_OK;
}

void sqlite_harden(sqlite3 *db)
{
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
}

/* Asked every so often while a statement runs: is its time over? */
static int is_over(void *user)
{
	const struct store *s = user;

	return s->until_ns && clock_boottime_ns() >= s->until_ns;
}

int sqlite_guard(struct store *s, uint64_t timeout_ns, bool superuser)
{
	static const struct {
		int what, most;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, 256 << 20},         {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
		{SQLITE_LIMIT_EXPR_DEPTH, 500},           {SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 5000}, {SQLITE_LIMIT_WORKER_THREADS, 0},
	};
	sqlite3 *db = s->state;

	(void)superuser;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		(void)sqlite3_limit(db, limits[i].what, limits[i].most);
	s->until_ns = timeout_ns ? clock_boottime_ns() + timeout_ns : 0;
	sqlite3_progress_handler(db, STEPS, is_over, s);
	sqlite3_set_authorizer(db, allow, NULL);
	return 0;
}
