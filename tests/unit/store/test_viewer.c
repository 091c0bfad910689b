/*
 * Viewers: every table and view of a store has the rows of their jobs, and nothing else. Two jobs
 * have a row in every table, written by what the table says of itself, so that a table that is
 * added later is tested, too.
 */
#include "store_engine.h"

#include <string.h>

#include "store/viewer.h"

#define MINE INT64_C(7)
#define OTHERS INT64_C(8)

/* ---- names ---------------------------------------------------------------------------------- */

static void names(void **state PL_UNUSED)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	static const char *const good_ones[] = {"user:alice:", "project:a.b@c-d:x,y",
						"support:s:", "admin:root:", "job:17:"};
	static const char *const bad[] = {"",
					  "user",
					  "user:alice",
					  "user::",
					  "root:alice:",
					  "user:o'brien:",
					  "user:-x:",
					  "user:a b:",
					  "project:a:x,,y",
					  "project:a:x,",
					  "project:a:x' OR 1=1",
					  "job:0:",
					  "job:-1:",
					  "job:1:x",
					  "job:1 OR 1=1:",
					  "ADMIN:a:"};
	struct viewer v;

	for (size_t i = 0; i < ARRAY_SIZE(good_ones); i++) {
		assert_int_equal(viewer_parse(&v, good_ones[i], &why), 0);
		strbuf_reset(&text);
		viewer_add_text(&v, &text);
		assert_string_equal(text.buf, good_ones[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		strbuf_reset(&why);
		if (viewer_parse(&v, bad[i], &why) != -EINVAL || !viewer_is_narrow(&v))
			fail_msg("'%s' is taken", bad[i]);
		assert_non_null(strstr(why.buf, VIEWER_ENV));
	}
}

/* ---- a store with two jobs ------------------------------------------------------------------ */

static bool numeric(struct stmt *st, int i)
{
	const char *type = stmt_get_str(st, i);

	return strstr(type, "INT") || strstr(type, "int") || strstr(type, "DOUBLE") ||
	       strstr(type, "double");
}

/* Columns of a table: name and type. */
static struct stmt *columns_of(struct store *s, const char *table)
{
	struct stmt *st = store_query(
		s,
		is_postgres(s)
			? "SELECT column_name::text, data_type::text FROM information_schema.columns "
			  "WHERE table_schema = current_schema() AND table_name = $1 "
			  "ORDER BY ordinal_position"
			: "SELECT name, type FROM pragma_table_info($1)",
		db_str(table));

	assert_non_null(st);
	return st;
}

/* One row of a job; its texts have a mark. */
static void add_row(struct store *s, const struct store_table *t, int64_t job, const char *mark)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT, values = STRBUF_INIT;
	_cleanup_stmt_ struct stmt *st = columns_of(s, t->name);
	size_t n = 0;

	strbuf_addf(&sql, "INSERT INTO %s (", t->name);
	for (; stmt_step(st) == 1; n++) {
		const char *name = stmt_get_str(st, 0), *comma = n ? ", " : "";

		strbuf_addf(&sql, "%s\"%s\"", comma, name);
		if (t->job && !strcmp(name, t->job))
			strbuf_addf(&values, "%s%lld", comma, (long long)job);
		else if (t->key && !strcmp(name, t->key))
			strbuf_addf(&values, "%s%lld", comma, (long long)store_key(job, 1));
		else if (!strcmp(name, "username"))
			strbuf_addf(&values, "%s'%s'", comma, job == MINE ? "alice" : "bob");
		else if (numeric(st, 1))
			strbuf_addf(&values, "%s1", comma);
		else if (!strcmp(name, "times"))
			strbuf_addf(&values, "%s'12345'", comma);
		else
			strbuf_addf(&values, "%s'%s'", comma, mark);
	}
	if (!n)
		fail_msg("table %s does not exist", t->name);
	strbuf_addf(&sql, ") VALUES (%s)", values.buf);
	if (store_exec(s, sql.buf) < 0)
		fail_msg("%s: %s", sql.buf, store_error(s));
}

static void fill(struct store *s)
{
	for (const struct store_table *t = store_tables; t->name; t++) {
		if (!t->job && !t->key)
			continue;
		add_row(s, t, MINE, "[1,2]");
		add_row(s, t, OTHERS, "[3,9]");
	}
	exec(s, "INSERT INTO model (name, enabled, json) VALUES ('[3,9]', 1, '{}')");
}

static struct strbuf listed = STRBUF_INIT;

/* All tables and views, each in a line, before there is a viewer. */
static void list_relations(struct store *s)
{
	_cleanup_stmt_ struct stmt *st = prepare(
		s,
		is_postgres(s)
			? "SELECT relname::text, relkind::text FROM pg_class WHERE relnamespace = "
			  "current_schema()::regnamespace AND relkind IN ('r', 'v')"
			: "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
			  "AND substr(name, 1, 7) <> 'sqlite_'");

	strbuf_reset(&listed);
	while (stmt_step(st) == 1)
		strbuf_addf(&listed, "%s\n", stmt_get_str(st, 0));
}

static int make_store(void **state)
{
	struct store *s = open_store(url, STORE_WRITE);

	if (is_postgres(s)) {
		exec(s, "DROP SCHEMA IF EXISTS viewers CASCADE; CREATE SCHEMA viewers");
		store_close(s);
		static char *where;
		free(where);
		where = xasprintf("%s%coptions=-csearch_path%%3Dviewers", url,
				  strchr(url, '?') ? '&' : '?');
		s = open_store(where, STORE_WRITE);
		*state = where;
	} else {
		*state = (void *)(uintptr_t)url;
		(void)schema_drop(s);
	}
	fill(s);
	list_relations(s);
	store_close(s);
	return 0;
}

static struct store *look_as(const char *where, const char *viewer)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = open_store(where, STORE_READ);
	struct viewer v;

	assert_int_equal(viewer_parse(&v, viewer, &why), 0);
	good(s, store_view_as(s, &v));
	return s;
}

/* ---- what a viewer sees --------------------------------------------------------------------- */

/* Rows, of which none may have another's mark. */
static int64_t rows_of(struct store *s, const char *name)
{
	_cleanup_free_ char *sql = xasprintf("SELECT * FROM %s", name);
	_cleanup_stmt_ struct stmt *st = prepare(s, sql);
	int64_t rows = 0;
	int r;

	for (; (r = stmt_step(st)) == 1; rows++)
		for (int i = 0; i < s->engine->columns(st); i++) {
			size_t n;
			const char *text = stmt_get_text(st, i, &n);

			if (text && (memmem(text, n, "9]", 2) || memmem(text, n, "bob", 3)))
				fail_msg("%s shows '%s' of another", name, text);
		}
	good(s, r);
	return rows;
}

static bool is_of_nobody(const char *name)
{
	static const char *const names[] = {"job_number",  "sample_stream",  "model",
					    "access_user", "access_session", "access_event"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void every_relation(void **state)
{
	struct store *s = look_as(*state, "user:alice:");
	_cleanup_free_ char *names = xstrdup(listed.buf);
	size_t seen = 0;

	for (char *rest = names, *name; (name = strsep(&rest, "\n")) && *name; seen++) {
		_cleanup_free_ char *count = xasprintf("SELECT count(*) FROM %s", name);
		int64_t rows = rows_of(s, name), want = is_of_nobody(name) ? 0 : 1;

		if (!strcmp(name, "schema_version"))
			continue;
		/* series of samples have several values in one chunk; a view may join all */
		if (!strcmp(name, "samples") ? rows != 2 : rows != want)
			fail_msg("%s has %lld rows for its viewer; is it in store_tables?", name,
				 (long long)rows);
		assert_int_equal(number(s, count), rows);
	}
	assert_true(seen > 45);
	store_close(s);
}

static void nobody_sees_nothing(void **state)
{
	static const char *const viewers[] = {"user:carol:", "project:carol:nothing", "job:99:"};

	for (size_t i = 0; i < ARRAY_SIZE(viewers); i++) {
		struct store *s = look_as(*state, viewers[i]);
		_cleanup_free_ char *names = xstrdup(listed.buf);

		for (char *rest = names, *name; (name = strsep(&rest, "\n")) && *name;)
			if (strcmp(name, "schema_version") != 0)
				assert_int_equal(rows_of(s, name), 0);
		store_close(s);
	}
}

static void roles(void **state)
{
	static const struct {
		const char *viewer;
		int64_t jobs;
	} rows[] = {
		{"user:alice:", 1},         {"user:bob:", 1},    {"project:carol:p1", 1},
		{"project:alice:p2,p1", 2}, {"project:bob:", 1}, {"job:7:", 1},
		{"support:s:", 2},          {"admin:a:", 2},
	};
	struct store *s = open_store(*state, STORE_WRITE);

	good(s, store_exec(s, "INSERT INTO job_tag (job, key, value) VALUES (8, 'project', 'p1')"));
	store_close(s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		s = look_as(*state, rows[i].viewer);
		if (number(s, "SELECT count(*) FROM job") != rows[i].jobs ||
		    number(s, "SELECT count(*) FROM jobs") != rows[i].jobs)
			fail_msg("%s sees %lld jobs", rows[i].viewer,
				 (long long)number(s, "SELECT count(*) FROM job"));
		store_close(s);
	}
}

/* ---- statements of users ----------------------------------------------------------------------
 */

static void statements(void **state)
{
	static const char *const bad[] = {
		"SELECT * FROM main.job",
		"SELECT count(*) FROM \"main\".job",
		"SELECT 1 FROM (SELECT 'bob' username) NATURAL JOIN main.job",
		"WITH job AS (SELECT username FROM main.job) SELECT * FROM job",
		"SELECT * FROM sqlite_master",
		"SELECT * FROM sqlite_temp_master",
		"SELECT * FROM temp.sqlite_master",
		"SELECT * FROM pragma_database_list",
		"SELECT * FROM pragma_table_list",
		"PRAGMA database_list",
		"ATTACH ':memory:' AS x",
		"CREATE TEMP TABLE x (y)",
		"DROP VIEW temp.job",
		"DELETE FROM job",
		"SELECT load_extension('x')",
	};
	struct store *s = look_as(*state, "user:alice:");
	int r = s->engine->guard(s, 0, true);

	if (is_postgres(s)) {
		assert_int_equal(r, -EPERM);
		assert_non_null(strstr(store_error(s), "superuser"));
		store_close(s);
		s = look_as(*state, "support:s:");
		assert_int_equal(s->engine->guard(s, 0, true), -EPERM);
		store_close(s);
		return;
	}
	good(s, r);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, bad[i]);

		if (stmt_step(st) >= 0)
			fail_msg("'%s' is allowed", bad[i]);
	}
	assert_int_equal(number(s, "SELECT count(*) FROM processes"), 1);
	assert_int_equal(number(s, "SELECT sum(value) FROM json_each('[1,2]')"), 3);
	assert_int_equal(
		number(s, "SELECT count(*) FROM (SELECT 'bob' \"user\") NATURAL JOIN jobs"), 0);
	store_close(s);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void by_environment(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;
	struct viewer admin = {.role = VIEWER_ADMIN, .user = "a"};

	setenv(VIEWER_ENV, "user:alice:", 1);
	s = open_store(*state, STORE_READ);
	assert_int_equal(number(s, "SELECT count(*) FROM job"), 1);
	/* it cannot be widened */
	assert_int_equal(store_view_as(s, &admin), -EPERM);
	assert_int_equal(number(s, "SELECT count(*) FROM job"), 1);
	store_close(s);
	assert_int_equal(store_open(&s, *state, STORE_WRITE, &why), -EPERM);
	assert_int_equal(store_open(&s, *state, STORE_MANAGE, &why), -EPERM);
	assert_int_equal(store_open(&s, *state, STORE_FOREIGN, &why), -EPERM);
	setenv(VIEWER_ENV, "nonsense", 1);
	assert_int_equal(store_open(&s, *state, STORE_READ, &why), -EINVAL);
	setenv(VIEWER_ENV, "", 1);
	assert_int_equal(store_open(&s, *state, STORE_READ, &why), -EINVAL);
	setenv(VIEWER_ENV, "admin:a:", 1);
	s = open_store(*state, STORE_WRITE);
	store_close(s);
	unsetenv(VIEWER_ENV);
}

static int run(const char *where)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test_setup(every_relation, make_store),
		cmocka_unit_test_setup(nobody_sees_nothing, make_store),
		cmocka_unit_test_setup(roles, make_store),
		cmocka_unit_test_setup(statements, make_store),
		cmocka_unit_test_setup(by_environment, make_store),
	};

	/* what is in memory has one user */
	return strcmp(where, ":memory:") ? cmocka_run_group_tests_name(where, tests, NULL, NULL)
					 : 0;
}

int main(void)
{
	return on_every_store(run);
}
