/* Strict numbers, durations, and the small string functions. */
#include "unit.h"

#include <errno.h>

#include "core/crc32c.h"
#include "core/crc32c_bulk.h"
#include "core/util.h"

static void whole_numbers(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{NULL, -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"-0", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
		{"1\n", -EINVAL, 0},
		{"x", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t v = 4711;

		if (parse_u64(cases[i].text, &v) != cases[i].result)
			fail_msg("'%s'", cases[i].text ? cases[i].text : "NULL");
		assert_int_equal(v, cases[i].result ? 4711 : cases[i].value);
	}
}

static void signed_numbers(void **state)
{
	static const struct {
		const char *text;
		int result;
		int64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"-0", 0, 0},
		{"-1", 0, -1},
		{"9223372036854775807", 0, INT64_MAX},
		{"-9223372036854775808", 0, INT64_MIN},
		{"9223372036854775808", -ERANGE, 0},
		{"-9223372036854775809", -ERANGE, 0},
		{"-", -EINVAL, 0},
		{"--1", -EINVAL, 0},
		{"- 1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1x", -EINVAL, 0},
		{"", -EINVAL, 0},
		{NULL, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = 4711;

		if (parse_i64(cases[i].text, &v) != cases[i].result)
			fail_msg("'%s'", cases[i].text ? cases[i].text : "NULL");
		assert_int_equal(v, cases[i].result ? 4711 : cases[i].value);
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t ns;
	} cases[] = {
		{"0", 0, 0},
		{"1", 0, 1000000000},
		{"1.5", 0, 1500000000},
		{".5s", 0, 500000000},
		{"250ms", 0, 250000000},
		{"10us", 0, 10000},
		{"7ns", 0, 7},
		{"10s", 0, 10000000000},
		{"2m", 0, 120000000000},
		{"1h", 0, 3600000000000},
		{"3d", 0, 259200000000000},
		{"100000d", 0, 8640000000000000000},
		{"200000d", -ERANGE, 0},
		{"1e400", -ERANGE, 0},
		{"", -EINVAL, 0},
		{NULL, -EINVAL, 0},
		{"s", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"+1s", -EINVAL, 0},
		{" 1s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1s ", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1w", -EINVAL, 0},
		{"1h30m", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"inf", -EINVAL, 0},
		/* numbers of C, not of people: 0x1d would be 29 seconds */
		{"0x10", -EINVAL, 0},
		{"0x1d", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t v = 4711;
		int r = parse_duration_ns(cases[i].text, &v);

		if (r != cases[i].result)
			fail_msg("'%s': got %d and %llu", cases[i].text ? cases[i].text : "NULL", r,
				 (unsigned long long)v);
		assert_int_equal(v, cases[i].result ? 4711 : cases[i].ns);
	}
}

static void beginnings_and_ends(void **state)
{
	(void)state;
	assert_true(str_prefix("plimsoll", "plim"));
	assert_true(str_prefix("plim", ""));
	assert_true(str_prefix("plim", "plim"));
	assert_false(str_prefix("pli", "plim"));
	assert_false(str_prefix("xplim", "plim"));
	assert_true(str_suffix("a.csv", ".csv"));
	assert_true(str_suffix("a.csv", ""));
	assert_true(str_suffix(".csv", ".csv"));
	assert_false(str_suffix("csv", ".csv"));
	assert_false(str_suffix("a.csv.gz", ".csv"));
}

static void last_parts_of_paths(void **state)
{
	(void)state;
	assert_string_equal(path_base("/usr/bin/env"), "env");
	assert_string_equal(path_base("env"), "env");
	assert_string_equal(path_base("/"), "");
	assert_string_equal(path_base("dir/"), "");
	assert_string_equal(path_base(""), "");
	assert_string_equal(path_base("a//b"), "b");
}

static void strings_are_copied(void **state)
{
	_cleanup_free_ char *cut = xstrndup("abcdef", 3), *all = xstrndup("abc", 99);
	_cleanup_free_ char *made = xasprintf("%s-%d", "x", 5), *same = xstrdup("");

	(void)state;
	assert_string_equal(cut, "abc");
	assert_string_equal(all, "abc");
	assert_string_equal(made, "x-5");
	assert_string_equal(same, "");
}

static void allocations_of_nothing(void **state)
{
	(void)state;
	_cleanup_free_ void *a = xmalloc(0), *b = xcalloc(0, 0), *c = xcalloc(4, 4);
	assert_non_null(a);
	assert_non_null(b);
	static const char zeros[16];
	assert_memory_equal(c, zeros, sizeof(zeros));
}

static void arrays_grow(void **state)
{
	size_t count = 0, cap = 0;
	int *numbers = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		GROW(numbers, count, cap);
		numbers[count++] = i;
		assert_true(cap >= count);
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(numbers[i], i);
	free(numbers);
}

static void growing_strings(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	assert_text(&sb, "");
	strbuf_add(&sb, NULL, 0);
	assert_text(&sb, "");
	strbuf_addstr(&sb, "ab");
	strbuf_addch(&sb, 0);
	strbuf_addf(&sb, "%d%%", 42);
	assert_text(&sb, "ab\0"
			 "42%");
	strbuf_addf(&sb, "%s", "");
	assert_text(&sb, "ab\0"
			 "42%");
	strbuf_reset(&sb);
	assert_text(&sb, "");
	for (int i = 0; i < 10000; i++)
		strbuf_addf(&sb, "%d,", i);
	assert_int_equal(sb.len, 48890);
	assert_int_equal(strlen(sb.buf), 48890);
	char *taken = strbuf_take(&sb);
	assert_string_equal(taken + 48880, "9998,9999,");
	free(taken);
	assert_text(&sb, "");
	taken = strbuf_take(&sb);
	assert_string_equal(taken, "");
	free(taken);
	strbuf_reset(&sb);
	strbuf_release(&sb);
	strbuf_release(&sb);
	assert_text(&sb, "");
}

/* By the CPU and by the table: one sum, whatever the size, the place and the pieces. */
static void check_sums(void **state)
{
	unsigned char bytes[300];
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(crc32c_bulk(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_bulk(0, "", 0), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)random_next(&seed);
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; at + n < sizeof(bytes); n++) {
			uint32_t sum = crc32c_bulk(0, bytes + at, n);

			assert_int_equal(sum, crc32c(0, bytes + at, n));
			assert_int_equal(crc32c_bulk(crc32c_bulk(0, bytes + at, n / 3),
						     bytes + at + n / 3, n - n / 3),
					 sum);
		}
}

static void one_is_no_plural(void **state)
{
	(void)state;
	assert_string_equal(plural(1, "job", "jobs"), "job");
	assert_string_equal(plural((size_t)0, "job", "jobs"), "jobs");
	assert_string_equal(plural(2LL, "is", "are"), "are");
	assert_string_equal(plural(-1, "job", "jobs"), "jobs");
	assert_string_equal(plural(1.0, "", "s"), "");
	assert_string_equal(plural(1.5, "", "s"), "s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(durations),
		cmocka_unit_test(beginnings_and_ends),
		cmocka_unit_test(last_parts_of_paths),
		cmocka_unit_test(strings_are_copied),
		cmocka_unit_test(allocations_of_nothing),
		cmocka_unit_test(arrays_grow),
		cmocka_unit_test(growing_strings),
		cmocka_unit_test(check_sums),
		cmocka_unit_test(one_is_no_plural),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
