/*
 * Parquet: row groups of a full batch, or of several small ones, each with its columns one behind
 * the other, and a footer that says where all is. What waits in memory is the group that is being
 * filled, packed, and the footer. Groups of twice the rows were not smaller in the end.
 */
#include <errno.h>
#include <string.h>

#include "tables/parquet/parquet_column.h"
#include "tables/parquet/parquet_encoding.h"

#define GROUP_ROWS (TABLE_BATCH / 2) /* with so many it is ended */
#define GROUP_BYTES ((size_t)24 << 20)

struct table_file {
	struct file_writer out;
	struct pq_work work;
	struct pq_column *columns;
	size_t count;
	uint64_t rows, group_rows, group_count;
	struct strbuf groups; /* their entries in the footer */
	const char *table;
};

static void free_table(struct table_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		pq_column_release(&f->columns[i]);
	free(f->columns);
	free(f->work.values);
	free(f->work.codes);
	strbuf_release(&f->work.page);
	strbuf_release(&f->work.trial);
	strbuf_release(&f->groups);
	packer_close(&f->work.packer);
	free(f);
}

static int open_table(struct table_file **ret, const char *path, const struct table_column *columns,
		      size_t count, const struct table_options *o, struct strbuf *why)
{
	struct packer packer;
	int r = packer_open(&packer, "zstd snappy none", o->codec, why);

	if (r < 0)
		return r;
	struct table_file *f = xcalloc(1, sizeof(*f));
	f->work = (struct pq_work){
		.packer = packer,
		.page = STRBUF_INIT,
		.trial = STRBUF_INIT,
		.values = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.values)),
		.codes = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.codes)),
	};
	f->groups = (struct strbuf)STRBUF_INIT;
	f->columns = xcalloc(count ? count : 1, sizeof(*f->columns));
	f->count = count;
	for (size_t i = 0; i < count; i++)
		pq_column_init(&f->columns[i], &columns[i]);
	r = file_writer_open(&f->out, path, why);
	if (r < 0) {
		free_table(f);
		return r;
	}
	file_writer_add(&f->out, "PAR1", 4);
	*ret = f;
	return 0;
}

static int end_group(struct table_file *f, struct strbuf *why)
{
	struct thrift t = {.out = &f->groups};
	uint64_t begin = f->out.at, unpacked = 0, packed = 0;

	if (!f->group_rows)
		return 0;
	thrift_list(&t, 1, THRIFT_STRUCT, f->count);
	for (size_t i = 0; i < f->count; i++)
		if (!pq_column_end(&f->columns[i], &f->work, &f->out, &f->groups, &unpacked,
				   &packed))
			return packer_failed(why);
	thrift_i64(&t, 2, (int64_t)unpacked);
	thrift_i64(&t, 3, (int64_t)f->group_rows);
	thrift_i64(&t, 5, (int64_t)begin);
	thrift_i64(&t, 6, (int64_t)packed);
	thrift_end(&t);
	f->group_rows = 0;
	f->group_count++;
	return file_writer_flush(&f->out, why);
}

static int write_batch(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	size_t size = 0;

	for (size_t i = 0; i < f->count; i++) {
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

static void add_footer(struct table_file *f, struct strbuf *out)
{
	static const char by[] = "plimsoll version " PL_VERSION;
	struct thrift t = {.out = out};

	thrift_i32(&t, 1, 2);
	thrift_list(&t, 2, THRIFT_STRUCT, f->count + 1);
	thrift_item(&t);
	thrift_binary(&t, 4, "schema", 6);
	thrift_i32(&t, 5, (int32_t)f->count);
	thrift_end(&t);
	for (size_t i = 0; i < f->count; i++)
		add_element(&t, f->columns[i].about);
	thrift_i64(&t, 3, (int64_t)f->rows);
	thrift_list(&t, 4, THRIFT_STRUCT, f->group_count);
	strbuf_add(out, f->groups.buf, f->groups.len);
	thrift_binary(&t, 6, by, sizeof(by) - 1);
	/* all columns have the order of their type, without which no reader uses the ranges */
	thrift_list(&t, 7, THRIFT_STRUCT, f->count);
	for (size_t i = 0; i < f->count; i++) {
		thrift_item(&t);
		thrift_begin(&t, 1);
		thrift_end(&t);
		thrift_end(&t);
	}
	thrift_end(&t);
}

static int close_table(struct table_file *f, struct strbuf *why)
{
	struct strbuf footer = STRBUF_INIT;
	int r = end_group(f, why);

	if (r == 0) {
		add_footer(f, &footer);
		uint32_t size = (uint32_t)footer.len;
		file_writer_add(&f->out, footer.buf, footer.len);
		file_writer_add(&f->out, &size, sizeof(size));
		file_writer_add(&f->out, "PAR1", 4);
		r = file_writer_close(&f->out, why);
	} else {
		file_writer_abandon(&f->out);
	}
	strbuf_release(&footer);
	free_table(f);
	return r;
}

static void abandon_table(struct table_file *f)
{
	if (!f)
		return;
	file_writer_abandon(&f->out);
	free_table(f);
}

const struct table_format table_parquet = {
	.name = "parquet",
	.suffix = ".parquet",
	.help = "Apache Parquet: DuckDB, Spark, pandas, R; packed by zstd, snappy or not at all",
	.open = open_table,
	.write = write_batch,
	.close = close_table,
	.abandon = abandon_table,
};
