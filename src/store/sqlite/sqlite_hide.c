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

void sqlite_hide_name(struct store *s)
{
	size_t n = strlen(s->secret);
	char *at;

	while (n && (at = strstr(s->error.buf, s->secret))) {
		size_t cut = n + (at[n] == '.'), behind = (size_t)(at - s->error.buf) + cut;

		memmove(at, at + cut, s->error.len - behind);
		strbuf_cut(&s->error, s->error.len - cut);
	}
}
