/*
 * The contract of store.h for every engine: errors and transactions, many rows at once, several
 * programs at once, and looking after a store.
 */
#include "store_engine.h"

#include <sys/wait.h>

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
	bulk_value(b, db_int(3));
	bulk_value(b, db_text("b", 1));
	r = s->engine->bulk_row(b);
	assert_int_equal(r < 0 ? r : s->engine->bulk_flush(b), -EEXIST);
	assert_sentence(s);
	/* the writer goes on */
	bulk_value(b, db_int(4));
	bulk_value(b, db_null());
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
	bulk_value(b, db_int(1));
	good(s, s->engine->bulk_row(b));
	good(s, s->engine->bulk_flush(b));
	bulk_value(b, db_int(2));
	good(s, s->engine->bulk_row(b));
	store_rollback(s);
	/* nor may a row come later that was not sent before */
	good(s, s->engine->bulk_flush(b));
	assert_true(number(s, "SELECT count(*) FROM e_one") == 0);
	assert_true(number(s, "SELECT count(*) FROM e_two") == 0);
	good(s, store_begin(s));
	exec(s, "INSERT INTO e_one (k) VALUES (1)");
	bulk_value(b, db_int(1));
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

		bulk_value(one, db_int(i));
		bulk_value(two, db_int(-i));
		if (i % 2)
			bulk_value(one, db_null());
		else
			bulk_value(one, db_int(INT64_MAX - i));
		bulk_value(two, db_text(text, (size_t)n));
		bulk_value(one, db_text("", 0));
		good(s, s->engine->bulk_row(two));
		bulk_value(one, db_bytes(&i, sizeof(i)));
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

	bulk_value(b, db_int(1));
	assert_int_equal(s->engine->bulk_row(b), -EINVAL);
	if (is_postgres(s)) {
		assert_sentence(s);
		for (int i = 0; i < 3; i++)
			bulk_value(b, db_int(1));
		assert_int_equal(s->engine->bulk_row(b), -EINVAL);
		bulk_value(b, db_int(2));
		bulk_value(b, db_text("t", 1));
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
	assert_string_equal(out.buf, "string: 2 rows of jobs that do not exist\n");
	exec(s, "DELETE FROM string; ALTER TABLE tree RENAME TO other");
	strbuf_reset(&out);
	int r = s->engine->check(s, &out);
	exec(s, "ALTER TABLE other RENAME TO tree");
	good(s, r);
	assert_contains(out.buf, "tree: PostgreSQL: relation \"tree\" does not exist\n");
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
	assert_true(number(s, "SELECT max(number) FROM schema_version") == schema_newest());
}

/* The log beside a file is found by its name: what was committed must be in the file when that is
 * moved. */
static void moved_while_it_is_open(void **state)
{
	const struct store *own = *state;

	if (is_postgres(own) || !strcmp(own->where, ":memory:"))
		return;
	_cleanup_free_ char *path = xasprintf("%s.open", own->where);
	_cleanup_free_ char *to = xasprintf("%s.moved", own->where);
	struct store *s = open_store(path, STORE_WRITE);

	exec(s, "CREATE TABLE e_one (k {id}); INSERT INTO e_one VALUES (1); "
		"INSERT INTO e_one VALUES (2)");
	assert_int_equal(rename(path, to), 0);
	store_close(s);
	s = open_store(path, STORE_WRITE);
	assert_true(store_exec(s, "SELECT * FROM e_one") < 0);
	store_close(s);
	s = open_store(to, STORE_MANAGE);
	assert_int_equal(number(s, "SELECT count(*) FROM e_one"), 2);
	store_close(s);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(to), 0);
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

static int run(const char *where)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_sql),
		TEST(what_is_there_already),
		TEST(transactions),
		TEST(a_killed_writer),
		TEST(readers_do_not_write),
		TEST(two_tables_at_once),
		TEST(rows_must_be_complete),
		TEST(care),
		TEST(moved_while_it_is_open),
		TEST(an_empty_store_is_made_once),
	};

	return cmocka_run_group_tests_name(where, tests, NULL, NULL);
}

int main(void)
{
	return on_every_store(run);
}
