/*
 * Columnar files as a whole: what they begin and end with, codecs, tables without rows or columns,
 * texts that are too long for one page, and disks that are full. What readers of other makers find
 * in them is compared by tests/cli/readers.bats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "unit/support/table_fixture.h"

static char directory[64];

static const struct {
	const char *format, *codecs[3], *head, *tail;
} formats[] = {
	{"feather", {"lz4", "zstd", "none"}, "ARROW1", "ARROW1"},
	{"orc", {"zstd", "zlib", "none"}, "ORC", NULL},
	{"parquet", {"zstd", "snappy", "none"}, "PAR1", "PAR1"},
};

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", directory, name);
}

static void slurp(const char *path, struct strbuf *out)
{
	strbuf_reset(out);
	assert_int_equal(fs_read(AT_FDCWD, path, (size_t)1 << 30, out), 0);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void check_ends(size_t i, const struct strbuf *file)
{
	size_t head = strlen(formats[i].head);

	assert_true(file->len > 16);
	assert_memory_equal(file->buf, formats[i].head, head);
	if (formats[i].tail) {
		assert_memory_equal(file->buf + file->len - strlen(formats[i].tail),
				    formats[i].tail, strlen(formats[i].tail));
		return;
	}
	/* the last byte is the size of what is before it, which ends in the name of the format */
	size_t size = (unsigned char)file->buf[file->len - 1];
	assert_true(size < 64 && size + 1 < file->len);
	assert_memory_equal(file->buf + file->len - 4, "ORC", 3);
}

static void every_codec(void **state)
{
	_cleanup_free_ char *path = path_of("table");
	struct strbuf why = STRBUF_INIT, file = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct table_format *f = table_format_by_name(formats[i].format);
		size_t sizes[4];

		assert_non_null(f);
		assert_string_equal(f->name, formats[i].format);
		for (size_t k = 0; k < 3; k++) {
			assert_int_equal(
				fixture_write(f, path, formats[i].codecs[k], 3000, 1000, &why), 0);
			slurp(path, &file);
			check_ends(i, &file);
			sizes[k] = file.len;
		}
		/* what is packed is smaller, and the first is what is taken where none is named */
		assert_true(sizes[0] < sizes[2] && sizes[1] < sizes[2]);
		assert_int_equal(fixture_write(f, path, NULL, 3000, 1000, &why), 0);
		slurp(path, &file);
		assert_int_equal(file.len, sizes[0]);
		assert_string_equal(why.buf, "");
	}
	strbuf_release(&why);
	strbuf_release(&file);
}

static void no_rows_and_no_columns(void **state)
{
	_cleanup_free_ char *path = path_of("table");
	const struct table_options o = {.table = "processes"};
	struct strbuf why = STRBUF_INIT, file = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct table_format *f = table_format_by_name(formats[i].format);
		struct table_file *t;

		assert_int_equal(fixture_write(f, path, NULL, 0, 1, &why), 0);
		slurp(path, &file);
		check_ends(i, &file);
		assert_int_equal(table_open(&t, f, path, fixture_columns, 0, &o, &why), 0);
		assert_int_equal(table_close(t, &why), 0);
		slurp(path, &file);
		check_ends(i, &file);
	}
	strbuf_release(&why);
	strbuf_release(&file);
}

static void formats_are_found(void **state)
{
	(void)state;
	assert_null(table_format_by_name("parquett"));
	for (const struct table_format *const *f = table_formats; *f; f++) {
		assert_ptr_equal(table_format_by_name((*f)->name), *f);
		assert_true((*f)->suffix[0] == '.' && (*f)->help[0]);
		if (f[1])
			assert_true(strcmp(f[0]->name, f[1]->name) < 0);
	}
}

static void unknown_codec(void **state)
{
	_cleanup_free_ char *path = path_of("not-made");
	struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_int_equal(fixture_write(table_format_by_name("orc"), path, "lz4", 1, 1, &why),
			 -EINVAL);
	assert_string_equal(why.buf, "orc does not support lz4; use zstd, zlib or none");
	assert_int_equal(access(path, F_OK), -1);
	strbuf_release(&why);
}

/* ---- long texts ----------------------------------------------------------------------------- */

/*
 * A text of 8 MiB in every other of 40 rows: 160 MiB where each is written in full. Memory must not
 * follow.
 */
static void long_texts(void **state)
{
	static const struct table_column column = {"args", TABLE_TEXT, NULL};
	const struct table_options o = {.table = "processes", .codec = "none"};
	_cleanup_free_ char *path = path_of("long"), *bytes = xmalloc((size_t)8 << 20);
	static const uint32_t begin[] = {0, 8 << 20, 8 << 20};
	uint32_t codes[40];
	struct strbuf why = STRBUF_INIT;
	struct stat st;

	(void)state;
	memset(bytes, 'x', (size_t)8 << 20);
	for (uint32_t i = 0; i < 40; i++)
		codes[i] = i % 2; /* every other is empty */
	const struct table_values v = {.codes = codes,
				       .texts = {.count = 2, .begin = begin, .bytes = bytes}};
	const struct table_batch b = {.rows = 40, .columns = &v};
	const struct table_values first = {.codes = codes + 1,
					   .texts = {.count = 2, .begin = begin, .bytes = bytes}};
	const struct table_batch one = {.rows = 1, .columns = &first};
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct table_format *f = table_format_by_name(formats[i].format);
		struct rusage before, after;
		struct table_file *t;

		assert_int_equal(table_open(&t, f, path, &column, 1, &o, &why), 0);
		/* one row at first: Arrow's column has its texts in full then */
		assert_int_equal(table_write(t, &one, &why), 0);
		getrusage(RUSAGE_SELF, &before);
		assert_int_equal(table_write(t, &b, &why), 0);
		assert_int_equal(table_close(t, &why), 0);
		getrusage(RUSAGE_SELF, &after);
		assert_int_equal(stat(path, &st), 0);
		if (!strcmp(formats[i].format, "feather"))
			assert_in_range(st.st_size, 160ll << 20, 161ll << 20);
		else
			assert_in_range(st.st_size, 8ll << 20, 9ll << 20);
#ifndef __SANITIZE_ADDRESS__
		assert_true(after.ru_maxrss - before.ru_maxrss < 100 << 10);
#endif
	}
	unlink(path);
	strbuf_release(&why);
}

/* ---- faults --------------------------------------------------------------------------------- */

static void no_such_directory(void **state)
{
	struct strbuf why = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct table_format *f = table_format_by_name(formats[i].format);

		strbuf_reset(&why);
		assert_int_equal(fixture_write(f, "/no/such/table", NULL, 1, 1, &why), -ENOENT);
		assert_string_equal(why.buf,
				    "cannot write '/no/such/table': No such file or directory");
		table_abandon(NULL);
	}
	strbuf_release(&why);
}

/* A device that is always full: what is written first fails, and what is only written at the end.
 */
static void full_device(void **state)
{
	struct strbuf why = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct table_format *f = table_format_by_name(formats[i].format);

		for (uint64_t rows = 0; rows < 200000; rows = rows * 10 + 70) {
			strbuf_reset(&why);
			assert_int_equal(fixture_write(f, "/dev/full", NULL, rows, 65536, &why),
					 -ENOSPC);
			assert_string_equal(why.buf,
					    "cannot write '/dev/full': No space left on device");
		}
	}
	strbuf_release(&why);
}

/* Limits on the size of files at any place, the signal of which must not end us. */
static void limit_of_file_size(void **state)
{
	_cleanup_free_ char *path = path_of("limited");
	struct strbuf why = STRBUF_INIT;
	struct rlimit before, limit;
	struct stat st;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct table_format *f = table_format_by_name(formats[i].format);

		assert_int_equal(fixture_write(f, path, NULL, 4000, 1000, &why), 0);
		assert_int_equal(stat(path, &st), 0);
		for (off_t at = 0; at < st.st_size; at += st.st_size / 7) {
			limit = (struct rlimit){(rlim_t)at, before.rlim_max};
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
			int r = fixture_write(f, path, NULL, 4000, 1000, &why);
			assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
			assert_true(r == -EFBIG || r == -ENOSPC);
			assert_true(str_prefix(why.buf, "cannot write '"));
			strbuf_reset(&why);
		}
	}
	strbuf_release(&why);
}

static int make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/plimsoll-frames-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return fs_remove_tree(AT_FDCWD, directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_found),
		cmocka_unit_test(every_codec),
		cmocka_unit_test(no_rows_and_no_columns),
		cmocka_unit_test(unknown_codec),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(no_such_directory),
		cmocka_unit_test(full_device),
		cmocka_unit_test(limit_of_file_size),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
