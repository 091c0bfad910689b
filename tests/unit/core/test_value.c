/* Dynamic values: building them, order, times, and JSON in and out. */
#include "unit.h"

#include <errno.h>

#include "core/value.h"

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static struct value *parse(const char *json)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = NULL;

	if (value_from_json(json, strlen(json), &v, &why) < 0)
		fail_msg("'%s': %s", json, why.buf);
	return v;
}

static char *json_of(const struct value *v)
{
	struct json_writer j = JSON_WRITER_INIT;

	value_to_json(v, &j, NULL);
	return strbuf_take(&j.out);
}

static void check_json(const struct value *v, const char *want)
{
	_cleanup_free_ char *got = json_of(v);

	assert_string_equal(got, want);
}

static void check_python(const struct value *v, bool repr, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	value_to_python(v, &got, repr);
	assert_string_equal(got.buf, want);
}

static struct value *real(double d)
{
	struct value *v = value_new(VALUE_REAL);

	v->real = d;
	return v;
}

static struct value *bytes(const char *s, size_t n)
{
	struct value *v = value_strn(s, n);

	v->kind = VALUE_BYTES;
	return v;
}

/* ---- containers ----------------------------------------------------------------------------- */

static void dicts(void **state)
{
	_cleanup_value_ struct value *d = value_new(VALUE_DICT), *list = value_new(VALUE_LIST);

	(void)state;
	assert_int_equal(value_pairs(d), 0);
	value_set(d, "a", value_int(1));
	value_set(d, "b", value_str("two"));
	value_set(d, "a", value_int(3)); /* replaces, and keeps its place */
	assert_int_equal(value_pairs(d), 2);
	assert_string_equal(value_key(d, 0)->str.data, "a");
	assert_int_equal(value_at(d, 0)->integer, 3);
	assert_int_equal(value_get(d, "a")->integer, 3);
	assert_string_equal(value_get_str(d, "b"), "two");
	assert_null(value_get_str(d, "a"));
	assert_null(value_get(d, "c"));
	assert_null(value_get(d, ""));
	assert_null(value_get(NULL, "a"));
	assert_null(value_get(list, "a"));
	assert_int_equal(value_pairs(list), 0);
	assert_int_equal(value_pairs(NULL), 0);
	assert_false(value_unset(d, "c"));
	assert_true(value_unset(d, "a"));
	assert_false(value_unset(d, "a"));
	check_json(d, "{\"b\":\"two\"}");
	assert_true(value_unset(d, "b"));
	check_json(d, "{}");
}

static void keys_of_several_kinds(void **state)
{
	_cleanup_value_ struct value *d = value_new(VALUE_DICT);

	(void)state;
	value_set_take(d, value_int(1), value_str("int"));
	value_set_take(d, value_str("1"), value_str("text"));
	value_set_take(d, value_int(1), value_str("again"));
	value_set_take(d, bytes("x", 1), value_str("bytes"));
	assert_int_equal(value_pairs(d), 3);
	assert_string_equal(value_get_str(d, "1"), "text");
	assert_string_equal(value_get_str(d, "x"), "bytes");
	check_python(d, true, "{1: 'again', '1': 'text', b'x': 'bytes'}");
}

static void texts_are_bytes(void **state)
{
	_cleanup_value_ struct value *v = value_strn("a\0b", 3), *empty = value_strn("", 0);

	(void)state;
	assert_int_equal(v->str.size, 3);
	assert_memory_equal(v->str.data, "a\0b", 4);
	assert_int_equal(empty->str.size, 0);
	assert_string_equal(empty->str.data, "");
}

static void shared_values_live_until_the_last_owner_goes(void **state)
{
	struct value *shared = value_str("shared");
	_cleanup_value_ struct value *list = value_new(VALUE_LIST);

	(void)state;
	for (int i = 0; i < 3; i++)
		value_append(list, value_ref(shared));
	value_free(shared);
	check_json(list, "[\"shared\",\"shared\",\"shared\"]");
	value_free(NULL);
}

static void dicts_are_sorted_by_bytes(void **state)
{
	_cleanup_value_ struct value *d = value_new(VALUE_DICT), *none = value_new(VALUE_DICT);
	_cleanup_value_ struct value *list = parse("[3,1,2]");

	(void)state;
	value_set(d, "b", value_int(1));
	value_set(d, "\xc3\xa4", value_int(2));
	value_set(d, "ab", value_int(3));
	value_set(d, "a", value_int(4));
	value_set(d, "B", value_int(5));
	value_set(d, "", value_int(6));
	value_set_take(d, value_int(9), value_int(7));
	value_sort(d);
	check_json(d, "{\"9\":7,\"\":6,\"B\":5,\"a\":4,\"ab\":3,\"b\":1,\"\xc3\xa4\":2}");
	value_sort(none);
	value_sort(list);
	check_json(list, "[3,1,2]");
}

/* ---- times ---------------------------------------------------------------------------------- */

static void times_know_their_zone(void **state)
{
	(void)state;
	set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	_cleanup_value_ struct value *summer = value_time_us(1561715893880614);
	check_json(summer, "\"2019-06-28T11:58:13.880614+02:00\"");
	check_python(summer, false, "2019-06-28 11:58:13.880614+02:00");
	_cleanup_value_ struct value *winter = value_time_us(1547111893000000);
	check_json(winter, "\"2019-01-10T10:18:13.000000+01:00\"");
	/* Python leaves out microseconds that are none */
	check_python(winter, false, "2019-01-10 10:18:13+01:00");
	set_zone("NST3:30");
	_cleanup_value_ struct value *west = value_time_us(0);
	check_json(west, "\"1969-12-31T20:30:00.000000-03:30\"");
}

static void times_and_epochs(void **state)
{
	static const int64_t moments[] = {0,
					  1,
					  999999,
					  1000000,
					  1561715893880614,
					  951782399999999,
					  253402300799999999,
					  -1,
					  -1000000,
					  -86400000001};
	static const char *const zones[] = {"UTC0", "EST5EDT,M3.2.0,M11.1.0", "NST3:30",
					    "CET-1CEST,M3.5.0,M10.5.0/3"};

	(void)state;
	for (size_t z = 0; z < ARRAY_SIZE(zones); z++) {
		set_zone(zones[z]);
		for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
			_cleanup_value_ struct value *v = value_time_us(moments[i]);
			int64_t us = 0;

			assert_int_equal(value_epoch_us(v, &us), 0);
			assert_int_equal(us, moments[i]);
		}
	}
}

static void times_before_1970(void **state)
{
	(void)state;
	set_zone("UTC0");
	_cleanup_value_ struct value *v = value_time_us(-1);
	check_json(v, "\"1969-12-31T23:59:59.999999+00:00\"");
}

static void times_without_zone_are_local(void **state)
{
	_cleanup_value_ struct value *v = value_new(VALUE_TIME), *number = value_int(1);
	int64_t us = 5;

	(void)state;
	v->time = (struct value_time){2019, 6, 28, 11, 58, 13, 7, false, 0};
	set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	assert_int_equal(value_epoch_us(v, &us), 0);
	assert_int_equal(us, 1561715893000007);
	check_json(v, "\"2019-06-28T11:58:13.000007\"");
	set_zone("UTC0");
	assert_int_equal(value_epoch_us(v, &us), 0);
	assert_int_equal(us, 1561723093000007);
	us = 5;
	assert_int_equal(value_epoch_us(number, &us), -EINVAL);
	assert_int_equal(value_epoch_us(NULL, &us), -EINVAL);
	assert_int_equal(us, 5);
}

/* ---- out ------------------------------------------------------------------------------------ */

static void python_forms(void **state)
{
	_cleanup_value_ struct value *v =
		parse("{\"s\":\"it's\",\"q\":\"both ' and \\\"\","
		      "\"n\":null,\"b\":[true,false],\"e\":{},\"l\":[],"
		      "\"c\":\"a\\nb\\tc\\\\d\\r\\u0001\",\"u\":\"\\u00e4\"}");
	_cleanup_value_ struct value *text = value_str("it's\n"), *raw = bytes("a\xff'", 3);

	(void)state;
	check_python(v, false,
		     "{'s': \"it's\", 'q': 'both \\' and \"', 'n': None, 'b': [True, False], "
		     "'e': {}, 'l': [], 'c': 'a\\nb\\tc\\\\d\\r\\x01', 'u': '\xc3\xa4'}");
	check_python(text, false, "it's\n");
	check_python(text, true, "\"it's\\n\"");
	check_python(raw, false, "b\"a\\xff'\"");
	_cleanup_value_ struct value *none = value_new(VALUE_NONE), *yes = value_bool(true);
	check_python(none, false, "None");
	check_python(yes, false, "True");
	_cleanup_value_ struct value *lowest = value_int(INT64_MIN);
	check_python(lowest, false, "-9223372036854775808");
}

static void python_tuples(void **state)
{
	_cleanup_value_ struct value *t = value_new(VALUE_TUPLE);

	(void)state;
	check_python(t, false, "()");
	value_append(t, value_int(1));
	check_python(t, false, "(1,)");
	value_append(t, value_str("x"));
	check_python(t, false, "(1, 'x')");
}

static void python_floats(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0.5, "0.5"},
		     {1, "1.0"},
		     {-3, "-3.0"},
		     {1e100, "1e+100"},
		     {0.1, "0.1"},
		     {1561715893.25, "1561715893.25"},
		     {1561715893.880614, "1561715893.880614"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_value_ struct value *v = real(cases[i].value);

		check_python(v, false, cases[i].text);
	}
}

static void for_people(void **state)
{
	_cleanup_value_ struct value *text = value_strn("a\x1b[1m", 5),
				     *v = parse("[1,\"x\",null]");
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	(void)state;
	value_to_text(text, &got);
	assert_text(&got, "a\\x1b[1m");
	strbuf_reset(&got);
	value_to_text(v, &got);
	assert_text(&got, "[1,\"x\",null]");
	strbuf_reset(&got);
	set_zone("UTC0");
	_cleanup_value_ struct value *t = value_time_us(1561715893880614);
	value_to_text(t, &got);
	assert_text(&got, "2019-06-28 09:58:13.880614+00:00");
}

static void spans_and_zones_are_numbers_in_json(void **state)
{
	_cleanup_value_ struct value *d = value_new(VALUE_DELTA), *z = value_new(VALUE_ZONE);

	(void)state;
	d->integer = -1500000;
	z->integer = 3600;
	check_json(d, "-1500000");
	check_json(z, "3600");
}

/* ---- JSON there and back -------------------------------------------------------------------- */

static void json_round_trip(void **state)
{
	static const char *const documents[] = {
		"null",
		"true",
		"[]",
		"{}",
		"\"\"",
		"-9223372036854775808",
		"9223372036854775807",
		"0.5",
		"\"\xc3\xa4\xf0\x9f\x9a\xa2\"",
		"\"\\u0000a\\n\\\"\\\\\"",
		"{\"b\":1,\"a\":{\"c\":[1,2,[3,{\"d\":null}]]},\"\":false}",
		"[[[[[[[[\"deep\"]]]]]]]]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_strbuf_ struct strbuf list = STRBUF_INIT;
		_cleanup_value_ struct value *v = NULL;

		/* a document is an object or an array */
		strbuf_addf(&list, "[%s]", documents[i]);
		assert_int_equal(value_from_json(list.buf, list.len, &v, &why), 0);
		check_json(v, list.buf);
	}
}

static void reals_round_trip(void **state)
{
	static const double values[] = {0.5,      0.1,           1.0, 1.0 / 3, 1561715893.880614,
					2.5e-300, 123456789012.5};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_value_ struct value *list = value_new(VALUE_LIST);

		value_append(list, real(values[i]));
		_cleanup_free_ char *text = json_of(list);
		_cleanup_value_ struct value *back = parse(text);
		const struct value *v = back->list.items[0];
		if (v->kind != VALUE_REAL || v->real != values[i])
			fail_msg("%.17g was written as %s", values[i], text);
	}
}

static void exact_bytes_in_json(void **state)
{
	_cleanup_value_ struct value *d = value_new(VALUE_DICT);

	(void)state;
	value_set(d, "good", value_str("\xc3\xa4"));
	value_set(d, "bad", value_strn("a\xff\0z", 4));
	value_set(d, "raw", bytes("\x80", 1));
	check_json(d, "{\"good\":\"\xc3\xa4\",\"bad\":\"a\xef\xbf\xbd\\u0000z\","
		      "\"bad_b64\":\"Yf8Aeg==\",\"raw\":\"\xef\xbf\xbd\",\"raw_b64\":\"gA==\"}");
	_cleanup_free_ char *text = json_of(d);
	_cleanup_value_ struct value *back = parse(text);
	assert_string_equal(value_get_str(back, "bad_b64"), "Yf8Aeg==");
	assert_null(value_get(back, "good_b64"));
	/* and reading it changes nothing any more */
	check_json(back, text);
}

/* Whatever the keys are, what was written is read again: job.json is read by `stop`. */
static void keys_that_look_alike_in_json(void **state)
{
	static const struct {
		const char *a, *b;
		size_t a_size, b_size;
	} pairs[] = {
		{"\xff", "\xfe", 1, 1}, /* two bad bytes, one replacement */
		{"x", "x\0y", 1, 3},    /* a NUL in the middle */
		{"x", "x_b64", 1, 5},   /* the name of the exact bytes, taken */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		_cleanup_value_ struct value *d = value_new(VALUE_DICT), *back = NULL;
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		value_set_take(d, value_strn(pairs[i].a, pairs[i].a_size), value_str("\xff"));
		value_set_take(d, value_strn(pairs[i].b, pairs[i].b_size), value_str("two"));
		_cleanup_free_ char *text = json_of(d);
		if (value_from_json(text, strlen(text), &back, &why) < 0)
			fail_msg("%s: %s", text, why.buf);
	}
}

static void refuse(const char *json, size_t n, int error, const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = (struct value *)&why;

	assert_int_equal(value_from_json(json, n, &v, &why), error);
	assert_ptr_equal(v, &why); /* untouched on failure */
	assert_contains(why.buf, why_has);
	/* and nobody needs to ask why */
	assert_int_equal(value_from_json(json, n, &v, NULL), error);
}

static void json_that_is_none(void **state)
{
	static const char *const bad[] = {
		"",      "{",         "[1,]",       "{\"a\":1,}",    "[1] x",
		"{a:1}", "['a']",     "[01]",       "[+1]",          "[.5]",
		"[NaN]", "[\"\\x\"]", "[\"\xff\"]", "[\"\\ud800\"]", "nul"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refuse(bad[i], strlen(bad[i]), -EBADMSG, "line 1");
	refuse("{\n\"a\": 1,\n\"b\": x\n}", 19, -EBADMSG, "line 3");
	refuse("[99999999999999999999]", 22, -EBADMSG, "line 1");
	/* the end is where the caller says it is */
	refuse("[1]", 2, -EBADMSG, "line 1");
}

static void nested_lists(struct strbuf *out, int depth)
{
	strbuf_reset(out);
	for (int i = 0; i < depth; i++)
		strbuf_addch(out, '[');
	strbuf_addch(out, '1');
	for (int i = 0; i < depth; i++)
		strbuf_addch(out, ']');
}

static void depth_is_limited(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	nested_lists(&text, VALUE_DEPTH_MAX);
	_cleanup_value_ struct value *v = parse(text.buf);
	check_json(v, text.buf);
	nested_lists(&text, VALUE_DEPTH_MAX + 1);
	refuse(text.buf, text.len, -E2BIG, "deeper");
	nested_lists(&text, 1000);
	refuse(text.buf, text.len, -E2BIG, "nested too deeply");
	nested_lists(&text, 100000);
	refuse(text.buf, text.len, -E2BIG, "nested too deeply");
}

static void keys_are_limited(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	for (int i = 0; i <= VALUE_PAIRS_MAX; i++)
		strbuf_addf(&text, "%c\"%d\":0", i ? ',' : '{', i);
	strbuf_addch(&text, '}');
	refuse(text.buf, text.len, -E2BIG, "keys");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dicts),
		cmocka_unit_test(keys_of_several_kinds),
		cmocka_unit_test(texts_are_bytes),
		cmocka_unit_test(shared_values_live_until_the_last_owner_goes),
		cmocka_unit_test(dicts_are_sorted_by_bytes),
		cmocka_unit_test(times_know_their_zone),
		cmocka_unit_test(times_and_epochs),
		cmocka_unit_test(times_before_1970),
		cmocka_unit_test(times_without_zone_are_local),
		cmocka_unit_test(python_forms),
		cmocka_unit_test(python_tuples),
		cmocka_unit_test(python_floats),
		cmocka_unit_test(for_people),
		cmocka_unit_test(spans_and_zones_are_numbers_in_json),
		cmocka_unit_test(json_round_trip),
		cmocka_unit_test(reals_round_trip),
		cmocka_unit_test(exact_bytes_in_json),
		cmocka_unit_test(keys_that_look_alike_in_json),
		cmocka_unit_test(json_that_is_none),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(keys_are_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
