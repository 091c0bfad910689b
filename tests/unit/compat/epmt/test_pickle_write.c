/*
 * The writer of Python pickles: what it writes is read again, by our reader and by Python. The
 * fixtures are those of tests/fixtures/pickles.
 */
#include "pickle.h"
#include "pickles.h"

static void what_is_written_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < pickle_count; i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		struct value *v = NULL;

		assert_int_equal(read_exactly(pickles[i].data, pickles[i].size, &v, NULL), 0);
		pickle_write(v, &out);
		assert_memory_equal(out.buf, "\x80\x03", 2);
		assert_int_equal(out.buf[out.len - 1], '.');
		check(out.buf, out.len, pickles[i].json);
		value_free(v);
	}
}

static void kinds_are_written(void **state)
{
	struct value *list = value_new(VALUE_LIST), *bytes = value_strn("\0\xff", 2);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	bytes->kind = VALUE_BYTES;
	value_append(list, bytes);
	value_append(list, value_new(VALUE_TUPLE));
	value_append(list, value_new(VALUE_DICT));
	value_append(list, value_new(VALUE_NONE));
	value_append(list, value_bool(false));
	value_append(list, value_int(-129));
	pickle_write(list, &out);
	value_free(list);
	_cleanup_value_ struct value *v = NULL;
	assert_int_equal(read_exactly(out.buf, out.len, &v, NULL), 0);
	static const enum value_kind kinds[] = {VALUE_BYTES, VALUE_TUPLE, VALUE_DICT,
						VALUE_NONE,  VALUE_BOOL,  VALUE_INT};
	assert_int_equal(v->list.count, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_int_equal(v->list.items[i]->kind, kinds[i]);
	assert_int_equal(v->list.items[0]->str.size, 2);
	assert_memory_equal(v->list.items[0]->str.data, "\0\xff", 2);
	assert_int_equal(v->list.items[5]->integer, -129);
}

/* The environment may hold any bytes; what `start` writes, `stop` reads and writes again. */
static void bytes_that_are_no_text_survive(void **state)
{
	static const char odd[] = "a\xff\xc3\xa4\xed\xb3\xbf\x80z";
	struct value *v = value_str(odd);

	(void)state;
	for (int round = 0; round < 3; round++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

		pickle_write(v, &out);
		value_free(v);
		assert_int_equal(read_exactly(out.buf, out.len, &v, NULL), 0);
		if (v->str.size != sizeof(odd) - 1 || memcmp(v->str.data, odd, v->str.size) != 0)
			fail_msg("%zu bytes became %zu in round %d", sizeof(odd) - 1, v->str.size,
				 round + 1);
	}
	value_free(v);
}

static int python(const char *program, const char *path)
{
	_cleanup_free_ char *command = xasprintf("python3 -c '%s' '%s' 2>/dev/null", program, path);

	return system(command);
}

/* And the one that all this is for agrees. */
static void python_reads_it(void **state)
{
	if (python("pass", "") != 0)
		skip_because("there is no python3");
	_cleanup_free_ char *path = xasprintf("%s/pickle", (char *)*state);
	for (size_t i = 0; i < pickle_count; i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		struct value *v = NULL;

		/* one protocol is enough: it is our bytes that Python reads */
		if (pickles[i].protocol != 3)
			continue;
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		assert_int_equal(read_exactly(pickles[i].data, pickles[i].size, &v, NULL), 0);
		pickle_write(v, &out);
		value_free(v);
		assert_int_equal(write(fd, out.buf, out.len), (ssize_t)out.len);
		assert_int_equal(write(fd, pickles[i].data, pickles[i].size),
				 (ssize_t)pickles[i].size);
		close(fd);
	}
	/* ours and its own by turns are equal */
	assert_int_equal(python("import pickle, sys\n"
				"f = open(sys.argv[1], \"rb\")\n"
				"n = 0\n"
				"while f.peek(1):\n"
				"    assert pickle.load(f) == pickle.load(f)\n"
				"    n += 1\n"
				"assert n > 5\n",
				path),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(kinds_are_written),
		cmocka_unit_test(bytes_that_are_no_text_survive),
		cmocka_unit_test_setup_teardown(python_reads_it, scratch_setup, scratch_teardown),
	};
	return cmocka_run_group_tests(tests, pickles_load, pickles_free);
}
