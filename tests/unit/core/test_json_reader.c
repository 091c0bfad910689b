/* JSON token by token: what JSON is, what it is not, and that nothing grows without bound. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "core/text/json_reader.h"

/* All tokens of a text as a line, "!" and the reason at the end when it is bad. */
static void tokens(const char *text, size_t n, struct strbuf *out)
{
	static const char names[] = ".{}[]ksn b0";
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int fd = memory_file(text, n), t;
	struct json_reader j;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	json_reader_init(&j, fd);
	strbuf_reset(out);
	while ((t = json_reader_next(&j, &why)) > 0) {
		if (t == JSON_KEY || t == JSON_STRING)
			strbuf_addf(out, "%s:%s ", t == JSON_KEY ? "key" : "text", j.text.buf);
		else if (t == JSON_NUMBER && j.whole)
			strbuf_addf(out, "%lld ", (long long)j.integer);
		else if (t == JSON_NUMBER)
			strbuf_addf(out, "%.17g ", j.real);
		else
			strbuf_addf(out, "%s ",
				    t == JSON_BOOL   ? "bool"
				    : t == JSON_NONE ? "null"
						     : (char[]){names[t], 0});
	}
	if (t < 0)
		strbuf_addf(out, "! %s", why.buf);
	json_reader_release(&j);
	close(fd);
}

static void check(const char *text, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	tokens(text, strlen(text), &got);
	assert_string_equal(got.buf, want);
}

static void values(void **state)
{
	(void)state;
	check("1", "1 ");
	check(" -0 \n", "0 ");
	check("9223372036854775807", "9223372036854775807 ");
	check("-9223372036854775808", "-9223372036854775808 ");
	check("9223372036854775808", "9.2233720368547758e+18 ");
	check("1.5e-3", "0.0015 ");
	check("1e2", "100 ");
	check("1E+2", "100 ");
	check("1e400", "inf ");
	check("[NaN,Infinity,-Infinity]", "[ nan nan nan ] ");
	check("[true,false,null]", "[ bool bool null ] ");
	check("[]", "[ ] ");
	check("{}", "{ } ");
	check("{\"a\":[1,{\"b\":null}],\"c\":\"d\"}",
	      "{ key:a [ 1 { key:b null } ] key:c text:d } ");
	check("\t{ \"a\" : 1 , \"b\" : [ ] }\r\n", "{ key:a 1 key:b [ ] } ");
}

static void texts(void **state)
{
	(void)state;
	check("\"\"", "text: ");
	check("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "text:\"\\/\b\f\n\r\t ");
	check("\"\\u00e4\\u20AC\"", "text:\xc3\xa4\xe2\x82\xac ");
	check("\"\\ud83d\\udea2\"", "text:\xf0\x9f\x9a\xa2 ");
	check("\"\\ud83d\\u0041\"", "text:\xef\xbf\xbd ");
	check("\"\\ud83d\"", "text:\xef\xbf\xbd ");
	check("\"a\\u0000b\"", "text:a\xef\xbf\xbd"
			       "b ");
	check("\"\xff\"", "text:\xff ");
}

static void what_is_none(void **state)
{
	(void)state;
	check("", "! line 1, column 1: unexpected end of the document");
	check("[1,\n2", "[ 1 2 ! line 2, column 2: unexpected end of the document");
	check("[1 2]", "[ 1 ! line 1, column 4: expected ',' or the end of the object or array");
	check("[1,]", "[ 1 ! line 1, column 4: expected a value");
	check("{\"a\" 1}", "{ ! line 1, column 6: expected ':' after a key");
	check("{\"a\":1,}", "{ key:a 1 ! line 1, column 8: expected a key");
	check("{1:2}", "{ ! line 1, column 2: expected a key");
	check("[1}", "[ 1 ! line 1, column 3: expected ',' or the end of the object or array");
	check("[}", "[ ! line 1, column 2: expected a value");
	check("1 2", "1 ! line 1, column 3: unexpected text after the document");
	check("\"a", "! line 1, column 3: unterminated string");
	check("\"a\n\"", "! line 1, column 3: control character in a string");
	check("\"\\x\"", "! line 1, column 4: invalid escape sequence");
	check("\"\\u12g4\"", "! line 1, column 6: invalid escape sequence");
	for (const char *const *p =
		     (const char *const[]){"01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "0x10",
					   "nul", "True", "1_0", NULL};
	     *p; p++) {
		_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

		tokens(*p, strlen(*p), &got);
		if (!strstr(got.buf, "!"))
			fail_msg("'%s' is taken: %s", *p, got.buf);
	}
}

static void limits(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, got = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < JSON_READER_DEPTH_MAX; i++)
		strbuf_addch(&text, '[');
	for (int i = 0; i < JSON_READER_DEPTH_MAX; i++)
		strbuf_addch(&text, ']');
	tokens(text.buf, text.len, &got);
	assert_null(strchr(got.buf, '!'));
	strbuf_reset(&text);
	for (int i = 0; i < 100000; i++)
		strbuf_addch(&text, '[');
	tokens(text.buf, text.len, &got);
	assert_contains(got.buf, "nested too deeply");
	strbuf_reset(&text);
	strbuf_addch(&text, '"');
	for (int i = 0; i < 200000; i++)
		strbuf_addch(&text, 'a');
	strbuf_addch(&text, '"');
	tokens(text.buf, text.len, &got);
	assert_int_equal(got.len, strlen("text: ") + JSON_READER_TEXT_MAX);
	strbuf_reset(&text);
	for (int i = 0; i < 100000; i++)
		strbuf_addch(&text, '7');
	tokens(text.buf, text.len, &got);
	assert_contains(got.buf, "number with too many digits");
}

static void skipping(void **state)
{
	static const char text[] = "{\"a\":{\"b\":[1,[2]]},\"c\":[],\"d\":5}";
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int fd = memory_file(text, strlen(text));
	struct json_reader j;

	(void)state;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	json_reader_init(&j, fd);
	assert_int_equal(json_reader_next(&j, &why), JSON_OBJECT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(json_reader_next(&j, &why), JSON_KEY);
		int t = json_reader_next(&j, &why);
		assert_int_equal(json_reader_skip(&j, (enum json_token)t, &why), 0);
	}
	assert_int_equal(json_reader_next(&j, &why), JSON_OBJECT_END);
	assert_int_equal(json_reader_next(&j, &why), JSON_DONE);
	json_reader_release(&j);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),       cmocka_unit_test(texts),
		cmocka_unit_test(what_is_none), cmocka_unit_test(limits),
		cmocka_unit_test(skipping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
