/*
 * ORC: stripes of a full batch, or of several small ones, each with the streams of its columns and
 * a footer; statistics of stripes and of the file, and the file's footer. No index of rows inside
 * of stripes. What waits in memory is the stripe that is being filled, packed, and the statistics.
 */
#include <errno.h>
#include <string.h>

#include "tables/orc/orc_column.h"
#include "tables/orc/orc_encoding.h"

#define STRIPE_ROWS (TABLE_BATCH / 2) /* with so many it is ended */
#define STRIPE_BYTES ((size_t)24 << 20)
#define WRITER_VERSION 9 /* of the known faults of writers none is ours */

struct table_file {
	struct file_writer out;
	struct orc_work work;
	struct orc_column *columns;
	size_t count;
	uint64_t rows, stripe_rows;
	struct strbuf stripes;    /* their entries in the footer */
	struct strbuf statistics; /* those of stripes, the metadata of the file */
};

static void free_table(struct table_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		orc_column_release(&f->columns[i]);
	free(f->columns);
	free(f->work.values);
	free(f->work.nanos);
	free(f->work.codes);
	strbuf_release(&f->work.bytes);
	strbuf_release(&f->stripes);
	strbuf_release(&f->statistics);
	packer_close(&f->work.packer);
	free(f);
}

static int open_table(struct table_file **ret, const char *path, const struct table_column *columns,
		      size_t count, const struct table_options *o, struct strbuf *why)
{
	struct packer packer;
	int r = packer_open(&packer, "zstd zlib none", o->codec, why);

	if (r < 0)
		return r;
	struct table_file *f = xcalloc(1, sizeof(*f));
	f->work = (struct orc_work){
		.packer = packer,
		.values = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.values)),
		.nanos = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.nanos)),
		.codes = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.codes)),
		.bytes = STRBUF_INIT,
	};
	f->stripes = f->statistics = (struct strbuf)STRBUF_INIT;
	f->columns = xcalloc(count ? count : 1, sizeof(*f->columns));
	f->count = count;
	for (size_t i = 0; i < count; i++)
		orc_column_init(&f->columns[i], &columns[i]);
	r = file_writer_open(&f->out, path, why);
	if (r < 0) {
		free_table(f);
		return r;
	}
	file_writer_add(&f->out, "ORC", 3);
	*ret = f;
	return 0;
}

/* The statistics of the rows themselves, column 0. */
static void add_row_statistics(struct strbuf *out, unsigned field, uint64_t rows)
{
	const struct orc_statistics s = {.values = rows};

	orc_add_statistics(out, field, &s, TABLE_INT);
}

/* Packs a footer, writes it, and says how long it became. */
static bool put_packed(struct table_file *f, const struct strbuf *part, uint64_t *ret)
{
	strbuf_reset(&f->work.bytes);
	if (!orc_pack(&f->work.packer, part->buf, part->len, &f->work.bytes))
		return false;
	file_writer_add(&f->out, f->work.bytes.buf, f->work.bytes.len);
	*ret = f->work.bytes.len;
	return true;
}

static int end_stripe(struct table_file *f, struct strbuf *why)
{
	struct strbuf footer = STRBUF_INIT, encodings = STRBUF_INIT, statistics = STRBUF_INIT;
	struct strbuf entry = STRBUF_INIT;
	uint64_t begin = f->out.at, data, size = 0;
	bool ok = true;

	if (!f->stripe_rows)
		return 0;
	proto_part(&encodings, 2, &entry); /* of the rows themselves: direct */
	add_row_statistics(&statistics, 1, f->stripe_rows);
	for (size_t i = 0; i < f->count && ok; i++)
		ok = orc_column_end(&f->columns[i], &f->work, (unsigned)i + 1, &f->out, &footer,
				    &encodings, &statistics);
	data = f->out.at - begin;
	strbuf_add(&footer, encodings.buf, encodings.len);
	proto_bytes(&footer, 3, "UTC", 3);
	ok = ok && put_packed(f, &footer, &size);
	proto_u64(&entry, 1, begin);
	proto_u64(&entry, 2, 0);
	proto_u64(&entry, 3, data);
	proto_u64(&entry, 4, size);
	proto_u64(&entry, 5, f->stripe_rows);
	proto_part(&f->stripes, 3, &entry);
	proto_part(&f->statistics, 1, &statistics);
	strbuf_release(&footer);
	strbuf_release(&encodings);
	strbuf_release(&statistics);
	strbuf_release(&entry);
	f->stripe_rows = 0;
	return ok ? file_writer_flush(&f->out, why) : packer_failed(why);
}

static int write_batch(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	size_t size = 0;

	for (size_t i = 0; i < f->count; i++) {
		if (!orc_column_add(&f->columns[i], &f->work, &b->columns[i], b->rows))
			return packer_failed(why);
		size += orc_column_size(&f->columns[i]);
	}
	f->rows += b->rows;
	f->stripe_rows += b->rows;
	if (f->stripe_rows >= STRIPE_ROWS || size >= STRIPE_BYTES)
		return end_stripe(f, why);
	return 0;
}

/* The rows are a struct of all columns. */
static void add_types(struct table_file *f, struct strbuf *out)
{
	/* long, double, string, timestamp with local time zone, which is an instant */
	static const uint8_t kinds[] = {
		[TABLE_INT] = 4, [TABLE_REAL] = 6, [TABLE_TEXT] = 7, [TABLE_TIME] = 18};
	struct strbuf type = STRBUF_INIT, numbers = STRBUF_INIT;

	proto_u64(&type, 1, 12);
	for (size_t i = 0; i < f->count; i++)
		table_varint(&numbers, i + 1);
	proto_part(&type, 2, &numbers);
	for (size_t i = 0; i < f->count; i++)
		proto_bytes(&type, 3, f->columns[i].about->name, strlen(f->columns[i].about->name));
	proto_part(out, 4, &type);
	for (size_t i = 0; i < f->count; i++) {
		strbuf_reset(&type);
		proto_u64(&type, 1, kinds[f->columns[i].about->type]);
		proto_part(out, 4, &type);
	}
	strbuf_release(&type);
	strbuf_release(&numbers);
}

static void add_footer(struct table_file *f, uint64_t content, struct strbuf *out)
{
	static const char by[] = "plimsoll " PL_VERSION;

	proto_u64(out, 1, 3);
	proto_u64(out, 2, content);
	strbuf_add(out, f->stripes.buf, f->stripes.len);
	add_types(f, out);
	proto_u64(out, 6, f->rows);
	add_row_statistics(out, 7, f->rows);
	for (size_t i = 0; i < f->count; i++)
		orc_add_statistics(out, 7, &f->columns[i].file, f->columns[i].about->type);
	proto_u64(out, 8, 0); /* no index of rows */
	proto_bytes(out, 12, by, sizeof(by) - 1);
}

static unsigned codec_number(enum pack_codec codec)
{
	return codec == PACK_ZSTD ? 5 : codec == PACK_ZLIB ? 1 : 0;
}

/* The end: metadata, footer, and what says how long they are, which is never packed. */
static bool put_tail(struct table_file *f)
{
	struct strbuf footer = STRBUF_INIT, last = STRBUF_INIT, version = STRBUF_INIT;
	uint64_t content = f->out.at, metadata = 0, size = 0;

	add_footer(f, content, &footer);
	bool ok = put_packed(f, &f->statistics, &metadata) && put_packed(f, &footer, &size);
	proto_u64(&last, 1, size);
	proto_u64(&last, 2, codec_number(f->work.packer.codec));
	proto_u64(&last, 3, ORC_BLOCK);
	table_varint(&version, 0);
	table_varint(&version, 12);
	proto_part(&last, 4, &version);
	proto_u64(&last, 5, metadata);
	proto_u64(&last, 6, WRITER_VERSION);
	proto_bytes(&last, 8000, "ORC", 3);
	char n = (char)last.len;
	file_writer_add(&f->out, last.buf, last.len);
	file_writer_add(&f->out, &n, 1);
	strbuf_release(&footer);
	strbuf_release(&last);
	strbuf_release(&version);
	return ok;
}

static int close_table(struct table_file *f, struct strbuf *why)
{
	int r = end_stripe(f, why);

	if (r == 0 && !put_tail(f))
		r = packer_failed(why);
	if (r == 0)
		r = file_writer_close(&f->out, why);
	else
		file_writer_abandon(&f->out);
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

const struct table_format table_orc = {
	.name = "orc",
	.suffix = ".orc",
	.help = "Apache ORC: Hive, Spark, Trino, ClickHouse; packed by zstd, zlib or not at all",
	.open = open_table,
	.write = write_batch,
	.close = close_table,
	.abandon = abandon_table,
};
