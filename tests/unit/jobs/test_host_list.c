/* Hosts of a job: bracket lists, node files, names with and without a domain, and lists that are
 * made to eat memory or time. */
#include "unit.h"

#include <errno.h>

#include "jobs/host_list.h"

/* The names with a blank between them. */
static void joined(const struct host_list *l, struct strbuf *out)
{
	strbuf_reset(out);
	for (size_t i = 0; i < l->count; i++)
		strbuf_addf(out, "%s%s", i ? " " : "", l->names[i]);
}

static void check(const char *text, const char *want)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
	int r = host_list_parse(&l, text, &why);

	if (r < 0)
		fail_msg("'%s': %s", text, why.buf);
	joined(&l, &got);
	assert_string_equal(got.buf, want);
}

static void lists(void **state)
{
	(void)state;
	check("n1", "n1");
	check("n[1-3,7],m05", "n1 n2 n3 n7 m05");
	check("n[008-011]", "n008 n009 n010 n011");
	check("n[8-11]", "n8 n9 n10 n11");
	check("n[08-10]", "n08 n09 n10");
	check("n[1,3-4,2]", "n1 n3 n4 n2");
	check("rack[0-1]node[01-02]", "rack0node01 rack0node02 rack1node01 rack1node02");
	check("gpu[1-2]-ib.site,login", "gpu1-ib.site gpu2-ib.site login");
	check("n[1-2],n2,n[2-3],n1", "n1 n2 n3");
	check("[1-3]", "1 2 3");
	check("n[0]", "n0");
	check("a[1-2][3-4]b", "a13b a14b a23b a24b");
}

static void refused(const char *text, int error, const char *say)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;

	assert_int_equal(host_list_parse(&l, "before", &why), 0);
	int r = host_list_parse(&l, text, &why);
	if (r != -error)
		fail_msg("'%.60s' gave %d, not %d", text, r, -error);
	assert_contains(why.buf, say);
	/* what was there stays, and nothing of it */
	joined(&l, &got);
	assert_string_equal(got.buf, "before");
}

static void no_lists(void **state)
{
	static const char *const bad[] = {
		"",       "n1,",     ",n1",          "n1,,n2",    "n[",    "n]",     "n[]",
		"n[1",    "n[1-]",   "n[-1]",        "n[1,]",     "n[,1]", "n[3-1]", "n[1-3",
		"n[a-b]", "n[1[2]]", "n[1-2-3]",     "n[1:2]",    "n[ 1]", "n 1",    "n/1",
		"../n1",  "-n1",     "n\x01",        "n\xc3\xa4", "n;rm",  "n$(x)",  "n\n1",
		"n[1] ",  ".n",      "n[1234567890]"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refused(bad[i], EINVAL, "invalid host list");
}

static void bombs(void **state)
{
	_cleanup_strbuf_ struct strbuf long_name = STRBUF_INIT, same = STRBUF_INIT;
	double begin = cpu_seconds();

	(void)state;
	refused("n[0-999999999]", E2BIG, "too many hosts");
	refused("n[1-100000]", E2BIG, "too many hosts");
	refused("n[0-99][0-99][0-99][0-99][0-99]", E2BIG, "too many hosts");
	/* names that are all the same do not grow the list, and still cost time */
	for (int i = 0; i < 40; i++)
		strbuf_addstr(&same, "[1,1,1,1,1,1,1,1,1,1]");
	refused(same.buf, E2BIG, "too many hosts");
	for (int i = 0; i < 300; i++)
		strbuf_addch(&long_name, 'a');
	refused(long_name.buf, EINVAL, "aaaa...");
	strbuf_reset(&same);
	for (int i = 0; i < 10000; i++)
		strbuf_addstr(&same, "[1]");
	refused(same.buf, EINVAL, "invalid host list");
	if (cpu_seconds() - begin > 10)
		fail_msg("took %.1f s", cpu_seconds() - begin);
}

static void as_many_as_there_may_be(void **state)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_int_equal(host_list_parse(&l, "n[0-65535]", &why), 0);
	assert_int_equal(l.count, HOST_LIST_MAX);
	assert_string_equal(l.names[65535], "n65535");
	assert_int_equal(host_list_parse(&l, "m", &why), -E2BIG);
	assert_int_equal(l.count, HOST_LIST_MAX);
	assert_int_equal(host_list_parse(&l, "n[17-20]", &why), 0);
	assert_int_equal(l.count, HOST_LIST_MAX);
}

/* ---- node files ------------------------------------------------------------------------------ */

static int read_text(struct host_list *l, const char *dir, const char *text, size_t n,
		     struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s/nodes", dir);

	write_file(path, text, n);
	return host_list_read(l, path, why);
}
#define READ(l, dir, literal, why) read_text(l, dir, literal, sizeof(literal) - 1, why)

static void node_files(void **state)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;

	assert_int_equal(READ(&l, *state, "n2\nn2\nn1\nn1\nn2\n", &why), 0);
	joined(&l, &got);
	assert_string_equal(got.buf, "n2 n1");
	/* other forms: words behind the name, blank lines, no newline at the end, a file of Windows
	 */
	assert_int_equal(READ(&l, *state, "\n  n3 slots=4\n\t\nn1\r\nn4.site:", &why), -EINVAL);
	assert_contains(why.buf, "invalid host name in 'n4.site:'");
	assert_contains(why.buf, "/nodes");
	assert_int_equal(l.count, 2);
	assert_int_equal(READ(&l, *state, "\n  n3 slots=4\n\t\nn1\r\nn4.site", &why), 0);
	joined(&l, &got);
	assert_string_equal(got.buf, "n2 n1 n3 n4.site");
	/* those that are known already */
	assert_int_equal(READ(&l, *state, "n1\n", &why), 0);
	assert_int_equal(l.count, 4);
}

static void hostile_node_files(void **state)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *missing = xasprintf("%s/missing", (char *)*state);

	assert_int_equal(READ(&l, *state, "", &why), -EINVAL);
	assert_contains(why.buf, "no hosts");
	assert_int_equal(READ(&l, *state, "\n \n", &why), -EINVAL);
	assert_int_equal(READ(&l, *state, "n1\0n2\n", &why), -EINVAL);
	assert_int_equal(READ(&l, *state, "../../etc/passwd\n", &why), -EINVAL);
	assert_int_equal(READ(&l, *state, "n1\n\x1b[31mred\n", &why), -EINVAL);
	assert_null(strchr(why.buf, '\x1b'));
	assert_int_equal(host_list_read(&l, missing, &why), -ENOENT);
	assert_int_equal(host_list_read(&l, "/dev/zero", &why), -EINVAL);
	assert_int_equal(host_list_read(&l, *state, &why), -EINVAL);
	assert_int_equal(l.count, 0);
}

static void a_line_for_each_core(void **state)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;

	/* 2000 hosts go around 128 times */
	for (int i = 0; i < 256000; i++)
		strbuf_addf(&text, "n%04d\n", i % 2000);
	assert_int_equal(read_text(&l, *state, text.buf, text.len, &why), 0);
	assert_int_equal(l.count, 2000);
	assert_string_equal(l.names[0], "n0000");
	assert_string_equal(l.names[1999], "n1999");
}

static void places(void **state)
{
	_cleanup_host_list_ struct host_list l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_int_equal(host_list_parse(&l, "n1.a.org,n2,n3.a.org,n3.b.org,N4", &why), 0);
	assert_int_equal(host_list_find(&l, "n1.a.org"), 0);
	assert_int_equal(host_list_find(&l, "n1"), 0);
	assert_int_equal(host_list_find(&l, "n2.a.org"), 1);
	assert_int_equal(host_list_find(&l, "n3.b.org"), 3);
	assert_int_equal(host_list_find(&l, "n3"), 2);
	assert_int_equal(host_list_find(&l, "n4"), 4);
	/* another domain is another host; the beginning of a name is no name */
	assert_int_equal(host_list_find(&l, "n1.b.org"), -1);
	assert_int_equal(host_list_find(&l, "n"), -1);
	assert_int_equal(host_list_find(&l, "n11"), -1);
	assert_int_equal(host_list_find(&l, ""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(no_lists),
		cmocka_unit_test(bombs),
		cmocka_unit_test(as_many_as_there_may_be),
		cmocka_unit_test_setup_teardown(node_files, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(hostile_node_files, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_line_for_each_core, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
