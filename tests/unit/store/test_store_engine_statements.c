/*
 * The contract of store.h for every engine: values that go in come out again, and statements that
 * are used again, in each other and in great number.
 */
#include "store_engine.h"

#include <math.h>

/* ---- values --------------------------------------------------------------------------------- */

static void add_one(struct stmt *st, int64_t k)
{
	stmt_int(st, 1, k);
	good(st->store, stmt_run(st));
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
		stmt_real(in, 3, reals[i]);
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
		bulk_value(b, db_int(i));
		bulk_value(b, db_bytes(data, n));
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
		bulk_value(b, db_int((int64_t)i));
		bulk_value(b, db_real(reals[i]));
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
		bulk_value(b, db_int(a));
		bulk_value(b, db_text("text", 4));
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

static int run(const char *where)
{
	const struct CMUnitTest tests[] = {
		TEST(values_come_back),     TEST(nulls),
		TEST(large_bytes),          TEST(reals_in_bulk),
		TEST(lines_for_one_engine), TEST(what_is_calculated),
		TEST(columns_have_names),   TEST(a_statement_is_used_again),
		TEST(loops_nest),           TEST(changes_are_counted),
		TEST(many_statements),
	};

	return cmocka_run_group_tests_name(where, tests, NULL, NULL);
}

int main(void)
{
	return on_every_store(run);
}
