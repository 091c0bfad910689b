/*
 * Limits for statements of users; see sqlite.h. The store is opened for reading anyway: this keeps
 * other files out of reach, and limits the time of a statement.
 */
#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "core/clock.h"
#include "store/sqlite/sqlite.h"

#define STEPS 10000 /* of the engine, between two checks of the clock */

/* Tables of users, whose hashes nobody needs, and of their log; what is in front of their names. */
#define ACCESS "access_"

/* A viewer that sees some jobs only does not see what the store has (sqlite_hide.c). */
static bool may_read(const struct store *s, const char *table)
{
	if (!strncasecmp(table, ACCESS, strlen(ACCESS)))
		return !strcasecmp(table, ACCESS "event") && (!s->viewer || s->all_jobs);
	return !s->narrow || (strncasecmp(table, "sqlite_", strlen("sqlite_")) != 0 &&
			      strncasecmp(table, "pragma_", strlen("pragma_")) != 0);
}

/* Statements of users may read tables and call functions that compute, but not access files,
 * settings and modules. */
static int allow(void *user, int action, const char *a, const char *b,
		 const char *database PL_UNUSED, const char *inner PL_UNUSED)
{
	static const char *const refused[] = {"fts3_tokenizer", "load_extension", "readfile",
					      "writefile", "edit"};
	if (action == SQLITE_READ)
		return may_read(user, a ? a : "") ? SQLITE_OK : SQLITE_DENY;
	if (action == SQLITE_SELECT || action == SQLITE_RECURSIVE)
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

/* Called while a statement runs: is its time over? */
static int is_over(void *user)
{
	const struct store *s = user;

	return s->until_ns && clock_boottime_ns() >= s->until_ns;
}

int sqlite_guard(struct store *s, uint64_t timeout_ns, bool superuser PL_UNUSED)
{
	static const struct {
		int what, most;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, 256 << 20},         {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
		{SQLITE_LIMIT_EXPR_DEPTH, 500},           {SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 5000}, {SQLITE_LIMIT_WORKER_THREADS, 2},
	};
	sqlite3 *db = s->state;
	int r = s->narrow ? sqlite_fence(s) : 0;

	if (r < 0)
		return r;
	/* SQLite makes these tables when they are first used, which the limits would forbid */
	(void)sqlite3_exec(db, "SELECT 1 FROM json_each('[]'), json_tree('[]')", NULL, NULL, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		(void)sqlite3_limit(db, limits[i].what, limits[i].most);
	s->until_ns = timeout_ns ? clock_boottime_ns() + timeout_ns : 0;
	sqlite3_progress_handler(db, STEPS, is_over, s);
	sqlite3_set_authorizer(db, allow, s);
	return 0;
}
