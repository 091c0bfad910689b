/* Numbers and values with units. The cases are in a file: the scripts of the HTML report are held
 * against the same ones (tests/cli/page_check.py). */
#include "unit.h"

#include <math.h>

#include "core/text/units.h"

#include "core/text/text.h"

static void values_of_the_file(void **state)
{
	const char *source = getenv("PL_SOURCE");
	char line[256], unit[64], text[64];
	unsigned lines = 0;
	double v;

	(void)state;
	if (!source)
		skip_because("PL_SOURCE does not say where the sources are");
	_cleanup_free_ char *path = xasprintf("%s/tests/unit/support/unit_values.txt", source);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); lines++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

		assert_int_equal(sscanf(line, "%63[^\t]\t%lf\t%63[^\n]", unit, &v, text), 3);
		unit_add_value(&out, v, unit);
		if (strcmp(out.buf, text) != 0)
			fail_msg("%g %s is '%s', want '%s'", v, unit, out.buf, text);
	}
	assert_true(lines > 30);
}

static void odd_values(void **state)
{
	static const struct {
		double v;
		const char *unit, *text;
	} cases[] = {{7, "", "7"},
		     {7, NULL, "7"},
		     {NAN, "bytes", "-"},
		     {INFINITY, "bytes", "-"},
		     {1e300, "count", "1e+285 P"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

		unit_add_value(&out, cases[i].v, cases[i].unit);
		assert_string_equal(out.buf, cases[i].text);
	}
}

static void counts(void **state)
{
	static const struct {
		int64_t v;
		const char *plain, *text;
	} cases[] = {{0, "0", "0"},
		     {999, "999", "999"},
		     {1000, "1000", "1,000"},
		     {-123456, "-123456", "-123,456"},
		     {INT64_MAX, "9223372036854775807", "9,223,372,036,854,775,807"},
		     {INT64_MIN, "-9223372036854775808", "-9,223,372,036,854,775,808"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT, text = STRBUF_INIT;

		text_add_i64(&plain, cases[i].v);
		text_add_count(&text, cases[i].v);
		assert_string_equal(plain.buf, cases[i].plain);
		assert_string_equal(text.buf, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_the_file),
		cmocka_unit_test(odd_values),
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
