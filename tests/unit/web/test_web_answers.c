/* Addresses, sessions and kept answers of the web server. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "web/access/access.h"
#include "web/answers/answer_cache.h"
#include "web/handlers/moved.h"
#include "web/routes.h"
#include "web/http/target.h"

/* ---- addresses --------------------------------------------------------------------------------
 */

static int parse(struct target *t, const char *text, const char *base)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	return target_parse(t, text, base, &why);
}

static void addresses_are_decoded(void **state)
{
	_cleanup_target_ struct target t;

	(void)state;
	assert_int_equal(
		parse(&t, "/x/api/v1/jobs/caf%C3%A9%20a?where=a+%3D+b&flag&empty=&where=%0A", "/x"),
		0);
	assert_int_equal(t.segment_count, 4);
	assert_string_equal(t.segments[3], "caf\xc3\xa9 a");
	assert_int_equal(t.pair_count, 4);
	assert_string_equal(t.pairs[0].value, "a = b");
	assert_null(t.pairs[1].value);
	assert_string_equal(t.pairs[2].value, "");
	assert_string_equal(t.pairs[3].value, "\n");
	assert_string_equal(target_value(&t, "flag"), "");
	assert_null(target_value(&t, "none"));
}

static void strange_addresses_are_refused(void **state)
{
	static const char *const bad[] = {
		"",       "x",       "*",       "http://h/", "//",      "/a//b",   "/.",
		"/a/..",  "/%2e%2e", "/a%2fb",  "/%",        "/%4",     "/%zz",    "/%00",
		"/a%0ab", "/\xff",   "/%c0%af", "/?a=%",     "/?%01=b", "/?a=%ff",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct target t;

		if (parse(&t, bad[i], "") != -EINVAL)
			fail_msg("'%s' was not refused", bad[i]);
	}
}

static void other_paths_are_not_below_ours(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(parse(&t, "/y/", "/x"), -ENOENT);
	assert_int_equal(parse(&t, "/xy", "/x"), -ENOENT);
	assert_int_equal(parse(&t, "/x", "/x"), 0);
	assert_int_equal(t.segment_count, 0);
	target_release(&t);
	assert_int_equal(parse(&t, "/jobs/", ""), 0);
	assert_int_equal(t.segment_count, 1);
	assert_true(t.slash);
	target_release(&t);
}

static void old_pages_lead_to_ours(void **state)
{
	_cleanup_free_ char *none = NULL;
	struct target t;

	(void)state;
	assert_int_equal(parse(&t, "/nothing/of/it", ""), 0);
	none = moved_page(&t);
	assert_null(none);
	target_release(&t);
}

/* ---- routes -----------------------------------------------------------------------------------
 */

static void rows_are_complete(void **state)
{
	(void)state;
	for (const struct web_route *r = web_routes; r->pattern; r++) {
		assert_true(r->handler || (r->flags & WEB_HTML));
		assert_true(r->help && *r->help && r->help[strlen(r->help) - 1] != '.');
		assert_false((r->flags & WEB_KEEP) && r->method != WEB_GET);
		assert_false((r->flags & WEB_OPEN) && (r->flags & WEB_WRITE));
		for (const struct web_route *o = web_routes; o < r; o++)
			assert_false(o->method == r->method && !strcmp(o->pattern, r->pattern));
		for (const struct web_param_row *p = r->params; p && p->name; p++) {
			assert_true(p->help && *p->help);
			assert_false(route_has_in_path(r, p->name) && p->type != PARAM_NAME);
		}
	}
}

static void parameters_are_checked(void **state)
{
	static const struct {
		const char *target;
		bool good;
	} cases[] = {
		{"/api/v1/jobs/a/tree?depth=2&all", true},
		{"/api/v1/jobs/a/tree?depth=-2", false},
		{"/api/v1/jobs/a/tree?depth=1&depth=1", false},
		{"/api/v1/jobs/a/tree?all=perhaps", false},
		{"/api/v1/jobs/a/tree?db=x", false},
		{"/api/v1/jobs/a/tree?job=b", false},
		{"/api/v1/jobs/--db=x/tree", false},
		{"/api/v1/compare?a=1&a=2&b=3", true},
		{"/api/v1/compare?a=-x", false},
		{"/api/v1/compare?a=", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf allow = STRBUF_INIT, why = STRBUF_INIT;
		struct target t;

		assert_int_equal(parse(&t, cases[i].target, ""), 0);
		struct web_request q = {.route = route_find(&t, WEB_GET, &allow)};
		assert_non_null(q.route);
		int r = route_take_params(&q, &t, &why);
		if ((r == 0) != cases[i].good)
			fail_msg("%s: %d %s", cases[i].target, r, why.buf);
		route_release_params(&q);
		target_release(&t);
	}
}

/* ---- sessions ---------------------------------------------------------------------------------
 */

static void a_link_opens_one_session(void **state)
{
	struct access a;
	char link[ACCESS_TOKEN_SIZE], session[ACCESS_TOKEN_SIZE], csrf[ACCESS_TOKEN_SIZE],
		again[ACCESS_TOKEN_SIZE], user[VIEWER_NAME_MAX + 1];

	(void)state;
	assert_int_equal(access_init(&a), 0);
	assert_int_equal(access_new_link(&a, link), 0);
	assert_int_equal(strlen(link), 32);
	assert_false(access_redeem(&a, "", session));
	assert_false(access_redeem(&a, "00000000000000000000000000000000", session));
	assert_true(access_redeem(&a, link, session));
	assert_false(access_redeem(&a, link, again));
	_cleanup_free_ char *cookie = xasprintf("x=1; name=%s", session);
	assert_true(access_session(&a, cookie, "name", csrf, user));
	assert_int_equal(strlen(csrf), 32);
	assert_false(access_session(&a, cookie, "nam", csrf, user));
	assert_false(access_session(&a, NULL, "name", csrf, user));
	assert_false(access_session(&a, "name=", "name", csrf, user));
	cookie[strlen(cookie) - 1] ^= 1;
	assert_false(access_session(&a, cookie, "name", csrf, user));
	_cleanup_free_ char *bearer = xasprintf("Bearer %s", a.script);
	assert_true(access_is_script(&a, bearer));
	assert_false(access_is_script(&a, "Bearer "));
	assert_false(access_is_script(&a, a.script));
	assert_false(access_is_script(&a, NULL));
}

static void sessions_and_links_are_bounded(void **state)
{
	struct access a;
	char first[ACCESS_TOKEN_SIZE], link[ACCESS_TOKEN_SIZE], session[ACCESS_TOKEN_SIZE];

	(void)state;
	assert_int_equal(access_init(&a), 0);
	assert_int_equal(access_new_link(&a, first), 0);
	for (int i = 0; i < ACCESS_LINKS_MAX; i++)
		assert_int_equal(access_new_link(&a, link), 0);
	assert_false(access_redeem(&a, first, session));
	assert_true(access_redeem(&a, link, session));
	for (int i = 0; i < 3 * ACCESS_SESSIONS_MAX; i++) {
		assert_int_equal(access_new_link(&a, link), 0);
		assert_true(access_redeem(&a, link, session));
	}
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static struct sent_answer *answer_of(size_t size)
{
	struct web_answer a = WEB_ANSWER_INIT;

	for (size_t i = 0; i < size; i++)
		strbuf_addch(&a.body, 'x');
	return sent_answer_new(&a);
}

static void key_of(struct strbuf *key, int i)
{
	strbuf_reset(key);
	strbuf_addf(key, "key %d", i);
}

static void answers_are_kept_for_one_version(void **state)
{
	_cleanup_strbuf_ struct strbuf key = STRBUF_INIT;
	struct answer_cache c;
	struct sent_answer *s = answer_of(100), *found;

	(void)state;
	answer_cache_init(&c, 1 << 20);
	key_of(&key, 1);
	answer_cache_add(&c, &key, 7, s);
	found = answer_cache_find(&c, &key, 7);
	assert_ptr_equal(found, s);
	sent_answer_unref(found);
	assert_null(answer_cache_find(&c, &key, 8));
	assert_null(answer_cache_find(&c, &key, 7));
	assert_int_equal(c.bytes, 0);
	sent_answer_unref(s);
	answer_cache_release(&c);
}

static void the_cache_is_bounded(void **state)
{
	_cleanup_strbuf_ struct strbuf key = STRBUF_INIT;
	struct answer_cache c;

	(void)state;
	answer_cache_init(&c, 100000);
	for (int i = 0; i < 1000; i++) {
		struct sent_answer *s = answer_of(1000);

		key_of(&key, i);
		answer_cache_add(&c, &key, 1, s);
		sent_answer_unref(s);
		assert_true(c.bytes <= 100000);
	}
	struct sent_answer *large = answer_of(60000);
	answer_cache_add(&c, &key, 1, large);
	sent_answer_unref(large);
	struct sent_answer *last = answer_cache_find(&c, &key, 1);
	assert_int_equal(last->size, 1000);
	sent_answer_unref(last);
	key_of(&key, 0);
	assert_null(answer_cache_find(&c, &key, 1));
	answer_cache_release(&c);
}

static void encodings_are_chosen(void **state)
{
	(void)state;
	assert_null(accepted_encoding(NULL));
	assert_null(accepted_encoding("identity, br"));
	assert_string_equal(accepted_encoding("gzip, deflate, br, zstd"), "zstd");
	assert_string_equal(accepted_encoding("gzip;q=0.5"), "gzip");
	assert_null(accepted_encoding("gzip;q=0"));
	assert_null(accepted_encoding("gzip ; q=0.000, zstdx"));
}

static void types_are_chosen(void **state)
{
	static const struct {
		const char *accept, *rows, *json; /* NULL: none */
	} cases[] = {
		{"", "application/json", "application/json"},
		{"  ", "application/json", "application/json"},
		{"*/*", "application/json", "application/json"},
		{"text/csv", "text/csv", NULL},
		{"Text/CSV;q=1.0", "text/csv", NULL},
		{"text/csv;q=0", NULL, NULL},
		{"text/csv;q=0.000, */*;q=0.1", "application/json", "application/json"},
		{"text/*", "text/csv", NULL},
		{"text/*;q=0.1, application/*;q=0.2", "application/json", "application/json"},
		{"application/json;q=0.2, text/csv;q=0.3", "text/csv", "application/json"},
		{"application/json;q=0, application/*", "application/vnd.apache.arrow.file", NULL},
		{"*/*;q=0.9, application/vnd.apache.parquet", "application/vnd.apache.parquet",
		 "application/json"},
		{"text/csv ; charset=utf-8 ; q=0.5 , application/json ; q=0.4", "text/csv",
		 "application/json"},
		{"text/csvx", NULL, NULL},
		{"application/jso", NULL, NULL},
		{"text", NULL, NULL},
		{",,;;q=;*", NULL, NULL},
		{"text/csv;q=", "text/csv", NULL},
		{"text/csv;q=x", "text/csv", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int rows = 0; rows < 2; rows++) {
			const struct web_type *t = accepted_type(cases[i].accept, rows);
			const char *want = rows ? cases[i].rows : cases[i].json;

			if (want ? !t || strcmp(t->name, want) != 0 : t != NULL)
				fail_msg("'%s', %d: got %s", cases[i].accept, rows,
					 t ? t->name : "none");
		}
}

static void parameters_of_paths_are_told_from_others(void **state)
{
	const struct web_route r = {.pattern = "/api/v1/jobs/{job}/models/{model}"};

	(void)state;
	assert_true(route_has_in_path(&r, "job"));
	assert_true(route_has_in_path(&r, "model"));
	assert_false(route_has_in_path(&r, "jobs"));
	assert_false(route_has_in_path(&r, "jo"));
	assert_false(route_has_in_path(&r, "api"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_decoded),
		cmocka_unit_test(strange_addresses_are_refused),
		cmocka_unit_test(other_paths_are_not_below_ours),
		cmocka_unit_test(old_pages_lead_to_ours),
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(parameters_are_checked),
		cmocka_unit_test(a_link_opens_one_session),
		cmocka_unit_test(sessions_and_links_are_bounded),
		cmocka_unit_test(answers_are_kept_for_one_version),
		cmocka_unit_test(the_cache_is_bounded),
		cmocka_unit_test(encodings_are_chosen),
		cmocka_unit_test(types_are_chosen),
		cmocka_unit_test(parameters_of_paths_are_told_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
