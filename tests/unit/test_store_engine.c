/*
 * The contract of store.h, the same for every engine: the stores of $PL_STORE_URLS (blanks between
 * them) or, without it, SQLite in memory and in a file. What an engine has for itself is tested
 * where it is the one. tests/cli/store_engine.bats runs this against a PostgreSQL server.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#include "core/text.h"
#include "store/store.h"

static const char *url;

static bool is_postgres(const struct store *s)
{
	return !strcmp(s->engine->name, "PostgreSQL");
}

static struct store *open_store(const char *where, enum store_access access)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	if (store_open(&s, where, access, &why) < 0)
		fail_msg("%s: %s", where, why.buf);
	return s;
}

static void good(struct store *s, int r)
{
	if (r < 0)
		fail_msg("%s: %s", strerror(-r), store_error(s));
}

static void exec(struct store *s, const char *sql)
{
	_cleanup_strbuf_ struct strbuf own = STRBUF_INIT;

	schema_expand(s->engine, sql, &own);
	good(s, store_exec(s, own.buf));
}

static struct stmt *prepare(struct store *s, const char *sql)
{
	struct stmt *st = stmt_prepare(s, sql);

	if (!st)
		fail_msg("%s: %s", sql, store_error(s));
	return st;
}

static int64_t number(struct store *s, const char *sql)
{
	int64_t v = INT64_MIN;

	good(s, store_number(s, sql, &v));
	return v;
}

/* A sentence for a person: one line, and not the empty one. */
static void assert_sentence(struct store *s)
{
	assert_true(s->error.len > 0);
	assert_null(strpbrk(store_error(s), "\r\n"));
}

static const char drop_tables[] = "DROP TABLE IF EXISTS e_one; DROP TABLE IF EXISTS e_two;"
				  "DROP TABLE IF EXISTS e_uni";

static int setup(void **state)
{
	struct store *s = open_store(url, STORE_WRITE);

	exec(s, drop_tables);
	exec(s,
	     "CREATE TABLE e_one (k {id}, n BIGINT, r DOUBLE PRECISION, s TEXT, b {bytes});"
	     "CREATE TABLE e_two (a BIGINT NOT NULL, s TEXT, b {bytes}, PRIMARY KEY (a)) {keyed};"
	     "CREATE TABLE e_uni (k {id}, name TEXT UNIQUE)");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct store *s = *state;

	(void)store_exec(s, drop_tables);
	store_close(s);
	return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

static void add_one(struct stmt *st, int64_t k)
{
	stmt_int(st, 1, k);
	good(st->store, stmt_run(st));
}

static void check_text(struct stmt *st, int i, const void *want, size_t n)
{
	size_t got_n = 0;
	const char *got = stmt_get_text(st, i, &got_n);

	assert_non_null(got);
	assert_int_equal(got_n, n);
	assert_memory_equal(got, want, n);
	assert_int_equal(got[n], 0);
}

static void values_come_back(void **state)
{
	static const int64_t ints[] = {0,         1,         -1,        INT32_MAX,
				       INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20};
	static const double reals[] = {0, -1.5, 1e300, -4.9e-324, 0.1, 1e15, 3, 2.5};
	static const char *const texts[] = {
		"", "a", "\xc3\xa4\xf0\x9f\x9a\xa2", "it's \"q\"; --", "$1", "\t\n\\", "NULL", "x"};
	struct store *s = *state;
	_cleanup_stmt_ struct stmt *in =
		prepare(s, "INSERT INTO e_one (k, n, r, s, b) VALUES ($1, $2, $3, $4, $5)");
	_cleanup_stmt_ struct stmt *out = prepare(s, "SELECT n, r, s, b FROM e_one WHERE k = $1");
	char bytes[256];

	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	for (size_t i = 0; i < ARRAY_SIZE(ints); i++) {
		stmt_int(in, 2, ints[i]);
		s->engine->bind_real(in, 3, reals[i]);
		stmt_str(in, 4, texts[i]);
		stmt_bytes(in, 5, bytes, i * 256 / (ARRAY_SIZE(ints) - 1));
		add_one(in, (int64_t)i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ints); i++) {
		char shown[32];

		stmt_int(out, 1, (int64_t)i);
		assert_int_equal(stmt_step(out), 1);
		assert_int_equal(s->engine->kind(out, 0), STORE_INT);
		assert_true(stmt_get_int(out, 0) == ints[i]);
		snprintf(shown, sizeof(shown), "%lld", (long long)ints[i]);
		check_text(out, 0, shown, strlen(shown));
		assert_int_equal(s->engine->kind(out, 1), STORE_REAL);
		assert_true(s->engine->get_real(out, 1) == reals[i]);
		assert_int_equal(s->engine->kind(out, 2), STORE_TEXT);
		check_text(out, 2, texts[i], strlen(texts[i]));
		assert_int_equal(s->engine->kind(out, 3), STORE_BYTES);
		check_text(out, 3, bytes, i * 256 / (ARRAY_SIZE(ints) - 1));
		assert_int_equal(stmt_step(out), 0);
	}
}

static void nulls(void **state)
{
	struct store *s = *state;
	_cleanup_stmt_ struct stmt *in =
		prepare(s, "INSERT INTO e_one (k, n, r, s, b) VALUES ($1, $2, $3, $4, $5)");
	size_t n = 7;

	for (int i = 2; i <= 5; i++)
		stmt_null(in, i);
	add_one(in, 1);
	stmt_str(in, 4, NULL);
	add_one(in, 2);
	_cleanup_stmt_ struct stmt *out = prepare(s, "SELECT n, r, s, b, k FROM e_one ORDER BY k");
	for (int64_t k = 1; k <= 2; k++) {
		assert_int_equal(stmt_step(out), 1);
		for (int i = 0; i < 4; i++) {
			assert_true(stmt_is_null(out, i));
			assert_true(stmt_get_int(out, i) == 0);
			assert_null(stmt_get_text(out, i, &n));
			assert_int_equal(n, 0);
			assert_string_equal(stmt_get_str(out, i), "");
		}
		assert_true(stmt_get_int(out, 4) == k);
	}
	assert_int_equal(stmt_step(out), 0);
	assert_true(number(s, "SELECT max(n) FROM e_one") == 0);
}

static void large_bytes(void **state)
{
	size_t n = 10000019;
	char *data = malloc(n);
	uint64_t seed = 3;
	struct store *s = *state;

	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = (char)random_next(&seed);
	_cleanup_stmt_ struct stmt *in = prepare(s, "INSERT INTO e_two (a, b) VALUES ($1, $2)");
	stmt_int(in, 1, 1);
	stmt_bytes(in, 2, data, n);
	good(s, stmt_run(in));
	struct bulk *b = s->engine->bulk_open(s, "e_two", "a, b");
	for (int i = 2; i < 4; i++) {
		s->engine->bulk_int(b, i);
		s->engine->bulk_bytes(b, data, n);
		good(s, s->engine->bulk_row(b));
	}
	good(s, s->engine->bulk_flush(b));
	s->engine->bulk_close(b);
	_cleanup_stmt_ struct stmt *out = prepare(s, "SELECT b FROM e_two ORDER BY a");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(stmt_step(out), 1);
		check_text(out, 0, data, n);
	}
	assert_int_equal(stmt_step(out), 0);
	free(data);
}

static void reals_in_bulk(void **state)
{
	static const double reals[] = {0, -0.0, 1, -1.5, 1e300, 5e-324, 0.1, 9007199254740993.0};
	struct store *s = *state;

	exec(s, "CREATE TABLE e_real (k BIGINT, v DOUBLE PRECISION)");
	struct bulk *b = s->engine->bulk_open(s, "e_real", "k,v");
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++) {
		s->engine->bulk_int(b, (int64_t)i);
		s->engine->bulk_real(b, reals[i]);
		good(s, s->engine->bulk_row(b));
	}
	good(s, s->engine->bulk_flush(b));
	s->engine->bulk_close(b);
	_cleanup_stmt_ struct stmt *st = prepare(s, "SELECT v FROM e_real ORDER BY k");
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++) {
		assert_int_equal(stmt_step(st), 1);
		assert_int_equal(s->engine->kind(st, 0), STORE_REAL);
		assert_true(stmt_get_real(st, 0) == reals[i]);
	}
	stmt_reset(st);
	exec(s, "DROP TABLE e_real");
}

/* Lines of migrations that are for one engine alone. */
static void lines_for_one_engine(void **state)
{
	static const char sql[] =
		"a\n--only SQLite\nb -- c\n--end\n--only PostgreSQL\nd {bytes}\n--end\n"
		"--only Other\ne\n";
	struct store *s = *state;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	schema_expand(s->engine, sql, &out);
	if (!strcmp(s->engine->name, "SQLite"))
		assert_text(&out, "a\n\nb \n\n\n");
	else
		assert_text(&out, "a\n\n\nd BYTEA\n\n");
}

static void what_is_calculated(void **state)
{
	struct store *s = *state;

	exec(s, "INSERT INTO e_one (k, n) VALUES (1, 1), (2, 2), (3, 4000000000)");
	_cleanup_stmt_ struct stmt *st =
		prepare(s, "SELECT sum(n), avg(n), count(*), max(k) - min(k), sum(n) * 1000000000, "
			   "count(*) > 2 FROM e_one WHERE k < $1");
	stmt_int(st, 1, 4);
	assert_int_equal(stmt_step(st), 1);
	assert_int_equal(s->engine->kind(st, 0), STORE_INT);
	assert_true(stmt_get_int(st, 0) == 4000000003);
	assert_string_equal(stmt_get_str(st, 0), "4000000003");
	assert_int_equal(s->engine->kind(st, 1), STORE_REAL);
	assert_true(fabs(s->engine->get_real(st, 1) - 4000000003 / 3.0) < 1e-6);
	assert_true(stmt_get_int(st, 2) == 3);
	assert_true(stmt_get_int(st, 3) == 2);
	assert_int_equal(s->engine->kind(st, 4), STORE_INT);
	assert_true(stmt_get_int(st, 4) == 4000000003000000000);
	assert_int_equal(s->engine->kind(st, 5), STORE_INT);
	assert_true(stmt_get_int(st, 5) == 1);
	assert_int_equal(stmt_step(st), 0);
}

/* ---- statements ----------------------------------------------------------------------------- */

static void columns_have_names(void **state)
{
	struct store *s = *state;
	_cleanup_stmt_ struct stmt *st =
		prepare(s, "SELECT k, s AS \"a name\" FROM e_one WHERE k = $1");

	assert_int_equal(s->engine->columns(st), 2);
	stmt_int(st, 1, 12);
	assert_int_equal(stmt_step(st), 0);
	assert_int_equal(s->engine->columns(st), 2);
	assert_string_equal(s->engine->column_name(st, 0), "k");
	assert_string_equal(s->engine->column_name(st, 1), "a name");
	_cleanup_stmt_ struct stmt *in = prepare(s, "INSERT INTO e_one (k) VALUES (7)");
	assert_int_equal(s->engine->columns(in), 0);
	assert_int_equal(stmt_step(in), 0);
}

static void a_statement_is_used_again(void **state)
{
	struct store *s = *state;
	_cleanup_stmt_ struct stmt *in =
		prepare(s, "INSERT INTO e_one (k, n, s) VALUES ($1, $2, $3)");
	_cleanup_stmt_ struct stmt *out = prepare(s, "SELECT n, s FROM e_one WHERE k = $1");
	_cleanup_stmt_ struct stmt *all =
		prepare(s, "SELECT k FROM e_one WHERE k >= $1 ORDER BY k");

	good(s, store_begin(s));
	for (int64_t k = 0; k < 1000; k++) {
		stmt_int(in, 2, k * k);
		if (k % 3 == 0)
			stmt_null(in, 2);
		stmt_str(in, 3, k % 2 ? "odd" : NULL);
		add_one(in, k);
	}
	good(s, store_commit(s));
	for (int64_t k = 999; k >= 0; k--) {
		stmt_int(out, 1, k);
		assert_int_equal(stmt_step(out), 1);
		assert_true(stmt_is_null(out, 0) == (k % 3 == 0));
		assert_true(stmt_get_int(out, 0) == (k % 3 ? k * k : 0));
		assert_string_equal(stmt_get_str(out, 1), k % 2 ? "odd" : "");
		assert_int_equal(stmt_step(out), 0);
	}
	/* given up in the middle, and what is bound stays bound */
	for (int i = 0; i < 3; i++) {
		stmt_int(all, 1, 500);
		for (int64_t k = 500; k < 510; k++) {
			assert_int_equal(stmt_step(all), 1);
			assert_true(stmt_get_int(all, 0) == k);
		}
		stmt_reset(all);
		assert_int_equal(stmt_step(all), 1);
		assert_true(stmt_get_int(all, 0) == 500);
		stmt_reset(all);
	}
	/* without a reset: after the last row it begins anew */
	for (int i = 0; i < 2; i++) {
		int rows = 0;

		while (stmt_step(all) == 1)
			rows++;
		assert_int_equal(rows, 500);
	}
}

/* Three loops in each other, and writing inside; what the outer ones point to stays. */
static void loops_nest(void **state)
{
	struct store *s = *state;
	int64_t pairs = 0, seen = 0;

	exec(s, "INSERT INTO e_one (k, n, s) VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL)");
	struct bulk *b = s->engine->bulk_open(s, "e_two", "a, s");
	for (int64_t a = 0; a < 3000; a++) {
		s->engine->bulk_int(b, a);
		s->engine->bulk_text(b, "text", 4);
		good(s, s->engine->bulk_row(b));
	}
	good(s, s->engine->bulk_flush(b));
	s->engine->bulk_close(b);
	_cleanup_stmt_ struct stmt *outer = prepare(s, "SELECT a, s FROM e_two ORDER BY a");
	_cleanup_stmt_ struct stmt *inner = prepare(s, "SELECT k, s FROM e_one WHERE k <= $1 "
						       "ORDER BY k");
	_cleanup_stmt_ struct stmt *count = prepare(s, "SELECT count(*) FROM e_one WHERE k > $1");
	_cleanup_stmt_ struct stmt *change = prepare(s, "UPDATE e_one SET n = n + $1 WHERE k = $2");
	good(s, store_begin(s));
	while (stmt_step(outer) == 1) {
		const char *text = stmt_get_str(outer, 1);
		int64_t a = stmt_get_int(outer, 0);

		assert_true(a == seen++);
		stmt_int(inner, 1, a % 4);
		while (stmt_step(inner) == 1) {
			int64_t k = stmt_get_int(inner, 0);

			stmt_int(count, 1, k);
			assert_int_equal(stmt_step(count), 1);
			assert_true(stmt_get_int(count, 0) == 3 - k);
			stmt_reset(count);
			stmt_int(change, 1, 1);
			stmt_int(change, 2, k);
			good(s, stmt_run(change));
			assert_true(s->engine->changes(change) == 1);
			assert_true(stmt_get_int(inner, 0) == k);
			pairs++;
		}
		assert_string_equal(text, "text");
		assert_true(stmt_get_int(outer, 0) == a);
	}
	good(s, store_commit(s));
	assert_true(seen == 3000 && pairs == 3000 / 4 * 6);
	assert_true(number(s, "SELECT sum(n) FROM e_one") == 60 + pairs);
}

static void changes_are_counted(void **state)
{
	struct store *s = *state;
	_cleanup_stmt_ struct stmt *in =
		prepare(s, "INSERT INTO e_one (k, n) VALUES (1, 5), (2, 5), (3, 6)");
	_cleanup_stmt_ struct stmt *out = prepare(s, "DELETE FROM e_one WHERE n = $1");

	good(s, stmt_run(in));
	assert_true(s->engine->changes(in) == 3);
	stmt_int(out, 1, 5);
	good(s, stmt_run(out));
	assert_true(s->engine->changes(out) == 2);
	stmt_int(out, 1, 5);
	good(s, stmt_run(out));
	assert_true(s->engine->changes(out) == 0);
}

static void many_statements(void **state)
{
	struct store *s = *state;
	struct stmt *open[100];

	for (int i = 0; i < 1000; i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT %d + CAST($1 AS BIGINT)", i);
		struct stmt *st = prepare(s, sql);
		stmt_int(st, 1, 1);
		assert_int_equal(stmt_step(st), 1);
		assert_true(stmt_get_int(st, 0) == i + 1);
		if (i < 100)
			open[i] = st;
		else
			s->engine->finish(st);
	}
	for (int i = 0; i < 100; i++) {
		assert_true(stmt_get_int(open[i], 0) == i + 1);
		assert_int_equal(stmt_step(open[i]), 0);
		s->engine->finish(open[i]);
	}
	s->engine->finish(NULL);
	if (is_postgres(s))
		assert_true(number(s, "SELECT count(*) FROM pg_prepared_statements") < 20);
}

/* ---- errors and transactions ---------------------------------------------------------------- */

static void wrong_sql(void **state)
{
	static const char *const wrong[] = {"SELECT\n\nFROM WHERE", "SELECT * FROM e_no_such",
					    "SELECT nothing FROM e_one WHERE k = $1",
					    "SELECT 1; SELECT 2"};
	struct store *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, wrong[i]);

		strbuf_reset(&s->error);
		if (!st)
			st = stmt_prepare(s, wrong[i]);
		assert_true(!st || stmt_step(st) < 0);
		assert_sentence(s);
		assert_true(number(s, "SELECT 41 + 1") == 42);
	}
	assert_true(store_exec(s, "DROP TABLE e_no_such") < 0);
	assert_sentence(s);
}

static int add_name(struct stmt *st, int64_t k, const char *name)
{
	stmt_int(st, 1, k);
	stmt_str(st, 2, name);
	return stmt_run(st);
}

static void what_is_there_already(void **state)
{
	struct store *s = *state;
	_cleanup_stmt_ struct stmt *in = prepare(s, "INSERT INTO e_uni (k, name) VALUES ($1, $2)");
	int r;

	good(s, add_name(in, 1, "a"));
	assert_int_equal(add_name(in, 2, "a"), -EEXIST);
	assert_sentence(s);
	assert_int_equal(add_name(in, 1, "b"), -EEXIST);
	good(s, add_name(in, 2, "b"));
	struct bulk *b = s->engine->bulk_open(s, "e_uni", "k,name");
	s->engine->bulk_int(b, 3);
	s->engine->bulk_text(b, "b", 1);
	r = s->engine->bulk_row(b);
	assert_int_equal(r < 0 ? r : s->engine->bulk_flush(b), -EEXIST);
	assert_sentence(s);
	/* the writer goes on */
	s->engine->bulk_int(b, 4);
	s->engine->bulk_null(b);
	good(s, s->engine->bulk_row(b));
	good(s, s->engine->bulk_flush(b));
	s->engine->bulk_close(b);
	assert_true(number(s, "SELECT count(*) FROM e_uni") == 3);
	/* after an error in a transaction all of it can be taken back */
	good(s, store_begin(s));
	good(s, add_name(in, 10, "c"));
	assert_int_equal(add_name(in, 11, "c"), -EEXIST);
	store_rollback(s);
	assert_true(number(s, "SELECT count(*) FROM e_uni") == 3);
	good(s, add_name(in, 10, "c"));
}

static void transactions(void **state)
{
	struct store *s = *state;
	struct bulk *b = s->engine->bulk_open(s, "e_two", "a");

	good(s, store_begin(s));
	exec(s, "INSERT INTO e_one (k) VALUES (1)");
	s->engine->bulk_int(b, 1);
	good(s, s->engine->bulk_row(b));
	good(s, s->engine->bulk_flush(b));
	s->engine->bulk_int(b, 2);
	good(s, s->engine->bulk_row(b));
	store_rollback(s);
	/* nor may a row come later that was not sent before */
	good(s, s->engine->bulk_flush(b));
	assert_true(number(s, "SELECT count(*) FROM e_one") == 0);
	assert_true(number(s, "SELECT count(*) FROM e_two") == 0);
	good(s, store_begin(s));
	exec(s, "INSERT INTO e_one (k) VALUES (1)");
	s->engine->bulk_int(b, 1);
	good(s, s->engine->bulk_row(b));
	good(s, s->engine->bulk_flush(b));
	good(s, store_commit(s));
	s->engine->bulk_close(b);
	assert_true(number(s, "SELECT count(*) FROM e_one") == 1);
	assert_true(number(s, "SELECT count(*) FROM e_two") == 1);
	store_rollback(s);
}

/* A program that dies in a transaction leaves nothing. */
static void a_killed_writer(void **state)
{
	struct store *s = *state;
	int status;

	if (!strcmp(url, ":memory:"))
		return;
	pid_t pid = fork();
	if (pid == 0) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct store *mine = NULL;

		if (store_open(&mine, url, STORE_WRITE, &why) < 0 || store_begin(mine) < 0 ||
		    store_exec(mine, "INSERT INTO e_one (k) VALUES (1)") < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	exec(s, "INSERT INTO e_one (k) VALUES (2)");
	assert_true(number(s, "SELECT min(k) FROM e_one") == 2);
}

static void readers_do_not_write(void **state)
{
	struct store *s = *state;

	if (!strcmp(url, ":memory:"))
		return;
	exec(s, "INSERT INTO e_one (k) VALUES (1)");
	_cleanup_store_ struct store *reader = open_store(url, STORE_READ);
	assert_true(number(reader, "SELECT count(*) FROM e_one") == 1);
	assert_int_equal(store_exec(reader, "INSERT INTO e_one (k) VALUES (2)"), -EROFS);
	assert_sentence(reader);
	assert_int_equal(store_exec(reader, "DROP TABLE e_one"), -EROFS);
	_cleanup_stmt_ struct stmt *st = prepare(reader, "DELETE FROM e_one WHERE k = $1");
	stmt_int(st, 1, 1);
	assert_int_equal(stmt_run(st), -EROFS);
	assert_true(number(reader, "SELECT count(*) FROM e_one") == 1);
}

/* ---- bulk ----------------------------------------------------------------------------------- */

#define ROWS 100000

static void two_tables_at_once(void **state)
{
	struct store *s = *state;
	struct bulk *one = s->engine->bulk_open(s, "e_one", "k, n, s, b");
	struct bulk *two = s->engine->bulk_open(s, "e_two", "a,s");
	char text[32];

	good(s, store_begin(s));
	for (int64_t i = 0; i < ROWS; i++) {
		int n = snprintf(text, sizeof(text), "row %lld", (long long)i);

		s->engine->bulk_int(one, i);
		s->engine->bulk_int(two, -i);
		if (i % 2)
			s->engine->bulk_null(one);
		else
			s->engine->bulk_int(one, INT64_MAX - i);
		s->engine->bulk_text(two, text, (size_t)n);
		s->engine->bulk_text(one, "", 0);
		good(s, s->engine->bulk_row(two));
		s->engine->bulk_bytes(one, &i, sizeof(i));
		good(s, s->engine->bulk_row(one));
		if (i % 25000 == 0) /* statements may come in between */
			assert_true(number(s, "SELECT count(*) FROM e_uni") == 0);
	}
	good(s, s->engine->bulk_flush(one));
	good(s, s->engine->bulk_flush(two));
	good(s, s->engine->bulk_flush(two));
	good(s, store_commit(s));
	s->engine->bulk_close(one);
	s->engine->bulk_close(two);
	assert_true(number(s, "SELECT count(*) FROM e_one") == ROWS);
	assert_true(number(s, "SELECT sum(a) FROM e_two") == -(int64_t)ROWS * (ROWS - 1) / 2);
	assert_true(number(s, "SELECT count(n) FROM e_one") == ROWS / 2);
	_cleanup_stmt_ struct stmt *st =
		prepare(s, "SELECT k, n, e_one.s, e_one.b, e_two.s FROM e_one JOIN e_two ON a = -k "
			   "ORDER BY k");
	for (int64_t i = 0; i < ROWS; i++) {
		int n = snprintf(text, sizeof(text), "row %lld", (long long)i);

		assert_int_equal(stmt_step(st), 1);
		assert_true(stmt_get_int(st, 0) == i);
		assert_true(stmt_is_null(st, 1) == (i % 2 == 1));
		assert_true(stmt_get_int(st, 1) == (i % 2 ? 0 : INT64_MAX - i));
		check_text(st, 2, "", 0);
		check_text(st, 3, &i, sizeof(i));
		check_text(st, 4, text, (size_t)n);
	}
	assert_int_equal(stmt_step(st), 0);
}

static void rows_must_be_complete(void **state)
{
	struct store *s = *state;
	struct bulk *b = s->engine->bulk_open(s, "e_two", "a, s");

	s->engine->bulk_int(b, 1);
	assert_int_equal(s->engine->bulk_row(b), -EINVAL);
	if (is_postgres(s)) {
		assert_sentence(s);
		for (int i = 0; i < 3; i++)
			s->engine->bulk_int(b, 1);
		assert_int_equal(s->engine->bulk_row(b), -EINVAL);
		s->engine->bulk_int(b, 2);
		s->engine->bulk_text(b, "t", 1);
		good(s, s->engine->bulk_row(b));
	}
	s->engine->bulk_close(b);
	s->engine->bulk_close(NULL);
}

/* ---- looking after it ----------------------------------------------------------------------- */

static void care(void **state)
{
	struct store *s = *state;
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	int64_t size = 0;

	exec(s, "DELETE FROM string; DELETE FROM process");
	good(s, s->engine->size(s, &size));
	assert_true(size > 4096);
	good(s, s->engine->check(s, &out));
	assert_string_equal(out.buf, "");
	good(s, s->engine->vacuum(s));
	s->engine->version(s, &out);
	assert_contains(out.buf, s->engine->name);
	assert_null(strchr(out.buf, '\n'));
	if (!is_postgres(s))
		return;
	assert_int_equal(s->engine->backup(s, "copy"), -ENOTSUP);
	assert_contains(store_error(s), "pg_dump");
	strbuf_reset(&out);
	exec(s, "INSERT INTO string (id, bytes) VALUES (4294967296, 'x'), (4294967297, 'y')");
	good(s, s->engine->check(s, &out));
	assert_string_equal(out.buf, "string: 2 rows of jobs that are not there\n");
	exec(s, "DELETE FROM string; ALTER TABLE tree RENAME TO other");
	strbuf_reset(&out);
	int r = s->engine->check(s, &out);
	exec(s, "ALTER TABLE other RENAME TO tree");
	good(s, r);
	assert_contains(out.buf, "tree: PostgreSQL: relation \"tree\" does not exist\n");
}

/* ---- PostgreSQL for itself ------------------------------------------------------------------ */

static void check_value(struct store *s, const char *expression, enum store_kind kind,
			const char *text, double real)
{
	_cleanup_free_ char *sql = xasprintf("SELECT %s", expression);

	/* with a date beside it the whole result comes as text */
	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *more = xasprintf("%s%s", sql, i ? ", DATE '2026-11-15'" : "");
		_cleanup_stmt_ struct stmt *st = prepare(s, more);

		assert_int_equal(stmt_step(st), 1);
		if (s->engine->kind(st, 0) != kind || strcmp(stmt_get_str(st, 0), text) != 0)
			fail_msg("%s: got kind %d, '%s', want %d, '%s'", more,
				 s->engine->kind(st, 0), stmt_get_str(st, 0), kind, text);
		assert_true(s->engine->get_real(st, 0) == real);
		if (i) {
			assert_int_equal(s->engine->kind(st, 1), STORE_TEXT);
			assert_string_equal(stmt_get_str(st, 1), "2026-11-15");
		}
	}
}

static void types_of_postgres(void **state)
{
	struct store *s = *state;

	if (!is_postgres(s))
		return;
	check_value(s, "true", STORE_INT, "1", 1);
	check_value(s, "false", STORE_INT, "0", 0);
	check_value(s, "CAST(-7 AS smallint)", STORE_INT, "-7", -7);
	check_value(s, "-70000", STORE_INT, "-70000", -70000);
	check_value(s, "CAST(1.5 AS real)", STORE_REAL, "1.5", 1.5);
	check_value(s, "CAST(0.1 AS double precision)", STORE_REAL, "0.1", 0.1);
	check_value(s, "CAST('x' AS name)", STORE_TEXT, "x", 0);
	check_value(s, "CAST('x' AS char(1))", STORE_TEXT, "x", 0);
	check_value(s, "CAST('12abc' AS varchar)", STORE_TEXT, "12abc", 12);
	check_value(s, "'unknown'", STORE_TEXT, "unknown", 0);
	check_value(s, "CAST(NULL AS date)", STORE_NULL, "", 0);
	check_value(s, "NULL", STORE_NULL, "", 0);
	check_value(s, "CAST('ab' AS bytea)", STORE_BYTES, "ab", 0);
	check_value(s, "ARRAY[1,2]", STORE_TEXT, "{1,2}", 0);
	check_value(s, "CAST(4294967295 AS oid)", STORE_INT, "4294967295", 4294967295.0);
	check_value(s, "0.0", STORE_INT, "0", 0);
	check_value(s, "-2.000", STORE_INT, "-2", -2);
	check_value(s, "-0.5", STORE_REAL, "-0.5", -0.5);
	check_value(s, "12345678.00000001", STORE_REAL, "12345678.00000001", 12345678.00000001);
	check_value(s, "0.000000000123", STORE_REAL, "1.23e-10", 1.23e-10);
	check_value(s, "CAST(10000 AS numeric)", STORE_INT, "10000", 10000);
	check_value(s, "CAST(100000000 AS numeric)", STORE_INT, "100000000", 1e8);
	check_value(s, "CAST(9223372036854775807 AS numeric)", STORE_INT, "9223372036854775807",
		    0x1p63);
	check_value(s, "CAST(-9223372036854775808 AS numeric)", STORE_INT, "-9223372036854775808",
		    -0x1p63);
	check_value(s, "CAST(9223372036854775808 AS numeric)", STORE_REAL, "9.223372036854776e+18",
		    0x1p63);
	check_value(s, "CAST('1e30' AS numeric)", STORE_REAL, "1e+30", 1e30);
	check_value(s, "CAST('-1e-30' AS numeric)", STORE_REAL, "-1e-30", -1e-30);
	_cleanup_stmt_ struct stmt *st = prepare(s, "SELECT CAST('NaN' AS numeric), now(), "
						    "CAST('\\x00ff10' AS bytea)");
	assert_int_equal(stmt_step(st), 1);
	assert_true(isnan(s->engine->get_real(st, 0)));
	assert_true(stmt_get_int(st, 0) == 0);
	check_text(st, 2, "\x00\xff\x10", 3);
}

/* The same parameter with another type, a null of a type that nobody named. */
static void parameters_of_postgres(void **state)
{
	struct store *s = *state;

	if (!is_postgres(s))
		return;
	exec(s, "CREATE TEMPORARY TABLE e_small (k integer, t text)");
	_cleanup_stmt_ struct stmt *in = prepare(s, "INSERT INTO e_small (k, t) VALUES ($1, $2)");
	stmt_null(in, 1);
	stmt_null(in, 2);
	good(s, stmt_run(in));
	stmt_int(in, 1, 5);
	stmt_str(in, 2, "five");
	good(s, stmt_run(in));
	stmt_null(in, 1);
	good(s, stmt_run(in));
	assert_true(number(s, "SELECT count(k) FROM e_small") == 1);
	_cleanup_stmt_ struct stmt *any = prepare(s, "SELECT $1");
	stmt_int(any, 1, 5);
	assert_int_equal(stmt_step(any), 1);
	assert_int_equal(s->engine->kind(any, 0), STORE_INT);
	assert_int_equal(stmt_step(any), 0);
	stmt_str(any, 1, "text");
	assert_int_equal(stmt_step(any), 1);
	assert_string_equal(stmt_get_str(any, 0), "text");
	stmt_reset(any);
	/* a table that changes under a statement: refused once at most */
	_cleanup_stmt_ struct stmt *all = prepare(s, "SELECT * FROM e_small");
	assert_int_equal(stmt_step(all), 1);
	stmt_reset(all);
	exec(s, "ALTER TABLE e_small ADD COLUMN more integer");
	(void)stmt_step(all);
	stmt_reset(all);
	assert_int_equal(stmt_step(all), 1);
	assert_int_equal(s->engine->columns(all), 3);
}

static void errors_of_postgres(void **state)
{
	struct store *s = *state;

	if (!is_postgres(s))
		return;
	_cleanup_stmt_ struct stmt *in = prepare(s, "INSERT INTO e_uni (k, name) VALUES ($1, $2)");
	good(s, add_name(in, 1, "a"));
	good(s, store_begin(s));
	assert_int_equal(add_name(in, 1, "a"), -EEXIST);
	/* what is committed after an error is lost: that must not look like success */
	assert_true(store_commit(s) < 0);
	assert_sentence(s);
	store_rollback(s);
	/* an error behind rows, while another statement runs */
	_cleanup_stmt_ struct stmt *late =
		prepare(s, "SELECT 10 / (3 - g) FROM generate_series(1, 9) g");
	assert_int_equal(stmt_step(late), 1);
	assert_true(number(s, "SELECT 7") == 7);
	assert_int_equal(stmt_step(late), 1);
	assert_true(stmt_step(late) < 0);
	assert_string_equal(store_error(s), "PostgreSQL: division by zero");
	/* data for a COPY is not asked for, nor is the connection lost */
	assert_int_equal(store_exec(s, "COPY e_uni FROM STDIN"), -EINVAL);
	assert_int_equal(store_exec(s, "COPY e_uni TO STDOUT"), -EINVAL);
	_cleanup_stmt_ struct stmt *copy = stmt_prepare(s, "COPY e_uni TO STDOUT");
	assert_true(!copy || stmt_step(copy) < 0);
	assert_true(number(s, "SELECT 8") == 8);
	/* text that is none */
	assert_true(add_name(in, 5, "\xff") < 0);
	assert_sentence(s);
	struct bulk *b = s->engine->bulk_open(s, "e_no_such", "a");
	s->engine->bulk_int(b, 1);
	good(s, s->engine->bulk_row(b));
	assert_int_equal(s->engine->bulk_flush(b), -ENOENT);
	assert_contains(store_error(s), "does not exist");
	s->engine->bulk_close(b);
}

static void a_lost_connection(void **state)
{
	struct store *s = *state;

	if (!is_postgres(s))
		return;
	struct store *mine = open_store(url, STORE_WRITE);
	struct bulk *b = mine->engine->bulk_open(mine, "e_two", "a");
	_cleanup_stmt_ struct stmt *end =
		prepare(s, "SELECT pg_terminate_backend(CAST($1 AS integer))");
	struct stmt *rows =
		prepare(mine, "SELECT g, repeat('x', 1000) FROM generate_series(1, 100000) g");
	int r;

	stmt_int(end, 1, number(mine, "SELECT pg_backend_pid()"));
	assert_int_equal(stmt_step(rows), 1);
	good(s, stmt_run(end));
	while ((r = stmt_step(rows)) == 1)
		;
	assert_int_equal(r, -EPIPE);
	assert_sentence(mine);
	assert_contains(store_error(mine), "is lost");
	assert_int_equal(store_exec(mine, "SELECT 1"), -EPIPE);
	assert_int_equal(store_begin(mine), -EPIPE);
	assert_int_equal(stmt_step(rows), -EPIPE);
	mine->engine->bulk_int(b, 1);
	good(mine, mine->engine->bulk_row(b));
	assert_int_equal(mine->engine->bulk_flush(b), -EPIPE);
	mine->engine->bulk_close(b);
	mine->engine->finish(rows);
	store_close(mine);
}

static void urls_without_their_password(void **state)
{
	static const char *const wrong[] = {
		"postgresql://u:s3cret@/db?host=/no/such/directory",
		"postgresql://u:s3cr%zz@localhost/db",
		"postgresql://u:s3cret@localhost/db?nonsense=1",
		"postgresql://u:x@s3cret@localhost/db",
		"postgresql://u:s3cret@[localhost/db",
		"postgres://u@/db?host=/no/such/directory&password=s3cret",
	};
	struct store *s = *state;

	if (!is_postgres(s))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct store *none = NULL;

		assert_true(store_open(&none, wrong[i], STORE_READ, &why) < 0);
		assert_null(none);
		assert_true(why.len > 20);
		if (strstr(why.buf, "s3cr") || strchr(why.buf, '\n'))
			fail_msg("%s: %s", wrong[i], why.buf);
		if (i == 0)
			assert_contains(why.buf, "cannot connect to postgresql://u@/db?host=/no");
	}
}

/* plimsoll_text() knows UTF-8 as we do. */
static void bytes_as_text(void **state)
{
	static const char *const pieces[] = {"a",
					     "\\",
					     "\x7f",
					     "\xc2\x80",
					     "\xdf\xbf",
					     "\xe0\xa0\x80",
					     "\xed\x9f\xbf",
					     "\xef\xbf\xbf",
					     "\xf0\x90\x80\x80",
					     "\xf4\x8f\xbf\xbf",
					     "\xed\xa0\x80",
					     "\xc0\x80",
					     "\xff",
					     "\xf4\x90\x80\x80",
					     "\xe0\x80\x80",
					     "\x80",
					     "\xf8"};
	struct store *s = *state;
	uint64_t seed = 11;
	int as_is = 0;

	if (!is_postgres(s))
		return;
	_cleanup_stmt_ struct stmt *st = prepare(s, "SELECT plimsoll_text($1)");
	for (int i = 0; i < 3000; i++) {
		_cleanup_strbuf_ struct strbuf b = STRBUF_INIT, want = STRBUF_INIT;

		for (uint64_t n = random_next(&seed) % 4; n < 4; n++)
			strbuf_addstr(&b, pieces[random_next(&seed) % ARRAY_SIZE(pieces) * 10 /
						 (i % 2 ? 10 : 17)]);
		if (i % 5 == 0) /* any byte anywhere, NUL too */
			b.buf[random_next(&seed) % (b.len + 1)] = (char)random_next(&seed);
		bool valid = utf8_valid(b.buf, b.len) && !memchr(b.buf, 0, b.len);
		as_is += valid;
		for (size_t k = 0; k < b.len; k++) {
			unsigned char c = (unsigned char)b.buf[k];

			if (!valid && (c == 0 || c >= 0x80))
				strbuf_addf(&want, "\\%03o", c);
			else
				strbuf_addf(&want, !valid && c == '\\' ? "\\\\" : "%c", c);
		}
		stmt_bytes(st, 1, b.buf, b.len);
		assert_int_equal(stmt_step(st), 1);
		check_text(st, 0, want.buf, want.len);
		assert_int_equal(stmt_step(st), 0);
	}
	assert_true(as_is > 500 && as_is < 2900);
}

/* ---- several at once ------------------------------------------------------------------------ */

/* Programs that find an empty store at the same moment: each gets a complete one. */
static void made_once(const char *where)
{
	pid_t pids[6];
	int ready[2], failed = 0;
	char byte;

	assert_int_equal(pipe(ready), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
			struct store *mine = NULL;

			close(ready[1]);
			(void)!read(ready[0], &byte, 1);
			int r = store_open(&mine, where, STORE_WRITE, &why);
			if (r < 0)
				fprintf(stderr, "%d: %s\n", r, why.buf);
			_exit(r < 0);
		}
	}
	close(ready[0]);
	close(ready[1]);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		failed += status != 0;
	}
	assert_int_equal(failed, 0);
	_cleanup_store_ struct store *s = open_store(where, STORE_READ);
	assert_true(number(s, "SELECT count(*) FROM schema_version") == schema_newest());
}

static void an_empty_store_is_made_once(void **state)
{
	struct store *s = *state;

	if (!is_postgres(s)) {
		char *dir = scratch_make();
		_cleanup_free_ char *path = xasprintf("%s/new/store.db", dir);

		made_once(path);
		scratch_remove(dir);
		return;
	}
	_cleanup_free_ char *where = xasprintf("%s%coptions=-csearch_path%%3De_schema", url,
					       strchr(url, '?') ? '&' : '?');
	exec(s, "DROP SCHEMA IF EXISTS e_schema CASCADE; CREATE SCHEMA e_schema");
	made_once(where);
	exec(s, "DROP SCHEMA e_schema CASCADE");
}

/* ---- all of it for every store -------------------------------------------------------------- */

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static int run(const char *where)
{
	const struct CMUnitTest tests[] = {
		TEST(values_come_back),
		TEST(nulls),
		TEST(large_bytes),
		TEST(reals_in_bulk),
		TEST(lines_for_one_engine),
		TEST(what_is_calculated),
		TEST(columns_have_names),
		TEST(a_statement_is_used_again),
		TEST(loops_nest),
		TEST(changes_are_counted),
		TEST(many_statements),
		TEST(wrong_sql),
		TEST(what_is_there_already),
		TEST(transactions),
		TEST(a_killed_writer),
		TEST(readers_do_not_write),
		TEST(two_tables_at_once),
		TEST(rows_must_be_complete),
		TEST(care),
		TEST(types_of_postgres),
		TEST(parameters_of_postgres),
		TEST(errors_of_postgres),
		TEST(a_lost_connection),
		TEST(urls_without_their_password),
		TEST(bytes_as_text),
		TEST(an_empty_store_is_made_once),
	};

	url = where;
	return cmocka_run_group_tests_name(where, tests, NULL, NULL);
}

int main(void)
{
	const char *given = getenv("PL_STORE_URLS");
	int failed = 0;

	if (!given || !*given) {
		char *dir = scratch_make();
		_cleanup_free_ char *path = xasprintf("%s/store.db", dir);

		failed = run(":memory:") + run(path);
		scratch_remove(dir);
		return failed;
	}
	_cleanup_free_ char *urls = xstrdup(given);
	for (char *rest = urls, *one; (one = strsep(&rest, " "));)
		if (*one)
			failed += run(one);
	return failed;
}
