/*
 * Files of /sys and /proc with one value: what is a number and what is none, descriptors that are
 * kept, and counters that are cleared.
 */
#include "tree.h"

#include <sys/resource.h>

#include "sources/sysfile.h"

static void numbers_and_what_is_none(void **state)
{
	static const struct {
		const char *text;
		int error;
		uint64_t value;
	} cases[] = {
		{"42\n", 0, 42},
		{"42", 0, 42},
		{"  7 \n", 0, 7},
		{"18446744073709551615\n", 0, UINT64_MAX},
		{"18446744073709551616\n", -ERANGE, 0},
		{"", -ENODATA, 0},
		{"\n", -ENODATA, 0},
		{"N/A (no PMA)\n", -ENODATA, 0},
		{"-1\n", -ENODATA, 0},
		{"0x10\n", -ENODATA, 0},
		{"1 2\n", -ENODATA, 0},
		{"12kB\n", -ENODATA, 0},
	};
	struct sysfile f;
	uint64_t v;

	(void)state;
	sysfile_init(&f, "%s/n", tree);
	assert_int_equal(sysfile_u64(&f, &v), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put("n", cases[i].text);
		v = 99;
		int r = sysfile_u64(&f, &v);
		if (r != cases[i].error)
			fail_msg("'%s': got %d", cases[i].text, r);
		assert_true(v == (r ? 99 : cases[i].value));
	}
	sysfile_close(&f);

	/* a NUL in the middle, more than a number has, a directory, a pipe */
	_cleanup_free_ char *path = xasprintf("%s/n", tree);
	write_file(path, "1\0002\n", 4);
	sysfile_init(&f, "%s", path);
	assert_int_equal(sysfile_u64(&f, &v), -ENODATA);
	char *digits = xmalloc(5001);
	memset(digits, '1', 5000);
	digits[5000] = 0;
	put("n", digits);
	free(digits);
	assert_int_equal(sysfile_u64(&f, &v), -ENODATA);
	sysfile_close(&f);
	sysfile_init(&f, "%s", tree);
	assert_int_equal(sysfile_u64(&f, &v), -EINVAL);
	sysfile_close(&f);
	sysfile_init(&f, "%s/pipe", tree);
	assert_int_equal(mkfifo(f.path, 0600), 0);
	assert_int_equal(sysfile_u64(&f, &v), -EINVAL);
	sysfile_close(&f);
}

static void descriptors_are_kept_up_to_a_limit(void **state)
{
	struct sysfile f[600];
	size_t before = open_descriptors();
	struct rlimit rl;
	uint64_t v;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	put("n", "5\n");
	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		sysfile_init(&f[i], "%s/n", tree);
		assert_int_equal(sysfile_u64(&f[i], &v), 0);
	}
	size_t kept = open_descriptors() - before;
	assert_in_range(kept, 100, rl.rlim_cur / 4);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		assert_int_equal(sysfile_u64(&f[i], &v), 0);
		assert_int_equal(v, 5);
		sysfile_close(&f[i]);
	}
	assert_int_equal(open_descriptors(), before);
}

static void whole_files_and_their_limit(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct sysfile f;
	char *text = xmalloc(50001);

	(void)state;
	memset(text, 'x', 50000);
	text[50000] = 0;
	put("long", text);
	sysfile_init(&f, "%s/long", tree);
	assert_int_equal(sysfile_whole(&f, 50000, &out), 0);
	assert_int_equal(out.len, 50000);
	assert_string_equal(out.buf, text);
	strbuf_reset(&out);
	assert_int_equal(sysfile_whole(&f, 49999, &out), -EFBIG);
	assert_int_equal(out.len, 0);
	sysfile_close(&f);
	free(text);
}

static void names_from_devices_are_made_harmless(void **state)
{
	char text[] = "  a\tb\n\x1b[31m  c\x7f \n";

	(void)state;
	sys_clean(text);
	assert_string_equal(text, "a b ?[31m c?");
}

static void counters_that_are_cleared_go_on(void **state)
{
	struct unwrap u = {0};

	(void)state;
	assert_int_equal(sys_grown(&u, 100), 100);
	assert_int_equal(sys_grown(&u, 150), 150);
	assert_int_equal(sys_grown(&u, 7), 157);
	assert_int_equal(sys_grown(&u, 9), 159);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(numbers_and_what_is_none),
		with_tree(descriptors_are_kept_up_to_a_limit),
		with_tree(whole_files_and_their_limit),
		with_tree(names_from_devices_are_made_harmless),
		with_tree(counters_that_are_cleared_go_on),
	};

	/* few enough that a test can have more files than may be kept */
	struct rlimit rl;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = 1024;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
