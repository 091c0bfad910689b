/* Tables as text and as pickles, byte for byte: what is absent, empty, odd or dangerous. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "core/files/fs.h"
#include "tables/table_builder.h"
#include "tables/text_values.h"

static const struct table_column columns[] = {
	{"n", TABLE_INT, NULL},
	{"x", TABLE_REAL, NULL},
	{"at", TABLE_TIME, NULL},
	{"a \"text\", quoted", TABLE_TEXT, NULL},
};

#define TEXT(s) s, sizeof(s) - 1

static const struct {
	const char *text; /* NULL: the whole row is absent */
	size_t size;
	int64_t n, at;
	double x;
} rows[] = {
	{TEXT("plain"), 1, 0, 1.5},
	{TEXT("=1+1"), -1, 1794715506123456789, -0.1},
	{NULL, 0, 0, 0, 0},
	{TEXT("+1"), INT64_MAX, -1, 1e300},
	{TEXT("-1"), INT64_MIN, INT64_MIN, 3},
	{TEXT("@x"), 0, INT64_MAX, 0.1},
	{TEXT("\t=1"), 0, 951782400000000000, 0},
	{TEXT("\r=1"), 0, 0, 0},
	{TEXT(""), 0, 0, 0},
	{TEXT("a,b\"c\"\nd"), 0, 0, 0},
	{TEXT("gr\xc3\xbc\xc3\x9f"), 0, 0, 0},
	{TEXT("bad \xff"), 0, 0, 0},
	{TEXT("plain"), 0, 0, 0},
	{TEXT("'quoted"), 0, 0, 0},
};

/* The table in batches of so many rows. */
static int write_rows(const struct table_format *f, const char *path, size_t batch,
		      const struct table_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct table_builder b;
	struct table_batch part;
	struct table_file *file = NULL;
	int r = table_open(&file, f, path, columns, ARRAY_SIZE(columns), o, &why);

	if (r < 0)
		return r;
	table_builder_init(&b, columns, ARRAY_SIZE(columns), batch);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && r >= 0; i++) {
		if (rows[i].text) {
			table_builder_int(&b, 0, rows[i].n);
			table_builder_real(&b, 1, rows[i].x);
			table_builder_int(&b, 2, rows[i].at);
			table_builder_text(&b, 3, rows[i].text, rows[i].size);
		}
		for (size_t c = 0; !rows[i].text && c < ARRAY_SIZE(columns); c++)
			table_builder_absent(&b, c);
		table_builder_row(&b);
		if (!table_builder_full(&b) && i + 1 < ARRAY_SIZE(rows))
			continue;
		table_builder_take(&b, &part);
		r = table_write(file, &part, &why);
		table_builder_begin(&b);
	}
	table_builder_release(&b);
	if (r >= 0)
		return table_close(file, &why);
	table_abandon(file);
	return r;
}

/* The same bytes however the rows come. */
static void expect(const char *dir, const char *name, bool raw, const char *want)
{
	const struct table_options o = {.table = "t", .raw = raw};
	const struct table_format *f = table_format_by_name(name);
	_cleanup_free_ char *path = xasprintf("%s/out", dir);

	assert_non_null(f);
	for (size_t batch = 1; batch <= ARRAY_SIZE(rows) + 1; batch += 3) {
		_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

		assert_int_equal(write_rows(f, path, batch, &o), 0);
		assert_int_equal(fs_read(AT_FDCWD, path, 1 << 20, &got), 0);
		assert_string_equal(got.buf, want);
	}
}

#define CSV_HEAD "n,x,at,\"a \"\"text\"\", quoted\"\n"
#define EPOCH "1970-01-01T00:00:00.000000000Z"

static void csv_is_safe(void **state)
{
	expect(*state, "csv", false,
	       CSV_HEAD "1,1.5," EPOCH ",plain\n"
			"-1,-0.1,2026-11-15T04:05:06.123456789Z,'=1+1\n"
			",,,\n"
			"9223372036854775807,1e+300,1969-12-31T23:59:59.999999999Z,'+1\n"
			"-9223372036854775808,3.0,1677-09-21T00:12:43.145224192Z,'-1\n"
			"0,0.1,2262-04-11T23:47:16.854775807Z,'@x\n"
			"0,0.0,2000-02-29T00:00:00.000000000Z,'\t=1\n"
			"0,0.0," EPOCH ",\"'\r=1\"\n"
			"0,0.0," EPOCH ",\"\"\n"
			"0,0.0," EPOCH ",\"a,b\"\"c\"\"\nd\"\n"
			"0,0.0," EPOCH ",gr\xc3\xbc\xc3\x9f\n"
			"0,0.0," EPOCH ",bad \xef\xbf\xbd\n"
			"0,0.0," EPOCH ",plain\n"
			"0,0.0," EPOCH ",'quoted\n");
}

static void csv_is_raw(void **state)
{
	expect(*state, "csv", true,
	       CSV_HEAD "1,1.5," EPOCH ",plain\n"
			"-1,-0.1,2026-11-15T04:05:06.123456789Z,=1+1\n"
			",,,\n"
			"9223372036854775807,1e+300,1969-12-31T23:59:59.999999999Z,+1\n"
			"-9223372036854775808,3.0,1677-09-21T00:12:43.145224192Z,-1\n"
			"0,0.1,2262-04-11T23:47:16.854775807Z,@x\n"
			"0,0.0,2000-02-29T00:00:00.000000000Z,\t=1\n"
			"0,0.0," EPOCH ",\"\r=1\"\n"
			"0,0.0," EPOCH ",\"\"\n"
			"0,0.0," EPOCH ",\"a,b\"\"c\"\"\nd\"\n"
			"0,0.0," EPOCH ",gr\xc3\xbc\xc3\x9f\n"
			"0,0.0," EPOCH ",bad \xff\n"
			"0,0.0," EPOCH ",plain\n"
			"0,0.0," EPOCH ",'quoted\n");
}

#define KEY "\"a \\\"text\\\", quoted\":"
#define ROW0 "{\"n\":0,\"x\":0.0,\"at\":\"" EPOCH "\"," KEY

static void json_lines(void **state)
{
	expect(*state, "jsonl", false,
	       "{\"n\":1,\"x\":1.5,\"at\":\"" EPOCH "\"," KEY "\"plain\"}\n"
	       "{\"n\":-1,\"x\":-0.1,\"at\":\"2026-11-15T04:05:06.123456789Z\"," KEY "\"=1+1\"}\n"
	       "{\"n\":null,\"x\":null,\"at\":null," KEY "null}\n"
	       "{\"n\":9223372036854775807,\"x\":1e+300,\"at\":\"1969-12-31T23:59:59.999999999Z\"," KEY
	       "\"+1\"}\n"
	       "{\"n\":-9223372036854775808,\"x\":3.0,\"at\":\"1677-09-21T00:12:43.145224192Z\"," KEY
	       "\"-1\"}\n"
	       "{\"n\":0,\"x\":0.1,\"at\":\"2262-04-11T23:47:16.854775807Z\"," KEY "\"@x\"}\n"
	       "{\"n\":0,\"x\":0.0,\"at\":\"2000-02-29T00:00:00.000000000Z\"," KEY
	       "\"\\t=1\"}\n" ROW0 "\"\\r=1\"}\n" ROW0 "\"\"}\n" ROW0 "\"a,b\\\"c\\\"\\nd\"}\n" ROW0
	       "\"gr\xc3\xbc\xc3\x9f\"}\n" ROW0
	       "\"bad \xef\xbf\xbd\",\"a \\\"text\\\", quoted_b64\":\"YmFkIP8=\"}\n" ROW0
	       "\"plain\"}\n" ROW0 "\"'quoted\"}\n");
}

static void no_numbers(void **state)
{
	static const struct table_column one[] = {{"x", TABLE_REAL, NULL}};
	const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
	const struct {
		const char *format, *want;
	} cases[] = {{"csv", "x\nNaN\ninf\n-inf\n"},
		     {"json", "[\n{\"x\":null},\n{\"x\":null},\n{\"x\":null}\n]\n"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
		_cleanup_free_ char *path = xasprintf("%s/numbers", (char *)*state);
		const struct table_format *f = table_format_by_name(cases[i].format);
		const struct table_values v = {.reals = values};
		const struct table_batch b = {ARRAY_SIZE(values), &v};
		const struct table_options o = {.table = "t"};
		struct table_file *file = NULL;

		assert_int_equal(table_open(&file, f, path, one, 1, &o, &why), 0);
		assert_int_equal(table_write(file, &b, &why), 0);
		assert_int_equal(table_close(file, &why), 0);
		assert_int_equal(fs_read(AT_FDCWD, path, 1 << 20, &got), 0);
		assert_string_equal(got.buf, cases[i].want);
	}
}

/* ---- pickles --------------------------------------------------------------------------------- */

#define BYTES8(n) "\x8e" n "\0\0\0\0\0\0\0"
#define STR(n, s) "X" n "\0\0\0" s
#define ARRAY "cnumpy\nfrombuffer\n"
#define END(n, type) STR(n, type) "\x86R"

static void pickle_of_a_frame(void **state)
{
	static const struct table_column four[] = {{"n", TABLE_INT, NULL},
						   {"m", TABLE_INT, NULL},
						   {"t", TABLE_TIME, NULL},
						   {"s", TABLE_TEXT, NULL}};
	/* two batches, of two rows and of one */
	static const char want[] =
		"\x80\x04"
		"cpandas\nDataFrame\n}(" STR("\1", "n") ARRAY BYTES8(
			"\x18") "\1\0\0\0\0\0\0\0"
				"\2\0\0\0\0\0\0\0"
				"\3\0\0\0\0\0\0\0" END("\3", "<i8") STR("\1", "m") "cpandas.arrays\nIntegerArray\n" ARRAY BYTES8(
					"\x18") "\7\0\0\0\0\0\0\0"
						"\0\0\0\0\0\0\0\0"
						"\x8\0\0\0\0\0\0\0" END("\3", "<i8") ARRAY BYTES8(
							"\3") "\0\1\0" END("\1",
									   "?") "\x88\x87R" STR("\1",
												"t") "cpandas\narray\n" ARRAY
							BYTES8("\x18") "\x5\0\0\0\0\0\0\0"
								       "\0\0\0\0\0\0\0\x80"
								       "\x6\0\0\0\0\0\0\0" END(
									       "\7", "<M8[ns]")
									       STR("\x13", "datetime64[ns, UTC]") "\x86R" STR(
										       "\1",
										       "s") "](" STR("\1",
												     "a") "r\0\0\0\0"
													  "j\0\0\0\0"
													  "e(Ne"
													  "u\x85R.";
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/pickle", (char *)*state);
	const struct table_options o = {.table = "t"};
	const struct table_format *f = table_format_by_name("pickle");
	struct table_file *file = NULL;
	struct table_builder b;
	struct table_batch part;

	assert_int_equal(table_open(&file, f, path, four, ARRAY_SIZE(four), &o, &why), 0);
	table_builder_init(&b, four, ARRAY_SIZE(four), 2);
	for (int i = 0; i < 3; i++) {
		table_builder_int(&b, 0, i + 1);
		if (i == 1) {
			table_builder_absent(&b, 1);
			table_builder_absent(&b, 2);
		} else {
			table_builder_int(&b, 1, 7 + i / 2);
			table_builder_int(&b, 2, 5 + i / 2);
		}
		if (i == 2)
			table_builder_absent(&b, 3);
		else
			table_builder_text(&b, 3, "a", 1);
		table_builder_row(&b);
		if (i == 0)
			continue;
		table_builder_take(&b, &part);
		assert_int_equal(table_write(file, &part, &why), 0);
		table_builder_begin(&b);
	}
	table_builder_release(&b);
	assert_int_equal(table_close(file, &why), 0);
	assert_int_equal(fs_read(AT_FDCWD, path, 1 << 20, &got), 0);
	assert_int_equal(got.len, sizeof(want) - 1);
	assert_memory_equal(got.buf, want, sizeof(want) - 1);
}

static void codecs_are_refused(void **state)
{
	static const char *const formats[] = {"csv", "json", "jsonl", "pickle", "sqlite", "hdf5"};
	const struct table_options o = {.table = "t", .codec = "lz4"};
	_cleanup_free_ char *path = xasprintf("%s/none", (char *)*state);

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		assert_int_equal(write_rows(table_format_by_name(formats[i]), path, 5, &o),
				 -EINVAL);
		assert_int_equal(access(path, F_OK), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(csv_is_safe, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(csv_is_raw, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(json_lines, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(no_numbers, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(pickle_of_a_frame, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(codecs_are_refused, scratch_setup,
						scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
