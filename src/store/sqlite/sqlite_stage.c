/* Staging, for several writers of a SQLite store at once; see store.h. */
#include <string.h>

#include "store/sqlite/sqlite.h"

/* ---- temporary tables ------------------------------------------------------------------------ */

/*
 * A temporary table hides the one of the same name in the store, so that writers need not know of
 * it. Temporary tables are in an unnamed file, because a job may be too large for memory.
 */
enum table_work { TABLE_HIDE, TABLE_EMPTY, TABLE_PUBLISH, TABLE_SHOW };

static int each_table(struct store *s, enum table_work work)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	sqlite3_stmt *st = NULL;

	int r = sqlite3_prepare_v2(
		db_of(s),
		"SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND substr(name, 1, 7) "
		"<> 'sqlite_' AND name NOT IN ('schema_version', 'job_number')",
		-1, &st, NULL);
	while (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
		/* names and texts are from our own migrations */
		const char *name = (const char *)sqlite3_column_text(st, 0);
		const char *text = (const char *)sqlite3_column_text(st, 1);

		if (work == TABLE_HIDE && str_prefix(text, "CREATE TABLE "))
			strbuf_addf(&sql, "CREATE TEMP TABLE %s;", text + strlen("CREATE TABLE "));
		else if (work == TABLE_EMPTY)
			strbuf_addf(&sql, "DELETE FROM temp.%s;", name);
		else if (work == TABLE_PUBLISH)
			strbuf_addf(&sql, "INSERT INTO main.%s SELECT * FROM temp.%s;", name, name);
		else if (work == TABLE_SHOW)
			strbuf_addf(&sql, "DROP TABLE temp.%s;", name);
		r = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return r == SQLITE_DONE ? sqlite_exec(s, sql.buf) : sqlite_failed(s, r);
}

int sqlite_stage(struct store *s)
{
	int r = sqlite_exec(s, "PRAGMA temp_store=FILE; PRAGMA temp.journal_mode=MEMORY");

	return r < 0 ? r : each_table(s, TABLE_HIDE);
}

int sqlite_unstage(struct store *s)
{
	return each_table(s, TABLE_SHOW);
}

int sqlite_publish(struct store *s, int (*first)(struct store *s))
{
	int r = sqlite_exec(s, "COMMIT; BEGIN IMMEDIATE");

	if (r == 0)
		r = first(s);
	if (r == 0)
		r = each_table(s, TABLE_PUBLISH);
	return r < 0 ? r : sqlite_exec(s, "COMMIT");
}

int sqlite_stage_empty(struct store *s)
{
	return each_table(s, TABLE_EMPTY);
}
