/* The streaming JSON writer, to the byte. */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "core/text/json_writer.h"

static void everything(struct json_writer *j)
{
	json_begin_object(j, NULL);
	json_str(j, "text", "a\"b");
	json_str(j, "nothing", NULL);
	json_u64(j, "u", UINT64_MAX);
	json_i64(j, "i", INT64_MIN);
	json_f64(j, "f", 0.25);
	json_bool(j, "yes", true);
	json_bool(j, "no", false);
	json_none(j, "null");
	json_begin_array(j, "list");
	json_u64(j, NULL, 0);
	json_i64(j, NULL, -7);
	json_begin_object(j, NULL);
	json_end_object(j);
	json_begin_array(j, NULL);
	json_end_array(j);
	json_end_array(j);
	json_begin_object(j, "inner");
	json_u64(j, "x", 10);
	json_end_object(j);
	json_end_object(j);
}

static void compact(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	everything(&j);
	assert_text(&j.out, "{\"text\":\"a\\\"b\",\"nothing\":null,\"u\":18446744073709551615,"
			    "\"i\":-9223372036854775808,\"f\":0.25,\"yes\":true,\"no\":false,"
			    "\"null\":null,\"list\":[0,-7,{},[]],\"inner\":{\"x\":10}}");
}

static void pretty(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	j.pretty = true;
	everything(&j);
	assert_text(&j.out, "{\n"
			    "  \"text\": \"a\\\"b\",\n"
			    "  \"nothing\": null,\n"
			    "  \"u\": 18446744073709551615,\n"
			    "  \"i\": -9223372036854775808,\n"
			    "  \"f\": 0.25,\n"
			    "  \"yes\": true,\n"
			    "  \"no\": false,\n"
			    "  \"null\": null,\n"
			    "  \"list\": [\n"
			    "    0,\n"
			    "    -7,\n"
			    "    {},\n"
			    "    []\n"
			    "  ],\n"
			    "  \"inner\": {\n"
			    "    \"x\": 10\n"
			    "  }\n"
			    "}");
}

static void documents_that_are_one_value(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	j.pretty = true;
	json_u64(&j, NULL, 5);
	assert_text(&j.out, "5");
}

static void numbers(void **state)
{
	static const double values[] = {0,         -0.5,          1,   1e15,   1e100, 5e-324,
					123456789, 1561715893.25, 0.1, 1.0 / 3};
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	json_begin_array(&j, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		json_f64(&j, NULL, values[i]);
	json_f64(&j, NULL, NAN);
	json_f64(&j, NULL, INFINITY);
	json_f64(&j, NULL, -INFINITY);
	json_end_array(&j);
	json_t *doc = json_loads(j.out.buf, 0, NULL);
	assert_non_null(doc);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		double got = json_number_value(json_array_get(doc, i));

		/* what is written is what a reader gets, as good as a person needs it */
		if (fabs(got - values[i]) > fabs(values[i]) * 1e-9)
			fail_msg("%.17g became %.17g", values[i], got);
	}
	for (size_t i = 0; i < 3; i++)
		assert_true(json_is_null(json_array_get(doc, ARRAY_SIZE(values) + i)));
	json_decref(doc);
}

/* Rounding must not lead out of what a reader can hold. */
static void the_largest_number(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	json_begin_array(&j, NULL);
	json_f64(&j, NULL, 1.7976931348623157e308);
	json_end_array(&j);
	json_t *doc = json_loads(j.out.buf, 0, NULL);
	if (!doc)
		fail_msg("'%s' is not read back", j.out.buf);
	json_decref(doc);
}

static void keys_are_escaped(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	json_begin_object(&j, NULL);
	json_u64(&j, "a\"\\\n\xff", 1);
	json_u64(&j, "", 2);
	json_end_object(&j);
	assert_text(&j.out, "{\"a\\\"\\\\\\n\xef\xbf\xbd\":1,\"\":2}");
}

static void exact_bytes_of_what_is_no_text(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	json_begin_object(&j, NULL);
	json_str(&j, "good", "\xc3\xa4");
	json_text(&j, "nul", "a\0b", 3);
	json_text(&j, "bad", "x\xff\0y", 4);
	json_str(&j, "after", "z");
	json_end_object(&j);
	assert_text(&j.out, "{\"good\":\"\xc3\xa4\",\"nul\":\"a\\u0000b\",\"bad\":\"x\xef\xbf\xbd"
			    "\\u0000y\",\"bad_b64\":\"eP8AeQ==\",\"after\":\"z\"}");
	json_release(&j);
	j = (struct json_writer)JSON_WRITER_INIT;
	/* an element of an array has no key to hang the bytes on */
	json_begin_array(&j, NULL);
	json_str(&j, NULL, "\xff");
	json_end_array(&j);
	assert_text(&j.out, "[\"\xef\xbf\xbd\"]");
}

static void deep_documents(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)state;
	for (int i = 0; i < JSON_WRITER_DEPTH_MAX; i++)
		json_begin_array(&j, NULL);
	json_u64(&j, NULL, 1);
	json_u64(&j, NULL, 2);
	for (int i = 0; i < JSON_WRITER_DEPTH_MAX; i++)
		json_end_array(&j);
	assert_int_equal(j.depth, 0);
	assert_int_equal(strspn(j.out.buf, "["), JSON_WRITER_DEPTH_MAX);
	assert_string_equal(j.out.buf + JSON_WRITER_DEPTH_MAX + 3 + JSON_WRITER_DEPTH_MAX, "");
}

static void several_documents(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	char *text = NULL;
	size_t n;

	(void)state;
	FILE *f = open_memstream(&text, &n);
	assert_non_null(f);
	for (unsigned i = 0; i < 3; i++) {
		json_begin_object(&j, NULL);
		json_u64(&j, "i", i);
		json_end_object(&j);
		assert_int_equal(json_write(&j, f), 0);
		assert_int_equal(j.out.len, 0);
	}
	fclose(f);
	assert_string_equal(text, "{\"i\":0}\n{\"i\":1}\n{\"i\":2}\n");
	free(text);
}

static void a_full_disk_is_told(void **state)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_fclose_ FILE *f = fopen("/dev/full", "we");

	(void)state;
	if (!f)
		skip_because("there is no /dev/full");
	setvbuf(f, NULL, _IONBF, 0);
	json_u64(&j, NULL, 1);
	assert_int_equal(json_write(&j, f), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compact),
		cmocka_unit_test(pretty),
		cmocka_unit_test(documents_that_are_one_value),
		cmocka_unit_test(numbers),
		cmocka_unit_test(the_largest_number),
		cmocka_unit_test(keys_are_escaped),
		cmocka_unit_test(exact_bytes_of_what_is_no_text),
		cmocka_unit_test(deep_documents),
		cmocka_unit_test(several_documents),
		cmocka_unit_test(a_full_disk_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
