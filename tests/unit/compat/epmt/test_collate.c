/* Collation of papiex CSV files: what comes out, and which files are bad. */
#include "unit.h"

#include <errno.h>

#include "compat/epmt/papiex/collate.h"

static int add(struct collation *c, const char *text, struct strbuf *why)
{
	size_t n = strlen(text);
	char *copy = exact_copy(text, n);
	int r = collation_add(c, copy, n, why);

	free(copy);
	return r;
}

static void add_good(struct collation *c, const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (add(c, text, &why) != 0)
		fail_msg("'%s': %s", text, why.buf);
	assert_int_equal(why.len, 0);
}

static void add_bad(struct collation *c, const char *text, const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(add(c, text, &why), -EBADMSG);
	assert_contains(why.buf, why_has);
}

static void check(const struct collation *c, const char *want)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	collation_write(c, &out);
	assert_string_equal(out.buf, want);
}

static void comments_header_rows(void **state)
{
	struct collation c = COLLATION_INIT;

	(void)state;
	add_good(&c, "a,b,c\n1,2,3\n4,5,6\n");
	add_good(&c, "# tags x\na,b,c\n7,8,9");
	add_good(&c, "a,b,c\n# in between\n,,\n\n");
	check(&c, "# tags x\n# in between\na,b,c\n1,2,3\n4,5,6\n7,8,9\n,,\n");
	collation_release(&c);
}

static void a_header_alone_is_a_file(void **state)
{
	struct collation c = COLLATION_INIT;

	(void)state;
	add_good(&c, "a,b\n");
	check(&c, "a,b\n");
	collation_release(&c);
}

static void escaped_delimiters_do_not_count(void **state)
{
	struct collation c = COLLATION_INIT;

	(void)state;
	add_good(&c, "a,b\nx\\,y,z\n\\\\,w\n\\,\\,\\,,v\n");
	add_bad(&c, "a,b\nx\\,y\n", "0");
	add_bad(&c, "a,b\nx\\\\,y,z\n", "2");
	/* a backslash at the very end protects nothing */
	add_good(&c, "a,b\nx,y\\");
	check(&c, "a,b\nx\\,y,z\n\\\\,w\n\\,\\,\\,,v\nx,y\\\n");
	collation_release(&c);
}

static void bad_files_leave_nothing(void **state)
{
	struct collation c = COLLATION_INIT;

	(void)state;
	add_bad(&c, "", "no header");
	add_bad(&c, "\n\n", "no header");
	add_bad(&c, "# only a comment\n", "no header");
	/* the header of a bad file does not bind the others */
	add_bad(&c, "x,y,z\n1,2\n", "line 2");
	add_good(&c, "# good\na,b\n1,2\n");
	add_bad(&c, "# bad\na,c\n3,4\n", "line 2");
	add_bad(&c, "# bad\na,b,c\n3,4,5\n", "header");
	add_bad(&c, "# bad\na,b\n3,4\n5,6\n7\n", "line 5");
	add_bad(&c, "# bad\na,b\n3,4\n5,6,7\n", "2");
	add_good(&c, "a,b\n8,9\n");
	check(&c, "# good\na,b\n1,2\n8,9\n");
	collation_release(&c);
}

/* A growing string ends in a NUL, also after something was taken back. */
static void strings_keep_their_promise(void **state)
{
	struct collation c = COLLATION_INIT;

	(void)state;
	add_good(&c, "a,b\n1,2\n");
	add_bad(&c, "# bad\na,b\n3,4\n5\n", "line 4");
	assert_int_equal(c.rows.buf[c.rows.len], 0);
	assert_int_equal(c.comments.buf[c.comments.len], 0);
	assert_int_equal(c.header.buf[c.header.len], 0);
	collation_release(&c);
}

static void hosts_of_files(void **state)
{
	static const char *const cases[][2] = {
		{"pp053-papiex-615503-0.csv", "pp053"},
		{"pp053-collated-papiex-685000-0.csv", "pp053"},
		{"node-1.example.org-papiex-1-0.csv", "node-1.example.org"},
		{"host-papiex.tsv", "host"},
		{"host-papiex-header.tsv", "host"},
		{"papiex-1-0.csv", ""},
		{"a-collated-b-papiex-1-0.csv", "a"},
		{"something.csv", "something.csv"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *host = papiex_host_of(cases[i][0]);

		assert_string_equal(host, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comments_header_rows),
		cmocka_unit_test(a_header_alone_is_a_file),
		cmocka_unit_test(escaped_delimiters_do_not_count),
		cmocka_unit_test(bad_files_leave_nothing),
		cmocka_unit_test(strings_keep_their_promise),
		cmocka_unit_test(hosts_of_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
