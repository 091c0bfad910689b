/*
 * The temporary views of a viewer; see viewer.h.
 *
 * SQLite looks for a name in the temporary schema first, PostgreSQL in pg_temp. A view of the store
 * itself still means the tables of the store, so that every one of them is made again from its
 * text.
 */
#include <errno.h>
#include <string.h>

#include "store/viewer.h"

struct relation {
	char *name, *definition; /* of a view; NULL: a table */
};

struct relations {
	struct relation *v;
	size_t count, cap;
	struct strbuf place; /* of the store: what is in front of names, such as "public." */
};

static void relations_release(struct relations *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->v[i].name);
		free(l->v[i].definition);
	}
	free(l->v);
	strbuf_release(&l->place);
}
#define _cleanup_relations_ _cleanup_(relations_release)

static bool is_sqlite(const struct store *s)
{
	return !s->engine->concurrent;
}

/* ---- what the store has -----------------------------------------------------------------------
 */

/* Views in the order in which they were made. The texts are read before the first temporary view is
 * there, or PostgreSQL would write the schema into them. */
static const char sqlite_relations[] =
	"SELECT name, CASE type WHEN 'view' THEN sql END FROM %ssqlite_master "
	"WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid";
static const char postgres_relations[] =
	"SELECT c.relname, CASE c.relkind WHEN 'v' THEN pg_catalog.pg_get_viewdef(c.oid) END "
	"FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
	"WHERE n.nspname = pg_catalog.current_schema() AND c.relkind IN ('r', 'v') "
	"ORDER BY c.oid";

static int find_relations(struct store *s, struct relations *l)
{
	_cleanup_free_ char *sql = xasprintf(is_sqlite(s) ? sqlite_relations : "%.0s%s",
					     l->place.buf, postgres_relations);
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, sql);
	int r;

	while ((r = stmt_step(st)) == 1) {
		GROW(l->v, l->count, l->cap);
		l->v[l->count++] = (struct relation){.name = stmt_get_copy(st, 0),
						     .definition = stmt_get_copy(st, 1)};
	}
	return r;
}

static int find_place(struct store *s, struct relations *l)
{
	if (s->engine->hide)
		return s->engine->hide(s, &l->place);
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT pg_catalog.quote_ident(pg_catalog.current_schema()) || '.'");
	int r = stmt_step(st);
	if (r == 1)
		strbuf_addstr(&l->place, stmt_get_str(st, 0));
	return r < 0 ? r : l->place.len ? 0 : -ENODATA;
}

/* ---- which rows -------------------------------------------------------------------------------
 */

/* Names were checked, but a quote in one must not end the text. */
static void add_text(struct strbuf *out, const char *s, size_t n)
{
	strbuf_addch(out, '\'');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\'')
			strbuf_addch(out, '\'');
		strbuf_addch(out, s[i]);
	}
	strbuf_addch(out, '\'');
}

static void add_names(const char *list, struct strbuf *out)
{
	strbuf_addch(out, '(');
	while (*list) {
		size_t n = strcspn(list, ",");

		add_text(out, list, n);
		list += n + (list[n] == ',');
		if (*list)
			strbuf_addstr(out, ", ");
	}
	strbuf_addch(out, ')');
}

static void add_projects(const struct viewer *v, const char *place, struct strbuf *out)
{
	strbuf_addf(out, " OR no IN (SELECT a.job FROM %sjob_account a WHERE a.account IN ", place);
	add_names(v->projects, out);
	strbuf_addf(
		out,
		" UNION ALL SELECT t.job FROM %sjob_tag t WHERE t.key IN ('account', 'project') "
		"AND t.value IN ",
		place);
	add_names(v->projects, out);
	strbuf_addch(out, ')');
}

/* The condition on a row of the table of jobs. */
static void add_visible(const struct viewer *v, const char *place, struct strbuf *out)
{
	if (v->role == VIEWER_JOB) {
		strbuf_addf(out, "no = %lld", (long long)v->job);
		return;
	}
	strbuf_addstr(out, "(username = ");
	add_text(out, v->user, strlen(v->user));
	if (v->role == VIEWER_PROJECT && *v->projects)
		add_projects(v, place, out);
	strbuf_addch(out, ')');
}

static const struct store_table *table_of(const char *name)
{
	for (const struct store_table *t = store_tables; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

static void add_condition(const struct viewer *v, const char *name, const char *place,
			  struct strbuf *out)
{
	const struct store_table *t = table_of(name);

	if (!strcmp(name, "job")) {
		add_visible(v, place, out);
	} else if (!strcmp(name, "schema_version")) {
		strbuf_addstr(out, "1 = 1");
	} else if (!t || (!t->job && !t->key)) {
		strbuf_addstr(out, "1 = 0"); /* of nobody, or not known */
	} else {
		strbuf_addf(out, "%s%s IN (SELECT no FROM %sjob WHERE ", t->job ? t->job : t->key,
			    t->job ? "" : " >> 32", place);
		add_visible(v, place, out);
		strbuf_addch(out, ')');
	}
}

/* ---- views ------------------------------------------------------------------------------------
 */

static void add_table(const struct viewer *v, const char *name, const char *place,
		      struct strbuf *sql)
{
	strbuf_addf(sql, "CREATE TEMP VIEW %s AS SELECT * FROM %s%s WHERE ", name, place, name);
	add_condition(v, name, place, sql);
	strbuf_addstr(sql, ";\n");
}

/* The text of a view, but texts from the store itself: views have strings of rows only that they
 * have from other tables, and a condition would make SQLite read all of them. */
static void add_definition(const char *text, const char *place, struct strbuf *sql)
{
	static const char *const words[] = {"JOIN string ", "FROM string "};

	while (*text) {
		size_t i = 0;

		while (i < ARRAY_SIZE(words) && !str_prefix(text, words[i]))
			i++;
		if (i < ARRAY_SIZE(words)) {
			strbuf_addf(sql, "%.5s%sstring ", words[i], place);
			text += strlen(words[i]);
		} else {
			strbuf_addch(sql, *text++);
		}
	}
}

static int add_view(struct store *s, const struct relation *r, const char *place,
		    struct strbuf *sql)
{
	const char *text = r->definition;

	if (is_sqlite(s)) { /* "CREATE VIEW name AS ..." */
		text = strstr(text, " AS");
		if (!text)
			return store_fail(s, EPROTO, "cannot read the view '%s'", r->name);
		text += strlen(" AS");
	}
	size_t n = strlen(text);
	while (n && strchr("; \n", text[n - 1]))
		n--;
	_cleanup_free_ char *body = xstrndup(text, n);
	strbuf_addf(sql, "CREATE TEMP VIEW %s AS ", r->name);
	add_definition(body, place, sql);
	strbuf_addstr(sql, ";\n");
	return 0;
}

/* A view that somebody else made is not needed: nothing of ours asks it. */
static bool is_view_of_ours(const char *name)
{
	for (const char *const *v = store_views; *v; v++)
		if (!strcmp(*v, name))
			return true;
	return false;
}

static int write_views(struct store *s, const struct viewer *v, const struct relations *l,
		       struct strbuf *sql)
{
	int r = 0;

	/* PostgreSQL looks for the tables that a view means when it is made */
	for (size_t i = 0; i < l->count; i++)
		if (!l->v[i].definition)
			add_table(v, l->v[i].name, l->place.buf, sql);
	for (size_t i = 0; r == 0 && i < l->count; i++)
		if (l->v[i].definition && is_view_of_ours(l->v[i].name))
			r = add_view(s, &l->v[i], l->place.buf, sql);
	return r;
}

/* A view of ours that means a view of the store would show all jobs. */
static int check_postgres(struct store *s)
{
	static const char sql[] =
		"SELECT count(*) FROM pg_catalog.pg_depend d "
		"JOIN pg_catalog.pg_rewrite w ON w.oid = d.objid "
		"JOIN pg_catalog.pg_class c ON c.oid = w.ev_class "
		"JOIN pg_catalog.pg_class r ON r.oid = d.refobjid "
		"WHERE d.classid = 'pg_catalog.pg_rewrite'::regclass "
		"AND d.refclassid = 'pg_catalog.pg_class'::regclass AND c.oid <> r.oid "
		"AND c.relnamespace = pg_catalog.pg_my_temp_schema() AND r.relkind <> 'r' "
		"AND r.relnamespace <> pg_catalog.pg_my_temp_schema()";
	int64_t n = 0;
	int r = is_sqlite(s) ? 0 : store_number(s, sql, &n);

	return r < 0 || !n ? r : store_fail(s, EPROTO, "the views of the store mean each other");
}

static int make_views(struct store *s, const struct viewer *v)
{
	_cleanup_relations_ struct relations l = {.place = STRBUF_INIT};
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	int r = find_place(s, &l);

	if (r == 0)
		r = find_relations(s, &l);
	if (r == 0)
		r = write_views(s, v, &l, &sql);
	if (r == 0)
		r = store_exec(s, is_sqlite(s) ? "BEGIN" : "BEGIN READ WRITE");
	if (r < 0)
		return r;
	s->in_transaction = true;
	r = store_exec(s, sql.buf);
	if (r == 0)
		r = check_postgres(s);
	return store_end(s, r);
}

int store_view_as(struct store *s, const struct viewer *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (s->viewer)
		return store_fail(s, EPERM, "the store has a viewer already (" VIEWER_ENV ")");
	viewer_add_text(v, &text);
	s->viewer = strbuf_take(&text);
	s->all_jobs = v->role == VIEWER_ADMIN;
	s->narrow = viewer_is_narrow(v);
	if (!s->narrow)
		return 0;
	return make_views(s, v);
}
