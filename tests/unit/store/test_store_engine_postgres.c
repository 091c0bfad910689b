/*
 * What PostgreSQL has for itself behind the contract of store.h: its types, its errors, lost
 * connections, passwords in URLs. On other engines there is nothing to test.
 */
#include "store_engine.h"

#include <math.h>

#include "core/text/text.h"

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
	bulk_value(b, db_int(1));
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
	bulk_value(b, db_int(1));
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
			assert_contains(why.buf,
					"cannot connect to postgresql://u:***@/db?host=/no");
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

static int run(const char *where)
{
	const struct CMUnitTest tests[] = {
		TEST(types_of_postgres),           TEST(parameters_of_postgres),
		TEST(errors_of_postgres),          TEST(a_lost_connection),
		TEST(urls_without_their_password), TEST(bytes_as_text),
	};

	return cmocka_run_group_tests_name(where, tests, NULL, NULL);
}

int main(void)
{
	return on_every_store(run);
}
