/*
 * Files that are kept open, lines, words and numbers in their texts, and counters that wrap or
 * start again.
 */
#include "tree.h"

#include <inttypes.h>

#include "core/files/cached_file.h"
#include "samples/sample.h"

#define assert_value(got, want)                                                       \
	do {                                                                          \
		int64_t got_ = (got), want_ = (want);                                 \
		if (got_ != want_)                                                    \
			fail_msg(#got " is %" PRId64 ", want %" PRId64, got_, want_); \
	} while (0)

static void kept_files(void **state)
{
	struct cached_file k;

	(void)state;
	cached_file_init(&k, "%s/file", tree);
	assert_int_equal(cached_file_read(&k), -ENOENT);
	assert_int_equal(k.len, 0);
	assert_string_equal(k.text, "");
	put("file", "one\n");
	assert_int_equal(cached_file_read(&k), 0);
	assert_string_equal(k.text, "one\n");
	/* a NUL is no end */
	_cleanup_free_ char *path = xasprintf("%s/file", tree);
	write_file(path, "a\0b\n\0", 5);
	assert_int_equal(cached_file_read(&k), 0);
	assert_int_equal(k.len, 5);
	assert_string_equal(k.text, "a?b\n?");
	/* the same descriptor sees what is there now, longer than any buffer before */
	char *large = xmalloc(300001);
	memset(large, 'x', 300000);
	large[300000] = 0;
	put("file", large);
	assert_int_equal(cached_file_read(&k), 0);
	assert_int_equal(k.len, 300000);
	assert_int_equal(k.text[k.len], 0);
	free(large);
	cached_file_release(&k);
	cached_file_release(&k);

	/* what is no file is refused, and does not block */
	_cleanup_free_ char *fifo = xasprintf("%s/fifo", tree);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	cached_file_init(&k, "%s", fifo);
	assert_int_equal(cached_file_read(&k), -EINVAL);
	cached_file_release(&k);
	cached_file_init(&k, "%s", tree);
	assert_int_equal(cached_file_read(&k), -EINVAL);
	cached_file_release(&k);
	/* a file that cannot be read at its start */
	cached_file_init(&k, "/proc/self/mem");
	assert_int_equal(cached_file_read(&k), -EIO);
	assert_int_equal(k.file.fd, -1);
	cached_file_release(&k);
}

static void lines_and_words(void **state)
{
	static const char text[] =
		"a  1\t22 x9 -3\n\n9223372036854775799 9223372036854775808\ncut 1";
	struct words t = {text, text + sizeof(text) - 1}, line, word;
	uint64_t v = 7;

	(void)state;
	assert_true(line_next(&t, &line));
	assert_true(word_next(&line, &word));
	assert_true(word_is(&word, "a"));
	assert_false(word_is(&word, "aa"));
	assert_false(word_begins(&word, "aa"));
	assert_true(number_next(&line, &v) && v == 1);
	assert_true(number_next(&line, &v) && v == 22);
	assert_false(number_next(&line, &v)); /* x9 is taken all the same */
	assert_false(number_next(&line, &v)); /* -3 */
	assert_false(number_next(&line, &v));
	assert_int_equal(v, 22);
	assert_true(line_next(&t, &line));
	assert_false(word_next(&line, &word));
	assert_true(line_next(&t, &line));
	assert_true(number_next(&line, &v) && v == 9223372036854775799ull);
	assert_false(number_next(&line, &v)); /* does not fit into 63 bits */
	assert_false(line_next(&t, &line));   /* no newline: cut off */

	static const struct {
		const char *text;
		long want; /* -1: none */
	} numbers[] = {{"0.07", 7},    {"avg10=12.50", 1250},
		       {"1.5", -1},    {"1.555", -1},
		       {"avg10=", -1}, {".50", -1},
		       {"x.50", -1},   {"12", -1},
		       {"1.x0", -1},   {"99999999999.00", -1},
		       {"=0.10", 10},  {"", -1}};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct words w = {numbers[i].text, numbers[i].text + strlen(numbers[i].text)};
		bool good = hundredths(&w, &v);

		if (good != (numbers[i].want >= 0) || (good && (long)v != numbers[i].want))
			fail_msg("'%s' is taken as %d %" PRIu64, numbers[i].text, good, v);
	}
}

static void counters_go_on(void **state)
{
	struct unwrap u = {0};

	(void)state;
	assert_value((int64_t)count_on(&u, 4294967000u, false), 4294967000);
	/* a wrap at 2^32: 296 to the limit, 100 behind it */
	assert_value((int64_t)count_on(&u, 100, false), 4294967396);
	assert_value((int64_t)count_on(&u, 150, false), 4294967446);
	/* a fall from far below the limit is no wrap: it goes on */
	assert_value((int64_t)count_on(&u, 20, false), 4294967446);
	assert_value((int64_t)count_on(&u, 30, false), 4294967456);
	/* known to be another thing: whatever the value, it goes on */
	assert_value((int64_t)count_on(&u, 5000000000, true), 4294967456);
	assert_value((int64_t)count_on(&u, 5000000001, false), 4294967457);
	/* from above 32 bits a fall is never a wrap */
	assert_value((int64_t)count_on(&u, 7, false), 4294967457);
	/* never beyond what a value can hold */
	assert_value((int64_t)count_on(&u, INT64_MAX, false), INT64_MAX);
	assert_value((int64_t)count_on(&u, 0, false), INT64_MAX);
	assert_value((int64_t)count_on(&u, INT64_MAX, false), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(kept_files),
		cmocka_unit_test(lines_and_words),
		cmocka_unit_test(counters_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
