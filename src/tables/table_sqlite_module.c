/*
 * Module "sqlite_table": writes tables into a user's database. One transaction creates or widens
 * the table, removes the rows that are replaced, and adds the new ones; an interrupted write leaves
 * the database unchanged. Times are text as in CSV, which SQLite's own functions understand. Text
 * that is not UTF-8 is a BLOB with its exact bytes.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "core/module.h"
#include "core/text/text.h"
#include "tables/table.h"
#include "tables/text_values.h"

#define WAIT_MS 60000

struct sqlite_file {
	struct table_file file;
	sqlite3 *db;
	sqlite3_stmt *insert;
	char *path, *table, *key;
	struct strbuf text;
	bool committed;
};

static int failed(struct sqlite_file *f, int code, struct strbuf *why)
{
	strbuf_addf(why, "cannot write '%s': %s", f->path,
		    f->db ? sqlite3_errmsg(f->db) : sqlite3_errstr(code));
	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return -EACCES;
	default:
		return -EIO;
	}
}

/* ---- SQL ---- */

static const char *type_name(enum table_type type)
{
	return type == TABLE_INT ? "INTEGER" : type == TABLE_REAL ? "REAL" : "TEXT";
}

static int execute(struct sqlite_file *f, const char *sql, struct strbuf *why)
{
	int r = sqlite3_exec(f->db, sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : failed(f, r, why);
}

/* The same for a statement from sqlite3_mprintf(), which is freed. %w in it quotes names. */
static int execute_made(struct sqlite_file *f, char *sql, struct strbuf *why)
{
	int r = sql ? execute(f, sql, why) : failed(f, SQLITE_NOMEM, why);

	sqlite3_free(sql);
	return r;
}

static int make_table(struct sqlite_file *f, struct strbuf *why)
{
	sqlite3_str *sql = sqlite3_str_new(f->db);

	sqlite3_str_appendf(sql, "CREATE TABLE IF NOT EXISTS \"%w\"", f->table);
	for (size_t c = 0; c < f->file.count; c++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s", c ? ", " : " (", f->file.columns[c].name,
				    type_name(f->file.columns[c].type));
	sqlite3_str_appendall(sql, ")");
	return execute_made(f, sqlite3_str_finish(sql), why);
}

/* Compares names as SQLite does. */
static bool has_column(struct sqlite_file *f, const char *name)
{
	return sqlite3_table_column_metadata(f->db, NULL, f->table, name, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

static int widen_table(struct sqlite_file *f, struct strbuf *why)
{
	int r = 0;

	for (size_t c = 0; c < f->file.count && r >= 0; c++) {
		const struct table_column *column = &f->file.columns[c];

		if (!has_column(f, column->name))
			r = execute_made(f,
					 sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w\" %s",
							 f->table, column->name,
							 type_name(column->type)),
					 why);
	}
	return r;
}

static int remove_old(struct sqlite_file *f, const char *text, struct strbuf *why)
{
	return execute_made(
		f, sqlite3_mprintf("DELETE FROM \"%w\" WHERE \"%w\" = %Q", f->table, f->key, text),
		why);
}

static int prepare_insert(struct sqlite_file *f, struct strbuf *why)
{
	sqlite3_str *sql = sqlite3_str_new(f->db);

	sqlite3_str_appendf(sql, "INSERT INTO \"%w\"", f->table);
	for (size_t c = 0; c < f->file.count; c++)
		sqlite3_str_appendf(sql, "%s\"%w\"", c ? ", " : " (", f->file.columns[c].name);
	for (size_t c = 0; c < f->file.count; c++)
		sqlite3_str_appendall(sql, c ? ", ?" : ") VALUES (?");
	sqlite3_str_appendall(sql, ")");
	char *text = sqlite3_str_finish(sql);
	int r = text ? sqlite3_prepare_v3(f->db, text, -1, SQLITE_PREPARE_PERSISTENT, &f->insert,
					  NULL)
		     : SQLITE_NOMEM;
	sqlite3_free(text);
	return r == SQLITE_OK ? 0 : failed(f, r, why);
}

/* ---- the table ---- */

/* After a full disk, SQLite leaves the rollback to whoever opens the database next: do it here. */
static void roll_back(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		(void)sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	sqlite3_close_v2(db);
}

static void release(struct table_file *t)
{
	struct sqlite_file *f = (struct sqlite_file *)t;

	sqlite3_finalize(f->insert);
	sqlite3_close_v2(f->db);
	if (f->db && !f->committed)
		roll_back(f->path);
	strbuf_release(&f->text);
	free(f->path);
	free(f->table);
	free(f->key);
}

static int begin(struct sqlite_file *f, const struct table_options *o, struct strbuf *why)
{
	int r = sqlite3_open_v2(f->path, &f->db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				NULL);

	if (r != SQLITE_OK)
		return failed(f, r, why);
	sqlite3_busy_timeout(f->db, WAIT_MS);
	r = execute(f, "PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; BEGIN IMMEDIATE", why);
	if (r >= 0)
		r = make_table(f, why);
	if (r >= 0)
		r = widen_table(f, why);
	if (r >= 0 && f->key)
		r = remove_old(f, o->key_text, why);
	return r < 0 ? r : prepare_insert(f, why);
}

static int open_table(struct table_file *t, const char *path, const struct table_options *o,
		      struct strbuf *why)
{
	struct sqlite_file *f = (struct sqlite_file *)t;

	f->path = xstrdup(path);
	f->table = xstrdup(o->table);
	f->key = o->key && o->key_text ? xstrdup(o->key) : NULL;
	f->text = (struct strbuf)STRBUF_INIT;
	return begin(f, o, why);
}

static void bind_value(struct sqlite_file *f, const struct table_values *v, size_t c, size_t row)
{
	int i = (int)c + 1;

	if (v->absent && v->absent[row]) {
		sqlite3_bind_null(f->insert, i);
	} else if (f->file.columns[c].type == TABLE_INT) {
		sqlite3_bind_int64(f->insert, i, v->ints[row]);
	} else if (f->file.columns[c].type == TABLE_REAL) {
		sqlite3_bind_double(f->insert, i, v->reals[row]);
	} else if (f->file.columns[c].type == TABLE_TIME) {
		strbuf_reset(&f->text);
		table_add_time(&f->text, v->ints[row]);
		sqlite3_bind_text64(f->insert, i, f->text.buf, f->text.len, SQLITE_TRANSIENT,
				    SQLITE_UTF8);
	} else {
		uint32_t at = v->texts.begin[v->codes[row]];
		uint32_t n = v->texts.begin[v->codes[row] + 1] - at;
		const char *s = v->texts.bytes + at;

		if (utf8_valid(s, n) && !memchr(s, 0, n))
			sqlite3_bind_text64(f->insert, i, s, n, SQLITE_STATIC, SQLITE_UTF8);
		else
			sqlite3_bind_blob64(f->insert, i, n ? s : "", n, SQLITE_STATIC);
	}
}

static int write_batch(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct sqlite_file *f = (struct sqlite_file *)t;

	for (size_t row = 0; row < b->rows; row++) {
		for (size_t c = 0; c < t->count; c++)
			bind_value(f, &b->columns[c], c, row);
		int r = sqlite3_step(f->insert);

		sqlite3_reset(f->insert);
		if (r != SQLITE_DONE)
			return failed(f, r, why);
	}
	return 0;
}

/* With an index, replacing a job needs no scan of all others. */
static int make_index(struct sqlite_file *f, struct strbuf *why)
{
	if (!f->key)
		return 0;
	return execute_made(
		f,
		sqlite3_mprintf("CREATE INDEX IF NOT EXISTS \"%w_%w\" ON \"%w\" (\"%w\")", f->table,
				f->key, f->table, f->key),
		why);
}

static int end(struct table_file *t, struct strbuf *why)
{
	struct sqlite_file *f = (struct sqlite_file *)t;
	int r = make_index(f, why);

	if (r >= 0)
		r = execute(f, "COMMIT", why);
	f->committed = r >= 0;
	return r;
}

static const struct table_format functions = {
	.name = "sqlite",
	.size = sizeof(struct sqlite_file),
	.open = open_table,
	.write = write_batch,
	.end = end,
	.release = release,
};

PL_MODULE("sqlite_table", "libsqlite3", &functions);
