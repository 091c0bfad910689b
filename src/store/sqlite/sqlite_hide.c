/*
 * A store that is read through temporary views only; see viewer.h. The connection begins with an
 * empty database in memory and has the file attached under a random name, which is new each time:
 * no statement can name the file's own tables. A check of each access would not do, since SQLite
 * does not ask for the columns of a NATURAL JOIN.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "store/sqlite/sqlite.h"

static int make_secret(struct store *s)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return store_fail(s, EIO, "the system gives no random numbers");
	s->secret[0] = 's';
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(s->secret + 1 + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* The path as SQLite reads it behind "file:". */
static void add_uri(const char *path, struct strbuf *out)
{
	strbuf_addstr(out, "file:");
	for (; *path; path++)
		if (isalnum((unsigned char)*path) || strchr("/._-", *path))
			strbuf_addch(out, *path);
		else
			strbuf_addf(out, "%%%02x", (unsigned)(unsigned char)*path);
	strbuf_addstr(out, "?mode=ro");
}

static int attach(struct store *s)
{
	_cleanup_strbuf_ struct strbuf uri = STRBUF_INIT;
	char sql[160];
	sqlite3_stmt *st = NULL;

	add_uri(s->where, &uri);
	snprintf(sql, sizeof(sql), "ATTACH ? AS %s", s->secret);
	int r = sqlite3_prepare_v2(db_of(s), sql, -1, &st, NULL);
	if (r == SQLITE_OK) {
		sqlite3_bind_text(st, 1, uri.buf, -1, SQLITE_STATIC);
		r = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	if (r != SQLITE_DONE)
		return sqlite_failed(s, r);
	snprintf(sql, sizeof(sql), "PRAGMA %s.cache_size=-%d; PRAGMA %s.mmap_size=0", s->secret,
		 SQLITE_CACHE_KIB, s->secret);
	return sqlite_exec(s, sql);
}

int sqlite_hide(struct store *s, struct strbuf *place)
{
	sqlite3 *before = db_of(s), *db = NULL;
	int r = make_secret(s);

	if (r < 0)
		return r;
	int code = sqlite3_open_v2(":memory:", &db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
				   NULL);
	s->state = db;
	sqlite3_close_v2(before);
	if (code != SQLITE_OK)
		return sqlite_failed(s, code);
	sqlite3_extended_result_codes(db, 1);
	sqlite_harden(db);
	r = sqlite_configure(s, s->where, false, STORE_READ);
	if (r == 0)
		r = attach(s);
	strbuf_addf(place, "%s.", s->secret);
	return r;
}

/* ---- a fence ----------------------------------------------------------------------------------
 */

/* Is a temporary view of ours of this name? */
static bool is_view(const char *const *names, size_t count, const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == n && !strncmp(names[i], name, n))
			return true;
	return false;
}

/* The text of a view, which means other views by their hidden names. */
static void add_hidden(const struct store *s, const char *text, const char *const *names,
		       size_t count, struct strbuf *out)
{
	while (*text) {
		bool before = str_prefix(text, "FROM ") || str_prefix(text, "JOIN ");
		size_t n = before ? strspn(text + 5, "abcdefghijklmnopqrstuvwxyz_") : 0;

		if (n && text[5 + n] != '.' && is_view(names, count, text + 5, n)) {
			strbuf_addf(out, "%.5s%s_", text, s->secret);
			text += 5;
		} else {
			strbuf_addch(out, *text++);
		}
	}
}

struct views {
	char **names, **texts;
	size_t count, names_cap, texts_cap;
};

static void views_release(struct views *v)
{
	for (size_t i = 0; i < v->count; i++) {
		free(v->names[i]);
		free(v->texts[i]);
	}
	free(v->names);
	free(v->texts);
}
#define _cleanup_views_ _cleanup_(views_release)

static int read_views(struct store *s, struct views *v)
{
	sqlite3_stmt *st = NULL;
	int r = sqlite3_prepare_v2(db_of(s),
				   "SELECT name, substr(sql, instr(sql, ' AS ') + 4) FROM "
				   "sqlite_temp_master WHERE type = 'view' ORDER BY rowid",
				   -1, &st, NULL);

	while (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
		GROW(v->names, v->count, v->names_cap);
		GROW(v->texts, v->count, v->texts_cap);
		v->names[v->count] = xstrdup((const char *)sqlite3_column_text(st, 0));
		v->texts[v->count++] = xstrdup((const char *)sqlite3_column_text(st, 1));
		r = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return r == SQLITE_DONE ? 0 : sqlite_failed(s, r);
}

int sqlite_fence(struct store *s)
{
	_cleanup_views_ struct views v = {.names = NULL};
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	int r = read_views(s, &v);

	if (r < 0)
		return r;
	strbuf_addstr(&sql, "BEGIN;");
	for (size_t i = 0; i < v.count; i++) {
		strbuf_addf(&sql, "DROP VIEW temp.%s; CREATE TEMP VIEW %s_%s AS ", v.names[i],
			    s->secret, v.names[i]);
		add_hidden(s, v.texts[i], (const char *const *)v.names, v.count, &sql);
		strbuf_addstr(&sql, ";\n");
	}
	for (size_t i = 0; i < v.count; i++)
		strbuf_addf(&sql, "CREATE TEMP VIEW %s AS SELECT * FROM %s_%s LIMIT -1 OFFSET 0;\n",
			    v.names[i], s->secret, v.names[i]);
	strbuf_addstr(&sql, "COMMIT");
	return sqlite_exec(s, sql.buf);
}

void sqlite_hide_name(struct store *s)
{
	size_t n = strlen(s->secret);
	char *at;

	while (n && (at = strstr(s->error.buf, s->secret))) {
		size_t cut = n + (at[n] == '.' || at[n] == '_'),
		       behind = (size_t)(at - s->error.buf) + cut;

		memmove(at, at + cut, s->error.len - behind);
		strbuf_cut(&s->error, s->error.len - cut);
	}
}
