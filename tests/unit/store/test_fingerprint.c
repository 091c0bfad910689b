/* The shape of arguments, by which runs of the same thing are recognised. */
#include "unit.h"

#include "store/analysis/fingerprint.h"

#define SHAPE(arg, want)                                                           \
	do {                                                                       \
		struct strbuf out = STRBUF_INIT;                                   \
		argument_shape(&out, arg);                                         \
		if (strcmp(out.buf, want) != 0)                                    \
			fail_msg("'%s': got '%s', want '%s'", arg, out.buf, want); \
		strbuf_release(&out);                                              \
	} while (0)

static void options(void **state)
{
	(void)state;
	SHAPE("-v", "-v");
	SHAPE("-j8", "-j8");
	SHAPE("--verbose", "--verbose");
	SHAPE("--threads=64", "--threads=64");
	SHAPE("--input=/scratch/run17/in_003.nml", "--input=in_#.nml");
	SHAPE("--date=2026-11-18", "--date=#-#-#");
	SHAPE("-", "-");
	SHAPE("--", "--");
	SHAPE("-3", "-3");
	SHAPE("--x=", "--x=");
}

static void numbers(void **state)
{
	(void)state;
	SHAPE("64", "64");
	SHAPE("+1.5", "+1.5");
	SHAPE("-1.5e-6", "-1.5e-6");
	SHAPE(".5", ".5");
	SHAPE("10k", "10k");
	SHAPE("2Gi", "2Gi");
	SHAPE("1e", "1e");
	/* not numbers */
	SHAPE("2GiB", "#GiB");
	SHAPE("1.2.3", "#.#.#");
	SHAPE("20261118T0100", "#T#");
	SHAPE(".", ".");
	SHAPE("", "");
}

static void words(void **state)
{
	(void)state;
	SHAPE("input.nml", "input.nml");
	SHAPE("/scratch/u12/run_0017/input-3.nc4", "input-#.nc#");
	SHAPE("results/", "results");
	SHAPE("/", "");
	SHAPE("run17", "run#");
	/* code stays as it is */
	SHAPE("cd /tmp/run17 && ./x 8", "cd /tmp/run17 && ./x 8");
	SHAPE("\xff\x80 7", "\xff\x80 7");
	SHAPE("\xff\x80/7\xfe", "#\xfe");
}

static void differences(void **state)
{
	char command[] = "a 1", tags[] = "x:1", node[] = "", other[] = "b";
	const struct fingerprint f = {command, tags, node}, c = {other, tags, node},
				 t = {command, other, node}, n = {command, tags, other},
				 none = {NULL, tags, node};

	(void)state;
	assert_null(fingerprint_difference(&f, &f));
	assert_string_equal(fingerprint_difference(&f, &c), "command");
	assert_string_equal(fingerprint_difference(&f, &t), "tags");
	assert_string_equal(fingerprint_difference(&f, &n), "nodes");
	assert_string_equal(fingerprint_difference(&f, &none), "command");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options),
		cmocka_unit_test(numbers),
		cmocka_unit_test(words),
		cmocka_unit_test(differences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
