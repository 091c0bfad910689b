/*
 * Writes the table of tests/unit/support/table_fixture.h for readers of other makers:
 *     make_tables FORMAT CODEC ROWS BATCH FILE   the table as a file of a format
 *     make_tables expect ROWS DIRECTORY          its values as they are, without any format of
 * ours: <number>.values 8 bytes each, <number>.absent a byte each, and of texts <number>.sizes 4
 * bytes each and <number>.texts; columns.json names and types
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "unit/support/table_fixture.h"

static FILE *part(const char *directory, int column, const char *what)
{
	_cleanup_free_ char *path = xasprintf("%s/%d.%s", directory, column, what);
	FILE *f = fopen(path, "we");

	if (f)
		return f;
	fprintf(stderr, "make_tables: cannot write '%s': %s\n", path, strerror(errno));
	exit(1);
}

static void expect_texts(const char *directory, int c, uint64_t rows)
{
	_cleanup_fclose_ FILE *sizes = part(directory, c, "sizes");
	_cleanup_fclose_ FILE *texts = part(directory, c, "texts");
	struct strbuf raw = STRBUF_INIT, good = STRBUF_INIT;

	for (uint64_t i = 0; i < rows; i++) {
		strbuf_reset(&raw);
		strbuf_reset(&good);
		if (!fixture_absent(i, c))
			fixture_text(i, c, &raw);
		fixture_utf8(raw.buf, raw.len, &good);
		uint32_t size = (uint32_t)good.len;
		fwrite(&size, sizeof(size), 1, sizes);
		fwrite(good.buf, 1, good.len, texts);
	}
	strbuf_release(&raw);
	strbuf_release(&good);
}

static void expect_numbers(const char *directory, int c, uint64_t rows)
{
	_cleanup_fclose_ FILE *values = part(directory, c, "values");

	for (uint64_t i = 0; i < rows; i++) {
		int64_t v = 0;
		double d;

		if (fixture_columns[c].type == TABLE_REAL) {
			d = fixture_absent(i, c) ? 0 : fixture_real(i, c);
			memcpy(&v, &d, sizeof(v));
		} else if (!fixture_absent(i, c)) {
			v = fixture_int(i, c);
		}
		fwrite(&v, sizeof(v), 1, values);
	}
}

static int expect(uint64_t rows, const char *directory)
{
	static const char *const types[] = {"int", "real", "text", "time"};
	_cleanup_free_ char *path = xasprintf("%s/columns.json", directory);
	_cleanup_fclose_ FILE *list = fopen(path, "we");

	if (!list)
		return 1;
	for (int c = 0; c < FIXTURE_COLUMNS; c++) {
		_cleanup_fclose_ FILE *absent = part(directory, c, "absent");

		fprintf(list, "%c{\"name\": \"%s\", \"type\": \"%s\"}\n", c ? ',' : '[',
			fixture_columns[c].name, types[fixture_columns[c].type]);
		for (uint64_t i = 0; i < rows; i++)
			fputc(fixture_absent(i, c), absent);
		if (fixture_columns[c].type == TABLE_TEXT)
			expect_texts(directory, c, rows);
		else
			expect_numbers(directory, c, rows);
	}
	fputs("]\n", list);
	return 0;
}

int main(int argc, char **argv)
{
	struct strbuf why = STRBUF_INIT;
	uint64_t rows, batch;

	if (argc == 4 && !strcmp(argv[1], "expect") && parse_u64(argv[2], &rows) == 0)
		return expect(rows, argv[3]);
	const struct table_format *f = argc == 6 ? table_format_by_name(argv[1]) : NULL;
	if (!f || parse_u64(argv[3], &rows) < 0 || parse_u64(argv[4], &batch) < 0 || !batch ||
	    batch > TABLE_BATCH) {
		fputs("usage: make_tables FORMAT CODEC ROWS BATCH FILE | expect ROWS DIRECTORY\n",
		      stderr);
		return 2;
	}
	int r = fixture_write(f, argv[5], argv[2], rows, batch, &why);
	if (r < 0)
		fprintf(stderr, "make_tables: %s\n", why.buf);
	strbuf_release(&why);
	return r < 0;
}
