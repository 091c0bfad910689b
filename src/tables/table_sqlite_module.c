/*
 * Module "sqlite_table": tables of ours in a database of the user's. One transaction makes or
 * widens the table, removes the rows that are replaced, and adds the new ones; what breaks off
 * leaves the database as it was. Times are text as in CSV, which SQLite's own functions understand;
 * text that is not UTF-8 is a BLOB with its exact bytes.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "core/module.h"
#include "core/text/text.h"
#include "tables/table.h"
#include "tables/text_values.h"

#define WAIT_MS 60000

struct table_file {
	sqlite3 *db;
	sqlite3_stmt *insert;
	char *path, *table, *key;
	const struct table_column *columns;
	size_t count;
	struct strbuf text;
	bool committed;
};

static int failed(struct table_file *f, int code, struct strbuf *why)
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

/* ---- SQL ---------------------------------------------------------------------------------------
 */

static void add_name(struct strbuf *sql, const char *name)
{
	strbuf_addch(sql, '"');
	for (; *name; name++) {
		if (*name == '"')
			strbuf_addch(sql, '"');
		strbuf_addch(sql, *name);
	}
	strbuf_addch(sql, '"');
}

static void add_column(struct strbuf *sql, const struct table_column *c)
{
	static const char *const types[] = {[TABLE_INT] = "INTEGER",
					    [TABLE_REAL] = "REAL",
					    [TABLE_TEXT] = "TEXT",
					    [TABLE_TIME] = "TEXT"};

	add_name(sql, c->name);
	strbuf_addf(sql, " %s", types[c->type]);
}

static int execute(struct table_file *f, const char *sql, struct strbuf *why)
{
	int r = sqlite3_exec(f->db, sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : failed(f, r, why);
}

static int make_table(struct table_file *f, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, "CREATE TABLE IF NOT EXISTS ");
	add_name(&sql, f->table);
	for (size_t c = 0; c < f->count; c++) {
		strbuf_addstr(&sql, c ? ", " : " (");
		add_column(&sql, &f->columns[c]);
	}
	strbuf_addch(&sql, ')');
	return execute(f, sql.buf, why);
}

/* Names are compared as SQLite does. */
static bool has_column(struct table_file *f, const char *name)
{
	return sqlite3_table_column_metadata(f->db, NULL, f->table, name, NULL, NULL, NULL, NULL,
					     NULL) == SQLITE_OK;
}

static int widen_table(struct table_file *f, struct strbuf *why)
{
	int r = 0;

	for (size_t c = 0; c < f->count && r >= 0; c++) {
		_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

		if (has_column(f, f->columns[c].name))
			continue;
		strbuf_addstr(&sql, "ALTER TABLE ");
		add_name(&sql, f->table);
		strbuf_addstr(&sql, " ADD COLUMN ");
		add_column(&sql, &f->columns[c]);
		r = execute(f, sql.buf, why);
	}
	return r;
}

static int remove_old(struct table_file *f, const char *text, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	sqlite3_stmt *st = NULL;

	strbuf_addstr(&sql, "DELETE FROM ");
	add_name(&sql, f->table);
	strbuf_addstr(&sql, " WHERE ");
	add_name(&sql, f->key);
	strbuf_addstr(&sql, " = ?");
	int r = sqlite3_prepare_v2(f->db, sql.buf, -1, &st, NULL);
	if (r == SQLITE_OK) {
		sqlite3_bind_text(st, 1, text, -1, SQLITE_STATIC);
		r = sqlite3_step(st);
	}
	int e = r == SQLITE_DONE ? 0 : failed(f, r, why);
	sqlite3_finalize(st);
	return e;
}

static int prepare_insert(struct table_file *f, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, "INSERT INTO ");
	add_name(&sql, f->table);
	for (size_t c = 0; c < f->count; c++) {
		strbuf_addstr(&sql, c ? ", " : " (");
		add_name(&sql, f->columns[c].name);
	}
	for (size_t c = 0; c < f->count; c++)
		strbuf_addstr(&sql, c ? ", ?" : ") VALUES (?");
	strbuf_addch(&sql, ')');
	int r = sqlite3_prepare_v3(f->db, sql.buf, -1, SQLITE_PREPARE_PERSISTENT, &f->insert, NULL);
	return r == SQLITE_OK ? 0 : failed(f, r, why);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

/* After a full disk SQLite leaves it to the next who opens the database to roll back: that is us.
 */
static void roll_back(const char *path)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		(void)sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
	sqlite3_close_v2(db);
}

static void abandon(struct table_file *f)
{
	if (!f)
		return;
	sqlite3_finalize(f->insert);
	sqlite3_close_v2(f->db);
	if (!f->committed)
		roll_back(f->path);
	strbuf_release(&f->text);
	free(f->path);
	free(f->table);
	free(f->key);
	free(f);
}

static int begin(struct table_file *f, const struct table_options *o, struct strbuf *why)
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

static int db_open(struct table_file **ret, const char *path, const struct table_column *columns,
		   size_t count, const struct table_options *o, struct strbuf *why)
{
	int r = table_refuse_codec(o, "SQLite", why);

	if (r < 0)
		return r;
	struct table_file *f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(path);
	f->table = xstrdup(o->table);
	f->key = o->key && o->key_text ? xstrdup(o->key) : NULL;
	f->columns = columns;
	f->count = count;
	f->text = (struct strbuf)STRBUF_INIT;
	r = begin(f, o, why);
	if (r < 0)
		abandon(f);
	else
		*ret = f;
	return r;
}

static void bind_value(struct table_file *f, const struct table_values *v, size_t c, size_t row)
{
	int i = (int)c + 1;

	if (v->absent && v->absent[row]) {
		sqlite3_bind_null(f->insert, i);
	} else if (f->columns[c].type == TABLE_INT) {
		sqlite3_bind_int64(f->insert, i, v->ints[row]);
	} else if (f->columns[c].type == TABLE_REAL) {
		sqlite3_bind_double(f->insert, i, v->reals[row]);
	} else if (f->columns[c].type == TABLE_TIME) {
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

static int db_write(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	for (size_t row = 0; row < b->rows; row++) {
		for (size_t c = 0; c < f->count; c++)
			bind_value(f, &b->columns[c], c, row);
		int r = sqlite3_step(f->insert);

		sqlite3_reset(f->insert);
		if (r != SQLITE_DONE)
			return failed(f, r, why);
	}
	return 0;
}

/* So that replacing a job needs no look at all others. */
static int make_index(struct table_file *f, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT, name = STRBUF_INIT;

	if (!f->key)
		return 0;
	strbuf_addf(&name, "%s_%s", f->table, f->key);
	strbuf_addstr(&sql, "CREATE INDEX IF NOT EXISTS ");
	add_name(&sql, name.buf);
	strbuf_addstr(&sql, " ON ");
	add_name(&sql, f->table);
	strbuf_addstr(&sql, " (");
	add_name(&sql, f->key);
	strbuf_addch(&sql, ')');
	return execute(f, sql.buf, why);
}

static int db_close(struct table_file *f, struct strbuf *why)
{
	int r = make_index(f, why);

	if (r >= 0)
		r = execute(f, "COMMIT", why);
	f->committed = r >= 0;
	abandon(f);
	return r;
}

static const struct table_format functions = {
	.name = "sqlite",
	.open = db_open,
	.write = db_write,
	.close = db_close,
	.abandon = abandon,
};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "sqlite_table",
	.library = "libsqlite3",
	.functions = &functions,
};
