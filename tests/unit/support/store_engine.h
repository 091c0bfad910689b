/*
 * Tests of the contract of store.h, the same for every engine: the stores of $PL_STORE_URLS (blanks
 * between them) or, without it, SQLite in memory and in a file. tests/cli/store_engine.bats runs
 * them against a PostgreSQL server.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "store/store.h"

static const char *url;

static inline bool is_postgres(const struct store *s)
{
	return !strcmp(s->engine->name, "PostgreSQL");
}

static inline struct store *open_store(const char *where, enum store_access access)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	if (store_open(&s, where, access, &why) < 0)
		fail_msg("%s: %s", where, why.buf);
	return s;
}

static inline void good(struct store *s, int r)
{
	if (r < 0)
		fail_msg("%s: %s", strerror(-r), store_error(s));
}

static inline void exec(struct store *s, const char *sql)
{
	_cleanup_strbuf_ struct strbuf own = STRBUF_INIT;

	schema_expand(s->engine, sql, &own);
	good(s, store_exec(s, own.buf));
}

static inline struct stmt *prepare(struct store *s, const char *sql)
{
	struct stmt *st = stmt_prepare(s, sql);

	if (!st)
		fail_msg("%s: %s", sql, store_error(s));
	return st;
}

static inline int64_t number(struct store *s, const char *sql)
{
	int64_t v = INT64_MIN;

	good(s, store_number(s, sql, &v));
	return v;
}

/* A sentence for a person: one line, and not the empty one. */
static inline void assert_sentence(struct store *s)
{
	assert_true(s->error.len > 0);
	assert_null(strpbrk(store_error(s), "\r\n"));
}

static const char drop_tables[] = "DROP TABLE IF EXISTS e_one; DROP TABLE IF EXISTS e_two;"
				  "DROP TABLE IF EXISTS e_uni";

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct store *s = *state;

	(void)store_exec(s, drop_tables);
	store_close(s);
	return 0;
}

static inline void check_text(struct stmt *st, int i, const void *want, size_t n)
{
	size_t got_n = 0;
	const char *got = stmt_get_text(st, i, &got_n);

	assert_non_null(got);
	assert_int_equal(got_n, n);
	assert_memory_equal(got, want, n);
	assert_int_equal(got[n], 0);
}

static inline int add_name(struct stmt *st, int64_t k, const char *name)
{
	stmt_int(st, 1, k);
	stmt_str(st, 2, name);
	return stmt_run(st);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* Runs a group of tests on one store after the other: how many tests failed. */
static inline int on_every_store(int (*run)(const char *where))
{
	const char *given = getenv("PL_STORE_URLS");
	int failed = 0;

	if (!given || !*given) {
		char *dir = scratch_make();
		_cleanup_free_ char *path = xasprintf("%s/store.db", dir);

		url = ":memory:";
		failed = run(url);
		url = path;
		failed += run(url);
		scratch_remove(dir);
		return failed;
	}
	_cleanup_free_ char *urls = xstrdup(given);
	for (char *rest = urls, *one; (one = strsep(&rest, " "));) {
		if (!*one)
			continue;
		url = one;
		failed += run(url);
	}
	return failed;
}
