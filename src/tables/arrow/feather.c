/*
 * Feather version 2, which is Arrow's file format: each batch is a record batch whose buffers are
 * compressed one by one. A text column with few distinct texts in the first batch has a dictionary;
 * new texts of later batches are added to it as deltas. Texts are remembered up to a limit: beyond
 * it a text may be in the dictionary twice, which the format allows, but not every reader
 * (ClickHouse does not).
 */
#include <errno.h>
#include <string.h>

#include "tables/arrow/arrow.h"
#include "tables/column_dictionary.h"
#include "tables/file_writer.h"

#define FIRST_MAX 8192u               /* most distinct texts in the first batch for a dictionary */
#define FIRST_BYTES ((size_t)1 << 19) /* and most bytes of them */
#define KNOWN_MAX 131072u             /* texts of a column that are remembered */
#define KNOWN_BYTES ((size_t)8 << 20) /* and their bytes */
#define TEXT_BYTES ((size_t)32 << 20) /* of a column in a record batch, unless one row has more */

struct column {
	const struct table_column *about;
	struct column_dictionary dict; /* texts that are remembered */
	int64_t forgotten;             /* texts in the file's dictionary that are not */
	uint32_t written;              /* texts of dict that are written */
	bool begun;                    /* the file's dictionary has a batch */
};

struct feather_file {
	struct table_file file;
	struct column *columns;
	bool *in_dictionary;
	bool begun; /* the schema is written */
	struct arrow_block *dictionaries, *batches;
	size_t dictionary_count, dictionary_room, batch_count, batch_room;
	/* the message that is being made */
	struct strbuf head, body, work;
	struct arrow_node *nodes;
	struct arrow_buffer *buffers;
	size_t node_count, buffer_count;
	uint32_t *codes; /* dictionary indexes of a batch's texts */
};

static void release(struct table_file *t)
{
	struct feather_file *f = (struct feather_file *)t;

	for (size_t i = 0; f->columns && i < t->count; i++)
		column_dictionary_release(&f->columns[i].dict);
	free(f->columns);
	free(f->in_dictionary);
	free(f->dictionaries);
	free(f->batches);
	free(f->nodes);
	free(f->buffers);
	free(f->codes);
	strbuf_release(&f->head);
	strbuf_release(&f->body);
	strbuf_release(&f->work);
}

static int open_feather(struct table_file *t, const char *path PL_UNUSED,
			const struct table_options *o PL_UNUSED, struct strbuf *why PL_UNUSED)
{
	struct feather_file *f = (struct feather_file *)t;
	size_t room = t->count + 1;

	f->columns = xcalloc(room, sizeof(*f->columns));
	f->in_dictionary = xcalloc(room, sizeof(*f->in_dictionary));
	f->nodes = xcalloc(room, sizeof(*f->nodes));
	f->buffers = xcalloc(room * 3, sizeof(*f->buffers));
	f->codes = xcalloc(TABLE_BATCH, sizeof(*f->codes));
	f->head = f->body = f->work = (struct strbuf)STRBUF_INIT;
	for (size_t i = 0; i < t->count; i++) {
		f->columns[i].about = &t->columns[i];
		column_dictionary_init(&f->columns[i].dict);
	}
	file_writer_add(&t->out, "ARROW1\0", 8);
	return 0;
}

/* ---- messages ---- */

/* Writes the message in head and body. */
static struct arrow_block put_message(struct feather_file *f)
{
	const uint32_t mark[2] = {UINT32_MAX, (uint32_t)f->head.len};
	struct arrow_block b = {
		.at = (int64_t)f->file.out.at,
		.head = (int32_t)(f->head.len + sizeof(mark)),
		.body = (int64_t)f->body.len,
	};

	file_writer_add(&f->file.out, mark, sizeof(mark));
	file_writer_add(&f->file.out, f->head.buf, f->head.len);
	file_writer_add(&f->file.out, f->body.buf, f->body.len);
	return b;
}

static void begin_body(struct feather_file *f)
{
	strbuf_reset(&f->body);
	f->node_count = f->buffer_count = 0;
}

static void add_node(struct feather_file *f, size_t rows, size_t absent)
{
	f->nodes[f->node_count++] =
		(struct arrow_node){.rows = (int64_t)rows, .absent = (int64_t)absent};
}

/* Adds a buffer, compressed if that makes it smaller: its uncompressed size comes before it, or -1
 * if it is not compressed. */
static bool add_buffer(struct feather_file *f, const void *data, size_t n)
{
	struct strbuf *body = &f->body;
	size_t at = body->len;
	int64_t size = (int64_t)n;

	if (n && f->file.packer->codec != PACK_NONE) {
		strbuf_add(body, &size, sizeof(size));
		if (!packer_add(f->file.packer, data, n, body))
			return false;
		if (body->len - at - sizeof(size) >= n) {
			size = -1;
			strbuf_cut(body, at);
			strbuf_add(body, &size, sizeof(size));
			strbuf_add(body, data, n);
		}
	} else if (n) {
		strbuf_add(body, data, n);
	}
	f->buffers[f->buffer_count++] =
		(struct arrow_buffer){.at = (int64_t)at, .size = (int64_t)(body->len - at)};
	while (body->len % 8)
		strbuf_addch(body, 0);
	return true;
}

static void end_body(struct feather_file *f, size_t rows, int64_t dictionary, bool delta)
{
	const struct arrow_batch b = {
		.rows = (int64_t)rows,
		.nodes = f->nodes,
		.node_count = f->node_count,
		.buffers = f->buffers,
		.buffer_count = f->buffer_count,
		.body = (int64_t)f->body.len,
		.codec = f->file.packer->codec,
		.dictionary = dictionary,
		.delta = delta,
	};

	arrow_batch_message(&f->head, &b);
}

/* ---- columns ---- */

/* One bit per row, set if there is a value; no bits if no value is absent. */
static bool add_validity(struct feather_file *f, const uint8_t *absent, size_t rows, size_t missing)
{
	if (!missing)
		return add_buffer(f, NULL, 0);
	size_t size = (rows + 7) / 8;
	strbuf_reset(&f->work);
	strbuf_grow(&f->work, size);
	uint8_t *bits = (uint8_t *)f->work.buf;
	memset(bits, 0, size);
	for (size_t i = 0; i < rows; i++)
		bits[i / 8] = (uint8_t)(bits[i / 8] | !absent[i] << (i % 8));
	return add_buffer(f, bits, size);
}

/* Texts by their indexes, as offsets and bytes. codes NULL: all, in order. */
static bool add_utf8(struct feather_file *f, const struct column_dictionary *d,
		     const uint32_t *codes, const uint8_t *absent, uint32_t from, size_t n)
{
	int32_t *offsets = xreallocarray(NULL, n + 1, sizeof(*offsets));

	strbuf_reset(&f->work);
	offsets[0] = 0;
	for (size_t i = 0; i < n; i++) {
		size_t size;

		if (!absent || !absent[i]) {
			uint32_t number = codes ? f->codes[codes[i]] : from + (uint32_t)i;
			const char *s = column_dictionary_at(d, number, &size);

			strbuf_add(&f->work, s, size);
		}
		offsets[i + 1] = (int32_t)f->work.len;
	}
	bool ok = add_buffer(f, offsets, (n + 1) * sizeof(*offsets)) &&
		  add_buffer(f, f->work.buf, f->work.len);
	free(offsets);
	return ok;
}

/* Writes the new texts of a column's dictionary, if there are any. */
static int put_dictionary(struct feather_file *f, size_t number, struct strbuf *why)
{
	struct column *c = &f->columns[number];
	size_t more = c->dict.count - c->written;

	if (!more && c->begun)
		return 0;
	begin_body(f);
	add_node(f, more, 0);
	if (!add_validity(f, NULL, more, 0) || !add_utf8(f, &c->dict, NULL, NULL, c->written, more))
		return packer_failed(why);
	end_body(f, more, (int64_t)number, c->begun);
	GROW(f->dictionaries, f->dictionary_count, f->dictionary_room);
	f->dictionaries[f->dictionary_count++] = put_message(f);
	c->begun = true;
	c->written = c->dict.count;
	return 0;
}

/* Finds or adds the batch's texts in the dictionary; their indexes are in f->codes. */
static int know_texts(struct feather_file *f, struct column *c, const struct table_texts *t,
		      struct strbuf *why)
{
	if (c->dict.count >= KNOWN_MAX || c->dict.bytes.len >= KNOWN_BYTES) {
		c->forgotten += c->dict.count;
		c->written = 0;
		column_dictionary_reset(&c->dict);
	}
	column_dictionary_texts(&c->dict, t, f->codes);
	if (c->forgotten + c->dict.count <= INT32_MAX)
		return 0;
	return strbuf_fail(why, -EFBIG, "column '%s' has more than %d distinct texts",
			   c->about->name, INT32_MAX);
}

static bool add_numbers(struct feather_file *f, const struct column *c,
			const struct table_values *v, size_t rows)
{
	int32_t *numbers = xreallocarray(NULL, rows, sizeof(*numbers));

	for (size_t i = 0; i < rows; i++) {
		bool absent = v->absent && v->absent[i];

		numbers[i] = absent ? 0 : (int32_t)(c->forgotten + f->codes[v->codes[i]]);
	}
	bool ok = add_buffer(f, numbers, rows * sizeof(*numbers));
	free(numbers);
	return ok;
}

static bool add_column(struct feather_file *f, size_t number, const struct table_values *v,
		       size_t from, size_t rows)
{
	struct column *c = &f->columns[number];
	const uint8_t *absent = v->absent_count ? v->absent + from : NULL;
	struct table_values part = *v;
	size_t missing = 0;

	for (size_t i = 0; absent && i < rows; i++)
		missing += absent[i];
	add_node(f, rows, missing);
	if (!add_validity(f, absent, rows, missing))
		return false;
	if (c->about->type != TABLE_TEXT)
		return add_buffer(f, v->ints + from, rows * sizeof(*v->ints));
	part.absent = absent;
	part.codes = v->codes + from;
	/* the columns before have overwritten f->codes */
	column_dictionary_texts(&c->dict, &v->texts, f->codes);
	if (f->in_dictionary[number])
		return add_numbers(f, c, &part, rows);
	return add_utf8(f, &c->dict, part.codes, absent, 0, rows);
}

/* ---- batches ---- */

static bool has_few_texts(const struct table_values *v, size_t rows)
{
	size_t there = rows - v->absent_count;
	const struct table_texts *t = &v->texts;

	return t->count && t->count <= there / 8 && t->count <= FIRST_MAX &&
	       t->begin[t->count] <= FIRST_BYTES;
}

static void begin(struct feather_file *f, const struct table_batch *b)
{
	for (size_t i = 0; b && i < f->file.count; i++)
		f->in_dictionary[i] = f->file.columns[i].type == TABLE_TEXT &&
				      has_few_texts(&b->columns[i], b->rows);
	strbuf_reset(&f->body);
	arrow_schema_message(&f->head, f->file.columns, f->file.count, f->in_dictionary);
	(void)put_message(f);
	f->begun = true;
}

/* Does a text column have too many bytes in these rows? */
static bool too_long(const struct feather_file *f, const struct table_batch *b, size_t from,
		     size_t rows)
{
	for (size_t i = 0; i < f->file.count; i++) {
		const struct table_values *v = &b->columns[i];
		size_t size = 0;

		if (f->file.columns[i].type != TABLE_TEXT || f->in_dictionary[i])
			continue;
		for (size_t k = from; k < from + rows; k++)
			if (!v->absent_count || !v->absent[k])
				size += v->texts.begin[v->codes[k] + 1] -
					v->texts.begin[v->codes[k]];
		if (size > TEXT_BYTES)
			return true;
	}
	return false;
}

static int put_rows(struct feather_file *f, const struct table_batch *b, size_t from, size_t rows,
		    struct strbuf *why)
{
	if (rows > 1 && too_long(f, b, from, rows)) {
		int r = put_rows(f, b, from, rows / 2, why);

		return r < 0 ? r : put_rows(f, b, from + rows / 2, rows - rows / 2, why);
	}
	begin_body(f);
	for (size_t i = 0; i < f->file.count; i++)
		if (!add_column(f, i, &b->columns[i], from, rows))
			return packer_failed(why);
	end_body(f, rows, -1, false);
	GROW(f->batches, f->batch_count, f->batch_room);
	f->batches[f->batch_count++] = put_message(f);
	return file_writer_flush(&f->file.out, why);
}

static int write_batch(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct feather_file *f = (struct feather_file *)t;
	int r = 0;

	if (!f->begun)
		begin(f, b);
	for (size_t i = 0; i < f->file.count && r == 0; i++) {
		if (f->file.columns[i].type != TABLE_TEXT)
			continue;
		if (!f->in_dictionary[i]) {
			column_dictionary_reset(&f->columns[i].dict);
			continue;
		}
		r = know_texts(f, &f->columns[i], &b->columns[i].texts, why);
		if (r == 0)
			r = put_dictionary(f, i, why);
	}
	return r < 0 ? r : put_rows(f, b, 0, b->rows, why);
}

static int end(struct table_file *t, struct strbuf *why PL_UNUSED)
{
	static const uint32_t last[2] = {UINT32_MAX, 0};
	struct feather_file *f = (struct feather_file *)t;

	if (!f->begun)
		begin(f, NULL);
	file_writer_add(&t->out, last, sizeof(last));
	arrow_footer(&f->head, t->columns, t->count, f->in_dictionary, f->dictionaries,
		     f->dictionary_count, f->batches, f->batch_count);
	uint32_t size = (uint32_t)f->head.len;
	file_writer_add(&t->out, f->head.buf, f->head.len);
	file_writer_add(&t->out, &size, sizeof(size));
	file_writer_add(&t->out, "ARROW1", 6);
	return 0;
}

const struct table_format table_feather = {
	.name = "feather",
	.suffix = ".feather",
	.help = "Feather, Arrow's file format: pandas, polars, R; codecs lz4, zstd, none",
	.codecs = "lz4 zstd none",
	.size = sizeof(struct feather_file),
	.open = open_feather,
	.write = write_batch,
	.end = end,
	.release = release,
};
