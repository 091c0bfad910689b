/*
 * What tests of the reader and the writer of Python pickles share: a pickle is read from bytes that
 * end where it ends, and is compared as JSON or must be refused.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "compat/epmt/pickle/pickle.h"

static inline int read_exactly(const void *data, size_t n, struct value **ret, struct strbuf *why)
{
	char *copy = exact_copy(data, n);
	int r = pickle_read(copy, n, ret, why);

	free(copy);
	return r;
}

static inline char *json_of(const struct value *v)
{
	struct json_writer j = JSON_WRITER_INIT;

	value_to_json(v, &j, NULL);
	return strbuf_take(&j.out);
}

static inline void check(const void *data, size_t n, const char *json)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	if (read_exactly(data, n, &v, &why) != 0)
		fail_msg("%s", why.buf);
	_cleanup_free_ char *got = json_of(v);
	assert_string_equal(got, json);
	assert_int_equal(why.len, 0);
}

/* Out of line: the compiler would complain of strstr() with a part that is empty. */
__attribute__((noinline, unused)) static void refuse(const void *data, size_t n, int error,
						     const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = (struct value *)&why;
	int r = read_exactly(data, n, &v, &why);

	if (r == 0)
		value_free(v);
	if (r != error)
		fail_msg("got %d, want %d (%s): %s", r, error, why_has, why.buf);
	assert_ptr_equal(v, &why); /* untouched on failure */
	assert_true(str_prefix(why.buf, "byte "));
	assert_contains(why.buf, why_has);
	assert_int_equal(read_exactly(data, n, &v, NULL), error);
}

/* For literals with NUL bytes in them. */
#define CHECK(pickle, json) check(pickle, sizeof(pickle) - 1, json)
#define REFUSE(pickle, error, why) refuse(pickle, sizeof(pickle) - 1, error, why)
