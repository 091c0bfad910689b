/* Opening a store by its URL, and shorthands; see store.h. */
#include "store/store.h"

#include "store/ingest/merge_streamed.h"
#include "store/viewer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/module.h"
#include "core/text/secrets.h"

#define WAIT_MS 60000

char *store_default_path(void)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (data && data[0] == '/')
		return xasprintf("%s/plimsoll/plimsoll.db", data);
	if (home && home[0] == '/')
		return xasprintf("%s/.local/share/plimsoll/plimsoll.db", home);
	return NULL;
}

/* Recognises "host=h password=p" of libpq and "user:password@host", which are not paths. A file of
 * such a name is written with ./ in front. */
static bool is_connection_string(const char *url)
{
	/* clang-format off */
	static const char *const keywords[] = {
		"host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service",
		"sslmode", "connect_timeout", "application_name", "options"};
	/* clang-format on */
	_cleanup_free_ char *shown = secrets_shown(url);
	size_t n = strcspn(url, " =");

	if (strcmp(shown, url) != 0)
		return true;
	if (url[n + strspn(url + n, " ")] != '=')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strlen(keywords[i]) == n && !strncasecmp(url, keywords[i], n))
			return true;
	return false;
}

/* The engine's module and what it opens: a file name, or the URL as it is. As in SQLAlchemy, a path
 * after "sqlite:///" is relative, so an absolute one has four slashes. */
static const char *engine_for(const char *url, const char **ret_where)
{
	*ret_where = url;
	if (str_prefix(url, "postgresql:") || str_prefix(url, "postgres:"))
		return "postgres";
	if (str_prefix(url, "sqlite:///") && url[strlen("sqlite:///")])
		*ret_where = url + strlen("sqlite:///");
	else if (str_prefix(url, "sqlite:"))
		*ret_where = ":memory:";
	else if (strstr(url, "://") || is_connection_string(url))
		return NULL;
	return "sqlite";
}

static int check_schema(struct store *s, enum store_access access)
{
	int have = 0, r;

	if (access == STORE_MANAGE || access == STORE_FOREIGN)
		return 0;
	r = schema_current(s, &have);
	if (r < 0)
		return r;
	if (!have && (r = schema_refuse_foreign(s)) < 0)
		return r;
	if (have > schema_newest())
		return store_fail(
			s, EPROTO,
			"'%s' has schema %d, but this program knows only %d; use a newer plimsoll",
			s->where, have, schema_newest());
	s->schema = have;
	if (access == STORE_WRITE) {
		s->schema = schema_newest();
		return have == schema_newest() ? 0 : schema_migrate(s);
	}
	if (have >= SCHEMA_READABLE)
		return 0;
	return store_fail(
		s, ESTALE,
		"'%s' has schema %d, but this program needs %d; run `plimsoll db migrate`",
		s->where, have, schema_newest());
}

static int refuse(const char *url, struct strbuf *why)
{
	_cleanup_free_ char *shown = secrets_shown(url);

	if (strstr(url, "://"))
		strbuf_addf(why,
			    "'%s' is not a store; use a path, sqlite:///PATH or postgresql://...",
			    shown);
	else
		strbuf_addf(why,
			    "'%s' is not a path; use postgresql://USER@HOST:PORT/DATABASE, or "
			    "./NAME for a file with such a name",
			    shown);
	return -EINVAL;
}

int store_open(struct store **ret, const char *url, enum store_access access, struct strbuf *why)
{
	return store_open_within(ret, url, access, WAIT_MS, why);
}

int store_open_within(struct store **ret, const char *url, enum store_access access, int wait_ms,
		      struct strbuf *why)
{
	const char *where;
	const char *name = engine_for(url, &where);

	if (!name)
		return refuse(url, why);
	const struct module *m = module_load(name, why);
	if (!m)
		return -ENOSYS;
	struct store *s = xcalloc(1, sizeof(*s));
	s->engine = m->functions;
	s->error = (struct strbuf)STRBUF_INIT;
	s->wait_ms = wait_ms;
	/* SQLite looks at the file by this path later */
	s->where = where == url ? secrets_shown(where) : xstrdup(where);
	int r = store_check_viewer(s, access);
	if (r == 0)
		r = s->engine->open(s, where, access);
	if (r == 0)
		r = check_schema(s, access);
	if (r == 0)
		r = store_view_by_environment(s, access);
	if (r < 0) {
		secrets_hide(&s->error, url);
		strbuf_addstr(why, store_error(s));
		store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	s->engine->close(s);
	strbuf_release(&s->error);
	free(s->where);
	free(s->viewer);
	free(s);
}

void store_close_ptr(struct store **s)
{
	store_close(*s);
}

const char *store_error(const struct store *s)
{
	return s->error.len ? s->error.buf : "unknown error";
}

int store_fail(struct store *s, int error, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT; /* values may be in the old message */
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_reset(&s->error);
	strbuf_add(&s->error, text.buf, text.len);
	return -error;
}

int store_exec(struct store *s, const char *sql)
{
	return s->engine->exec(s, sql);
}

int store_settle(struct store *s, int wait_ms)
{
	return s->engine->settle ? s->engine->settle(s, wait_ms) : 0;
}

bool store_moved(const struct store *s)
{
	return s && s->engine->moved && s->engine->moved(s);
}

int store_check_moved(struct store *s)
{
	if (!store_moved(s))
		return 0;
	return store_fail(s, EAGAIN,
			  "'%s' was moved, removed or replaced after it was opened; try again",
			  s->where);
}

int store_begin(struct store *s)
{
	int r = s->engine->begin(s);

	s->in_transaction = r == 0;
	return r;
}

int store_stage(struct store *s)
{
	int r = s->engine->stage ? s->engine->stage(s) : 0;

	s->staged = r == 0 && s->engine->stage;
	return r;
}

int store_unstage(struct store *s)
{
	int r = s->staged ? s->engine->unstage(s) : 0;

	s->staged = s->staged && r < 0;
	return r;
}

int store_commit(struct store *s)
{
	int r = s->staged ? s->engine->publish(s, store_set_aside_staged) : s->engine->commit(s);

	if (r == 0)
		s->in_transaction = false;
	return r;
}

void store_rollback(struct store *s)
{
	if (s->in_transaction)
		s->engine->rollback(s);
	s->in_transaction = false;
}

struct stmt *stmt_prepare(struct store *s, const char *sql)
{
	return s->engine->prepare(s, sql);
}

void stmt_finish_ptr(struct stmt **st)
{
	if (*st)
		(*st)->store->engine->finish(*st);
}

int store_end(struct store *s, int r)
{
	if (r == 0)
		r = store_commit(s);
	if (r < 0)
		store_rollback(s);
	return r;
}

void stmt_bind_values(struct stmt *st, const struct db_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		stmt_value(st, (int)i + 1, v[i]);
}

const char *stmt_get_str(struct stmt *st, int i)
{
	size_t n;
	const char *s = stmt_get_text(st, i, &n);

	return s ? s : "";
}

int stmt_run(struct stmt *st)
{
	int r = stmt_step(st);

	stmt_reset(st);
	return r < 0 ? r : 0;
}

char *stmt_get_copy(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? NULL : xstrdup(stmt_get_str(st, i));
}

struct stmt *store_query_values(struct store *s, const char *sql, const struct db_value *v,
				size_t n)
{
	struct stmt *st = stmt_prepare(s, sql);

	if (st)
		stmt_bind_values(st, v, n);
	return st;
}

int store_run_values(struct store *s, const char *sql, const struct db_value *v, size_t n)
{
	_cleanup_stmt_ struct stmt *st = store_query_values(s, sql, v, n);

	return st ? stmt_run(st) : -EIO;
}

int store_number_values(struct store *s, const char *sql, int64_t *ret, const struct db_value *v,
			size_t n)
{
	_cleanup_stmt_ struct stmt *st = store_query_values(s, sql, v, n);

	if (!st)
		return -EIO;
	int r = stmt_step(st);
	if (r == 1)
		*ret = stmt_get_int(st, 0);
	return r < 0 ? r : r == 1 ? 0 : -ENODATA;
}

int store_number(struct store *s, const char *sql, int64_t *ret)
{
	return store_number_values(s, sql, ret, NULL, 0);
}

int bulk_put_values(struct bulk *b, const struct db_value *v, size_t n)
{
	const struct store_engine *e = b->store->engine;

	for (; n--; v++)
		e->bulk_value(b, v);
	return e->bulk_row(b);
}

int bulk_end(struct bulk *b, int r)
{
	if (!b)
		return -EIO;
	const struct store_engine *e = b->store->engine;
	if (r == 0)
		r = e->bulk_flush(b);
	e->bulk_close(b);
	return r;
}
