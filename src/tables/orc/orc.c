/*
 * ORC: stripes of one full batch, or of several small ones, each with the streams of its columns
 * and a footer; then statistics of the stripes and of the file, and the file's footer. There is no
 * row index within stripes. Memory holds the compressed stripe that is being filled, and the
 * statistics.
 */
#include <string.h>

#include "tables/orc/orc_column.h"
#include "tables/orc/orc_encoding.h"

#define STRIPE_ROWS (TABLE_BATCH / 2) /* a stripe with this many rows is complete */
#define STRIPE_BYTES ((size_t)24 << 20)
#define WRITER_VERSION 9 /* the first without the known bugs of writers */

struct orc_file {
	struct table_file file;
	struct orc_work work;
	struct orc_column *columns;
	uint64_t rows, stripe_rows;
	struct strbuf stripes;    /* their entries in the footer */
	struct strbuf statistics; /* of stripes: the metadata of the file */
};

static void release(struct table_file *t)
{
	struct orc_file *f = (struct orc_file *)t;

	for (size_t i = 0; f->columns && i < t->count; i++)
		orc_column_release(&f->columns[i]);
	free(f->columns);
	free(f->work.values);
	free(f->work.nanos);
	free(f->work.codes);
	strbuf_release(&f->work.bytes);
	strbuf_release(&f->stripes);
	strbuf_release(&f->statistics);
}

static int open_orc(struct table_file *t, const char *path PL_UNUSED,
		    const struct table_options *o PL_UNUSED, struct strbuf *why PL_UNUSED)
{
	struct orc_file *f = (struct orc_file *)t;

	f->work = (struct orc_work){
		.packer = t->packer,
		.values = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.values)),
		.nanos = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.nanos)),
		.codes = xreallocarray(NULL, TABLE_BATCH, sizeof(*f->work.codes)),
		.bytes = STRBUF_INIT,
	};
	f->stripes = f->statistics = (struct strbuf)STRBUF_INIT;
	f->columns = xcalloc(t->count + 1, sizeof(*f->columns));
	for (size_t i = 0; i < t->count; i++)
		orc_column_init(&f->columns[i], &t->columns[i]);
	file_writer_add(&t->out, "ORC", 3);
	return 0;
}

/* Statistics of column 0, which is the row itself. */
static void add_row_statistics(struct strbuf *out, unsigned field, uint64_t rows)
{
	const struct orc_statistics s = {.values = rows};

	orc_add_statistics(out, field, &s, TABLE_INT);
}

/* Compresses and writes a footer; its compressed size in *ret. */
static bool put_packed(struct orc_file *f, const struct strbuf *part, uint64_t *ret)
{
	strbuf_reset(&f->work.bytes);
	if (!orc_pack(f->work.packer, part->buf, part->len, &f->work.bytes))
		return false;
	file_writer_add(&f->file.out, f->work.bytes.buf, f->work.bytes.len);
	*ret = f->work.bytes.len;
	return true;
}

static int end_stripe(struct orc_file *f, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf footer = STRBUF_INIT, encodings = STRBUF_INIT,
				       statistics = STRBUF_INIT;
	_cleanup_strbuf_ struct strbuf entry = STRBUF_INIT;
	uint64_t begin = f->file.out.at, data, size = 0;
	bool ok = true;

	if (!f->stripe_rows)
		return 0;
	proto_part(&encodings, 2, &entry); /* of the row itself: direct */
	add_row_statistics(&statistics, 1, f->stripe_rows);
	for (size_t i = 0; i < f->file.count && ok; i++)
		ok = orc_column_end(&f->columns[i], &f->work, (unsigned)i + 1, &f->file.out,
				    &footer, &encodings, &statistics);
	data = f->file.out.at - begin;
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
	f->stripe_rows = 0;
	return ok ? file_writer_flush(&f->file.out, why) : packer_failed(why);
}

static int write_batch(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct orc_file *f = (struct orc_file *)t;
	size_t size = 0;

	for (size_t i = 0; i < f->file.count; i++) {
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
static void add_types(struct orc_file *f, struct strbuf *out)
{
	/* long, double, string, timestamp with local time zone, which is an instant */
	static const uint8_t kinds[] = {
		[TABLE_INT] = 4, [TABLE_REAL] = 6, [TABLE_TEXT] = 7, [TABLE_TIME] = 18};
	_cleanup_strbuf_ struct strbuf type = STRBUF_INIT, numbers = STRBUF_INIT;

	proto_u64(&type, 1, 12);
	for (size_t i = 0; i < f->file.count; i++)
		strbuf_add_varint(&numbers, i + 1);
	proto_part(&type, 2, &numbers);
	for (size_t i = 0; i < f->file.count; i++)
		proto_bytes(&type, 3, f->columns[i].about->name, strlen(f->columns[i].about->name));
	proto_part(out, 4, &type);
	for (size_t i = 0; i < f->file.count; i++) {
		strbuf_reset(&type);
		proto_u64(&type, 1, kinds[f->columns[i].about->type]);
		proto_part(out, 4, &type);
	}
}

static void add_footer(struct orc_file *f, uint64_t content, struct strbuf *out)
{
	static const char by[] = "plimsoll " PL_VERSION;

	proto_u64(out, 1, 3);
	proto_u64(out, 2, content);
	strbuf_add(out, f->stripes.buf, f->stripes.len);
	add_types(f, out);
	proto_u64(out, 6, f->rows);
	add_row_statistics(out, 7, f->rows);
	for (size_t i = 0; i < f->file.count; i++)
		orc_add_statistics(out, 7, &f->columns[i].file, f->columns[i].about->type);
	proto_u64(out, 8, 0); /* no row index */
	proto_bytes(out, 12, by, sizeof(by) - 1);
}

static unsigned codec_number(enum pack_codec codec)
{
	return codec == PACK_ZSTD ? 5 : codec == PACK_ZLIB ? 1 : 0;
}

/* Writes metadata, footer and postscript; the postscript has their sizes and is not compressed. */
static bool put_tail(struct orc_file *f)
{
	_cleanup_strbuf_ struct strbuf footer = STRBUF_INIT, last = STRBUF_INIT,
				       version = STRBUF_INIT;
	uint64_t content = f->file.out.at, metadata = 0, size = 0;

	add_footer(f, content, &footer);
	bool ok = put_packed(f, &f->statistics, &metadata) && put_packed(f, &footer, &size);
	proto_u64(&last, 1, size);
	proto_u64(&last, 2, codec_number(f->work.packer->codec));
	proto_u64(&last, 3, ORC_BLOCK);
	strbuf_add_varint(&version, 0);
	strbuf_add_varint(&version, 12);
	proto_part(&last, 4, &version);
	proto_u64(&last, 5, metadata);
	proto_u64(&last, 6, WRITER_VERSION);
	proto_bytes(&last, 8000, "ORC", 3);
	char n = (char)last.len;
	file_writer_add(&f->file.out, last.buf, last.len);
	file_writer_add(&f->file.out, &n, 1);
	return ok;
}

static int end(struct table_file *t, struct strbuf *why)
{
	struct orc_file *f = (struct orc_file *)t;
	int r = end_stripe(f, why);

	return r == 0 && !put_tail(f) ? packer_failed(why) : r;
}

const struct table_format table_orc = {
	.name = "orc",
	.suffix = ".orc",
	.help = "Apache ORC: Hive, Spark, Trino, ClickHouse; codecs zstd, zlib, none",
	.codecs = "zstd zlib none",
	.size = sizeof(struct orc_file),
	.open = open_orc,
	.write = write_batch,
	.end = end,
	.release = release,
};
