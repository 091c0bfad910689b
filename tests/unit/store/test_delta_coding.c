/* Numbers and times as the store keeps them: what goes in comes out, and SQL's arithmetic on what
 * is stored never leaves 64 bits. */
#include "unit.h"

#include <errno.h>

#include "store/delta_coding.h"

/* What the views compute, with every step checked. */
static void check_sql(int64_t base, int64_t step, size_t i, int64_t rest, int64_t want)
{
	int64_t line, sum;

	assert_false(__builtin_mul_overflow(step, (int64_t)i, &line));
	assert_false(__builtin_add_overflow(base, line, &sum));
	assert_false(__builtin_add_overflow(sum, rest, &sum));
	assert_int_equal(sum, want);
}

static void round_trip(const struct delta_coding *in)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct delta_coding out;
	int64_t base, step;

	delta_coding_encode(in, &base, &step, &text);
	_cleanup_free_ char *exact = exact_copy(text.buf, text.len);
	assert_int_equal(delta_coding_decode(&out, base, step, exact, text.len), 0);
	assert_int_equal(out.n, in->n);
	char *p = text.buf + 1;
	for (size_t i = 0; i < in->n; i++) {
		assert_int_equal(delta_coding_has(&out, i), delta_coding_has(in, i));
		if (!delta_coding_has(in, i)) {
			assert_int_equal(strncmp(p, "null", 4), 0);
			p += 5;
			continue;
		}
		assert_int_equal(out.v[i], in->v[i]);
		check_sql(base, step, i, strtoll(p, &p, 10), in->v[i]);
		p++;
	}
}

static void numbers_round_trip(void **state)
{
	uint64_t seed = 4711;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct delta_coding l = {.n = 1 + random_next(&seed) % DELTA_CODING_MAX};
		int shift = (int)(random_next(&seed) % 62) + 1;
		int64_t first = (int64_t)random_next(&seed) >> (random_next(&seed) % 63);
		int64_t slope = (int64_t)random_next(&seed) >> (random_next(&seed) % 40 + 16);

		for (size_t i = 0; i < l.n; i++) {
			int64_t v, difference;

			if (i && i + 1 < l.n && random_next(&seed) % 9 == 0)
				continue;
			v = (int64_t)((uint64_t)first + (uint64_t)slope * i +
				      (random_next(&seed) >> shift));
			/* as far apart as may be */
			if (__builtin_sub_overflow(v, first, &difference))
				v = first;
			delta_coding_put(&l, i, i ? v : first);
		}
		if (__builtin_sub_overflow(l.v[l.n - 1], l.v[0], &slope))
			continue;
		round_trip(&l);
	}
}

static void extremes(void **state)
{
	static const int64_t cases[][3] = {{INT64_MIN, INT64_MIN, INT64_MIN},
					   {INT64_MAX, INT64_MAX, INT64_MAX},
					   {INT64_MIN, -1, INT64_MIN},
					   {0, INT64_MAX, 0},
					   {INT64_MAX, 0, 1},
					   {-1, INT64_MAX - 1, INT64_MAX - 1},
					   {0, -INT64_MAX, -INT64_MAX},
					   {0, -INT64_MAX, INT64_MAX}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct delta_coding l = {.n = 3};

		for (size_t k = 0; k < 3; k++)
			delta_coding_put(&l, k, cases[i][k]);
		round_trip(&l);
	}
}

static void steady_ones_are_short(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct delta_coding l = {.n = 5};
	int64_t base, step;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		delta_coding_put(&l, i, 1000000000 + 12345 * (int64_t)i + (i == 2));
	delta_coding_encode(&l, &base, &step, &text);
	assert_text(&text, "[0,0,1,0,0]");
	assert_int_equal(base, 1000000000);
	assert_int_equal(step, 12345);
}

static void texts_that_are_no_arrays(void **state)
{
	static const char *const bad[] = {"",
					  "[",
					  "]",
					  "1",
					  "[1",
					  "1]",
					  "[1 ]",
					  "[ 1]",
					  "[x]",
					  "[1,,2]",
					  "[1;2]",
					  "[nul]",
					  "[null1]",
					  "[-]",
					  "[--1]",
					  "[1.5]",
					  "[,1]",
					  "[9223372036854775808]",
					  "[-9223372036854775809]",
					  "[99999999999999999999999]",
					  "[[1]]",
					  "{}"};
	_cleanup_strbuf_ struct strbuf long_one = STRBUF_INIT;
	struct delta_coding l;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *exact = exact_copy(bad[i], strlen(bad[i]));

		if (delta_coding_decode(&l, 0, 0, exact, strlen(bad[i])) != -EBADMSG)
			fail_msg("'%s' is taken", bad[i]);
	}
	strbuf_addch(&long_one, '[');
	for (unsigned i = 0; i <= DELTA_CODING_MAX; i++)
		strbuf_addstr(&long_one, i ? ",0" : "0");
	strbuf_addch(&long_one, ']');
	assert_int_equal(delta_coding_decode(&l, 0, 0, long_one.buf, long_one.len), -EBADMSG);
	assert_int_equal(delta_coding_decode(&l, 5, 0, "[]", 2), 0);
	assert_int_equal(l.n, 0);
}

static void times_round_trip(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (unsigned round = 0; round < 1000; round++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct delta_coding in = {.n = 1 + random_next(&seed) % DELTA_CODING_MAX}, out;
		uint64_t jitter = (uint64_t)1 << (random_next(&seed) % 52);
		int64_t first, step;
		size_t width;

		for (size_t i = 0; i < in.n; i++)
			delta_coding_put(&in, i,
					 1700000000000000 + 1000000 * (int64_t)i +
						 (int64_t)(random_next(&seed) % jitter) -
						 (int64_t)(jitter / 2));
		delta_coding_encode_times(&in, &first, &step, &width, &text);
		assert_int_equal(text.len, in.n * width);
		_cleanup_free_ char *exact = exact_copy(text.buf, text.len);
		assert_int_equal(
			delta_coding_decode_times(&out, first, step, width, exact, text.len), 0);
		assert_int_equal(out.n, in.n);
		for (size_t i = 0; i < in.n; i++) {
			char digits[24] = "";

			memcpy(digits, text.buf + i * width, width);
			check_sql(first, step, i, strtoll(digits, NULL, 10), in.v[i]);
			assert_int_equal(out.v[i], in.v[i]);
		}
	}
}

static void digits_that_are_none(void **state)
{
	struct delta_coding l;

	(void)state;
	assert_int_equal(delta_coding_decode_times(&l, 0, 0, 0, "123", 3), -EBADMSG);
	assert_int_equal(delta_coding_decode_times(&l, 0, 0, 2, "123", 3), -EBADMSG);
	assert_int_equal(delta_coding_decode_times(&l, 0, 0, 20, "12345678901234567890", 20),
			 -EBADMSG);
	assert_int_equal(delta_coding_decode_times(&l, 0, 0, 1, "1x", 2), -EBADMSG);
	assert_int_equal(delta_coding_decode_times(&l, 0, 0, 1, "", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_round_trip),    cmocka_unit_test(extremes),
		cmocka_unit_test(steady_ones_are_short), cmocka_unit_test(texts_that_are_no_arrays),
		cmocka_unit_test(times_round_trip),      cmocka_unit_test(digits_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
