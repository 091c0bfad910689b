/* Bytes from outside on their way to terminals, JSON, shells and CSV; times, durations and sizes.
 */
#include "unit.h"

#include <math.h>
#include <sys/wait.h>

#include "core/text/text.h"

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

static void every_character(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (unsigned c = 0; c < 0x110000; c++) {
		size_t want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		bool surrogate = c >= 0xd800 && c < 0xe000;

		strbuf_reset(&sb);
		text_add_utf8(&sb, c);
		if (sb.len != want || utf8_sequence(sb.buf, sb.len) != (surrogate ? 0 : want))
			fail_msg("U+%04X", c);
		/* cut off it is none, and what follows does not matter */
		if (want > 1 && utf8_sequence(sb.buf, want - 1) != 0)
			fail_msg("U+%04X, cut", c);
		strbuf_addch(&sb, 'x');
		if (!surrogate && utf8_sequence(sb.buf, sb.len) != want)
			fail_msg("U+%04X, followed", c);
	}
}

static void sequences_that_are_none(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc3\x28",
		"\xe2\x28\xa1",
		"\xe2\x82\x28",
		"\xf0\x90\x28\xbc",
		"\xc3",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(utf8_sequence(bad[i], strlen(bad[i])), 0);
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
	}
	assert_int_equal(utf8_sequence("", 0), 0);
	assert_int_equal(utf8_sequence("\0", 1), 1);
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa2", 11));
	assert_false(utf8_valid("abc\xff"
				"def",
				7));
}

static void widths(void **state)
{
	(void)state;
	assert_int_equal(text_width("", 0), 0);
	assert_int_equal(text_width("abc", 3), 3);
	assert_int_equal(text_width("a\xc3\xa4\xe2\x82\xac", 6), 3);
}

/* ---- escapes -------------------------------------------------------------------------------- */

static void for_terminals(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_printable(&sb, "plain \xc3\xa4 \xf0\x9f\x9a\xa2", 13);
	assert_text(&sb, "plain \xc3\xa4 \xf0\x9f\x9a\xa2");
	strbuf_reset(&sb);
	/* nothing that moves the cursor, sets a title or ends a line: C0, DEL, C1 and bad bytes */
	text_add_printable(&sb, "\x1b[31m\n\r\t\0\x7f\xc2\x9b\xff\xc2\xa0", 15);
	assert_text(&sb, "\\x1b[31m\\x0a\\x0d\\x09\\x00\\x7f\\xc2\\x9b\\xff\xc2\xa0");
}

static void for_json(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_json(&sb, "a\"b\\c/d\b\f\n\r\t\x01\x1f\x7f\0z", 17);
	assert_text(&sb, "a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\\u0000z");
	strbuf_reset(&sb);
	text_add_json(&sb,
		      "\xc3\xa4\xff\xe2\x82"
		      "x\xed\xa0\x80",
		      9);
	/* a replacement for each byte that is part of no character */
	assert_text(&sb, "\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd"
			 "\xef\xbf\xbd");
}

static void base64(void **state)
{
	static const char *const cases[][2] = {{"", ""},
					       {"f", "Zg=="},
					       {"fo", "Zm8="},
					       {"foo", "Zm9v"},
					       {"foob", "Zm9vYg=="},
					       {"fooba", "Zm9vYmE="},
					       {"foobar", "Zm9vYmFy"},
					       {"\xff\xfe\xfd\xfb\xef\xbf", "//79++/v"}};
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i + 1 < ARRAY_SIZE(cases); i++) {
		strbuf_reset(&sb);
		text_add_base64(&sb, cases[i][0], strlen(cases[i][0]));
		assert_string_equal(sb.buf, cases[i][1]);
	}
	strbuf_reset(&sb);
	text_add_base64(&sb, "\xfb\xff\xbf\0", 4);
	assert_string_equal(sb.buf, "+/+/AA==");
}

static void for_csv(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_csv(&sb, "plain text; 'x'", 15);
	assert_text(&sb, "plain text; 'x'");
	strbuf_reset(&sb);
	text_add_csv(&sb, "a,b", 3);
	strbuf_addch(&sb, '|');
	text_add_csv(&sb, "say \"x\"", 7);
	strbuf_addch(&sb, '|');
	text_add_csv(&sb, "two\nlines", 9);
	strbuf_addch(&sb, '|');
	text_add_csv(&sb, "cr\r", 3);
	strbuf_addch(&sb, '|');
	text_add_csv(&sb, "", 0);
	assert_text(&sb, "\"a,b\"|\"say \"\"x\"\"\"|\"two\nlines\"|\"cr\r\"|");
}

static void wrapped(const char *text, size_t indent, size_t width, const char *want)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	text_add_wrapped(&sb, text, indent, width);
	assert_string_equal(sb.buf, want);
}

static void in_lines(void **state)
{
	(void)state;
	wrapped("", 2, 20, "");
	wrapped("one two three", 0, 80, "one two three");
	wrapped("one two three", 0, 7, "one two\nthree");
	wrapped("one two three", 2, 9, "one two\n  three");
	wrapped("one  two\nthree", 0, 80, "one two three");
	/* a word that fits nowhere has a line of its own */
	wrapped("a incomprehensibilities b", 4, 10, "a\n    incomprehensibilities\n    b");
	/* columns, not bytes */
	wrapped("\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6", 0, 5, "\xc3\xa4\xc3\xa4 \xc3\xb6\xc3\xb6");
}

/* ---- shells --------------------------------------------------------------------------------- */

static void for_sh(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_shell(&sb, "/usr/bin/env_1:2,3+4@5%6=7-x");
	assert_text(&sb, "/usr/bin/env_1:2,3+4@5%6=7-x");
	strbuf_reset(&sb);
	text_add_shell(&sb, "");
	assert_text(&sb, "''");
	strbuf_reset(&sb);
	text_add_shell(&sb, "it's");
	assert_text(&sb, "'it'\\''s'");
	strbuf_reset(&sb);
	text_add_shell(&sb, "~user");
	assert_text(&sb, "'~user'");
}

/* What the shell makes of our quotes is what went in. */
static void sh_agrees(void **state)
{
	static const char *const texts[] = {
		"",          "plain", "two words", "it's",         "''",
		"\"$HOME\"", "`id`",  "$(id)",     "a\nb\n",       "\\",
		"\\n",       "*",     "~",         "#x",           "a;b&c|d",
		"!history",  "-n",    "=x",        "\xff\xc3\xa4", "'\\''",
		"\t",        "{a,b}", "<>",        "a=b c",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_strbuf_ struct strbuf command = STRBUF_INIT;
		char got[256];

		strbuf_addstr(&command, "printf '%s.' ");
		text_add_shell(&command, texts[i]);
		FILE *f = popen(command.buf, "re");
		assert_non_null(f);
		size_t n = fread(got, 1, sizeof(got), f);
		assert_int_equal(pclose(f), 0);
		assert_int_equal(n, strlen(texts[i]) + 1);
		assert_memory_equal(got, texts[i], n - 1);
	}
}

static void for_csh_and_fish(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	text_add_csh(&sb, "it's $x !y\nz");
	assert_text(&sb, "'it'\\''s $x \\!y\\\nz'");
	strbuf_reset(&sb);
	text_add_csh(&sb, "");
	assert_text(&sb, "''");
	strbuf_reset(&sb);
	text_add_fish(&sb, "it's \\ $x\n!");
	assert_text(&sb, "'it\\'s \\\\ $x\n!'");
}

/* ---- times ---------------------------------------------------------------------------------- */

static void times(void **state)
{
	static const struct {
		const char *zone;
		int64_t us;
		const char *local, *utc;
	} cases[] = {
		{"UTC0", 0, "1970-01-01T00:00:00.000000+00:00", "1970-01-01T00:00:00.000000Z"},
		{"CET-1", 1561715893880614, "2019-06-28T10:58:13.880614+01:00",
		 "2019-06-28T09:58:13.880614Z"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", 1561715893000001, "2019-06-28T11:58:13.000001+02:00",
		 "2019-06-28T09:58:13.000001Z"},
		{"EST5", 1561715893880614, "2019-06-28T04:58:13.880614-05:00",
		 "2019-06-28T09:58:13.880614Z"},
		{"NST3:30", 1561715893880614, "2019-06-28T06:28:13.880614-03:30",
		 "2019-06-28T09:58:13.880614Z"},
		{"IST-5:30", 0, "1970-01-01T05:30:00.000000+05:30", "1970-01-01T00:00:00.000000Z"},
		{"UTC0", -1, "1969-12-31T23:59:59.999999+00:00", "1969-12-31T23:59:59.999999Z"},
		{"UTC0", 951782400000000, "2000-02-29T00:00:00.000000+00:00",
		 "2000-02-29T00:00:00.000000Z"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

		setenv("TZ", cases[i].zone, 1);
		tzset();
		text_add_time(&sb, cases[i].us, false);
		assert_string_equal(sb.buf, cases[i].local);
		strbuf_reset(&sb);
		text_add_time(&sb, cases[i].us, true);
		assert_string_equal(sb.buf, cases[i].utc);
	}
}

static void durations(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{0, "0 s"},
		{1.5e-9, "0.0015 us"},
		{12.34e-6, "12.3 us"},
		{999.4e-6, "999 us"},
		{999.6e-6, "1 ms"},
		{0.0456, "45.6 ms"},
		{0.9994, "999 ms"},
		{0.9996, "1 s"},
		{1.234, "1.23 s"},
		{59.96, "60 s"},
		{99.9, "99.9 s"},
		{100, "1 min 40 s"},
		{125, "2 min 05 s"},
		{3599.4, "59 min 59 s"},
		{3600, "1 h 00 min"},
		{7380, "2 h 03 min"},
		{86399, "23 h 59 min"},
		{86400, "1 d 00 h"},
		{86400 + 3600, "1 d 01 h"},
		{172799, "1 d 23 h"},
		{172800, "2 d 00 h"},
		{259200, "3 d 00 h"},
		{302400, "3 d 12 h"},
		{-1.5, "-1.5 s"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

		text_add_duration(&sb, cases[i].seconds);
		if (strcmp(sb.buf, cases[i].text) != 0)
			fail_msg("%.10g s: got '%s', want '%s'", cases[i].seconds, sb.buf,
				 cases[i].text);
	}
}

static void sizes(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1, "1 B"},
		{1000, "1000 B"},
		{1023, "1023 B"},
		{1024, "1 KiB"},
		{1536, "1.5 KiB"},
		{99.9 * 1024, "99.9 KiB"},
		{100 * 1024, "100 KiB"},
		{1023 * 1024, "1023 KiB"},
		{12.3 * 1048576, "12.3 MiB"},
		{5.0 * 1073741824, "5 GiB"},
		{1099511627776.0, "1 TiB"},
		{1125899906842624.0, "1 PiB"},
		{-1000, "-1000 B"},
		{-2048, "-2 KiB"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

		text_add_bytes(&sb, cases[i].bytes);
		assert_string_equal(sb.buf, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_character),  cmocka_unit_test(sequences_that_are_none),
		cmocka_unit_test(widths),           cmocka_unit_test(for_terminals),
		cmocka_unit_test(for_json),         cmocka_unit_test(base64),
		cmocka_unit_test(for_csv),          cmocka_unit_test(in_lines),
		cmocka_unit_test(for_sh),           cmocka_unit_test(sh_agrees),
		cmocka_unit_test(for_csh_and_fish), cmocka_unit_test(times),
		cmocka_unit_test(durations),        cmocka_unit_test(sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
