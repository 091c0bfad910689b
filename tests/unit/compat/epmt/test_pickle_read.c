/*
 * The reader of Python pickles: what Python writes is read, and what became of it by damage is read
 * or refused without harm. The fixtures are those of tests/fixtures/pickles.
 */
#include "pickle.h"
#include "pickles.h"

/* ---- what Python writes --------------------------------------------------------------------- */

static void every_protocol(void **state)
{
	(void)state;
	for (size_t i = 0; i < pickle_count; i++) {
		const struct pickle_fixture *f = &pickles[i];
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct value *v = NULL;

		if (read_exactly(f->data, f->size, &v, &why) != 0)
			fail_msg("%s, protocol %d: %s", f->name, f->protocol, why.buf);
		char *got = json_of(v);
		if (strcmp(got, f->json) != 0)
			fail_msg("%s, protocol %d:\ngot  %s\nwant %s", f->name, f->protocol, got,
				 f->json);
		free(got);
		value_free(v);
	}
}

static void kinds_are_kept(void **state)
{
	_cleanup_value_ struct value *v = NULL;

	(void)state;
	for (size_t i = 0; i < pickle_count; i++) {
		const struct pickle_fixture *f = &pickles[i];

		if (strcmp(f->name, "bytes") != 0 && strcmp(f->name, "times") != 0)
			continue;
		value_free(v);
		v = NULL;
		assert_int_equal(read_exactly(f->data, f->size, &v, NULL), 0);
		if (!strcmp(f->name, "bytes")) {
			assert_int_equal(value_get(v, "some")->kind, VALUE_BYTES);
			continue;
		}
		assert_int_equal(value_get(v, "naive")->kind, VALUE_TIME);
		assert_false(value_get(v, "naive")->time.has_zone);
		assert_true(value_get(v, "utc")->time.has_zone);
		assert_int_equal(value_get(v, "west")->time.offset_s, -8 * 3600);
		assert_int_equal(value_get(v, "span")->kind, VALUE_DELTA);
		assert_int_equal(value_get(v, "zone")->kind, VALUE_ZONE);
	}
}

static void instructions_that_python_seldom_writes(void **state)
{
	(void)state;
	CHECK("(I1\nI2\nl.", "[1,2]");
	CHECK("(I1\nI2\nt.", "[1,2]");
	CHECK("(S'a'\nI1\nd.", "{\"a\":1}");
	CHECK("I1\n0I2\n.", "2");      /* POP */
	CHECK("I7\n(I1\nI2\n1.", "7"); /* POP_MARK */
	CHECK("I1\n2\x86.", "[1,1]");  /* DUP */
	CHECK("L-5L\n.", "-5");
	CHECK("L5\n.", "5");
	CHECK("I00\n.", "false");
	CHECK("I01\n.", "true");
	CHECK("I0\n.", "0");
	CHECK("\x8a\x00.", "0"); /* LONG1 of no bytes */
	CHECK("\x8a\x01\xff.", "-1");
	CHECK("\x8a\x02\xff\x00.", "255");
	CHECK("\x8b\x02\x00\x00\x00\x00\x80.", "-32768");
	CHECK("U\x03"
	      "abc.",
	      "\"abc\"");
	CHECK("T\x03\x00\x00\x00"
	      "abc.",
	      "\"abc\"");
	CHECK("\x8d\x03\x00\x00\x00\x00\x00\x00\x00"
	      "abc.",
	      "\"abc\"");
	CHECK("\x8e\x03\x00\x00\x00\x00\x00\x00\x00"
	      "abc.",
	      "\"abc\"");
	CHECK("I5\np9\n0g9\n.", "5");
	CHECK("I5\nr\x00\x01\x00\x00"
	      "0j\x00\x01\x00\x00.",
	      "5");
	CHECK("I5\n.trailing bytes are not looked at", "5");
	CHECK("\x80\x05\x95\xff\xff\xff\xff\xff\xff\xff\xffN.",
	      "null"); /* nor is the size of a frame */
}

static void quoted_texts(void **state)
{
	(void)state;
	CHECK("S'\\x41\\n\\t\\r\\\\\\'\\\"'\n.", "\"A\\n\\t\\r\\\\'\\\"\"");
	CHECK("S\"it's\"\n.", "\"it's\"");
	CHECK("S''\n.", "\"\"");
	REFUSE("S'\n.", -EBADMSG, "quotes");
	REFUSE("S\n.", -EBADMSG, "quotes");
	REFUSE("Sabc\n.", -EBADMSG, "quotes");
	REFUSE("S'abc\"\n.", -EBADMSG, "quotes");
	REFUSE("S'a\\'\n.", -EBADMSG, "escape");
	REFUSE("S'\\x4'\n.", -EBADMSG, "escape");
	REFUSE("S'\\xzz'\n.", -EBADMSG, "escape");
	REFUSE("S'\\q'\n.", -EBADMSG, "escape");
	REFUSE("S'abc'", -EBADMSG, "line is not terminated");
}

static void raw_unicode(void **state)
{
	(void)state;
	CHECK("Va\\u00e4\\U0001f6a2\xe4\n.", "\"a\xc3\xa4\xf0\x9f\x9a\xa2\xc3\xa4\"");
	CHECK("V\\n\\\n.", "\"\\\\n\\\\\"");
	REFUSE("V\\U00110000\n.", -EBADMSG, "character");
	REFUSE("V\\u00zz\n.", -EBADMSG, "character");
}

/* ---- damage of all kinds -------------------------------------------------------------------- */

static void cut_at_every_length(void **state)
{
	(void)state;
	for (size_t i = 0; i < pickle_count; i++) {
		if (!str_prefix(pickles[i].name, "long"))
			for (size_t n = 0; n < pickles[i].size; n++) {
				struct value *v = NULL;

				if (read_exactly(pickles[i].data, n, &v, NULL) != -EBADMSG)
					fail_msg("%s, protocol %d, cut to %zu", pickles[i].name,
						 pickles[i].protocol, n);
			}
	}
}

static void random_mutations(void **state)
{
	uint64_t seed = 20261115;
	unsigned good = 0, rounds = 10000;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		const struct pickle_fixture *f = &pickles[random_next(&seed) % pickle_count];
		struct value *v = NULL;

		if (str_prefix(f->name, "long"))
			continue;
		char *copy = exact_copy(f->data, f->size);
		for (unsigned i = 0, n = 1 + (unsigned)(random_next(&seed) % 4); i < n; i++)
			copy[random_next(&seed) % f->size] = (char)random_next(&seed);
		int r = pickle_read(copy, f->size, &v, NULL);
		free(copy);
		if (r != 0) {
			assert_true(r == -EBADMSG || r == -EPERM || r == -E2BIG);
			assert_null(v);
			continue;
		}
		/* whatever it is, it can be written in every form */
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
		free(json_of(v));
		value_to_python(v, &text, true);
		pickle_write(v, &again);
		value_free(v);
		assert_int_equal(read_exactly(again.buf, again.len, &v, NULL), 0);
		value_free(v);
		good++;
	}
	/* changed texts and numbers are still data */
	assert_true(good > 100 && good < rounds / 2);
}

/* ---- real files ----------------------------------------------------------------------------- */

static unsigned real_files, real_failures;

static int try_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	if (type != FTW_F || strcmp(path + at->base, "job_metadata") != 0)
		return 0;
	size_t n = (size_t)st->st_size;
	_cleanup_free_ char *data = malloc(n + 1);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, data, n + 1), (ssize_t)n);
	real_files++;
	if (pickle_read(data, n, &v, &why) < 0 || !value_get_str(v, "job_pl_id")) {
		print_error("%s: %s\n", path, why.buf);
		real_failures++;
	}
	return 0;
}

static void files_of_real_jobs(void **state)
{
	const char *data = getenv("PLIMSOLL_TEST_DATA"), *source = getenv("PL_SOURCE");

	(void)state;
	_cleanup_free_ char *path = data     ? xasprintf("%s/epmt", data)
				    : source ? xasprintf("%s/../shared/data/epmt", source)
					     : NULL;
	if (!path || access(path, R_OK) != 0) {
		free(path);
		path = NULL;
		skip_because("no sample data beside the project");
	}
	assert_int_equal(nftw(path, try_file, 16, FTW_PHYS), 0);
	assert_int_equal(real_failures, 0);
	assert_true(real_files > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_protocol),
		cmocka_unit_test(kinds_are_kept),
		cmocka_unit_test(instructions_that_python_seldom_writes),
		cmocka_unit_test(quoted_texts),
		cmocka_unit_test(raw_unicode),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(random_mutations),
		cmocka_unit_test(files_of_real_jobs),
	};
	return cmocka_run_group_tests(tests, pickles_load, pickles_free);
}
