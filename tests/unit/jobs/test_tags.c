/* Tag syntax: what EPMT takes is taken, what it drops is dropped and named. */
#include "unit.h"

#include "jobs/tags.h"

static void check(const char *text, const char *json, const char *dropped)
{
	_cleanup_strbuf_ struct strbuf named = STRBUF_INIT;
	_cleanup_value_ struct value *tags = tags_parse(text, &named);
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	value_to_json(tags, &j, NULL);
	if (strcmp(j.out.buf, json) != 0)
		fail_msg("'%s': got %s, want %s", text ? text : "NULL", j.out.buf, json);
	if (strcmp(named.buf, dropped) != 0)
		fail_msg("'%s': dropped '%s', want '%s'", text ? text : "NULL", named.buf, dropped);
	_cleanup_value_ struct value *again = tags_parse(text, NULL);
	assert_int_equal(value_pairs(again), value_pairs(tags));
}

static void pairs(void **state)
{
	(void)state;
	check("", "{}", "");
	check(NULL, "{}", "");
	check("k:v", "{\"k\":\"v\"}", "");
	check("k:v;k2:v2", "{\"k\":\"v\",\"k2\":\"v2\"}", "");
	check("exp_name:ESM4;exp_time:18840101;atm_res:c96l49",
	      "{\"exp_name\":\"ESM4\",\"exp_time\":\"18840101\",\"atm_res\":\"c96l49\"}", "");
	/* the order is that of the text, the last of two wins */
	check("b:1;a:2;b:3", "{\"b\":\"3\",\"a\":\"2\"}", "");
}

static void blanks_are_dropped(void **state)
{
	(void)state;
	check("  k :  v  ;\tk2\t:\tv 2\t", "{\"k\":\"v\",\"k2\":\"v 2\"}", "");
	check("   ", "{}", "");
	check(" ; ;; ", "{}", "");
	check("k:v;", "{\"k\":\"v\"}", "");
	check(";k:v", "{\"k\":\"v\"}", "");
}

static void bare_words_are_1(void **state)
{
	(void)state;
	check("word", "{\"word\":\"1\"}", "");
	check("two words", "{\"two words\":\"1\"}", "");
	check("a;b:2;c", "{\"a\":\"1\",\"b\":\"2\",\"c\":\"1\"}", "");
	/* an empty value is one, an empty key is none */
	check("k:", "{\"k\":\"\"}", "");
	check("k: ;x", "{\"k\":\"\",\"x\":\"1\"}", "");
}

static void two_colons_are_refused(void **state)
{
	(void)state;
	check("a:b:c", "{}", "a:b:c");
	check("k:v;a:b:c;url:http://x;z", "{\"k\":\"v\",\"z\":\"1\"}", "a:b:c, url:http://x");
	check("::", "{}", "::");
	check("k::v", "{}", "k::v");
}

static void keys_must_be_there(void **state)
{
	_cleanup_value_ struct value *tags = tags_parse(":v; : w;k:v", NULL);

	(void)state;
	assert_int_equal(value_pairs(tags), 1);
	assert_string_equal(value_get_str(tags, "k"), "v");
}

static void any_bytes(void **state)
{
	_cleanup_value_ struct value *tags = tags_parse("\xc3\xa4:\xff;a=b:c,d", NULL);

	(void)state;
	assert_string_equal(value_get_str(tags, "\xc3\xa4"), "\xff");
	assert_string_equal(value_get_str(tags, "a=b"), "c,d");
}

static void sets_within_sets(void **state)
{
	_cleanup_value_ struct value *tags = tags_parse("op:build;n:4", NULL);
	_cleanup_value_ struct value *one = tags_parse("n:4", NULL),
				     *other = tags_parse("n:5", NULL);
	_cleanup_value_ struct value *more = tags_parse("op:build;n:4;x:1", NULL);
	_cleanup_value_ struct value *any = value_new(VALUE_DICT), *odd = value_new(VALUE_DICT);

	(void)state;
	value_set(any, "op", value_new(VALUE_NONE));
	value_set(odd, "n", value_int(4));
	assert_true(tags_contain(tags, tags) && tags_contain(tags, one) && tags_contain(tags, any));
	assert_false(tags_contain(tags, other) || tags_contain(tags, more));
	assert_false(tags_contain(one, any) || tags_contain(tags, odd));
	assert_true(tags_contain(tags, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs),
		cmocka_unit_test(blanks_are_dropped),
		cmocka_unit_test(bare_words_are_1),
		cmocka_unit_test(two_colons_are_refused),
		cmocka_unit_test(keys_must_be_there),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(sets_within_sets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
