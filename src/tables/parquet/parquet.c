/*
 * Parquet: row groups of one full batch, or of several small ones, each with its columns one after
 * the other, and a footer with their places. Memory holds the compressed row group that is being
 * filled, and the footer. Row groups of twice the size did not make files smaller.
 */
#include <string.h>

#include "tables/parquet/parquet_column.h"
#include "tables/parquet/parquet_encoding.h"

#define GROUP_ROWS (TABLE_BATCH / 2) /* a group with this many rows is complete */
#define GROUP_BYTES ((size_t)24 << 20)

struct parquet_file {
	struct table_file file;
	struct pq_work work;
	struct pq_column *columns;
	uint64_t rows, group_rows, group_count;
	struct strbuf groups; /* their entries in the footer */
};

static void release(struct table_file *t)
{
	struct parquet_file *f = (struct parquet_file *)t;

	for (size_t i = 0; f->columns && i < t->count; i++)
		pq_column_release(&f->columns[i]);
	free(f->columns);
	free(f->work.values);
	free(f->work.codes);
	strbuf_release(&f->work.page);
	strbuf_release(&f->work.trial);
	strbuf_release(&f->groups);
}

static int open_parquet(struct table_file *t, const char *path PL_UNUSED,
			const struct table_options *o PL_UNUSED, struct strbuf *why PL_UNUSED)
{
	struct parquet_file *f = (struct parquet_file *)t;

	f->work = (struct pq_work){
		.packer = t->packer,
		.page = STRBUF_INIT,
		.trial = STRBUF_INIT,
		.values = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.values)),
		.codes = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.codes)),
	};
	f->groups = (struct strbuf)STRBUF_INIT;
	f->columns = xcalloc(t->count + 1, sizeof(*f->columns));
	for (size_t i = 0; i < t->count; i++)
		pq_column_init(&f->columns[i], &t->columns[i]);
	file_writer_add(&t->out, "PAR1", 4);
	return 0;
}

static int end_group(struct parquet_file *f, struct strbuf *why)
{
	struct thrift t = {.out = &f->groups};
	uint64_t begin = f->file.out.at, unpacked = 0, packed = 0;

	if (!f->group_rows)
		return 0;
	thrift_list(&t, 1, THRIFT_STRUCT, f->file.count);
	for (size_t i = 0; i < f->file.count; i++)
		if (!pq_column_end(&f->columns[i], &f->work, &f->file.out, &f->groups, &unpacked,
				   &packed))
			return packer_failed(why);
	thrift_i64(&t, 2, (int64_t)unpacked);
	thrift_i64(&t, 3, (int64_t)f->group_rows);
	thrift_i64(&t, 5, (int64_t)begin);
	thrift_i64(&t, 6, (int64_t)packed);
	thrift_end(&t);
	f->group_rows = 0;
	f->group_count++;
	return file_writer_flush(&f->file.out, why);
}

static int write_batch(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct parquet_file *f = (struct parquet_file *)t;
	size_t size = 0;

	for (size_t i = 0; i < f->file.count; i++) {
		if (!pq_column_add(&f->columns[i], &f->work, &b->columns[i], b->rows))
			return packer_failed(why);
		size += pq_column_size(&f->columns[i]);
	}
	f->rows += b->rows;
	f->group_rows += b->rows;
	if (f->group_rows >= GROUP_ROWS || size >= GROUP_BYTES)
		return end_group(f, why);
	return 0;
}

static void add_element(struct thrift *t, const struct table_column *c)
{
	thrift_item(t);
	thrift_i32(t, 1, c->type == TABLE_TEXT ? 6 : c->type == TABLE_REAL ? 5 : 2);
	thrift_i32(t, 3, 1); /* optional */
	thrift_binary(t, 4, c->name, strlen(c->name));
	if (c->type == TABLE_TEXT) {
		thrift_i32(t, 6, 0); /* UTF8, for older readers */
		thrift_begin(t, 10);
		thrift_begin(t, 1); /* STRING */
		thrift_end(t);
		thrift_end(t);
	} else if (c->type == TABLE_TIME) {
		thrift_begin(t, 10);
		thrift_begin(t, 8); /* TIMESTAMP */
		thrift_bool(t, 1, true);
		thrift_begin(t, 2);
		thrift_begin(t, 3); /* NANOS */
		thrift_end(t);
		thrift_end(t);
		thrift_end(t);
		thrift_end(t);
	}
	thrift_end(t);
}

static void add_footer(struct parquet_file *f, struct strbuf *out)
{
	static const char by[] = "plimsoll version " PL_VERSION;
	struct thrift t = {.out = out};

	thrift_i32(&t, 1, 2);
	thrift_list(&t, 2, THRIFT_STRUCT, f->file.count + 1);
	thrift_item(&t);
	thrift_binary(&t, 4, "schema", 6);
	thrift_i32(&t, 5, (int32_t)f->file.count);
	thrift_end(&t);
	for (size_t i = 0; i < f->file.count; i++)
		add_element(&t, f->columns[i].about);
	thrift_i64(&t, 3, (int64_t)f->rows);
	thrift_list(&t, 4, THRIFT_STRUCT, f->group_count);
	strbuf_add(out, f->groups.buf, f->groups.len);
	thrift_binary(&t, 6, by, sizeof(by) - 1);
	/* all columns have the order of their type; readers ignore ranges without this */
	thrift_list(&t, 7, THRIFT_STRUCT, f->file.count);
	for (size_t i = 0; i < f->file.count; i++) {
		thrift_item(&t);
		thrift_begin(&t, 1);
		thrift_end(&t);
		thrift_end(&t);
	}
	thrift_end(&t);
}

static int end(struct table_file *t, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf footer = STRBUF_INIT;
	struct parquet_file *f = (struct parquet_file *)t;
	int r = end_group(f, why);

	if (r < 0)
		return r;
	add_footer(f, &footer);
	uint32_t size = (uint32_t)footer.len;
	file_writer_add(&t->out, footer.buf, footer.len);
	file_writer_add(&t->out, &size, sizeof(size));
	file_writer_add(&t->out, "PAR1", 4);
	return 0;
}

const struct table_format table_parquet = {
	.name = "parquet",
	.suffix = ".parquet",
	.help = "Apache Parquet: DuckDB, Spark, pandas, R; codecs zstd, snappy, none",
	.codecs = "zstd snappy none",
	.size = sizeof(struct parquet_file),
	.open = open_parquet,
	.write = write_batch,
	.end = end,
	.release = release,
};
