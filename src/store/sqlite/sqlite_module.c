/*
 * Module "sqlite": a store in one file, by libsqlite3. Write-ahead log on local disks, so that
 * readers and a writer do not wait for each other; the rollback journal on network filesystems,
 * where shared memory between hosts does not work.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "core/log.h"
#include "core/module.h"
#include "store/sqlite/sqlite.h"

/* SQLite numbers $1, $2, ... in order of appearance; at[] maps our number to its number. */
struct sqlite_stmt {
	struct stmt base;
	sqlite3_stmt *st;
	bool done; /* the last row was read: the next bind or step starts over */
	int count; /* of parameters */
	int at[];
};

struct sqlite_bulk {
	struct bulk base;
	sqlite3_stmt *st;
	int column, columns;
};

/* A negative errno for a result code, with a message as the store's error. */
int sqlite_failed(struct store *s, int code)
{
	int kind = code & 0xff, e = db_of(s) ? sqlite3_system_errno(db_of(s)) : 0;
	bool reads = db_of(s) && sqlite3_db_readonly(db_of(s), "main") == 1;
	const char *ours = kind == SQLITE_NOTADB
				   ? " is not a Plimsoll store; choose another with --db"
			   : kind == SQLITE_CORRUPT
				   ? ": the store is damaged; restore a backup (`plimsoll help db`)"
			   : kind == SQLITE_READONLY && reads
				   ? ": SQLite keeps files beside a store that it reads, but this "
				     "directory is read-only; read a copy elsewhere"
				   : NULL;

	strbuf_reset(&s->error);
	if (kind == SQLITE_CANTOPEN && e)
		strbuf_addf(&s->error, "cannot open store '%s': %s", s->where, strerror(e));
	else if (ours)
		strbuf_addf(&s->error, "'%s'%s", s->where, ours);
	else
		strbuf_addf(&s->error, s->narrow ? "%.0s%s" : "'%s': %s", s->where,
			    db_of(s) ? sqlite3_errmsg(db_of(s)) : sqlite3_errstr(code));
	sqlite_hide_name(s);
	switch (kind) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return strbuf_fail(&s->error, -EAGAIN, "; another command is writing; try again");
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EROFS;
	case SQLITE_INTERRUPT:
		return strbuf_fail(&s->error, -ETIMEDOUT, ": time limit exceeded (--timeout)");
	case SQLITE_AUTH:
		return -EPERM;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		s->damaged = true;
		return -EBADMSG;
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
		return -E2BIG;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

/* ---- opening -------------------------------------------------------------------------------- */

/* The journal mode of another program's database is not changed. */
static bool is_foreign(struct store *s)
{
	sqlite3_stmt *st = NULL;
	int r = sqlite3_prepare_v2(db_of(s), "SELECT version_num FROM alembic_version", -1, &st,
				   NULL);

	sqlite3_finalize(st);
	return r == SQLITE_OK;
}

int sqlite_configure(struct store *s, const char *path, bool memory, enum store_access access)
{
	char sql[160];

	sqlite3_busy_timeout(db_of(s), s->wait_ms);
	snprintf(sql, sizeof(sql),
		 "PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; "
		 "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
		 SQLITE_CACHE_KIB);
	int r = sqlite3_exec(db_of(s), sql, NULL, NULL, NULL);
	if (r != SQLITE_OK)
		return sqlite_failed(s, r);
	/* a large sort of a reader: in pieces of the size of the cache, by other threads, it takes
	 * half of the time and little memory */
	if (access == STORE_READ)
		(void)sqlite3_exec(db_of(s), "PRAGMA temp_store=FILE; PRAGMA threads=2", NULL, NULL,
				   NULL);
	if (memory || access == STORE_READ || access == STORE_FOREIGN || is_foreign(s))
		return 0;
	/* inputs are removed once they are stored, so a job must survive a power cut by then. Data
	 * of a writer that was killed before its sync can be read, but would be lost with the
	 * power: the checkpoint syncs it before we rely on it. */
	const char *journal = sqlite_on_network(path)
				      ? "PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL"
				      : "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
					"PRAGMA wal_checkpoint(PASSIVE)";
	/* SQLite does not wait for the lock that changing the journal mode needs */
	for (int waited = 0; waited < s->wait_ms; waited += 10) {
		r = sqlite3_exec(db_of(s), journal, NULL, NULL, NULL);
		if ((r & 0xff) != SQLITE_BUSY)
			break;
		sqlite3_sleep(10);
	}
	return r == SQLITE_OK ? 0 : sqlite_failed(s, r);
}

/* A store contains environments and arguments, so a new one is readable by its owner only. SQLite
 * gives its other files the same mode. A store that a site opened to others stays as it is. */
static void make_private(const char *where)
{
	static bool said;
	struct stat st;
	_cleanup_close_ int fd = open(where, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && stat(where, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 007) && !said) {
		log_warn("store '%s' is readable by all users; run chmod o= on it", where);
		said = true;
	}
}

static int sqlite_open(struct store *s, const char *where, enum store_access how)
{
	bool memory = !strcmp(where, ":memory:");
	bool reads = how == STORE_READ || how == STORE_FOREIGN;
	int flags = reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	sqlite3 *db = NULL;
	struct stat st;

	if (!memory && stat(where, &st) == 0 && S_ISDIR(st.st_mode))
		return strbuf_fail(&s->error, -EISDIR, "'%s' is a directory; name a file", where);
	if (how == STORE_FOREIGN && access(where, F_OK) != 0)
		return strbuf_fail(&s->error, -ENOENT, "there is no database '%s'", where);
	if (!memory && how != STORE_WRITE && access(where, F_OK) != 0)
		return strbuf_fail(
			&s->error, -ENOENT,
			"there is no store '%s' yet; `plimsoll run` or `plimsoll submit` "
			"creates it",
			where);
	if (!memory && how == STORE_WRITE) {
		int r = fs_make_parents(where, 0700, &s->error);
		if (r < 0)
			return r;
		make_private(where);
	}
	int r = sqlite3_open_v2(where, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	s->state = db;
	if (r != SQLITE_OK)
		return sqlite_failed(s, r);
	sqlite3_extended_result_codes(db, 1);
	sqlite_harden(db);
	sqlite_remember_file(s);
	return sqlite_configure(s, where, memory, how);
}

static void sqlite_close(struct store *s)
{
	if (!db_of(s))
		return;
	sqlite_settle_last(s);
	sqlite3_close_v2(db_of(s));
}

int sqlite_exec(struct store *s, const char *sql)
{
	int r = sqlite3_exec(db_of(s), sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : sqlite_failed(s, r);
}

static int sqlite_begin(struct store *s)
{
	if (!s->staged)
		return sqlite_exec(s, "BEGIN IMMEDIATE");
	int r = sqlite_stage_empty(s);
	return r < 0 ? r : sqlite_exec(s, "BEGIN");
}

static int sqlite_commit(struct store *s)
{
	return sqlite_exec(s, "COMMIT");
}

static void sqlite_rollback(struct store *s)
{
	(void)sqlite3_exec(db_of(s), "ROLLBACK", NULL, NULL, NULL);
}

/* ---- statements ----------------------------------------------------------------------------- */

/* Beyond that, a number is of a user's statement, which has no parameters. */
#define PARAMETERS_MAX 65536

/* Our number of SQLite's parameter i; 0: none. */
static int parameter_number(sqlite3_stmt *st, int i)
{
	const char *name = sqlite3_bind_parameter_name(st, i);
	long n = name && name[0] == '$' ? strtol(name + 1, NULL, 10) : 0;

	return n > 0 && n <= PARAMETERS_MAX ? (int)n : 0;
}

static int highest_parameter(sqlite3_stmt *st)
{
	int highest = 0;

	for (int i = 1; i <= sqlite3_bind_parameter_count(st); i++) {
		int n = parameter_number(st, i);

		highest = n > highest ? n : highest;
	}
	return highest;
}

static struct stmt *sqlite_prepare(struct store *s, const char *sql)
{
	sqlite3_stmt *st;
	const char *rest;

	int r = sqlite3_prepare_v2(db_of(s), sql, -1, &st, &rest);
	if (r != SQLITE_OK) {
		sqlite_failed(s, r);
		return NULL;
	}
	if (!st || rest[strspn(rest, " \t\r\n;")]) {
		sqlite3_finalize(st);
		store_fail(s, EINVAL, "exactly one statement is allowed");
		return NULL;
	}
	int count = highest_parameter(st);
	struct sqlite_stmt *q = xcalloc(1, sizeof(*q) + ((size_t)count + 1) * sizeof(*q->at));
	q->base.store = s;
	q->st = st;
	q->count = count;
	for (int i = 1; i <= sqlite3_bind_parameter_count(st); i++) {
		int n = parameter_number(st, i);

		if (n > 0 && n <= count)
			q->at[n] = i;
	}
	return &q->base;
}

static struct sqlite_stmt *mine(struct stmt *st)
{
	return (struct sqlite_stmt *)st;
}

static void sqlite_finish(struct stmt *st)
{
	if (!st)
		return;
	sqlite3_finalize(mine(st)->st);
	free(st);
}

/* 0, which SQLite refuses, if the statement has no such parameter. */
static int place(struct stmt *st, int i)
{
	return i > 0 && i <= mine(st)->count ? mine(st)->at[i] : 0;
}

static void rewind_done(struct stmt *st)
{
	if (mine(st)->done) {
		sqlite3_reset(mine(st)->st);
		mine(st)->done = false;
	}
}

/* text_life: SQLITE_STATIC or SQLITE_TRANSIENT, which copies the text. */
static void bind_value(sqlite3_stmt *q, int at, const struct db_value *v,
		       sqlite3_destructor_type text_life)
{
	switch (v->kind) {
	case STORE_NULL:
		sqlite3_bind_null(q, at);
		break;
	case STORE_INT:
		sqlite3_bind_int64(q, at, v->number);
		break;
	case STORE_REAL:
		sqlite3_bind_double(q, at, v->real);
		break;
	case STORE_TEXT:
		sqlite3_bind_text64(q, at, v->data, v->size, text_life, SQLITE_UTF8);
		break;
	case STORE_BYTES:
		sqlite3_bind_blob64(q, at, v->size ? v->data : "", v->size, SQLITE_STATIC);
		break;
	}
}

static void bind(struct stmt *st, int i, const struct db_value *v)
{
	rewind_done(st);
	bind_value(mine(st)->st, place(st, i), v, SQLITE_STATIC);
}

static int step(struct stmt *st)
{
	rewind_done(st);
	int r = sqlite3_step(mine(st)->st);
	if (r == SQLITE_ROW)
		return 1;
	mine(st)->done = true;
	if (r == SQLITE_DONE)
		return 0;
	return sqlite_failed(st->store, r);
}

static void reset(struct stmt *st)
{
	sqlite3_reset(mine(st)->st);
	mine(st)->done = false;
}

static int columns(struct stmt *st)
{
	return sqlite3_column_count(mine(st)->st);
}

static const char *column_name(struct stmt *st, int i)
{
	return sqlite3_column_name(mine(st)->st, i);
}

static enum store_kind kind(struct stmt *st, int i)
{
	switch (sqlite3_column_type(mine(st)->st, i)) {
	case SQLITE_INTEGER:
		return STORE_INT;
	case SQLITE_FLOAT:
		return STORE_REAL;
	case SQLITE_TEXT:
		return STORE_TEXT;
	case SQLITE_BLOB:
		return STORE_BYTES;
	default:
		return STORE_NULL;
	}
}

static int64_t get_int(struct stmt *st, int i)
{
	return sqlite3_column_int64(mine(st)->st, i);
}

static double get_real(struct stmt *st, int i)
{
	return sqlite3_column_double(mine(st)->st, i);
}

static const char *get_text(struct stmt *st, int i, size_t *ret_n)
{
	sqlite3_stmt *q = mine(st)->st;
	int type = sqlite3_column_type(q, i);

	*ret_n = 0;
	if (type == SQLITE_NULL)
		return NULL;
	/* reading a blob as text appends a NUL and keeps its bytes */
	const char *s = (const char *)sqlite3_column_text(q, i);
	*ret_n = (size_t)sqlite3_column_bytes(q, i);
	return s ? s : "";
}

static int64_t changes(struct stmt *st)
{
	return sqlite3_changes64(db_of(st->store));
}

/* ---- bulk ----------------------------------------------------------------------------------- */

static struct bulk *bulk_open(struct store *s, const char *table, const char *names)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	sqlite3_stmt *st;
	int count = 1;

	strbuf_addf(&sql, "INSERT INTO %s (%s) VALUES (?", table, names);
	for (const char *p = names; (p = strchr(p, ',')); p++) {
		strbuf_addstr(&sql, ",?");
		count++;
	}
	strbuf_addch(&sql, ')');
	int r = sqlite3_prepare_v3(db_of(s), sql.buf, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
	if (r != SQLITE_OK) {
		sqlite_failed(s, r);
		return NULL;
	}
	struct sqlite_bulk *b = xcalloc(1, sizeof(*b));
	b->base.store = s;
	b->st = st;
	b->columns = count;
	return &b->base;
}

static struct sqlite_bulk *my_bulk(struct bulk *b)
{
	return (struct sqlite_bulk *)b;
}

static void bulk_next(struct bulk *b, const struct db_value *v)
{
	struct sqlite_bulk *m = my_bulk(b);

	bind_value(m->st, ++m->column, v, SQLITE_TRANSIENT);
}

static int bulk_row(struct bulk *b)
{
	struct sqlite_bulk *m = my_bulk(b);

	if (m->column != m->columns) {
		m->column = 0;
		return store_fail(b->store, EINVAL, "a row with the wrong number of columns");
	}
	int r = sqlite3_step(m->st);
	sqlite3_reset(m->st);
	m->column = 0;
	return r == SQLITE_DONE ? 0 : sqlite_failed(b->store, r);
}

static int bulk_flush(struct bulk *b PL_UNUSED)
{
	return 0;
}

static void bulk_close(struct bulk *b)
{
	if (!b)
		return;
	sqlite3_finalize(my_bulk(b)->st);
	free(b);
}

/* ---- maintenance ----------------------------------------------------------------------- */

static int size(struct store *s, int64_t *ret)
{
	return store_number(s,
			    "SELECT page_count * page_size FROM pragma_page_count(), "
			    "pragma_page_size()",
			    ret);
}

static int check(struct store *s, struct strbuf *out)
{
	_cleanup_stmt_ struct stmt *st = sqlite_prepare(s, "PRAGMA integrity_check(20)");
	int r = st ? 0 : -EIO;

	while (st && (r = step(st)) == 1) {
		const char *line = stmt_get_str(st, 0);

		if (strcmp(line, "ok") != 0)
			strbuf_addf(out, "%s\n", line);
	}
	return r < 0 ? r : 0;
}

static int vacuum(struct store *s)
{
	return sqlite_exec(s, "VACUUM; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)");
}

static int backup(struct store *s, const char *to)
{
	sqlite3 *copy = NULL;

	make_private(to);
	int r = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	sqlite3_backup *b =
		r == SQLITE_OK ? sqlite3_backup_init(copy, "main", db_of(s), "main") : NULL;
	if (b) {
		r = sqlite3_backup_step(b, -1);
		if (r == SQLITE_DONE)
			r = SQLITE_OK;
		int finished = sqlite3_backup_finish(b);
		r = r == SQLITE_OK ? finished : r;
	} else if (r == SQLITE_OK) {
		r = sqlite3_errcode(copy);
	}
	if (r != SQLITE_OK)
		store_fail(s, EIO, "cannot copy to '%s': %s", to,
			   copy ? sqlite3_errmsg(copy) : sqlite3_errstr(r));
	sqlite3_close_v2(copy);
	return r == SQLITE_OK ? 0 : -EIO;
}

static void version(struct store *s PL_UNUSED, struct strbuf *out)
{
	strbuf_addf(out, "SQLite %s", sqlite3_libversion());
}

static const struct store_engine engine = {
	.name = "SQLite",
	.id = "INTEGER PRIMARY KEY",
	.bytes = "BLOB",
	.keyed = "WITHOUT ROWID",
	.glob = true,
	.text_before = "CAST(",
	.text_after = " AS TEXT)",
	.open = sqlite_open,
	.close = sqlite_close,
	.exec = sqlite_exec,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.prepare = sqlite_prepare,
	.finish = sqlite_finish,
	.bind = bind,
	.step = step,
	.reset = reset,
	.columns = columns,
	.column_name = column_name,
	.kind = kind,
	.get_int = get_int,
	.get_real = get_real,
	.get_text = get_text,
	.changes = changes,
	.bulk_open = bulk_open,
	.bulk_value = bulk_next,
	.bulk_row = bulk_row,
	.bulk_flush = bulk_flush,
	.bulk_close = bulk_close,
	.size = size,
	.check = check,
	.stage = sqlite_stage,
	.unstage = sqlite_unstage,
	.settle = sqlite_settle,
	.moved = sqlite_moved,
	.publish = sqlite_publish,
	.guard = sqlite_guard,
	.hide = sqlite_hide,
	.vacuum = vacuum,
	.backup = backup,
	.version = version,
};

PL_MODULE("sqlite", "libsqlite3", &engine);
